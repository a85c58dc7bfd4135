/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

/* Two devices, a on line 4 with its edits in column 4, and b on line 7. */
#define TWO(edits_a, edits_b)                                                                      \
	"cdiVersion: 1.1.0\nkind: v.com/d\ndevices:\n- name: a\n  containerEdits:\n   " edits_a    \
	"\n- name: b\n  containerEdits:\n   " edits_b "\n"
#define INPUT(a, b, ...)                                                                           \
	&(const struct plan_input)                                                                 \
	{                                                                                          \
		.specs = {TWO(a, b)}, .devices = "v.com/d=a v.com/d=b", __VA_ARGS__                \
	}
#define PLACE_A "v.com/d=a /a.yaml:4:3"
#define PLACE_B "v.com/d=b /a.yaml:7:3"
#define CONFIG(process) "{\"root\": {\"path\": \"r\"}, \"process\": {" process "}}"

static void test_env_is_merged(void **state)
{
	(void)state;
	/* In the place of the first, as the reference does it. */
	assert_plan(INPUT("env: [X=1, Y=a]", "env: [Z=, X=2]"),
		    "unsupported env X=2  # " PLACE_B "\n"
		    "unsupported env Y=a  # " PLACE_A "\n"
		    "unsupported env Z=  # " PLACE_B "\n",
		    "device v.com/d=b (/a.yaml:7:3): env X=2 takes the place of X=1 of device "
		    "v.com/d=a (/a.yaml:4:3)");
	/* The same value twice costs nobody anything, and other variables are others. */
	assert_plan(INPUT("env: [X=1]", "env: [X=1, X1=1]"),
		    "unsupported env X=1  # " PLACE_B "\n"
		    "unsupported env X1=1  # " PLACE_B "\n",
		    NULL);
	/* A device that contradicts itself is told too. */
	assert_plan(INPUT("env: [X=1, X=2]", "additionalGids: [0]"),
		    "unsupported env X=2  # " PLACE_A "\n",
		    "device v.com/d=a (/a.yaml:4:3): env X=2 takes the place of X=1 of device "
		    "v.com/d=a (/a.yaml:4:3)");
}

/* What a spec says for all its devices is a default; what another spec says is not. */
static void test_env_defaults(void **state)
{
	static const char spec[] =
		"cdiVersion: 1.1.0\nkind: v.com/d\ncontainerEdits: {env: [X=0]}\n"
		"devices: [{name: a, containerEdits: {env: [X=1]}}]\n";
	static const char other[] = "cdiVersion: 1.1.0\nkind: w.com/d\n"
				    "devices: [{name: a, containerEdits: {env: [X=2]}}]\n";
	const struct plan_input one = {.specs = {spec}, .devices = "v.com/d=a"};
	const struct plan_input two = {.specs = {spec, other}, .devices = "v.com/d=a w.com/d=a"};

	(void)state;
	assert_plan(&one, "unsupported env X=1  # v.com/d=a /a.yaml:4:11\n", NULL);
	assert_plan(&two, "unsupported env X=2  # w.com/d=a /b.yaml:3:11\n",
		    "device w.com/d=a (/b.yaml:3:11): env X=2 takes the place of X=1 of device "
		    "v.com/d=a (/a.yaml:4:11)");
}

static void test_env_of_the_container(void **state)
{
	(void)state;
	/* There already: an engine that knows CDI, or a stage before this one, was here. */
	assert_plan(INPUT("env: [X=1]", "env: [Y=1]",
			  .config = CONFIG("\"env\": [\"X=1\", \"Y=0\", "
					   "\"Y=1\"]")),
		    "", NULL);
	/* Of several the last counts. */
	assert_plan(INPUT("env: [X=1]", "env: [Y=1]",
			  .config = CONFIG("\"env\": [\"X\", \"Y=1\", \"Y=0\"]")),
		    "unsupported env X=1  # " PLACE_A "\n"
		    "unsupported env Y=1  # " PLACE_B "\n",
		    NULL);
}

