/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "spec-scalar.h"

#define CORE "tag:yaml.org,2002:"

static struct value scalar(const char *text, bool plain, const char *tag)
{
	return (struct value){.kind = VALUE_SCALAR,
			      .plain = plain,
			      .tag = tag,
			      .text = text,
			      .len = strlen(text)};
}

static void assert_number(const char *text, enum spec_number verdict, int64_t number)
{
	struct value value = scalar(text, true, NULL);
	int64_t got = 4711;

	enum spec_number r = spec_scalar_number(&value, &got);
	if (r != verdict || got != number)
		print_error("number: %s\n", text);
	assert_int_equal(r, verdict);
	assert_int_equal(got, number);
}

static void assert_no_number(const char *text, enum spec_number verdict)
{
	assert_number(text, verdict, 4711); /* left alone */
}

static void test_numbers(void **state)
{
	(void)state;
	assert_number("0", SPEC_NUMBER_OK, 0);
	assert_number("438", SPEC_NUMBER_OK, 438);
	assert_number("+5", SPEC_NUMBER_OK, 5);
	assert_number("-5", SPEC_NUMBER_OK, -5);
	assert_number("-0", SPEC_NUMBER_OK, 0);
	assert_number("0666", SPEC_NUMBER_OK, 438);
	assert_number("00", SPEC_NUMBER_OK, 0);
	assert_number("-010", SPEC_NUMBER_OK, -8);
	assert_number("0o666", SPEC_NUMBER_OK, 438);
	assert_number("0O17", SPEC_NUMBER_OK, 15);
	assert_number("0x1b6", SPEC_NUMBER_OK, 438);
	assert_number("0XfF", SPEC_NUMBER_OK, 255);
	assert_number("-0x10", SPEC_NUMBER_OK, -16);
	assert_number("0b11", SPEC_NUMBER_OK, 3);
	assert_number("1_000", SPEC_NUMBER_OK, 1000);
	assert_number("0x_1_", SPEC_NUMBER_OK, 1);
	assert_number("0688", SPEC_NUMBER_OK_NOT_OCTAL, 688);
	assert_number("08", SPEC_NUMBER_OK_NOT_OCTAL, 8);
}

static void test_floats(void **state)
{
	(void)state;
	assert_number("438.0", SPEC_NUMBER_OK, 438);
	assert_number("1.", SPEC_NUMBER_OK, 1);
	assert_number("1e2", SPEC_NUMBER_OK, 100);
	assert_number("-1E+2", SPEC_NUMBER_OK, -100);
	assert_number("12500e-2", SPEC_NUMBER_OK, 125);
	assert_number(".5e1", SPEC_NUMBER_OK, 5);
	assert_number("010.0", SPEC_NUMBER_OK, 10);
	assert_number("0e-999", SPEC_NUMBER_OK, 0);
	assert_no_number("1.5", SPEC_NUMBER_FRACTION);
	assert_no_number("-0.5", SPEC_NUMBER_FRACTION);
	assert_no_number(".5", SPEC_NUMBER_FRACTION);
	assert_no_number("1e-300", SPEC_NUMBER_FRACTION);
	assert_no_number("1e-999", SPEC_NUMBER_FRACTION);
	assert_no_number("1e999", SPEC_NUMBER_RANGE);
	assert_no_number("9.3e18", SPEC_NUMBER_RANGE);
}

static void test_ranges(void **state)
{
	(void)state;
	assert_number("9223372036854775807", SPEC_NUMBER_OK, INT64_MAX);
	assert_number("-9223372036854775808", SPEC_NUMBER_OK, INT64_MIN);
	assert_number("0x7fffffffffffffff", SPEC_NUMBER_OK, INT64_MAX);
	assert_no_number("9223372036854775808", SPEC_NUMBER_RANGE);
	assert_no_number("-9223372036854775809", SPEC_NUMBER_RANGE);
	assert_no_number("99999999999999999999999", SPEC_NUMBER_RANGE);
	assert_no_number("0xffffffffffffffff", SPEC_NUMBER_RANGE);
}

static void test_no_numbers(void **state)
{
	static const char *const words[] = {
		"",
		"-",
		"+",
		".",
		"e5",
		"1e",
		"1e+",
		"0x",
		"0xg",
		"0b2",
		"0o8",
		"1:30",
		".nan",
		".inf",
		"-.inf",
		"_1",
		"1 2",
		"1,2",
		"--1",
		"0x1p3",
		"infinity",
		"1d",
		"2020-01-01",
		"true",
		"0x-5",
		"1.2.3",
		"1000000000000000000000000000000000000000000000000000000000000000000000",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_no_number(words[i], SPEC_NUMBER_NONE);
}

static void test_quotes_and_tags(void **state)
{
	struct value quoted = scalar("5", false, NULL);
	struct value word = scalar("five", false, NULL);
	struct value text = scalar("5", true, CORE "str");
	struct value unknown = scalar("5", true, "!foo");
	struct value tagged = scalar("5", false, CORE "int");
	int64_t number = 0;

	(void)state;
	assert_int_equal(spec_scalar_number(&quoted, &number), SPEC_NUMBER_QUOTED);
	assert_int_equal(spec_scalar_number(&word, &number), SPEC_NUMBER_NONE);
	assert_int_equal(spec_scalar_number(&text, &number), SPEC_NUMBER_QUOTED);
	assert_int_equal(spec_scalar_number(&unknown, &number), SPEC_NUMBER_QUOTED);
	assert_int_equal(number, 0);
	assert_int_equal(spec_scalar_number(&tagged, &number), SPEC_NUMBER_OK);
	assert_int_equal(number, 5);
}

/* Yes, no, or neither. */
static char bool_of(const char *text, bool plain)
{
	struct value value = scalar(text, plain, NULL);
	bool truth;

	return spec_scalar_bool(&value, &truth) ? (truth ? 'y' : 'n') : '-';
}

static void test_bools(void **state)
{
	static const char *const yes[] = {"y",    "Y",   "yes", "on", "true", "True",
					  "TRUE", "Yes", "YES", "On", "ON"};
	static const char *const no[] = {"n",     "N",  "no", "off", "false", "False",
					 "FALSE", "No", "NO", "Off", "OFF"};
	static const char *const neither[] = {"", "0", "1", "t", "tRue", "oN", "~", " yes"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_int_equal(bool_of(yes[i], true), 'y');
		assert_int_equal(bool_of(no[i], true), 'n');
		assert_int_equal(bool_of(yes[i], false), i < 4 ? 'y' : '-');
		assert_int_equal(bool_of(no[i], false), i < 4 ? 'n' : '-');
	}
	for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++)
		assert_int_equal(bool_of(neither[i], true), '-');
}

