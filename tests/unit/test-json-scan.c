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

static void assert_json(const char *text)
{
	struct error err = {0};

	if (json_check("t", text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_no_json_bytes(const char *text, size_t size, const char *sentence)
{
	/* A copy of just that size, so that reading behind it is seen. */
	char *copy = malloc(size ? size : 1);
	struct error err = {0};

	memcpy(copy, text, size);
	assert_true(json_check("t", copy, size, &err) < 0);
	free(copy);
	assert_error(&err, EXIT_CODE_DONE, sentence);
}

static void assert_no_json(const char *text, const char *sentence)
{
	assert_no_json_bytes(text, strlen(text), sentence);
}

/* A new string: `n` times `piece`, with `tail` behind. */
static char *repeat(const char *piece, size_t n, const char *tail)
{
	size_t len = strlen(piece);
	char *text = malloc(n * len + strlen(tail) + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(text + i * len, piece, len);
	memcpy(text + n * len, tail, strlen(tail) + 1);
	return text;
}

static void test_good(void **state)
{
	(void)state;
	assert_json("0");
	assert_json(" \t\r\n-0.0e+10 ");
	assert_json("[1,-1,0.5,1E5,1e-5,123456789012345678901234567890]");
	assert_json("[true,false,null,\"\",[],{}]");
	assert_json("{\"\":{\"a\":[{\"b\":1}]}}");
	assert_json("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uABCD\\ud83d\\uDE00\\uffff\x7f\"");
	assert_json("\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80"
		    "\x80\xf4\x8f\xbf\xbf\"");
}

static void test_structure(void **state)
{
	(void)state;
	assert_no_json("", "t:1:1: expected a value, found the end");
	assert_no_json(" \n ", "t:2:2: expected a value, found the end");
	assert_no_json("[", "t:1:2: expected a value, found the end");
	assert_no_json("]", "t:1:1: expected a value, found ']'");
	assert_no_json("[1", "t:1:3: expected ',' or ']', found the end");
	assert_no_json("[1 2]", "t:1:4: expected ',' or ']', found '2'");
	assert_no_json("[1,]", "t:1:4: expected a value, found ']'");
	assert_no_json("[,1]", "t:1:2: expected a value, found ','");
	assert_no_json("[1}", "t:1:3: expected ',' or ']', found '}'");
	assert_no_json("{", "t:1:2: expected a key in double quotes or '}', found the end");
	assert_no_json("{1:2}", "t:1:2: expected a key in double quotes or '}', found '1'");
	assert_no_json("{\"a\"}", "t:1:5: expected ':', found '}'");
	assert_no_json("{\"a\" 1}", "t:1:6: expected ':', found '1'");
	assert_no_json("{\"a\":}", "t:1:6: expected a value, found '}'");
	assert_no_json("{\"a\":1,}", "t:1:8: expected a key in double quotes, found '}'");
	assert_no_json("{\"a\":1]", "t:1:7: expected ',' or '}', found ']'");
	assert_no_json("{\"a\":1,,\"b\":2}", "t:1:8: expected a key in double quotes, found ','");
	assert_no_json("{}\n\n{}", "t:3:1: expected the end, found '{'");
	assert_no_json("{} // why", "t:1:4: expected the end, found '/'");
	assert_no_json("/* why */ {}", "t:1:1: expected a value, found '/'");
	assert_no_json("\xef\xbb\xbf{}", "t:1:1: expected a value, found '\\xef'");
	assert_no_json_bytes("[\0]", 3, "t:1:2: expected a value, found a NUL byte");
	assert_no_json_bytes("{}\0", 3, "t:1:3: expected the end, found a NUL byte");
}

static void test_columns_are_characters(void **state)
{
	(void)state;
	assert_no_json("{\n\t\"\xc3\xa4\xe2\x82\xac\": x}", "t:2:8: expected a value, found 'x'");
}

static void test_words(void **state)
{
	(void)state;
	assert_no_json("tru", "t:1:1: expected a value, found 't'");
	assert_no_json("True", "t:1:1: expected a value, found 'T'");
	assert_no_json("nul", "t:1:1: expected a value, found 'n'");
	assert_no_json("nulll", "t:1:5: expected the end, found 'l'");
	assert_no_json("[NaN]", "t:1:2: expected a value, found 'N'");
	assert_no_json("[Infinity]", "t:1:2: expected a value, found 'I'");
	assert_no_json("[-Infinity]", "t:1:3: expected a digit, found 'I'");
	assert_no_json("['a']", "t:1:2: expected a value, found '''");
}

static void test_numbers(void **state)
{
	char *digits = repeat("1", LIMIT_JSON_NUMBER, "");
	char *more = repeat("1", LIMIT_JSON_NUMBER + 1, "");

	(void)state;
	assert_no_json("-", "t:1:2: expected a digit, found the end");
	assert_no_json("+1", "t:1:1: expected a value, found '+'");
	assert_no_json(".5", "t:1:1: expected a value, found '.'");
	assert_no_json("01", "t:1:1: a number that begins with 0");
	assert_no_json("-00", "t:1:1: a number that begins with 0");
	assert_no_json("1.", "t:1:3: expected a digit, found the end");
	assert_no_json("1.e5", "t:1:3: expected a digit, found 'e'");
	assert_no_json("1e", "t:1:3: expected a digit, found the end");
	assert_no_json("1e+", "t:1:4: expected a digit, found the end");
	assert_no_json("0x10", "t:1:2: expected the end, found 'x'");
	assert_no_json("1_000", "t:1:2: expected the end, found '_'");
	assert_json(digits);
	assert_no_json(more, "t:1:1: a number of more than 1000 digits");
	free(digits);
	free(more);
}

static void test_strings(void **state)
{
	(void)state;
	assert_no_json("\"a", "t:1:1: a string without its end");
	assert_no_json("\"a\\\"", "t:1:1: a string without its end");
	assert_no_json("\"a\nb\"", "t:1:3: raw control character in a string");
	assert_no_json("\"\x1f\"", "t:1:2: raw control character in a string");
	assert_no_json_bytes("\"\0\"", 3, "t:1:2: raw control character in a string");
	assert_no_json("\"\\x41\"", "t:1:2: unknown escape in a string");
	assert_no_json("\"\\'\"", "t:1:2: unknown escape in a string");
	assert_no_json("\"\\", "t:1:2: unknown escape in a string");
	assert_no_json_bytes("\"\\\0\"", 4, "t:1:2: unknown escape in a string");
	assert_no_json("\"\\u00g0\"", "t:1:2: \\u takes four hexadecimal digits");
	assert_no_json("\"\\u123", "t:1:2: \\u takes four hexadecimal digits");
	assert_no_json_bytes("\"\\u00\0\0\"", 8, "t:1:2: \\u takes four hexadecimal digits");
	assert_no_json("\"\\u0000\"", "t:1:2: \\u0000 in a string");
	assert_no_json("{\"a\\u0000b\":1}", "t:1:4: \\u0000 in a string");
}

static void test_surrogates(void **state)
{
	(void)state;
	assert_no_json("\"\\ud800\"", "t:1:2: half of a surrogate pair in a string");
	assert_no_json("\"\\udc00\"", "t:1:2: half of a surrogate pair in a string");
	assert_no_json("\"\\ud800\\u0041\"", "t:1:2: half of a surrogate pair in a string");
	assert_no_json("\"\\ud800\\ud800\"", "t:1:2: half of a surrogate pair in a string");
	assert_no_json("\"\\udc00\\ud800\"", "t:1:2: half of a surrogate pair in a string");
	assert_no_json("\"\\ud800\\udc0", "t:1:2: half of a surrogate pair in a string");
}

static void test_utf8(void **state)
{
	static const char *const bad[] = {
		"\"\x80\"", /* begins in the middle */
		"\"\xc3\"", /* ends in the middle */
		"\"\xe2\x82\"",
		"\"\xf0\x9f\x98\"",
		"\"\xc0\x80\"", /* overlong */
		"\"\xc1\xbf\"",
		"\"\xe0\x9f\xbf\"",
		"\"\xf0\x8f\xbf\xbf\"",
		"\"\xed\xa0\x80\"", /* surrogate */
		"\"\xed\xbf\xbf\"",
		"\"\xf4\x90\x80\x80\"", /* beyond U+10FFFF */
		"\"\xf5\x80\x80\x80\"",
		"\"\xff\"",
		"\"\xe2\x28\xa1\"",
		"\"\xe2\x82\x28\"",
		"\"\xc3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_no_json(bad[i], "t:1:2: invalid UTF-8 in a string");
}

static void test_depth(void **state)
{
	char *open = repeat("[", LIMIT_DEPTH, ""), *good = repeat("]", LIMIT_DEPTH, "");
	char *hostile = repeat("[", 4 * 1024 * 1024, ""), *objects = repeat("{\"a\":", 100000, "");
	struct json_object *value = NULL;
	struct error err = {0};
	char text[2 * LIMIT_DEPTH + 2];

	snprintf(text, sizeof(text), "%s%s", open, good);
	assert_json(text);
	assert_int_equal(json_parse(*state, "t", text, strlen(text), &value, &err), 0);
	json_put(&value);
	/* A scalar in the innermost one is what json-c counts as a level more. */
	snprintf(text, sizeof(text), "%s5%s", open, good);
	assert_int_equal(json_parse(*state, "t", text, strlen(text), &value, &err), 0);
	json_put(&value);

	assert_no_json(hostile, "t:1:65: nested deeper than 64");
	assert_no_json(objects, "t:1:321: nested deeper than 64");
	free(open);
	free(good);
	free(hostile);
	free(objects);
}

/* An array that makes `n` values, itself included. */
static char *array_of(size_t n)
{
	char *text = repeat("1,", n, "]");

	memcpy(text, " [", 2);
	text[2 * n - 1] = ' ';
	return text;
}

static void test_values(void **state)
{
	char *good = array_of(LIMIT_VALUES), *bad = array_of(LIMIT_VALUES + 1);
	struct json_object *value = NULL;
	struct error err = {0};

	assert_int_equal(json_parse(*state, "t", good, strlen(good), &value, &err), 0);
	json_put(&value);
	assert_no_json(bad, "t:1:1000001: more than 500000 values");
	free(good);
	free(bad);
}

static void test_long_strings(void **state)
{
	char *good = repeat("x", LIMIT_JSON_STRING + 1, "\""),
	     *bad = repeat("x", 1024 * 1024 + 1, "\"");
	struct json_object *value = NULL;
	struct error err = {0};

	good[0] = '"';
	bad[0] = '"';
	assert_int_equal(json_parse(*state, "t", good, strlen(good), &value, &err), 0);
	assert_int_equal(json_object_get_string_len(value), LIMIT_JSON_STRING);
	json_put(&value);
	assert_no_json(bad, "t:1:1: a string of more than 1000000 bytes");
	free(good);
	free(bad);
}

static void test_tokens(void **state)
{
	static const char text[] = "{ \"a\\n\" : [1, \"x\\u00e4\"], \"b\":null }";
	static const struct {
		int token;
		const char *bytes;
		unsigned depth;
	} expected[] = {
		{JSON_TOKEN_OBJECT, "{", 1},
		{JSON_TOKEN_KEY, "\"a\\n\"", 1},
		{JSON_TOKEN_ARRAY, "[", 2},
		{JSON_TOKEN_NUMBER, "1", 2},
		{JSON_TOKEN_STRING, "\"x\\u00e4\"", 2},
		{JSON_TOKEN_ARRAY_END, "]", 1},
		{JSON_TOKEN_KEY, "\"b\"", 1},
		{JSON_TOKEN_NULL, "null", 1},
		{JSON_TOKEN_OBJECT_END, "}", 0},
		{JSON_TOKEN_END, "", 0},
		{JSON_TOKEN_END, "", 0},
	};
	struct json_scan scan;
	struct error err = {0};

	json_scan_init(&scan, "t", text, strlen(text));
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(json_scan_next(&scan, &err), expected[i].token);
		assert_int_equal(scan.end - scan.start, strlen(expected[i].bytes));
		assert_memory_equal(text + scan.start, expected[i].bytes,
				    strlen(expected[i].bytes));
		assert_int_equal(scan.depth, expected[i].depth);
		if (i == 1)
			assert_string_equal(json_scan_text(*state, &scan), "a\n");
		if (i == 4)
			assert_string_equal(json_scan_text(*state, &scan), "x\xc3\xa4");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_columns_are_characters),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_surrogates),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_strings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tokens, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
