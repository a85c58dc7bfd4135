/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf-abi.h"
#include "library-refresh.h"
#include "plan-text.h"

#if defined(__x86_64__) || defined(__i386__)
#define NATIVE EM_X86_64
#define FOREIGN EM_AARCH64
#else
#define NATIVE EM_AARCH64
#define FOREIGN EM_X86_64
#endif

struct fixture {
	struct arena arena;
	struct notes notes;
	struct plan plan;
	struct plan_library libraries[8];
	struct plan_mount mounts[8];
	struct plan_ldcache hook;
	const char *folders[4];
	const char *files[32]; /* path, text, ...; a text of NULL: it is there, and is not read */
	char *cache;           /* what LDCACHE_PATH reads as, unless a file says otherwise */
	size_t cache_size;
	int read_errnum, exists_errnum; /* for LDCACHE_PATH, and for all loaders */
	size_t names;                   /* a directory has so many that are no libraries besides */
	struct library_refresh_options options;
	struct library_refresh refresh;
	struct error err;
};

static const struct elf_abi *abi_of(uint16_t machine)
{
	return elf_abi_of(&(struct elf_library){.class = ELFCLASS64, .machine = machine});
}

static int view_read(void *data, struct arena *arena, const char *path, size_t limit,
		     char **ret_text, size_t *ret_size, struct error *err)
{
	struct fixture *f = data;

	(void)limit;
	if (strcmp(path, LDCACHE_PATH) == 0 && f->read_errnum)
		return error_set(err, f->read_errnum, "read %s", path);
	for (size_t i = 0; f->files[i]; i += 2) {
		if (strcmp(f->files[i], path) != 0)
			continue;
		*ret_text = arena_strdup(arena, f->files[i + 1]);
		*ret_size = strlen(f->files[i + 1]);
		return *ret_text ? 0 : error_memory(err);
	}
	if (strcmp(path, LDCACHE_PATH) != 0 || !f->cache)
		return error_set(err, ENOENT, "open %s", path);
	*ret_text = f->cache;
	*ret_size = f->cache_size;
	return 0;
}

static int view_list(void *data, struct arena *arena, const char *path,
		     struct string_list *ret_names, struct error *err)
{
	struct fixture *f = data;
	size_t len = strlen(path);
	const char **slot;

	for (size_t i = 0; f->files[i]; i += 2) {
		if (strncmp(f->files[i], path, len) != 0 || f->files[i][len] != '/')
			continue;
		if (!(slot = array_add(arena, ret_names)))
			return error_memory(err);
		*slot = f->files[i] + len + 1;
	}
	for (size_t i = 0; i < f->names; i++) {
		if (!(slot = array_add(arena, ret_names)))
			return error_memory(err);
		*slot = "name";
	}
	return ret_names->n > 0 ? 0 : error_set(err, ENOENT, "open %s", path);
}

static int view_exists(void *data, const char *path, struct error *err)
{
	struct fixture *f = data;

	if (f->exists_errnum)
		return error_set(err, f->exists_errnum, "look at %s", path);
	for (size_t i = 0; f->files[i]; i += 2)
		if (strcmp(f->files[i], path) == 0)
			return 1;
	return strcmp(path, LDCACHE_PATH) == 0 && f->cache;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	arena_init(&f->arena, LIMIT_MEMORY);
	f->notes.arena = &f->arena;
	f->plan.libraries.items = f->libraries;
	f->plan.mounts.items = f->mounts;
	f->plan.ldcache.items = &f->hook;
	f->hook.folders.items = f->folders;
	f->options.has_ldconfig = true;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->arena);
	free(f);
	return 0;
}

/* A library that is mounted; `machine` 0: no 64-bit machine that is known. */
static void add_library(struct fixture *f, const char *soname, const char *path, uint16_t machine)
{
	f->libraries[f->plan.libraries.n++] = (struct plan_library){
		.path = path, .elf = {.soname = soname, .class = ELFCLASS64, .machine = machine}};
	f->mounts[f->plan.mounts.n++] = (struct plan_mount){.destination = path};
}

static void add_file(struct fixture *f, const char *path, const char *text)
{
	size_t i = 0;

	while (f->files[i])
		i += 2;
	f->files[i] = path;
	f->files[i + 1] = text;
}

