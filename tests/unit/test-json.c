/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static int setup(void **state)
{
	static struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_done(*state);
	return 0;
}

static void assert_duplicate(struct arena *arena, const char *text, const char *sentence)
{
	struct json_object *value = NULL;
	struct error err = {0};

	assert_true(json_parse(arena, "t", text, strlen(text), &value, &err) < 0);
	assert_null(value);
	assert_error(&err, EXIT_CODE_DONE, sentence);
}

static void test_duplicates(void **state)
{
	assert_duplicate(*state, "{\"a\":1,\"a\":1}",
			 "t:1:8: the member \"a\" stands twice in one object");
	assert_duplicate(*state, "{\"a\":1,\n \"\\u0061\":1}",
			 "t:2:2: the member \"a\" stands twice in one object");
	assert_duplicate(*state, "{\"\":1,\"\":1}",
			 "t:1:7: the member \"\" stands twice in one object");
	assert_duplicate(*state, "{\"a\":null,\"a\":null}",
			 "t:1:11: the member \"a\" stands twice in one object");
	assert_duplicate(*state, "[{\"x\":[{\"\\/\":{},\"b\":[],\"/\":{}}]}]",
			 "t:1:24: the member \"/\" stands twice in one object");
	/* The first in the text, even where a deeper or a lesser one comes later. */
	assert_duplicate(*state, "{\"z\":1,\"o\":{\"k\":1,\"k\":2},\"z\":2,\"a\":1,\"a\":1}",
			 "t:1:19: the member \"k\" stands twice in one object");
	assert_duplicate(*state, "{\"z\":1,\"z\":1,\"a\":1,\"a\":1}",
			 "t:1:8: the member \"z\" stands twice in one object");
}

static void test_equal_keys_of_different_objects(void **state)
{
	static const char text[] =
		"[{\"a\":{\"a\":{\"a\":1}},\"A\":2},{\"a\":1},{\"a\":[{\"a\":3}]}]";
	struct json_object *value = NULL;
	struct error err = {0};

	assert_int_equal(json_parse(*state, "t", text, strlen(text), &value, &err), 0);
	json_put(&value);
}

static struct json_object *parse(struct arena *arena, const char *text)
{
	struct json_object *value = NULL;
	struct error err = {0};

	if (json_parse(arena, "t", text, strlen(text), &value, &err) < 0)
		fail_msg("%s", err.text);
	return value;
}

