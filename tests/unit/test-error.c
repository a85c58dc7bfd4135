/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <string.h>

static void test_chain(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(error_set(&err, ENOENT, "mount %s", "/usr/lib/libfoo.so.1"), -ENOENT);
	assert_int_equal(error_prefix(&err, "device %s", "vendor.com/gpu=0"), -ENOENT);
	assert_int_equal(error_class(&err, EXIT_CODE_HOST), -ENOENT);
	assert_int_equal(error_class(&err, EXIT_CODE_APPLY), -ENOENT);
	assert_error(
		&err, EXIT_CODE_HOST,
		"device vendor.com/gpu=0: mount /usr/lib/libfoo.so.1: No such file or directory");
}

static void test_sentence_without_errno(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(error_say(&err, EXIT_CODE_USAGE, "unknown option %s", SHOW("--x\n")),
			 -EINVAL);
	assert_error(&err, EXIT_CODE_USAGE, "unknown option --x\\x0a");
}

static void test_join_takes_the_first_code_in_the_list(void **state)
{
	struct error err = {0}, more = {0};

	(void)state;
	error_set(&more, ENOENT, "open a");
	error_class(&more, EXIT_CODE_HOST);
	error_join(&err, &more);
	error_say(&more, EXIT_CODE_REQUEST, "device x: not found");
	error_join(&err, &more);
	assert_error(&err, EXIT_CODE_REQUEST,
		     "open a: No such file or directory; device x: not found");
}

static void test_prefixes_never_eat_the_cause(void **state)
{
	struct error err = {0};
	char text[ERROR_TEXT_MAX];

	(void)state;
	error_set(&err, EACCES, "open /etc/x");
	for (int i = 0; i < 1000; i++)
		error_prefix(&err, "level %d", i);
	error_text(&err, text);
	assert_non_null(strstr(text, "open /etc/x: Permission denied"));
	assert_true(strlen(text) < ERROR_TEXT_MAX);
}

static void test_show(void **state)
{
	char longer[5000];

	(void)state;
	assert_string_equal(SHOW("plain text"), "plain text");
	assert_string_equal(SHOW("a\\b\x7f\xc3"), "a\\x5cb\\x7f\\xc3");
	assert_string_equal(SHOW(NULL), "(none)");

	memset(longer, 'm', sizeof(longer));
	memcpy(longer, "/head", 5);
	memcpy(longer + sizeof(longer) - 6, "/tail", 6);
	const char *shown = SHOW(longer);
	assert_true(strlen(shown) < ERROR_SHOW_MAX);
	assert_memory_equal(shown, "/head", 5);
	assert_non_null(strstr(shown, "..."));
	assert_string_equal(shown + strlen(shown) - 5, "/tail");

	memset(longer, '\n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(strlen(SHOW(longer)) < ERROR_SHOW_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_sentence_without_errno),
		cmocka_unit_test(test_join_takes_the_first_code_in_the_list),
		cmocka_unit_test(test_prefixes_never_eat_the_cause),
		cmocka_unit_test(test_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
