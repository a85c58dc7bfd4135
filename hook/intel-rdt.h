/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The cache class that a container's process joins (CDI 0.7.0 intelRdt). */
#include "arena.h"
#include "container.h"
#include "error.h"
#include "plan.h"

/*
 * Opens the list of tasks of the class that the plan names, which must have one, and compares what
 * it allots. Returns the fd.
 */
int intel_rdt_open(struct arena *arena, const struct plan_intel_rdt *wanted, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Puts the container's process into the class, all its threads: they are still the runtime's. */
int intel_rdt_join(struct arena *arena, int tasks_fd, const struct container *container,
		   struct error *err) __attribute__((nonnull, warn_unused_result));
