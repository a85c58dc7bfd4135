/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Runs one program to its end, whatever it does. */
#include <stddef.h>

#include "arena.h"
#include "error.h"
#include "program.h"

struct child {
	const struct program *program;
	char *const *argv, *const *envp;
	const char *input; /* what it reads on stdin */
	size_t input_size;
	long long timeout_ms; /* 0: only the deadline of the run counts */
	int proc_fd;          /* a procfs for our pid namespace */
	int pid_namespace_fd; /* where it is born; -1: with us */
	/* What the child does before it becomes the program: enters its namespaces and its working directory. */
	int (*enter)(const void *data, struct error *err);
	const void *data;
};

/*
 * The program gets its arguments and environment as given, `input` and the end of it on stdin, one pipe for stdout and
 * stderr, no other descriptor, a session of its own, no signal blocked or ignored, umask 022, and no capability that
 * would outlive an exec of somebody else's. It dies with us.
 *
 * 0: it ended with exit code 0. Everything else is a failure with EXIT_CODE_VENDOR_HOOK that quotes what it said, after
 * which the program and all that it started here are dead: another exit code, a signal, no end in time, more than
 * LIMIT_HOOK_OUTPUT bytes of output, or a process left behind that keeps its output open.
 *
 * Runs in: the caller's namespaces. Trusts: the program. Hostile: nothing, but the program may be broken.
 */
int child_run(struct arena *arena, const struct child *child, struct error *err)
	__attribute__((nonnull, warn_unused_result));
