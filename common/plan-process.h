/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The part of a plan that concerns the container's process and its network, merged over all devices
 * before any of it is planned: environment, groups, network interfaces, cache classes.
 */
#include "plan.h"

struct plan_process {
	struct arena *arena;
	const struct oci_config *config;
	enum stage stage;
	struct notes *notes; /* may be NULL */
	ARRAY(struct plan_env) env;
	ARRAY(struct plan_gid) gids;
	ARRAY(struct plan_net_device) net_devices;
	struct plan_intel_rdt intel_rdt; /* the last one counts, as a whole */
};

/* The edits of one device, or of a spec, in the reference's order. */
int plan_process_add(struct plan_process *process, const struct cdi_edits *edits,
		     const struct origin *origin, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Puts what the container does not have yet into the plan. */
int plan_process_finish(struct plan_process *process, struct plan *plan, struct error *err)
	__attribute__((nonnull, warn_unused_result));
