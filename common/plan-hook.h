/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The part of a plan that the hooks of specs make: which of them run now, and which work of theirs this program does. */
#include "plan.h"

struct plan_hooks {
	struct arena *arena;
	const struct oci_config *config;
	const struct host_view *host;
	const struct plan_options *options;
	struct notes *notes;   /* may be NULL */
	struct error *missing; /* what is not there on the host is added to it */
	bool *taken;           /* for each hook of config.json: it is one of the specs' */
	bool hooks_only; /* the rest of the work was done at an earlier stage, or is not this stage's */
};

/*
 * Puts one hook into the plan: among those to run, to its library caches, or to what is unsupported. At a stage that
 * edits config.json all of them stay hooks. Refusals are EXIT_CODE_VENDOR_HOOK and name the device.
 */
int plan_hook_add(const struct plan_hooks *hooks, const struct cdi_hook *spec,
		  const struct origin *origin, struct plan *plan, struct error *err)
	__attribute__((nonnull, warn_unused_result));
