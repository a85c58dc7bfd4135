/* SPDX-License-Identifier: Apache-2.0 */
/* A library cache of an image, read and with its first entries pointed elsewhere. */
#include "fuzz.h"

#include "ldcache.h"

#define LIBRARIES 4

/* Whether any entry leads from this name to this path, for whatever machine. */
static bool leads_to(const struct ldcache *cache, const char *soname, const char *path)
{
	for (size_t i = 0; i < cache->n; i++)
		if (strcmp(cache->items[i].soname, soname) == 0 &&
		    strcmp(cache->items[i].path, path) == 0)
			return true;
	return false;
}

static void redirect(struct arena *arena, const char *data, size_t size,
		     const struct ldcache *cache)
{
	struct ldcache_library libraries[LIBRARIES];
	struct ldcache again;
	struct error err = {0};
	size_t n = cache->n < LIBRARIES ? cache->n : LIBRARIES, new_size;
	char *new_data;

	for (size_t i = 0; i < n; i++)
		libraries[i] = (struct ldcache_library){cache->items[i].soname, "/opt/x/libx.so",
							cache->items[i].flags};
	int r = ldcache_redirect(arena, data, size, libraries, n, &new_data, &new_size, &err);
	fuzz_check_error(r, &err);
	if (r < 0)
		return;
	/* What comes out is a cache, and has what was asked for. */
	r = ldcache_parse(arena, new_data, new_size, &again, &err);
	assert(r == 0 || err.errnum == 12 /* ENOMEM */);
	for (size_t i = 0; r == 0 && i < n; i++)
		assert(leads_to(&again, libraries[i].soname, libraries[i].path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ldcache cache;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	int r = ldcache_parse(&arena, (const char *)data, size, &cache, &err);
	fuzz_check_error(r, &err);
	if (r == 0 && size < FUZZ_MEMORY / 8)
		redirect(&arena, (const char *)data, size, &cache);
	arena_done(&arena);
	return 0;
}
