/* SPDX-License-Identifier: Apache-2.0 */
#include "run-ldconfig.h"

#include "bounds.h"
#include "fdio.h"
#include "ldcache.h"

#define X86_64 0x303
#define I386 0x003
#define HWCAP_NAMED (1ULL << 62)

struct fixture {
	struct tree tree;
	struct arena arena;
	struct ldcache cache;
	struct error err;
	char *data;
	size_t size;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tree_init(&f->tree);
	arena_init(&f->arena, LIMIT_MEMORY);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->arena);
	tree_done(&f->tree);
	free(f);
	return 0;
}

/* In ldconfig's order. */
static struct ldcache_entry image_entries[] = {
	{"libz.so.1", "/lib/libz.so.1", X86_64, .hwcap = 0, .kernel = 0x20620},
	{"libx.so.10", "/lib/libx.so.10", X86_64},
	{"libx.so.9", "/usr/local/lib/libx.so.9", X86_64},
	{"libx.so.9", "/lib/libx.so.9", X86_64},
	{"libx.so.9", "/lib32/libx.so.9", I386},
	{"libcuda.so.1", "/lib/glibc-hwcaps/x86-64-v3/libcuda.so.1", X86_64,
	 .hwcap = HWCAP_NAMED | 3ULL << 32, .hwcap_name = "x86-64-v3"},
	{"libcuda.so.1", "/lib/libcuda.so.1", X86_64},
	{"liba.so.1", "/lib/tls/liba.so.1", X86_64, .hwcap = 1ULL << 63},
	{"liba.so.1", "/lib/liba.so.1", X86_64},
};
static const struct ldcache image = {.items = image_entries,
				     .n = sizeof(image_entries) / sizeof(image_entries[0])};

static void merge(struct fixture *f, const struct ldcache *base,
		  const struct ldcache_library *libraries, size_t n)
{
	assert_null(ldcache_merge_problem(base));
	assert_int_equal(ldcache_merge(&f->arena, base, libraries, n, &f->data, &f->size, &f->err),
			 0);
	assert_int_equal(ldcache_parse(&f->arena, f->data, f->size, &f->cache, &f->err), 0);
	assert_null(ldcache_merge_problem(&f->cache));
}

/* Entry by entry; a soname, a path, flags, and the name of a capability or "". */
static void assert_entries(const struct fixture *f, const struct ldcache_entry *expected, size_t n)
{
	assert_int_equal(f->cache.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct ldcache_entry *is = &f->cache.items[i];
		assert_string_equal(is->soname, expected[i].soname);
		assert_string_equal(is->path, expected[i].path);
		assert_int_equal(is->flags, expected[i].flags);
		assert_int_equal(is->kernel, expected[i].kernel);
		assert_string_equal(is->hwcap_name ? is->hwcap_name : "",
				    expected[i].hwcap_name ? expected[i].hwcap_name : "");
	}
}

static void test_nothing_added(void **state)
{
	struct fixture *f = *state;

	merge(f, &image, NULL, 0);
	assert_entries(f, image_entries, image.n);
	for (size_t i = 0; i < image.n; i++)
		assert_true((f->cache.items[i].hwcap & ~0xffffffffULL) ==
			    (image_entries[i].hwcap & ~0xffffffffULL));
}

static void test_from_nothing(void **state)
{
	const struct ldcache none = {0};
	const struct ldcache_library library = {"libx.so.1", "/opt/libx.so.1.2", X86_64, NULL};
	struct fixture *f = *state;

	merge(f, &none, NULL, 0);
	assert_int_equal(f->cache.n, 0);
	assert_int_equal(f->size, 48);
	merge(f, &none, &library, 1);
	assert_int_equal(f->cache.n, 1);
	assert_true(ldcache_has(&f->cache, "libx.so.1", "/opt/libx.so.1.2"));
	/* As releases before 2.33 wrote it: no byte order, no extensions. */
	assert_int_equal(f->data[28], 0);
	assert_false(f->cache.has_byte_order);
}

