/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl list: every device with its file. What is there and yet cannot be had is part of the answer: most of the time that
 * is the device that somebody is looking for.
 */
#include <stdio.h>
#include <string.h>

#include "cdi-inventory.h"
#include "ctl.h"
#include "json-out.h"
#include "screen.h"
#include "specs.h"
#include "table.h"
#include "usage.h"

static bool is_missing(const struct cdi_registry *registry, const char *dir)
{
	for (size_t i = 0; i < registry->missing.n; i++)
		if (strcmp(registry->missing.items[i], dir) == 0)
			return true;
	return false;
}

/* ---- For people ---- */

static int print_devices(struct arena *arena, const struct screen *screen,
			 const struct cdi_inventory *inventory, size_t *ret_n, struct error *err)
{
	static const struct table_column columns[] = {{"DEVICE", TABLE_WHOLE}, {"FILE", TABLE_CUT}};
	struct table table = {.arena = arena, .columns = columns, .n_columns = 2};

	for (size_t i = 0; i < inventory->n; i++) {
		const struct cdi_definition *definition = &inventory->items[i];
		const struct table_cell cells[] = {{definition->name}, {definition->spec->file}};
		int r = definition->standing == CDI_IN_EFFECT ? table_add(&table, cells, err) : 0;
		if (r < 0)
			return r;
	}
	*ret_n = table.cells.n / table.n_columns;
	if (*ret_n > 0)
		table_print(&table, screen);
	return 0;
}

/* A list with a title, which is left out where the list is empty. */
struct section {
	const struct screen *screen;
	enum colour colour;
	const char *title;
	size_t *lines; /* printed so far, over all sections */
	bool begun;
};

static int section_add(struct section *section, const char *text, struct error *err)
{
	if (!text)
		return error_memory(err);
	if (!section->begun) {
		fputs(*section->lines ? "\n" : "", stdout);
		screen_put(section->screen, section->colour, section->title);
		putchar('\n');
		section->begun = true;
	}
	screen_put_paragraph(section->screen, 2, text);
	(*section->lines)++;
	return 0;
}

/* " FILE:LINE:COLUMN" behind `text`; NULL stays NULL. */
static const char *add_place(struct arena *arena, const char *text, const char *between,
			     const struct cdi_definition *definition)
{
	if (!text)
		return NULL;
	return arena_printf(arena, "%s%s%s:%u:%u", text, between, SHOW(definition->spec->file),
			    definition->device->place.line, definition->device->place.column);
}

/* One line for all definitions of a device that are in each other's way; `*at` is moved to the last of them. */
static const char *conflict_text(struct arena *arena, const struct cdi_inventory *inventory,
				 size_t *at)
{
	const struct cdi_definition *first = &inventory->items[*at];
	const char *text = add_place(arena, SHOW(first->name), " ", first);

	while (*at + 1 < inventory->n && inventory->items[*at + 1].standing == CDI_CONFLICT &&
	       strcmp(inventory->items[*at + 1].name, first->name) == 0)
		text = add_place(arena, text, " and ", &inventory->items[++*at]);
	return text;
}

static const char *shadowed_text(struct arena *arena, const struct cdi_definition *definition)
{
	const char *text = add_place(arena, SHOW(definition->name), " ", definition);

	return add_place(arena, text, " by ", definition->other);
}

static int print_rest(struct arena *arena, const struct screen *screen,
		      const struct cdi_registry *registry, const struct cdi_inventory *inventory,
		      size_t lines, struct error *err)
{
	struct section conflicts = {screen, COLOUR_RED,
				    "Defined twice in one directory, unusable:", &lines};
	struct section shadowed = {screen, COLOUR_YELLOW, "Replaced by a later directory:", &lines};
	struct section aside = {screen, COLOUR_RED, "Set aside:", &lines};
	int r = 0;

	for (size_t i = 0; r == 0 && i < inventory->n; i++)
		if (inventory->items[i].standing == CDI_CONFLICT)
			r = section_add(&conflicts, conflict_text(arena, inventory, &i), err);
	for (size_t i = 0; r == 0 && i < inventory->n; i++)
		if (inventory->items[i].standing == CDI_SHADOWED)
			r = section_add(&shadowed, shadowed_text(arena, &inventory->items[i]), err);
	for (size_t i = 0; r == 0 && i < registry->set_aside.n; i++)
		r = section_add(&aside, registry->set_aside.items[i].reason, err);
	return r;
}

