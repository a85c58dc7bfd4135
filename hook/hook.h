/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a hook does, from the state on stdin to the changed container. */
#include "arena.h"
#include "error.h"
#include "options.h"

/*
 * Runs one stage. Nothing to do is success. Lines for the user that do not stop the work go to the
 * log.
 */
int hook_run(struct arena *arena, const struct options *options, struct error *err)
	__attribute__((nonnull, warn_unused_result));
