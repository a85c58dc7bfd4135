/* SPDX-License-Identifier: Apache-2.0 */
#include "resctrl.h"

#include "unit.h"

/* As the kernel shows a class. */
static const char actual[] = "    MB:0= 20;1=100\n    L3:0=00ff0;1=fffff\n";

static void test_allots(void **state)
{
	static const char *const wanted[] = {
		"",
		"\n",
		"L3:0=ff0",
		"L3:0=ff0;1=fffff",
		"L3:1=fffff;0=0ff0",
		"  L3 : 0 = ff0 ; ",
		"MB:0=20",
		"MB:1=100\nL3:0=ff0\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!resctrl_allots(actual, wanted[i]))
			fail_msg("\"%s\" is not allotted", wanted[i]);
}

static void test_differs(void **state)
{
	static const char *const wanted[] = {
		"L3:0=ff", "L3:2=ff0", "L2:0=ff0",         "L3:0",         "L3",
		"L3:0=",   "MB:0=200", "MB:1=0",           "L3:0=ff0;1=f", "x",
		"=",       ":",        "L3:0=ff0\nMB:0=1", "l3:0=ff0",     "L3:00=ff0\nL3CODE:0=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (resctrl_allots(actual, wanted[i]))
			fail_msg("\"%s\" is allotted", wanted[i]);
	assert_false(resctrl_allots("", "L3:0=1"));
	assert_false(resctrl_allots("L3:", "L3:0="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allots),
		cmocka_unit_test(test_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
