/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The plan becomes fact: all of it, or nothing. */
#include <stdbool.h>

#include "arena.h"
#include "container.h"
#include "error.h"
#include "hook-runner.h"
#include "node-access.h"
#include "notes.h"
#include "plan.h"
#include "rootfs.h"
#include "trusted.h"

struct apply_options {
	const struct oci_config *config; /* the container's user */
	bool keeps_groups; /* the container's process keeps the groups of the runtime's user */
	bool cgroup;       /* false: the device cgroup is left alone */
	const struct oci_devices *devices; /* what the runtime made it from, or NULL */
	const char *ldconfig;              /* path of the host's, or NULL for where it usually is */
	const struct trust *trust;         /* which files of the host may be executed */
	bool root_readonly; /* the container's root will be read-only once hooks have run */
	const struct hook_runner *hook_runner; /* opened; NULL: the plan has no programs to run */
};

/*
 * Does what the plan says to the container, in this order: clone the mount sources in the host's
 * namespace, allow the devices in the container's cgroup, enter its mount namespace, attach the
 * mounts, make the nodes, do the hooks that are built in, refresh the library cache, run the hooks that are programs. On
 * any failure all that was done is taken
 * back, last first. The caller stays in the container's mount namespace.
 */
int apply_plan(struct arena *arena, const struct plan *plan, struct container *container,
	       const struct apply_options *options, struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 3, 4, 6), warn_unused_result));

/*
 * The single steps, one file each.
 */

/* Before the namespace is entered: a detached mount of the source with the options set on it. A tmpfs has the mount points
 * of the other mounts of `plan` that lie in it, unless that is NULL; all in it has `label`, unless that is, and a note tells of one that it cannot
 * have. Returns its fd. */
int apply_mount_clone(const struct container *container, const struct plan_mount *mount,
		      const struct plan *plan, const char *label, struct notes *notes,
		      struct error *err) __attribute__((nonnull(1, 2, 6), warn_unused_result));
/* In the container's namespace: puts it where it belongs. `tree_fd` must stay open until undo is
 * over. */
int apply_mount_attach(struct rootfs *rootfs, const struct plan_mount *mount, int tree_fd,
		       struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 5), warn_unused_result));
/* In the container's namespace: a mount onto what `destination_fd` is. `tree_fd` must stay open as above. `path` is for
 * messages. */
int apply_mount_move(struct rootfs *rootfs, int tree_fd, int destination_fd, const char *path,
		     struct error *err) __attribute__((nonnull, warn_unused_result));
/* Before the namespace is entered, for a container in a user namespace: a detached mount of the
 * host's node. Returns its fd. */
int apply_device_clone(const struct container *container, const struct plan_node *node,
		       struct error *err) __attribute__((nonnull, warn_unused_result));
/*
 * In the container's namespace, for a hook that is in a user namespace itself: whether the node may be opened, by its
 * permissions (where the container's process is root) and by the device cgroup of the process that asks. `group` would open it.
 */
int apply_device_check(struct rootfs *rootfs, const struct plan_node *node, enum node_group group,
		       bool is_root, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* In the container's namespace: makes the node, or mounts `tree_fd` where that is not -1, or finds it there already. */
int apply_device(struct rootfs *rootfs, const struct plan_node *node, int tree_fd,
		 struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 5), warn_unused_result));
