/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "spec-text.h"

static struct spec_text text_of(const char *data, size_t size)
{
	struct spec_text text;

	spec_text_init(&text, data, size);
	return text;
}

#define TEXT(literal) text_of(literal, sizeof(literal) - 1)

static void test_places(void **state)
{
	const struct spec_text text = TEXT("\xef\xbb\xbf"
					   "a\xc3\xa9"
					   "b\r\nc\rd\ne\xc2\x85"
					   "f\xe2\x80\xa8g");
	unsigned line, column;

	(void)state;
	/* What stands where; the two ways agree. */
	static const struct {
		size_t offset;
		unsigned line, column;
		int found;
	} places[] = {
		{3, 1, 1, 'a'},  {4, 1, 2, 0},    {6, 1, 3, 'b'},  {9, 2, 1, 'c'},
		{11, 3, 1, 'd'}, {13, 4, 1, 'e'}, {16, 5, 1, 'f'}, {20, 6, 1, 'g'},
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		spec_text_place(&text, places[i].offset, &line, &column);
		assert_int_equal(line, places[i].line);
		assert_int_equal(column, places[i].column);
		assert_int_equal(spec_text_at(&text, line, column), places[i].found);
	}
	assert_int_equal(spec_text_at(&text, 1, 9), 0);
	assert_int_equal(spec_text_at(&text, 6, 2), 0);
	assert_int_equal(spec_text_at(&text, 9, 1), 0);
}

static void test_places_in_utf_16(void **state)
{
	const struct spec_text text = TEXT("\xff\xfe"
					   "a\0\n\0\xe9\0b\0");

	(void)state;
	assert_int_equal(spec_text_at(&text, 1, 1), 'a');
	assert_int_equal(spec_text_at(&text, 2, 1), 0);
	assert_int_equal(spec_text_at(&text, 2, 2), 'b');
}

static bool may_hold(const char *data, size_t size, const char *word)
{
	const struct spec_text text = text_of(data, size);

	return spec_text_may_hold(&text, word);
}

static void test_may_hold(void **state)
{
	(void)state;
	assert_true(may_hold("kind: v.com/c", 13, "v.com/c"));
	assert_false(may_hold("kind: v.com/c", 12, "v.com/c"));
	assert_false(may_hold("", 0, "v"));
	/* Characters may be written otherwise. */
	assert_true(may_hold("\"v\\x2ecom\"", 10, "v.com/c"));
	assert_true(may_hold("!!binary di5j", 13, "v.com/c"));
	assert_true(may_hold("\xff\xfev\0", 4, "w"));
	assert_true(may_hold("\xfe\xff\0v", 4, "w"));
	/* A byte order mark that leaves them as they are. */
	assert_false(may_hold("\xef\xbb\xbfv", 4, "w"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_places_in_utf_16),
		cmocka_unit_test(test_may_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
