/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Runs the hooks of specs that are programs, each in the namespaces and with the state of its stage. */
#include "arena.h"
#include "container.h"
#include "error.h"
#include "plan.h"
#include "program.h"
#include "trusted.h"

struct hook_runner {
	struct arena *arena;
	const struct plan *plan;
	const struct trust *trust; /* its root is the host's, or what we were started in */
	int cwd_fd;                /* what the runtime gave us as working directory */
	const char *bundle;
	const char *state; /* as the runtime gave it to us, with this bundle in it */
	size_t state_size;
	/* Whose namespaces are entered for hooks of createContainer; NULL: all run where we are. */
	const struct container *container;
	/* Whose namespaces we are in already; NULL: none's. */
	const struct container *around;

	/* Made by hook_runner_open(): */
	struct program *programs; /* one a hook of the plan; fd -1 for those that are built in */
	size_t n_programs;
	int proc_fd;
	int mount_namespace_fd; /* ours, to go back to; -1: it is never left */
	int pid_namespace_fd;   /* the container's */
};

#define HOOK_RUNNER_NULL .proc_fd = -1, .mount_namespace_fd = -1, .pid_namespace_fd = -1

/*
 * Finds all programs and judges them, so that what is missing is missed before anything is changed. The upper members
 * of `runner` are the caller's.
 *
 * Runs in: the namespaces in which we were started. Trusts: root's files. Hostile: nothing.
 */
int hook_runner_open(struct hook_runner *runner, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Runs them, by stages, those of a stage in the order of the specs. The first that fails is the last that runs. Failures
 * are EXIT_CODE_VENDOR_HOOK. What a program does cannot be taken back: so this comes behind everything else. `later` are the
 * steps that may follow (privilege.h).
 *
 * Runs in: the host's namespaces, or the container's mount namespace if `container` is set. Trusts: the programs.
 * Hostile: what the container's mount namespace shows below its root.
 */
int hook_runner_run(const struct hook_runner *runner, unsigned later, struct error *err)
	__attribute__((nonnull, warn_unused_result));

void hook_runner_close(struct hook_runner *runner) __attribute__((nonnull));
