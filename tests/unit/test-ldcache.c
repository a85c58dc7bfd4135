/* SPDX-License-Identifier: Apache-2.0 */
#include "run-ldconfig.h"

#include <link.h>

#include "bounds.h"
#include "fdio.h"
#include "ldcache.h"

#define OLD_HEAD 16
#define OLD_ENTRY 12
#define HEAD 48
#define ENTRY 24
#define SECTION 16
#define HEAD_N 20
#define HEAD_STRINGS 24
#define HEAD_ENDIAN 28
#define HEAD_EXTENSIONS 32
#define ENTRY_SONAME 4
#define ENTRY_PATH 8
#define ENTRY_HWCAP 16

#define HWCAP_NAMED (1ULL << 62)
#define X86_64 0x303
#define I386 0x003

static const uint8_t native_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 3;

/* In the order in which ldconfig would write them: downwards, numbers by their value. */
static const struct ldcache_entry common_entries[] = {
	{"libx.so.10", "/lib/libx.so.10", X86_64, 0},
	{"libx.so.9", "/lib/libx.so.9", X86_64, 0},
	{"libcuda.so.1", "/lib/v3/libcuda.so.1", X86_64, HWCAP_NAMED | 3ULL << 32 | 1},
	{"libcuda.so.1", "/opt/64/libcuda.so.1", X86_64, 0},
	{"libcuda.so.1", "/lib/libcuda.so.1", X86_64, 0},
	{"libcuda.so.1", "/opt/32/libcuda.so.1", I386, 0},
	{"libcuda.so.1", "/lib/any/libcuda.so.1", 1, 0},
	{"libcuda.so.1", "/lib/aout/libcuda.so.1", 0, 0},
	{"liba.so", "/lib/tls/liba.so", X86_64, 1ULL << 63},
	{"liba.so", "/lib/liba.so", X86_64, 0},
};
#define N_COMMON (sizeof(common_entries) / sizeof(common_entries[0]))

static const char *const hwcap_names[] = {"x86-64-v2", "x86-64-v3"};

struct fixture {
	struct tree tree;
	struct arena arena;
	struct ldcache cache;
	struct error err;
	char *image, *copy;
	size_t size, cap;
	size_t head_at, sections_at, names_at;
};

static size_t put(struct fixture *f, const void *bytes, size_t len)
{
	size_t at = f->size;

	assert_true(len <= f->cap - f->size);
	memcpy(f->image + at, bytes, len);
	f->size += len;
	return at;
}

static size_t put_u32(struct fixture *f, size_t number)
{
	uint32_t value = (uint32_t)number;

	return put(f, &value, sizeof(value));
}

static void set_u32(struct fixture *f, size_t at, size_t number)
{
	uint32_t value = (uint32_t)number;

	assert_true(at + sizeof(value) <= f->size);
	memcpy(f->image + at, &value, sizeof(value));
}

static uint32_t put_string(struct fixture *f, const char *string)
{
	return (uint32_t)(put(f, string, strlen(string) + 1) - f->head_at);
}

static void image_head(struct fixture *f, size_t n_old, size_t n)
{
	static const char zero[HEAD];

	f->size = 0;
	if (n_old) {
		put(f, "ld.so-1.7.0\0", 12);
		put_u32(f, n_old);
		for (size_t i = 0; i < n_old * 3; i++)
			put_u32(f, i % 3 == 0);
	}
	f->head_at = f->size;
	put(f, zero, HEAD);
	memcpy(f->image + f->head_at, "glibc-ld.so.cache1.1", 20);
	set_u32(f, f->head_at + HEAD_N, n);
}

