/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A plan applied to an OCI config.json: stage precreate, and cdictl inject. */
#include "arena.h"
#include "error.h"
#include "plan.h"

/*
 * The config with what the plan wants in it; `plan` was built for a stage that edits config.json, from this same config,
 * which oci_config_parse() took. What is there already is left alone, so that a second edit changes nothing. All bytes outside
 * the edits stay as they are; `*ret_data` is `data` itself where there is nothing to do. A config in which an edit finds
 * something else in its place fails with EXIT_CODE_CONTAINER: "config.json: mounts: expected an array".
 */
int config_edit(struct arena *arena, const char *data, size_t size, const struct plan *plan,
		const char **ret_data, size_t *ret_size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
