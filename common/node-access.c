/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a user namespace no device node can be made, and the host's own is mounted instead, with the
 * host's permissions. A container that starts and then cannot open its device would be a riddle,
 * so the kernel's rules are asked first: the access control list, or the mode in its place, and root's
 * override, which holds only for files whose owner and group are mapped. (Of a node with a list the
 * mode's group bits are the list's mask, and tell nothing of the group.)
 */
#include "node-access.h"

#include <stdio.h>
#include <sys/stat.h>

/*
 * The list
 */

/* linux/posix_acl.h */
enum {
	ACL_USER_OBJ = 0x01,
	ACL_USER = 0x02,
	ACL_GROUP_OBJ = 0x04,
	ACL_GROUP = 0x08,
	ACL_MASK = 0x10,
	ACL_OTHER = 0x20,
};

/* Little endian, as the kernel hands it out (linux/posix_acl_xattr.h): a version, then tag, rights and id of each entry. */
#define ACL_VERSION 2
#define ACL_HEADER_SIZE 4
#define ACL_ENTRY_SIZE 8

static unsigned le16(const uint8_t *data)
{
	return data[0] | (unsigned)data[1] << 8;
}

static uint32_t le32(const uint8_t *data)
{
	return le16(data) | (uint32_t)le16(data + 2) << 16;
}

static void add_entry(struct node_acl *acl, unsigned tag, unsigned rights, uint32_t id)
{
	acl->items[acl->n++] = (struct node_acl_entry){(uint16_t)tag, (uint16_t)(rights & 7), id};
}

static void read_mode(mode_t mode, struct node_acl *acl)
{
	*acl = (struct node_acl){.mask = 7};
	add_entry(acl, ACL_USER_OBJ, mode >> 6, UINT32_MAX);
	add_entry(acl, ACL_GROUP_OBJ, mode >> 3, UINT32_MAX);
	add_entry(acl, ACL_OTHER, mode, UINT32_MAX);
}

void node_acl_read(const struct host_node *node, const uint8_t *data, size_t size,
		   struct node_acl *ret_acl)
{
	*ret_acl = (struct node_acl){.listed = true};
	if (size >= ACL_HEADER_SIZE && size <= LIMIT_ACL_SIZE && le32(data) == ACL_VERSION)
		for (size_t at = ACL_HEADER_SIZE; size - at >= ACL_ENTRY_SIZE; at += ACL_ENTRY_SIZE)
			add_entry(ret_acl, le16(data + at), le16(data + at + 2),
				  le32(data + at + 4));
	for (size_t i = 0; i < ret_acl->n; i++)
		if (ret_acl->items[i].tag == ACL_MASK)
			ret_acl->mask = ret_acl->items[i].rights;
	if (ret_acl->mask == 0)
		read_mode(node->mode, ret_acl);
}

/*
 * The kernel's rules
 */

static bool is_hidden(const struct node_user *user, uint32_t id)
{
	return user->overflow && id == OVERFLOW_ID;
}

static unsigned wanted_bits(unsigned access)
{
	return ((access & DEVICE_READ) ? 4U : 0) | ((access & DEVICE_WRITE) ? 2U : 0);
}

/* `inside`: `id` is one of the container's. */
static bool is_in_group(const struct node_user *user, uint32_t id, bool inside)
{
	for (size_t i = 0; i <= user->n_additional_gids; i++) {
		const uint32_t gid = i == 0 ? user->gid : user->additional_gids[i - 1];
		uint32_t outside;
		if (id_map_outside(user->gids, gid, &outside) && (inside ? gid : outside) == id)
			return true;
	}
	return false;
}

static bool is_meant(const struct node_user *user, uint32_t host_uid, const struct host_node *host,
		     const struct node_acl_entry *entry)
{
	switch (entry->tag) {
	case ACL_USER_OBJ:
		return host_uid == host->uid && !is_hidden(user, host->uid);
	case ACL_USER:
		return entry->id == (user->joined ? user->uid : host_uid);
	case ACL_GROUP_OBJ:
		return !is_hidden(user, host->gid) && is_in_group(user, host->gid, false);
	case ACL_GROUP:
		return is_in_group(user, entry->id, user->joined);
	default:
		return entry->tag == ACL_OTHER;
	}
}

static bool is_of_group(const struct node_acl_entry *entry)
{
	return entry->tag == ACL_GROUP_OBJ || entry->tag == ACL_GROUP;
}

static unsigned masked(const struct node_acl *acl, const struct node_acl_entry *entry)
{
	return entry->tag == ACL_USER || is_of_group(entry) ? entry->rights & acl->mask
							    : entry->rights;
}

/*
 * The entry that decides, as the kernel finds it (posix_acl_permission()): the owner's or the user's own is final, of those of
 * groups any that grants enough will do, and others are those whom no entry meant.
 */
static const struct node_acl_entry *deciding_entry(const struct node_user *user, uint32_t host_uid,
						   const struct host_node *host,
						   const struct node_acl *acl, unsigned wanted)
{
	const struct node_acl_entry *refusing = NULL;

	for (size_t i = 0; i < acl->n; i++) {
		const struct node_acl_entry *entry = &acl->items[i];
		if (!is_meant(user, host_uid, host, entry))
			continue;
		if (!is_of_group(entry))
			return refusing ? refusing : entry;
		if ((masked(acl, entry) & wanted) == wanted)
			return entry;
		refusing = entry;
	}
	return refusing;
}

