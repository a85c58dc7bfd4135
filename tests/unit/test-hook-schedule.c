/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "hook-schedule.h"

#define PRESTART STAGE_BIT(STAGE_PRESTART)
#define RUNTIME STAGE_BIT(STAGE_CREATE_RUNTIME)
#define CONTAINER STAGE_BIT(STAGE_CREATE_CONTAINER)
#define POSTSTART STAGE_BIT(STAGE_POSTSTART)
#define POSTSTOP STAGE_BIT(STAGE_POSTSTOP)

/* The one stage at which a hook of stage `stage` runs, -1 for none: each stage that is registered is asked. */
static int runs_at(stage_set registered, enum stage stage)
{
	int at = -1;
	bool never = false, all_never = true;

	for (int now = 0; now < STAGE_COUNT; now++) {
		const struct hook_schedule schedule = {(enum stage)now, registered};
		if (!(registered & STAGE_BIT(now)))
			continue;
		enum hook_turn turn = hook_schedule_turn(&schedule, stage);
		never = never || turn == HOOK_NEVER;
		all_never = all_never && turn == HOOK_NEVER;
		if (turn != HOOK_NOW)
			continue;
		assert_int_equal(at, -1);
		at = now;
	}
	/* All of them know alike whether it runs at all. */
	assert_int_equal(never, all_never);
	assert_int_equal(at < 0, never);
	return at;
}

static void test_each_hook_once(void **state)
{
	static const struct {
		stage_set registered;
		int prestart, create_runtime, create_container, poststart, poststop;
	} table[] = {
		{RUNTIME, STAGE_CREATE_RUNTIME, STAGE_CREATE_RUNTIME, STAGE_CREATE_RUNTIME, -1, -1},
		{PRESTART, STAGE_PRESTART, STAGE_PRESTART, STAGE_PRESTART, -1, -1},
		{CONTAINER, -1, -1, STAGE_CREATE_CONTAINER, -1, -1},
		{PRESTART | RUNTIME, STAGE_PRESTART, STAGE_CREATE_RUNTIME, STAGE_PRESTART, -1, -1},
		{RUNTIME | CONTAINER, STAGE_CREATE_RUNTIME, STAGE_CREATE_RUNTIME,
		 STAGE_CREATE_CONTAINER, -1, -1},
		{PRESTART | CONTAINER | POSTSTOP, STAGE_PRESTART, STAGE_PRESTART,
		 STAGE_CREATE_CONTAINER, -1, STAGE_POSTSTOP},
		{PRESTART | RUNTIME | CONTAINER | POSTSTART | POSTSTOP, STAGE_PRESTART,
		 STAGE_CREATE_RUNTIME, STAGE_CREATE_CONTAINER, STAGE_POSTSTART, STAGE_POSTSTOP},
		{POSTSTART, -1, -1, -1, STAGE_POSTSTART, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		stage_set registered = table[i].registered;
		assert_int_equal(runs_at(registered, STAGE_PRESTART), table[i].prestart);
		assert_int_equal(runs_at(registered, STAGE_CREATE_RUNTIME),
				 table[i].create_runtime);
		assert_int_equal(runs_at(registered, STAGE_CREATE_CONTAINER),
				 table[i].create_container);
		assert_int_equal(runs_at(registered, STAGE_START_CONTAINER), -1);
		assert_int_equal(runs_at(registered, STAGE_POSTSTART), table[i].poststart);
		assert_int_equal(runs_at(registered, STAGE_POSTSTOP), table[i].poststop);
	}
}

/* Whatever is registered, no hook runs twice: runs_at() asserts it. */
static void test_never_twice(void **state)
{
	(void)state;
	for (stage_set registered = 1; registered < STAGE_BIT(STAGE_COUNT); registered++)
		for (int stage = STAGE_PRESTART; stage < STAGE_COUNT; stage++)
			(void)runs_at(registered, (enum stage)stage);
}

/* A config.json that cannot be read, or a hook that a person calls: the stage itself is known. */
static void test_now_is_registered(void **state)
{
	const struct hook_schedule schedule = {STAGE_CREATE_RUNTIME, 0};

	(void)state;
	assert_int_equal(hook_schedule_turn(&schedule, STAGE_CREATE_CONTAINER), HOOK_NOW);
	assert_int_equal(hook_schedule_turn(&schedule, STAGE_POSTSTOP), HOOK_NEVER);
	assert_false(hook_schedule_done_earlier(&schedule));
}

static void test_done_earlier(void **state)
{
	struct hook_schedule schedule = {STAGE_CREATE_CONTAINER, RUNTIME | CONTAINER};

	(void)state;
	assert_true(hook_schedule_done_earlier(&schedule));
	schedule.registered = CONTAINER | POSTSTOP;
	assert_false(hook_schedule_done_earlier(&schedule));
	schedule = (struct hook_schedule){STAGE_POSTSTART, RUNTIME | POSTSTART};
	assert_false(hook_schedule_done_earlier(&schedule));
}

static struct oci_hook entry(enum stage stage, const char **args, size_t n)
{
	return (struct oci_hook){.stage = stage, .path = "/x", .args = {.items = args, .n = n}};
}

static void test_stage_of_an_entry(void **state)
{
	const char *plain[] = {"oci-cdi-hook", "prestart"};
	const char *options_last[] = {"oci-cdi-hook", "createContainer", "--lenient"};
	const char *none[] = {"createRuntime", "--version"};
	struct oci_hook hook = entry(STAGE_CREATE_RUNTIME, plain, 2);

	(void)state;
	assert_int_equal(hook_schedule_entry_stage(&hook), STAGE_PRESTART);
	hook = entry(STAGE_CREATE_RUNTIME, options_last, 3);
	assert_int_equal(hook_schedule_entry_stage(&hook), STAGE_CREATE_CONTAINER);
	/* args[0] is what the program is called. */
	hook = entry(STAGE_POSTSTOP, none, 2);
	assert_int_equal(hook_schedule_entry_stage(&hook), STAGE_POSTSTOP);
	hook = entry(STAGE_POSTSTART, NULL, 0);
	assert_int_equal(hook_schedule_entry_stage(&hook), STAGE_POSTSTART);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_hook_once),    cmocka_unit_test(test_never_twice),
		cmocka_unit_test(test_now_is_registered), cmocka_unit_test(test_done_earlier),
		cmocka_unit_test(test_stage_of_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
