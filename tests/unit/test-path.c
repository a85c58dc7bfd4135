/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <limits.h>
#include <string.h>

#include "path.h"

static void test_clean(void **state)
{
	static const char *const cases[][2] = {
		{"/", "/"},
		{"//", "/"},
		{"/.", "/"},
		{"/./.", "/"},
		{"/usr/lib", "/usr/lib"},
		{"//usr///lib//", "/usr/lib"},
		{"/usr/./lib/.", "/usr/lib"},
		{"/usr/.hidden/..data/...", "/usr/.hidden/..data/..."},
		{"/a..", "/a.."},
		{"/..a", "/..a"},
		{"/ a\n", "/ a\n"},
	};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *problem = "not set";
		assert_string_equal(path_clean(&arena, cases[i][0], &problem), cases[i][1]);
		assert_null(problem);
	}
	arena_done(&arena);
}

static void test_clean_in_root(void **state)
{
	static const char *const cases[][2] = {
		{"", "/"},
		{"/", "/"},
		{".", "/"},
		{"..", "/"},
		{"/../..", "/"},
		{"a", "/a"},
		{"./a//b/", "/a/b"},
		{"/a/../b", "/b"},
		{"/a/b/../../../c", "/c"},
		{"../../a", "/a"},
		{"/a/..b/...", "/a/..b/..."},
		{"/a/b/..", "/a"},
	};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(path_clean_in_root(&arena, cases[i][0]), cases[i][1]);
	arena_done(&arena);
	arena_init(&arena, 0);
	assert_null(path_clean_in_root(&arena, "a"));
	arena_done(&arena);
}

static void test_clean_refuses(void **state)
{
	static const char *const cases[][2] = {
		{"", "is empty"},
		{"usr", "is not absolute"},
		{"./usr", "is not absolute"},
		{"..", "is not absolute"},
		{"/..", "contains .."},
		{"/usr/../etc", "contains .."},
		{"/usr/..", "contains .."},
		{"/usr/..//", "contains .."},
	};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *problem = NULL;
		assert_null(path_clean(&arena, cases[i][0], &problem));
		assert_string_equal(problem, cases[i][1]);
	}
	assert_int_equal(arena.used, 0);
	arena_done(&arena);
}

static void test_clean_at_its_bounds(void **state)
{
	char path[PATH_MAX + 1];
	const char *problem;
	struct arena arena;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[PATH_MAX] = '\0';
	arena_init(&arena, 1 << 20);
	assert_null(path_clean(&arena, path, &problem));
	assert_string_equal(problem, "is too long");
	path[PATH_MAX - 1] = '\0';
	assert_string_equal(path_clean(&arena, path, &problem), path);
	arena_done(&arena);

	arena_init(&arena, 8);
	assert_null(path_clean(&arena, path, &problem));
	assert_null(problem);
	arena_done(&arena);
}

static void test_is_below(void **state)
{
	(void)state;
	assert_true(path_is_below("/usr/lib", "/usr/lib"));
	assert_true(path_is_below("/usr/lib/x", "/usr/lib"));
	assert_false(path_is_below("/usr/lib", "/usr/li"));
	assert_false(path_is_below("/usr", "/usr/lib"));
	assert_false(path_is_below("/", "/usr"));
	assert_true(path_is_below("/", "/"));
	assert_true(path_is_below("/usr", "/"));
}

static void test_depth(void **state)
{
	(void)state;
	assert_int_equal(path_depth("/"), 0);
	assert_int_equal(path_depth("/usr"), 1);
	assert_int_equal(path_depth("/usr/lib"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),         cmocka_unit_test(test_clean_refuses),
		cmocka_unit_test(test_clean_in_root), cmocka_unit_test(test_clean_at_its_bounds),
		cmocka_unit_test(test_is_below),      cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
