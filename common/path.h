/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Lexical questions about paths. Nothing here looks at a file system. */
#include <stdbool.h>

#include "arena.h"

/*
 * The cleaned form of an absolute path: single slashes, no ".", no trailing slash; "/" stays "/".
 * NULL with `*ret_problem` set to what is wrong ("is not absolute", "contains ..", "is too long", "is empty"), or with
 * `*ret_problem` NULL where there is no memory.
 */
const char *path_clean(struct arena *arena, const char *path, const char **ret_problem)
	__attribute__((nonnull));

/*
 * The same for any path, as a process would take it whose working directory is its root: a relative one starts there,
 * and ".." goes up, there no further. NULL: no memory.
 */
const char *path_clean_in_root(struct arena *arena, const char *path) __attribute__((nonnull));

/* Whether cleaned `path` is `prefix` or lies below it, by whole components: /usr/lib is not below /usr/li. */
bool path_is_below(const char *path, const char *prefix) __attribute__((nonnull));

/* Number of components of a cleaned path: 0 for "/", 2 for "/usr/lib". */
unsigned path_depth(const char *path) __attribute__((nonnull));
