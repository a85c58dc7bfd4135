/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that a spec asks for: names of libraries, names of devices. The directory is reached inside the container's
 * root, links of the image included; the link itself is never followed, and its text is never looked up: it means
 * something in the container alone.
 */
#include "builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "rootfs-file.h"

enum found {
	FOUND_NOTHING,
	FOUND_LINK, /* the right one */
	FOUND_KEPT, /* something else, which is used as it is */
	FOUND_OTHER,
};

/* 0 with what stands under the name, or a failure where it cannot make room for a link. */
static int look(int dir_fd, const char *leaf, const struct vendor_hook_link *link,
		enum found *ret_found, struct error *err)
{
	char text[PATH_MAX];
	struct statx stx;
	ssize_t n;

	*ret_found = FOUND_NOTHING;
	if (statx(dir_fd, leaf, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "look at it");
	*ret_found = link->implied ? FOUND_KEPT : FOUND_OTHER;
	if (link->implied && !S_ISLNK(stx.stx_mode))
		return 0;
	if (S_ISDIR(stx.stx_mode))
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "a directory is there");
	if (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "something is mounted there");
	if (!S_ISLNK(stx.stx_mode))
		return 0;
	n = readlinkat(dir_fd, leaf, text, sizeof(text));
	if (n < 0)
		return error_set(err, errno, "read the link that is there");
	*ret_found = (size_t)n == strlen(link->target) && memcmp(text, link->target, (size_t)n) == 0
			     ? FOUND_LINK
			     : FOUND_OTHER;
	return 0;
}

static int create(struct rootfs *rootfs, int dir_fd, const char *leaf,
		  const struct vendor_hook_link *link, struct error *err)
{
	_cleanup_fd_ int fd = -1;
	int r = undo_reserve(rootfs->undo, err);

	if (r < 0)
		return r;
	if (symlinkat(link->target, dir_fd, leaf) < 0)
		return error_set(err, errno, "make the link");
	fd = openat(dir_fd, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		r = error_set(err, errno, "open it");
	else
		r = rootfs_note_created(rootfs, dir_fd, leaf, fd, false, link->path, err);
	if (r < 0)
		rootfs_remove(dir_fd, leaf, fd, S_IFLNK);
	return r;
}

static int make_link(struct rootfs *rootfs, const struct vendor_hook_link *link,
		     enum found *ret_found, struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(rootfs, link->path, false, &leaf, err);
	int r;

	if (dir_fd < 0)
		return dir_fd;
	r = rootfs_check_file_system(dir_fd, false, err);
	if (r == 0)
		r = look(dir_fd, leaf, link, ret_found, err);
	if (r < 0 || *ret_found == FOUND_LINK || *ret_found == FOUND_KEPT)
		return r;
	r = rootfs_check_writable(rootfs, dir_fd, link->path, err);
	if (r < 0)
		return r;
	return *ret_found == FOUND_NOTHING
		       ? create(rootfs, dir_fd, leaf, link, err)
		       : rootfs_replace_link(rootfs, dir_fd, leaf, link->path, link->target, err);
}

/* Runs in: the container's mount namespace. Trusts: the root fd. Hostile: the path below the root, and what stands there. */
int builtin_link(struct rootfs *rootfs, const struct vendor_hook_link *link, struct notes *notes,
		 struct error *err)
{
	enum found found = FOUND_NOTHING;
	int r = make_link(rootfs, link, &found, err);

	if (r < 0)
		return error_prefix(err, "link %s", SHOW(link->path));
	if (found == FOUND_LINK)
		note_add(notes, NOTE_INFO, "link %s is in the container already", SHOW(link->path));
	else if (found == FOUND_OTHER)
		note_add(notes, NOTE_INFO, "link %s replaces what the image has there",
			 SHOW(link->path));
	return 0;
}
