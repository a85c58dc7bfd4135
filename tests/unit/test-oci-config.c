/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "oci-config.h"
#include "plan.h"

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
	assert_int_equal(found.additional_gids.n, 1);
	assert_int_equal(found.additional_gids.items[0], 5);
	assert_int_equal(found.env.n, 0);
}

static void test_environment(void **state)
{
	struct oci_config found = parse(*state, "{\"root\":{\"path\":\"r\"},\"process\":{"
						"\"env\":[\"PATH=/bin\",\"X\",\"\"],"
						"\"user\":{\"additionalGids\":null}}}");

	assert_int_equal(found.env.n, 3);
	assert_string_equal(found.env.items[0], "PATH=/bin");
	assert_string_equal(found.env.items[1], "X");
	assert_string_equal(found.env.items[2], "");
	assert_int_equal(found.additional_gids.n, 0);
	assert_int_equal(
		parse(*state, "{\"root\":{\"path\":\"r\"},\"process\":{\"env\":null}}").env.n, 0);
#define PROCESS(members) "{\"root\":{\"path\":\"r\"},\"process\":{" members "}}"
	assert_refused(*state, PROCESS("\"env\":{}"),
		       "config.json: process.env: expected an array");
	assert_refused(*state, PROCESS("\"env\":[\"A=1\",2]"),
		       "config.json: process.env[1]: expected a string");
	assert_refused(*state, PROCESS("\"env\":[null]"),
		       "config.json: process.env[0]: is missing");
	assert_refused(*state, PROCESS("\"user\":{\"additionalGids\":7}"),
		       "config.json: process.user.additionalGids: expected an array");
	assert_refused(*state, PROCESS("\"user\":{\"additionalGids\":[-1]}"),
		       "config.json: process.user.additionalGids[0]: expected a whole number from "
		       "0 to 4294967295");
}

#define WITH_LINUX(text) "{\"root\":{\"path\":\"r\"},\"linux\":{" text "}}"

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

static void test_id_mapped_mounts(void **state)
{
#define USER "\"namespaces\":[{\"type\":\"user\"}]"
#define UIDS ",\"uidMappings\":[{}]"
#define GIDS ",\"gidMappings\":[{}]"

	assert_true(parse(*state, WITH_LINUX(USER UIDS GIDS)).id_mapped);
	assert_false(parse(*state, WITH_LINUX(USER UIDS)).id_mapped);
	assert_false(parse(*state, WITH_LINUX(USER GIDS)).id_mapped);
	assert_false(parse(*state, WITH_LINUX(USER)).id_mapped);
	assert_false(parse(*state, WITH_LINUX("\"namespaces\":[]" UIDS GIDS)).id_mapped);
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
	static const char *const keys[] = {"uid", "gid"};
	static const char *const values[] = {"-1",  "0x0", "\" 1\"",     "01",
					     "1e3", "1.0", "4294967296", "18446744073709551616",
					     "+1",  "NaN"};
	for (size_t i = 0; i < 2 * sizeof(values) / sizeof(values[0]); i++) {
		struct oci_config found;
		struct error err = {0};
		char text[256];
		snprintf(text, sizeof(text),
			 "{\"root\":{\"path\":\"r\"},\"process\":{\"user\":{\"%s\":%s}}}",
			 keys[i % 2], values[i / 2]);
		if (oci_config_parse(*state, text, strlen(text), &found, &err) == 0)
			fail_msg("%s was read", text);
	}
}

/* ---- What the device cgroup was made from ---- */

#define WITH_RULES(text) WITH_LINUX("\"resources\":{\"devices\":[" text "]}")

static void assert_rule(const struct oci_device_rule *rule, bool allow, char type, int64_t major,
			int64_t minor, unsigned access)
{
	assert_int_equal(rule->allow, allow);
	assert_int_equal(rule->type, type);
	assert_int_equal(rule->major, major);
	assert_int_equal(rule->minor, minor);
	assert_int_equal(rule->access, access);
}

