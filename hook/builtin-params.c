/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's settings as a container is to see them: a read-only file over the real one in its procfs. The file lies
 * on a tmpfs that is mounted nowhere else, so nobody in the container has a name for it that can be written to.
 */
#include "builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "rootfs-file.h"

static const char directory[] = "/proc/driver/nvidia";
static const char leaf[] = "params";

/* 1, or 0 with a note: a container that cannot see the settings needs no others. */
static int is_there(int dir_fd, struct notes *notes, struct error *err)
{
	struct stat st;

	if (fstatat(dir_fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
		return error_set(err, errno, "look at %s", VENDOR_HOOK_PARAMS_PATH);
	if (fstatat(dir_fd, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return 1;
	note_add(notes, NOTE_INFO, "the container has no file " VENDOR_HOOK_PARAMS_PATH);
	return 0;
}

/* Runs in: the container's mount namespace. Trusts: the text. Hostile: a directory that the image has instead of procfs. */
int builtin_driver_params(struct rootfs *rootfs, const char *text, struct notes *notes,
			  struct error *err)
{
	_cleanup_fd_ int dir_fd = rootfs_open(rootfs, directory, true, err);
	char why[ERROR_TEXT_MAX];
	int r;

	if (dir_fd < 0) {
		note_add(notes, NOTE_INFO, "%s: " VENDOR_HOOK_PARAMS_PATH " is left alone",
			 error_text(err, why));
		*err = (struct error){0};
		return 0;
	}
	r = is_there(dir_fd, notes, err);
	if (r <= 0 || rootfs_has_content(rootfs, dir_fd, leaf, text, strlen(text)))
		return r < 0 ? r : 0;
	return rootfs_cover(rootfs, dir_fd, leaf, VENDOR_HOOK_PARAMS_PATH, text, strlen(text), 0444,
			    err);
}
