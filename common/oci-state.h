/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a runtime writes to a hook's stdin (runtime-spec, section State), as runc, crun and youki really send it. */
#include <sys/types.h>

#include "arena.h"
#include "error.h"

struct oci_annotation {
	const char *key, *value;
};

/* Sorted by key, bytewise. */
struct oci_annotation_list {
	struct oci_annotation *items;
	size_t n, cap;
};

struct oci_state {
	const char *id;
	const char *bundle; /* NULL where the runtime sends none */
	pid_t pid; /* as the runtime sees it; 0 when absent. Meaningless in createContainer */
	struct oci_annotation_list annotations;
};

/*
 * Unknown members are ignored (crun adds `root`). The text must be strict JSON (RFC 8259) without duplicate members,
 * NUL bytes in strings or bytes behind it; numbers are whole and in range. Failures are EXIT_CODE_REQUEST and name the
 * JSON path: "state: pid: expected a number".
 */
int oci_state_parse(struct arena *arena, const char *data, size_t size, struct oci_state *ret_state,
		    struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * The text of a state for a hook that is not called by the runtime itself: every byte of `data`, which oci_state_parse()
 * has taken, but for the values of `pid` and `bundle`. Where they are absent they are added. `pid` 0 and `bundle` NULL
 * leave them as they are.
 */
int oci_state_adapt(struct arena *arena, const char *data, size_t size, pid_t pid,
		    const char *bundle, const char **ret_text, size_t *ret_size, struct error *err)
	__attribute__((nonnull(1, 2, 6, 7, 8), warn_unused_result));

/* The annotations of a document that has such: a state, or a config. */
struct json_at;
int oci_annotations_read(struct arena *arena, const struct json_at *root,
			 struct oci_annotation_list *list, struct error *err)
	__attribute__((nonnull, warn_unused_result));
