/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "driver-params.h"

static void test_mask(void **state)
{
	static const struct {
		const char *text, *masked; /* NULL: nothing to do */
	} cases[] = {
		{"A: 1\nModifyDeviceFiles: 1\nB: 0\n", "A: 1\nModifyDeviceFiles: 0\nB: 0\n"},
		{"A: 1\r\nModifyDeviceFiles: 1\r\n", "A: 1\nModifyDeviceFiles: 0\n"},
		{"ModifyDeviceFiles: 1", "ModifyDeviceFiles: 0\n"},
		{"\nModifyDeviceFiles: 1\n\n", "\nModifyDeviceFiles: 0\n\n"},
		{"ModifyDeviceFiles: 1\nModifyDeviceFiles: 1\n",
		 "ModifyDeviceFiles: 0\nModifyDeviceFiles: 0\n"},
		{"ModifyDeviceFiles: 1\nModifyDeviceFiles: 0\n", NULL},
		{"ModifyDeviceFiles: 0\n", NULL},
		{"ModifyDeviceFiles: 2\n", NULL},
		{"ModifyDeviceFiles:1\n", NULL},
		{"ModifyDeviceFiles: 1 \n", NULL},
		{" ModifyDeviceFiles: 1\n", NULL},
		{"A: 1\n", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *masked = NULL;
		struct error err = {0};
		struct arena arena;

		arena_init(&arena, 1 << 16);
		assert_int_equal(driver_params_mask(&arena, cases[i].text, strlen(cases[i].text),
						    &masked, &err),
				 cases[i].masked ? 1 : 0);
		if (cases[i].masked)
			assert_string_equal(masked, cases[i].masked);
		arena_done(&arena);
	}
}

static void test_memory(void **state)
{
	const char *masked;
	struct error err = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, 8);
	assert_int_equal(driver_params_mask(&arena, "ModifyDeviceFiles: 1\n", 21, &masked, &err),
			 -ENOMEM);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
