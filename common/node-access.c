/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a user namespace no device node can be made, and the host's own is mounted instead, with the
 * host's permissions. A container that starts and then cannot open its device would be a riddle,
 * so the kernel's rules are asked first: owner, group, others; and root's override, which
 * holds only for files whose owner and group are mapped.
 */
#include "node-access.h"

#include <sys/stat.h>

static bool is_hidden(const struct node_user *user, uint32_t id)
{
	return user->overflow && id == OVERFLOW_ID;
}

/* rwx bits of the class that counts, as the kernel picks one. */
static unsigned granted_bits(const struct node_user *user, const struct host_node *node,
			     uint32_t host_uid)
{
	uint32_t gid;

	if (host_uid == node->uid && !is_hidden(user, node->uid))
		return (node->mode >> 6) & 7;
	if (is_hidden(user, node->gid))
		return node->mode & 7;
	if (id_map_outside(user->gids, user->gid, &gid) && gid == node->gid)
		return (node->mode >> 3) & 7;
	for (size_t i = 0; i < user->n_additional_gids; i++)
		if (id_map_outside(user->gids, user->additional_gids[i], &gid) && gid == node->gid)
			return (node->mode >> 3) & 7;
	return node->mode & 7;
}

/* Root of the namespace passes over permissions of what is its own. */
static bool is_overridden(const struct node_user *user, const struct host_node *node)
{
	return user->uid == 0 && !is_hidden(user, node->uid) && !is_hidden(user, node->gid) &&
	       id_map_has_outside(user->uids, node->uid) &&
	       id_map_has_outside(user->gids, node->gid);
}

static unsigned wanted_bits(const struct plan_node *node)
{
	return ((node->access & DEVICE_READ) ? 4U : 0) | ((node->access & DEVICE_WRITE) ? 2U : 0);
}

bool node_access_by_group(const struct plan_node *node)
{
	const unsigned wanted = wanted_bits(node);

	return (((unsigned)node->source_node.mode >> 3) & wanted) == wanted;
}

/* Little endian, as the kernel hands it out (linux/posix_acl_xattr.h): a version, then tag, rights and id of each entry. */
#define ACL_VERSION 2
#define ACL_HEADER_SIZE 4
#define ACL_ENTRY_SIZE 8
#define ACL_USER 0x02
#define ACL_MASK 0x10

static unsigned le16(const uint8_t *data)
{
	return data[0] | (unsigned)data[1] << 8;
}

static uint32_t le32(const uint8_t *data)
{
	return le16(data) | (uint32_t)le16(data + 2) << 16;
}

bool node_access_by_acl(const struct plan_node *node, const uint8_t *acl, size_t size, uint32_t uid)
{
	const unsigned wanted = wanted_bits(node);
	unsigned rights = 0, mask = 0;

	if (size < ACL_HEADER_SIZE || le32(acl) != ACL_VERSION)
		return false;
	for (size_t at = ACL_HEADER_SIZE; size - at >= ACL_ENTRY_SIZE; at += ACL_ENTRY_SIZE) {
		const unsigned tag = le16(acl + at), bits = le16(acl + at + 2);
		if (tag == ACL_MASK)
			mask = bits;
		else if (tag == ACL_USER && le32(acl + at + 4) == uid)
			rights = bits;
	}
	return (rights & mask & wanted) == wanted;
}

/* Which group it is cannot be seen from in here. */
static int say_hidden(const struct node_user *user, const struct plan_node *node, struct error *err)
{
	const struct host_node *host = &node->source_node;

	if (node_access_by_group(node))
		return error_say(
			err, EXIT_CODE_HOST,
			"the container's user %u may not open %s of the host, which is %04o "
			"of an owner and a group that its user namespace does not have: "
			"whoever starts the container has to be in that group (stat -c %%G %s "
			"names it) and keep it (podman: --group-add keep-groups), or the node "
			"be open to all",
			user->uid, SHOW(node->source), host->mode & 07777U, SHOW(node->source));
	return error_say(err, EXIT_CODE_HOST,
			 "the container's user %u may not open %s of the host, which is %04o "
			 "of an owner that its user namespace does not have: no group would do; "
			 "the node has to be open to a group that whoever starts the container is "
			 "in and keeps (podman: --group-add keep-groups), or to all",
			 user->uid, SHOW(node->source), host->mode & 07777U);
}

static int say_group(const struct node_user *user, uint32_t host_uid, const struct plan_node *node,
		     struct error *err)
{
	const struct host_node *host = &node->source_node;

	if (node_access_by_group(node))
		return error_say(
			err, EXIT_CODE_HOST,
			"the container's user %u (%u on the host) may not open %s of the host, "
			"which is %04o of %u:%u: in a user namespace a device keeps the host's "
			"permissions, so its user has to be in group %u there, or the node "
			"open to all",
			user->uid, host_uid, SHOW(node->source), host->mode & 07777U, host->uid,
			host->gid, host->gid);
	return error_say(err, EXIT_CODE_HOST,
			 "the container's user %u (%u on the host) may not open %s of the host, "
			 "which is %04o of %u:%u: in a user namespace a device keeps the host's "
			 "permissions, and no group would do; the node has to be open to one that "
			 "its user is in, or to all",
			 user->uid, host_uid, SHOW(node->source), host->mode & 07777U, host->uid,
			 host->gid);
}

int node_access_check(const struct node_user *user, const struct plan_node *node, struct error *err)
{
	const struct host_node *host = &node->source_node;
	const unsigned wanted = wanted_bits(node);
	uint32_t host_uid;

	if (!id_map_outside(user->uids, user->uid, &host_uid))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "the container's user %u is not mapped in its user namespace",
				 user->uid);
	if ((granted_bits(user, host, host_uid) & wanted) == wanted || is_overridden(user, host))
		return 0;
	return is_hidden(user, host->gid) ? say_hidden(user, node, err)
					  : say_group(user, host_uid, node, err);
}
