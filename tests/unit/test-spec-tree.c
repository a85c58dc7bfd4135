/* SPDX-License-Identifier: Apache-2.0 */
/* How a tree is built, without any file: what it is built from is in test-spec-reader.c. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "spec-tree.h"

struct fixture {
	struct arena arena;
	struct error err;
	struct cdi_report report;
	struct spec_tree tree;
	unsigned line; /* each value has one of its own */
};

static struct fixture fixture;

static int setup(void **state)
{
	struct fixture *f = &fixture;

	*f = (struct fixture){0};
	arena_init(&f->arena, LIMIT_MEMORY);
	f->report = (struct cdi_report){.file = "x", .err = &f->err};
	spec_tree_init(&f->tree, &f->arena, &f->report);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	spec_tree_done(&f->tree);
	arena_done(&f->arena);
	return 0;
}

static struct spec_start next(struct fixture *f, const char *anchor)
{
	return (struct spec_start){.line = ++f->line, .column = 1, .anchor = anchor};
}

static int scalar(struct fixture *f, const char *text)
{
	struct spec_start start = next(f, NULL);

	return spec_tree_scalar(&f->tree, &start, text, strlen(text), true);
}

static int open_(struct fixture *f, enum value_kind kind, const char *anchor)
{
	struct spec_start start = next(f, anchor);

	return spec_tree_open(&f->tree, &start, kind);
}

static int close_(struct fixture *f)
{
	struct spec_start end = next(f, NULL);

	return spec_tree_close(&f->tree, &end);
}

static int alias(struct fixture *f, const char *anchor)
{
	struct spec_start start = next(f, anchor);

	return spec_tree_alias(&f->tree, &start);
}

static void test_values(void **state)
{
	struct fixture *f = *state;
	struct spec_start start = {.line = 7, .column = 8, .tag = "!t"};
	char text[] = "a=b";

	assert_int_equal(open_(f, VALUE_MAP, NULL), 0);
	assert_int_equal(scalar(f, "list"), 0);
	assert_int_equal(open_(f, VALUE_LIST, NULL), 0);
	assert_int_equal(spec_tree_scalar(&f->tree, &start, text, 3, false), 0);
	text[0] = '!'; /* it has a copy */
	assert_int_equal(close_(f), 0);
	assert_int_equal(close_(f), 0);

	const struct value *root = f->tree.root;
	assert_int_equal(root->kind, VALUE_MAP);
	assert_int_equal(root->line, 1);
	assert_int_equal(root->count, 4);
	assert_int_equal(root->height, 2);
	assert_int_equal(root->map.n, 1);
	assert_string_equal(root->map.items[0].key->text, "list");
	assert_true(root->map.items[0].key->plain);
	const struct value *list = root->map.items[0].value;
	assert_int_equal(list->kind, VALUE_LIST);
	assert_int_equal(list->list.n, 1);
	const struct value *item = list->list.items[0];
	assert_string_equal(item->text, "a=b");
	assert_false(item->plain);
	assert_string_equal(item->tag, "!t");
	assert_int_equal(item->line, 7);
	assert_int_equal(item->column, 8);
}

static void test_alias_is_the_value(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_(f, VALUE_LIST, NULL), 0);
	assert_int_equal(open_(f, VALUE_LIST, "a"), 0);
	assert_int_equal(alias(f, "a"), -EINVAL);
	assert_error(&f->err, EXIT_CODE_SPEC,
		     "x:3:1: [0][0]: alias *a stands inside the value that it names");
	assert_int_equal(scalar(f, "1"), 0);
	assert_int_equal(close_(f), 0);
	assert_int_equal(alias(f, "a"), 0);
	assert_int_equal(alias(f, "b"), -EINVAL);
	assert_error(&f->err, EXIT_CODE_SPEC, "x:7:1: [2]: alias *b has no anchor &b before it");
	assert_int_equal(close_(f), 0);
	assert_int_equal(f->tree.root->list.n, 2);
	assert_ptr_equal(f->tree.root->list.items[0], f->tree.root->list.items[1]);
	assert_int_equal(f->tree.root->count, 5);
}

static void test_path_of_a_failure(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(spec_tree_fail(&f->tree, 1, 2, "no %s", "luck"), -EINVAL);
	assert_error(&f->err, EXIT_CODE_SPEC, "x:1:2: no luck");
	assert_int_equal(open_(f, VALUE_MAP, NULL), 0);
	assert_int_equal(scalar(f, "a b"), 0);
	assert_int_equal(open_(f, VALUE_LIST, NULL), 0);
	assert_int_equal(scalar(f, "1"), 0);
	assert_int_equal(spec_tree_fail(&f->tree, 3, 4, "no luck"), -EINVAL);
	assert_error(&f->err, EXIT_CODE_SPEC, "x:3:4: [\"a b\"][1]: no luck");
}

/* Where all problems are wanted, what is left is as if the fault were not there. */
static void test_all_problems(void **state)
{
	struct fixture *f = *state;
	struct cdi_problem_list problems = {0};
	struct spec_start binary = {.line = 90, .column = 1, .tag = "tag:yaml.org,2002:binary"};

	f->report.problems = &problems;
	f->report.arena = &f->arena;
	assert_int_equal(open_(f, VALUE_MAP, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(scalar(f, "a"), 0);
		assert_int_equal(scalar(f, i ? "second" : "first"), 0);
	}
	assert_int_equal(scalar(f, "b"), 0);
	assert_int_equal(spec_tree_scalar(&f->tree, &binary, "x", 1, false), 0);
	assert_int_equal(scalar(f, "c"), 0);
	assert_int_equal(spec_tree_scalar(&f->tree, &binary, "eAB5", 4, false), 0); /* x\0y */
	assert_int_equal(close_(f), 0);

	assert_int_equal(f->tree.root->map.n, 3);
	assert_string_equal(f->tree.root->map.items[0].value->text, "first");
	assert_string_equal(f->tree.root->map.items[1].key->text, "b");
	assert_string_equal(f->tree.root->map.items[1].value->text, "");
	assert_string_equal(f->tree.root->map.items[2].value->text, "x");
	assert_int_equal(f->tree.root->map.items[2].value->len, 1);
	assert_int_equal(problems.n, 4);
	assert_string_equal(problems.items[0].text, "!!binary text is not base64");
	assert_string_equal(problems.items[0].path, "b");
	assert_string_equal(problems.items[1].text, "text with a NUL byte in it");
	for (int i = 2; i < 4; i++)
		assert_string_equal(problems.items[i].text,
				    "key \"a\" a second time: the first is on line 2");
	assert_int_equal(problems.items[2].line, 4);
	assert_int_equal(problems.items[3].line, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alias_is_the_value, setup, teardown),
		cmocka_unit_test_setup_teardown(test_path_of_a_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_problems, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