static void test_search_paths_of_the_container(void **state)
{
	static const char *const names[] = {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH"};
	char spec[256], config[256], plan[256], note[256];
	const struct plan_input input = {.specs = {spec}, .devices = "v.com/d=a", .config = config};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *name = names[i];
		snprintf(spec, sizeof(spec), TWO("env: [%s=/spec]", "env: [%sX=1]"), name, name);
		snprintf(config, sizeof(config), CONFIG("\"env\": [\"%s=/own\", \"X%s=/own\"]"),
			 name, name);
		snprintf(plan, sizeof(plan), "unsupported env %s=/spec  # " PLACE_A "\n", name);
		snprintf(note, sizeof(note),
			 "device v.com/d=a (/a.yaml:4:3): env %s=/spec is not what the container "
			 "has: %s=/own",
			 name, name);
		assert_plan(&input, plan, note);
	}
	/* No other variable is worth a word: a spec is there to set them. */
	assert_plan(INPUT("env: [MYPATH=/spec]", "additionalGids: [0]",
			  .config = CONFIG("\"env\": [\"MYPATH=/own\"]")),
		    "unsupported env MYPATH=/spec  # " PLACE_A "\n", NULL);
}

static void test_groups(void **state)
{
	(void)state;
	assert_plan(INPUT("additionalGids: [4, 5, 0, 4]", "additionalGids: [6, 5, 7]",
			  .config = CONFIG("\"user\": {\"additionalGids\": [1, 7]}")),
		    "unsupported additionalGids 4  # " PLACE_A "\n"
		    "unsupported additionalGids 5  # " PLACE_A "\n"
		    "unsupported additionalGids 6  # " PLACE_B "\n",
		    NULL);
}

#define NET(host, name) "netDevices: [{hostInterfaceName: " host ", name: " name "}]"

static void test_net_devices(void **state)
{
	(void)state;
	assert_plan(INPUT(NET("eth1", "net1"), NET("eth1", "net1")),
		    "netDevice eth1 net1  # v.com/d=a /a.yaml:6:17\n", NULL);
	assert_plan(INPUT(NET("eth1", "net1"), NET("net1", "eth1")),
		    "netDevice eth1 net1  # v.com/d=a /a.yaml:6:17\n"
		    "netDevice net1 eth1  # v.com/d=b /a.yaml:9:17\n",
		    NULL);
	assert_no_plan(
		INPUT(NET("eth1", "net1"), NET("eth1", "net2")), EXIT_CODE_SPEC,
		"device v.com/d=b (/a.yaml:9:17): netDevices: eth1 is to become net2, but by "
		"device v.com/d=a (/a.yaml:6:17) eth1 becomes net1");
	assert_no_plan(
		INPUT(NET("eth1", "net1"), NET("eth2", "net1")), EXIT_CODE_SPEC,
		"device v.com/d=b (/a.yaml:9:17): netDevices: eth2 is to become net1, but by "
		"device v.com/d=a (/a.yaml:6:17) eth1 becomes net1");
}

static void test_names_of_net_devices(void **state)
{
	(void)state;
	assert_no_plan(INPUT(NET("a/b", "net1"), "env: [A=1]"), EXIT_CODE_SPEC,
		       "device v.com/d=a (/a.yaml:6:17): netDevices hostInterfaceName \"a/b\" may "
		       "not contain a blank, /, : or %");
	assert_no_plan(INPUT(NET("eth1", "net%d"), "env: [A=1]"), EXIT_CODE_SPEC,
		       "device v.com/d=a (/a.yaml:6:17): netDevices name \"net%d\" may not contain "
		       "a blank, /, : or %");
}

static void test_intel_rdt(void **state)
{
	static const char spec[] =
		"cdiVersion: 1.1.0\nkind: v.com/d\ncontainerEdits: {intelRdt: {closID: c}}\n"
		"devices: [{name: a, containerEdits: {intelRdt: {}}}]\n";
	const struct plan_input input = {.specs = {spec}, .devices = "v.com/d=a"};

	(void)state;
	assert_no_plan(
		INPUT("intelRdt: {closID: gold}", "intelRdt: {closID: lead}"), EXIT_CODE_SPEC,
		"device v.com/d=b (/a.yaml:9:14): intelRdt closID lead, but device v.com/d=a "
		"(/a.yaml:6:14) wants gold: a container has one class");
	assert_plan(INPUT("intelRdt: {closID: gold}", "intelRdt: {memBwSchema: x}"),
		    "unsupported intelRdt without\\x20closID  # v.com/d=b /a.yaml:9:14\n",
		    "device v.com/d=b (/a.yaml:9:14): intelRdt takes the place of that of device "
		    "v.com/d=a (/a.yaml:6:14), as a whole");
	assert_plan(INPUT("intelRdt: {closID: gold, schemata: [x]}",
			  "intelRdt: {closID: gold, schemata: [x]}"),
		    "intelRdt gold  # v.com/d=b /a.yaml:9:14\n", NULL);
	assert_plan(INPUT("intelRdt: {closID: gold, schemata: [x]}",
			  "intelRdt: {closID: gold, schemata: [y]}"),
		    "intelRdt gold  # v.com/d=b /a.yaml:9:14\n",
		    "device v.com/d=b (/a.yaml:9:14): intelRdt takes the place of that of device "
		    "v.com/d=a (/a.yaml:6:14), as a whole");
	assert_plan(
		INPUT("intelRdt: {closID: gold, enableMonitoring: true}", "additionalGids: [0]"),
		"intelRdt gold  # v.com/d=a /a.yaml:6:14\n"
		"unsupported intelRdt enableMonitoring  # v.com/d=a /a.yaml:6:14\n",
		NULL);
	assert_plan(INPUT("intelRdt: {closID: gold}", NET("eth1", "net1"),
			  .stage = STAGE_CREATE_CONTAINER),
		    "unsupported netDevices eth1:net1  # v.com/d=b /a.yaml:9:17\n"
		    "unsupported intelRdt gold  # v.com/d=a /a.yaml:6:14\n",
		    NULL);
	/* A device's own takes the place of its spec's, which is the default. */
	assert_plan(&input, "unsupported intelRdt without\\x20closID  # v.com/d=a /a.yaml:4:48\n",
		    NULL);
}

