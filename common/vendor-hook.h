/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Hooks of specs that this program does itself instead of running them: the NVIDIA family's command
 * lines (nvidia-cdi-hook, nvidia-ctk hook, rbln-cdi-hook, hcu-cdi-hook), recognised by their words.
 */
#include <stdbool.h>

#include "arena.h"
#include "cdi-spec.h"
#include "error.h"

enum vendor_hook_kind {
	VENDOR_HOOK_OTHER,          /* not of the family, or a command that is not built in */
	VENDOR_HOOK_UPDATE_LDCACHE, /* refresh the library cache */
};

struct vendor_hook {
	enum vendor_hook_kind kind;
	struct string_list folders; /* --folder of update-ldcache */
};

int vendor_hook_recognise(struct arena *arena, const struct cdi_hook *hook,
			  struct vendor_hook *ret_hook, struct error *err)
	__attribute__((nonnull, warn_unused_result));
