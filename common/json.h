/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Strict JSON (RFC 8259): a scanner that decides what is JSON and where each value stands, a reader
 * into json-c's values, and getters whose errors name the place in the document. See json.c for why
 * json-c does not read itself.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

/*
 * Errors leave the class to the caller (error_class()), except that running out of memory is
 * EXIT_CODE_OTHER. `what` names the document in them: `state:1:17: expected a value, found "x"`,
 * `state: pid: expected a number`.
 */

/* ---- Scanner ---- */

enum json_token {
	JSON_TOKEN_END, /* the document is complete, and nothing is behind it */
	JSON_TOKEN_OBJECT,
	JSON_TOKEN_OBJECT_END,
	JSON_TOKEN_ARRAY,
	JSON_TOKEN_ARRAY_END,
	JSON_TOKEN_KEY, /* of a member; the next token begins its value */
	JSON_TOKEN_STRING,
	JSON_TOKEN_NUMBER,
	JSON_TOKEN_TRUE,
	JSON_TOKEN_FALSE,
	JSON_TOKEN_NULL,
};

struct json_scan {
	const char *what, *data;
	size_t size;
	size_t start, end; /* the last token is data[start] to data[end - 1], a string's quotes
			      included */
	unsigned depth;    /* objects and arrays that are open */
	uint64_t objects;  /* bit n: the n-th open one is an object */
	int expect;
	size_t values; /* objects and arrays included */
	size_t fault;  /* after a failure: the byte where it is */
};

void json_scan_init(struct json_scan *scan, const char *what, const char *data, size_t size)
	__attribute__((nonnull));

/*
 * Goes on to the next token and returns it, or a negative number. A scan that came to
 * JSON_TOKEN_END has seen nothing but JSON within the bounds of bounds.h. Duplicate members are not
 * the scanner's business.
 */
int json_scan_next(struct json_scan *scan, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* The last token, a key or a string, as text. NULL: no memory. */
char *json_scan_text(struct arena *arena, const struct json_scan *scan)
	__attribute__((nonnull, warn_unused_result));

/* Line and column of a byte, both from 1; a column is a character. */
void json_place(const char *data, size_t at, size_t *ret_line, size_t *ret_column)
	__attribute__((nonnull));

/* Scans a whole document. */
int json_check(const char *what, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));

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
