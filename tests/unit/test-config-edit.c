/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

#include "config-edit.h"

#define SPEC(edits)                                                                                \
	"cdiVersion: 1.1.0\nkind: v.com/d\ndevices:\n- name: a\n  containerEdits:\n    " edits     \
	"\n- name: b\n  containerEdits: {env: [\"B=\"]}\n"
#define HOST                                                                                       \
	"/dev/x c 10:229 0660 0:44\n/dev/b b 8:1 0640\n/s d\n/h x 0755\n/bin/nvidia-ctk x 0755\n"

/* What `config` becomes, in planned->arena; nothing where it stays as it is. */
static const char *edit(struct planned *planned, const char *edits, const char *config)
{
	const struct plan_input input = {.specs = {edits},
					 .devices = "v.com/d=a",
					 .host = HOST,
					 .config = config,
					 .in_config = true};
	const char *data;
	size_t size;

	if (planned_init(planned, &input) < 0)
		fail_msg("%s", planned->err.text);
	if (config_edit(&planned->arena, config, strlen(config), &planned->plan, &data, &size,
			&planned->err) < 0)
		fail_msg("%s", planned->err.text);
	if (data == config)
		return NULL;
	return arena_strndup(&planned->arena, data, size);
}

/* `after` NULL: nothing is changed. Whatever is, the second edit finds nothing to do. */
static void assert_edited(const char *edits, const char *config, const char *after)
{
	struct planned planned, again;
	const char *text = edit(&planned, edits, config);

	if (!after)
		assert_null(text);
	else if (!text)
		fail_msg("nothing was edited");
	else
		assert_string_equal(text, after);
	if (text) {
		assert_null(edit(&again, edits, text));
		planned_done(&again);
	}
	planned_done(&planned);
}

#define ROOT "\"root\":{\"path\":\"r\"}"
#define CONFIG(members) "{" ROOT "," members "}"

static void test_env(void **state)
{
#define ENV(list) CONFIG("\"process\":{\"env\":[" list "]}")
	static const char spec[] = SPEC("env: [\"A=1\", \"B=x y\"]");

	(void)state;
	assert_edited(spec, ENV("\"P=/bin\""), ENV("\"P=/bin\",\"A=1\",\"B=x y\""));
	/* In the place of what is there; of several, of the last. */
	assert_edited(spec, ENV("\"B=0\", \"AA=2\", \"A=0\""), ENV("\"B=x y\", \"AA=2\", \"A=1\""));
	assert_edited(spec, ENV("\"B=0\",\"B=1\",\"A=1\""), ENV("\"B=0\",\"B=x y\",\"A=1\""));
	/* One without a value is the same variable. */
	assert_edited(spec, ENV("\"A\",\"B=x y\""), ENV("\"A=1\",\"B=x y\""));
	assert_edited(spec, ENV("\"B=x y\",\"A=1\""), NULL);
	assert_edited(spec, ENV("\"B=x\\u0020y\",\"A=1\""), NULL);
	assert_edited(spec, "{" ROOT "}", ENV("\"A=1\",\"B=x y\""));
	assert_edited(SPEC("env: ['A=\"\\ ä']"), CONFIG("\"process\":{}"), ENV("\"A=\\\"\\\\ ä\""));
}

static void test_gids(void **state)
{
#define USER(members) CONFIG("\"process\":{\"user\":{" members "}}")
	static const char spec[] = SPEC("additionalGids: [44, 0, 5, 44]");

	(void)state;
	assert_edited(spec, USER("\"uid\":1,\"additionalGids\":[5, 6]"),
		      USER("\"uid\":1,\"additionalGids\":[5, 6, 44]"));
	assert_edited(spec, USER("\"uid\":1"), USER("\"uid\":1,\"additionalGids\":[44,5]"));
	assert_edited(spec, "{" ROOT "}", USER("\"uid\":0,\"gid\":0,\"additionalGids\":[44,5]"));
	assert_edited(spec, USER("\"additionalGids\":[44,5]"), NULL);
	assert_edited(SPEC("additionalGids: [0]"), "{" ROOT "}", NULL);
}

#define LINUX(members) CONFIG("\"linux\":{" members "}")
#define DEVICES(list) LINUX("\"devices\":[" list "]")
#define NODE(path, more) "{\"path\":\"" path "\",\"type\":\"c\",\"major\":10,\"minor\":229" more "}"
#define X NODE("/dev/x", ",\"fileMode\":432")
#define RULE(access)                                                                               \
	"{\"allow\":true,\"type\":\"c\",\"major\":10,\"minor\":229,\"access\":\"" access "\"}"
