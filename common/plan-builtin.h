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

/* Makes links of all VENDOR_HOOK_CREATE_SONAME_SYMLINKS, when the plan's mounts are known. */
int plan_builtin_soname_links(struct arena *arena, struct plan *plan, const struct host_view *host,
			      struct error *err) __attribute__((nonnull, warn_unused_result));
