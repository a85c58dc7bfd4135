/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The few fields of a bundle's config.json that this program needs (runtime-spec, config.md). */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

struct oci_config {
	const char *root_path; /* as it stands in the file; may be relative to the bundle */
	bool root_readonly;
	uint32_t uid, gid; /* process.user; 0 when absent */
	bool user_namespace; /* linux.namespaces has the type "user", or there are id mappings */
	bool mount_namespace; /* linux.namespaces has the type "mount" */
};

/* As strict as oci_state_parse; unknown members are ignored. Failures are EXIT_CODE_CONTAINER: "config.json: ...". */
int oci_config_parse(struct arena *arena, const char *data, size_t size, struct oci_config *ret_config,
		     struct error *err) __attribute__((nonnull, warn_unused_result));
