/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a container, which every runtime writes a little differently: members that are empty
 * are left out, the order changes from run to run, strings are escaped or not, crun adds a member
 * of its own. None of that may matter, and the same annotations must always give the same devices
 * in the same order, so they are sorted here.
 */
#include "oci-state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"

/* The largest pid that a kernel hands out (PID_MAX_LIMIT of 64-bit kernels). */
#define PID_MAX 4194304

static int compare_annotations(const void *a, const void *b)
{
	const struct oci_annotation *x = a, *y = b;

	return strcmp(x->key, y->key);
}

int oci_annotations_read(struct arena *arena, const struct json_at *root,
			 struct oci_annotation_list *list, struct error *err)
{
	struct json_at annotations = json_member(root, "annotations");
	int r = json_get_object(&annotations, JSON_OPTIONAL, err);

	if (r <= 0)
		return r;
	json_object_object_foreach(annotations.value, key, value)
	{
		struct json_at at = {.parent = &annotations, .name = key, .value = value};
		struct oci_annotation found = {0}, *added;

		r = json_get_string(arena, &at, JSON_OPTIONAL, &found.value, err);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		found.key = arena_strdup(arena, key);
		added = array_add(arena, list);
		if (!found.key || !added)
			return error_memory(err);
		*added = found;
	}
	if (list->n > 0)
		qsort(list->items, list->n, sizeof(*list->items), compare_annotations);
	return 0;
}

static int read_state(struct arena *arena, const char *data, size_t size, struct oci_state *state,
		      struct error *err)
{
	_cleanup_json_ struct json_object *value = NULL;
	struct json_at root, at;
	int64_t pid = 0;
	int r;

	r = json_parse(arena, "state", data, size, &value, err);
	if (r < 0)
		return r;
	root = json_root("state", value);
	r = json_get_object(&root, JSON_REQUIRED, err);
	if (r < 0)
		return r;
	at = json_member(&root, "id");
	r = json_get_string(arena, &at, JSON_REQUIRED, &state->id, err);
	if (r < 0)
		return r;
	at = json_member(&root, "bundle");
	r = json_get_string(arena, &at, JSON_OPTIONAL, &state->bundle, err);
	if (r < 0)
		return r;
	at = json_member(&root, "pid");
	r = json_get_whole(&at, JSON_OPTIONAL, 0, PID_MAX, &pid, err);
	if (r < 0)
		return r;
	state->pid = (pid_t)pid;
	return oci_annotations_read(arena, &root, &state->annotations, err);
}

int oci_state_parse(struct arena *arena, const char *data, size_t size, struct oci_state *ret_state,
		    struct error *err)
{
	*ret_state = (struct oci_state){0};
	if (read_state(arena, data, size, ret_state, err) < 0)
		return error_class(err, EXIT_CODE_REQUEST);
	return 0;
}

/* Where a member's value stands in the text; both 0 where there is none. */
struct span {
	size_t start, end;
};

/* The spans of the values of `pid` and `bundle`, and the place behind the document's first brace. */
static int find_values(struct arena *arena, const char *data, size_t size, struct span *pid,
		       struct span *bundle, size_t *ret_begin, struct error *err)
{
	struct json_scan scan;
	struct span *wanted = NULL;
	int token;

	json_scan_init(&scan, "state", data, size);
	while ((token = json_scan_next(&scan, err)) > JSON_TOKEN_END) {
		if (*ret_begin == 0)
			*ret_begin = scan.end;
		if (scan.depth == 1 && wanted)
			*wanted = (struct span){scan.start, scan.end};
		wanted = NULL;
		if (token != JSON_TOKEN_KEY || scan.depth != 1)
			continue;
		const char *key = json_scan_text(arena, &scan);
		if (!key)
			return error_memory(err);
		wanted = strcmp(key, "pid") == 0 ? pid : strcmp(key, "bundle") == 0 ? bundle : NULL;
	}
	return token;
}

/* The text with `value` at `span`, or as a first member `key` where that is none. Moves nothing before `span`. */
static void put_value(struct text *text, const char *data, size_t *at, size_t begin,
		      const struct span *span, const char *key, const char *value)
{
	size_t until = span->end ? span->start : begin;

	for (; *at < until; (*at)++)
		text_put_byte(text, data[*at]);
	if (!span->end) {
		text_printf(text, "\"%s\":", key);
		text_put(text, value);
		text_put_byte(text, ',');
		return;
	}
	text_put(text, value);
	*at = span->end;
}

int oci_state_adapt(struct arena *arena, const char *data, size_t size, pid_t pid,
		    const char *bundle, const char **ret_text, size_t *ret_size, struct error *err)
{
	_cleanup_json_ struct json_object *bundle_value = NULL;
	struct span pid_span = {0}, bundle_span = {0};
	struct text text = {.arena = arena};
	char number[32];
	size_t begin = 0, at = 0;
	int r = find_values(arena, data, size, &pid_span, &bundle_span, &begin, err);

	if (r < 0)
		return error_class(err, EXIT_CODE_REQUEST);
	bundle_value = bundle ? json_object_new_string(bundle) : NULL;
	const char *bundle_text =
		bundle_value ? json_object_to_json_string_ext(
				       bundle_value,
				       JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
			     : NULL;
	if (bundle && !bundle_text)
		return error_memory(err);
	snprintf(number, sizeof(number), "%d", pid);
	for (int i = 0; i < 2; i++) {
		bool is_pid = (pid_span.start < bundle_span.start) == (i == 0);
		if (is_pid && pid)
			put_value(&text, data, &at, begin, &pid_span, "pid", number);
		else if (!is_pid && bundle)
			put_value(&text, data, &at, begin, &bundle_span, "bundle", bundle_text);
	}
	for (; at < size; at++)
		text_put_byte(&text, data[at]);
	*ret_text = text_end(&text, err);
	*ret_size = text.len - 1;
	return *ret_text ? 0 : -ENOMEM;
}
