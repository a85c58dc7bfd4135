/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON for scripts, its keys in the order in which they are put. Strings are as text_put_json() has them. `key` is NULL in
 * an array and for the outermost value.
 */
#include <stdbool.h>

#include "arena.h"
#include "text.h"

struct json_out {
	struct text text;
	unsigned depth;
	bool filled; /* the innermost object or array has a value already */
};

void json_out_begin(struct json_out *out, const char *key, char bracket)
	__attribute__((nonnull(1)));
void json_out_end(struct json_out *out, char bracket) __attribute__((nonnull));
/* NULL is null. */
void json_out_string(struct json_out *out, const char *key, const char *value)
	__attribute__((nonnull(1)));
void json_out_number(struct json_out *out, const char *key, long long value)
	__attribute__((nonnull(1)));
void json_out_bool(struct json_out *out, const char *key, bool value) __attribute__((nonnull(1)));
void json_out_list(struct json_out *out, const char *key, const struct string_list *list)
	__attribute__((nonnull(1, 3)));

/* Prints it to standard output. */
int json_out_print(struct json_out *out, struct error *err)
	__attribute__((nonnull, warn_unused_result));
