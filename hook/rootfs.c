/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image decides what every name below its root means, and another container may change it while
 * we look. openat2 with RESOLVE_IN_ROOT resolves a path as a process with that root would, in one
 * step of the kernel; what comes back is a file descriptor, and a link that is exchanged afterwards
 * changes nothing.
 *
 * What is created goes onto the root's own mount or onto file systems that are the container's
 * alone (its /dev). In a directory of the host that is mounted into the container nothing is ever
 * created: it would stay there.
 */
#include "rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "sys.h"
#include "walk.h"

/* Headers of Debian 11's kernel do not have them. */
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000
#endif

#ifndef CGROUP_SUPER_MAGIC
#define CGROUP_SUPER_MAGIC 0x27e0eb
#endif
#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

static int mount_id(int fd, uint64_t *ret_id, const char *path, struct error *err)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return error_set(err, errno, "look at %s in the container", SHOW(path));
	if (!(stx.stx_mask & STATX_MNT_ID))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "this kernel does not tell mount ids: Linux 5.8 is needed");
	*ret_id = stx.stx_mnt_id;
	return 0;
}

int rootfs_init(struct rootfs *rootfs, struct error *err)
{
	return mount_id(rootfs->fd, &rootfs->mount_id, "/", err);
}

/* The words for what stands in the way, where errno's own would only puzzle. */
static int open_failed(const char *path, bool no_links, struct error *err)
{
	int error = errno;

	if (error == ELOOP && no_links) {
		error_say(err, EXIT_CODE_APPLY,
			  "%s in the container: the image has a symbolic link there", SHOW(path));
		return -ELOOP;
	}
	return error_set(err, error, "open %s in the container", SHOW(path));
}

/*
 * Runs in: the container's mount namespace. Trusts: rootfs->fd. Hostile: everything that `path`
 * passes.
 */
int rootfs_open(struct rootfs *rootfs, const char *path, bool no_links, struct error *err)
{
	int fd = walk_open(rootfs->fd, path, O_PATH,
			   RESOLVE_IN_ROOT | (no_links ? RESOLVE_NO_SYMLINKS : 0));

	return fd >= 0 ? fd : open_failed(path, no_links, err);
}

int rootfs_open_image(struct rootfs *rootfs, const char *path, struct error *err)
{
	int fd = walk_open(rootfs->fd, path, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_XDEV);

	return fd >= 0 ? fd : open_failed(path, false, err);
}

int rootfs_unmount(int proc_fd, int mount_fd, struct error *err)
{
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "self/fd/%d", mount_fd);
	if (fchdir(proc_fd) < 0 || umount2(path, MNT_DETACH) < 0)
		r = error_set(err, errno, "umount");
	/* Where we stand matters to nobody: no relative path is used. */
	(void)!chdir("/");
	return r;
}

/*
 * What is taken for ours without a descriptor can only be the container's, new and of the same type, in a place where it lets us
 * create something; and a directory goes only if it is empty.
 */
static bool is_new(int fd, const struct stat *there, mode_t type)
{
	struct stat ours;

	if (fd < 0)
		return (there->st_mode & S_IFMT) == type && (S_ISDIR(type) || there->st_nlink == 1);
	return fstat(fd, &ours) == 0 && ours.st_dev == there->st_dev &&
	       ours.st_ino == there->st_ino;
}

void rootfs_remove(int parent_fd, const char *leaf, int fd, mode_t type)
{
	struct stat there;

	if (fstatat(parent_fd, leaf, &there, AT_SYMLINK_NOFOLLOW) == 0 && is_new(fd, &there, type))
		(void)unlinkat(parent_fd, leaf, S_ISDIR(type) ? AT_REMOVEDIR : 0);
}

int rootfs_check_file_system(int fd, bool proc_is_meant, struct error *err)
{
	struct statfs statfs;

	if (fstatfs(fd, &statfs) < 0)
		return error_set(err, errno, "look at its file system");
	switch ((unsigned long)statfs.f_type) {
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
		return error_say(err, EXIT_CODE_APPLY,
				 "it leads into the kernel's sysfs or cgroups");
	case PROC_SUPER_MAGIC:
		if (!proc_is_meant)
			return error_say(err, EXIT_CODE_APPLY, "it leads into procfs");
		return 0;
	default:
		return 0;
	}
}

