/* SPDX-License-Identifier: Apache-2.0 */
/* cdictl plan: what the hook would do for a container, nothing of which is done. */
#include <errno.h>
#include <stdio.h>

#include "bundle.h"
#include "ctl.h"
#include "near.h"
#include "plan-json.h"
#include "plan-text.h"
#include "specs.h"
#include "usage.h"

struct plan_command {
	int output;
	const char *stage_name, *bundle;
	enum stage stage;
	struct string_list spec_dirs;
};

static int read_stage(struct plan_command *command, struct error *err)
{
	const char *names[STAGE_COUNT], *near;
	int stage = stage_from_name(command->stage_name);

	for (int i = 0; i < STAGE_COUNT; i++)
		names[i] = stage_name((enum stage)i);
	near = near_word(command->stage_name, names, STAGE_COUNT);
	if (stage < 0 && near)
		return error_say(err, EXIT_CODE_USAGE, "plan: unknown stage %s; did you mean %s?",
				 SHOW(command->stage_name), near);
	if (stage < 0)
		return error_say(err, EXIT_CODE_USAGE, "plan: unknown stage %s",
				 SHOW(command->stage_name));
	if (stage != STAGE_PRECREATE && stage != STAGE_PRESTART && stage != STAGE_CREATE_RUNTIME &&
	    stage != STAGE_CREATE_CONTAINER)
		return error_say(err, EXIT_CODE_USAGE,
				 "plan: the hook does nothing at stage %s in this version",
				 stage_name((enum stage)stage));
	command->stage = (enum stage)stage;
	return 0;
}

static int run(struct arena *arena, const struct plan_command *command, char **devices,
	       struct error *err)
{
	const struct plan_options options = {
		.stage = command->stage,
		.vendor_hooks = true,
		.ldcache = true,
	};
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct oci_config config = {0};
	struct plan plan = {0};
	const char *text;
	int r = specs_open(arena, &specs, &command->spec_dirs, err);

	if (r == 0)
		r = specs_find(&specs, devices, err);
	if (r == 0)
		r = bundle_read(arena, command->bundle, &config, err);
	if (r == 0)
		r = specs_plan(&specs, &config, &options, &plan, err);
	if (r < 0)
		return r;
	text = command->output == OUTPUT_JSON ? plan_json(arena, &plan, err)
					      : plan_text(arena, &plan, err);
	if (!text)
		return error_result(err);
	fputs(text, stdout);
	return 0;
}

int ctl_plan(struct arena *arena, int argc, char **argv, struct error *err)
{
	struct plan_command command = {.stage_name = "createRuntime"};
	const struct usage_option options[] = {
		{"bundle", 0, "DIR", USAGE_TEXT, &command.bundle,
		 "The container's bundle, where config.json is"},
		{"stage", 0, "STAGE", USAGE_TEXT, &command.stage_name,
		 "At precreate, prestart, createRuntime (default) or\ncreateContainer"},
		SPECS_OPTION(&command.spec_dirs),
		OUTPUT_OPTION(&command.output),
	};
	const struct usage usage = {
		.command = "plan",
		.arguments = "--bundle=DIR DEVICE...",
		.about = "Prints what the hook would do to the container of a bundle that asks for "
			 "these\n"
			 "devices: an operation a line, each with the place in the spec file that "
			 "wants\n"
			 "it. Nothing is touched.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};
	int first = usage_parse(arena, &usage, argc, argv, err);

	if (first <= 0)
		return first;
	if (!command.bundle)
		return error_say(err, EXIT_CODE_USAGE, "plan: no bundle given: --bundle=DIR");
	if (first == argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "plan: no device given; cdictl list shows what there is");
	if (read_stage(&command, err) < 0)
		return -EINVAL;
	return run(arena, &command, argv + first, err);
}
