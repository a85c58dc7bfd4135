/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How files of an image are looked at: paths are those of the container, absolute. The privileged part reaches them
 * without leaving the container's root; tests answer from a tree of their own.
 */
#include "arena.h"
#include "error.h"

/*
 * read: the whole of a regular file of at most `limit` bytes; -ENOENT when missing.
 * list: the names in a directory, sorted bytewise, at most LIMIT_LDCONF_NAMES; -ENOENT when missing.
 * exists: 1, or 0 for what cannot be reached inside the root.
 */
struct image_view {
	int (*read)(void *data, struct arena *arena, const char *path, size_t limit,
		    char **ret_text, size_t *ret_size, struct error *err);
	int (*list)(void *data, struct arena *arena, const char *path,
		    struct string_list *ret_names, struct error *err);
	int (*exists)(void *data, const char *path, struct error *err);
	void *data;
};
