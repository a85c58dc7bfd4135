/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by file descriptor, from source to destination: the only place that uses the kernel's
 * mount interface for the container. A mount is made detached, with its flags set while nobody can
 * see it, and then moved onto a destination that was opened inside the container's root. No path is
 * resolved twice.
 */
#include "apply.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "cleanup.h"
#include "mount-attributes.h"
#include "path.h"
#include "plan-library.h"
#include "privilege.h"
#include "rootfs-file.h"
#include "user-namespace.h"

/*
 * The detached mount
 */

static int set_attributes(int tree_fd, const struct mount_options *options, struct error *err)
{
	const struct mount_attr attributes = {
		.attr_set = options->attr_set,
		.attr_clr = options->attr_clear,
		.propagation = options->propagation & ~(uint64_t)MS_REC,
	};

	if (mount_attributes_set(tree_fd, &attributes, options->propagation & MS_REC) < 0)
		return error_set(err, errno, "set its mount options");
	return 0;
}

/* In a user namespace the kernel shows nobody what another file system covers; it says no more than EINVAL. */
static int say_not_cloned(const struct plan_mount *mount, int source_fd, struct error *err)
{
	const int reason = errno;

	if (reason == EINVAL && !mount->options.recursive) {
		_cleanup_fd_ int whole_fd = open_tree(source_fd, "",
						      AT_EMPTY_PATH | OPEN_TREE_CLONE |
							      OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		if (whole_fd >= 0)
			return error_say(err, EXIT_CODE_HOST,
					 "clone mount source %s: other file systems are mounted "
					 "below it, and in a user namespace they cannot be left "
					 "out: the mount has to be rbind, not bind",
					 SHOW(mount->source));
	}
	return error_set(err, reason, "clone mount source %s", SHOW(mount->source));
}

static int clone_bind(const struct container *container, const struct plan_mount *mount,
		      struct error *err)
{
	_cleanup_fd_ int source_fd = open(mount->source, O_PATH | O_CLOEXEC);
	_cleanup_fd_ int tree_fd = -1;
	struct stat st;

	if (source_fd < 0)
		return error_set(err, errno, "open mount source %s", SHOW(mount->source));
	if (fstat(source_fd, &st) < 0)
		return error_set(err, errno, "look at mount source %s", SHOW(mount->source));
	/* The plan was made for what was there then, and judged its owner and mode. */
	if (st.st_dev != mount->source_node.dev || st.st_ino != mount->source_node.ino ||
	    st.st_mode != mount->source_node.mode ||
	    !user_namespace_is_owner(container, st.st_uid, mount->source_node.uid))
		return error_say(err, EXIT_CODE_HOST,
				 "mount source %s changed while it was being looked at",
				 SHOW(mount->source));
	tree_fd = open_tree(source_fd, "",
			    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				    (mount->options.recursive ? AT_RECURSIVE : 0U));
	if (tree_fd < 0)
		return say_not_cloned(mount, source_fd, err);
	if (set_attributes(tree_fd, &mount->options, err) < 0)
		return error_prefix(err, "mount source %s", SHOW(mount->source));
	return TAKE_FD(tree_fd);
}

static bool wants_directory(const struct plan_mount *mount)
{
	return mount->kind == PLAN_MOUNT_TMPFS || S_ISDIR(mount->source_node.mode);
}

/* `path` is relative to the tmpfs; nobody else sees that yet. */
static int make_mount_point(int tmpfs_fd, const char *path, bool directory, struct error *err)
{
	_cleanup_fd_ int dir_fd = fcntl(tmpfs_fd, F_DUPFD_CLOEXEC, 3);
	char name[NAME_MAX + 1];

	for (const char *end; dir_fd >= 0; path = end + 1) {
		end = strchrnul(path, '/');
		if (end - path > NAME_MAX)
			return error_set(err, ENAMETOOLONG, "make a mount point in a tmpfs");
		memcpy(name, path, (size_t)(end - path));
		name[end - path] = '\0';
		bool is_directory = *end || directory;
		int r = is_directory ? mkdirat(dir_fd, name, 0755)
				     : mknodat(dir_fd, name, S_IFREG | 0644, 0);
		if (r < 0 && errno != EEXIST)
			return error_set(err, errno, "make a mount point in a tmpfs");
		if (!*end)
			return 0;
		int next = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close_fd(&dir_fd);
		dir_fd = next;
	}
	return error_set(err, errno, "open a directory of a tmpfs");
}

/* What is read-only when it is attached must have the mount points of what comes into it before. */
static int make_mount_points(const struct plan *plan, const struct plan_mount *mount, int tmpfs_fd,
			     struct error *err)
{
	struct error ignored = {0};
	int r = 0;

	/* The spec says whose its root is, and that nobody may write to it, perhaps. */
	(void)!privilege_add(CAP_DAC_OVERRIDE, &ignored);
	for (size_t i = 0; r == 0 && i < plan->mounts.n; i++) {
		const struct plan_mount *other = &plan->mounts.items[i];
		if (other != mount && path_is_below(other->destination, mount->destination))
			r = make_mount_point(tmpfs_fd,
					     other->destination + strlen(mount->destination) + 1,
					     wants_directory(other), err);
	}
	if (privilege_take(PRIVILEGE_FIND, PRIVILEGE_ANY, r < 0 ? &ignored : err) < 0 && r == 0)
		r = error_result(err);
	return r;
}

static int make_tmpfs(const struct plan_mount *mount, const struct plan *plan, const char *label,
		      struct error *err)
{
	_cleanup_fd_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	_cleanup_fd_ int tree_fd = -1;

	if (fs < 0)
		return error_set(err, errno, "make a tmpfs");
	/* Only a word, but the one that people know from /proc/mounts. */
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", mount->source, 0) < 0)
		return error_set(err, errno, "name a tmpfs %s", SHOW(mount->source));
	/* As a runtime does with its own, or the container could not write to it. */
	if (label && fsconfig(fs, FSCONFIG_SET_STRING, "context", label, 0) < 0)
		return error_set(err, errno, "label a tmpfs %s", SHOW(label));
	for (size_t i = 0; i < mount->options.parameters.n; i++) {
		const struct mount_parameter *parameter = &mount->options.parameters.items[i];
		if (fsconfig(fs, FSCONFIG_SET_STRING, parameter->key, parameter->value, 0) < 0)
			return error_set(err, errno, "tmpfs option %s=%s", parameter->key,
					 SHOW(parameter->value));
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_set(err, errno, "make a tmpfs");
	tree_fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (tree_fd < 0)
		return error_set(err, errno, "make a tmpfs");
	if (plan && (mount->options.attr_set & MOUNT_ATTR_RDONLY) &&
	    make_mount_points(plan, mount, tree_fd, err) < 0)
		return error_result(err);
	if (set_attributes(tree_fd, &mount->options, err) < 0)
		return error_prefix(err, "tmpfs");
	return TAKE_FD(tree_fd);
}

/*
 * A label stops no container. Whether the policy has it, kernels say at different calls: so it was the label if it goes
 * without.
 */
static int make_labelled_tmpfs(const struct plan_mount *mount, const struct plan *plan,
			       const char *label, struct notes *notes, struct error *err)
{
	struct error labelled = {0};
	char text[ERROR_TEXT_MAX];
	int fd = label ? make_tmpfs(mount, plan, label, &labelled) : -1;

	if (fd >= 0)
		return fd;
	fd = make_tmpfs(mount, plan, NULL, err);
	if (fd >= 0 && label)
		note_add(
			notes, NOTE_WARNING,
			"SELinux (linux.mountLabel): mount on %s: %s; the container may be refused "
			"what is in it",
			SHOW(mount->destination), error_text(&labelled, text));
	return fd;
}

/*
 * Runs in: the host's mount namespace. Trusts: the host's paths and what they lead to. Hostile:
 * nothing.
 */
int apply_mount_clone(const struct container *container, const struct plan_mount *mount,
		      const struct plan *plan, const char *label, struct notes *notes,
		      struct error *err)
{
	int fd = mount->kind == PLAN_MOUNT_TMPFS
			 ? make_labelled_tmpfs(mount, plan, label, notes, err)
			 : clone_bind(container, mount, err);

	if (fd < 0)
		return error_prefix(err, "mount on %s", SHOW(mount->destination));
	return fd;
}

/*
 * The destination
 */

/* Below /proc no link is followed: the kernel has some there that lead out of any root. */
static bool is_in_proc(const struct plan_mount *mount)
{
	return strncmp(mount->destination, "/proc/", strlen("/proc/")) == 0;
}

/* What stands at the destination already must be of the source's kind; a link is never mounted on.
 */
static int check_type(const struct plan_mount *mount, int fd, struct error *err)
{
	bool directory = wants_directory(mount);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "look at it");
	if (S_ISLNK(st.st_mode))
		return error_say(err, EXIT_CODE_APPLY, "a symbolic link is there");
	if (directory && !S_ISDIR(st.st_mode))
		return error_say(err, EXIT_CODE_APPLY,
				 "the source is a directory, but something else is there");
	if (!directory && S_ISDIR(st.st_mode))
		return error_say(err, EXIT_CODE_APPLY,
				 "the source is not a directory, but a directory is there");
	return 0;
}

/*
 * A mount point outlives its mount: in an image that is committed, and when the same root is started again. A library
 * cache may still lead there then. On a file that is too short a loader gives up, but one for another class of machines it
 * passes over, and looks further. So the mount point of a library is the header of one for no machine at all, as
 * long as the longest header.
 */
static const char no_library[sizeof(Elf64_Ehdr)] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3};

