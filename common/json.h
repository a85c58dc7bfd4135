/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON that json-scan.h has found to be such, as json-c's values, and getters whose errors name the place in the document.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "json-scan.h"

/*
 * Errors leave the class to the caller (error_class()), except that running out of memory is
 * EXIT_CODE_OTHER. `what` names the document in them: `state: pid: expected a number`.
 */

/* ---- Values ---- */

static inline void json_put(struct json_object **value)
{
	json_object_put(*value);
	*value = NULL;
}

#define _cleanup_json_ __attribute__((cleanup(json_put)))

/*
 * Reads a document into a tree, which the caller puts. A member that stands twice in one object is
 * an error that names it. The arena lends room while this runs; the tree has memory of its own.
 */
int json_parse(struct arena *arena, const char *what, const char *data, size_t size,
	       struct json_object **ret_value, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* A value and the way to it. The parent must live as long, and not move. */
struct json_at {
	const struct json_at *parent; /* NULL: the document itself */
	const char *name; /* the member's key; what the document is called; NULL for an item */
	size_t index;     /* of an array's item */
	struct json_object *value; /* NULL: absent, or JSON's null, which counts as absent */
};

struct json_at json_root(const char *what, struct json_object *value) __attribute__((nonnull(1)));
/* Of an object and an array; a parent that is absent has only absent ones. */
struct json_at json_member(const struct json_at *object, const char *key) __attribute__((nonnull));
struct json_at json_item(const struct json_at *array, size_t index) __attribute__((nonnull));

enum json_need { JSON_OPTIONAL, JSON_REQUIRED };

/*
 * Each returns 1 when the value is there and of the right type, 0 when it is absent and optional
 * (then `*ret_...` is left alone), and a negative number else.
 */
int json_get_object(const struct json_at *at, enum json_need need, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int json_get_array(const struct json_at *at, enum json_need need, size_t *ret_count,
		   struct error *err) __attribute__((nonnull, warn_unused_result));
int json_get_string(struct arena *arena, const struct json_at *at, enum json_need need,
		    const char **ret_string, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int json_get_bool(const struct json_at *at, enum json_need need, bool *ret_bool, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* A whole number, written without fraction and exponent. */
int json_get_whole(const struct json_at *at, enum json_need need, int64_t min, int64_t max,
		   int64_t *ret_number, struct error *err)
	__attribute__((nonnull, warn_unused_result));
