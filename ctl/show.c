/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl show: all that a device gives, where its spec says so, and what this host has of it. That is the question behind
 * most complaints: is the file stale, is the driver loaded, and by which name is the device found again.
 */
#include <stdio.h>

#include "ctl.h"
#include "show-edit.h"
#include "specs.h"
#include "usage.h"

static int has_edits(const struct cdi_edits *edits)
{
	return edits->device_nodes.n || edits->mounts.n || edits->hooks.n || edits->env.n ||
	       edits->additional_gids.n || edits->net_devices.n || edits->intel_rdt;
}

static int print_edits(const struct show *show, const struct screen *screen, const char *title,
		       const struct cdi_edits *edits, struct error *err)
{
	static const struct table_column columns[] = SHOW_COLUMNS;
	struct table table = {.arena = show->arena,
			      .columns = columns,
			      .n_columns = sizeof(columns) / sizeof(columns[0])};
	int r;

	if (!has_edits(edits))
		return 0;
	r = show_edits_table(show, edits, &table, err);
	if (r < 0)
		return r;
	printf("\n%s:\n", title);
	table_print(&table, screen);
	return 0;
}

static int print_device(const struct show *show, const struct screen *screen,
			const struct cdi_found *found, struct error *err)
{
	const struct cdi_device *device = found->device;
	int r;

	screen_put(screen, COLOUR_BOLD, SHOW(found->name));
	printf("\n  defined in %s:%u:%u (CDI %s)\n", SHOW(found->spec->file), device->place.line,
	       device->place.column, SHOW(found->spec->version));
	for (size_t i = 0; i < found->spec->annotations.n; i++)
		printf("  annotation of its kind: %s=%s\n",
		       SHOW(found->spec->annotations.items[i].key),
		       SHOW(found->spec->annotations.items[i].value));
	for (size_t i = 0; i < device->annotations.n; i++)
		printf("  annotation: %s=%s\n", SHOW(device->annotations.items[i].key),
		       SHOW(device->annotations.items[i].value));
	r = print_edits(show, screen, "Edits of the device", &device->edits, err);
	if (r == 0)
		r = print_edits(show, screen, "Edits of every device in the file",
				&found->spec->edits, err);
	return r;
}

static int put_device(const struct show *show, struct json_out *out, const struct cdi_found *found,
		      struct error *err)
{
	const struct cdi_device *device = found->device;
	int r;

	json_out_begin(out, NULL, '{');
	json_out_string(out, "name", found->name);
	json_out_string(out, "kind", found->spec->kind);
	json_out_string(out, "file", found->spec->file);
	json_out_number(out, "line", device->place.line);
	json_out_number(out, "column", device->place.column);
	json_out_string(out, "cdiVersion", found->spec->version);
	json_out_begin(out, "kindAnnotations", '{');
	for (size_t i = 0; i < found->spec->annotations.n; i++)
		json_out_string(out, found->spec->annotations.items[i].key,
				found->spec->annotations.items[i].value);
	json_out_end(out, '}');
	json_out_begin(out, "annotations", '{');
	for (size_t i = 0; i < device->annotations.n; i++)
		json_out_string(out, device->annotations.items[i].key,
				device->annotations.items[i].value);
	json_out_end(out, '}');
	json_out_begin(out, "edits", '[');
	r = show_edits_json(show, &found->spec->edits, true, out, err);
	if (r == 0)
		r = show_edits_json(show, &device->edits, false, out, err);
	json_out_end(out, ']');
	json_out_end(out, '}');
	return r;
}

static int print_all(const struct show *show, const struct cdi_found_list *found, int output,
		     struct error *err)
{
	const struct screen screen = screen_stdout();
	struct json_out out = {.text = {.arena = show->arena}};
	int r = 0;

	if (output == OUTPUT_TABLE) {
		for (size_t i = 0; r == 0 && i < found->n; i++) {
			fputs(i ? "\n" : "", stdout);
			r = print_device(show, &screen, &found->items[i], err);
		}
		return r;
	}
	json_out_begin(&out, NULL, '[');
	for (size_t i = 0; r == 0 && i < found->n; i++)
		r = put_device(show, &out, &found->items[i], err);
	json_out_end(&out, ']');
	return r < 0 ? r : json_out_print(&out, err);
}

int ctl_show(struct arena *arena, int argc, char **argv, struct error *err)
{
	_cleanup_host_devices_ struct host_devices devices = {0};
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct string_list spec_dirs = {0};
	int output = OUTPUT_TABLE, first, r;
	const struct usage_option options[] = {
		SPECS_OPTION(&spec_dirs),
		OUTPUT_OPTION(&output),
	};
	const struct usage usage = {
		.command = "show",
		.arguments = "DEVICE...",
		.about = "Shows all that devices give to a container, with the line and column in "
			 "their\n"
			 "spec file, and what this host has of it: whether nodes are there and "
			 "their\n"
			 "numbers agree, which driver is behind them, and udev's names for them.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};

	first = usage_parse(arena, &usage, argc, argv, err);
	if (first <= 0)
		return first;
	if (first == argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "show: no device given; cdictl list shows what there is");
	r = specs_open(arena, &specs, &spec_dirs, err);
	if (r == 0)
		r = specs_find(&specs, argv + first, err);
	if (r == 0)
		r = host_devices_init(arena, &devices, specs.root_fd, err);
	if (r < 0)
		return r;
	return print_all(&(struct show){.arena = arena, .devices = &devices}, &specs.found, output,
			 err);
}
