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
