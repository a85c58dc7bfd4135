/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook of a spec is left out because somebody said so or because the runtime runs it itself; what
 * is built in is done with the rest of the work; and what is left are programs, each of which has a
 * stage of its own. Nothing falls under the table: a hook that never gets its turn is named.
 */
#include "plan-hook.h"

#include <string.h>

#include "plan-builtin.h"

/* Says it as a note instead of failing; clears the error. */
static int note_error(const struct plan_hooks *hooks, enum note_level level,
		      const struct origin *origin, struct error *err)
{
	char text[ERROR_TEXT_MAX];

	plan_prefix_origin(origin, err);
	note_add(hooks->notes, level, "%s", error_text(err, text));
	*err = (struct error){0};
	return 0;
}

/* The first word of the arguments that is a command: neither an option nor the word "hook". */
static const char *command_word(const struct string_list *args)
{
	for (size_t i = 1; i < args->n; i++)
		if (args->items[i][0] != '-' && strcmp(args->items[i], "hook") != 0)
			return args->items[i];
	return NULL;
}

/* Whether --disable-hook names it: by its program's file name, or by its command. */
static const char *disabled_by(const struct plan_hooks *hooks, const struct cdi_hook *spec)
{
	const struct string_list *names = hooks->options->disabled_hooks;
	const char *slash = strrchr(spec->path, '/');
	const char *command = command_word(&spec->args);

	for (size_t i = 0; names && i < names->n; i++)
		if (strcmp(names->items[i], slash ? slash + 1 : spec->path) == 0 ||
		    (command && strcmp(names->items[i], command) == 0))
			return names->items[i];
	return NULL;
}

static bool is_same(const struct oci_hook *entry, enum stage stage, const struct cdi_hook *spec)
{
	bool same = entry->stage == stage && strcmp(entry->path, spec->path) == 0 &&
		    entry->args.n == spec->args.n;

	for (size_t i = 0; same && i < spec->args.n; i++)
		same = strcmp(entry->args.items[i], spec->args.items[i]) == 0;
	return same;
}

/*
 * Whether config.json has it: an engine that knows CDI, or a stage of ours before this one, put it
 * there, and the runtime runs it. Each entry counts once, since a hook of two devices runs twice.
 */
static bool is_in_config(const struct plan_hooks *hooks, enum stage stage,
			 const struct cdi_hook *spec)
{
	for (size_t i = 0; i < hooks->config->hooks.n; i++) {
		if (hooks->taken[i] || !is_same(&hooks->config->hooks.items[i], stage, spec))
			continue;
		hooks->taken[i] = true;
		return true;
	}
	return false;
}

/* Positive: it is left out, and that is noted. */
static int left_out(const struct plan_hooks *hooks, const struct cdi_hook *spec, enum stage stage,
		    const struct origin *origin, struct error *err)
{
	const char *disabled = disabled_by(hooks, spec);

	if (hooks->options->vendor_hooks == PLAN_VENDOR_HOOKS_NONE)
		error_say(err, EXIT_CODE_VENDOR_HOOK,
			  "hook %s %s left out, as --vendor-hooks=none says", SHOW(spec->hook_name),
			  SHOW(spec->path));
	else if (disabled)
		error_say(err, EXIT_CODE_VENDOR_HOOK,
			  "hook %s %s left out, as --disable-hook=%s says", SHOW(spec->hook_name),
			  SHOW(spec->path), SHOW(disabled));
	else if (is_in_config(hooks, stage, spec))
		error_say(err, EXIT_CODE_VENDOR_HOOK,
			  "hook %s %s stands in config.json: the runtime runs it",
			  SHOW(spec->hook_name), SHOW(spec->path));
	else
		return 0;
	note_error(hooks, NOTE_INFO, origin, err);
	return 1;
}

/* A hook that asks for what this program does anyway. */
static int add_ldcache(const struct plan_hooks *hooks, const struct cdi_hook *spec,
		       const struct vendor_hook *vendor_hook, const struct origin *origin,
		       struct plan *plan, struct error *err)
{
	if (!hooks->options->ldcache) {
		error_say(err, EXIT_CODE_LDCACHE,
			  "hook %s asks for the library cache, which --ldconfig=none leaves alone",
			  SHOW(spec->hook_name));
		return note_error(hooks, NOTE_INFO, origin, err);
	}
	struct plan_ldcache *ldcache = array_add(hooks->arena, &plan->ldcache);
	if (!ldcache)
		return error_memory(err);
	*ldcache = (struct plan_ldcache){.folders = vendor_hook->folders, .origin = *origin};
	return 0;
}

static int add_never(const struct plan_hooks *hooks, const struct cdi_hook *spec, enum stage stage,
		     const struct origin *origin, struct plan *plan, struct error *err)
{
	const char *edit = arena_printf(hooks->arena, "hook %s %s", spec->hook_name, spec->path);
	struct plan_unsupported *unsupported =
		edit ? array_add(hooks->arena, &plan->unsupported) : NULL;

	if (!unsupported)
		return error_memory(err);
	*unsupported = (struct plan_unsupported){
		.edit = edit,
		.problem =
			stage == STAGE_START_CONTAINER
				? "is not run: its program lies in the container, and only the "
				  "runtime can start it there"
				: "is not run: oci-cdi-hook is not registered at a stage at which "
				  "it could be",
		.origin = *origin,
	};
	return 0;
}

