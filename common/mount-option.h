/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The option words of a CDI mount, as the numbers that the kernel's mount calls take. */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

struct mount_parameter {
	const char *key, *value; /* size=64k; of a tmpfs only */
};

struct mount_options {
	uint64_t attr_set, attr_clear; /* MOUNT_ATTR_* of <linux/mount.h> */
	uint64_t propagation; /* MS_PRIVATE, MS_SHARED, ...; MS_PRIVATE where the spec says nothing
			       */
	bool bind;            /* "bind" or "rbind" is among the words */
	bool recursive;       /* "rbind": mounts below the source come along */
	ARRAY(struct mount_parameter) parameters;
};

/*
 * Whether it is a word for config.json, which runtimes know and the kernel's mount calls have no bit for: id-mapped
 * mounts, attributes of the mounts below, copies of what a tmpfs hides.
 */
bool mount_option_is_runtimes(const char *word) __attribute__((nonnull));

/*
 * Later words win over earlier ones, as with mount(8). An unknown word fails with EXIT_CODE_SPEC
 * and names the nearest known one; so do parameters unless `tmpfs`.
 */
int mount_options_parse(struct arena *arena, const struct string_list *words, bool tmpfs,
			struct mount_options *ret_options, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* The same as text, in a fixed order: "rbind,ro,nosuid,rprivate". */
const char *mount_options_text(struct arena *arena, const struct mount_options *options)
	__attribute__((nonnull, warn_unused_result));
