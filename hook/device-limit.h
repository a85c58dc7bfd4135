/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What keeps a container from devices: looked at, and not changed. For cdictl; the hook changes it at once (device-cgroup.h). */
#include <stdbool.h>
#include <stdint.h>

#include "cgroup.h"

/* One thing that keeps it from one rule's device, or of which nobody can tell whether it does. */
struct device_limit {
	size_t rule; /* its index */
	enum cgroup_version version;
	const char *cgroup; /* whose list or program it is; NULL: above those that can be seen */
	bool above;         /* it is none of the container's own cgroup */
	unsigned refused;   /* what of the rule's access; 0: unknown, and `problem` says why */
	const char *problem;
	/* A program of v2: */
	uint32_t program;
	char name[16]; /* may be empty */
	bool pinned;   /* it is what systemd attaches from a pin of the unit */
	/* The scope that systemd made for the container: without a name where there is none. */
	struct systemd_unit unit;
};

struct device_limits {
	struct device_limit *items;
	size_t n, cap;
};

/*
 * Looks through all that limits devices in the container's cgroups and in those above. Where nothing is found all rules are
 * allowed. Fails where the cgroups themselves cannot be looked at.
 *
 * Runs in: the host's namespaces, as root. Trusts: procfs, the kernel's cgroup file systems, root's files below /run/systemd.
 * Hostile: nothing of the container is looked at.
 */
int device_limits_find(const struct device_cgroup_target *target, const struct device_rule *rules,
		       size_t n_rules, struct device_limits *ret_limits, struct error *err)
	__attribute__((nonnull, warn_unused_result));
