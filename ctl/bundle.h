/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A bundle directory that a person names. */
#include "arena.h"
#include "error.h"
#include "oci-config.h"

/* Reads DIR/config.json. Failures are EXIT_CODE_CONTAINER: "bundle DIR: ...". */
int bundle_read(struct arena *arena, const char *dir, struct oci_config *ret_config,
		struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * The root file system of the bundle, opened O_PATH: what its root.path leads to on the host.
 */
int bundle_open_root(const char *dir, const struct oci_config *config, struct error *err)
	__attribute__((nonnull, warn_unused_result));