static void test_new_names(void **state)
{
	const struct ldcache_library libraries[] = {
		{"libaa.so.1", "/opt/libaa.so.1", X86_64, NULL},
		{"libzz.so.1", "/opt/libzz.so.1", X86_64, NULL},
		{"libx.so.9.1", "/opt/libx.so.9.1", X86_64, NULL},
		{"a.so", "/opt/a.so", X86_64, NULL},
	};
	struct fixture *f = *state;

	merge(f, &image, libraries, 4);
	assert_int_equal(f->cache.n, image.n + 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(ldcache_has(&f->cache, libraries[i].soname, libraries[i].path));
	for (size_t i = 0; i < image.n; i++)
		assert_true(ldcache_has(&f->cache, image_entries[i].soname, NULL));
	assert_string_equal(f->cache.items[0].soname, "libzz.so.1");
	assert_string_equal(f->cache.items[f->cache.n - 1].soname, "a.so");
}

/* Every entry of the image's for that name and machine goes; of other machines they stay. */
static void test_ours_wins(void **state)
{
	const struct ldcache_library libraries[] = {
		{"libcuda.so.1", "/opt/libcuda.so.550", X86_64, NULL},
		{"libx.so.9", "/opt/libx.so.9.0", X86_64, NULL},
	};
	const struct ldcache_entry expected[] = {
		image_entries[0],
		image_entries[1],
		{"libx.so.9", "/opt/libx.so.9.0", X86_64},
		image_entries[4],
		{"libcuda.so.1", "/opt/libcuda.so.550", X86_64},
		image_entries[7],
		image_entries[8],
	};
	struct fixture *f = *state;

	merge(f, &image, libraries, 2);
	assert_entries(f, expected, sizeof(expected) / sizeof(expected[0]));
}

/* A library for special hardware alone leaves the image's for all other. */
static void test_hwcaps(void **state)
{
	const struct ldcache_library special[] = {
		{"libx.so.9", "/opt/glibc-hwcaps/z/libx.so.9", X86_64, "z"},
		{"libx.so.9", "/opt/glibc-hwcaps/a/libx.so.9", X86_64, "a"},
		{"libcuda.so.1", "/opt/glibc-hwcaps/x86-64-v4/libcuda.so.1", X86_64, "x86-64-v4"},
	};
	const struct ldcache_library both[] = {
		{"libx.so.9", "/opt/libx.so.9", X86_64, NULL},
		{"libx.so.9", "/opt/glibc-hwcaps/z/libx.so.9", X86_64, "z"},
	};
	const struct ldcache_entry expected[] = {
		image_entries[0],
		image_entries[1],
		{"libx.so.9", special[1].path, X86_64, .hwcap_name = "a"},
		{"libx.so.9", special[0].path, X86_64, .hwcap_name = "z"},
		image_entries[2],
		image_entries[3],
		image_entries[4],
		{"libcuda.so.1", special[2].path, X86_64, .hwcap_name = "x86-64-v4"},
		image_entries[6],
		image_entries[7],
		image_entries[8],
	};
	struct fixture *f = *state;

	merge(f, &image, special, 3);
	assert_entries(f, expected, sizeof(expected) / sizeof(expected[0]));
	merge(f, &image, both, 2);
	assert_string_equal(f->cache.items[2].hwcap_name, "z");
	assert_string_equal(f->cache.items[3].path, "/opt/libx.so.9");
	assert_string_equal(f->cache.items[4].path, "/lib32/libx.so.9");
}

/* The start after this one must find that there is nothing to do. */
static void test_twice(void **state)
{
	const struct ldcache_library libraries[] = {
		{"libcuda.so.1", "/opt/libcuda.so.550", X86_64, NULL},
		{"libx.so.9", "/opt/glibc-hwcaps/z/libx.so.9", X86_64, "z"},
		{"libnew.so.9", "/opt/libnew.so.9", I386, NULL},
	};
	struct fixture *f = *state;

	merge(f, &image, libraries, 3);
	const char *data = f->data;
	size_t size = f->size;
	struct ldcache again = f->cache;
	merge(f, &again, libraries, 3);
	assert_int_equal(f->size, size);
	assert_memory_equal(f->data, data, size);
}

static void test_problems(void **state)
{
	struct ldcache_entry two[] = {{"liba.so", "/a", X86_64}, {"libb.so", "/b", X86_64}};
	struct ldcache cache = {.items = two, .n = 2};

	(void)state;
	assert_string_equal(ldcache_merge_problem(&cache), "its entries are not sorted");
	two[1] = (struct ldcache_entry){"liba.so", "/b", X86_64, .hwcap_name = "v3"};
	assert_string_equal(ldcache_merge_problem(&cache), "its entries are not sorted");
	two[1] = (struct ldcache_entry){"liba.so", "/b", X86_64 + 1};
	assert_string_equal(ldcache_merge_problem(&cache), "its entries are not sorted");
	two[1] = (struct ldcache_entry){"lib.so.4294967298", "/b", X86_64};
	assert_null(ldcache_merge_problem(&cache));
	cache.has_unknown = true;
	assert_string_equal(ldcache_merge_problem(&cache),
			    "it has extensions that are not known here");
}

/* As loaders have it, 4294967298 is 2, and 2147483648 is less than all others and more. */
static void test_long_numbers(void **state)
{
	static struct ldcache_entry entries[] = {
		{"libx.so.3", "/lib/3", X86_64},
		{"libx.so.4294967298", "/lib/2", X86_64},
		{"libx.so.1", "/lib/1", X86_64},
		{"libx-20241130.so.1", "/lib/x", X86_64},
		{"lib-20241130153012.so.1", "/lib/date", X86_64},
	};
	const struct ldcache cache = {.items = entries, .n = 5};
	const struct ldcache_library library = {"libx.so.2", "/opt/2", X86_64, NULL};
	const struct ldcache_library far = {"libx.so.2147483648", "/opt/far", X86_64, NULL};
	struct fixture *f = *state;

	merge(f, &cache, &library, 1);
	assert_int_equal(f->cache.n, 5);
	for (size_t i = 0; i < 5; i++)
		assert_true(ldcache_has(&f->cache, entries[i].soname, NULL));
	assert_true(ldcache_has(&f->cache, "libx.so.2", "/opt/2"));
	int r = ldcache_merge(&f->arena, &cache, &far, 1, &f->data, &f->size, &f->err);
	if (r < 0)
		assert_error(
			&f->err, EXIT_CODE_LDCACHE,
			"libx.so.2147483648 (/opt/far) would not be found in the merged cache");
}

static void test_too_large(void **state)
{
	static char path[4000];
	struct fixture *f = *state;
	const size_t n = LIMIT_LDCACHE_SIZE / sizeof(path) + 1;
	struct ldcache cache = {.items = calloc(n, sizeof(*cache.items)), .n = n};

	assert_non_null(cache.items);
	memset(path, '/', sizeof(path) - 1);
	for (size_t i = 0; i < n; i++)
		cache.items[i] = (struct ldcache_entry){"liba.so", path, X86_64};
	assert_int_equal(ldcache_merge(&f->arena, &cache, NULL, 0, &f->data, &f->size, &f->err),
			 -EINVAL);
	assert_error(&f->err, EXIT_CODE_LDCACHE, "ld.so.cache: more than 16777216 bytes");
	free(cache.items);
}

static void test_no_memory(void **state)
{
	const struct ldcache_library library = {"libx.so.1", "/opt/libx.so.1.2", X86_64, "v3"};
	struct fixture *f = *state;
	int r = -ENOMEM;

	for (size_t limit = 0; r < 0; limit += 8) {
		struct arena small;

		f->err = (struct error){0};
		arena_init(&small, limit);
		r = ldcache_merge(&small, &image, &library, 1, &f->data, &f->size, &f->err);
		if (r < 0)
			assert_error(&f->err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&small);
	}
	assert_int_equal(r, 0);
}

static void test_check_found(void **state)
{
	const struct ldcache_library libraries[] = {
		{"libx.so.9", "/opt/libx.so.9.0", X86_64, NULL},
		{"libz.so.1", "/opt/libz.so.1.2", I386, NULL},
	};
	struct fixture *f = *state;

	assert_int_equal(ldcache_check_found(&image, libraries, 1, &f->err), 0);
	assert_int_equal(ldcache_check_found(&image, libraries, 2, &f->err), -EINVAL);
	assert_error(&f->err, EXIT_CODE_LDCACHE,
		     "ldconfig did not find libz.so.1 (/opt/libz.so.1.2)");
}

/* glibc's own reader takes what we write, line by line. */
static void test_ldconfig_reads_it(void **state)
{
	const struct ldcache_library libraries[] = {
		{"libnew.so.9", "/opt/libnew.so.9", X86_64, NULL},
		{"libx.so.9", "/opt/glibc-hwcaps/x86-64-v2/libx.so.9", X86_64, "x86-64-v2"},
	};
	struct fixture *f = *state;
	char path[PATH_MAX], *list;
	size_t size;

	if (!have_ldconfig())
		skip();
	merge(f, &image, libraries, 2);
	int fd = openat(f->tree.fd, "cache", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, f->data, f->size), f->size);
	close(fd);
	snprintf(path, sizeof(path), "%s/cache", f->tree.path);
	const char *print[] = {"ldconfig", "-p", "-C", path, NULL};
	run_ldconfig(&f->tree, "/list", print);
	assert_int_equal(fdio_read_at(&f->arena, f->tree.fd, "list", 100000, &list, &size, &f->err),
			 0);
	for (size_t i = 0; i < f->cache.n; i++) {
		char line[PATH_MAX];
		snprintf(line, sizeof(line), " => %s\n", f->cache.items[i].path);
		assert_non_null(strstr(list, line));
	}
	assert_non_null(strstr(list, "oci-cdi-hook"));
	assert_non_null(strstr(list, "hwcap: \"x86-64-v2\""));
	assert_non_null(strstr(list, "hwcap: \"x86-64-v3\""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_added), TEST(test_from_nothing), TEST(test_new_names),
		TEST(test_ours_wins),     TEST(test_hwcaps),       TEST(test_twice),
		TEST(test_problems),      TEST(test_long_numbers), TEST(test_too_large),
		TEST(test_no_memory),     TEST(test_check_found),  TEST(test_ldconfig_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