#define RULES(list) "\"resources\":{\"devices\":[" list "]}"

static void test_nodes(void **state)
{
	static const char spec[] = SPEC("deviceNodes: [{path: /dev/x, permissions: none}]");

	(void)state;
	assert_edited(spec, "{" ROOT "}", DEVICES(X));
	assert_edited(spec, DEVICES("{\"path\":\"/dev/y\"}"), DEVICES("{\"path\":\"/dev/y\"}," X));
	/* Another one of this path goes; of two, the second makes place. */
	assert_edited(spec,
		      DEVICES("{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":10,\"minor\":1}, "
			      "{\"path\":\"/dev/y\"}"),
		      DEVICES(" {\"path\":\"/dev/y\"}, " X));
	assert_edited(
		spec,
		DEVICES(NODE("/dev/x", "") ",1,{\"path\":\"/dev/x\"},2,{\"path\":\"/dev/x\"}"),
		DEVICES("1," X ",2"));
	/* A mode that nobody knows is the runtime's to choose; of a FIFO the numbers too. */
	assert_edited(SPEC("deviceNodes: [{path: /dev/n, type: b, major: 9, permissions: none}, "
			   "{path: /p, type: p, gid: 0}]"),
		      DEVICES(""),
		      DEVICES("{\"path\":\"/dev/n\",\"type\":\"b\",\"major\":9,\"minor\":0},"
			      "{\"path\":\"/p\",\"type\":\"p\",\"gid\":0}"));
}

/* Of whom it is: the spec's word, also where that is root, or the user whom the container runs as. */
static void test_owner(void **state)
{
#define OWNED(spec, user, node)                                                                    \
	assert_edited(SPEC("deviceNodes: [{path: /dev/x, permissions: none" spec "}]"),            \
		      CONFIG("\"process\":{\"user\":{" user "}}"),                                 \
		      CONFIG("\"process\":{\"user\":{" user "}},\"linux\":{\"devices\":[" NODE(    \
			      "/dev/x", ",\"fileMode\":432" node) "]}"))
	(void)state;
	OWNED("", "\"uid\":7", ",\"uid\":7");
	OWNED("", "\"uid\":7,\"gid\":8", ",\"uid\":7,\"gid\":8");
	OWNED(", uid: 0, gid: 9", "\"uid\":7,\"gid\":8", ",\"uid\":0,\"gid\":9");
}

/* An engine made it, perhaps by an older release of the reference, which leaves things out. */
static void test_nodes_that_are_there(void **state)
{
	static const char spec[] = SPEC("deviceNodes: [{path: /dev/x, permissions: none, uid: 3}]");
	static const char *const same[] = {
		DEVICES(NODE("/dev/x", "")),
		DEVICES(NODE("/dev/x", ",\"fileMode\":432,\"uid\":3,\"gid\":4")),
		DEVICES("{\"minor\":229,\"major\":10,\"type\":\"u\",\"path\":\"/dev/x\"}"),
	};
	static const char *const others[] = {
		DEVICES(NODE("/dev/x", ",\"fileMode\":438")),
		DEVICES(NODE("/dev/x", ",\"uid\":0")),
		DEVICES(NODE("/dev/x", ",\"uid\":\"3\"")),
		DEVICES("{\"path\":\"/dev/x\",\"type\":\"b\",\"major\":10,\"minor\":229}"),
		DEVICES("{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":10}"),
		DEVICES("{\"path\":\"/dev/x\",\"type\":\"c\",\"minor\":229}"),
		DEVICES("{\"path\":\"/dev/x\",\"major\":10,\"minor\":229}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_edited(spec, same[i], NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_edited(spec, others[i],
			      DEVICES(NODE("/dev/x", ",\"fileMode\":432,\"uid\":3")));
}

static void test_rules(void **state)
{
	static const char spec[] = SPEC("deviceNodes: [{path: /dev/x, permissions: rw}]");
	static const char *const there[] = {
		"[" RULE("rw") "]",
		"[{\"allow\":false,\"access\":\"rwm\"}," RULE("wr") "]",
		"[" RULE("rwm") ",{\"allow\":false,\"type\":\"b\",\"major\":10,\"minor\":229}]",
		"[" RULE("rwm") ",{\"allow\":false,\"type\":\"c\",\"major\":11}]",
	};
	static const char *const missing[] = {
		"[{\"allow\":true,\"access\":\"rwm\"}]", /* of all: as the reference, one more */
		"[" RULE("r") "]",
		"[" RULE("rw") ",{\"allow\":false}]",
		"[" RULE("rw") ",{\"allow\":false,\"type\":\"c\",\"major\":10,\"minor\":229}]",
		"[{\"type\":\"c\",\"major\":10,\"minor\":229,\"access\":\"rw\"}]",
		"[7]",
	};
	char config[512], after[512];

	(void)state;
	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
		snprintf(config, sizeof(config),
			 LINUX("\"devices\":[" X "],\"resources\":{\"devices\":%s}"), there[i]);
		assert_edited(spec, config, NULL);
	}
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		snprintf(config, sizeof(config),
			 LINUX("\"devices\":[" X "],\"resources\":{\"devices\":%s}"), missing[i]);
		snprintf(after, sizeof(after),
			 LINUX("\"devices\":[" X "],\"resources\":{\"devices\":%.*s,%s]}"),
			 (int)strlen(missing[i]) - 1, missing[i], RULE("rw"));
		assert_edited(spec, config, after);
	}
	assert_edited(spec, LINUX("\"resources\":{\"memory\":{}}"),
		      LINUX("\"resources\":{\"memory\":{},\"devices\":[" RULE(
			      "rw") "]},\"devices\":[" X "]"));
}

