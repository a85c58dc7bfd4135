/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl inject: devices put into a config.json before a runtime reads it. That gives a container everything that CDI has,
 * without a hook; it is what stage precreate does, for engines other than podman and for people.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "config-edit.h"
#include "ctl.h"
#include "fdio.h"
#include "replace.h"
#include "specs.h"
#include "usage.h"

struct inject {
	struct arena *arena;
	const char *config; /* the argument */
	const char *file;   /* the file that it means; NULL: standard input */
	bool in_place, no_hooks;
	struct string_list spec_dirs;
};

/* A directory is a bundle. */
static int find_file(struct inject *inject, struct error *err)
{
	struct stat st;

	if (strcmp(inject->config, "-") == 0) {
		if (inject->in_place)
			return error_say(err, EXIT_CODE_USAGE,
					 "inject: --in-place needs a file, not -");
		return 0;
	}
	inject->file = inject->config;
	if (stat(inject->config, &st) == 0 && S_ISDIR(st.st_mode))
		inject->file =
			arena_printf(inject->arena, "%s%sconfig.json", inject->config,
				     inject->config[strlen(inject->config) - 1] == '/' ? "" : "/");
	return inject->file ? 0 : error_memory(err);
}

/* From bytes to bytes. */
static int edit(struct inject *inject, char **devices, const char *data, size_t size,
		const char **ret_data, size_t *ret_size, struct error *err)
{
	const struct plan_options options = {
		.stage = STAGE_PRECREATE,
		.vendor_hooks = inject->no_hooks ? PLAN_VENDOR_HOOKS_NONE : PLAN_VENDOR_HOOKS_EXEC,
		.ldcache = true,
	};
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct oci_config config;
	struct plan plan = {0};
	int r = oci_config_parse(inject->arena, data, size, &config, err);

	if (r == 0)
		r = specs_open(inject->arena, &specs, &inject->spec_dirs, err);
	if (r == 0)
		r = specs_find(&specs, devices, err);
	if (r == 0)
		r = specs_plan(&specs, &config, &options, &plan, err);
	if (r == 0)
		r = config_edit(inject->arena, data, size, &plan, ret_data, ret_size, err);
	return r;
}

/* "config.json" of a sentence is the person's file. */
static int name_file(const struct inject *inject, struct error *err)
{
	if (err->exit_code == EXIT_CODE_CONTAINER)
		error_prefix(err, "%s", inject->file ? SHOW(inject->file) : "standard input");
	return error_result(err);
}

static int to_stdout(struct inject *inject, char **devices, struct error *err)
{
	const char *edited = NULL;
	char *data;
	size_t size;
	int r = inject->file ? fdio_read_at(inject->arena, AT_FDCWD, inject->file,
					    LIMIT_CONFIG_SIZE, &data, &size, err)
			     : fdio_read(inject->arena, STDIN_FILENO, LIMIT_CONFIG_SIZE,
					 "standard input", &data, &size, err);

	if (r != 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	r = edit(inject, devices, data, size, &edited, &size, err);
	if (r != 0)
		return name_file(inject, err);
	/* What is left in the buffer main() looks after. */
	if (fwrite(edited, 1, size, stdout) != size)
		return error_set(err, errno, "write to standard output");
	return 0;
}

static int in_place(struct inject *inject, char **devices, struct error *err)
{
	_cleanup_replace_ struct replace replace = REPLACE_NULL;
	const char *edited = NULL;
	char *data;
	size_t size;
	int r = replace_begin(inject->arena, &replace, inject->file, err);

	if (r == 0)
		r = fdio_read(inject->arena, replace.old_fd, LIMIT_CONFIG_SIZE, inject->file, &data,
			      &size, err);
	if (r != 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	r = edit(inject, devices, data, size, &edited, &size, err);
	if (r != 0)
		return name_file(inject, err);
	if (edited == data)
		return 0;
	r = replace_commit(&replace, edited, size, err);
	return r < 0 ? error_class(err, EXIT_CODE_OTHER) : 0;
}

int ctl_inject(struct arena *arena, int argc, char **argv, struct error *err)
{
	struct inject inject = {.arena = arena};
	const struct usage_option options[] = {
		{"in-place", 0, NULL, USAGE_FLAG, &inject.in_place,
		 "Change the file itself, in one step"},
		{"no-hooks", 0, NULL, USAGE_FLAG, &inject.no_hooks, "Leave the hooks of specs out"},
		SPECS_OPTION(&inject.spec_dirs),
	};
	const struct usage usage = {
		.command = "inject",
		.arguments = "CONFIG DEVICE...",
		.about = "Puts devices into a container's config.json, for a runtime that is to "
			 "start it\n"
			 "without any hook. CONFIG is a file, a bundle directory, or - for "
			 "standard input.\n"
			 "The edited config is printed; all bytes outside the edits stay as they "
			 "are, and\n"
			 "what is there already is left alone.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};
	int first = usage_parse(arena, &usage, argc, argv, err);

	if (first <= 0)
		return first;
	if (first == argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "inject: no config given: a file, a bundle directory, or -");
	if (first + 1 == argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "inject: no device given; cdictl list shows what there is");
	inject.config = argv[first];
	if (find_file(&inject, err) < 0)
		return error_result(err);
	return inject.in_place ? in_place(&inject, argv + first + 1, err)
			       : to_stdout(&inject, argv + first + 1, err);
}
