/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Which CDI devices a container asks for, and who asks. */
#include "arena.h"
#include "error.h"
#include "oci-state.h"

struct request {
	const char *device;     /* vendor/class=name; from the command line perhaps a bare name */
	const char *annotation; /* the key that asks; NULL: the command line */
	const char *pattern;    /* the pattern that allows it; NULL until allow_check() */
};

struct request_list {
	struct request *items;
	size_t n, cap;
};

/*
 * The devices of the command line first, then those of the annotations whose key starts with one of `prefixes`: keys
 * in bytewise order, values split at commas in their order. A device asked for twice counts once, at its first place;
 * one that the command line asks for needs no pattern. A malformed value fails with EXIT_CODE_REQUEST and names the annotation:
 * `annotation cdi.k8s.io/x: device "bad": ...`. All malformed values are reported together.
 */
int request_collect(struct arena *arena, const struct oci_state *state,
		    const struct string_list *prefixes, const struct string_list *devices,
		    struct request_list *ret_requests, struct error *err)
	__attribute__((nonnull, warn_unused_result));
