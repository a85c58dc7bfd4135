/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cdictl says must be what the hook does: both call the same functions of common/ in the same order. The one thing
 * that differs is that a person may name a directory from where they stand.
 */
#include "specs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "oci-state.h"
#include "request.h"

static int add_dir(struct specs *specs, const char *dir, struct error *err)
{
	const char **slot = array_add(specs->arena, &specs->dirs);

	if (!slot)
		return error_memory(err);
	if (dir[0] != '/') {
		char *real = realpath(dir, NULL);
		if (!real)
			return error_set(err, errno, "open %s", SHOW(dir));
		dir = arena_strdup(specs->arena, real);
		free(real);
		if (!dir)
			return error_memory(err);
	}
	*slot = dir;
	return 0;
}

int specs_open(struct arena *arena, struct specs *specs, const struct string_list *dirs,
	       struct error *err)
{
	static const char *defaults[] = {CDI_DEFAULT_DIRS};
	const struct string_list default_dirs = {.items = defaults,
						 .n = sizeof(defaults) / sizeof(defaults[0])};
	int r = 0;

	*specs = (struct specs){.arena = arena, .notes = {.arena = arena}};
	specs->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (specs->root_fd < 0)
		return error_set(err, errno, "open /");
	if (dirs->n == 0)
		dirs = &default_dirs;
	for (size_t i = 0; r == 0 && i < dirs->n; i++)
		r = add_dir(specs, dirs->items[i], err);
	return r;
}

struct cdi_registry_options specs_options(const struct specs *specs)
{
	return (struct cdi_registry_options){
		.trust = {.root_fd = specs->root_fd, .owner = getuid()},
		.dirs = &specs->dirs,
	};
}

int specs_find(struct specs *specs, char **names, struct error *err)
{
	const struct cdi_registry_options options = specs_options(specs);
	const struct string_list no_prefixes = {0};
	const struct oci_state no_state = {0};
	struct string_list devices = {0};
	struct request_list requests;
	int r;

	for (; *names; names++) {
		const char **slot = array_add(specs->arena, &devices);
		if (!slot)
			return error_memory(err);
		*slot = *names;
	}
	r = request_collect(specs->arena, &no_state, &no_prefixes, &devices, &requests, err);
	if (r == 0)
		r = cdi_registry_look_up(specs->arena, &options, &requests, &specs->notes,
					 &specs->registry, &specs->found, err);
	if (r == 0)
		cdi_registry_note_set_aside(&specs->registry, &specs->found, &specs->notes);
	specs_warn(specs);
	return r < 0 ? error_class(err, EXIT_CODE_REQUEST) : 0;
}

int specs_plan(struct specs *specs, const struct oci_config *config,
	       const struct plan_options *options, struct plan *ret_plan, struct error *err)
{
	const struct host_view host = host_view_real(&specs->root_fd, getuid());
	int r = plan_build(specs->arena, &specs->found, config, &host, options, &specs->notes,
			   ret_plan, err);

	specs_warn(specs);
	return r < 0 ? error_class(err, EXIT_CODE_SPEC) : 0;
}

void specs_warn(struct specs *specs)
{
	for (size_t i = 0; i < specs->notes.list.n; i++) {
		const struct note *note = &specs->notes.list.items[i];
		if (note->level == NOTE_WARNING)
			fprintf(stderr, "cdictl: warning: %s\n", note->text);
	}
	if (specs->notes.dropped > 0)
		fprintf(stderr, "cdictl: warning: %zu more notes are left out\n",
			specs->notes.dropped);
	specs->notes.list.n = 0;
	specs->notes.dropped = 0;
}

void specs_close(struct specs *specs)
{
	close_fd(&specs->root_fd);
}
