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
};

struct ldcache {
	struct ldcache_entry *items;
	size_t n, cap;
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

/* A library that a container must find at a certain path. */
struct ldcache_library {
	const char *soname;
	const char *path;
	uint32_t flags; /* of its machine, as in entries */
};

/*
 * A copy of the cache in which every entry for one of these libraries (its soname, its machine) names that library's
 * path. A library without any entry fails: "ldconfig did not find libfoo.so.1 (/path)". `data` must have passed
 * ldcache_parse().
 */
int ldcache_redirect(struct arena *arena, const char *data, size_t size,
		     const struct ldcache_library *libraries, size_t n_libraries, char **ret_data,
		     size_t *ret_size, struct error *err)
	__attribute__((nonnull(1, 2, 6, 7, 8), warn_unused_result));

/*
 * Fails when `after` lacks a library that `before` has (its soname, its machine) and whose file is still there:
 * "ldconfig lost libfoo.so.1 (/path)". exists(data, path) tells 1 or 0, and is asked for those alone.
 */
int ldcache_check_lost(const struct ldcache *before, const struct ldcache *after,
		       int (*exists)(void *data, const char *path, struct error *err), void *data,
		       struct error *err) __attribute__((nonnull(1, 2, 3, 5), warn_unused_result));
