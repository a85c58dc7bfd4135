/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "stage.h"

static void test_names_lead_back_to_their_stage(void **state)
{
	(void)state;
	for (int i = 0; i < STAGE_COUNT; i++)
		assert_int_equal(stage_from_name(stage_name((enum stage)i)), i);
	assert_string_equal(stage_name(STAGE_PRECREATE), "precreate");
	assert_string_equal(stage_name(STAGE_CREATE_RUNTIME), "createRuntime");
	assert_int_equal(stage_from_name("createContainer"), STAGE_CREATE_CONTAINER);
}

static void test_anything_else_is_no_stage(void **state)
{
	static const char *const words[] = {
		"",       "createruntime",  "CreateRuntime", "createRuntime ",
		"create", "startcontainer", "postStart",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		assert_int_equal(stage_from_name(words[i]), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_lead_back_to_their_stage),
		cmocka_unit_test(test_anything_else_is_no_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