static int print_table(struct arena *arena, const struct cdi_registry *registry,
		       const struct cdi_inventory *inventory, struct error *err)
{
	const struct screen screen = screen_stdout();
	size_t n = 0;
	int r = print_devices(arena, &screen, inventory, &n, err);

	if (r < 0)
		return r;
	if (n == 0) {
		fputs("No devices. Searched:", stdout);
		for (size_t i = 0; i < registry->dirs.n; i++)
			printf("%s %s%s", i ? "," : "", SHOW(registry->dirs.items[i]),
			       is_missing(registry, registry->dirs.items[i]) ? " (not there)" : "");
		putchar('\n');
	}
	return print_rest(arena, &screen, registry, inventory, 1, err);
}

/* ---- For programs ---- */

static void print_names(const struct cdi_inventory *inventory)
{
	for (size_t i = 0; i < inventory->n; i++)
		if (inventory->items[i].standing == CDI_IN_EFFECT)
			puts(inventory->items[i].name);
}

static void put_device(struct json_out *out, const struct cdi_definition *definition)
{
	static const char *const states[] = {
		[CDI_IN_EFFECT] = "usable",
		[CDI_SHADOWED] = "replaced",
		[CDI_CONFLICT] = "conflict",
	};

	json_out_begin(out, NULL, '{');
	json_out_string(out, "name", definition->name);
	json_out_string(out, "kind", definition->spec->kind);
	json_out_string(out, "state", states[definition->standing]);
	json_out_string(out, "file", definition->spec->file);
	json_out_number(out, "line", definition->device->place.line);
	json_out_number(out, "column", definition->device->place.column);
	json_out_string(out, "otherFile", definition->other ? definition->other->spec->file : NULL);
	json_out_end(out, '}');
}

static int print_json(struct arena *arena, const struct cdi_registry *registry,
		      const struct cdi_inventory *inventory, struct error *err)
{
	struct json_out out = {.text = {.arena = arena}};

	json_out_begin(&out, NULL, '{');
	json_out_begin(&out, "directories", '[');
	for (size_t i = 0; i < registry->dirs.n; i++) {
		json_out_begin(&out, NULL, '{');
		json_out_string(&out, "path", registry->dirs.items[i]);
		json_out_bool(&out, "exists", !is_missing(registry, registry->dirs.items[i]));
		json_out_end(&out, '}');
	}
	json_out_end(&out, ']');
	json_out_begin(&out, "devices", '[');
	for (size_t i = 0; i < inventory->n; i++)
		put_device(&out, &inventory->items[i]);
	json_out_end(&out, ']');
	json_out_begin(&out, "setAside", '[');
	for (size_t i = 0; i < registry->set_aside.n; i++) {
		const struct cdi_set_aside *aside = &registry->set_aside.items[i];
		json_out_begin(&out, NULL, '{');
		json_out_string(&out, "file", aside->file);
		json_out_string(&out, "kind", aside->kind);
		json_out_string(&out, "cause",
				aside->exit_code == EXIT_CODE_REFUSED ? "untrusted" : "rejected");
		json_out_string(&out, "reason", aside->reason);
		json_out_end(&out, '}');
	}
	json_out_end(&out, ']');
	json_out_end(&out, '}');
	return json_out_print(&out, err);
}

static int run(struct arena *arena, const struct string_list *spec_dirs, int output,
	       struct error *err)
{
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct cdi_registry_options options;
	struct cdi_inventory inventory = {0};
	int r = specs_open(arena, &specs, spec_dirs, err);

	if (r < 0)
		return r;
	options = specs_options(&specs);
	r = cdi_registry_load(arena, &options, &specs.notes, &specs.registry, err);
	if (r == 0)
		r = cdi_inventory_make(arena, &specs.registry, &inventory, err);
	if (r < 0)
		return r;
	if (output == OUTPUT_NAME) {
		print_names(&inventory);
		return 0;
	}
	specs_warn(&specs);
	return output == OUTPUT_JSON ? print_json(arena, &specs.registry, &inventory, err)
				     : print_table(arena, &specs.registry, &inventory, err);
}

int ctl_list(struct arena *arena, int argc, char **argv, struct error *err)
{
	struct string_list spec_dirs = {0};
	int output = OUTPUT_TABLE, first;
	const struct usage_option options[] = {
		SPECS_OPTION(&spec_dirs),
		{"output", 'o', "table|json|name", USAGE_CHOICE, &output,
		 "What is printed (default: table); name: the\ndevices alone, one a line"},
	};
	const struct usage usage = {
		.command = "list",
		.arguments = "",
		.about = "Lists the devices of all spec directories, each with its file; and what "
			 "is\n"
			 "there but not used: devices that two files define, and files that were "
			 "set\n"
			 "aside, with the reason.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};

	first = usage_parse(arena, &usage, argc, argv, err);
	if (first <= 0)
		return first;
	if (first < argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "list: takes no device; cdictl show %s tells all of one",
				 SHOW(argv[first]));
	return run(arena, &spec_dirs, output, err);
}