/* What can be had while there is no process yet. */
static void test_for_config(void **state)
{
	(void)state;
	assert_plan(INPUT("{env: [X=1, Y=1], additionalGids: [4, 5], netDevices: "
			  "[{hostInterfaceName: a, name: b}], intelRdt: {closID: gold}}",
			  "additionalGids: [4]",
			  .config = CONFIG("\"env\": [\"X=1\"], "
					   "\"user\": {\"additionalGids\": [5]}"),
			  .in_config = true),
		    "env Y=1  # " PLACE_A "\n"
		    "additionalGid 4  # " PLACE_A "\n"
		    "netDevice a b  # v.com/d=a /a.yaml:6:59\n"
		    "intelRdt gold  # v.com/d=a /a.yaml:6:103\n",
		    NULL);
	assert_memory_is_minded(
		INPUT("{env: [A=1], additionalGids: [1], netDevices: [{hostInterfaceName: a, "
		      "name: b}], intelRdt: {}}",
		      "mounts: [{hostPath: /s, containerPath: /d}]", .host = "/s d\n",
		      .in_config = true));
}

static void assert_too_many(const char *list, const char *before, const char *after,
			    const char *sentence)
{
	char *text = malloc(LIMIT_SPEC_SIZE);
	struct plan_input input = {.specs = {text}, .devices = "v.com/d=a"};
	struct planned planned;
	size_t used;

	assert_non_null(text);
	used = (size_t)snprintf(text, LIMIT_SPEC_SIZE,
				"cdiVersion: 1.1.0\nkind: v.com/d\ndevices:\n- name: a\n"
				"  containerEdits:\n    %s:\n",
				list);
	for (int i = 1; i <= LIMIT_ENV + 1; i++)
		used += (size_t)snprintf(text + used, LIMIT_SPEC_SIZE - used, "    - %s%d%s\n",
					 before, i, after);
	assert_true(planned_init(&planned, &input) < 0);
	assert_error(&planned.err, EXIT_CODE_SPEC, sentence);
	planned_done(&planned);
	free(text);
}

static void test_bounds(void **state)
{
	(void)state;
	assert_too_many("env", "A", "=1",
			"device v.com/d=a (/a.yaml:4:3): more than 1024 env entries for one "
			"container");
	assert_too_many("additionalGids", "", "",
			"device v.com/d=a (/a.yaml:4:3): more than 1024 additionalGids for one "
			"container");
	assert_too_many("netDevices", "{hostInterfaceName: &h e", ", name: *h}",
			"device v.com/d=a (/a.yaml:1031:7): more than 1024 netDevices for one "
			"container");
}

static void test_memory(void **state)
{
	(void)state;
	assert_memory_is_minded(INPUT("{env: [A=1], additionalGids: [1], netDevices: "
				      "[{hostInterfaceName: a, name: b}], intelRdt: {}}",
				      "env: [A=2]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env_is_merged),
		cmocka_unit_test(test_env_defaults),
		cmocka_unit_test(test_env_of_the_container),
		cmocka_unit_test(test_search_paths_of_the_container),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_net_devices),
		cmocka_unit_test(test_names_of_net_devices),
		cmocka_unit_test(test_intel_rdt),
		cmocka_unit_test(test_for_config),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