static bool is_library(const struct plan_mount *mount)
{
	return mount->kind == PLAN_MOUNT_BIND && mount->source_node.loadable &&
	       plan_is_library_name(mount->destination);
}

static int create_destination(struct rootfs *rootfs, const struct plan_mount *mount,
			      struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int parent_fd =
		rootfs_open_parent(rootfs, mount->destination, is_in_proc(mount), &leaf, err);
	int r;

	if (parent_fd < 0)
		return parent_fd;
	r = rootfs_check_file_system(parent_fd, is_in_proc(mount), err);
	if (r < 0)
		return r;
	_cleanup_fd_ int fd = rootfs_create(rootfs, parent_fd, leaf, wants_directory(mount),
					    mount->destination, err);
	if (fd >= 0 && is_library(mount)) {
		r = rootfs_fill(rootfs, fd, no_library, sizeof(no_library), err);
		if (r < 0)
			return error_prefix(err, "mount point %s in the container",
					    SHOW(mount->destination));
	}
	return TAKE_FD(fd);
}

static int open_destination(struct rootfs *rootfs, const struct plan_mount *mount,
			    struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open(rootfs, mount->destination, is_in_proc(mount), err);
	int r;

	if (fd == -ENOENT)
		fd = create_destination(rootfs, mount, err);
	if (fd < 0)
		return fd;
	r = check_type(mount, fd, err);
	if (r == 0)
		r = rootfs_check_file_system(fd, is_in_proc(mount), err);
	if (r == 0)
		r = rootfs_check_propagation(rootfs, fd, mount->destination, err);
	return r < 0 ? r : TAKE_FD(fd);
}

