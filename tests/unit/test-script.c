/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "unit.h"

#include "script.h"

static void assert_interpreter(const char *head, size_t size, const char *interpreter)
{
	const char *found = NULL;
	struct arena arena;

	arena_init(&arena, 4096);
	assert_int_equal(script_look(&arena, head, size, &found), SCRIPT_INTERPRETED);
	assert_string_equal(found, interpreter);
	arena_done(&arena);
}

#define HEAD(text) text, sizeof(text) - 1

static void test_interpreters(void **state)
{
	(void)state;
	assert_interpreter(HEAD("#!/bin/sh\necho"), "/bin/sh");
	assert_interpreter(HEAD("#! \t/usr/bin/env bash\n"), "/usr/bin/env");
	assert_interpreter(HEAD("#!/bin/sh"), "/bin/sh");
	assert_interpreter(HEAD("#!sh\n"), "sh");
	assert_interpreter(HEAD("#!\n/bin/sh"), "");
	assert_interpreter(HEAD("#!"), "");
	/* A carriage return belongs to the name, as it does for the kernel. */
	assert_interpreter(HEAD("#!/bin/sh\r\n"), "/bin/sh\r");
	assert_interpreter(HEAD("#!/bin/sh\0x\n"), "/bin/sh");
}

static void test_others(void **state)
{
	const char *found = "x";
	struct arena arena;

	(void)state;
	arena_init(&arena, 4096);
	assert_int_equal(script_look(&arena, HEAD("\177ELF\2\1"), &found), SCRIPT_ELF);
	assert_null(found);
	assert_int_equal(script_look(&arena, HEAD("\177EL"), &found), SCRIPT_OTHER);
	assert_int_equal(script_look(&arena, HEAD("echo"), &found), SCRIPT_OTHER);
	assert_int_equal(script_look(&arena, HEAD(" #!/bin/sh"), &found), SCRIPT_OTHER);
	assert_int_equal(script_look(&arena, HEAD("#"), &found), SCRIPT_OTHER);
	assert_int_equal(script_look(&arena, HEAD(""), &found), SCRIPT_OTHER);
	arena_done(&arena);
	arena_init(&arena, 0);
	assert_int_equal(script_look(&arena, HEAD("#!/bin/sh\n"), &found), SCRIPT_INTERPRETED);
	assert_null(found);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
