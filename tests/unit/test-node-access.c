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

	*err = (struct error){0};
	return node_access_check(user, &node, err);
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
		     "the container's user 0 may not open /dev/x of the host, which is 0660 of an "
		     "owner and a group that its user namespace does not have: whoever starts the "
		     "container has to be in that group (stat -c %G /dev/x names it) and keep it "
		     "(podman: --group-add keep-groups), or the node be open to all");
	/* A group that may do nothing, or not enough. */
	assert_true(check(&user, 0600, OVERFLOW_ID, OVERFLOW_ID, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_HOST,
		     "the container's user 0 may not open /dev/x of the host, which is 0600 of an "
		     "owner that its user namespace does not have: no group would do; the node has "
		     "to be open to a group that whoever starts the container is in and keeps "
		     "(podman: --group-add keep-groups), or to all");
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
		     "permissions, and no group would do; the node has to be open to one that its "
		     "user is in, or to all");
	user.uid = 70000;
	assert_true(check(&user, 0666, 0, 44, RW, &err) < 0);
	assert_error(&err, EXIT_CODE_CONTAINER,
		     "the container's user 70000 is not mapped in its user namespace");
}

/* Owner rw, user 7 with `rights`, group, `mask`, others. */
static bool opens(unsigned char rights, unsigned char mask, size_t size, uint32_t uid)
{
	const struct plan_node node = {.access = RW};
	const uint8_t acl[] = {
		2,    0, 0,      0,                         /* the version */
		0x01, 0, 6,      0, 0xff, 0xff, 0xff, 0xff, /* owner */
		0x02, 0, rights, 0, 7,    0,    0,    0,    /* user 7 */
		0x04, 0, 0,      0, 0xff, 0xff, 0xff, 0xff, /* group */
		0x08, 0, 6,      0, 8,    0,    0,    0,    /* group 8 */
		0x10, 0, mask,   0, 0xff, 0xff, 0xff, 0xff, /* mask */
		0x20, 0, 0,      0, 0xff, 0xff, 0xff, 0xff, /* others */
	};
	/* No byte behind its end is looked at. */
	uint8_t *copy = memcpy(test_malloc(size + !size), acl, size);
	const bool result = node_access_by_acl(&node, copy, size, uid);

	test_free(copy);
	return result;
}

static void test_acl(void **state)
{
	const size_t whole = 4 + 6 * 8;

	(void)state;
	assert_true(opens(6, 6, whole, 7));
	assert_true(opens(7, 7, whole, 7));
	assert_false(opens(4, 6, whole, 7));
	assert_false(opens(6, 4, whole, 7));
	/* A group's entry is no user's, and the owner has none of its own. */
	assert_false(opens(6, 6, whole, 8));
	assert_false(opens(6, 6, whole, 0));
	assert_false(opens(6, 6, whole, UINT32_MAX));
	/* Without its mask, or with half of an entry, it is no list. */
	for (size_t size = 0; size < whole - 8; size++)
		assert_false(opens(6, 6, size, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),   cmocka_unit_test(test_groups),
		cmocka_unit_test(test_root),      cmocka_unit_test(test_inside),
		cmocka_unit_test(test_sentences), cmocka_unit_test(test_acl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
