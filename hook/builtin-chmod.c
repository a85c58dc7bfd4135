/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes that a spec asks for, of directories mostly that were made for its nodes. What is at the path is opened once
 * inside the container's root, and only that is changed: never something of the host's that is mounted there.
 */
#include "builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cleanup.h"

struct changed {
	struct rootfs *rootfs;
	int fd;
	mode_t mode;
};

static int bring_back(void *data, struct error *err)
{
	struct changed *changed = data;
	_cleanup_fd_ int fd = TAKE_FD(changed->fd);

	return rootfs_set_mode(changed->rootfs, fd, changed->mode, err);
}

/* Takes the fd over when the mode was changed. */
static int change(struct rootfs *rootfs, const char *path, int *fd, mode_t mode, mode_t before,
		  struct error *err)
{
	const char *what =
		arena_printf(rootfs->arena, "set the mode of %s in the container", SHOW(path));
	struct changed *changed = arena_new(rootfs->arena, struct changed);
	int r;

	if (!what || !changed)
		return error_memory(err);
	r = undo_reserve(rootfs->undo, err);
	if (r == 0)
		r = rootfs_set_mode(rootfs, *fd, mode, err);
	if (r < 0)
		return r;
	*changed = (struct changed){.rootfs = rootfs, .fd = TAKE_FD(*fd), .mode = before};
	undo_push(rootfs->undo,
		  &(struct undo_step){.what = what, .take_back = bring_back, .data = changed});
	return 0;
}

/* `*ret_tried`: all was well up to the act itself. */
static int set_mode(struct rootfs *rootfs, const char *path, mode_t mode, bool *ret_tried,
		    struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open(rootfs, path, false, err);
	struct stat st, root;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || fstat(rootfs->fd, &root) < 0)
		return error_set(err, errno, "look at it");
	/* "/" itself is refused when the spec is read; a link of the image must not lead there either. */
	if (st.st_dev == root.st_dev && st.st_ino == root.st_ino)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "it leads to the container's root");
	if ((st.st_mode & 07777) == mode)
		return 0;
	/* Where a root was made of hard links, other roots have the same inode, and the host too. */
	if (!S_ISDIR(st.st_mode) && st.st_nlink > 1)
		return error_say(err, EXIT_CODE_VENDOR_HOOK,
				 "it has %lu names (hard links), and a mode would be set under all "
				 "of them",
				 (unsigned long)st.st_nlink);
	r = rootfs_check_file_system(fd, false, err);
	if (r == 0)
		r = rootfs_is_writable(rootfs, fd, path, err);
	if (r < 0)
		return r;
	if (r == 0)
		return error_say(err, EXIT_CODE_VENDOR_HOOK,
				 "it is the host's, mounted into the container, and has the mode "
				 "%04o",
				 st.st_mode & 07777);
	*ret_tried = true;
	return change(rootfs, path, &fd, mode, st.st_mode & 07777, err);
}

/*
 * What is not there has no mode, and a file system that knows no modes is no reason to stop a container: so does the
 * vendor's program.
 *
 * Runs in: the container's mount namespace. Trusts: the root fd. Hostile: the path below the root.
 */
int builtin_chmod(struct rootfs *rootfs, const char *path, mode_t mode, struct notes *notes,
		  struct error *err)
{
	char text[ERROR_TEXT_MAX];
	bool tried = false;
	int r = set_mode(rootfs, path, mode, &tried, err);

	if (r == 0)
		return 0;
	error_prefix(err, "mode %04o of %s", mode, SHOW(path));
	switch (err->errnum) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
		note_add(notes, NOTE_INFO, "%s", error_text(err, text));
		break;
	case EPERM:
	case EACCES:
	case EOPNOTSUPP:
	case ENOSYS: /* of a FUSE file system */
		if (!tried)
			return r;
		note_add(notes, NOTE_WARNING, "%s", error_text(err, text));
		break;
	default:
		return r;
	}
	*err = (struct error){0};
	return 0;
}