/* Where `n_old` is 0, the new format alone. */
static void image_make(struct fixture *f, size_t n_old, const struct ldcache_entry *entries,
		       size_t n)
{
	static const char zero[ENTRY];

	image_head(f, n_old, n);
	for (size_t i = 0; i < n; i++)
		put(f, zero, ENTRY);
	size_t strings_at = f->size;
	for (size_t i = 0; i < n; i++) {
		size_t at = f->head_at + HEAD + i * ENTRY;
		set_u32(f, at, entries[i].flags);
		set_u32(f, at + ENTRY_SONAME, put_string(f, entries[i].soname));
		set_u32(f, at + ENTRY_PATH, put_string(f, entries[i].path));
		memcpy(f->image + at + ENTRY_HWCAP, &entries[i].hwcap, sizeof(entries[i].hwcap));
	}
	set_u32(f, f->head_at + HEAD_STRINGS, f->size - strings_at);
}

/* What releases since 2.33 add. */
static void add_extensions(struct fixture *f)
{
	const size_t n_names = sizeof(hwcap_names) / sizeof(hwcap_names[0]);
	uint32_t strings, names[2];

	for (size_t i = 0; i < n_names; i++)
		names[i] = put_string(f, hwcap_names[i]);
	memcpy(&strings, f->image + f->head_at + HEAD_STRINGS, sizeof(strings));
	for (size_t i = 0; i < n_names; i++)
		strings += (uint32_t)strlen(hwcap_names[i]) + 1;
	set_u32(f, f->head_at + HEAD_STRINGS, strings);
	f->image[f->head_at + HEAD_ENDIAN] = (char)native_endian;

	while (f->size % 4)
		put(f, "", 1);
	set_u32(f, f->head_at + HEAD_EXTENSIONS, f->size);
	put_u32(f, 0xeaa42174);
	put_u32(f, 3);
	f->sections_at = f->size;
	f->names_at = f->sections_at + 3 * SECTION;
	const size_t sections[] = {0,  0, f->names_at + 8, 7, 1, 0, f->names_at, 8,
				   77, 0, f->names_at + 8, 0};
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		put_u32(f, sections[i]);
	put(f, names, sizeof(names));
	put(f, "example", 7);
}

static void image_common(struct fixture *f, size_t n_old)
{
	image_make(f, n_old, common_entries, N_COMMON);
	add_extensions(f);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tree_init(&f->tree);
	arena_init(&f->arena, LIMIT_MEMORY);
	f->cap = LIMIT_LDCACHE_SIZE;
	f->image = malloc(f->cap);
	assert_non_null(f->image);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->arena);
	tree_done(&f->tree);
	free(f->image);
	free(f->copy);
	free(f);
	return 0;
}

/*
 * From a copy of exactly that size, at an odd address: sanitizers see a byte too much, and any
 * alignment will do.
 */
static int parse_bytes(struct fixture *f, size_t size)
{
	free(f->copy);
	f->copy = malloc(size + 1);
	assert_non_null(f->copy);
	memcpy(f->copy + 1, f->image, size);
	f->err = (struct error){0};
	f->cache = (struct ldcache){0};
	return ldcache_parse(&f->arena, f->copy + 1, size, &f->cache, &f->err);
}

static int parse(struct fixture *f)
{
	return parse_bytes(f, f->size);
}

static void assert_damaged(struct fixture *f, const char *sentence)
{
	assert_int_equal(parse(f), -EINVAL);
	assert_error(&f->err, EXIT_CODE_DONE, sentence);
}

static bool has(struct fixture *f, const char *soname, const char *path)
{
	return ldcache_has(&f->cache, soname, path);
}

static void assert_common(struct fixture *f)
{
	assert_int_equal(f->cache.n, N_COMMON);
	for (size_t i = 0; i < N_COMMON; i++) {
		assert_string_equal(f->cache.items[i].soname, common_entries[i].soname);
		assert_string_equal(f->cache.items[i].path, common_entries[i].path);
		assert_int_equal(f->cache.items[i].flags, common_entries[i].flags);
		assert_true(f->cache.items[i].hwcap == common_entries[i].hwcap);
	}
}

/* The number of the old list's entries is even, but on i386 it need not be; behind 3 there are 4 bytes of padding here. */
static void test_forms(void **state)
{
	struct fixture *f = *state;

	image_common(f, 0);
	assert_int_equal(parse(f), 0);
	assert_common(f);
	image_common(f, 2);
	assert_int_equal(parse(f), 0);
	assert_common(f);
	image_common(f, 1000);
	assert_int_equal(parse(f), 0);
	assert_common(f);
}

