/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "musl-path.h"

#define DIRS(...)                                                                                  \
	&(const struct string_list)                                                                \
	{                                                                                          \
		.items = (const char *[]){__VA_ARGS__},                                            \
		.n = sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)                  \
	}

static void assert_merged(const char *old, const struct string_list *dirs, const char *expected)
{
	struct arena arena;
	struct error err = {0};
	const char *text;

	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(musl_path_merge(&arena, old, old ? strlen(old) : 0, dirs, &text, &err), 0);
	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	arena_done(&arena);
}

static void test_no_file(void **state)
{
	(void)state;
	assert_merged(NULL, DIRS("/opt/x"), "/opt/x\n/lib:/usr/local/lib:/usr/lib\n");
	assert_merged(NULL, DIRS("/usr/lib", "/opt/x", "/lib"),
		      "/opt/x\n/lib:/usr/local/lib:/usr/lib\n");
	assert_merged(NULL, DIRS("/usr/lib", "/lib", "/usr/local/lib"), NULL);
}

static void test_file(void **state)
{
	(void)state;
	assert_merged("/lib\n/usr/lib", DIRS("/opt/x", "/opt/y"), "/opt/x\n/opt/y\n/lib\n/usr/lib");
	assert_merged("/lib:/opt/x/\n", DIRS("/opt/x"), NULL);
	assert_merged("/lib:/opt/xy:/opt", DIRS("/opt/x"), "/opt/x\n/lib:/opt/xy:/opt");
	assert_merged("", DIRS("/opt/x"), "/opt/x\n");
	assert_merged("::\n\n:", DIRS("/opt/x"), "/opt/x\n::\n\n:");
	assert_merged("/", DIRS("/"), NULL);
	/* What was merged is merged again, as at the next start. */
	assert_merged("/opt/x\n/lib:/usr/local/lib:/usr/lib\n", DIRS("/opt/x"), NULL);
}

/* musl reads up to the first NUL, so that is where the text ends. */
static void test_nul(void **state)
{
	struct arena arena;
	struct error err = {0};
	const char *text;

	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(musl_path_merge(&arena, "/lib\0/opt/x", 11, DIRS("/opt/x"), &text, &err),
			 0);
	assert_string_equal(text, "/opt/x\n/lib");
	arena_done(&arena);
}

static void test_file_name(void **state)
{
	struct arena arena;

	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	assert_string_equal(musl_path_file(&arena, "/lib/ld-musl-powerpc64le.so.1"),
			    "/etc/ld-musl-powerpc64le.path");
	arena_done(&arena);
}

static void test_no_memory(void **state)
{
	int r = -ENOMEM;

	(void)state;
	for (size_t limit = 0; r < 0; limit += 8) {
		struct error err = {0};
		struct arena arena;
		const char *text;

		arena_init(&arena, limit);
		r = musl_path_merge(&arena, "/lib", 4, DIRS("/opt/x"), &text, &err);
		assert_int_equal(r, r ? -ENOMEM : 0);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_file),   cmocka_unit_test(test_file),
		cmocka_unit_test(test_nul),       cmocka_unit_test(test_file_name),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
