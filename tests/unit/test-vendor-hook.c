/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "vendor-hook.h"

#define WORDS(...)                                                                                 \
	{                                                                                          \
		.items = (const char *[]){__VA_ARGS__},                                            \
		.n = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)                        \
	}

static struct vendor_hook recognise(struct arena *arena, const char *path,
				    const struct string_list *args)
{
	const struct cdi_hook hook = {.hook_name = "createContainer", .path = path, .args = *args};
	struct vendor_hook vendor_hook;
	struct error err = {0};

	assert_int_equal(vendor_hook_recognise(arena, &hook, &vendor_hook, &err), 0);
	return vendor_hook;
}

static void test_update_ldcache(void **state)
{
	const struct string_list words[] = {
		WORDS("nvidia-cdi-hook", "update-ldcache", "--folder", "/a", "--folder=/b"),
		WORDS("nvidia-ctk", "hook", "update-ldcache", "--folder", "/a", "--folder", "/b"),
		WORDS("anything", "update-ldcache", "--folder=/a", "--other", "x", "--folder",
		      "/b"),
	};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct vendor_hook hook = recognise(&arena, "/usr/bin/nvidia-ctk", &words[i]);
		assert_int_equal(hook.kind, VENDOR_HOOK_UPDATE_LDCACHE);
		assert_int_equal(hook.folders.n, 2);
		assert_string_equal(hook.folders.items[0], "/a");
		assert_string_equal(hook.folders.items[1], "/b");
	}
	/* Known by its first word where the path is a wrapper's. */
	assert_int_equal(recognise(&arena, "/opt/wrapper", &words[0]).kind,
			 VENDOR_HOOK_UPDATE_LDCACHE);
	arena_done(&arena);
}

static void test_others(void **state)
{
	const struct string_list words[] = {
		WORDS("nvidia-cdi-hook", "create-symlinks", "--link", "a::b"),
		WORDS("nvidia-cdi-hook", "chmod", "--path", "update-ldcache"),
		WORDS("nvidia-cdi-hook"),
		{0},
	};
	const struct string_list foreign = WORDS("vendor-hook", "update-ldcache", "--folder", "/a");
	const struct string_list cut = WORDS("nvidia-cdi-hook", "update-ldcache", "--folder");
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(recognise(&arena, "/usr/bin/nvidia-cdi-hook", &words[i]).kind,
				 VENDOR_HOOK_OTHER);
	assert_int_equal(recognise(&arena, "/usr/bin/vendor-hook", &foreign).kind,
			 VENDOR_HOOK_OTHER);
	assert_int_equal(recognise(&arena, "/usr/bin/nvidia-cdi-hook", &cut).folders.n, 0);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_update_ldcache),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
