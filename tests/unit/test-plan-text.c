/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

/* One of everything. */
static const struct plan_input everything = {
	.specs = {"cdiVersion: 1.1.0\nkind: v.com/d\n"
		  "containerEdits: {deviceNodes: [{path: /dev/p, type: p}]}\n"
		  "devices:\n- name: a\n  containerEdits:\n"
		  "    deviceNodes: [{path: /dev/x, type: b, major: 8, minor: 1, permissions: w}]\n"
		  "    mounts: [{hostPath: /libx.so, containerPath: /libx.so}]\n"
		  "    hooks:\n"
		  "    - {hookName: prestart, path: /h, args: [h, '']}\n"
		  "    - {hookName: createContainer, path: /nvidia-ctk, args: [nvidia-ctk, hook, "
		  "update-ldcache, --folder, /l]}\n"
		  "    env: ['A=b c']\n"
		  "    netDevices: [{hostInterfaceName: eth1, name: net1}]\n"},
	.devices = "v.com/d=a",
	.config = "{\"root\":{\"path\":\"r\"},\"linux\":{\"mountLabel\":\"u:r:t:s0:c1,c2\"}}",
	.host = "/libx.so f 0644 0:0 soname=libx.so.1\n",
};

static void test_everything(void **state)
{
	(void)state;
	assert_plan(&everything,
		    "allow b 8:1 w  # v.com/d=a /a.yaml:7:19\n"
		    "label u:r:t:s0:c1,c2  # linux.mountLabel, where SELinux is on\n"
		    "mount /libx.so /libx.so private  # v.com/d=a /a.yaml:8:14\n"
		    "node /dev/p p 0666 0:0  # v.com/d /a.yaml:3:32\n"
		    "node /dev/x b 8:1 0666 0:0  # v.com/d=a /a.yaml:7:19\n"
		    "library libx.so.1 /libx.so  # v.com/d=a /a.yaml:8:14\n"
		    "ldcache /l  # v.com/d=a /a.yaml:11:7\n"
		    "hook prestart /h h \"\"  # v.com/d=a /a.yaml:10:7\n"
		    "netDevice eth1 net1  # v.com/d=a /a.yaml:13:18\n"
		    "unsupported env A=b\\x20c  # v.com/d=a /a.yaml:5:3\n",
		    NULL);
}

/* No path can look like two words, another line or a comment. */
static void test_escapes(void **state)
{
	struct plan_node node = {
		.path = "/dev/a b\n#\\\x7f\xff\"",
		.type = S_IFCHR,
		.major = 1,
		.minor = 2,
		.mode = 0660,
		.uid = 3,
		.gid = 4,
		.origin = {.kind = "v.com/d", .file = "/a b.yaml", .place = {5, 6}},
	};
	const struct plan plan = {.nodes = {.items = &node, .n = 1}};
	struct error err = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	assert_string_equal(
		plan_text(&arena, &plan, &err),
		"node /dev/a\\x20b\\x0a\\x23\\x5c\\x7f\\xff\" c 1:2 0660 3:4  # v.com/d "
		"/a\\x20b.yaml:5:6\n");
	arena_done(&arena);
}

static void test_access(void **state)
{
	static const char *const texts[] = {"", "r", "w", "rw", "m", "rm", "wm", "rwm"};
	char buffer[4];

	(void)state;
	for (unsigned access = 0; access < 8; access++)
		assert_string_equal(device_access_text(access, buffer), texts[access]);
}

static void test_memory(void **state)
{
	struct planned planned;
	const char *text = NULL;

	(void)state;
	assert_int_equal(planned_init(&planned, &everything), 0);
	for (size_t limit = 0; !text; limit += 64) {
		struct arena arena;
		struct error err = {0};

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		text = plan_text(&arena, &planned.plan, &err);
		if (!text)
			assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
	planned_done(&planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