/* What can be seen from here to fail when it is run. */
static int check_path(const struct cdi_hook *spec, struct error *err)
{
	if (spec->path[0] == '/')
		return 0;
	return error_say(err, EXIT_CODE_VENDOR_HOOK, "hook %s %s: not an absolute path",
			 SHOW(spec->hook_name), SHOW(spec->path));
}

static int check_program(const struct cdi_hook *spec, struct error *err)
{
	if (check_path(spec, err) < 0)
		return error_result(err);
	for (size_t i = 0; i < spec->args.n; i++)
		if (strchr(spec->args.items[i], '\n'))
			return error_say(err, EXIT_CODE_VENDOR_HOOK,
					 "hook %s %s: its argument \"%s\" has a line break in it",
					 SHOW(spec->hook_name), SHOW(spec->path),
					 SHOW(spec->args.items[i]));
	return 0;
}

/* For config.json it stays what it is; but a runtime whose hook is not there says no more than a number. */
static int add_for_config(const struct plan_hooks *hooks, const struct cdi_hook *spec,
			  enum stage stage, const struct origin *origin, struct plan *plan,
			  struct error *err)
{
	struct plan_hook *hook = array_add(hooks->arena, &plan->hooks);
	struct host_node node;
	int r = check_path(spec, err);

	if (r < 0)
		return plan_prefix_origin(origin, err);
	if (!hook)
		return error_memory(err);
	*hook = (struct plan_hook){.hook = spec, .stage = stage, .origin = *origin};
	/* This one is looked for in the container. */
	if (stage == STAGE_START_CONTAINER)
		return 0;
	r = hooks->host->look_up(hooks->host->data, spec->path, &node);
	if (r == 0)
		return 0;
	error_set(err, -r, "hook %s %s", SHOW(spec->hook_name), SHOW(spec->path));
	plan_prefix_origin(origin, err);
	error_class(err, EXIT_CODE_HOST);
	error_join(hooks->missing, err);
	*err = (struct error){0};
	return 0;
}

static int add_program(const struct plan_hooks *hooks, const struct cdi_hook *spec,
		       enum stage stage, const struct origin *origin, struct plan *plan,
		       struct error *err)
{
	const struct hook_schedule schedule = {hooks->options->stage, hooks->options->registered};
	enum hook_turn turn = hook_schedule_turn(&schedule, stage);

	/* Named once, where the rest of the work is done. */
	if (turn == HOOK_NEVER)
		return hooks->hooks_only ? 0 : add_never(hooks, spec, stage, origin, plan, err);
	if (turn == HOOK_ANOTHER_TIME)
		return 0;
	if (check_program(spec, err) < 0)
		return plan_prefix_origin(origin, err);
	struct plan_hook *hook = array_add(hooks->arena, &plan->hooks);
	if (!hook)
		return error_memory(err);
	*hook = (struct plan_hook){.hook = spec, .stage = stage, .origin = *origin};
	return 0;
}

/* What is left of a hook of the family, here and for this container. */
static int recognise(const struct plan_hooks *hooks, const struct cdi_hook *spec,
		     struct vendor_hook *ret_hook, struct error *err)
{
	int r = vendor_hook_recognise(hooks->arena, spec, ret_hook, err);

	if (r == 0)
		r = plan_builtin_settle(hooks->arena, hooks->config, hooks->host, ret_hook, err);
	return r < 0 ? error_prefix(err, "hook %s", SHOW(spec->hook_name)) : 0;
}

static int add_built_in(const struct plan_hooks *hooks, const struct cdi_hook *spec,
			const struct vendor_hook *vendor_hook, enum stage stage,
			const struct origin *origin, struct plan *plan, struct error *err)
{
	if (vendor_hook->kind == VENDOR_HOOK_UPDATE_LDCACHE)
		return add_ldcache(hooks, spec, vendor_hook, origin, plan, err);
	if (vendor_hook->kind == VENDOR_HOOK_NOTHING && !vendor_hook->note)
		return 0;
	if (vendor_hook->kind == VENDOR_HOOK_NOTHING) {
		error_say(err, EXIT_CODE_VENDOR_HOOK, "hook %s: %s",
			  SHOW(vendor_hook->command ? vendor_hook->command : ""),
			  vendor_hook->note);
		return note_error(hooks, vendor_hook->note_level, origin, err);
	}
	struct plan_hook *hook = array_add(hooks->arena, &plan->hooks);
	if (!hook)
		return error_memory(err);
	*hook = (struct plan_hook){
		.hook = spec, .stage = stage, .builtin = *vendor_hook, .origin = *origin};
	return 0;
}

int plan_hook_add(const struct plan_hooks *hooks, const struct cdi_hook *spec,
		  const struct origin *origin, struct plan *plan, struct error *err)
{
	struct vendor_hook vendor_hook = {.kind = VENDOR_HOOK_OTHER};
	enum stage stage = (enum stage)stage_from_name(spec->hook_name);
	int r = left_out(hooks, spec, stage, origin, err);

	if (r > 0)
		return 0;
	if (stage_edits_config(hooks->options->stage))
		return add_for_config(hooks, spec, stage, origin, plan, err);
	if (hooks->options->vendor_hooks == PLAN_VENDOR_HOOKS_BUILTIN) {
		r = recognise(hooks, spec, &vendor_hook, err);
		if (r < 0)
			return plan_prefix_origin(origin, err);
	}
	if (vendor_hook.kind == VENDOR_HOOK_OTHER)
		return add_program(hooks, spec, stage, origin, plan, err);
	/* What is built in is done once, with the rest of the work. */
	if (hooks->hooks_only)
		return 0;
	return add_built_in(hooks, spec, &vendor_hook, stage, origin, plan, err);
}