int rootfs_set_mode(struct rootfs *rootfs, int fd, mode_t mode, struct error *err)
{
	char path[64];

	if (sys_fchmodat2(fd, "", mode, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS && errno != EOPNOTSUPP)
		return error_set(err, errno, "set its mode");
	snprintf(path, sizeof(path), "self/fd/%d", fd);
	if (fchmodat(rootfs->proc_fd, path, mode, 0) < 0)
		return error_set(err, errno, "set its mode");
	return 0;
}

static int read_mounts(struct rootfs *rootfs, struct error *err)
{
	char *data;
	size_t size;
	int r = fdio_read_at(rootfs->arena, rootfs->proc_fd, "self/mountinfo", LIMIT_PROC_SIZE,
			     &data, &size, err);

	if (r < 0)
		return r;
	return mountinfo_parse(rootfs->arena, data, size, &rootfs->mounts, err);
}

/*
 * The entry of the mount that holds `fd`. The table is kept between calls and read anew for a mount
 * that it lacks: at a start only we change it now, and only by adding. Where the container runs
 * (cdictl check --repair) it may change it too: an id that it has used again has other options then,
 * which are the container's own to set.
 */
static int find_mount(struct rootfs *rootfs, uint64_t id, const struct mountinfo_entry **ret_entry,
		      struct error *err)
{
	*ret_entry = mountinfo_find(&rootfs->mounts, id);
	if (*ret_entry)
		return 0;
	int r = read_mounts(rootfs, err);
	if (r < 0)
		return r;
	*ret_entry = mountinfo_find(&rootfs->mounts, id);
	if (!*ret_entry)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "mount %llu of the container is not in its mount table",
				 (unsigned long long)id);
	return 0;
}

/* `*ret_host` is the mount of the host that the directory is on, or NULL where it may be written to. */
static int find_host_mount(struct rootfs *rootfs, int dir_fd, const char *path,
			   const struct mountinfo_entry **ret_host, struct error *err)
{
	const struct mountinfo_entry *entry;
	uint64_t id;
	int r = mount_id(dir_fd, &id, path, err);

	*ret_host = NULL;
	if (r < 0 || id == rootfs->mount_id)
		return r;
	r = find_mount(rootfs, id, &entry, err);
	if (r == 0 && mountinfo_has_device(rootfs->host_mounts, entry->major, entry->minor))
		*ret_host = entry;
	return r;
}

int rootfs_is_writable(struct rootfs *rootfs, int dir_fd, const char *path, struct error *err)
{
	const struct mountinfo_entry *host;
	int r = find_host_mount(rootfs, dir_fd, path, &host, err);

	return r < 0 ? r : !host;
}

int rootfs_check_writable(struct rootfs *rootfs, int dir_fd, const char *path, struct error *err)
{
	const struct mountinfo_entry *host;
	int r = find_host_mount(rootfs, dir_fd, path, &host, err);

	if (r < 0 || !host)
		return r;
	return error_say(
		err, EXIT_CODE_APPLY,
		"%s is missing in the container and would have to be created in %s, which is "
		"a directory of the host: create it there, or do not mount that directory",
		SHOW(path), SHOW(host->mount_point));
}

int rootfs_is_own_mount(struct rootfs *rootfs, int fd, const char *path, struct error *err)
{
	uint64_t id;
	int r = mount_id(fd, &id, path, err);

	return r < 0 ? r : id == rootfs->mount_id;
}

int rootfs_check_propagation(struct rootfs *rootfs, int fd, const char *path, struct error *err)
{
	const struct mountinfo_entry *entry;
	uint64_t id;
	int r = mount_id(fd, &id, path, err);

	if (r == 0)
		r = find_mount(rootfs, id, &entry, err);
	if (r < 0)
		return r;
	if (entry->shared)
		return error_say(err, EXIT_CODE_APPLY,
				 "%s lies on a mount that is shared with other namespaces (peer "
				 "group %u): a mount there "
				 "would appear outside the container; use rootfsPropagation "
				 "private or slave",
				 SHOW(path), entry->shared);
	return 0;
}

/*
 * Undo of a creation
 */

struct created {
	int parent_fd;
	const char *leaf;
	dev_t dev;
	ino_t ino;
	bool directory;
};

