/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Users and groups of a user namespace: the text of /proc/PID/uid_map and gid_map (user_namespaces(7)). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

/* What an id looks like in a user namespace that does not have it (the kernel's default for overflowuid). */
#define OVERFLOW_ID 65534

struct id_range {
	uint32_t inside, outside, count;
};

struct id_map {
	struct id_range *items;
	size_t n, cap;
};

/* Failures name the line: "line 1: expected INSIDE OUTSIDE COUNT". */
int id_map_parse(struct arena *arena, const char *text, size_t size, struct id_map *ret_map,
		 struct error *err) __attribute__((nonnull, warn_unused_result));

/* What the id `inside` of the namespace is outside of it; false when it is not mapped. */
bool id_map_outside(const struct id_map *map, uint32_t inside, uint32_t *ret_outside)
	__attribute__((nonnull));
/* Whether an id of the outside has a name inside. */
bool id_map_has_outside(const struct id_map *map, uint32_t outside) __attribute__((nonnull));
/*
 * Whether somebody in the namespace may see `outside`, an id of the outside, as `seen`. A map may cover OVERFLOW_ID itself: what
 * is seen as that is either its id or one without a name.
 */
bool id_map_shows(const struct id_map *map, uint32_t outside, uint32_t seen)
	__attribute__((nonnull));
/* Whether every id means itself, as in the namespace that the kernel starts with. */
bool id_map_is_identity(const struct id_map *map) __attribute__((nonnull));
