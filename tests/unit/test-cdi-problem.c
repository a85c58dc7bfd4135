/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cdi-problem.h"

static struct arena arena;
static struct cdi_problem_list list;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	list = (struct cdi_problem_list){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static void add(enum cdi_severity severity, unsigned line, unsigned column, const char *text)
{
	const struct cdi_problem problem = {severity, line, column, "a.b", text};

	cdi_problem_add(&arena, &list, &problem);
}

static void assert_text(size_t i, const char *text)
{
	assert_true(i < list.n);
	assert_string_equal(cdi_problem_text(&arena, "/x", &list.items[i]), text);
}

static void test_sentences(void **state)
{
	const struct cdi_problem whole = {CDI_ERROR, 0, 0, "", "is a FIFO"};
	const struct cdi_problem outside = {CDI_ERROR, 1, 2, "", "is no map"};

	(void)state;
	add(CDI_ERROR, 3, 4, "is missing");
	assert_text(0, "/x:3:4: a.b: is missing");
	assert_string_equal(cdi_problem_text(&arena, "/x\n", &whole), "/x\\x0a: is a FIFO");
	assert_string_equal(cdi_problem_text(&arena, "/x", &outside), "/x:1:2: is no map");
}

static void test_order_of_the_file(void **state)
{
	(void)state;
	add(CDI_ERROR, 7, 1, "e");
	add(CDI_WARNING, 3, 9, "c");
	add(CDI_ERROR, 3, 4, "a");
	add(CDI_ERROR, 0, 0, "whole");
	add(CDI_ERROR, 3, 9, "d");
	add(CDI_ERROR, 3, 4, "b");
	cdi_problem_sort(&list);
	assert_int_equal(list.n, 6);
	assert_text(0, "/x: a.b: whole");
	assert_text(1, "/x:3:4: a.b: a");
	assert_text(2, "/x:3:4: a.b: b");
	assert_text(3, "/x:3:9: a.b: c");
	assert_text(4, "/x:3:9: a.b: d");
	assert_text(5, "/x:7:1: a.b: e");
}

static void test_said_once(void **state)
{
	(void)state;
	add(CDI_ERROR, 1, 2, "a");
	add(CDI_ERROR, 1, 2, "a");
	add(CDI_WARNING, 1, 2, "b");
	add(CDI_WARNING, 1, 2, "b");
	add(CDI_ERROR, 1, 3, "a");
	assert_int_equal(list.n, 3);
	assert_int_equal(list.n_errors, 2);
	assert_int_equal(list.dropped, 0);
}

/* However many there are, an error is never lost to warnings. */
static void test_bound(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIMIT_SPEC_PROBLEMS + 3; i++)
		add(CDI_WARNING, i + 1, 1, "w");
	assert_int_equal(list.n, LIMIT_SPEC_PROBLEMS);
	assert_int_equal(list.dropped, 3);
	assert_int_equal(list.n_errors, 0);

	for (unsigned i = 0; i < LIMIT_SPEC_PROBLEMS + 3; i++)
		add(CDI_ERROR, i + 1, 1, "e");
	assert_int_equal(list.n, LIMIT_SPEC_PROBLEMS);
	assert_int_equal(list.dropped, LIMIT_SPEC_PROBLEMS + 6);
	assert_int_equal(list.n_errors, LIMIT_SPEC_PROBLEMS + 3);
	cdi_problem_sort(&list);
	assert_text(0, "/x:1:1: a.b: e");
	assert_text(LIMIT_SPEC_PROBLEMS - 1, "/x:64:1: a.b: e");
}

static void test_no_memory(void **state)
{
	struct arena small;
	const struct cdi_problem problem = {CDI_ERROR, 1, 1, "", "text"};

	(void)state;
	arena_init(&small, 8);
	cdi_problem_add(&small, &list, &problem);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.dropped, 1);
	assert_int_equal(list.n_errors, 1);
	assert_null(cdi_problem_text(&small, "/x", &problem));
	arena_done(&small);
}

static void test_report(void **state)
{
	struct notes notes = {.arena = &arena};
	struct error err = {0};
	struct cdi_report report = {.file = "/x", .err = &err};

	(void)state;
	/* A warning that nobody wants. */
	cdi_report_warning(&report, 1, 2, "a", "w%d", 1);
	report.notes = &notes;
	cdi_report_warning(&report, 1, 2, "a", "w%d", 2);
	assert_int_equal(notes.list.n, 1);
	assert_string_equal(notes.list.items[0].text, "/x:1:2: a: w2");
	assert_int_equal(cdi_report_error(&report, 3, 4, "", "e%d", 1), -EINVAL);
	assert_error(&err, EXIT_CODE_SPEC, "/x:3:4: e1");

	report.notes = NULL;
	report.problems = &list;
	report.arena = &arena;
	cdi_report_warning(&report, 1, 2, "a", "w%d", 3);
	assert_int_equal(cdi_report_error(&report, 3, 4, "a", "e%d", 2), -EINVAL);
	assert_error(&err, EXIT_CODE_SPEC, "/x:3:4: a: e2");
	assert_int_equal(list.n, 2);
	assert_int_equal(list.items[0].severity, CDI_WARNING);
	assert_text(0, "/x:1:2: a: w3");
	assert_int_equal(list.items[1].severity, CDI_ERROR);
	assert_text(1, "/x:3:4: a: e2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sentences, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order_of_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_said_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_report, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