/* Removes only what we made: whoever put something else under that name meanwhile keeps it. */
static int remove_created(void *data, struct error *err)
{
	struct created *created = data;
	_cleanup_fd_ int parent_fd = TAKE_FD(created->parent_fd);
	struct stat st;

	if (fstatat(parent_fd, created->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "look at it");
	if (st.st_dev != created->dev || st.st_ino != created->ino)
		return 0;
	if (unlinkat(parent_fd, created->leaf, created->directory ? AT_REMOVEDIR : 0) < 0)
		return error_set(err, errno, "unlink");
	return 0;
}

int rootfs_note_created(struct rootfs *rootfs, int parent_fd, const char *leaf, int fd,
			bool directory, const char *path, struct error *err)
{
	struct created *created = arena_new(rootfs->arena, struct created);
	const char *what = arena_printf(rootfs->arena, "remove %s in the container", SHOW(path));
	const char *name = arena_strdup(rootfs->arena, leaf);
	struct stat st;

	if (!created || !what || !name)
		return error_memory(err);
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "look at %s in the container", SHOW(path));
	*created = (struct created){
		.parent_fd = fcntl(parent_fd, F_DUPFD_CLOEXEC, 3),
		.leaf = name,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.directory = directory,
	};
	if (created->parent_fd < 0)
		return error_set(err, errno, "duplicate a file descriptor");
	undo_push(rootfs->undo,
		  &(struct undo_step){.what = what, .take_back = remove_created, .data = created});
	return 0;
}

/*
 * Creation
 */

/* Opens the very entry of a directory that we have just made, or found to be there. */
static int open_entry(int parent_fd, const char *leaf, const char *path, struct error *err)
{
	int fd = walk_open(parent_fd, leaf, O_PATH | O_NOFOLLOW,
			   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

	return fd >= 0 ? fd : error_set(err, errno, "open %s in the container", SHOW(path));
}

/*
 * Runs in: the container's mount namespace. Trusts: parent_fd. Hostile: what stands under `leaf`
 * already or is put there meanwhile: nothing existing is used or followed.
 */
int rootfs_create(struct rootfs *rootfs, int parent_fd, const char *leaf, bool directory,
		  const char *path, struct error *err)
{
	_cleanup_fd_ int fd = -1;
	int r = rootfs_check_writable(rootfs, parent_fd, path, err);

	if (r == 0)
		r = undo_reserve(rootfs->undo, err);
	if (r < 0)
		return r;
	if (directory)
		r = mkdirat(parent_fd, leaf, 0755);
	else
		r = fd = openat(parent_fd, leaf,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (r < 0 && errno == EEXIST)
		return error_say(err, EXIT_CODE_APPLY,
				 "%s in the container is a symbolic link that leads nowhere, or "
				 "appeared just now",
				 SHOW(path));
	if (r < 0)
		return error_set(err, errno, "create %s in the container", SHOW(path));
	close_fd(&fd);
	fd = open_entry(parent_fd, leaf, path, err);
	if (fd >= 0 && rootfs_note_created(rootfs, parent_fd, leaf, fd, directory, path, err) == 0)
		return TAKE_FD(fd);
	rootfs_remove(parent_fd, leaf, fd, directory ? S_IFDIR : S_IFREG);
	return error_result(err);
}

/* Makes the directories of `path` from `from` on, whose parent `dir_fd` is; consumes dir_fd. */
static int create_directories(struct rootfs *rootfs, int dir_fd, char *path, char *from,
			      struct error *err)
{
	_cleanup_fd_ int fd = dir_fd;

	while (from) {
		char *end = strchr(from, '/');
		if (end)
			*end = '\0';
		int next = rootfs_create(rootfs, fd, from, true, path, err);
		if (next < 0)
			return next;
		close_fd(&fd);
		fd = next;
		if (end)
			*end = '/';
		from = end ? end + 1 : NULL;
	}
	return TAKE_FD(fd);
}

/*
 * Opens the directory `path`, creating what is missing. The longest part that exists is looked for
 * from the end, since nearly always all of it exists.
 */
static int open_directories(struct rootfs *rootfs, char *path, bool no_links, struct error *err)
{
	const uint64_t resolve = RESOLVE_IN_ROOT | (no_links ? RESOLVE_NO_SYMLINKS : 0);
	char *missing = NULL;

	for (;;) {
		char *slash;
		int fd = walk_open(rootfs->fd, path[0] ? path : "/", O_PATH | O_DIRECTORY, resolve);
		if (fd >= 0) {
			if (missing)
				missing[-1] = '/';
			return create_directories(rootfs, fd, path, missing, err);
		}
		if (errno != ENOENT || !path[0])
			return open_failed(path, no_links, err);
		slash = strrchr(path, '/');
		if (missing)
			missing[-1] = '/';
		*slash = '\0';
		missing = slash + 1;
	}
}

int rootfs_open_parent(struct rootfs *rootfs, const char *path, bool no_links,
		       const char **ret_leaf, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? arena_strndup(rootfs->arena, path, (size_t)(slash - path)) : NULL;

	if (!directory)
		return error_memory(err);
	*ret_leaf = slash + 1;
	return open_directories(rootfs, directory, no_links, err);
}