static void test_text(void **state)
{
	/* With a character that json-c's own reader takes for half a pair. */
	_cleanup_json_ struct json_object *value = parse(
		*state, "[\"\\\"\\\\\\/"
			"\\b\\f\\n\\r\\t\",\"\\u00e4\\u20ac\\uD83D\\ude00\\ud836\\udc00x\",\"\"]");
	struct json_at root = json_root("t", value), at;
	struct error err = {0};
	const char *string;

	at = json_item(&root, 0);
	assert_int_equal(json_get_string(*state, &at, JSON_REQUIRED, &string, &err), 1);
	assert_string_equal(string, "\"\\/\b\f\n\r\t");
	at = json_item(&root, 1);
	assert_int_equal(json_get_string(*state, &at, JSON_REQUIRED, &string, &err), 1);
	assert_string_equal(string, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xf0\x9d\xa0\x80x");
	at = json_item(&root, 2);
	assert_int_equal(json_get_string(*state, &at, JSON_REQUIRED, &string, &err), 1);
	assert_string_equal(string, "");
}

static void test_no_memory(void **state)
{
	struct arena arena;

	(void)state;
	for (size_t limit = 0; limit < 48; limit += 16) {
		struct json_object *value = NULL;
		struct error err = {0};

		arena_init(&arena, limit);
		assert_true(json_parse(&arena, "t", "{\"a\":{\"b\":1}}", 15, &value, &err) < 0);
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		assert_null(value);
		arena_done(&arena);
	}
}

static void test_getters(void **state)
{
	_cleanup_json_ struct json_object *value = parse(
		*state, "{\"o\":{\"s\":\"\\u003c\"},\"a\":[1,null,true],\"n\":-7,\"null\":null}");
	struct json_at root = json_root("t", value), at, item;
	struct error err = {0};
	const char *string = "untouched";
	int64_t number = 0;
	size_t count = 0;
	bool flag = false;

	assert_int_equal(json_get_object(&root, JSON_REQUIRED, &err), 1);
	at = json_member(&root, "o");
	assert_int_equal(json_get_object(&at, JSON_REQUIRED, &err), 1);
	item = json_member(&at, "s");
	assert_int_equal(json_get_string(*state, &item, JSON_REQUIRED, &string, &err), 1);
	assert_string_equal(string, "<");
	item = json_member(&at, "absent");
	string = "untouched";
	assert_int_equal(json_get_string(*state, &item, JSON_OPTIONAL, &string, &err), 0);
	assert_string_equal(string, "untouched");

	at = json_member(&root, "a");
	assert_int_equal(json_get_array(&at, JSON_REQUIRED, &count, &err), 1);
	assert_int_equal(count, 3);
	item = json_item(&at, 2);
	assert_int_equal(json_get_bool(&item, JSON_REQUIRED, &flag, &err), 1);
	assert_true(flag);
	item = json_item(&at, 1);
	assert_int_equal(json_get_bool(&item, JSON_OPTIONAL, &flag, &err), 0);
	item = json_item(&at, 3);
	assert_int_equal(json_get_bool(&item, JSON_OPTIONAL, &flag, &err), 0);

	at = json_member(&root, "n");
	assert_int_equal(json_get_whole(&at, JSON_REQUIRED, -7, -7, &number, &err), 1);
	assert_int_equal(number, -7);
	at = json_member(&root, "null");
	assert_int_equal(json_get_whole(&at, JSON_OPTIONAL, 0, 1, &number, &err), 0);
}

static void test_getters_name_the_place(void **state)
{
	_cleanup_json_ struct json_object *value =
		parse(*state, "{\"a\":[[{\"b c\":{\"d\":[]}}]],\"\":{\"x\":1}}");
	struct json_at root = json_root("t", value), a = json_member(&root, "a"),
		       a0 = json_item(&a, 0), a00 = json_item(&a0, 0), b = json_member(&a00, "b c"),
		       d = json_member(&b, "d"), below = json_member(&d, "below"),
		       empty = json_member(&root, ""), x = json_member(&empty, "x");
	struct error err = {0};
	const char *string;
	bool flag;

	assert_true(json_get_object(&d, JSON_OPTIONAL, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "t: a[0][0][\"b c\"].d: expected an object");
	assert_true(json_get_object(&a0, JSON_OPTIONAL, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "t: a[0]: expected an object");
	assert_true(json_get_bool(&below, JSON_REQUIRED, &flag, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "t: a[0][0][\"b c\"].d.below: is missing");
	assert_true(json_get_string(*state, &x, JSON_REQUIRED, &string, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "t: [\"\"].x: expected a string");
	assert_true(json_get_string(*state, &root, JSON_REQUIRED, &string, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "t: expected a string");
}

static void test_whole_numbers(void **state)
{
	_cleanup_json_ struct json_object *value =
		parse(*state, "[9223372036854775807,9223372036854775808,18446744073709551615,"
			      "18446744073709551616,"
			      "-9223372036854775807,-9223372036854775809,1.0,1e0,-0]");
	struct json_at root = json_root("t", value);
	static const bool good[] = {true, false, false, false, true, false, false, false, true};
	struct error err = {0};
	int64_t number;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct json_at at = json_item(&root, i);

		assert_int_equal(json_get_whole(&at, JSON_REQUIRED, -INT64_MAX, INT64_MAX, &number,
						&err) > 0,
				 good[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_duplicates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_equal_keys_of_different_objects, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_getters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_getters_name_the_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whole_numbers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
