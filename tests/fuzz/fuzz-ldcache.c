/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library cache of an image, read and with libraries merged into it: one that it has already, that one for special
 * hardware, one of another machine, and new ones from either end of the order.
 */
#include "fuzz.h"

#include "ldcache.h"

/* The first entry with this name, machine and kind that the loader comes to. */
static const struct ldcache_entry *find(const struct ldcache *cache,
					const struct ldcache_entry *wanted)
{
	for (size_t i = 0; i < cache->n; i++) {
		const struct ldcache_entry *entry = &cache->items[i];
		if (entry->flags == wanted->flags && entry->hwcap == wanted->hwcap &&
		    !entry->hwcap_name == !wanted->hwcap_name &&
		    ldcache_compare_names(entry->soname, wanted->soname) == 0)
			return entry;
	}
	return NULL;
}

static bool is_ours(const struct ldcache_library *libraries, size_t n,
		    const struct ldcache_entry *entry)
{
	for (size_t i = 0; i < n; i++)
		if (libraries[i].flags == entry->flags &&
		    ldcache_compare_names(libraries[i].soname, entry->soname) == 0)
			return true;
	return false;
}

/* What comes out is a cache that can be a base in its turn, finds ours, and leaves all others where they were. */
static void check(const struct ldcache *before, const struct ldcache *after,
		  const struct ldcache_library *libraries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert(ldcache_has(after, libraries[i].soname, libraries[i].path));
	for (size_t i = 0; i < before->n && i < 200; i++) {
		const struct ldcache_entry *entry = &before->items[i], *found;
		if (is_ours(libraries, n, entry) || entry->hwcap_name)
			continue;
		assert((found = find(after, entry)));
		assert(strcmp(found->path, find(before, entry)->path) == 0);
		assert(found->kernel == find(before, entry)->kernel);
	}
}

static bool has_long_number(const struct ldcache *cache)
{
	for (size_t i = 0; i < cache->n; i++) {
		size_t digits = 0;
		for (const char *at = cache->items[i].soname; *at; at++)
			if ((digits = *at >= '0' && *at <= '9' ? digits + 1 : 0) > 9)
				return true;
	}
	return false;
}

static void merge(struct arena *arena, const struct ldcache *cache)
{
	const struct ldcache_entry *one = cache->n ? &cache->items[cache->n / 2] : NULL;
	const struct ldcache_library libraries[] = {
		{"libzzz.so.1", "/opt/x/libzzz.so.1.2", 0x0303, NULL},
		{"liba.so", "/opt/x/liba.so", 0x0303, "x86-64-v3"},
		{"liba.so", "/opt/x/liba.so", 0x0003, NULL},
		{one ? one->soname : "libx.so", "/opt/x/libx.so.9", 0x0a03, NULL},
	};
	const size_t n = sizeof(libraries) / sizeof(libraries[0]);
	struct ldcache again;
	struct error err = {0};
	char *data, *twice;
	size_t size, twice_size;

	int r = ldcache_merge(arena, cache, libraries, n, &data, &size, &err);
	fuzz_check_error(r, &err);
	if (r < 0)
		return;
	r = ldcache_parse(arena, data, size, &again, &err);
	assert(r == 0 || err.errnum == 12 /* ENOMEM */);
	if (r < 0)
		return;
	check(cache, &again, libraries, n);
	/* Numbers that wrap around have no order, and then the second start may do it otherwise, or not at all. */
	if (has_long_number(&again))
		return;
	assert(!ldcache_merge_problem(&again));
	r = ldcache_merge(arena, &again, libraries, n, &twice, &twice_size, &err);
	assert(r == 0 || err.errnum == 12);
	assert(r < 0 || (size == twice_size && memcmp(data, twice, size) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ldcache cache;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	int r = ldcache_parse(&arena, (const char *)data, size, &cache, &err);
	fuzz_check_error(r, &err);
	if (r == 0 && size < FUZZ_MEMORY / 8 && !ldcache_merge_problem(&cache))
		merge(&arena, &cache);
	arena_done(&arena);
	return 0;
}