static bool null_of(const char *text, bool plain, const char *tag)
{
	struct value value = scalar(text, plain, tag);

	return spec_scalar_is_null(&value);
}

static void test_null(void **state)
{
	struct value list = {.kind = VALUE_LIST};

	(void)state;
	assert_true(null_of("", true, NULL));
	assert_true(null_of("~", true, NULL));
	assert_true(null_of("null", true, NULL));
	assert_true(null_of("Null", true, NULL));
	assert_true(null_of("NULL", true, NULL));
	assert_true(null_of("", true, CORE "null"));
	assert_true(null_of("~", false, CORE "null"));
	assert_false(null_of("x", true, CORE "null"));
	assert_false(null_of("nULL", true, NULL));
	assert_false(null_of("", false, NULL));
	assert_false(null_of("null", false, NULL));
	assert_false(null_of("", true, CORE "str"));
	assert_false(null_of("~", true, "!foo"));
	assert_false(spec_scalar_is_null(&list));
}

static bool ambiguous(const char *text, bool plain)
{
	struct value value = scalar(text, plain, NULL);

	return spec_scalar_is_ambiguous(&value);
}

static void test_ambiguous(void **state)
{
	static const char *const yes[] = {"yes",  "n",    "on",    "True", "010",
					  "0o10", "0x10", "1_000", "1e3",  "1.0",
					  "1.",   "+1",   "1.50",  "00",   "08"};
	static const char *const no[] = {"0",   "12",   "1.5", "true",        "false",
					 "all", "gpu0", "1:2", "0000:3b:00.0"};
	struct value list = {.kind = VALUE_LIST};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_true(ambiguous(yes[i], true));
		assert_false(ambiguous(yes[i], false));
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(ambiguous(no[i], true));
	assert_false(spec_scalar_is_ambiguous(&list));
}

static void assert_base64(const char *text, const char *decoded)
{
	char out[64];
	long n = spec_scalar_base64(text, strlen(text), out);

	assert_int_equal(n, decoded ? (long)strlen(decoded) : -1);
	if (decoded)
		assert_memory_equal(out, decoded, strlen(decoded));
}

static void test_base64(void **state)
{
	(void)state;
	assert_base64("", "");
	assert_base64("Zg==", "f");
	assert_base64("Zm8=", "fo");
	assert_base64("Zm9v", "foo");
	assert_base64("Zm9vYg==", "foob");
	assert_base64(" Zm 9v\r\nYmE=\n", "fooba");
	assert_base64("/+8=", "\xff\xef");
	assert_base64("Zg", NULL);
	assert_base64("Zg=", NULL);
	assert_base64("Zg===", NULL);
	assert_base64("Z===", NULL);
	assert_base64("=Zg=", NULL);
	assert_base64("Zg==Zg==", NULL);
	assert_base64("Z*==", NULL);
	assert_base64("\xc3\xa9==", NULL);
}

static void assert_fits(const char *tag, const char *text, bool fits)
{
	struct value value = scalar(text, false, tag);

	if (spec_scalar_fits_tag(&value) != fits)
		print_error("%s %s\n", tag ? tag : "no tag", text);
	assert_int_equal(spec_scalar_fits_tag(&value), fits);
}

static void test_tags_that_fit(void **state)
{
	(void)state;
	assert_fits(NULL, "x", true);
	assert_fits("!int", "x", true);
	assert_fits(CORE "str", "x", true);
	assert_fits(CORE "binary", "x", true);
	assert_fits(CORE "int", "5", true);
	assert_fits(CORE "int", "-0x1e", true);
	assert_fits(CORE "int", "0o17", true);
	assert_fits(CORE "int", "18446744073709551615", true);
	assert_fits(CORE "float", "5", true);
	assert_fits(CORE "float", "1.5", true);
	assert_fits(CORE "float", "-.inf", true);
	assert_fits(CORE "bool", "true", true);
	assert_fits(CORE "bool", "yes", true);
	assert_fits(CORE "null", "~", true);
	assert_fits(CORE "null", "", true);
	assert_fits(CORE "timestamp", "2026-11-30", true);
}

static void test_tags_that_do_not_fit(void **state)
{
	(void)state;
	assert_fits(CORE "int", "A=1", false);
	assert_fits(CORE "int", "", false);
	assert_fits(CORE "int", "5.0", false);
	assert_fits(CORE "int", "5e2", false);
	assert_fits(CORE "int", "0688", false);
	assert_fits(CORE "float", "x", false);
	assert_fits(CORE "bool", "1", false);
	assert_fits(CORE "null", "x", false);
	assert_fits(CORE "timestamp", "now", false);
	assert_fits(CORE "timestamp", "2026", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags_that_fit),
		cmocka_unit_test(test_tags_that_do_not_fit),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_quotes_and_tags),
		cmocka_unit_test(test_bools),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