static void test_older_releases(void **state)
{
	struct fixture *f = *state;

	/* Before 2.33 there were no extensions and no byte order. */
	image_make(f, 0, common_entries + N_COMMON - 2, 2);
	assert_int_equal(parse(f), 0);
	assert_int_equal(f->cache.n, 2);
	/* Bits besides the byte order are for the future. */
	f->image[HEAD_ENDIAN] = (char)(native_endian | 0x40);
	assert_int_equal(parse(f), 0);
	/* No library at all. */
	image_make(f, 0, NULL, 0);
	assert_int_equal(parse(f), 0);
	assert_int_equal(f->cache.n, 0);
	assert_false(has(f, "libx.so", NULL));
}

/* Releases since 2.33 store the end of a path as the soname. */
static void test_shared_strings(void **state)
{
	struct fixture *f = *state;
	uint32_t path;

	image_common(f, 2);
	memcpy(&path, f->image + f->head_at + HEAD + ENTRY_PATH, sizeof(path));
	set_u32(f, f->head_at + HEAD + ENTRY_SONAME, path + strlen("/lib/"));
	assert_int_equal(parse(f), 0);
	assert_common(f);
}

static void test_has(void **state)
{
	struct fixture *f = *state;

	image_common(f, 0);
	assert_int_equal(parse(f), 0);
	assert_true(has(f, "libx.so.10", NULL));
	assert_true(has(f, "libx.so.9", "/lib/libx.so.9"));
	assert_false(has(f, "libx.so.9", "/lib/libx.so.10"));
	assert_false(has(f, "libx.so.9", "/lib/libx.so"));
	assert_false(has(f, "libx.so", NULL));
	assert_false(has(f, "libx.so.", NULL));
	assert_false(has(f, "libx.so.11", NULL));
	assert_false(has(f, "", NULL));
	assert_false(has(f, "zzz", NULL));
	assert_false(has(f, "AAA", NULL));
	/* The first for a machine is taken, the second never. */
	assert_true(has(f, "libcuda.so.1", "/opt/64/libcuda.so.1"));
	assert_false(has(f, "libcuda.so.1", "/lib/libcuda.so.1"));
	/* Other machines have their own first. */
	assert_true(has(f, "libcuda.so.1", "/opt/32/libcuda.so.1"));
	assert_true(has(f, "libcuda.so.1", "/lib/any/libcuda.so.1"));
	assert_false(has(f, "libcuda.so.1", "/lib/aout/libcuda.so.1"));
	/* One for special hardware stands before, and hides no other. */
	assert_true(has(f, "libcuda.so.1", "/lib/v3/libcuda.so.1"));
	assert_true(has(f, "liba.so", "/lib/tls/liba.so"));
	assert_true(has(f, "liba.so", "/lib/liba.so"));
}

/* The loader searches by halves: in a cache that is not sorted it finds some and not others, and so do we. */
static void test_not_sorted(void **state)
{
	static const struct ldcache_entry upwards[] = {
		{"a", "/a", X86_64, 0}, {"b", "/b", X86_64, 0}, {"c", "/c", X86_64, 0},
		{"d", "/d", X86_64, 0}, {"e", "/e", X86_64, 0},
	};
	struct fixture *f = *state;

	image_make(f, 0, upwards, 5);
	assert_int_equal(parse(f), 0);
	assert_true(has(f, "c", NULL));
	assert_false(has(f, "a", NULL));
	assert_false(has(f, "e", NULL));
}

static void test_every_name_is_found(void **state)
{
	struct fixture *f = *state;

	for (size_t n = 1; n <= N_COMMON; n++) {
		image_make(f, 0, common_entries + N_COMMON - n, n);
		add_extensions(f);
		assert_int_equal(parse(f), 0);
		/* But for one that no loader takes. */
		for (size_t i = 0; i < n; i++)
			if (f->cache.items[i].flags != 0)
				assert_true(has(f, f->cache.items[i].soname, NULL));
	}
}

