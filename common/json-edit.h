/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A JSON document whose bytes stay as they are, but for what is edited: values are read by json-c, places come from the
 * scanner, and edits are spliced into the text.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "error.h"
#include "json.h"

/* `text` takes the place of data[start] to data[end - 1]. */
struct json_splice {
	size_t start, end;
	const char *text;
};

struct json_edit {
	struct arena *arena;
	const char *what, *data;
	size_t size;
	struct json_object *tree;
	ARRAY(struct json_splice) splices;
	const char *comma,
		*colon; /* as the document writes them: with a blank behind, or without */
};

/* A member or item as it stands in the document. */
struct json_edit_child {
	const char *key;   /* of a member, escapes resolved */
	size_t lead;       /* where the bytes begin that belong to it: behind the value before it */
	size_t lead_end;   /* and end: its key, or its value */
	size_t key_end;    /* of a member */
	size_t start, end; /* its value */
};

struct json_edit_children {
	struct json_edit_child *items;
	size_t n, cap;
};

struct json_edit_object {
	struct json_edit *edit;
	struct json_edit_object *parent; /* NULL: the document itself */
	struct json_at at;               /* value NULL: it is not there */
	size_t start;
	struct json_edit_children members;
	const char *added; /* members, as text */
};

/* An item of an array that is edited. */
struct json_edit_item {
	const struct json_edit_child *child; /* where it stood; NULL: it is new */
	struct json_at at;                   /* what it was */
	const char *text;                    /* what it is now; NULL: the same */
	unsigned rank;                       /* for json_edit_sort() */
};

struct json_edit_array {
	struct json_edit_object *parent;
	struct json_at at;
	size_t start;
	struct json_edit_children children;
	ARRAY(struct json_edit_item) items;
	bool changed;
};

/*
 * Reads a document, which must be an object without duplicate members. `data` is used until the end. Errors are those of
 * json_parse(). What was opened is closed, also after a failure.
 */
int json_edit_open(struct arena *arena, struct json_edit *edit, const char *what, const char *data,
		   size_t size, struct error *err) __attribute__((nonnull, warn_unused_result));
void json_edit_close(struct json_edit *edit) __attribute__((nonnull));
#define _cleanup_json_edit_ __attribute__((cleanup(json_edit_close)))

/*
 * Goes into an object; `parent` NULL and `key` NULL: the document. One that is not there, or null, comes to be when
 * something was set in it and json_edit_leave() is called. A parent is not touched between the two, and none of them moves.
 */
int json_edit_enter(struct json_edit *edit, struct json_edit_object *parent, const char *key,
		    struct json_edit_object *ret_object, struct error *err)
	__attribute__((nonnull(1, 4, 5), warn_unused_result));
int json_edit_leave(struct json_edit_object *object, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Replaces a member's value, or adds the member at the end; `value` is JSON. One that has this value already stays as it is. */
int json_edit_set(struct json_edit_object *object, const char *key, const char *value,
		  struct error *err) __attribute__((nonnull, warn_unused_result));

/* The same for an array. Items are read from `items`, and changed by the functions below; `item` is an index there. */
int json_edit_enter_array(struct json_edit_object *parent, const char *key,
			  struct json_edit_array *ret_array, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int json_edit_leave_array(struct json_edit_array *array, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int json_edit_append(struct json_edit_array *array, const char *value, struct error *err)
	__attribute__((nonnull, warn_unused_result));
void json_edit_replace(struct json_edit_array *array, size_t item, const char *value)
	__attribute__((nonnull));
void json_edit_remove(struct json_edit_array *array, size_t item) __attribute__((nonnull));
/* By rank, lowest first; those of equal rank keep their order. */
void json_edit_sort(struct json_edit_array *array) __attribute__((nonnull));

/* The whole text. `*ret_data` is the document itself where nothing was edited. */
int json_edit_finish(struct json_edit *edit, const char **ret_data, size_t *ret_size,
		     struct error *err) __attribute__((nonnull, warn_unused_result));