/*
 * Attaching
 */

/* Whether `fd` is the root of a mounted tmpfs: then an earlier run of ours, or the engine, made it. */
static bool is_tmpfs_root(int fd)
{
	struct statx stx;
	struct statfs statfs;

	return fstatfs(fd, &statfs) == 0 && statfs.f_type == TMPFS_MAGIC &&
	       statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Whether `fd` is the very file or directory that is to be mounted. */
static bool is_source(int fd, int tree_fd)
{
	struct stat there, ours;

	return fstat(fd, &there) == 0 && fstat(tree_fd, &ours) == 0 &&
	       there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

/* Whether what is to be mounted is there already, with all flags that the spec asks for. */
static bool is_there_already(const struct plan_mount *mount, int fd, int tree_fd)
{
	struct statvfs statvfs;

	if (!(mount->kind == PLAN_MOUNT_TMPFS ? is_tmpfs_root(fd) : is_source(fd, tree_fd)) ||
	    fstatvfs(fd, &statvfs) < 0)
		return false;
	/* crun sets "ro" after all hooks. */
	if (mount->in_config)
		return true;
	return mount_attributes_are_shown(statvfs.f_flag, mount->options.attr_set,
					  mount->options.attr_clear);
}

struct attached {
	int proc_fd, tree_fd;
};

static int take_off(void *data, struct error *err)
{
	const struct attached *attached = data;

	return rootfs_unmount(attached->proc_fd, attached->tree_fd, err);
}

/* Runs in: the container's mount namespace. Trusts: both fds. Hostile: nothing: no path is looked up. */
int apply_mount_move(struct rootfs *rootfs, int tree_fd, int destination_fd, const char *path,
		     struct error *err)
{
	const char *what = arena_printf(rootfs->arena, "take the mount off %s", SHOW(path));
	struct attached *attached = arena_new(rootfs->arena, struct attached);
	int r = undo_reserve(rootfs->undo, err);

	if (r < 0)
		return r;
	if (!what || !attached)
		return error_memory(err);
	*attached = (struct attached){.proc_fd = rootfs->proc_fd, .tree_fd = tree_fd};
	if (move_mount(tree_fd, "", destination_fd, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_set(err, errno, "attach the mount");
	undo_push(rootfs->undo,
		  &(struct undo_step){.what = what, .take_back = take_off, .data = attached});
	return 0;
}

/* Looks the destination up once more: it must now lead to what was mounted. */
static int verify(struct rootfs *rootfs, const struct plan_mount *mount, int tree_fd,
		  struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open(rootfs, mount->destination, false, err);

	if (fd < 0)
		return fd;
	if (!is_source(fd, tree_fd))
		return error_say(err, EXIT_CODE_APPLY,
				 "the path leads elsewhere since the mount was made");
	return 0;
}

/*
 * Runs in: the container's mount namespace. Trusts: the tree, the root fd. Hostile: the path below
 * the root and all that stands there.
 */
int apply_mount_attach(struct rootfs *rootfs, const struct plan_mount *mount, int tree_fd,
		       struct notes *notes, struct error *err)
{
	_cleanup_fd_ int fd = open_destination(rootfs, mount, err);
	int r;

	if (fd < 0)
		return error_prefix(err, "mount on %s", SHOW(mount->destination));
	if (is_there_already(mount, fd, tree_fd)) {
		note_add(notes, NOTE_INFO, "%s is mounted in the container already",
			 SHOW(mount->destination));
		return 0;
	}
	r = apply_mount_move(rootfs, tree_fd, fd, mount->destination, err);
	if (r == 0)
		r = verify(rootfs, mount, tree_fd, err);
	return r < 0 ? error_prefix(err, "mount on %s", SHOW(mount->destination)) : 0;
}
