/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whether a user of a container may open a node of the host's that is mounted into it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "id-map.h"
#include "plan.h"

/* The container's user, in the ids of the host. */
struct node_user {
	const struct id_map *uids, *gids;
	uint32_t uid, gid; /* of the container's process, inside */
	const uint32_t *additional_gids;
	size_t n_additional_gids;
	bool overflow; /* we are in a user namespace ourselves: OVERFLOW_ID is no id but means "not one of this namespace" */
};

/*
 * The node keeps the owner and mode that it has on the host: a bind mount cannot change them. What the device cgroup is
 * asked to allow must be possible, else it fails: "the container's user 0 (100000 on the host) may not open /dev/x of
 * the host, which is 0660 of 0:44: ..." with EXIT_CODE_HOST.
 */
int node_access_check(const struct node_user *user, const struct plan_node *node, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Whether those in the node's group may do with it what the device cgroup is asked to allow. */
bool node_access_by_group(const struct plan_node *node) __attribute__((nonnull));

/*
 * Whether the node's access control list, as getxattr(2) gives it, opens it to user `uid`, in ids as that call shows them. Who
 * owns the node is not asked by the kernel for that list, nor is it to be asked here.
 */
bool node_access_by_acl(const struct plan_node *node, const uint8_t *acl, size_t size, uint32_t uid)
	__attribute__((nonnull));