#define MOUNT(destination, options)                                                                \
	"{\"destination\":\"" destination "\",\"source\":\"/s\",\"options\":[" options "]}"
#define MOUNTS(list) CONFIG("\"mounts\":[" list "]")

static void test_mounts(void **state)
{
	static const char spec[] =
		SPEC("mounts: [{hostPath: /s, containerPath: /b/d, options: [ro, bind]}]");
#define NEW MOUNT("/b/d", "\"ro\",\"bind\"")
#define AT(destination) "{\"destination\":\"" destination "\"}"

	(void)state;
	assert_edited(spec, "{" ROOT "}", MOUNTS(NEW));
	/* Behind those as deep, before those deeper; the others keep their order. */
	assert_edited(spec, MOUNTS(AT("/a") ", " AT("/a/x/y") ", " AT("/c/x")),
		      MOUNTS(AT("/a") ", " AT("/c/x") ", " NEW ", " AT("/a/x/y")));
	assert_edited(
		spec, MOUNTS(AT("/") "," AT("/proc/./x/../y/z") "," AT("rel/x/y") "," AT("") ",{}"),
		MOUNTS(AT("") ",{}," AT("/") "," AT("rel/x/y") "," NEW "," AT("/proc/./x/../y/z")));
	/* Another mount on that place goes, however it is spelt. */
	assert_edited(spec, MOUNTS(AT("/a") "," AT("//b/./d/")), MOUNTS(AT("/a") "," NEW));
	/* Of two the last counts; one that it covers may stay. */
	assert_edited(spec, MOUNTS(AT("/b/d") "," AT("/b/d/") "," AT("/x")),
		      MOUNTS(AT("/x") "," AT("/b/d/") "," NEW));
	assert_edited(spec, MOUNTS(NEW "," AT("/b/d")), MOUNTS(AT("/b/d") "," NEW));
	assert_edited(spec, MOUNTS(AT("/b/d") "," NEW), NULL);
	/* Without a mount of ours nothing is sorted. */
	assert_edited(
		SPEC("env: [A=1]"),
		CONFIG("\"mounts\":[" AT("/a/b") "," AT("/a") "],\"process\":{\"env\":[\"A=1\"]}"),
		NULL);
}

