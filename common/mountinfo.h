/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* /proc/PID/mountinfo as data (proc(5)). Compared with libmount in its test. */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

struct mountinfo_entry {
	uint64_t id, parent;
	uint32_t major, minor;          /* of the file system */
	const char *root, *mount_point; /* octal escapes undone */
	const char *options;            /* per mount: "rw,nosuid" */
	unsigned shared, master;        /* peer group ids, 0 for none */
	bool unbindable;
	const char *fs_type, *source, *super_options;
};

struct mountinfo {
	struct mountinfo_entry *items;
	size_t n, cap;
};

/* Failures name the line: "mountinfo:3: expected a mount id". */
int mountinfo_parse(struct arena *arena, const char *data, size_t size, struct mountinfo *ret_table,
		    struct error *err) __attribute__((nonnull, warn_unused_result));

/* The mount with this id, or NULL. */
const struct mountinfo_entry *mountinfo_find(const struct mountinfo *table, uint64_t id)
	__attribute__((nonnull));
/* Whether any mount of the table shows the file system major:minor. */
bool mountinfo_has_device(const struct mountinfo *table, uint32_t major, uint32_t minor)
	__attribute__((nonnull));
