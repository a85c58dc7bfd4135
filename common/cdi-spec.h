/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One CDI spec file as data, in the words of CDI 1.1.0. Lists keep the order of the file. Text fields that are absent
 * are NULL, or "" where the file says so. All of it lives in the arena that was handed to cdi_spec_parse().
 */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "cdi-problem.h"
#include "error.h"
#include "notes.h"

/* Where in the spec file something stands; both count from 1. */
struct cdi_place {
	unsigned line, column;
};

struct cdi_device_node {
	struct cdi_place place;
	const char *path;
	const char *host_path; /* NULL: the same as path */
	const char *type;      /* "b", "c", "u", "p", or NULL or "" */
	int64_t major, minor;  /* 0 where absent, as in the reference */
	bool has_file_mode, has_uid, has_gid;
	uint32_t file_mode, uid, gid;
	const char *permissions; /* letters of "rwm", "none", or NULL or "" */
};

struct cdi_mount {
	struct cdi_place place;
	const char *host_path;
	const char *container_path;
	const char *type; /* NULL or "" for a bind mount */
	struct string_list options;
};

struct cdi_hook {
	struct cdi_place place;
	const char *hook_name;
	const char *path;
	struct string_list args; /* args[0] included */
	struct string_list env;
	bool has_timeout;
	int64_t timeout; /* seconds */
};

struct cdi_net_device {
	struct cdi_place place;
	const char *host_interface_name;
	const char *name;
};

struct cdi_intel_rdt {
	struct cdi_place place;
	const char *clos_id;
	const char *l3_cache_schema;
	const char *mem_bw_schema;
	bool has_schemata;
	struct string_list schemata;
	bool enable_monitoring;
	bool enable_cmt, enable_mbm; /* cdiVersion 0.7.0 to 1.0.0 only */
};

struct cdi_gid_list {
	uint32_t *items;
	size_t n, cap;
};

struct cdi_edits {
	struct string_list env; /* NAME=value */
	ARRAY(struct cdi_device_node) device_nodes;
	ARRAY(struct cdi_net_device) net_devices;
	ARRAY(struct cdi_mount) mounts;
	ARRAY(struct cdi_hook) hooks;
	struct cdi_intel_rdt *intel_rdt; /* NULL when absent */
	struct cdi_gid_list additional_gids;
};

struct cdi_annotation {
	const char *key, *value;
};

struct cdi_device {
	struct cdi_place place;
	const char *name;
	ARRAY(struct cdi_annotation) annotations;
	struct cdi_edits edits;
};

struct cdi_spec {
	const char *file; /* as it was handed in: for messages */
	const char *version;
	const char *kind; /* vendor/class */
	ARRAY(struct cdi_annotation) annotations;
	ARRAY(struct cdi_device) devices;
	struct cdi_edits edits;
};

/*
 * Reads and validates one spec file, .json or .yaml alike (CDI 1.1.0 and the reference's checks).
 *
 * `file` is for messages only. With `lenient`, unknown keys are noted instead of refused.
 * On failure the sentence is "FILE:LINE:COLUMN: json.path: what is wrong" with EXIT_CODE_SPEC, and `*ret_kind` is the
 * file's kind where it could be read, else NULL: a caller that misses a device then knows whether this file had it.
 */
int cdi_spec_parse(struct arena *arena, const char *file, const char *data, size_t size,
		   bool lenient, struct notes *notes, struct cdi_spec **ret_spec,
		   const char **ret_kind, struct error *err)
	__attribute__((nonnull(1, 2, 3, 7, 8, 9), warn_unused_result));

/*
 * Everything that is wrong or strange in one file, in the order of the file: an error of one value hides nothing of the
 * next, only bad YAML ends it. Returns 0 when the file was looked through, whatever was found, or -ENOMEM.
 * `*ret_spec` is NULL where there is an error, which is exactly where cdi_spec_parse() fails.
 */
int cdi_spec_check(struct arena *arena, const char *file, const char *data, size_t size,
		   bool lenient, struct cdi_problem_list *ret_problems, struct cdi_spec **ret_spec,
		   const char **ret_kind, struct error *err)
	__attribute__((nonnull, warn_unused_result));
