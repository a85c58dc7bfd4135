/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the image may be anything: a FIFO that never answers, a link to a device, a name that changes while it is
 * read. So it is opened by O_PATH first, judged, and only then opened for reading, through our own procfs: the very
 * inode that was judged. What is written goes to a new file beside the old one, and takes its name in one step.
 */
#include "rootfs-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "mount-attributes.h"
#include "sys.h"

/* Tries for a name that nobody has. */
#define NAME_TRIES 8

/*
 * Reading
 */

/* The file behind an O_PATH descriptor, opened anew. */
static int reopen(struct rootfs *rootfs, int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "self/fd/%d", fd);
	return openat(rootfs->proc_fd, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Runs in: the container's mount namespace. Trusts: the root fd, our procfs. Hostile: the path and the content. */
int rootfs_open_file(struct rootfs *rootfs, const char *path, struct error *err)
{
	_cleanup_fd_ int path_fd = rootfs_open_image(rootfs, path, err);
	struct stat st;
	int fd;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &st) < 0)
		return error_set(err, errno, "look at %s in the container", SHOW(path));
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s in the container is no regular file", SHOW(path));
	fd = reopen(rootfs, path_fd, O_RDONLY);
	return fd >= 0 ? fd : error_set(err, errno, "open %s in the container", SHOW(path));
}

/* Runs in, Trusts, Hostile: as above. */
int rootfs_read(struct rootfs *rootfs, struct arena *arena, const char *path, size_t limit,
		char **ret_data, size_t *ret_size, struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open_file(rootfs, path, err);

	return fd < 0 ? fd : fdio_read(arena, fd, limit, path, ret_data, ret_size, err);
}

