/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device nodes. The directory of a node is reached without following any link: an image whose /dev
 * is a link to somewhere must not decide where a node is made. A node that is there already is used
 * if it is the same device, and is never changed: it may be the host's. In a user namespace the
 * kernel lets nobody make a node, so the host's own is mounted onto a file.
 */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cleanup.h"
#include "sys.h"

static dev_t node_number(const struct plan_node *node)
{
	return S_ISFIFO(node->type) ? 0 : makedev(node->major, node->minor);
}

static bool is_same_device(const struct plan_node *node, const struct stat *st)
{
	return (st->st_mode & S_IFMT) == node->type &&
	       (S_ISFIFO(node->type) || st->st_rdev == node_number(node));
}

static const char *type_words(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFCHR:
	case S_IFBLK:
		return "another device node";
	case S_IFIFO:
		return "a FIFO";
	default:
		return "a socket";
	}
}

/* A node on a file system mounted nodev looks right and cannot be opened. */
static int check_nodev(const struct plan_node *node, int parent_fd, struct error *err)
{
	struct statvfs statvfs;

	if (fstatvfs(parent_fd, &statvfs) < 0)
		return error_set(err, errno, "look at its file system");
	if (!S_ISFIFO(node->type) && (statvfs.f_flag & ST_NODEV))
		return error_say(err, EXIT_CODE_APPLY,
				 "its directory is on a file system mounted nodev");
	return 0;
}

/* Positive: the node is there already. */
static int look_for_node(const struct plan_node *node, int parent_fd, const char *leaf,
			 struct error *err)
{
	struct stat st;

	if (fstatat(parent_fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, "look at it");
	if (!is_same_device(node, &st))
		return error_say(err, EXIT_CODE_APPLY, "%s is there already",
				 type_words(st.st_mode));
	return 1;
}

/* Owner before mode: a chown takes set-id bits away. */
static int finish_node(struct rootfs *rootfs, const struct plan_node *node, int fd,
		       struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "look at it");
	/* A hard link to a node of somebody else's would pass the comparison, and is not ours to change. */
	if (!is_same_device(node, &st) || st.st_uid != rootfs->uid || st.st_nlink != 1)
		return error_say(err, EXIT_CODE_APPLY, "%s took its place just now",
				 type_words(st.st_mode));
	/* In a user namespace, where only a FIFO is made, it belongs to the container's root. */
	if (rootfs->uid == 0 && fchownat(fd, "", node->uid, node->gid, AT_EMPTY_PATH) < 0)
		return error_set(err, errno, "set its owner to %u:%u", node->uid, node->gid);
	return rootfs_set_mode(rootfs, fd, node->mode, err);
}

static int make_node(struct rootfs *rootfs, const struct plan_node *node, int parent_fd,
		     const char *leaf, struct error *err)
{
	_cleanup_fd_ int fd = -1;
	int r = rootfs_check_writable(rootfs, parent_fd, node->path, err);

	if (r == 0)
		r = undo_reserve(rootfs->undo, err);
	if (r < 0)
		return r;
	/* For root alone until owner and mode are what they should be. */
	if (mknodat(parent_fd, leaf, node->type | 0600, node_number(node)) < 0)
		return error_set(err, errno, "mknod");
	fd = openat(parent_fd, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		r = error_set(err, errno, "open it");
	else
		r = rootfs_note_created(rootfs, parent_fd, leaf, fd, false, node->path, err);
	if (r < 0) {
		rootfs_remove(parent_fd, leaf, fd, node->type);
		return r;
	}
	return finish_node(rootfs, node, fd, err);
}

/*
 * Runs in: the host's mount namespace. Trusts: the host's path. Hostile: nothing.
 */
int apply_device_clone(const struct container *container, const struct plan_node *node,
		       struct error *err)
{
	const struct plan_mount mount = {
		.kind = PLAN_MOUNT_BIND,
		.source = node->source,
		.source_node = node->source_node,
		.destination = node->path,
		.options = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
			    .propagation = MS_PRIVATE},
	};

	if (!node->source)
		return error_say(
			err, EXIT_CODE_HOST,
			"device node %s: the host has none, and in a user namespace none can "
			"be made",
			SHOW(node->path));
	if (node->source_node.major != node->major || node->source_node.minor != node->minor)
		return error_say(err, EXIT_CODE_HOST,
				 "device node %s: %s of the host has another number, and in a user "
				 "namespace none can be made",
				 SHOW(node->path), SHOW(node->source));
	return apply_mount_clone(container, &mount, NULL, NULL, NULL, err);
}