/* A cache with the C library of `machine`, and its files. */
static void add_cache(struct fixture *f, uint16_t machine)
{
	const struct ldcache none = {0};
	const struct ldcache_library c = {"libc.so.6", "/lib/libc.so.6",
					  abi_of(machine)->ldcache_flags, NULL};

	assert_int_equal(ldcache_merge(&f->arena, &none, &c, 1, &f->cache, &f->cache_size, &f->err),
			 0);
	add_file(f, "/lib/libc.so.6", NULL);
	add_file(f, abi_of(machine)->loader, NULL);
}

static int choose(struct fixture *f)
{
	const struct image_view view = {
		.read = view_read, .list = view_list, .exists = view_exists, .data = f};

	f->err = (struct error){0};
	return library_refresh_choose(&f->arena, &view, &f->plan, &f->options, &f->notes,
				      &f->refresh, &f->err);
}

static void assert_way(struct fixture *f, enum refresh_way way, const char *why)
{
	if (choose(f) != 0)
		fail_msg("%s", f->err.text);
	assert_string_equal(f->refresh.why, why);
	assert_int_equal(f->refresh.way, way);
	assert_int_equal(f->refresh.image.n > 0, way == REFRESH_MERGE);
}

static void test_merge(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1.2", NATIVE);
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
	assert_int_equal(f->refresh.n_libraries, 1);
	assert_int_equal(f->refresh.n_sonames, 1);
	assert_string_equal(f->refresh.libraries[0].path, "/opt/x/libx.so.1.2");
	assert_int_equal(f->refresh.dirs.n, 1);
	assert_string_equal(f->refresh.unknown.items[0], "/opt/x");
	/* No ldconfig is needed for it. */
	f->options.has_ldconfig = false;
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
}

static void test_no_cache(void **state)
{
	struct fixture *f = *state;

	add_file(f, abi_of(NATIVE)->loader, NULL);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	assert_way(f, REFRESH_LDCONFIG, "the image has no library cache");
	assert_int_equal(f->refresh.unknown.n, 0);
	f->options.has_ldconfig = false;
	assert_way(f, REFRESH_NEW,
		   "the image has no library cache, and the host has no ldconfig that could be "
		   "used");
}

static void test_bad_caches(void **state)
{
	struct fixture *f = *state;
	char twice[200];

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	f->cache_size--;
	assert_way(f, REFRESH_LDCONFIG,
		   "the image's cache is no base: ld.so.cache: its strings are longer than the "
		   "file");
	f->cache_size = 11;
	memcpy(f->cache, "ld.so-1.7.0", 11);
	assert_way(f, REFRESH_LDCONFIG,
		   "the image's cache is no base: ld.so.cache: its old list is longer than the "
		   "file");
	f->read_errnum = EFBIG;
	snprintf(twice, sizeof(twice), "the image's cache is no base: read " LDCACHE_PATH ": %s",
		 strerror(EFBIG));
	assert_way(f, REFRESH_LDCONFIG, twice);
	f->read_errnum = EIO;
	assert_int_equal(choose(f), -EIO);
}

static void test_not_sorted(void **state)
{
	struct fixture *f = *state;
	const struct ldcache none = {0};
	const uint32_t flags = abi_of(NATIVE)->ldcache_flags;
	const struct ldcache_library two[] = {{"libc.so.6", "/lib/libc.so.6", flags, NULL},
					      {"liba.so.6", "/lib/liba.so.6", flags, NULL}};

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	assert_int_equal(
		ldcache_merge(&f->arena, &none, two, 2, &f->cache, &f->cache_size, &f->err), 0);
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
	memcpy(strstr(f->cache + 96, "libc"), "aaa", 3);
	assert_way(f, REFRESH_LDCONFIG, "the image's cache is no base: its entries are not sorted");
}

static void test_no_c_library(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	f->files[0] = "/elsewhere/libc.so.6";
	assert_way(f, REFRESH_LDCONFIG, "the image's cache does not have its C library");
	/* Without an ldconfig it is still better than none. */
	f->options.has_ldconfig = false;
	assert_way(f, REFRESH_MERGE,
		   "the image's cache does not have its C library, and the host has no ldconfig "
		   "that could be used");
}

