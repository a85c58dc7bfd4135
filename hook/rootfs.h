/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The container's root file system, reached through one fd: paths go in, file descriptors come out.
 * A path is resolved once, inside that root, and never used again as a string.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"
#include "mountinfo.h"
#include "undo.h"

struct rootfs {
	struct arena *arena;
	int fd;                              /* O_PATH, the only root of all look-ups */
	int proc_fd;                         /* our own procfs */
	const struct mountinfo *host_mounts; /* what the host has mounted */
	uid_t uid;                           /* the container's root, as whom files are made */
	gid_t gid;
	struct undo *undo;       /* what is created is written down here */
	uint64_t mount_id;       /* of the root's own mount */
	struct mountinfo mounts; /* the container's table, read when it is first needed */
};

int rootfs_init(struct rootfs *rootfs, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Opens what is at `path` (O_PATH), following links inside the root. -ENOENT (with the error set)
 * when it is not there. With `no_links` any link on the way or at the end fails.
 */
int rootfs_open(struct rootfs *rootfs, const char *path, bool no_links, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * The same for reading what the image has there: nothing that is mounted below the root is reached,
 * since a link of the image may lead into its procfs or into a volume.
 */
int rootfs_open_image(struct rootfs *rootfs, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Opens the directory that holds the last component of `path`, creating what is missing on the way
 * (0755), and points `ret_leaf` to that component.
 */
int rootfs_open_parent(struct rootfs *rootfs, const char *path, bool no_links,
		       const char **ret_leaf, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Creates an empty file (0644) or a directory (0755) in `parent_fd` as a mount point; returns its
 * O_PATH fd. Checks rootfs_check_writable() first.
 */
int rootfs_create(struct rootfs *rootfs, int parent_fd, const char *leaf, bool directory,
		  const char *path, struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * Whether something may be created in this directory: it is on the root's own mount or on a file
 * system of the container's own, not in a directory of the host. 1, 0 or a failure.
 */
int rootfs_is_writable(struct rootfs *rootfs, int dir_fd, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* The same as a failure: `path` is what would have to be created. */
int rootfs_check_writable(struct rootfs *rootfs, int dir_fd, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Whether `fd` lies on the mount that is the root itself: 1, 0 or a failure. */
int rootfs_is_own_mount(struct rootfs *rootfs, int fd, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * A link of the image may lead anywhere below its root, so the file system that was reached
 * decides, not the name: sysfs and cgroups are never to be changed, procfs only where the path itself named it.
 */
int rootfs_check_file_system(int fd, bool proc_is_meant, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* chmod of exactly this inode: by fd alone where the kernel can, else by its name in our own
 * procfs. */
int rootfs_set_mode(struct rootfs *rootfs, int fd, mode_t mode, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Refuses a destination whose mount would carry ours to other namespaces. */
int rootfs_check_propagation(struct rootfs *rootfs, int fd, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Writes down that `leaf` in `parent_fd` was created, so that undo removes it: only if it is still
 * the same inode as `fd`. Needs an undo_reserve() before the creation. `parent_fd` is duplicated.
 */
int rootfs_note_created(struct rootfs *rootfs, int parent_fd, const char *leaf, int fd,
			bool directory, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Takes off the mount whose root `mount_fd` is, by its descriptor in our procfs: no path is looked up. */
int rootfs_unmount(int proc_fd, int mount_fd, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Removes what we have just created and could not write down: if it still is the inode of `fd`, or, where it could not even
 * be opened (-1), if it looks new: of this type (S_IFDIR and so on), without another name.
 */
void rootfs_remove(int parent_fd, const char *leaf, int fd, mode_t type) __attribute__((nonnull));
