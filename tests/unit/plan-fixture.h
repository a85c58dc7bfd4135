/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A plan from texts: spec files, a list of what the host has, a config.json. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

#include "host-list.h"
#include "plan-text.h"
#include "plan.h"

struct plan_input {
	const char *specs[3]; /* the files /a.yaml, /b.yaml and /c.yaml */
	const char *devices;  /* qualified names, separated by blanks */
	const char *host;     /* see host-list.h; NULL: nothing is there */
	const char *config;   /* NULL: an empty one */
	enum stage stage;     /* 0: createRuntime */
	stage_set registered;
	enum plan_vendor_hooks vendor_hooks; /* the first (0): built in */
	struct string_list disabled;
	bool lenient, no_vendor_hooks, no_ldcache;
	bool in_config; /* for an edited config.json: stage precreate */
};

struct planned {
	struct arena input_arena, arena;
	struct notes notes;
	struct error err;
	struct oci_config config;
	struct host_list host;
	struct cdi_found_list found;
	struct plan plan;
};

static inline void planned_read_spec(struct planned *planned, const char *file, const char *text,
				     const char *devices)
{
	struct cdi_spec *spec = NULL;
	const char *kind;
	char name[128];

	if (cdi_spec_parse(&planned->input_arena, file, text, strlen(text), false, NULL, &spec,
			   &kind, &planned->err) < 0)
		fail_msg("%s", planned->err.text);
	for (size_t i = 0; i < spec->devices.n; i++) {
		snprintf(name, sizeof(name), "%s=%s", spec->kind, spec->devices.items[i].name);
		const char *at = strstr(devices, name);
		if (!at)
			continue;
		struct cdi_found *found = array_add(&planned->input_arena, &planned->found);
		found->name = arena_strdup(&planned->input_arena, name);
		found->spec = spec;
		found->device = &spec->devices.items[i];
	}
}

static inline void planned_read(struct planned *planned, const struct plan_input *input)
{
	static const char *const files[] = {"/a.yaml", "/b.yaml", "/c.yaml"};

	memset(planned, 0, sizeof(*planned));
	arena_init(&planned->input_arena, LIMIT_MEMORY);
	arena_init(&planned->arena, LIMIT_MEMORY);
	planned->notes.arena = &planned->input_arena;
	for (size_t i = 0; i < 3 && input->specs[i]; i++)
		planned_read_spec(planned, files[i], input->specs[i], input->devices);
	if (input->host)
		assert_int_equal(host_list_parse(&planned->input_arena, input->host,
						 strlen(input->host), &planned->host,
						 &planned->err),
				 0);
	if (input->config)
		assert_int_equal(oci_config_parse(&planned->input_arena, input->config,
						  strlen(input->config), &planned->config,
						  &planned->err),
				 0);
}

/* The same input may be built again. */
static inline int planned_build(struct planned *planned, const struct plan_input *input)
{
	const struct host_view host = host_list_view(&planned->host);
	const struct plan_options options = {
		.stage = input->in_config ? STAGE_PRECREATE
			 : input->stage   ? input->stage
					  : STAGE_CREATE_RUNTIME,
		.lenient = input->lenient,
		.registered = input->registered,
		.vendor_hooks = input->no_vendor_hooks ? PLAN_VENDOR_HOOKS_NONE
				: input->vendor_hooks  ? input->vendor_hooks
						       : PLAN_VENDOR_HOOKS_BUILTIN,
		.disabled_hooks = &input->disabled,
		.ldcache = !input->no_ldcache,
	};

	return plan_build(&planned->arena, &planned->found, &planned->config, &host, &options,
			  &planned->notes, &planned->plan, &planned->err);
}

static inline void planned_done(struct planned *planned)
{
	arena_done(&planned->arena);
	arena_done(&planned->input_arena);
}

static inline int planned_init(struct planned *planned, const struct plan_input *input)
{
	planned_read(planned, input);
	return planned_build(planned, input);
}

/* The plan is `text`, and there is one note, or none for NULL. */
static inline void assert_plan(const struct plan_input *input, const char *text, const char *note)
{
	struct planned planned;

	if (planned_init(&planned, input) < 0)
		fail_msg("%s", planned.err.text);
	assert_string_equal(plan_text(&planned.arena, &planned.plan, &planned.err), text);
	if (note && planned.notes.list.n)
		assert_string_equal(planned.notes.list.items[0].text, note);
	assert_int_equal(planned.notes.list.n, note ? 1 : 0);
	planned_done(&planned);
}

static inline void assert_no_plan(const struct plan_input *input, enum exit_code exit_code,
				  const char *sentence)
{
	struct planned planned;

	assert_true(planned_init(&planned, input) < 0);
	assert_error(&planned.err, exit_code, sentence);
	planned_done(&planned);
}

/* However little memory there is, running out of it is an error and nothing else. */
static inline void assert_memory_is_minded(const struct plan_input *input)
{
	struct planned planned;
	int r = -ENOMEM;

	planned_read(&planned, input);
	for (size_t limit = 0; r < 0; limit += 16) {
		assert_true(limit < 1000000);
		arena_done(&planned.arena);
		arena_init(&planned.arena, limit);
		planned.err = (struct error){0};
		r = planned_build(&planned, input);
		if (r == 0)
			break;
		/* Behind the device at which it happened, perhaps. */
		assert_int_equal(planned.err.exit_code, EXIT_CODE_OTHER);
		assert_int_equal(planned.err.errnum, ENOMEM);
		assert_non_null(strstr(planned.err.text, "memory"));
	}
	planned_done(&planned);
}