/* What the image has beside the mounted file in a directory that its cache does not know would be found by ldconfig. */
static void test_own_libraries(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1.2", NATIVE);
	add_file(f, "/opt/x/libx.so.1.2", NULL);
	add_file(f, "/opt/x/README", NULL);
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
	add_file(f, "/opt/x/libimage.so.1", NULL);
	assert_way(f, REFRESH_LDCONFIG,
		   "/opt/x has libraries of the image, which its cache does not know");
	add_file(f, "/etc/ld.so.conf", "/opt/x\n");
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
}

static void test_folders(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	f->plan.ldcache.n = 1;
	f->folders[0] = "/srv/";
	f->folders[1] = "/usr/lib";
	f->hook.folders.n = 2;
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
	assert_string_equal(f->refresh.unknown.items[0], "/srv");
	assert_int_equal(f->refresh.unknown.n, 1);
	f->names = LIMIT_LDCONF_NAMES;
	assert_way(f, REFRESH_LDCONFIG,
		   "/srv has libraries of the image, which its cache does not know");
	f->names = 0;
	f->folders[0] = "relative";
	assert_int_equal(choose(f), -EINVAL);
	assert_error(&f->err, EXIT_CODE_LDCACHE,
		     "directory relative cannot be named in a library configuration");
	f->folders[0] = "/a b";
	assert_int_equal(choose(f), -EINVAL);
}

static void test_hook_without_libraries(void **state)
{
	struct fixture *f = *state;

	f->plan.ldcache.n = 1;
	assert_way(f, REFRESH_NOTHING, "no library is mounted, and the image has no library cache");
	add_cache(f, NATIVE);
	assert_way(f, REFRESH_LDCONFIG, "a hook asks for it and no library is mounted");
}

static void test_no_loader(void **state)
{
	struct fixture *f = *state;

	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	assert_way(f, REFRESH_NOTHING, "the image has no loader for the mounted libraries");
	add_cache(f, FOREIGN);
	assert_way(f, REFRESH_NOTHING, "the image has no loader for the mounted libraries");
	f->exists_errnum = EIO;
	assert_int_equal(choose(f), -EIO);
}

/* The host's ldconfig would leave them out. */
static void test_foreign(void **state)
{
	struct fixture *f = *state;

	add_cache(f, FOREIGN);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", FOREIGN);
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
	f->cache = NULL;
	assert_way(f, REFRESH_NEW,
		   "the image has no library cache, and the host's ldconfig does not know the "
		   "machine of its libraries");
}

static void test_named_ldconfig(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/lib/libx.so.1.2", NATIVE);
	f->options.ldconfig_named = true;
	assert_way(f, REFRESH_LDCONFIG, "--ldconfig names a program");
	/* The user's word stands: the failure is told, and nothing else done in its place. */
	f->options.has_ldconfig = false;
	assert_way(f, REFRESH_LDCONFIG, "--ldconfig names a program");
}

static void test_which_of_two(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1.9", NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1.10", NATIVE);
	add_library(f, "libx.so.1", "/opt/y/libx.so.1", NATIVE);
	assert_int_equal(choose(f), 0);
	assert_int_equal(f->refresh.n_libraries, 1);
	assert_string_equal(f->refresh.libraries[0].path, "/opt/x/libx.so.1.10");
	add_library(f, "libx.so.1", "/opt/x/libx.so.1", NATIVE);
	assert_int_equal(choose(f), 0);
	assert_string_equal(f->refresh.libraries[0].path, "/opt/x/libx.so.1");
}

static void test_link_names(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so", NATIVE);
	add_library(f, "liby.so", "/opt/x/liby.so", NATIVE);
	assert_int_equal(choose(f), 0);
	assert_int_equal(f->refresh.n_sonames, 2);
	assert_int_equal(f->refresh.n_libraries, 3);
	assert_string_equal(f->refresh.libraries[2].soname, "libx.so");
}

