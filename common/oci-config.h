/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The few fields of a bundle's config.json that this program needs (runtime-spec, config.md). */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "oci-state.h"
#include "stage.h"

/* One entry of linux.resources.devices. */
struct oci_device_rule {
	bool allow;
	char type;            /* 'a' (both), 'b' or 'c' */
	int64_t major, minor; /* -1: any */
	unsigned access;      /* DEVICE_READ and so on; 0 where the entry has none */
};

struct oci_device_rules {
	struct oci_device_rule *items;
	size_t n, cap;
};

/* What a runtime makes the container's device cgroup from, beside its own defaults. */
struct oci_devices {
	struct oci_device_rules rules; /* in their order */
	struct string_list nodes;      /* paths of linux.devices */
	/*
	 * A sentence about what stands there that no two runtimes read alike, or NULL. It is an error only for whoever
	 * needs these rules, which is rare: the runtime has taken the file.
	 */
	const char *problem;
};

/* One entry of `hooks`. */
struct oci_hook {
	enum stage stage; /* of the list in which it stands */
	const char *path;
	struct string_list args; /* args[0] included */
};

/* One entry of `mounts`; what it does not have is NULL. */
struct oci_mount {
	const char *destination, *source;
	struct string_list options;
};

struct oci_config {
	const char *root_path; /* as it stands in the file; may be relative to the bundle */
	bool root_readonly;
	uint32_t uid, gid; /* process.user; 0 when absent */
	struct {
		uint32_t *items;
		size_t n, cap;
	} additional_gids;      /* process.user.additionalGids */
	struct string_list env; /* process.env */
	bool user_namespace;    /* linux.namespaces has the type "user", or there are id mappings */
	bool id_mapped;         /* that type, and mappings of both users and groups */
	bool mount_namespace;   /* linux.namespaces has the type "mount" */
	struct oci_devices devices;
	ARRAY(struct oci_hook) hooks; /* in the order in which they run */
	ARRAY(struct oci_mount) mounts;
	struct oci_annotation_list annotations;
	const char *cgroups_path; /* of section linux; NULL when absent */
	const char *
		mount_label; /* linux.mountLabel, SELinux's for the container's files; NULL when absent, empty or unusable */
	const char *mount_label_problem; /* why it is unusable: a sentence; else NULL */
};

/* As strict as oci_state_parse; unknown members are ignored. Failures are EXIT_CODE_CONTAINER: "config.json: ...". */
int oci_config_parse(struct arena *arena, const char *data, size_t size,
		     struct oci_config *ret_config, struct error *err)
	__attribute__((nonnull, warn_unused_result));