static void test_mounts_that_are_there(void **state)
{
	static const char spec[] =
		SPEC("mounts: [{hostPath: /s, containerPath: /b/d, options: [ro, nosuid]}]");
	static const char *const same[] = {
		MOUNTS(AT("/x/y/z") "," MOUNT("/b/d", "\"ro\",\"nosuid\",\"bind\"")),
		MOUNTS(MOUNT("/b//d", "\"bind\",\"nosuid\",\"ro\",\"rprivate\"")),
		MOUNTS(MOUNT("/b/d", "\"nosuid\",\"ro\"")),
	};
	static const char *const others[] = {
		MOUNTS(MOUNT("/b/d", "\"nosuid\"")),
		MOUNTS(MOUNT("/b/d", "\"ro\",\"nosuid\",\"rbind\"")),
		MOUNTS(MOUNT("/b/d", "\"ro\",\"nosuid\",7")),
		MOUNTS("{\"destination\":\"/b/d\",\"source\":\"/"
		       "other\",\"options\":[\"ro\",\"nosuid\"]}"),
		MOUNTS("{\"destination\":\"/b/d\",\"options\":[\"ro\",\"nosuid\"]}"),
		MOUNTS("{\"destination\":\"/b/d\",\"source\":\"/s\",\"options\":\"ro,nosuid\"}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_edited(spec, same[i], NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_edited(spec, others[i], MOUNTS(MOUNT("/b/d", "\"ro\",\"nosuid\",\"bind\"")));
}

static void test_other_file_systems(void **state)
{
	static const char spec[] =
		SPEC("mounts: [{hostPath: t, containerPath: /d, type: tmpfs, options: [size=1m]}, "
		     "{hostPath: o, containerPath: /e, type: overlay}]");
#define TMPFS                                                                                      \
	"{\"destination\":\"/d\",\"type\":\"tmpfs\",\"source\":\"t\",\"options\":[\"size=1m\"]}"
#define OVERLAY(type) "{\"destination\":\"/e\",\"type\":\"" type "\",\"source\":\"o\"}"

	(void)state;
	assert_edited(spec, MOUNTS(""), MOUNTS(TMPFS "," OVERLAY("overlay")));
	assert_edited(spec, MOUNTS(OVERLAY("ext4") "," TMPFS),
		      MOUNTS(TMPFS "," OVERLAY("overlay")));
}

static void test_net_devices(void **state)
{
	static const char spec[] = SPEC("netDevices: [{hostInterfaceName: e1, name: n1}]");

	(void)state;
	assert_edited(spec, "{" ROOT "}", LINUX("\"netDevices\":{\"e1\":{\"name\":\"n1\"}}"));
	assert_edited(spec, LINUX("\"netDevices\":{\"e0\":{}, \"e1\":{\"name\":\"n2\"}}"),
		      LINUX("\"netDevices\":{\"e0\":{}, \"e1\":{\"name\":\"n1\"}}"));
	assert_edited(spec, LINUX("\"netDevices\":{\"e1\":{ \"name\" : \"n1\" }}"), NULL);
}

static void test_intel_rdt(void **state)
{
	static const char spec[] =
		SPEC("intelRdt: {closID: c, schemata: [x, y], l3CacheSchema: l, memBwSchema: m, "
		     "enableMonitoring: true}");

	(void)state;
	/* As a whole: what was there does not stay beside it. */
	assert_edited(
		spec, LINUX("\"intelRdt\":{\"closID\":\"c\",\"old\":1} "),
		LINUX("\"intelRdt\":{\"closID\":\"c\",\"schemata\":[\"x\",\"y\"],"
		      "\"l3CacheSchema\":\"l\",\"memBwSchema\":\"m\",\"enableMonitoring\":true} "));
	assert_edited(SPEC("intelRdt: {}"), LINUX("\"a\":1"), LINUX("\"a\":1,\"intelRdt\":{}"));
	assert_edited(SPEC("intelRdt: {closID: c}"), LINUX("\"intelRdt\":{ \"closID\": \"c\" }"),
		      NULL);
}

static void test_hooks(void **state)
{
	static const char spec[] = SPEC(
		"hooks: [{hookName: poststop, path: /h, args: [h, ''], env: [A=1], timeout: 5}, "
		"{hookName: createContainer, path: /bin/nvidia-ctk, args: [x, update-ldcache]}, "
		"{hookName: poststop, path: /h}]");
#define H "{\"path\":\"/h\",\"args\":[\"h\",\"\"],\"env\":[\"A=1\"],\"timeout\":5}"
#define HOOKS(members) CONFIG("\"hooks\":{" members "}")
#define NVIDIA "{\"path\":\"/bin/nvidia-ctk\",\"args\":[\"x\",\"update-ldcache\"]}"
#define CONTAINER "\"createContainer\":[" NVIDIA "]"

	(void)state;
	assert_edited(spec, "{" ROOT "}",
		      HOOKS(CONTAINER ",\"poststop\":[" H ",{\"path\":\"/h\"}]"));
	assert_edited(spec, HOOKS("\"poststop\": [{\"path\":\"/own\"}]"),
		      HOOKS("\"poststop\": [{\"path\":\"/own\"}," H ",{\"path\":\"/h\"}],"
			    "\"createContainer\": [" NVIDIA "]"));
}

