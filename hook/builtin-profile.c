/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile for the driver's libraries: without it EGL shows all GPUs of the machine to a container that has some of
 * them. Which it has is told by the nodes in its /dev, those that the engine made included. It is a comfort: whatever
 * is in the way is said, and the container starts.
 */
#include "builtin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bounds.h"
#include "cleanup.h"
#include "rootfs-file.h"

/* The mask has 64 bits. */
#define GPUS_MAX 64

static bool is_gpu_name(const char *name)
{
	static const char prefix[] = "nvidia";

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	name += strlen(prefix);
	return *name && strspn(name, "0123456789") == strlen(name);
}

static void add_gpu(int dir_fd, const char *name, uint64_t *mask, struct notes *notes)
{
	struct stat st;

	if (!is_gpu_name(name) || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISCHR(st.st_mode))
		return;
	if (minor(st.st_rdev) < GPUS_MAX)
		*mask |= UINT64_C(1) << minor(st.st_rdev);
	else
		note_add(notes, NOTE_WARNING,
			 "/dev/%s of the container has the minor number %u: only GPUs below %d can "
			 "stand in an application profile",
			 SHOW(name), minor(st.st_rdev), GPUS_MAX);
}

/* The names of an image's /dev are as hostile as the rest of it, but only so many are looked at. */
static int find_gpus(struct rootfs *rootfs, uint64_t *ret_mask, struct notes *notes,
		     struct error *err)
{
	int fd = rootfs_open_directory(rootfs, "/dev", err);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	*ret_mask = 0;
	if (fd < 0)
		return fd;
	if (!dir) {
		close_fd(&fd);
		return error_set(err, ENOMEM, "list /dev in the container");
	}
	for (unsigned i = 0; errno = 0, i < LIMIT_LIBRARY_DIR_ENTRIES && (entry = readdir(dir));
	     i++)
		add_gpu(dirfd(dir), entry->d_name, ret_mask, notes);
	const int problem = errno;
	closedir(dir);
	return problem ? error_set(err, problem, "list /dev in the container") : 0;
}

static int write_profile(struct rootfs *rootfs, const char *text, struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int dir_fd =
		rootfs_open_parent(rootfs, VENDOR_HOOK_PROFILE_PATH, false, &leaf, err);
	int r;

	if (dir_fd < 0)
		return dir_fd;
	if (rootfs_has_content(rootfs, dir_fd, leaf, text, strlen(text)))
		return 0;
	r = rootfs_check_file_system(dir_fd, false, err);
	if (r == 0)
		r = rootfs_check_writable(rootfs, dir_fd, VENDOR_HOOK_PROFILE_PATH, err);
	if (r < 0)
		return r;
	return rootfs_replace(rootfs, dir_fd, leaf, VENDOR_HOOK_PROFILE_PATH, text, strlen(text),
			      0444, err);
}

static int make_profile(struct rootfs *rootfs, struct notes *notes, struct error *err)
{
	char text[256];
	uint64_t mask;
	int r = find_gpus(rootfs, &mask, notes, err);

	if (r < 0 || mask == 0)
		return r;
	snprintf(text, sizeof(text),
		 "{\"profiles\":[{\"name\":\"_container_\",\"settings\":["
		 "\"EGLVisibleDGPUDevices\",0x%" PRIx64 "]}],"
		 "\"rules\":[{\"pattern\":[],\"profile\":\"_container_\"}]}",
		 mask);
	return write_profile(rootfs, text, err);
}

/* Runs in: the container's mount namespace. Trusts: the root fd. Hostile: all that is below it. */
int builtin_application_profile(struct rootfs *rootfs, struct notes *notes, struct error *err)
{
	const size_t before = rootfs->undo->steps.n;
	char text[ERROR_TEXT_MAX];
	int r = make_profile(rootfs, notes, err);

	if (r == 0)
		return 0;
	if (err->errnum == ENOMEM || !undo_to(rootfs->undo, before, err))
		return r;
	note_add(notes, NOTE_WARNING,
		 "%s: no application profile is written, and EGL may show GPUs that the container "
		 "does not have",
		 error_text(err, text));
	*err = (struct error){0};
	return 0;
}
