/* SPDX-License-Identifier: Apache-2.0 */
#include "id-map.h"

#include <string.h>

#include "unit.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static int parse(const char *text, struct id_map *ret_map, struct error *err)
{
	return id_map_parse(&arena, text, strlen(text), ret_map, err);
}

static void test_ranges(void **state)
{
	/* As podman's keep-id has them: root and the user are not neighbours. */
	static const char text[] = "         0          1       1000\n"
				   "      1000          0          1\n"
				   "      1001       1001      64536\n";
	struct error err = {0};
	struct id_map map;
	uint32_t id = 0;

	(void)state;
	assert_int_equal(parse(text, &map, &err), 0);
	assert_int_equal(map.n, 3);
	assert_true(id_map_outside(&map, 0, &id) && id == 1);
	assert_true(id_map_outside(&map, 999, &id) && id == 1000);
	assert_true(id_map_outside(&map, 1000, &id) && id == 0);
	assert_true(id_map_outside(&map, 65536, &id) && id == 65536);
	assert_false(id_map_outside(&map, 65537, &id));
	assert_true(id_map_has_outside(&map, 0));
	assert_true(id_map_has_outside(&map, 65536));
	assert_false(id_map_has_outside(&map, 65537));
	assert_false(id_map_is_identity(&map));
}

/* Who owns a file, as somebody in the namespace sees it. */
static void test_shows(void **state)
{
	struct error err = {0};
	struct id_map map;

	(void)state;
	assert_int_equal(parse("0 1000 1\n1 100000 10\n", &map, &err), 0);
	assert_true(id_map_shows(&map, 1000, 0));
	assert_true(id_map_shows(&map, 100009, 10));
	assert_false(id_map_shows(&map, 1000, 1));
	assert_false(id_map_shows(&map, 1000, OVERFLOW_ID));
	assert_true(id_map_shows(&map, 0, OVERFLOW_ID));
	assert_false(id_map_shows(&map, 0, 0));

	/* As newuidmap makes it of 65536 subordinate ids: 65534 is one of them, and the host's root has no name yet. */
	assert_int_equal(parse("0 1000 1\n1 100000 65536\n", &map, &err), 0);
	assert_true(id_map_shows(&map, 0, OVERFLOW_ID));
	assert_true(id_map_shows(&map, 165533, OVERFLOW_ID));
	assert_false(id_map_shows(&map, 1000, OVERFLOW_ID));
	assert_false(id_map_shows(&map, 0, 0));
}

static void test_identity(void **state)
{
	struct error err = {0};
	struct id_map map;
	uint32_t id = 0;

	(void)state;
	assert_int_equal(parse("         0          0 4294967295\n", &map, &err), 0);
	assert_true(id_map_is_identity(&map));
	assert_true(id_map_outside(&map, 4294967294, &id) && id == 4294967294);
	assert_false(id_map_outside(&map, 4294967295, &id));
	assert_int_equal(parse("0 0 65536\n", &map, &err), 0);
	assert_false(id_map_is_identity(&map));
	/* Not written yet: nobody is mapped. */
	assert_int_equal(parse("", &map, &err), 0);
	assert_int_equal(map.n, 0);
	assert_false(id_map_outside(&map, 0, &id));
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"\n",
		"0 0\n",
		"0 0 0\n",
		"0 0 1 \n",
		"0 0 1x\n",
		"-1 0 1\n",
		"4294967296 0 1\n",
		"4294967295 0 2\n",
		"0 4294967295 2\n",
		"0\t0 1\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct error err = {0};
		struct id_map map;

		if (parse(texts[i], &map, &err) == 0)
			fail_msg("\"%s\" passes", texts[i]);
		assert_error(&err, EXIT_CODE_CONTAINER, "line 1: expected INSIDE OUTSIDE COUNT");
	}
}

static void test_too_many(void **state)
{
	struct error err = {0};
	struct id_map map;
	char text[(LIMIT_ID_RANGES + 1) * 6 + 1] = "";

	(void)state;
	for (size_t i = 0; i <= LIMIT_ID_RANGES; i++)
		memcpy(text + i * 6, "0 0 1\n", 6);
	assert_true(parse(text, &map, &err) < 0);
	assert_error(&err, EXIT_CODE_CONTAINER, "more than 512 lines");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),   cmocka_unit_test(test_shows),
		cmocka_unit_test(test_identity), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