/* A config as runc writes one stays as easy to read. */
static void test_layout(void **state)
{
	(void)state;
	assert_edited(SPEC("{env: [A=1], deviceNodes: [{path: /dev/x, permissions: none}], hooks: "
			   "[{hookName: prestart, path: /h}]}"),
		      "{\n\t\"root\": {\n\t\t\"path\": \"r\"\n\t},\n\t\"process\": {\n\t\t\"env\": "
		      "[\n\t\t\t\"P=/bin\",\n\t\t\t\"T=x\"\n\t\t],\n\t\t\"cwd\": \"/\"\n\t},\n"
		      "\t\"linux\": {\n\t\t\"x\": 123456789012345678901234567890\n\t}\n}",
		      "{\n\t\"root\": {\n\t\t\"path\": \"r\"\n\t},\n\t\"process\": {\n\t\t\"env\": "
		      "[\n\t\t\t\"P=/bin\",\n\t\t\t\"T=x\",\n\t\t\t\"A=1\"\n\t\t],\n\t\t\"cwd\": "
		      "\"/\"\n\t},\n"
		      "\t\"linux\": {\n\t\t\"x\": 123456789012345678901234567890,\n"
		      "\t\t\"devices\": [{\"path\": \"/dev/x\", \"type\": \"c\", \"major\": 10, "
		      "\"minor\": 229, \"fileMode\": 432}]\n\t},\n"
		      "\t\"hooks\": {\"prestart\": [{\"path\": \"/h\"}]}\n}");
}

static void assert_refused(const char *edits, const char *config, const char *sentence)
{
	const struct plan_input input = {.specs = {edits},
					 .devices = "v.com/d=a",
					 .host = HOST,
					 .config = config,
					 .in_config = true};
	struct planned planned;
	const char *data;
	size_t size;

	if (planned_init(&planned, &input) < 0)
		fail_msg("%s", planned.err.text);
	assert_true(config_edit(&planned.arena, config, strlen(config), &planned.plan, &data, &size,
				&planned.err) < 0);
	assert_error(&planned.err, EXIT_CODE_CONTAINER, sentence);
	planned_done(&planned);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused(SPEC("mounts: [{hostPath: /s, containerPath: /d}]"),
		       CONFIG("\"mounts\":{\"a\":1}"), "config.json: mounts: expected an array");
	assert_refused(SPEC("deviceNodes: [{path: /dev/x}]"), LINUX("\"devices\":\"x\""),
		       "config.json: linux.devices: expected an array");
	assert_refused(SPEC("netDevices: [{hostInterfaceName: a, name: b}]"),
		       LINUX("\"netDevices\":[]"),
		       "config.json: linux.netDevices: expected an object");
}

static void test_memory(void **state)
{
	static const char edits[] = SPEC(
		"{env: [A=1], additionalGids: [5], deviceNodes: [{path: /dev/x}], mounts: "
		"[{hostPath: /s, containerPath: /d}], hooks: [{hookName: prestart, path: /h}], "
		"netDevices: [{hostInterfaceName: a, name: b}], intelRdt: {closID: c}}");
	static const char config[] = CONFIG("\"mounts\":[{\"destination\":\"/a//b\"}]");
	const struct plan_input input = {.specs = {edits},
					 .devices = "v.com/d=a",
					 .host = HOST,
					 .config = config,
					 .in_config = true};
	struct planned planned;
	int r = -ENOMEM;

	(void)state;
	assert_int_equal(planned_init(&planned, &input), 0);
	for (size_t limit = 0; r < 0; limit += 16) {
		struct error err = {0};
		struct arena arena;
		const char *data;
		size_t size;

		assert_true(limit < 1000000);
		arena_init(&arena, limit);
		r = config_edit(&arena, config, strlen(config), &planned.plan, &data, &size, &err);
		if (r < 0) {
			assert_int_equal(err.exit_code, EXIT_CODE_OTHER);
			assert_int_equal(err.errnum, ENOMEM);
		}
		arena_done(&arena);
	}
	planned_done(&planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_gids),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_nodes_that_are_there),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_mounts_that_are_there),
		cmocka_unit_test(test_other_file_systems),
		cmocka_unit_test(test_net_devices),
		cmocka_unit_test(test_intel_rdt),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