static void test_device_rules(void **state)
{
	struct oci_config found = parse(
		*state, WITH_RULES("{\"allow\":false,\"access\":\"rwm\"},"
				   "{\"allow\":true,\"type\":\"c\",\"major\":10,\"minor\":229,"
				   "\"access\":\"wr\"},"
				   "{\"allow\":true,\"type\":\"b\",\"major\":-1,\"minor\":null,"
				   "\"access\":\"m\"},"
				   "{\"type\":\"a\",\"major\":4294967295,\"minor\":0},{}"));
	const struct oci_device_rule *rules = found.devices.rules.items;

	assert_null(found.devices.problem);
	assert_int_equal(found.devices.rules.n, 5);
	assert_rule(&rules[0], false, 'a', -1, -1, DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD);
	assert_rule(&rules[1], true, 'c', 10, 229, DEVICE_READ | DEVICE_WRITE);
	assert_rule(&rules[2], true, 'b', -1, -1, DEVICE_MKNOD);
	assert_rule(&rules[3], false, 'a', 4294967295, 0, 0);
	assert_rule(&rules[4], false, 'a', -1, -1, 0);
}

static void test_device_nodes(void **state)
{
	struct oci_config found =
		parse(*state, WITH_LINUX("\"devices\":[{\"path\":\"/dev/null\"},"
					 "{\"path\":\"/dev/fuse\",\"type\":\"c\",\"major\":10}]"));

	assert_null(found.devices.problem);
	assert_int_equal(found.devices.rules.n, 0);
	assert_int_equal(found.devices.nodes.n, 2);
	assert_string_equal(found.devices.nodes.items[0], "/dev/null");
	assert_string_equal(found.devices.nodes.items[1], "/dev/fuse");
}

