/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether a user of a container may open a node of the host's that is mounted into it: by the node's access control list,
 * as udev makes one for whoever sits at the machine, or by its mode where it has none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bounds.h"
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
	bool joined; /* we entered the container's since the plan was made: lists show ids as it has them */
};

/* One entry of acl(5), with the kernel's tags. */
struct node_acl_entry {
	uint16_t tag, rights; /* rights: rwx bits */
	uint32_t
		id; /* of a named user or group; UINT32_MAX: one that our namespace does not have */
};

/* Who may do what with a node. */
struct node_acl {
	struct node_acl_entry items[LIMIT_ACL_SIZE / sizeof(struct node_acl_entry)];
	size_t n;      /* in the kernel's order: owner, users, groups, others */
	unsigned mask; /* what users and groups that are not the owner may have at most */
	bool listed;   /* false: it is the node's mode */
};

/*
 * Takes the list as getxattr(2) gives it. Where there is none, or one that the kernel does not ask, since its mask is empty,
 * the mode says the same in three entries.
 */
void node_acl_read(const struct host_node *node, const uint8_t *data, size_t size,
		   struct node_acl *ret_acl) __attribute__((nonnull));

enum node_group {
	NODE_GROUP_NONE,   /* none would do */
	NODE_GROUP_OWNING, /* the node's own */
	NODE_GROUP_LISTED, /* one that the access control list names */
};

/* Whose members may do with the node what `access` (DEVICE_READ, DEVICE_WRITE) says. */
enum node_group node_acl_group(const struct node_acl *acl, unsigned access)
	__attribute__((nonnull));

/*
 * The node keeps owner, mode and list that it has on the host: a bind mount cannot change them. What the device cgroup is
 * asked to allow must be possible, else it fails: "the container's user 0 (100000 on the host) may not open /dev/x of
 * the host, which is 0660 of 0:44: ..." with EXIT_CODE_HOST.
 */
int node_access_check(const struct node_user *user, const struct plan_node *node,
		      const struct node_acl *acl, struct error *err)
	__attribute__((nonnull, warn_unused_result));
