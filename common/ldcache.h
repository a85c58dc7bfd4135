/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An ld.so.cache image in memory: what glibc's ldconfig writes and its loader reads. */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

struct ldcache_entry {
	const char *soname; /* the key: "libfoo.so.1" */
	const char *path;   /* where the loader will open it */
	uint32_t flags; /* FLAG_ELF_LIBC6 with the architecture's bits, as ldconfig writes them */
	uint64_t hwcap;
	uint32_t kernel;        /* the oldest that it runs on; 0 from releases since 2.36 */
	const char *hwcap_name; /* of the glibc-hwcaps directory that it lies in, or NULL */
};

struct ldcache {
	struct ldcache_entry *items;
	size_t n, cap;
	bool has_byte_order; /* written by 2.33 or later */
	bool has_unknown;    /* there are extensions that came after these two: 0 and 1 */
};

/*
 * Parses the new format ("glibc-ld.so.cache1.1"), alone or behind the old one ("ld.so-1.7.0"), of this machine's byte
 * order. Strings point into `data`. A cache that is damaged anywhere fails: "ld.so.cache: ...".
 */
int ldcache_parse(struct arena *arena, const char *data, size_t size, struct ldcache *ret_cache,
		  struct error *err) __attribute__((nonnull, warn_unused_result));

/* Whether the loader would find `soname` at exactly `path`'s directory entry, or NULL for anywhere. */
bool ldcache_has(const struct ldcache *cache, const char *soname, const char *path)
	__attribute__((nonnull(1, 2)));

/* The order of sonames in a cache: numbers count as numbers. As strcmp() returns. */
int ldcache_compare_names(const char *a, const char *b) __attribute__((nonnull));

/* A library that a container must find at a certain path. */
struct ldcache_library {
	const char *soname;
	const char *path;
	uint32_t flags;    /* of its machine, as in entries */
	const char *hwcap; /* the glibc-hwcaps directory that it lies in, or NULL */
};

/* NULL when a merge can rely on the cache, else what is in the way: "its entries are not sorted". */
const char *ldcache_merge_problem(const struct ldcache *cache) __attribute__((nonnull));

/*
 * A new cache with all of `cache`, for which ldcache_merge_problem() was NULL, and these libraries, each named once
 * for a machine and capability. Where both have a soname for a machine, the library wins: the
 * cache's own entries stay only as what programs on lesser hardware get when all libraries of that soname are for
 * special hardware. Merging the same libraries again changes no byte.
 */
int ldcache_merge(struct arena *arena, const struct ldcache *cache,
		  const struct ldcache_library *libraries, size_t n_libraries, char **ret_data,
		  size_t *ret_size, struct error *err)
	__attribute__((nonnull(1, 2, 5, 6, 7), warn_unused_result));

/* Fails when the cache lacks one of these libraries (its soname, its machine): "ldconfig did not find libfoo.so.1 (/path)". */
int ldcache_check_found(const struct ldcache *cache, const struct ldcache_library *libraries,
			size_t n_libraries, struct error *err)
	__attribute__((nonnull(1, 4), warn_unused_result));

/*
 * Fails when `after` lacks a library that `before` has (its soname, its machine) and whose file is still there:
 * "ldconfig lost libfoo.so.1 (/path)". exists(data, path) tells 1 or 0, and is asked for those alone.
 */
int ldcache_check_lost(const struct ldcache *before, const struct ldcache *after,
		       int (*exists)(void *data, const char *path, struct error *err), void *data,
		       struct error *err) __attribute__((nonnull(1, 2, 3, 5), warn_unused_result));