/* Numbers that are too long for the loader wrap around there, and compare equal here too. */
static void test_order_of_names(void **state)
{
	static const struct ldcache_entry entries[] = {
		{"libz.so.00", "/lib/0", X86_64, 0},
		{"lib.so.4294967298", "/lib/2", X86_64, 0},
		{"lib.so.1", "/lib/1", X86_64, 0},
		{"lib.so", "/lib/lib.so", X86_64, 0},
	};
	struct fixture *f = *state;

	image_make(f, 0, entries, 4);
	assert_int_equal(parse(f), 0);
	assert_true(has(f, "libz.so.0", "/lib/0"));
	assert_true(has(f, "lib.so.2", "/lib/2"));
	assert_true(has(f, "lib.so.1", "/lib/1"));
	assert_true(has(f, "lib.so", NULL));
	assert_false(has(f, "lib.so.1.2", NULL));
	assert_false(has(f, "lib.so.x", NULL));
	assert_false(has(f, "lib.7", NULL));
}

static void test_damaged_head(void **state)
{
	struct fixture *f = *state;

	image_common(f, 0);
	f->image[0] ^= 1;
	assert_damaged(f, "ld.so.cache: not a library cache");
	image_common(f, 0);
	f->image[17] = '2';
	assert_damaged(f, "ld.so.cache: not a library cache");
	f->size = 0;
	assert_damaged(f, "ld.so.cache: not a library cache");
	image_common(f, 0);
	f->image[HEAD_ENDIAN] = (char)(native_endian ^ 1);
	assert_damaged(f, "ld.so.cache: written for a machine of another byte order");
	f->image[HEAD_ENDIAN] = 1;
	assert_damaged(f, "ld.so.cache: written for a machine of another byte order");
	image_common(f, 0);
	set_u32(f, HEAD_N, UINT32_MAX);
	assert_damaged(f, "ld.so.cache: it has more entries than bytes for them");
	set_u32(f, HEAD_N, 0xaaaaaab); /* times 24 it is 8 in 32 bits */
	assert_damaged(f, "ld.so.cache: it has more entries than bytes for them");
	image_common(f, 0);
	set_u32(f, HEAD_STRINGS, f->size);
	assert_damaged(f, "ld.so.cache: its strings are longer than the file");
	set_u32(f, HEAD_STRINGS, UINT32_MAX);
	assert_damaged(f, "ld.so.cache: its strings are longer than the file");
}

static void test_damaged_old_list(void **state)
{
	struct fixture *f = *state;

	image_common(f, 2);
	set_u32(f, 12, UINT32_MAX);
	assert_damaged(f, "ld.so.cache: its old list is longer than the file");
	set_u32(f, 12, 0x15555555); /* times 12 it is -4 in 32 bits */
	assert_damaged(f, "ld.so.cache: its old list is longer than the file");
	set_u32(f, 12, 4);
	assert_damaged(f, "ld.so.cache: it has only the list of glibc 2.1 and before");
	f->size = OLD_HEAD + 2 * OLD_ENTRY;
	set_u32(f, 12, 2);
	assert_damaged(f, "ld.so.cache: it has only the list of glibc 2.1 and before");
	f->size = OLD_HEAD - 1;
	assert_damaged(f, "ld.so.cache: its old list is longer than the file");
}

