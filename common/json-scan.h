/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Strict JSON (RFC 8259): what is JSON, and where each value stands. See json-scan.c for why json-c does not read itself.
 */
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

/*
 * Errors leave the class to the caller (error_class()), except that running out of memory is
 * EXIT_CODE_OTHER. `what` names the document in them: `state:1:17: expected a value, found "x"`.
 */

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

/* The same into `text`, which has room for the token and a NUL. Returns its length. */
size_t json_scan_write(const struct json_scan *scan, char *text) __attribute__((nonnull));

/* Line and column of a byte, both from 1; a column is a character. */
void json_place(const char *data, size_t at, size_t *ret_line, size_t *ret_column)
	__attribute__((nonnull));

/* Scans a whole document. */
int json_check(const char *what, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