/* Runs in, Trusts, Hostile: as above. */
int rootfs_open_directory(struct rootfs *rootfs, const char *path, struct error *err)
{
	_cleanup_fd_ int path_fd = rootfs_open(rootfs, path, true, err);
	int fd = path_fd < 0 ? path_fd : reopen(rootfs, path_fd, O_RDONLY | O_DIRECTORY);

	return fd >= 0 || path_fd < 0
		       ? fd
		       : error_set(err, errno, "open directory %s in the container", SHOW(path));
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_names(struct arena *arena, DIR *dir, size_t limit, struct string_list *names,
		      struct error *err)
{
	struct dirent *entry;

	while (errno = 0, names->n < limit && (entry = readdir(dir))) {
		const char **slot = array_add(arena, names);
		if (!slot || !(*slot = arena_strdup(arena, entry->d_name)))
			return error_memory(err);
	}
	return errno ? error_set(err, errno, "list a directory of the container") : 0;
}

/* Runs in, Trusts, Hostile: as rootfs_read(). */
int rootfs_list(struct rootfs *rootfs, struct arena *arena, const char *path, size_t limit,
		struct string_list *ret_names, struct error *err)
{
	_cleanup_fd_ int path_fd = rootfs_open_image(rootfs, path, err);
	int fd, r;

	if (path_fd < 0)
		return path_fd;
	fd = reopen(rootfs, path_fd, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		r = error_set(err, errno, "open directory %s in the container", SHOW(path));
		close_fd(&fd);
		return r;
	}
	r = read_names(arena, dir, limit, ret_names, err);
	closedir(dir);
	if (r == 0 && ret_names->n > 1)
		qsort(ret_names->items, ret_names->n, sizeof(*ret_names->items), compare_names);
	return r;
}

/* Runs in, Trusts, Hostile: as rootfs_read(). Only a file of the right size is read. */
bool rootfs_has_content(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *data,
			size_t size)
{
	_cleanup_fd_ int path_fd = openat(dir_fd, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct error ignored = {0};
	struct stat st;
	char *there;
	size_t there_size;

	if (path_fd < 0 || fstat(path_fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size != (off_t)size)
		return false;
	_cleanup_fd_ int fd = reopen(rootfs, path_fd, O_RDONLY);
	return fd >= 0 &&
	       fdio_read(rootfs->arena, fd, size, leaf, &there, &there_size, &ignored) == 0 &&
	       there_size == size && memcmp(there, data, size) == 0;
}

/*
 * Replacing
 */

struct replaced {
	int dir_fd;
	const char *leaf,
		*spare; /* the new file's name; the old one's while we may need it again */
	bool had_old;
	dev_t dev; /* of the new file */
	ino_t ino;
};

static int bring_back(void *data, struct error *err)
{
	struct replaced *replaced = data;
	_cleanup_fd_ int dir_fd = TAKE_FD(replaced->dir_fd);
	struct stat st;

	if (fstatat(dir_fd, replaced->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		/* Somebody has removed ours: the image's own comes back nevertheless. */
		if (errno == ENOENT &&
		    (!replaced->had_old || renameat2(dir_fd, replaced->spare, dir_fd,
						     replaced->leaf, RENAME_NOREPLACE) == 0))
			return 0;
		return error_set(err, errno, "look at it");
	}
	if (st.st_dev != replaced->dev || st.st_ino != replaced->ino) {
		if (replaced->had_old)
			(void)unlinkat(dir_fd, replaced->spare, 0);
		return error_set(err, 0, "somebody else has replaced it");
	}
	if (replaced->had_old &&
	    renameat2(dir_fd, replaced->spare, dir_fd, replaced->leaf, RENAME_EXCHANGE) < 0)
		return error_set(err, errno, "rename");
	if (unlinkat(dir_fd, replaced->had_old ? replaced->spare : replaced->leaf, 0) < 0)
		return error_set(err, errno, "unlink");
	return 0;
}

/* Tried twice: once more costs nothing, and a leftover is ugly. */
static int drop_old(void *data, struct error *err)
{
	struct replaced *replaced = data;
	_cleanup_fd_ int dir_fd = TAKE_FD(replaced->dir_fd);

	if (replaced->had_old && unlinkat(dir_fd, replaced->spare, 0) < 0 &&
	    unlinkat(dir_fd, replaced->spare, 0) < 0)
		return error_set(err, errno,
				 "remove the file %s that was replaced in the container",
				 SHOW(replaced->spare));
	return 0;
}

/* A name beside `leaf` that nobody could know. The leaf in it tells people what it was; a name has 255 bytes. */
static const char *spare_name(struct rootfs *rootfs, const char *leaf, struct error *err)
{
	const char *name;
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
		error_set(err, errno, "getrandom");
		return NULL;
	}
	name = arena_printf(rootfs->arena, ".%.230s.%016llx", leaf, (unsigned long long)random);
	if (!name)
		error_memory(err);
	return name;
}

/* A new file beside `leaf`; `*ret_name` is what it is called. */
static int create_spare(struct rootfs *rootfs, int dir_fd, const char *leaf, const char **ret_name,
			struct error *err)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		*ret_name = spare_name(rootfs, leaf, err);
		if (!*ret_name)
			return error_result(err);
		int fd = openat(dir_fd, *ret_name,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	return error_set(err, errno, "create a file beside it");
}

/* The same for a link; what it is goes to `ret_stat`. */
static int create_spare_link(struct rootfs *rootfs, int dir_fd, const char *leaf,
			     const char *target, const char **ret_name, struct stat *ret_stat,
			     struct error *err)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		*ret_name = spare_name(rootfs, leaf, err);
		if (!*ret_name)
			return error_result(err);
		if (symlinkat(target, dir_fd, *ret_name) == 0) {
			if (fstatat(dir_fd, *ret_name, ret_stat, AT_SYMLINK_NOFOLLOW) == 0)
				return 0;
			error_set(err, errno, "look at the new link");
			/* Nobody else knows the name. */
			(void)unlinkat(dir_fd, *ret_name, 0);
			return error_result(err);
		}
		if (errno != EEXIST)
			break;
	}
	return error_set(err, errno, "make a link beside it");
}

/* Not synced to the disk: a container's layer does not outlive a crash of the host, and each start refreshes it. */
static int fill(const struct rootfs *rootfs, int fd, const char *data, size_t size, mode_t mode,
		struct stat *ret_stat, struct error *err)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, data + done, size - done);
		if (n < 0)
			return error_set(err, errno, "write");
		done += (size_t)n;
	}
	if (fchown(fd, rootfs->uid, rootfs->gid) < 0 || fchmod(fd, mode) < 0 ||
	    fstat(fd, ret_stat) < 0)
		return error_set(err, errno, "set its owner and mode");
	return 0;
}