static void test_hwcaps(void **state)
{
	struct fixture *f = *state;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/opt/x/glibc-hwcaps/x86-64-v3/libx.so.1", NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1", NATIVE);
	add_library(f, "liby.so.1", "/opt/x/glibc-hwcaps/a/b/liby.so.1", NATIVE);
	assert_int_equal(choose(f), 0);
	assert_int_equal(f->refresh.n_libraries, 3);
	assert_string_equal(f->refresh.libraries[0].hwcap, "x86-64-v3");
	assert_null(f->refresh.libraries[1].hwcap);
	assert_null(f->refresh.libraries[2].hwcap);
	assert_int_equal(f->refresh.dirs.n, 2);
	assert_string_equal(f->refresh.dirs.items[0], "/opt/x");
	assert_string_equal(f->refresh.dirs.items[1], "/opt/x/glibc-hwcaps/a/b");
}

static void test_musl(void **state)
{
	struct fixture *f = *state;
	char path[64];

	snprintf(path, sizeof(path), "/etc/%s", strrchr(abi_of(NATIVE)->musl_loader, '/') + 1);
	memcpy(strstr(path, ".so.1"), ".path", 6);
	add_file(f, abi_of(NATIVE)->musl_loader, NULL);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1.2", NATIVE);
	assert_way(f, REFRESH_NOTHING, "the image has musl's loader, which has no cache");
	assert_int_equal(f->refresh.musl.n, 1);
	assert_string_equal(f->refresh.musl.items[0].path, path);
	assert_string_equal(f->refresh.musl.items[0].text,
			    "/opt/x\n/lib:/usr/local/lib:/usr/lib\n");
	assert_false(f->refresh.musl.items[0].was_there);
	add_file(f, path, "/lib:/opt/x");
	assert_int_equal(choose(f), 0);
	assert_null(f->refresh.musl.items[0].text);
	assert_true(f->refresh.musl.items[0].was_there);
	/* Both at once. */
	add_cache(f, NATIVE);
	assert_way(f, REFRESH_MERGE, "the image's cache is whole and sorted");
	assert_int_equal(f->refresh.musl.n, 1);
}

static void test_show(void **state)
{
	struct fixture *f = *state;
	struct plan plan = {0};
	char expected[256];

	add_file(f, abi_of(NATIVE)->musl_loader, NULL);
	add_library(f, "libx.so.1", "/opt/x/libx.so.1.2", NATIVE);
	assert_int_equal(choose(f), 0);
	assert_int_equal(library_refresh_show(&f->arena, &f->refresh, &plan, &f->err), 0);
	snprintf(expected, sizeof(expected),
		 "refresh musl-path %s  # the image has musl's loader\n",
		 f->refresh.musl.items[0].path);
	assert_string_equal(plan_text(&f->arena, &plan, &f->err), expected);
	plan = (struct plan){0};
	add_cache(f, NATIVE);
	assert_int_equal(choose(f), 0);
	f->refresh.musl.items[0].text = NULL;
	assert_int_equal(library_refresh_show(&f->arena, &f->refresh, &plan, &f->err), 0);
	snprintf(expected, sizeof(expected),
		 "refresh merge /etc/ld.so.cache  # the image's cache is whole and sorted\n"
		 "refresh nothing %s  # musl looks into all these directories already\n",
		 f->refresh.musl.items[0].path);
	assert_string_equal(plan_text(&f->arena, &plan, &f->err), expected);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	int r = -ENOMEM;

	add_cache(f, NATIVE);
	add_library(f, "libx.so.1", "/opt/x/libx.so", NATIVE);
	add_file(f, abi_of(NATIVE)->musl_loader, NULL);
	add_file(f, "/opt/x/libimage.so.1", NULL);
	for (size_t limit = 0; r < 0; limit += 8) {
		const struct image_view view = {
			.read = view_read, .list = view_list, .exists = view_exists, .data = f};
		struct arena small;

		f->err = (struct error){0};
		arena_init(&small, limit);
		r = library_refresh_choose(&small, &view, &f->plan, &f->options, NULL, &f->refresh,
					   &f->err);
		assert_int_equal(r, r ? -ENOMEM : 0);
		arena_done(&small);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_merge),          TEST(test_no_cache),
		TEST(test_bad_caches),     TEST(test_not_sorted),
		TEST(test_no_c_library),   TEST(test_own_libraries),
		TEST(test_folders),        TEST(test_hook_without_libraries),
		TEST(test_no_loader),      TEST(test_foreign),
		TEST(test_named_ldconfig), TEST(test_which_of_two),
		TEST(test_link_names),     TEST(test_hwcaps),
		TEST(test_musl),           TEST(test_show),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
