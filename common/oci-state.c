/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a container, which every runtime writes a little differently: members that are empty
 * are left out, the order changes from run to run, strings are escaped or not, crun adds a member
 * of its own. None of that may matter, and the same annotations must always give the same devices
 * in the same order, so they are sorted here.
 */
#include "oci-state.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"

/* The largest pid that a kernel hands out (PID_MAX_LIMIT of 64-bit kernels). */
#define PID_MAX 4194304

static int compare_annotations(const void *a, const void *b)
{
	const struct oci_annotation *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static int read_annotations(struct arena *arena, const struct json_at *root,
			    struct oci_state *state, struct error *err)
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
		added = array_add(arena, &state->annotations);
		if (!found.key || !added)
			return error_memory(err);
		*added = found;
	}
	if (state->annotations.n > 0)
		qsort(state->annotations.items, state->annotations.n,
		      sizeof(*state->annotations.items), compare_annotations);
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
	return read_annotations(arena, &root, state, err);
}

int oci_state_parse(struct arena *arena, const char *data, size_t size, struct oci_state *ret_state,
		    struct error *err)
{
	*ret_state = (struct oci_state){0};
	if (read_state(arena, data, size, ret_state, err) < 0)
		return error_class(err, EXIT_CODE_REQUEST);
	return 0;
}