static void test_damaged_entries(void **state)
{
	struct fixture *f = *state;
	const size_t at = HEAD + 3 * ENTRY;
	const size_t wrong[] = {0, HEAD, HEAD + N_COMMON * ENTRY - 1, UINT32_MAX,
				LIMIT_LDCACHE_SIZE};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		image_common(f, 0);
		set_u32(f, at + ENTRY_SONAME, wrong[i]);
		assert_damaged(f, "ld.so.cache: the name of entry 3 is damaged");
		image_common(f, 0);
		set_u32(f, at + ENTRY_PATH, wrong[i]);
		assert_damaged(f, "ld.so.cache: the path of entry 3 is damaged");
	}
	/* The last string of a table that lost its end. */
	image_make(f, 0, common_entries + N_COMMON - 1, 1);
	f->image[f->size - 1] = 'x';
	assert_damaged(f, "ld.so.cache: the path of entry 0 is damaged");
	put(f, "", 1);
	assert_damaged(f, "ld.so.cache: the path of entry 0 is damaged");
	image_common(f, 0);
	f->image[HEAD + 2 * ENTRY + ENTRY_HWCAP + (native_endian == 2 ? 0 : 7)] = 2;
	assert_damaged(f, "ld.so.cache: the hardware capability of entry 2 has no name");
	image_make(f, 0, common_entries, N_COMMON);
	assert_damaged(f, "ld.so.cache: the hardware capability of entry 2 has no name");
}

static void test_long_strings(void **state)
{
	struct fixture *f = *state;
	char soname[LIMIT_SONAME + 2], path[PATH_MAX + 1];
	struct ldcache_entry entry = {soname, path, X86_64, 0};

	memset(soname, 'a', sizeof(soname));
	memset(path, '/', sizeof(path));
	soname[LIMIT_SONAME] = '\0';
	path[PATH_MAX - 1] = '\0';
	image_make(f, 0, &entry, 1);
	assert_int_equal(parse(f), 0);
	assert_true(has(f, soname, path));
	soname[LIMIT_SONAME] = 'a';
	soname[LIMIT_SONAME + 1] = '\0';
	image_make(f, 0, &entry, 1);
	assert_damaged(f, "ld.so.cache: the name of entry 0 is damaged");
	soname[LIMIT_SONAME] = '\0';
	path[PATH_MAX - 1] = '/';
	path[PATH_MAX] = '\0';
	image_make(f, 0, &entry, 1);
	assert_damaged(f, "ld.so.cache: the path of entry 0 is damaged");
}

static void test_damaged_extensions(void **state)
{
	struct fixture *f = *state;
	const char *place = "ld.so.cache: its extensions are not where it says";
	const char *outside = "ld.so.cache: an extension lies outside the file";

	image_common(f, 0);
	size_t at = f->sections_at - 8;
	set_u32(f, HEAD_EXTENSIONS, at + 2);
	assert_damaged(f, place);
	set_u32(f, HEAD_EXTENSIONS, at + 4);
	assert_damaged(f, place);
	set_u32(f, HEAD_EXTENSIONS, UINT32_MAX - 3);
	assert_damaged(f, place);
	image_common(f, 0);
	set_u32(f, at + 4, UINT32_MAX);
	assert_damaged(f, "ld.so.cache: it has more extensions than bytes for them");
	image_common(f, 0);
	set_u32(f, f->sections_at + 8, f->size + 1);
	assert_damaged(f, outside);
	image_common(f, 0);
	set_u32(f, f->sections_at + 12, UINT32_MAX);
	assert_damaged(f, outside);
	image_common(f, 0);
	set_u32(f, f->sections_at + SECTION + 12, 7);
	assert_damaged(f, "ld.so.cache: its list of hardware capabilities is no list");
	image_common(f, 0);
	set_u32(f, f->names_at, 3);
	assert_damaged(f, "ld.so.cache: the name of a hardware capability is damaged");
	image_common(f, 0);
	set_u32(f, f->sections_at, 1);
	set_u32(f, f->sections_at + 12, 4);
	set_u32(f, f->sections_at + 8, f->names_at);
	assert_damaged(f, "ld.so.cache: it has two lists of hardware capabilities");
}

static void use(struct fixture *f)
{
	for (size_t i = 0; i < f->cache.n; i++)
		(void)has(f, f->cache.items[i].soname, "/lib/liba.so");
	for (size_t i = 0; i < N_COMMON; i++)
		(void)has(f, common_entries[i].soname, common_entries[i].path);
}

