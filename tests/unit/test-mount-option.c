/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <linux/mount.h>
#include <sys/mount.h>

#include "mount-option.h"

#define WORDS(...)                                                                                 \
	(&(struct string_list){.items = (const char *[]){__VA_ARGS__},                             \
			       .n = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)})

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 1024 * 1024);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static struct mount_options parse(const struct string_list *words, bool tmpfs)
{
	struct mount_options options;
	struct error err = {0};

	assert_int_equal(mount_options_parse(&arena, words, tmpfs, &options, &err), 0);
	return options;
}

static void test_vendor_form(void **state)
{
	struct mount_options options =
		parse(WORDS("ro", "nosuid", "nodev", "bind", "noexec"), false);

	(void)state;
	assert_int_equal(options.attr_set, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
						   MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	assert_int_equal(options.attr_clear, 0);
	assert_true(options.bind);
	assert_false(options.recursive);
	assert_int_equal(options.propagation, MS_PRIVATE);
	assert_string_equal(mount_options_text(&arena, &options),
			    "bind,ro,nosuid,nodev,noexec,private");
}

static void test_nothing_is_added(void **state)
{
	struct mount_options options = parse(&(struct string_list){0}, false);

	(void)state;
	assert_int_equal(options.attr_set, 0);
	assert_int_equal(options.attr_clear, 0);
	assert_false(options.bind);
	assert_string_equal(mount_options_text(&arena, &options), "private");
}

static void test_later_words_win(void **state)
{
	struct mount_options options =
		parse(WORDS("ro", "rw", "rslave", "noatime", "relatime", "rbind"), false);

	(void)state;
	assert_int_equal(options.attr_set, 0);
	assert_int_equal(options.attr_clear, MOUNT_ATTR_RDONLY | MOUNT_ATTR__ATIME);
	assert_int_equal(options.propagation, MS_SLAVE | MS_REC);
	assert_string_equal(mount_options_text(&arena, &options), "rbind,rw,relatime,rslave");

	options = parse(WORDS("relatime", "strictatime"), false);
	assert_int_equal(options.attr_set, MOUNT_ATTR_STRICTATIME);
	/* The kernel wants the whole field cleared before one of its values is set. */
	assert_int_equal(options.attr_clear, MOUNT_ATTR__ATIME);
}

static void test_recursive_bind_is_private_all_the_way_down(void **state)
{
	struct mount_options options = parse(WORDS("rbind", "ro"), false);

	(void)state;
	assert_int_equal(options.propagation, MS_PRIVATE | MS_REC);
}

static void test_tmpfs_parameters(void **state)
{
	struct mount_options options = parse(WORDS("nosuid", "mode=755", "size=65536k"), true);

	(void)state;
	assert_int_equal(options.parameters.n, 2);
	assert_string_equal(options.parameters.items[0].key, "mode");
	assert_string_equal(options.parameters.items[1].value, "65536k");
	assert_string_equal(mount_options_text(&arena, &options),
			    "nosuid,private,mode=755,size=65536k");
}

static void test_unknown_words(void **state)
{
	struct mount_options options;
	struct error err = {0};

	(void)state;
	assert_true(mount_options_parse(&arena, WORDS("ro", "nosiud"), false, &options, &err) < 0);
	assert_error(&err, EXIT_CODE_SPEC,
		     "mount option \"nosiud\" is unknown; did you mean \"nosuid\"?");
	assert_true(mount_options_parse(&arena, WORDS("x-very-special\n"), false, &options, &err) <
		    0);
	assert_error(&err, EXIT_CODE_SPEC, "mount option \"x-very-special\\x0a\" is unknown");
	assert_true(mount_options_parse(&arena, WORDS("size=1"), false, &options, &err) < 0);
	assert_true(mount_options_parse(&arena, WORDS("lowerdir=/"), true, &options, &err) < 0);
	assert_error(&err, EXIT_CODE_SPEC, "mount option \"lowerdir=/\" is unknown");
	assert_true(mount_options_parse(&arena, WORDS(""), false, &options, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vendor_form, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_is_added, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_later_words_win, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_recursive_bind_is_private_all_the_way_down,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tmpfs_parameters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_words, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
