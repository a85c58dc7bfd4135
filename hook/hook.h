/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a hook does, from the state on stdin to the changed container. */
#include "arena.h"
#include "error.h"
#include "options.h"

/*
 * Runs one stage. `cwd_fd` is the directory that the runtime started us in. Nothing to do is
 * success. Lines for the user that do not stop the work go to the log.
 */
int hook_run(struct arena *arena, const struct options *options, int cwd_fd, struct error *err)
	__attribute__((nonnull, warn_unused_result));
