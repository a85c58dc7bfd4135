/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Giving a running container again what it has lost. */
#include "arena.h"
#include "error.h"
#include "process.h"

struct repair {
	const char *hook;                    /* the program's path */
	const char *bundle;                  /* the container's, or NULL: then one is made for it */
	const struct string_list *spec_dirs; /* absolute */
	char **devices;                      /* up to NULL */
	unsigned timeout;                    /* seconds */
	bool leave_cgroup;
};

/*
 * Refuses, with a sentence, a container to which nothing can be given while it runs. EXIT_CODE_CONTAINER.
 */
int repair_check_possible(const struct process *process, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Runs the hook for the process, as a runtime would before the container starts, but without hooks of specs: what is there
 * stays, what is missing is put there, all of it or nothing. The hook's own sentences go to standard error. Fails where it
 * cannot be run, with -errno; else returns what the hook ended with, 0 when all is done.
 */
int repair_run(struct arena *arena, const struct process *process, const struct repair *repair,
	       struct error *err) __attribute__((nonnull, warn_unused_result));