/* Root of the namespace passes over permissions of what is its own. */
static bool is_overridden(const struct node_user *user, const struct host_node *node)
{
	return user->uid == 0 && !is_hidden(user, node->uid) && !is_hidden(user, node->gid) &&
	       id_map_has_outside(user->uids, node->uid) &&
	       id_map_has_outside(user->gids, node->gid);
}

/*
 * What would help
 */

static const struct node_acl_entry *opening_group(const struct node_acl *acl, unsigned wanted)
{
	for (size_t i = 0; i < acl->n; i++)
		if (is_of_group(&acl->items[i]) && (masked(acl, &acl->items[i]) & wanted) == wanted)
			return &acl->items[i];
	return NULL;
}

enum node_group node_acl_group(const struct node_acl *acl, unsigned access)
{
	const struct node_acl_entry *entry = opening_group(acl, wanted_bits(access));

	if (!entry)
		return NODE_GROUP_NONE;
	return entry->tag == ACL_GROUP_OBJ ? NODE_GROUP_OWNING : NODE_GROUP_LISTED;
}

/* A group that cannot be seen from in here has the command that names it. */
static int say_group(const struct node_user *user, const struct plan_node *node,
		     const struct node_acl_entry *group, struct error *err)
{
	const bool owning = group->tag == ACL_GROUP_OBJ;
	uint32_t gid = owning ? node->source_node.gid : group->id;
	bool known = owning ? !is_hidden(user, gid) : gid != UINT32_MAX;

	if (known && !owning && user->joined)
		known = id_map_outside(user->gids, group->id, &gid);
	if (known)
		return error_say(err, EXIT_CODE_HOST,
				 "in a user namespace a device keeps the host's permissions, so "
				 "its user has to be in group %u there, or the node open to all",
				 gid);
	return error_say(err, EXIT_CODE_HOST,
			 "whoever starts the container has to be in %s (%s %s names it) and keep "
			 "it (podman: --group-add keep-groups), or the node be open to all",
			 owning ? "that group" : "a group of that list",
			 owning ? "stat -c %G" : "getfacl", SHOW(node->source));
}

/* Where no group would do. `own`: the entry of the user's own that refuses, which counts alone, or NULL. */
static int say_user(const struct node_user *user, uint32_t host_uid, const struct plan_node *node,
		    const struct node_acl_entry *own, struct error *err)
{
	const unsigned wanted = wanted_bits(node->access);
	const char *rights = wanted == 6 ? "rw" : wanted == 4 ? "r" : "w";
	char name[16] = "NAME";

	if (!user->overflow)
		snprintf(name, sizeof(name), "%u", host_uid);
	if (own && own->tag == ACL_USER_OBJ)
		return error_say(err, EXIT_CODE_HOST,
				 "in a user namespace a device keeps the host's permissions, and "
				 "those of the owner count alone for its owner: chmod u+%s %s",
				 rights, SHOW(node->source));
	if (own)
		return error_say(err, EXIT_CODE_HOST,
				 "in a user namespace a device keeps the host's permissions, and "
				 "what its list says of that user counts alone: setfacl -m "
				 "u:%s:%s %s",
				 name, rights, SHOW(node->source));
	return error_say(err, EXIT_CODE_HOST,
			 "in a user namespace a device keeps the host's permissions, and no group "
			 "would do: the node has to be open to that user (udev: TAG+=\"uaccess\"; "
			 "or setfacl -m u:%s:%s %s), or to all",
			 name, rights, SHOW(node->source));
}

/* Only what is known from in here. */
static int prefix_who(const struct node_user *user, uint32_t host_uid, const struct plan_node *node,
		      const struct node_acl *acl, struct error *err)
{
	const struct host_node *host = &node->source_node;
	const char *list = acl->listed ? " with an access control list" : "";
	char who[64], owners[64];

	snprintf(who, sizeof(who), "%u (%u on the host)", user->uid, host_uid);
	if (user->overflow)
		snprintf(who, sizeof(who), "%u", user->uid);
	snprintf(owners, sizeof(owners), "%u:%u", host->uid, host->gid);
	if (is_hidden(user, host->gid))
		snprintf(owners, sizeof(owners), "a group that its user namespace does not have");
	return error_prefix(err,
			    "the container's user %s may not open %s of the host, which is %04o "
			    "of %s%s",
			    who, SHOW(node->source), host->mode & 07777U, owners, list);
}

int node_access_check(const struct node_user *user, const struct plan_node *node,
		      const struct node_acl *acl, struct error *err)
{
	const struct host_node *host = &node->source_node;
	const unsigned wanted = wanted_bits(node->access);
	const struct node_acl_entry *entry, *group;
	uint32_t host_uid;

	if (!id_map_outside(user->uids, user->uid, &host_uid))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "the container's user %u is not mapped in its user namespace",
				 user->uid);
	entry = deciding_entry(user, host_uid, host, acl, wanted);
	if ((entry && (masked(acl, entry) & wanted) == wanted) || is_overridden(user, host))
		return 0;
	if (entry && (entry->tag == ACL_USER_OBJ || entry->tag == ACL_USER))
		(void)say_user(user, host_uid, node, entry, err);
	else if ((group = opening_group(acl, wanted)))
		(void)say_group(user, node, group, err);
	else
		(void)say_user(user, host_uid, node, NULL, err);
	return prefix_who(user, host_uid, node, acl, err);
}
