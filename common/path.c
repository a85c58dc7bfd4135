/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as text. Specs and configs carry paths that later name mounts, nodes and rules; they are
 * brought into one form once, so that everything behind it compares bytes and never meets "..",
 * "//" or a relative path.
 */
#include "path.h"

#include <limits.h>
#include <string.h>

static bool has_dot_dot(const char *path)
{
	for (const char *at = path; *at;) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len == 2 && at[0] == '.' && at[1] == '.')
			return true;
		at += len;
	}
	return false;
}

static const char *problem_of(const char *path)
{
	if (path[0] == '\0')
		return "is empty";
	if (path[0] != '/')
		return "is not absolute";
	if (strlen(path) >= PATH_MAX)
		return "is too long";
	if (has_dot_dot(path))
		return "contains ..";
	return NULL;
}

const char *path_clean(struct arena *arena, const char *path, const char **ret_problem)
{
	*ret_problem = problem_of(path);
	if (*ret_problem)
		return NULL;

	char *clean = arena_alloc(arena, strlen(path) + 1);
	if (!clean)
		return NULL;
	size_t used = 0;
	for (const char *at = path; *at;) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len && !(len == 1 && at[0] == '.')) {
			clean[used++] = '/';
			memcpy(clean + used, at, len);
			used += len;
		}
		at += len;
	}
	if (!used)
		clean[used++] = '/';
	clean[used] = '\0';
	return clean;
}

const char *path_clean_in_root(struct arena *arena, const char *path)
{
	char *clean = arena_alloc(arena, strlen(path) + 2);
	size_t used = 0;

	if (!clean)
		return NULL;
	for (const char *at = path; *at;) {
		at += strspn(at, "/");
		size_t len = strcspn(at, "/");
		if (len == 2 && at[0] == '.' && at[1] == '.') {
			while (used > 0 && clean[--used] != '/')
				;
		} else if (len && !(len == 1 && at[0] == '.')) {
			clean[used++] = '/';
			memcpy(clean + used, at, len);
			used += len;
		}
		at += len;
	}
	if (!used)
		clean[used++] = '/';
	clean[used] = '\0';
	return clean;
}

bool path_is_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strcmp(prefix, "/") == 0)
		return path[0] == '/';
	return strncmp(path, prefix, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

unsigned path_depth(const char *path)
{
	unsigned depth = 0;

	for (const char *at = path; *at; at++)
		if (at[0] == '/' && at[1] != '\0')
			depth++;
	return depth;
}