static void test_every_truncation(void **state)
{
	struct fixture *f = *state;

	for (size_t n_old = 0; n_old <= 3; n_old++) {
		image_common(f, n_old);
		for (size_t size = 0; size < f->size; size++) {
			assert_int_equal(parse_bytes(f, size), -EINVAL);
			assert_memory_equal(f->err.text, "ld.so.cache: ", 13);
			arena_done(&f->arena);
		}
	}
}

static void test_every_byte_changed(void **state)
{
	static const char changes[] = {0x01, 0x02, 0x04,       0x08,      0x10,
				       0x20, 0x40, (char)0x80, (char)0xff};
	struct fixture *f = *state;

	for (size_t n_old = 0; n_old <= 2; n_old += 2) {
		image_common(f, n_old);
		for (size_t at = 0; at < f->size; at++) {
			char byte = f->image[at];
			for (size_t i = 0; i < sizeof(changes); i++) {
				f->image[at] = byte ^ changes[i];
				if (parse(f) == 0)
					use(f);
				else
					assert_memory_equal(f->err.text, "ld.so.cache: ", 13);
				arena_done(&f->arena);
			}
			f->image[at] = byte;
		}
	}
}

/* 16 MiB of entries that all say the same, or share one string that never ends. */
static void test_large(void **state)
{
	struct fixture *f = *state;
	const size_t n = 400000;
	struct ldcache_entry entry = {"liba.so", "/lib/liba.so", X86_64, 0};
	static char zero[ENTRY];

	image_head(f, 0, n);
	for (size_t i = 0; i < n; i++)
		put(f, zero, ENTRY);
	size_t strings_at = f->size;
	uint32_t soname = put_string(f, entry.soname), path = put_string(f, entry.path);
	for (size_t i = 0; i < n; i++) {
		set_u32(f, HEAD + i * ENTRY, X86_64);
		set_u32(f, HEAD + i * ENTRY + ENTRY_SONAME, soname);
		set_u32(f, HEAD + i * ENTRY + ENTRY_PATH, path);
	}
	set_u32(f, HEAD_STRINGS, f->size - strings_at);
	assert_int_equal(parse(f), 0);
	assert_true(has(f, "liba.so", "/lib/liba.so"));
	assert_false(has(f, "liba.so", "/lib/other"));

	memset(f->image + f->size, 'x', f->cap - f->size);
	f->size = f->cap;
	set_u32(f, HEAD_STRINGS, f->size - strings_at);
	set_u32(f, HEAD + (n - 1) * ENTRY + ENTRY_PATH, f->size - 5000);
	assert_damaged(f, "ld.so.cache: the path of entry 399999 is damaged");
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct arena small;

	image_common(f, 2);
	arena_init(&small, N_COMMON * sizeof(struct ldcache_entry) - 1);
	assert_int_equal(ldcache_parse(&small, f->image, f->size, &f->cache, &f->err), -ENOMEM);
	assert_error(&f->err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
	arena_done(&small);
}

static char *read_file(struct fixture *f, const char *path, size_t *ret_size)
{
	char *data;

	assert_int_equal(fdio_read_at(&f->arena, f->tree.fd, path + 1, LIMIT_LDCACHE_SIZE, &data,
				      ret_size, &f->err),
			 0);
	return data;
}

static int find_cmocka(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libcmocka"))
		return 0;
	snprintf(data, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

/* A directory with a library that exists twice, once for newer processors. */
static void make_libraries(struct fixture *f)
{
	char library[PATH_MAX] = "", conf[PATH_MAX];

	tree_dir(&f->tree, "/lib/glibc-hwcaps/x86-64-v2");
	if (dl_iterate_phdr(find_cmocka, library)) {
		tree_link(&f->tree, library, "/lib/libcmocka.so.0");
		tree_link(&f->tree, library, "/lib/glibc-hwcaps/x86-64-v2/libcmocka.so.0");
	}
	snprintf(conf, sizeof(conf), "%s/lib\n", f->tree.path);
	tree_file(&f->tree, "/conf", conf);
}

static void write_cache(struct fixture *f, const char *format)
{
	char conf[PATH_MAX], cache[PATH_MAX];

	snprintf(conf, sizeof(conf), "%s/conf", f->tree.path);
	snprintf(cache, sizeof(cache), "%s/cache", f->tree.path);
	const char *write[] = {"ldconfig", "-i", "-X", "-c", format, "-f", conf, "-C", cache, NULL};
	run_ldconfig(&f->tree, "/out", write);
	const char *print[] = {"ldconfig", "-p", "-C", cache, NULL};
	run_ldconfig(&f->tree, "/list", print);
}

/* Line by line what `ldconfig -p` says, and each of them is found. */
static void compare_with_list(struct fixture *f, size_t n_hwcaps)
{
	size_t size, i = 0, with_hwcap = 0;
	char *line, *rest = read_file(f, "/list", &size);
	const char *data = read_file(f, "/cache", &size);

	assert_int_equal(ldcache_parse(&f->arena, data, size, &f->cache, &f->err), 0);
	strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) && line[0] == '\t') {
		const struct ldcache_entry *entry = &f->cache.items[i++];
		char start[PATH_MAX], end[PATH_MAX + 8];

		assert_true(i <= f->cache.n);
		snprintf(start, sizeof(start), "\t%s (", entry->soname);
		snprintf(end, sizeof(end), ") => %s", entry->path);
		assert_memory_equal(line, start, strlen(start));
		assert_true(strlen(line) > strlen(end));
		assert_string_equal(line + strlen(line) - strlen(end), end);
		assert_int_equal(strstr(line, "hwcap: ") != NULL, entry->hwcap != 0);
		with_hwcap += entry->hwcap != 0;
		assert_true(has(f, entry->soname, NULL));
	}
	assert_int_equal(i, f->cache.n);
	assert_true(with_hwcap >= n_hwcaps);
}

static void test_as_ldconfig_writes_it(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];

	if (!have_ldconfig())
		skip();
	make_libraries(f);
	size_t n_hwcaps = faccessat(f->tree.fd, "lib/libcmocka.so.0", F_OK, 0) == 0;
	const char *const formats[] = {"new", "compat"};
	for (size_t i = 0; i < 2; i++) {
		write_cache(f, formats[i]);
		compare_with_list(f, n_hwcaps);
		snprintf(path, sizeof(path), "%s/lib/libcmocka.so.0", f->tree.path);
		if (n_hwcaps)
			assert_true(has(f, "libcmocka.so.0", path));
	}
	write_cache(f, "old");
	f->size = 0;
	size_t size;
	const char *data = read_file(f, "/cache", &size);
	put(f, data, size);
	assert_damaged(f, "ld.so.cache: it has only the list of glibc 2.1 and before");
}

/* This machine's own. */
static void test_system_cache(void **state)
{
	struct fixture *f = *state;
	char *data;
	size_t size;

	if (fdio_read_at(&f->arena, AT_FDCWD, "/etc/ld.so.cache", LIMIT_LDCACHE_SIZE, &data, &size,
			 &f->err) < 0)
		skip();
	assert_int_equal(ldcache_parse(&f->arena, data, size, &f->cache, &f->err), 0);
	for (size_t i = 0; i < f->cache.n; i++)
		assert_true(has(f, f->cache.items[i].soname, NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_forms),
		TEST(test_older_releases),
		TEST(test_shared_strings),
		TEST(test_has),
		TEST(test_not_sorted),
		TEST(test_every_name_is_found),
		TEST(test_order_of_names),
		TEST(test_damaged_head),
		TEST(test_damaged_old_list),
		TEST(test_damaged_entries),
		TEST(test_long_strings),
		TEST(test_damaged_extensions),
		TEST(test_every_truncation),
		TEST(test_every_byte_changed),
		TEST(test_large),
		TEST(test_no_memory),
		TEST(test_as_ldconfig_writes_it),
		TEST(test_system_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