/* What is odd there is no error: who needs the rules says so. */
static void test_device_problems(void **state)
{
	static const struct {
		const char *text, *problem;
	} cases[] = {
		{WITH_LINUX("\"resources\":7"), "config.json: linux.resources: expected an object"},
		{WITH_LINUX("\"resources\":{\"devices\":{}}"),
		 "config.json: linux.resources.devices: expected an array"},
		{WITH_RULES("null"), "config.json: linux.resources.devices[0]: is missing"},
		{WITH_RULES("{},{\"type\":\"u\"}"),
		 "config.json: linux.resources.devices[1]: type: expected a, b or c, found \"u\""},
		{WITH_RULES("{\"type\":\"\"}"),
		 "config.json: linux.resources.devices[0]: type: expected a, b or c, found \"\""},
		{WITH_RULES("{\"type\":\"cb\"}"),
		 "config.json: linux.resources.devices[0]: type: expected a, b or c, found \"cb\""},
		{WITH_RULES("{\"access\":\"rx\"}"),
		 "config.json: linux.resources.devices[0]: access: "
		 "expected letters of rwm, found \"rx\""},
		{WITH_RULES("{\"major\":-2}"), "config.json: linux.resources.devices[0].major: "
					       "expected a whole number from -1 to "
					       "4294967295"},
		{WITH_RULES("{\"minor\":4294967296}"),
		 "config.json: linux.resources.devices[0].minor: expected a whole number from -1 "
		 "to "
		 "4294967295"},
		{WITH_RULES("{\"major\":\"10\"}"),
		 "config.json: linux.resources.devices[0].major: expected a number"},
		{WITH_RULES("{\"allow\":1}"),
		 "config.json: linux.resources.devices[0].allow: expected true or false"},
		{WITH_LINUX("\"devices\":[{}]"), "config.json: linux.devices[0].path: is missing"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct oci_config found = parse(*state, cases[i].text);
		assert_non_null(found.devices.problem);
		assert_string_equal(found.devices.problem, cases[i].problem);
		assert_string_equal(found.root_path, "r");
	}
}

static void test_no_json(void **state)
{
	assert_refused(*state, "{'root':1}",
		       "config.json:1:2: expected a key in double quotes or '}', found '''");
	assert_refused(*state, "{\"root\":{\"path\":\"a\",\"path\":\"b\"}}",
		       "config.json:1:21: the member \"path\" stands twice in one object");
}

static void test_hooks(void **state)
{
#define HOOKS(members) "{\"root\":{\"path\":\"r\"},\"hooks\":{" members "}}"
	struct oci_config found = parse(
		*state,
		HOOKS("\"createContainer\":[{\"path\":\"/c\"}],\"poststop\":[{\"path\":\"/e\"}],"
		      "\"startContainer\":[{\"path\":\"/d\",\"args\":[]}],"
		      "\"prestart\":[{\"path\":\"/a\",\"args\":[\"a\"]},"
		      "{\"path\":\"/b\"}],\"createRuntime\":null"));

	assert_int_equal(found.hooks.n, 5);
	assert_string_equal(found.hooks.items[0].path, "/a");
	assert_int_equal(found.hooks.items[0].stage, STAGE_PRESTART);
	assert_int_equal(found.hooks.items[0].args.n, 1);
	assert_string_equal(found.hooks.items[0].args.items[0], "a");
	assert_string_equal(found.hooks.items[1].path, "/b");
	assert_int_equal(found.hooks.items[1].args.n, 0);
	assert_string_equal(found.hooks.items[2].path, "/c");
	assert_int_equal(found.hooks.items[2].stage, STAGE_CREATE_CONTAINER);
	assert_string_equal(found.hooks.items[3].path, "/d");
	assert_int_equal(found.hooks.items[3].stage, STAGE_START_CONTAINER);
	assert_int_equal(found.hooks.items[4].stage, STAGE_POSTSTOP);
	assert_refused(*state, HOOKS("\"prestart\":[{}]"),
		       "config.json: hooks.prestart[0].path: is missing");
	assert_refused(*state, HOOKS("\"poststop\":[{\"path\":\"/h\",\"args\":\"h\"}]"),
		       "config.json: hooks.poststop[0].args: expected an array");
	assert_refused(*state, HOOKS("\"poststop\":[{\"path\":\"/h\",\"args\":[1]}]"),
		       "config.json: hooks.poststop[0].args[0]: expected a string");
	assert_refused(*state, HOOKS("\"prestart\":[7]"),
		       "config.json: hooks.prestart[0]: expected an object");
	assert_refused(*state, HOOKS("\"createRuntime\":{}"),
		       "config.json: hooks.createRuntime: expected an array");
}

static void test_mounts(void **state)
{
	struct oci_config found = parse(
		*state,
		"{\"root\":{\"path\":\"r\"},\"mounts\":[{\"destination\":\"/a\",\"source\":\"/s\","
		"\"options\":[\"ro\",\"bind\"]},{\"destination\":\"/b\"},{\"source\":7},"
		"{\"destination\":\"/c\",\"options\":[\"ro\",7]},7]}");

	assert_int_equal(found.mounts.n, 5);
	assert_string_equal(found.mounts.items[0].destination, "/a");
	assert_string_equal(found.mounts.items[0].source, "/s");
	assert_int_equal(found.mounts.items[0].options.n, 2);
	assert_string_equal(found.mounts.items[0].options.items[1], "bind");
	assert_string_equal(found.mounts.items[1].destination, "/b");
	assert_null(found.mounts.items[1].source);
	/* What no runtime takes is not this program's to judge. */
	for (size_t i = 2; i < 5; i++)
		assert_null(found.mounts.items[i].destination);
	assert_int_equal(parse(*state, "{\"root\":{\"path\":\"r\"},\"mounts\":{}}").mounts.n, 0);
}

/* What a state has too, for the stage that gets a config instead. */
/* "LABEL" between these is a config.json. */
#define LABELLED(label) "{\"root\":{\"path\":\"r\"},\"linux\":{\"mountLabel\":" label "}}"

static void assert_unusable(struct arena *arena, const char *text, const char *problem)
{
	const struct oci_config config = parse(arena, text);

	assert_null(config.mount_label);
	assert_string_equal(config.mount_label_problem, problem);
}

static void test_mount_label(void **state)
{
	char text[400], longest[LIMIT_LABEL + 2];

	assert_null(parse(*state, "{\"root\":{\"path\":\"r\"},\"linux\":{}}").mount_label);
	assert_null(parse(*state, LABELLED("null")).mount_label);
	assert_null(parse(*state, LABELLED("\"\"")).mount_label);
	assert_string_equal(
		parse(*state, LABELLED("\"system_u:object_r:container_file_t:s0:c1,c2\""))
			.mount_label,
		"system_u:object_r:container_file_t:s0:c1,c2");
	memset(longest, 'x', sizeof(longest));
	longest[LIMIT_LABEL] = '\0';
	snprintf(text, sizeof(text), LABELLED("\"%s\""), longest);
	assert_string_equal(parse(*state, text).mount_label, longest);
	snprintf(text, sizeof(text), LABELLED("\"%sx\""), longest);
	assert_unusable(*state, text, "config.json: linux.mountLabel: longer than 255 bytes");
	assert_unusable(
		*state, LABELLED("\"a\\nb\""),
		"config.json: linux.mountLabel: a blank or a control character in \"a\\x0ab\"");
	assert_unusable(*state, LABELLED("\"a b\""),
			"config.json: linux.mountLabel: a blank or a control character in \"a b\"");
	assert_refused(*state, LABELLED("\"a\\u0000b\""), "config.json:1:46: \\u0000 in a string");
	assert_refused(*state, LABELLED("1"), "config.json: linux.mountLabel: expected a string");
}

static void test_annotations(void **state)
{
	struct oci_config found = parse(
		*state, "{\"root\":{\"path\":\"r\"},\"annotations\":{\"b\":\"1\",\"a\":\"2\"},"
			"\"linux\":{\"cgroupsPath\":\"/x/libpod-1\"}}");

	assert_int_equal(found.annotations.n, 2);
	assert_string_equal(found.annotations.items[0].key, "a");
	assert_string_equal(found.annotations.items[0].value, "2");
	assert_string_equal(found.cgroups_path, "/x/libpod-1");
	assert_refused(*state, "{\"root\":{\"path\":\"r\"},\"annotations\":{\"a\":1}}",
		       "config.json: annotations.a: expected a string");
	assert_refused(*state, WITH_LINUX("\"cgroupsPath\":[]"),
		       "config.json: linux.cgroupsPath: expected a string");
}

/* However little memory there is, running out of it is an error and nothing else. */
static void test_memory(void **state)
{
	static const char text[] =
		"{\"root\":{\"path\":\"r\"},\"mounts\":[{\"destination\":\"/a\",\"source\":"
		"\"/b\",\"options\":[\"ro\"]}],\"process\":{\"env\":[\"A=1\"],\"user\":{"
		"\"additionalGids\":[5]}},\"hooks\":{\"prestart\":[{\"path\":\"/"
		"h\",\"args\":[\"h\"]}]},"
		"\"linux\":{\"devices\":[{\"path\":\"/dev/x\"}],\"resources\":{"
		"\"devices\":[{\"allow\":true,\"type\":\"c\"}]}}}";
	int r = -ENOMEM;

	(void)state;
	for (size_t limit = 0; r < 0; limit += 16) {
		struct oci_config found;
		struct error err = {0};
		struct arena arena;

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		r = oci_config_parse(&arena, text, strlen(text), &found, &err);
		if (r < 0)
			assert_int_equal(err.exit_code, EXIT_CODE_OTHER);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_least, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_id_mappings_mean_a_user_namespace, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_id_mapped_mounts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_problems, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hooks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mounts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mount_label, setup, teardown),
		cmocka_unit_test_setup_teardown(test_annotations, setup, teardown),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