/* The host's node takes the place of a file that is made for it. */
static int mount_node(struct rootfs *rootfs, const struct plan_node *node, int parent_fd,
		      const char *leaf, int tree_fd, struct error *err)
{
	_cleanup_fd_ int fd = rootfs_create(rootfs, parent_fd, leaf, false, node->path, err);
	int r;

	if (fd < 0)
		return fd;
	r = rootfs_check_propagation(rootfs, fd, node->path, err);
	return r < 0 ? r : apply_mount_move(rootfs, tree_fd, fd, node->path, err);
}

/* Root passes over permissions of what is its namespace's, so the owner or the group is not. */
static int say_closed(const struct plan_node *node, enum node_group group, struct error *err)
{
	const char *source = SHOW(node->source);

	if (group == NODE_GROUP_NONE)
		return error_say(err, EXIT_CODE_HOST,
				 "device node %s: the container's root may not open %s, whose "
				 "owner or group is not of its user namespace, and no group would "
				 "do: the node has to be open to whoever starts the container "
				 "(udev: TAG+=\"uaccess\"; or setfacl -m u:NAME:rw %s), or to all",
				 SHOW(node->path), source, source);
	return error_say(err, EXIT_CODE_HOST,
			 "device node %s: the container's root may not open %s, whose owner or "
			 "group is not of its user namespace: whoever starts the container has to "
			 "be in %s %s (%s %s names it) and keep it there (podman: --group-add "
			 "keep-groups), or the node be open to all",
			 SHOW(node->path), source,
			 group == NODE_GROUP_OWNING ? "the group of"
						    : "a group of the access control list of",
			 source, group == NODE_GROUP_OWNING ? "stat -c %G" : "getfacl", source);
}

/*
 * Runs in: the container's namespaces. Trusts: the kernel's answer, which is that of an open(2). Hostile: the path below
 * the root, where by now the node must stand.
 */
int apply_device_check(struct rootfs *rootfs, const struct plan_node *node, enum node_group group,
		       bool is_root, struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open(rootfs, node->path, true, err);
	int mode = ((node->access & DEVICE_READ) ? R_OK : 0) |
		   ((node->access & DEVICE_WRITE) ? W_OK : 0);

	if (fd < 0)
		return error_prefix(err, "device node %s", SHOW(node->path));
	if (sys_faccessat2(fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) == 0 || errno == ENOSYS)
		return 0;
	if (errno == EACCES && is_root)
		return say_closed(node, group, err);
	if (errno == EPERM)
		return error_say(err, EXIT_CODE_CGROUP,
				 "device node %s: the device cgroup does not allow it, and from a "
				 "user namespace that cannot be changed",
				 SHOW(node->path));
	return errno == EACCES ? 0
			       : error_set(err, errno, "ask for access to %s", SHOW(node->path));
}

/*
 * Runs in: the container's mount namespace. Trusts: the root fd, the plan's numbers. Hostile: the
 * path below the root and what stands there.
 */
int apply_device(struct rootfs *rootfs, const struct plan_node *node, int tree_fd,
		 struct notes *notes, struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int parent_fd = rootfs_open_parent(rootfs, node->path, true, &leaf, err);
	int r;

	if (parent_fd < 0)
		return error_prefix(err, "device node %s", SHOW(node->path));
	r = tree_fd < 0 ? check_nodev(node, parent_fd, err) : 0;
	if (r == 0)
		r = look_for_node(node, parent_fd, leaf, err);
	if (r > 0) {
		note_add(notes, NOTE_INFO, "device node %s is in the container already",
			 SHOW(node->path));
		return 0;
	}
	if (r == 0 && tree_fd < 0)
		r = make_node(rootfs, node, parent_fd, leaf, err);
	else if (r == 0)
		r = mount_node(rootfs, node, parent_fd, leaf, tree_fd, err);
	return r < 0 ? error_prefix(err, "device node %s", SHOW(node->path)) : 0;
}
