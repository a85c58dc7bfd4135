/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The part of a plan that is about finding libraries by name. plan.c calls it last. */
#include "plan.h"

/*
 * Adds the shared libraries that the plan's mounts bring: files with a soname, under a name that ldconfig looks
 * at, and those directly in a mounted directory.
 */
int plan_libraries(struct arena *arena, struct plan *plan, const struct host_view *host,
		   struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 3, 5), warn_unused_result));

/* ldconfig's own rule for the last component of `path`: lib*.so* and ld-*.so*. */
bool plan_is_library_name(const char *path) __attribute__((nonnull));
