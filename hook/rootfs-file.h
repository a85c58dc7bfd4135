/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whole files of the container's root: read with bounds, replaced by rename. */
#include "rootfs.h"

/* Opens a regular file of the image for reading, and nothing else: no FIFO blocks and no device acts. */
int rootfs_open_file(struct rootfs *rootfs, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Opens a directory of the container for reading, mounted ones too; no link on the way is followed. */
int rootfs_open_directory(struct rootfs *rootfs, const char *path, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Reads a regular file of the image into `arena`: nothing else is opened, so no FIFO blocks and no device acts.
 * -ENOENT when it is not there.
 */
int rootfs_read(struct rootfs *rootfs, struct arena *arena, const char *path, size_t limit,
		char **ret_data, size_t *ret_size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* The names in a directory of the image, sorted bytewise, at most `limit` of them. -ENOENT when it is not there. */
int rootfs_list(struct rootfs *rootfs, struct arena *arena, const char *path, size_t limit,
		struct string_list *ret_names, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Whether `leaf` in `dir_fd` is a regular file with exactly this content, as an earlier run left it. */
bool rootfs_has_content(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *data,
			size_t size) __attribute__((nonnull));

/* Writes to a file that we have just created, of which `fd` is an O_PATH descriptor. */
int rootfs_fill(struct rootfs *rootfs, int fd, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Puts a file (root's, with that mode) under the name `leaf` in `dir_fd`, in one step, whatever stood there but a directory: a link is
 * replaced, not followed. Undo brings back what was there. `path` is for messages.
 */
int rootfs_replace(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
		   const char *data, size_t size, mode_t mode, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* The same with a symbolic link of this text. */
int rootfs_replace_link(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
			const char *target, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Mounts a read-only file with this content over `leaf` in `dir_fd`, which is created where it is missing. For
 * directories that are read-only, or will be.
 */
int rootfs_cover(struct rootfs *rootfs, int dir_fd, const char *leaf, const char *path,
		 const char *data, size_t size, mode_t mode, struct error *err)
	__attribute__((nonnull, warn_unused_result));
