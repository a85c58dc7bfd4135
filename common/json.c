/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the scanner's tokens to json-c's values, whose constructors tell when they fail, and from these to what a reader of state
 * and config wants, with the way to a value in every error. json-scan.c says why json-c does not read itself.
 */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

/* ---- Tree ---- */

struct builder {
	struct arena *arena;
	struct json_scan scan;
	struct json_object *root;
	struct json_object
		*open[LIMIT_DEPTH]; /* each belongs to the one before it, the first is the root */
	const char *key;            /* of the value that comes next, in an object */
	char *text;                 /* room for any string of the document */
};

/* A number without fraction and exponent that is not too large. (strtoll() would look at the locale first.) */
static bool is_whole(const char *s, size_t len, int64_t *ret_number)
{
	bool negative = *s == '-';
	int64_t number = 0;

	for (size_t i = negative; i < len; i++) {
		int digit = s[i] - '0';
		if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		    (negative ? __builtin_sub_overflow(number, digit, &number)
			      : __builtin_add_overflow(number, digit, &number)))
			return false;
	}
	*ret_number = number;
	return true;
}

/* Fractions, exponents and what is too large: no field of ours takes those, but they keep their text. */
static COLD struct json_object *new_double(const char *s, size_t len)
{
	char text[LIMIT_JSON_NUMBER + 1];

	memcpy(text, s, len);
	text[len] = '\0';
	return json_object_new_double_s(strtod(text, NULL), text);
}

/* NULL: no memory. */
static struct json_object *new_number(const struct json_scan *scan)
{
	const char *s = scan->data + scan->start;
	size_t len = scan->end - scan->start;
	int64_t whole;

	return is_whole(s, len, &whole) ? json_object_new_int64(whole) : new_double(s, len);
}

/* Makes the value of a token that is not null. NULL: no memory. */
static struct json_object *new_value(struct builder *builder, int token)
{
	switch (token) {
	case JSON_TOKEN_OBJECT:
		return json_object_new_object();
	case JSON_TOKEN_ARRAY:
		return json_object_new_array();
	case JSON_TOKEN_STRING:
		return json_object_new_string_len(
			builder->text, (int)json_scan_write(&builder->scan, builder->text));
	case JSON_TOKEN_NUMBER:
		return new_number(&builder->scan);
	default:
		return json_object_new_boolean(token == JSON_TOKEN_TRUE);
	}
}

static COLD int fault_twice(const struct builder *builder, struct error *err)
{
	size_t line, column;

	json_place(builder->scan.data, builder->scan.start, &line, &column);
	return error_say(err, EXIT_CODE_DONE,
			 "%s:%zu:%zu: the member \"%s\" stands twice in one object",
			 builder->scan.what, line, column, SHOW(builder->key));
}

static int build_key(struct builder *builder, struct error *err)
{
	struct json_object *object = builder->open[builder->scan.depth - 1];

	builder->key = json_scan_text(builder->arena, &builder->scan);
	if (!builder->key)
		return error_memory(err);
	return json_object_object_get_ex(object, builder->key, NULL) ? fault_twice(builder, err)
								     : 0;
}

/* Puts a value where it belongs, also when that fails. */
static int build_value(struct builder *builder, int token, struct error *err)
{
	struct json_object *value = token == JSON_TOKEN_NULL ? NULL : new_value(builder, token);
	bool opens = token == JSON_TOKEN_OBJECT || token == JSON_TOKEN_ARRAY;
	unsigned depth = builder->scan.depth - opens;
	int r = 0;

	if (!value && token != JSON_TOKEN_NULL)
		return error_memory(err);
	if (depth == 0)
		builder->root = value;
	else if (json_object_is_type(builder->open[depth - 1], json_type_object))
		r = json_object_object_add_ex(builder->open[depth - 1], builder->key, value,
					      JSON_C_OBJECT_ADD_KEY_IS_NEW);
	else
		r = json_object_array_add(builder->open[depth - 1], value);
	if (r < 0) {
		json_object_put(value);
		return error_memory(err);
	}
	if (opens)
		builder->open[depth] = value;
	return 0;
}

static int build(struct builder *builder, struct error *err)
{
	int token, r = 0;

	while (r >= 0 && (token = json_scan_next(&builder->scan, err)) != JSON_TOKEN_END) {
		if (token < 0)
			return token;
		if (token == JSON_TOKEN_KEY)
			r = build_key(builder, err);
		else if (token != JSON_TOKEN_OBJECT_END && token != JSON_TOKEN_ARRAY_END)
			r = build_value(builder, token, err);
	}
	return r;
}

