/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "oci-config.h"

static int setup(void **state)
{
	static struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_done(*state);
	return 0;
}

static struct oci_config parse(struct arena *arena, const char *text)
{
	struct oci_config found;
	struct error err = {0};

	if (oci_config_parse(arena, text, strlen(text), &found, &err) < 0)
		fail_msg("%s", err.text);
	return found;
}

static void assert_refused(struct arena *arena, const char *text, const char *sentence)
{
	struct oci_config found;
	struct error err = {0};

	assert_true(oci_config_parse(arena, text, strlen(text), &found, &err) < 0);
	assert_error(&err, EXIT_CODE_CONTAINER, sentence);
}

static void test_least(void **state)
{
	struct oci_config found = parse(*state, "{\"root\":{\"path\":\"rootfs\"}}");

	assert_string_equal(found.root_path, "rootfs");
	assert_false(found.root_readonly);
	assert_int_equal(found.uid, 0);
	assert_int_equal(found.gid, 0);
	assert_false(found.user_namespace);
	assert_false(found.mount_namespace);
}

static void test_all(void **state)
{
	struct oci_config found = parse(
		*state,
		"{\"ociVersion\":\"1.0.2\",\"process\":{\"terminal\":true,\"user\":{\"uid\":1000,"
		"\"gid\":4294967294,\"additionalGids\":[5]},\"args\":[\"sh\"]},"
		"\"root\":{\"path\":\"/var/lib/x\",\"readonly\":true},"
		"\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\",\"path\":\"/"
		"proc/1/ns/mnt\"},"
		"{\"type\":\"user\"}],\"resources\":{}}}");

	assert_string_equal(found.root_path, "/var/lib/x");
	assert_true(found.root_readonly);
	assert_int_equal(found.uid, 1000);
	assert_int_equal(found.gid, 4294967294);
	assert_true(found.user_namespace);
	assert_true(found.mount_namespace);
}

static void test_id_mappings_mean_a_user_namespace(void **state)
{
	assert_true(
		parse(*state,
		      "{\"root\":{\"path\":\"r\"},\"linux\":{\"uidMappings\":[{\"containerID\":0,"
		      "\"hostID\":1000,\"size\":1}]}}")
			.user_namespace);
	assert_true(parse(*state, "{\"root\":{\"path\":\"r\"},\"linux\":{\"gidMappings\":[{}]}}")
			    .user_namespace);
	assert_false(parse(*state, "{\"root\":{\"path\":\"r\"},\"linux\":{\"uidMappings\":[],"
				   "\"gidMappings\":null,\"namespaces\":null}}")
			     .user_namespace);
}

static void test_types(void **state)
{
	assert_refused(*state, "[]", "config.json: expected an object");
	assert_refused(*state, "{}", "config.json: root: is missing");
	assert_refused(*state, "{\"root\":{}}", "config.json: root.path: is missing");
	assert_refused(*state, "{\"root\":{\"path\":3}}",
		       "config.json: root.path: expected a string");
	assert_refused(*state, "{\"root\":{\"path\":\"r\",\"readonly\":\"yes\"}}",
		       "config.json: root.readonly: expected true or false");
	assert_refused(*state, "{\"root\":{\"path\":\"r\"},\"process\":[]}",
		       "config.json: process: expected an object");
	assert_refused(*state, "{\"root\":{\"path\":\"r\"},\"process\":{\"user\":\"root\"}}",
		       "config.json: process.user: expected an object");
	assert_refused(*state, "{\"root\":{\"path\":\"r\"},\"linux\":{\"uidMappings\":{}}}",
		       "config.json: linux.uidMappings: expected an array");
	assert_refused(
		*state,
		"{\"root\":{\"path\":\"r\"},\"linux\":{\"namespaces\":[{\"type\":\"pid\"},null]}}",
		"config.json: linux.namespaces[1]: is missing");
	assert_refused(*state,
		       "{\"root\":{\"path\":\"r\"},\"linux\":{\"namespaces\":[{\"type\":7}]}}",
		       "config.json: linux.namespaces[0].type: expected a string");
	assert_refused(*state, "{\"root\":{\"path\":\"r\"},\"linux\":{\"namespaces\":[[]]}}",
		       "config.json: linux.namespaces[0]: expected an object");
}

static void test_ids(void **state)
{
	assert_refused(
		*state, "{\"root\":{\"path\":\"r\"},\"process\":{\"user\":{\"uid\":4294967295}}}",
		"config.json: process.user.uid: expected a whole number from 0 to 4294967294");
	assert_refused(
		*state, "{\"root\":{\"path\":\"r\"},\"process\":{\"user\":{\"gid\":-1}}}",
		"config.json: process.user.gid: expected a whole number from 0 to 4294967294");
	assert_refused(*state, "{\"root\":{\"path\":\"r\"},\"process\":{\"user\":{\"uid\":\"0\"}}}",
		       "config.json: process.user.uid: expected a number");
}

static void test_no_json(void **state)
{
	assert_refused(*state, "{'root':1}",
		       "config.json:1:2: expected a key in double quotes or '}', found '''");
	assert_refused(*state, "{\"root\":{\"path\":\"a\",\"path\":\"b\"}}",
		       "config.json:1:21: the member \"path\" stands twice in one object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_least, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_id_mappings_mean_a_user_namespace, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_json, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
