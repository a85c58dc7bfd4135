/* SPDX-License-Identifier: Apache-2.0 */
#include "node-access.h"

#include <string.h>
#include <sys/stat.h>

#include "unit.h"

/* Users 0 to 65535 of the container are 100000 and so on of the host. */
static struct id_range high[] = {{0, 100000, 65536}};
static struct id_range with_root[] = {{0, 100000, 44}, {44, 44, 1}, {45, 100045, 1000}};

static const struct id_map high_map = {.items = high, .n = 1};
static const struct id_map video_map = {.items = with_root, .n = 3};

static int check(const struct node_user *user, mode_t mode, uid_t uid, gid_t gid, unsigned access,
		 struct error *err)
{
	const struct plan_node node = {
		.path = "/dev/x",
		.source = "/dev/x",
		.source_node = {.mode = S_IFCHR | mode, .uid = uid, .gid = gid},
		.access = access,
	};

	struct node_acl acl;

	node_acl_read(&node.source_node, (const uint8_t *)"", 0, &acl);
	*err = (struct error){0};
	return node_access_check(user, &node, &acl, err);
}

static bool may(const struct node_user *user, mode_t mode, uid_t uid, gid_t gid, unsigned access)
{
	struct error err;

	return check(user, mode, uid, gid, access, &err) == 0;
}

#define RW (DEVICE_READ | DEVICE_WRITE)

static void test_classes(void **state)
{
	const struct node_user user = {.uids = &high_map, .gids = &high_map, .uid = 7, .gid = 8};

	(void)state;
	assert_true(may(&user, 0666, 0, 0, RW));
	assert_true(may(&user, 0664, 0, 0, DEVICE_READ));
	assert_false(may(&user, 0664, 0, 0, RW));
	assert_false(may(&user, 0660, 0, 44, RW));
	assert_true(may(&user, 0600, 100007, 44, RW));
	assert_true(may(&user, 0060, 0, 100008, RW));
	/* The first class that fits counts alone. */
	assert_false(may(&user, 0066, 100007, 100008, RW));
	assert_false(may(&user, 0606, 0, 100008, RW));
	/* Nothing that has to be opened. */
	assert_true(may(&user, 0, 0, 0, 0));
	assert_true(may(&user, 0, 0, 0, DEVICE_MKNOD));
}

static void test_groups(void **state)
{
	const uint32_t more[] = {7, 44};
	struct node_user user = {.uids = &high_map, .gids = &video_map, .uid = 7, .gid = 8};

	(void)state;
	assert_false(may(&user, 0660, 0, 44, RW));
	user.additional_gids = more;
	user.n_additional_gids = 2;
	assert_true(may(&user, 0660, 0, 44, RW));
	/* In a map that does not hold it, 44 is another group. */
	user.gids = &high_map;
	assert_false(may(&user, 0660, 0, 44, RW));
}

static void test_root(void **state)
{
	const struct node_user user = {.uids = &high_map, .gids = &high_map};

	(void)state;
	assert_true(may(&user, 0600, 100000, 0, RW));
	assert_false(may(&user, 0600, 0, 0, RW));
	/* Root's override reaches what is mapped, owner and group. */
	assert_true(may(&user, 0600, 100007, 100008, RW));
	assert_false(may(&user, 0600, 100007, 0, RW));
}