int json_parse(struct arena *arena, const char *what, const char *data, size_t size,
	       struct json_object **ret_value, struct error *err)
{
	struct builder builder = {.arena = arena};
	int r;

	builder.text =
		arena_alloc(arena, (size < LIMIT_JSON_STRING ? size : LIMIT_JSON_STRING) + 1);
	if (!builder.text)
		return error_memory(err);
	json_scan_init(&builder.scan, what, data, size);
	r = build(&builder, err);
	if (r < 0)
		json_object_put(builder.root);
	else
		*ret_value = builder.root;
	return r;
}

/* ---- Getters ---- */

struct json_at json_root(const char *what, struct json_object *value)
{
	return (struct json_at){.name = what, .value = value};
}

struct json_at json_member(const struct json_at *object, const char *key)
{
	struct json_at at = {.parent = object, .name = key};

	if (json_object_is_type(object->value, json_type_object))
		json_object_object_get_ex(object->value, key, &at.value);
	return at;
}

struct json_at json_item(const struct json_at *array, size_t index)
{
	struct json_at at = {.parent = array, .index = index};

	if (json_object_is_type(array->value, json_type_array))
		at.value = json_object_array_get_idx(array->value, index);
	return at;
}

/* Whether a key can stand in a path without quotes. */
static bool is_plain(const char *key)
{
	return *key &&
	       !key[strspn(key,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")];
}

/* "state: annotations["a/b"]: PROBLEM", with the names of all levels above. */
static COLD int fault_at(const struct json_at *at, const char *problem, struct error *err)
{
	int r = error_say(err, EXIT_CODE_DONE, "%s", problem);
	bool last = true;

	/* From the innermost to the outermost; each level only has to know whether something
	 * follows it. */
	for (; at; at = at->parent) {
		char follows = err->text[0];
		const char *joint = last ? ": " : follows == '[' || !at->parent ? "" : ".";
		struct error rest = *err;

		if (!at->parent)
			r = error_say(err, EXIT_CODE_DONE, "%s: %s", at->name, rest.text);
		else if (!at->name)
			r = error_say(err, EXIT_CODE_DONE, "[%zu]%s%s", at->index, joint,
				      rest.text);
		else if (is_plain(at->name))
			r = error_say(err, EXIT_CODE_DONE, "%s%s%s", at->name, joint, rest.text);
		else
			r = error_say(err, EXIT_CODE_DONE, "[\"%s\"]%s%s", SHOW(at->name), joint,
				      rest.text);
		last = false;
	}
	return r;
}

/* 1: there, of this type. */
static int get(const struct json_at *at, enum json_need need, enum json_type type,
	       const char *problem, struct error *err)
{
	/* A document that is just null is there, and never what is wanted. */
	if (!at->value && at->parent)
		return need == JSON_REQUIRED ? fault_at(at, "is missing", err) : 0;
	if (!json_object_is_type(at->value, type))
		return fault_at(at, problem, err);
	return 1;
}

int json_get_object(const struct json_at *at, enum json_need need, struct error *err)
{
	return get(at, need, json_type_object, "expected an object", err);
}

int json_get_array(const struct json_at *at, enum json_need need, size_t *ret_count,
		   struct error *err)
{
	int r = get(at, need, json_type_array, "expected an array", err);

	if (r > 0)
		*ret_count = json_object_array_length(at->value);
	return r;
}

int json_get_string(struct arena *arena, const struct json_at *at, enum json_need need,
		    const char **ret_string, struct error *err)
{
	int r = get(at, need, json_type_string, "expected a string", err);
	const char *copy;

	if (r <= 0)
		return r;
	copy = arena_strdup(arena, json_object_get_string(at->value));
	if (!copy)
		return error_memory(err);
	*ret_string = copy;
	return 1;
}

int json_get_bool(const struct json_at *at, enum json_need need, bool *ret_bool, struct error *err)
{
	int r = get(at, need, json_type_boolean, "expected true or false", err);

	if (r > 0)
		*ret_bool = json_object_get_boolean(at->value);
	return r;
}

int json_get_whole(const struct json_at *at, enum json_need need, int64_t min, int64_t max,
		   int64_t *ret_number, struct error *err)
{
	bool is_double = json_object_is_type(at->value, json_type_double);
	int r = is_double ? 1 : get(at, need, json_type_int, "expected a number", err);
	int64_t number;

	if (r <= 0)
		return r;
	number = is_double ? 0 : json_object_get_int64(at->value);
	if (is_double || number < min || number > max) {
		char problem[128];

		snprintf(problem, sizeof(problem),
			 "expected a whole number from %" PRId64 " to %" PRId64, min, max);
		return fault_at(at, problem, err);
	}
	*ret_number = number;
	return 1;
}
