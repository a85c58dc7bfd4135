/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The stages of a container's life at which a hook may be called (runtime-spec; precreate is
 * podman's own). */
#include <stdbool.h>

enum stage {
	STAGE_PRECREATE,
	STAGE_PRESTART,
	STAGE_CREATE_RUNTIME,
	STAGE_CREATE_CONTAINER,
	STAGE_START_CONTAINER, /* only hooks of specs: its programs lie in the container */
	STAGE_POSTSTART,
	STAGE_POSTSTOP,
};

#define STAGE_COUNT 7

/* Whether the hook gets config.json at this stage and hands back an edited one, instead of changing a
 * container that is there. */
static inline bool stage_edits_config(enum stage stage)
{
	return stage == STAGE_PRECREATE;
}

/* In the specification's words: "createRuntime". */
const char *stage_name(enum stage stage);
/* The stage with this name, or -1. Letter case counts, as it does for the runtimes. */
int stage_from_name(const char *name) __attribute__((nonnull));
