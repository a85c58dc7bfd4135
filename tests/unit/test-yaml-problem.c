/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "notes.h"
#include "spec-reader.h"
#include "yaml-problem.h"

/* What the reader says of a text, by way of libyaml. */
static void assert_said(const char *text, const char *sentence)
{
	const struct value *root;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	const struct cdi_report report = {.file = "x", .err = &err};
	assert_int_equal(spec_read(&arena, &report, text, strlen(text), &root), -EINVAL);
	assert_error(&err, EXIT_CODE_SPEC, sentence);
	arena_done(&arena);
}

#define TAB "a tab, where YAML takes only blanks to indent"
#define CHECK "look for wrong indentation, or for a quote or bracket too many or too few above"

static void test_tabs(void **state)
{
	(void)state;
	assert_said("a:\n\tb: 1\n", "x:2:1: a: " TAB);
	assert_said("a: |\n\tb\n", "x:2:1: a: " TAB);
	assert_said("a: b\n\tc\n", "x:2:1: a: " TAB);
	assert_said("a:\n  - b\n\t- c\n", "x:3:1: a[0]: " TAB);
}

static void test_values(void **state)
{
	(void)state;
	assert_said("a: @b\n", "x:1:4: a: no value can begin with @ unless it is in quotes");
	assert_said("a: `b`\n", "x:1:4: a: no value can begin with ` unless it is in quotes");
	assert_said("a: %b\n", "x:1:4: a: no value can begin with % unless it is in quotes");
	assert_said("a: [\xc3\xa9, @b]\n",
		    "x:1:8: a[1]: no value can begin with @ unless it is in quotes");
	assert_said("a: b: c\n", "x:1:5: a \": \" cannot stand here: the line is indented too far, "
				 "or the value needs quotes");
	assert_said("a: - b\n",
		    "x:1:4: a: a \"- \" cannot stand here: an item of a list begins on a "
		    "line of its own");
	assert_said("[a, , b]\n", "x:1:5: [1]: a value is missing here");
	assert_said("{a: 1, b: ]}\n", "x:1:11: b: a value is missing here");
}

static void test_what_is_not_closed(void **state)
{
	(void)state;
	assert_said("a:\n  [b\nc: d\n",
		    "x:3:2: a[1]: a comma or ] is missing in the list that begins on line 2");
	assert_said("{\n\"a\": 1\n\"b\": 2\n}\n",
		    "x:3:4: a comma or } is missing in the map that begins on line 1");
	assert_said("a: 'b\nc: d\n",
		    "x:3:1: a: the file ends inside the quotes that open on line 1");
	assert_said("a: 'b\n---\nc: d\n",
		    "x:2:1: a: the document ends inside the quotes that open on line 1");
	assert_said("a: 1\nb\nc: 1\n", "x:3:1: a \":\" is missing behind the key on line 2");
}

static void test_what_does_not_fit(void **state)
{
	(void)state;
	assert_said("a:\n  b: 1\n c: 2\n",
		    "x:3:2: this does not fit the map that begins on line 1: " CHECK);
	assert_said("a:\n- b\n- c\n d: e\n",
		    "x:4:3: a[2]: a \": \" cannot stand here: the line is indented too far, or the "
		    "value needs quotes");
	assert_said("- a\n- b\nc: d\n",
		    "x:3:1: [2]: this does not fit the list that begins on line 1: " CHECK);
}

static void test_characters(void **state)
{
	(void)state;
	assert_said("a: \xff\n", "x:1:4: the file is not UTF-8 here");
	assert_said("a: \xc3(\n", "x:1:5: the file is not UTF-8 here");
	assert_said("a: \x01\n", "x:1:4: a control character");
	assert_said("a: \"\\w\"\n",
		    "x:1:5: a: there is no such escape: between double quotes a backslash is "
		    "written \\\\");
	assert_said("a: \"\\ud800\"\n", "x:1:7: a: this escape stands for no character");
	assert_said("%YAML 1.1\na: 1\n",
		    "x:2:1: a line --- is missing behind those that begin with %");
}

static void assert_text(const struct yaml_problem *problem, const char *text)
{
	char buffer[YAML_PROBLEM_MAX];

	assert_string_equal(yaml_problem_text(buffer, problem), text);
}

/* Whatever has no sentence of its own passes as it is. */
static void test_others(void **state)
{
	const struct yaml_problem start = {.problem = "found character that cannot start any token",
					   .found = 0x1b};

	(void)state;
	assert_text(&(struct yaml_problem){.line = 1}, "not readable as YAML");
	assert_text(&(struct yaml_problem){.problem = "p", .line = 2, .context_line = 2}, "p");
	assert_text(&(struct yaml_problem){"p", "while x", 2, 2, 0}, "p while x");
	assert_text(&(struct yaml_problem){"p", "while x", 2, 1, 0},
		    "p while x that begins on line 1");
	assert_text(&(struct yaml_problem){"found unexpected end of stream", "while x", 2, 2, 0},
		    "found unexpected end of stream while x");
	assert_text(&start, "no value can begin like this unless it is in quotes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tabs),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_what_is_not_closed),
		cmocka_unit_test(test_what_does_not_fit),
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
