/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container asks for. The reference visits annotations in random order, so that the order of
 * environment and hooks differs from start to start; here it is the order of the keys, and within a
 * value the order in which it stands.
 */
#include "request.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bounds.h"
#include "cdi-name.h"

/* What one malformed name may take of the sentence. Those for which there is no room are only
 * counted. */
#define FAULT_MAX 1000

struct collector {
	struct arena *arena;
	struct request_list *requests;
	struct error faults; /* joined, as far as they fit */
	size_t more;         /* those that do not */
};

static bool is_requested(const struct request_list *requests, const char *device)
{
	for (size_t i = 0; i < requests->n; i++) {
		if (strcmp(requests->items[i].device, device) == 0)
			return true;
	}
	return false;
}

/* Adds a well-formed name that is not there yet. */
static int add(struct collector *collector, const char *device, const char *annotation,
	       struct error *err)
{
	struct request *request;

	if (is_requested(collector->requests, device))
		return 0;
	if (collector->requests->n == LIMIT_REQUESTS)
		return error_say(err, EXIT_CODE_REQUEST, "more than %d devices are asked for",
				 LIMIT_REQUESTS);
	request = array_add(collector->arena, collector->requests);
	if (!request)
		return error_memory(err);
	*request = (struct request){.device = device, .annotation = annotation};
	return 0;
}

/* Keeps a fault for later and goes on, so that one run tells all of them; what is no fault of a
 * name ends the run. */
static int keep_fault(struct collector *collector, const char *annotation, struct error *err)
{
	if (err->exit_code != EXIT_CODE_REQUEST)
		return -err->errnum;
	if (annotation)
		error_prefix(err, "annotation %s", SHOW(annotation));
	if (strlen(collector->faults.text) < ERROR_TEXT_MAX - FAULT_MAX)
		error_join(&collector->faults, err);
	else
		collector->more++;
	*err = (struct error){0};
	return 0;
}

static int collect_device(struct collector *collector, const char *device, struct error *err)
{
	bool bare = !strpbrk(device, "/=") && !cdi_device_problem(device, strlen(device));
	struct cdi_name name;

	if (!bare && cdi_name_parse(collector->arena, device, &name, err) < 0)
		return keep_fault(collector, NULL, err);
	return add(collector, device, NULL, err);
}

static int collect_annotation(struct collector *collector, const struct oci_annotation *annotation,
			      struct error *err)
{
	const char *from = annotation->value, *comma;
	int r;

	do {
		struct cdi_name name;
		char *device;

		comma = strchrnul(from, ',');
		device = arena_strndup(collector->arena, from, (size_t)(comma - from));
		if (!device)
			return error_memory(err);
		if (cdi_name_parse(collector->arena, device, &name, err) < 0)
			r = keep_fault(collector, annotation->key, err);
		else
			r = add(collector, device, annotation->key, err);
		if (r < 0)
			return r;
		from = comma + 1;
	} while (*comma);
	return 0;
}

static bool has_prefix(const char *key, const struct string_list *prefixes)
{
	for (size_t i = 0; i < prefixes->n; i++) {
		if (strncmp(key, prefixes->items[i], strlen(prefixes->items[i])) == 0)
			return true;
	}
	return false;
}

static bool is_anything_asked(const struct oci_state *state, const struct string_list *prefixes,
			      const struct string_list *devices)
{
	for (size_t i = 0; i < state->annotations.n; i++)
		if (has_prefix(state->annotations.items[i].key, prefixes))
			return true;
	return devices->n > 0;
}

static COLD int collect(struct arena *arena, const struct oci_state *state,
			const struct string_list *prefixes, const struct string_list *devices,
			struct request_list *requests, struct error *err)
{
	struct collector collector = {.arena = arena, .requests = requests};
	int r;

	for (size_t i = 0; i < devices->n; i++) {
		r = collect_device(&collector, devices->items[i], err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < state->annotations.n; i++) {
		if (!has_prefix(state->annotations.items[i].key, prefixes))
			continue;
		r = collect_annotation(&collector, &state->annotations.items[i], err);
		if (r < 0)
			return r;
	}
	if (!error_is_set(&collector.faults))
		return 0;
	*err = collector.faults;
	if (collector.more > 0) {
		struct error more = {0};

		error_say(&more, EXIT_CODE_REQUEST, "%zu more malformed", collector.more);
		error_join(err, &more);
	}
	return -EINVAL;
}

int request_collect(struct arena *arena, const struct oci_state *state,
		    const struct string_list *prefixes, const struct string_list *devices,
		    struct request_list *ret_requests, struct error *err)
{
	*ret_requests = (struct request_list){0};
	if (!is_anything_asked(state, prefixes, devices))
		return 0;
	return collect(arena, state, prefixes, devices, ret_requests, err);
}