int rootfs_fill(struct rootfs *rootfs, int fd, const char *data, size_t size, struct error *err)
{
	struct stat st;

	/* It was opened by its name after it had been made: what took its place meanwhile is not ours to write to. */
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "look at it");
	if (!S_ISREG(st.st_mode) || st.st_size != 0 || st.st_nlink > 1)
		return error_say(err, EXIT_CODE_APPLY, "something took its place just now");
	_cleanup_fd_ int write_fd = reopen(rootfs, fd, O_WRONLY);
	if (write_fd < 0)
		return error_set(err, errno, "open it");
	ssize_t n = write(write_fd, data, size);
	return n == (ssize_t)size ? 0 : error_set(err, n < 0 ? errno : ENOSPC, "write");
}

/* Gives the new file its name. `replaced->had_old` tells whether there was one before. */
static int take_place(struct replaced *replaced, struct error *err)
{
	struct stat st;

	replaced->had_old =
		fstatat(replaced->dir_fd, replaced->leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (replaced->had_old && S_ISDIR(st.st_mode))
		return error_say(err, EXIT_CODE_LDCACHE, "a directory is there");
	if (renameat2(replaced->dir_fd, replaced->spare, replaced->dir_fd, replaced->leaf,
		      replaced->had_old ? RENAME_EXCHANGE : RENAME_NOREPLACE) < 0)
		return error_set(err, errno, "rename");
	return 0;
}

/* Whatever happens, the spare's name is gone afterwards, or undo knows of it. */
static int settle(struct rootfs *rootfs, struct replaced *replaced, const char *path,
		  struct error *err)
{
	const char *what =
		arena_printf(rootfs->arena, "bring back %s in the container", SHOW(path));
	int r = what ? undo_reserve(rootfs->undo, err) : error_memory(err);

	if (r == 0)
		r = take_place(replaced, err);
	if (r < 0) {
		(void)unlinkat(replaced->dir_fd, replaced->spare, 0);
		return r;
	}
	undo_push(rootfs->undo, &(struct undo_step){.what = what,
						    .take_back = bring_back,
						    .keep = drop_old,
						    .data = replaced});
	return 0;
}

static int replace(struct rootfs *rootfs, struct replaced *replaced, const char *path,
		   const char *data, size_t size, mode_t mode, struct error *err)
{
	_cleanup_fd_ int fd =
		create_spare(rootfs, replaced->dir_fd, replaced->leaf, &replaced->spare, err);
	struct stat st = {0};

	if (fd < 0)
		return fd;
	if (fill(rootfs, fd, data, size, mode, &st, err) < 0) {
		(void)unlinkat(replaced->dir_fd, replaced->spare, 0);
		return error_result(err);
	}
	replaced->dev = st.st_dev;
	replaced->ino = st.st_ino;
	return settle(rootfs, replaced, path, err);
}

static int replace_link(struct rootfs *rootfs, struct replaced *replaced, const char *path,
			const char *target, struct error *err)
{
	struct stat st = {0};
	int r = create_spare_link(rootfs, replaced->dir_fd, replaced->leaf, target,
				  &replaced->spare, &st, err);

	if (r < 0)
		return r;
	replaced->dev = st.st_dev;
	replaced->ino = st.st_ino;
	return settle(rootfs, replaced, path, err);
}

static struct replaced *replaced_new(struct rootfs *rootfs, int dir_fd, const char *leaf,
				     struct error *err)
{
	struct replaced *replaced = arena_new(rootfs->arena, struct replaced);
	const char *name = arena_strdup(rootfs->arena, leaf);

	if (!replaced || !name) {
		error_memory(err);
		return NULL;
	}
	*replaced = (struct replaced){.dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3), .leaf = name};
	if (replaced->dir_fd >= 0)
		return replaced;
	error_set(err, errno, "duplicate a file descriptor");
	return NULL;
}