/* Seen from inside, who is not of the namespace is 65534, an id that the namespace may have too. */
static void test_inside(void **state)
{
	static struct id_range all[] = {{0, 0, 65536}};
	static const struct id_map map = {.items = all, .n = 1};
	struct node_user user = {.uids = &map, .gids = &map, .overflow = true};
	struct error err;

	(void)state;
	assert_true(may(&user, 0666, OVERFLOW_ID, OVERFLOW_ID, RW));
	assert_true(may(&user, 0600, 0, 0, RW));
	assert_true(may(&user, 0060, 5, 0, RW));
	user.uid = user.gid = OVERFLOW_ID;
	assert_false(may(&user, 0660, OVERFLOW_ID, OVERFLOW_ID, RW));
	user.uid = user.gid = 0;
	assert_true(check(&user, 0660, OVERFLOW_ID, OVERFLOW_ID, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 0 may not open /dev/x of the host, which is 0660 of a "
		     "group that its user namespace does not have: whoever starts the container "
		     "has to be in that group (stat -c %G /dev/x names it) and keep it (podman: "
		     "--group-add keep-groups), or the node be open to all");
	/* A group that may do nothing, or not enough. */
	assert_true(check(&user, 0600, OVERFLOW_ID, OVERFLOW_ID, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 0 may not open /dev/x of the host, which is 0600 of a "
		     "group that its user namespace does not have: in a user namespace a device "
		     "keeps the host's permissions, and no group would do: the node has to be open "
		     "to that user (udev: TAG+=\"uaccess\"; or setfacl -m u:NAME:rw /dev/x), or "
		     "to all");
	assert_true(check(&user, 0640, OVERFLOW_ID, OVERFLOW_ID, RW, &err) < 0);
	assert_non_null(strstr(err.text, "no group would do"));
	assert_true(check(&user, 0640, OVERFLOW_ID, OVERFLOW_ID, DEVICE_READ, &err) < 0);
	assert_null(strstr(err.text, "no group would do"));
}

static void test_sentences(void **state)
{
	struct node_user user = {.uids = &high_map, .gids = &high_map};
	struct error err;

	(void)state;
	assert_true(check(&user, 0660, 0, 44, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 0 (100000 on the host) may not open /dev/x of the host, "
		     "which is 0660 of 0:44: in a user namespace a device keeps the host's "
		     "permissions, so its user has to be in group 44 there, or the node open to "
		     "all");
	assert_true(check(&user, 0600, 0, 44, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 0 (100000 on the host) may not open /dev/x of the host, "
		     "which is 0600 of 0:44: in a user namespace a device keeps the host's "
		     "permissions, and no group would do: the node has to be open to that user "
		     "(udev: TAG+=\"uaccess\"; or setfacl -m u:100000:rw /dev/x), or to all");
	user.uid = 7;
	assert_true(check(&user, 0066, 100007, 44, DEVICE_READ, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 7 (100007 on the host) may not open /dev/x of the host, "
		     "which is 0066 of 100007:44: in a user namespace a device keeps the host's "
		     "permissions, and those of the owner count alone for its owner: chmod u+r "
		     "/dev/x");
	user.uid = 70000;
	assert_true(check(&user, 0666, 0, 44, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_CONTAINER,
		     "the container's user 70000 is not mapped in its user namespace");
}

/*
 * Access control lists
 */

#define NOBODY UINT32_MAX

struct entry {
	unsigned tag, rights;
	uint32_t id;
};

/* linux/posix_acl.h */
enum { OWNER = 1, USER = 2, GROUP = 4, NAMED_GROUP = 8, MASK = 16, OTHERS = 32 };

static size_t put(uint8_t *to, uint32_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> 8 * i);
	return size;
}

/* As getxattr(2) gives it. No byte behind its end is looked at. */
static uint8_t *bytes_of(const struct entry *entries, size_t n, size_t *ret_size)
{
	uint8_t *data = test_malloc(4 + n * 8);
	size_t size = put(data, 2, 4);

	for (size_t i = 0; i < n; i++) {
		size += put(data + size, entries[i].tag, 2);
		size += put(data + size, entries[i].rights, 2);
		size += put(data + size, entries[i].id, 4);
	}
	*ret_size = size;
	return data;
}

/* A node of 0:44, mode 0660 */
static struct plan_node listed_node(unsigned access)
{
	return (struct plan_node){
		.path = "/dev/x",
		.source = "/dev/x",
		.source_node = {.mode = S_IFCHR | 0660, .uid = 0, .gid = 44},
		.access = access,
	};
}

static int check_list(const struct node_user *user, const struct plan_node *node,
		      const struct entry *entries, size_t n, struct error *err)
{
	size_t size;
	uint8_t *data = bytes_of(entries, n, &size);
	struct node_acl acl;

	node_acl_read(&node->source_node, data, size, &acl);
	test_free(data);
	*err = (struct error){0};
	return node_access_check(user, node, &acl, err);
}

/* What udev makes of a node for root alone: the mode shows the mask, and the group may do nothing. */
static const struct entry of_udev[] = {
	{OWNER, 6, NOBODY}, {USER, 6, 100000},   {GROUP, 0, NOBODY},
	{MASK, 6, NOBODY},  {OTHERS, 0, NOBODY},
};

static void test_acl_user(void **state)
{
	const uint32_t video = 44;
	struct node_user user = {.uids = &high_map, .gids = &video_map};
	const struct plan_node node = listed_node(RW);
	struct error err;

	(void)state;
	assert_int_equal(check_list(&user, &node, of_udev, 5, &err), 0);
	/* Somebody else, in that group or not. */
	user.uid = 7;
	for (size_t n = 0; n < 2; n++) {
		user.additional_gids = &video;
		user.n_additional_gids = n;
		assert_true(check_list(&user, &node, of_udev, 5, &err) < 0);
		assert_error(&err, EXIT_CODE_HOST,
			     "the container's user 7 (100007 on the host) may not open /dev/x of "
			     "the host, which is 0660 of 0:44 with an access control list: in a "
			     "user namespace a device keeps the host's permissions, and no group "
			     "would do: the node has to be open to that user (udev: "
			     "TAG+=\"uaccess\"; or setfacl -m u:100007:rw /dev/x), or to all");
	}
	/* After a join the list shows the container's ids. */
	user.uid = 0;
	user.joined = true;
	assert_true(check_list(&user, &node, of_udev, 5, &err) < 0);
	const struct entry joined[] = {{OWNER, 6, NOBODY},
				       {USER, 6, 0},
				       {GROUP, 0, NOBODY},
				       {MASK, 6, NOBODY},
				       {OTHERS, 0, NOBODY}};
	assert_int_equal(check_list(&user, &node, joined, 5, &err), 0);
}

static void test_acl_takes_away(void **state)
{
	const uint32_t video = 44;
	struct node_user user = {.uids = &high_map,
				 .gids = &video_map,
				 .additional_gids = &video,
				 .n_additional_gids = 1};
	const struct entry list[] = {{OWNER, 6, NOBODY},
				     {USER, 4, 100000},
				     {GROUP, 6, NOBODY},
				     {MASK, 6, NOBODY},
				     {OTHERS, 6, NOBODY}};
	const struct entry masked[] = {{OWNER, 6, NOBODY},
				       {USER, 6, 100000},
				       {GROUP, 6, NOBODY},
				       {MASK, 4, NOBODY},
				       {OTHERS, 6, NOBODY}};
	const struct entry no_group[] = {{OWNER, 6, NOBODY},
					 {USER, 6, 1},
					 {GROUP, 4, NOBODY},
					 {MASK, 6, NOBODY},
					 {OTHERS, 6, NOBODY}};
	struct plan_node node = listed_node(RW);
	struct error err;

	(void)state;
	assert_true(check_list(&user, &node, list, 5, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 0 (100000 on the host) may not open /dev/x of the host, "
		     "which is 0660 of 0:44 with an access control list: in a user namespace a "
		     "device keeps the host's permissions, and what its list says of that user "
		     "counts alone: setfacl -m u:100000:rw /dev/x");
	assert_true(check_list(&user, &node, masked, 5, &err) < 0);
	/* The owner has no other entry, and no mask. */
	node.source_node.uid = 100000;
	node.source_node.gid = 9;
	assert_int_equal(check_list(&user, &node, list, 5, &err), 0);
	assert_int_equal(check_list(&user, &node, masked, 5, &err), 0);
	/* A group that the user is in keeps others' rights away. */
	node = listed_node(RW);
	assert_true(check_list(&user, &node, no_group, 5, &err) < 0);
	user.n_additional_gids = 0;
	assert_int_equal(check_list(&user, &node, no_group, 5, &err), 0);
	/* What is taken away is not asked for. */
	node.access = DEVICE_READ;
	assert_int_equal(check_list(&user, &node, list, 5, &err), 0);
}

static void test_acl_groups(void **state)
{
	const uint32_t groups[] = {3, 44};
	struct node_user user = {.uids = &high_map, .gids = &video_map, .uid = 7, .gid = 8};
	const struct entry list[] = {
		{OWNER, 6, NOBODY},       {GROUP, 0, NOBODY}, {NAMED_GROUP, 4, 100003},
		{NAMED_GROUP, 6, 100009}, {MASK, 6, NOBODY},  {OTHERS, 0, NOBODY},
	};
	struct entry hidden[6];
	const struct plan_node node = listed_node(RW);
	struct node_acl acl;
	struct error err;

	(void)state;
	assert_true(check_list(&user, &node, list, 6, &err) < 0);
	assert_non_null(strstr(err.text, "its user has to be in group 100009 there"));
	/* Of several groups one that grants it is enough, one that grants a part is not. */
	user.additional_gids = groups;
	user.n_additional_gids = 2;
	assert_true(check_list(&user, &node, list, 6, &err) < 0);
	user.gid = 9;
	assert_int_equal(check_list(&user, &node, list, 6, &err), 0);
	/* Inside, the container's ids count, and the sentence has the host's. */
	user.gid = 8;
	user.joined = true;
	assert_true(check_list(&user, &node, list, 6, &err) < 0);
	memcpy(hidden, list, sizeof(list));
	hidden[3].id = 9;
	assert_true(check_list(&user, &node, hidden, 6, &err) < 0);
	assert_non_null(strstr(err.text, "its user has to be in group 100009 there"));
	user.gid = 9;
	assert_int_equal(check_list(&user, &node, hidden, 6, &err), 0);
	/* One that has no name in here. */
	hidden[3].id = NOBODY;
	assert_true(check_list(&user, &node, hidden, 6, &err) < 0);
	assert_non_null(strstr(err.text, ": whoever starts the container has to be in a group of "
					 "that list (getfacl /dev/x names it) and keep it"));
	node_acl_read(&node.source_node, (const uint8_t *)"", 0, &acl);
	assert_int_equal(node_acl_group(&acl, RW), NODE_GROUP_OWNING);
	assert_int_equal(node_acl_group(&acl, DEVICE_READ), NODE_GROUP_OWNING);
}

/* Neither half a list nor one that the kernel does not ask (acl_permission_check()): the mode counts. */
static void test_acl_unused(void **state)
{
	const struct entry no_mask[] = {{OWNER, 6, NOBODY},
					{USER, 6, 100000},
					{GROUP, 6, NOBODY},
					{MASK, 0, NOBODY},
					{OTHERS, 0, NOBODY}};
	const struct node_user user = {.uids = &high_map, .gids = &high_map};
	struct plan_node node = listed_node(RW);
	struct node_acl acl;
	struct error err;
	size_t whole;
	uint8_t *data = bytes_of(of_udev, 5, &whole), version = 3;

	(void)state;
	for (size_t size = 0; size < whole; size++) {
		uint8_t *copy = memcpy(test_malloc(size + !size), data, size);
		node_acl_read(&node.source_node, copy, size, &acl);
		assert_int_equal(acl.listed, size >= 4 + 4 * 8);
		test_free(copy);
	}
	node_acl_read(&node.source_node, data, whole, &acl);
	assert_true(acl.listed);
	assert_int_equal(node_acl_group(&acl, RW), NODE_GROUP_NONE);
	data[0] = version;
	node_acl_read(&node.source_node, data, whole, &acl);
	assert_false(acl.listed);
	test_free(data);
	node.source_node.mode = S_IFCHR | 0606;
	assert_int_equal(check_list(&user, &node, no_mask, 5, &err), 0);
	node.source_node.mode = S_IFCHR | 0600;
	assert_true(check_list(&user, &node, no_mask, 5, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),        cmocka_unit_test(test_groups),
		cmocka_unit_test(test_root),           cmocka_unit_test(test_inside),
		cmocka_unit_test(test_sentences),      cmocka_unit_test(test_acl_user),
		cmocka_unit_test(test_acl_takes_away), cmocka_unit_test(test_acl_groups),
		cmocka_unit_test(test_acl_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
