/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The part of a plan that is about hooks of specs that are built in: what is left of them on this host, for this container. */
#include "plan.h"

/*
 * Looks up what the hook needs of the host and of config.json. Where that leaves nothing to do the hook becomes
 * VENDOR_HOOK_NOTHING, with a note; where only the vendor's program can do it, VENDOR_HOOK_OTHER.
 */
int plan_builtin_settle(struct arena *arena, const struct oci_config *config,
			const struct host_view *host, struct vendor_hook *hook, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * What the plan's links mean for its libraries, when its mounts are known, and its libraries if `has_libraries` says so:
 * links that others lead to are added, and names by which libraries are to be found.
 */
int plan_builtin_links(struct arena *arena, struct plan *plan, bool has_libraries,
		       const struct host_view *host, struct error *err)
	__attribute__((nonnull, warn_unused_result));
