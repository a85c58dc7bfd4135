/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

#define INPUT(hooks, ...)                                                                          \
	(&(const struct plan_input){                                                               \
		.specs = {"cdiVersion: 0.6.0\nkind: v.com/d\ncontainerEdits:\n"                    \
			  "  hooks: [" hooks "]\n"                                                 \
			  "devices:\n- name: a\n  containerEdits:\n"                               \
			  "    env: [A=1]\n"},                                                     \
		.devices = "v.com/d=a",                                                            \
		__VA_ARGS__})
#define AT "kind v.com/d (/a.yaml:4:11): "
#define ORIGIN "  # v.com/d /a.yaml:4:11\n"
#define ENV "unsupported env A=1  # v.com/d=a /a.yaml:6:3\n"

static void test_stages(void **state)
{
	(void)state;
	assert_plan(INPUT("{hookName: createRuntime, path: /h}"),
		    "hook createRuntime /h" ORIGIN ENV, NULL);
	assert_plan(INPUT("{hookName: createContainer, path: /h}"),
		    "hook createContainer /h" ORIGIN ENV, NULL);
	/* Its own stage will come. */
	assert_plan(INPUT("{hookName: createContainer, path: /h}",
			  .registered = STAGE_BIT(STAGE_CREATE_CONTAINER)),
		    ENV, NULL);
	/* Nothing but hooks is left there. */
	assert_plan(INPUT("{hookName: createContainer, path: /h}", .stage = STAGE_CREATE_CONTAINER,
			  .registered = STAGE_BIT(STAGE_CREATE_RUNTIME)),
		    "hook createContainer /h" ORIGIN, NULL);
	assert_plan(INPUT("{hookName: poststop, path: /h}", .stage = STAGE_POSTSTOP,
			  .registered = STAGE_BIT(STAGE_CREATE_RUNTIME)),
		    "hook poststop /h" ORIGIN, NULL);
	assert_plan(INPUT("{hookName: poststart, path: /h}", .stage = STAGE_POSTSTOP), "", NULL);
}

static void test_never(void **state)
{
	struct planned planned;

	(void)state;
	assert_plan(INPUT("{hookName: poststop, path: /h}"),
		    "unsupported hook poststop\\x20/h" ORIGIN ENV, NULL);
	assert_int_equal(planned_init(&planned, INPUT("{hookName: startContainer, path: /h}")), 0);
	assert_int_equal(planned.plan.unsupported.n, 2);
	assert_string_equal(planned.plan.unsupported.items[0].edit, "hook startContainer /h");
	assert_string_equal(planned.plan.unsupported.items[0].problem,
			    "is not run: its program lies in the container, and only the runtime "
			    "can start it there");
	assert_null(planned.plan.unsupported.items[1].problem);
	planned_done(&planned);
	/* Said once, where the rest of the work is done. */
	assert_plan(INPUT("{hookName: poststop, path: /h}", .stage = STAGE_CREATE_CONTAINER,
			  .registered = STAGE_BIT(STAGE_PRESTART)),
		    "", NULL);
}

static void test_config_has_it(void **state)
{
#define CONFIG(stage, members)                                                                     \
	"{\"root\":{\"path\":\"r\"},\"hooks\":{\"" stage "\":[{\"path\":\"/h\"" members "}]}}"
	(void)state;
	assert_plan(INPUT("{hookName: prestart, path: /h, args: [h]}",
			  .config = CONFIG("prestart", ",\"args\":[\"h\"]")),
		    ENV, AT "hook prestart /h stands in config.json: the runtime runs it");
	assert_plan(INPUT("{hookName: startContainer, path: /h}",
			  .config = CONFIG("startContainer", "")),
		    ENV, AT "hook startContainer /h stands in config.json: the runtime runs it");
	assert_plan(INPUT("{hookName: prestart, path: /h}",
			  .config = CONFIG("prestart", ",\"args\":[\"h\"]")),
		    "hook prestart /h" ORIGIN ENV, NULL);
}

static void test_left_out(void **state)
{
	const char *base = "h", *command = "make-links";

	(void)state;
	assert_plan(
		INPUT("{hookName: prestart, path: /opt/h}", .disabled = {.items = &base, .n = 1}),
		ENV, AT "hook prestart /opt/h left out, as --disable-hook=h says");
	assert_plan(
		INPUT("{hookName: prestart, path: /opt/x, args: [x, --debug, hook, make-links]}",
		      .disabled = {.items = &command, .n = 1}),
		ENV, AT "hook prestart /opt/x left out, as --disable-hook=make-links says");
	assert_plan(INPUT("{hookName: prestart, path: /x, args: [x, other, make-links]}",
			  .disabled = {.items = &command, .n = 1}),
		    "hook prestart /x x other make-links" ORIGIN ENV, NULL);
}

#define LDCACHE                                                                                    \
	"{hookName: createContainer, path: /nvidia-ctk, args: [nvidia-ctk, hook, update-ldcache]}"

static void test_built_in(void **state)
{
	const char *command = "update-ldcache";

	(void)state;
	/* Done with the rest of the work, whichever stage that is. */
	assert_plan(INPUT(LDCACHE, .registered = STAGE_BIT(STAGE_CREATE_CONTAINER)),
		    "ldcache" ORIGIN ENV, NULL);
	assert_plan(INPUT(LDCACHE, .stage = STAGE_CREATE_CONTAINER,
			  .registered = STAGE_BIT(STAGE_CREATE_RUNTIME)),
		    "", NULL);
	assert_plan(INPUT(LDCACHE, .vendor_hooks = PLAN_VENDOR_HOOKS_EXEC),
		    "hook createContainer /nvidia-ctk nvidia-ctk hook update-ldcache" ORIGIN ENV,
		    NULL);
	assert_plan(INPUT(LDCACHE, .disabled = {.items = &command, .n = 1}), ENV,
		    AT "hook createContainer /nvidia-ctk left out, as "
		       "--disable-hook=update-ldcache says");
}

static void test_refused(void **state)
{
	(void)state;
	assert_no_plan(INPUT("{hookName: createRuntime, path: bin/h}"), EXIT_CODE_VENDOR_HOOK,
		       AT "hook createRuntime bin/h: not an absolute path");
	assert_no_plan(INPUT("{hookName: createRuntime, path: /h, args: [h, \"a\\nb\"]}"),
		       EXIT_CODE_VENDOR_HOOK,
		       AT "hook createRuntime /h: its argument \"a\\x0ab\" has a line break in it");
	/* A hook that does not run harms nobody. */
	assert_plan(INPUT("{hookName: poststop, path: h}"),
		    "unsupported hook poststop\\x20h" ORIGIN ENV, NULL);
}

static void test_memory(void **state)
{
	(void)state;
	assert_memory_is_minded(INPUT("{hookName: createRuntime, path: /h}, {hookName: poststop, "
				      "path: /h}, " LDCACHE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stages),        cmocka_unit_test(test_never),
		cmocka_unit_test(test_config_has_it), cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_built_in),      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
