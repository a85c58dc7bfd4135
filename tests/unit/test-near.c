/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "near.h"

static void test_distance(void **state)
{
	(void)state;
	assert_int_equal(near_distance("hostPath", "hostPath", 3), 0);
	assert_int_equal(near_distance("hostpath", "HostPath", 3), 0);
	assert_int_equal(near_distance("hostPth", "hostPath", 3), 1);
	assert_int_equal(near_distance("hostPaath", "hostPath", 3), 1);
	assert_int_equal(near_distance("hostPeth", "hostPath", 3), 1);
	assert_int_equal(near_distance("hostPaht", "hostPath", 3), 1);
	assert_int_equal(near_distance("ohstPaht", "hostPath", 3), 2);
	assert_int_equal(near_distance("", "abc", 3), 3);
	assert_int_equal(near_distance("", "", 3), 0);
}

static void test_distance_is_capped(void **state)
{
	(void)state;
	assert_int_equal(near_distance("abc", "xyz", 2), 3);
	assert_int_equal(near_distance("abc", "abcdefghijkl", 2), 3);
	assert_int_equal(near_distance("abc", "xyz", 0), 1);
	assert_int_equal(near_distance("abc", "abc", 0), 0);
}

static void test_words_of_any_length(void **state)
{
	char a[5000], b[5000];

	(void)state;
	memset(a, 'x', sizeof(a) - 1);
	a[sizeof(a) - 1] = '\0';
	memcpy(b, a, sizeof(a));
	assert_int_equal(near_distance(a, b, 3), 0);
	b[100] = 'y';
	assert_int_equal(near_distance(a, b, 3), 4);
	a[127] = b[127] = '\0';
	assert_int_equal(near_distance(a, b, 3), 1);
}

static void test_word(void **state)
{
	const char *const words[] = {"list", "show", "allow", "doctor", "validate"};

	(void)state;
	assert_string_equal(near_word("alow", words, 5), "allow");
	assert_string_equal(near_word("Validte", words, 5), "validate");
	assert_string_equal(near_word("lits", words, 5), "list");
	assert_null(near_word("inject", words, 5));
	assert_null(near_word("listing", words, 5));
	assert_null(near_word("x", words, 0));
}

static void test_the_first_of_equals_and_the_nearest_of_all(void **state)
{
	const char *const words[] = {"cat", "bat", "hat", "hats", "HATS"};

	(void)state;
	assert_string_equal(near_word("mat", words, 5), "cat");
	assert_string_equal(near_word("hatz", words, 5), "hat");
	assert_string_equal(near_word("hats", words, 5), "hats");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_distance_is_capped),
		cmocka_unit_test(test_words_of_any_length),
		cmocka_unit_test(test_word),
		cmocka_unit_test(test_the_first_of_equals_and_the_nearest_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
