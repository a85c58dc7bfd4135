/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The container's device cgroup: which devices its processes may open. cgroup-v1.c and cgroup-v2.c
 * do the work.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"
#include "notes.h"
#include "oci-config.h"
#include "plan.h"
#include "undo.h"

struct device_cgroup_target {
	struct arena *arena;
	int proc_fd; /* a procfs of our own, for the pid namespace we are in */
	pid_t pid;   /* the container's first process; our own where `inside` */
	int pid_fd;  /* holds it, so that its number stays its own; -1 where it needs no proof */
	bool inside; /* stage createContainer: we are in the container's cgroup and namespaces */
	struct notes *notes;
	/* What the runtime made its rules from, for where the kernel hides them. NULL: not known. */
	const struct oci_devices *devices;
};

/*
 * Allows `rules` to the container, in every hierarchy that limits its devices, and reads the result
 * back. Rules that are allowed already change nothing. A hierarchy in which the container's cgroup
 * is ours or the host's is left alone with a note. What was changed goes to `undo`. Failures are
 * EXIT_CODE_CGROUP.
 *
 * Runs in: the host's mount, pid and cgroup namespaces, before the container's mount namespace is
 * entered; at createContainer in the container's. Trusts: procfs, the kernel's cgroup file systems. Hostile: nothing of the image is
 * looked at.
 */
int device_cgroup_allow(const struct device_cgroup_target *target, const struct device_rule *rules,
			size_t n_rules, struct undo *undo, struct error *err)
	__attribute__((nonnull(1, 4, 5), warn_unused_result));