/* Runs in: the container's mount namespace. Trusts: dir_fd. Hostile: what stands in that directory. */
int rootfs_replace(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
		   const char *data, size_t size, mode_t mode, struct error *err)
{
	struct replaced *replaced = replaced_new(rootfs, dir_fd, leaf, err);

	if (!replaced)
		return error_result(err);
	if (replace(rootfs, replaced, path, data, size, mode, err) == 0)
		return 0;
	close_fd(&replaced->dir_fd);
	return error_prefix(err, "replace %s in the container", SHOW(path));
}

/* Runs in, Trusts, Hostile: as above. */
int rootfs_replace_link(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
			const char *target, struct error *err)
{
	struct replaced *replaced = replaced_new(rootfs, dir_fd, leaf, err);

	if (!replaced)
		return error_result(err);
	if (replace_link(rootfs, replaced, path, target, err) == 0)
		return 0;
	close_fd(&replaced->dir_fd);
	return error_prefix(err, "replace %s in the container", SHOW(path));
}

/*
 * Covering
 */

/* A tmpfs with one file in it. */
static int make_tmpfs_file(const struct rootfs *rootfs, const char *data, size_t size, mode_t mode,
			   int *ret_file_fd, struct error *err)
{
	_cleanup_fd_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	_cleanup_fd_ int tmpfs_fd = -1, fd = -1;
	struct stat st;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_set(err, errno, "make a tmpfs");
	tmpfs_fd = fsmount(fs, FSMOUNT_CLOEXEC,
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (tmpfs_fd < 0)
		return error_set(err, errno, "make a tmpfs");
	fd = openat(tmpfs_fd, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_set(err, errno, "create a file in a tmpfs");
	if (fill(rootfs, fd, data, size, mode, &st, err) < 0)
		return error_prefix(err, "fill a file in a tmpfs");
	*ret_file_fd = openat(tmpfs_fd, "file", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_file_fd < 0)
		return error_set(err, errno, "open a file in a tmpfs");
	return TAKE_FD(tmpfs_fd);
}

struct covered {
	int tree_fd, proc_fd;
};

static int uncover(void *data, struct error *err)
{
	struct covered *covered = data;
	_cleanup_fd_ int tree_fd = TAKE_FD(covered->tree_fd);

	return rootfs_unmount(covered->proc_fd, tree_fd, err);
}

/* The clone of a file of a tmpfs that is attached somewhere. */
static int clone_file(int file_fd, struct error *err)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	_cleanup_fd_ int tree_fd =
		open_tree(file_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree_fd < 0 || mount_attributes_set(tree_fd, &attributes, false) < 0)
		return error_set(err, errno, "clone a file of a tmpfs");
	return TAKE_FD(tree_fd);
}

/*
 * A mount of one file with this content. The kernel clones only what is mounted in our namespace
 * (before Linux 6.15), so the tmpfs is attached to the directory for the moment that the cloning of
 * its file takes. Our own descriptor of the directory still shows what is below.
 */
static int make_file_mount(struct rootfs *rootfs, int dir_fd, const char *data, size_t size,
			   mode_t mode, struct error *err)
{
	struct covered *covered = arena_new(rootfs->arena, struct covered);
	_cleanup_fd_ int file_fd = -1;
	_cleanup_fd_ int tmpfs_fd = make_tmpfs_file(rootfs, data, size, mode, &file_fd, err);
	_cleanup_fd_ int tree_fd = -1;
	int r;

	if (tmpfs_fd < 0)
		return error_result(err);
	if (!covered)
		return error_memory(err);
	*covered = (struct covered){.tree_fd = fcntl(tmpfs_fd, F_DUPFD_CLOEXEC, 3),
				    .proc_fd = rootfs->proc_fd};
	if (covered->tree_fd < 0)
		return error_set(err, errno, "duplicate a file descriptor");
	r = undo_reserve(rootfs->undo, err);
	if (r == 0 && move_mount(tmpfs_fd, "", dir_fd, "",
				 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		r = error_set(err, errno, "attach a tmpfs");
	if (r < 0) {
		close_fd(&covered->tree_fd);
		return r;
	}
	undo_push(rootfs->undo, &(struct undo_step){
					.what = "take a tmpfs off a directory of the container",
					.take_back = uncover,
					.data = covered,
				});
	tree_fd = clone_file(file_fd, err);
	if (tree_fd < 0)
		return error_result(err);
	/* When this fails it is tried again by undo, which may not fail. */
	if (rootfs_unmount(rootfs->proc_fd, tmpfs_fd, err) < 0)
		return error_result(err);
	undo_pop(rootfs->undo);
	close_fd(&covered->tree_fd);
	return TAKE_FD(tree_fd);
}

/* What is to be covered: any file that is there, or a new one. A link or a directory is refused. */
static int open_target(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
		       struct error *err)
{
	struct stat st;
	_cleanup_fd_ int fd = openat(dir_fd, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return rootfs_create(rootfs, dir_fd, leaf, false, path, err);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "open it");
	if (S_ISLNK(st.st_mode) || S_ISDIR(st.st_mode))
		return error_say(err, EXIT_CODE_LDCACHE, "%s is there",
				 S_ISLNK(st.st_mode) ? "a symbolic link" : "a directory");
	return TAKE_FD(fd);
}

static int cover(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
		 const char *data, size_t size, mode_t mode, struct error *err)
{
	const char *what = arena_printf(rootfs->arena, "uncover %s in the container", SHOW(path));
	struct covered *covered = arena_new(rootfs->arena, struct covered);
	_cleanup_fd_ int target_fd = open_target(rootfs, dir_fd, leaf, path, err);
	_cleanup_fd_ int tree_fd = -1;
	int r;

	if (target_fd < 0)
		return target_fd;
	if (!what || !covered)
		return error_memory(err);
	r = rootfs_check_propagation(rootfs, target_fd, path, err);
	/* Another mount than the target's where that is a volume; clone_file() needs it for a moment. */
	if (r == 0)
		r = rootfs_check_propagation(rootfs, dir_fd, path, err);
	if (r < 0)
		return r;
	tree_fd = make_file_mount(rootfs, dir_fd, data, size, mode, err);
	if (tree_fd < 0)
		return tree_fd;
	r = undo_reserve(rootfs->undo, err);
	if (r < 0)
		return r;
	if (move_mount(tree_fd, "", target_fd, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_set(err, errno, "attach the mount");
	*covered = (struct covered){.tree_fd = TAKE_FD(tree_fd), .proc_fd = rootfs->proc_fd};
	undo_push(rootfs->undo,
		  &(struct undo_step){.what = what, .take_back = uncover, .data = covered});
	return 0;
}

/* Runs in: the container's mount namespace. Trusts: dir_fd. Hostile: what stands in that directory. */
int rootfs_cover(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
		 const char *data, size_t size, mode_t mode, struct error *err)
{
	int r = cover(rootfs, dir_fd, leaf, path, data, size, mode, err);

	return r < 0 ? error_prefix(err, "cover %s in the container", SHOW(path)) : 0;
}
