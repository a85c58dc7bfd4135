/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The flags of a mount that nobody can see yet. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>

/*
 * As mount_setattr(2) with AT_EMPTY_PATH, for a mount that was just cloned or made and is attached
 * nowhere; before Linux 5.12, which lacks that call, in a roundabout way: then `tree_fd` is a new
 * clone afterwards. With `recursive` the propagation, and it alone, is for all mounts below as well.
 * Returns 0, or -1 with errno.
 *
 * Runs in: the mount namespace in which the mount was made. Trusts: the mount. Hostile: nothing; no
 * path of the container is used.
 */
int mount_attributes_set(int tree_fd, const struct mount_attr *attributes, bool recursive)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether a mount with the flags `shown`, as statvfs(3) has them, has all that are to be set and none of those that are to
 * be cleared. Access times are not compared: they take nothing from anybody.
 */
bool mount_attributes_are_shown(unsigned long shown, uint64_t attr_set, uint64_t attr_clear)
	__attribute__((warn_unused_result));
