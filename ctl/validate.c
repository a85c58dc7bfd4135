/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl validate: every problem of every file in one run, in the form that editors and compilers have taught people to
 * read. A file that the hook would not trust is read all the same: nothing is done with it, and its writer wants to hear
 * all of it at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "cdi-inventory.h"
#include "cleanup.h"
#include "ctl.h"
#include "fdio.h"
#include "json-out.h"
#include "screen.h"
#include "specs.h"
#include "usage.h"

struct validation {
	struct arena *arena;
	struct cdi_file_list files; /* with problems; n_specs counts all */
	size_t n_errors, n_warnings;
};

/* ---- Collecting ---- */

static struct cdi_problem_list *problems_of(struct validation *validation, const char *file)
{
	struct cdi_file_list *files = &validation->files;
	struct cdi_file_problems *slot;

	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->items[i].file, file) == 0)
			return &files->items[i].problems;
	slot = array_add(validation->arena, files);
	if (slot)
		*slot = (struct cdi_file_problems){.file = file};
	return slot ? &slot->problems : NULL;
}

/* Something about the file as a whole; clears `why`. */
static int add_whole(struct validation *validation, enum cdi_severity severity, const char *file,
		     const char *text, struct error *err)
{
	struct cdi_problem_list *list = problems_of(validation, file);
	const struct cdi_problem problem = {.severity = severity, .path = "", .text = text};

	if (!list || !text)
		return error_memory(err);
	cdi_problem_add(validation->arena, list, &problem);
	cdi_problem_sort(list);
	return 0;
}

static int open_file(const char *file, struct error *why)
{
	_cleanup_fd_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(why, errno, "open");
	if (!S_ISREG(st.st_mode))
		return error_say(why, EXIT_CODE_SPEC, "is not a regular file");
	return TAKE_FD(fd);
}

static int check_file(struct validation *validation, const char *file, struct error *err)
{
	struct cdi_problem_list problems = {0};
	struct cdi_file_problems *slot;
	struct error why = {0};
	_cleanup_fd_ int fd = open_file(file, &why);
	char *data, text[ERROR_TEXT_MAX];
	struct cdi_spec *spec;
	const char *kind;
	size_t size;
	int r = fd;

	validation->files.n_specs++;
	if (fd >= 0)
		r = fdio_read(validation->arena, fd, LIMIT_SPEC_SIZE, file, &data, &size, &why);
	if (r < 0)
		return add_whole(validation, CDI_ERROR, file,
				 arena_strdup(validation->arena, error_text(&why, text)), err);
	r = cdi_spec_check(validation->arena, file, data, size, false, &problems, &spec, &kind,
			   err);
	if (r < 0 || (problems.n == 0 && problems.dropped == 0))
		return r;
	slot = array_add(validation->arena, &validation->files);
	if (!slot)
		return error_memory(err);
	*slot = (struct cdi_file_problems){.file = file, .problems = problems};
	return 0;
}

/* What the hook does not trust, of what was read nevertheless. `severity`: how bad that is here. */
static int add_untrusted(struct validation *validation, const struct specs *specs,
			 enum cdi_severity severity, struct error *err)
{
	struct cdi_registry_options options = specs_options(specs);
	struct cdi_registry registry;
	int r = cdi_registry_load(validation->arena, &options, NULL, &registry, err);

	for (size_t i = 0; r == 0 && i < registry.set_aside.n; i++) {
		const struct cdi_set_aside *aside = &registry.set_aside.items[i];
		const char *reason = aside->reason;
		size_t len = strlen(SHOW(aside->file));

		if (aside->exit_code != EXIT_CODE_REFUSED)
			continue;
		if (strncmp(reason, SHOW(aside->file), len) == 0 && reason[len] == ':')
			reason += len + 1 + strspn(reason + len + 1, " ");
		r = add_whole(validation, severity, aside->file, reason, err);
	}
	return r;
}

static int check_dirs(struct validation *validation, const struct string_list *dirs,
		      enum cdi_severity untrusted, struct error *err)
{
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct cdi_registry_options options;
	struct cdi_checked checked = {0};
	int r = specs_open(validation->arena, &specs, dirs, err);

	if (r < 0)
		return r;
	options = specs_options(&specs);
	options.trust.everybody = true;
	r = cdi_inventory_check(validation->arena, &options, &checked, err);
	for (size_t i = 0; r == 0 && i < checked.files.n; i++) {
		struct cdi_file_problems *slot = array_add(validation->arena, &validation->files);
		if (!slot)
			return error_memory(err);
		*slot = checked.files.items[i];
	}
	validation->files.n_specs += checked.files.n_specs;
	return r == 0 ? add_untrusted(validation, &specs, untrusted, err) : r;
}

static int check_argument(struct validation *validation, const char *argument, struct error *err)
{
	const char *items[] = {argument};
	const struct string_list dirs = {.items = items, .n = 1};
	struct stat st;

	if (stat(argument, &st) == 0 && S_ISDIR(st.st_mode))
		return check_dirs(validation, &dirs, CDI_WARNING, err);
	return check_file(validation, argument, err);
}

static void count(struct validation *validation)
{
	for (size_t i = 0; i < validation->files.n; i++) {
		const struct cdi_problem_list *list = &validation->files.items[i].problems;
		validation->n_errors += list->n_errors;
		validation->n_warnings += list->n + list->dropped - list->n_errors;
	}
}

/* ---- Printing ---- */

static int print_problem(struct arena *arena, const struct screen *screen, const char *file,
			 const struct cdi_problem *problem, struct error *err)
{
	struct cdi_problem shown = *problem;
	const char *text;

	if (problem->severity == CDI_WARNING)
		shown.text = arena_printf(arena, "warning: %s", problem->text);
	text = shown.text ? cdi_problem_text(arena, file, &shown) : NULL;
	if (!text)
		return error_memory(err);
	screen_put(screen, problem->severity == CDI_WARNING ? COLOUR_YELLOW : COLOUR_NONE, text);
	putchar('\n');
	return 0;
}

static int print_text(const struct validation *validation, struct error *err)
{
	const struct screen screen = screen_stdout();

	for (size_t i = 0; i < validation->files.n; i++) {
		const struct cdi_file_problems *file = &validation->files.items[i];
		int r = 0;

		for (size_t j = 0; r == 0 && j < file->problems.n; j++)
			r = print_problem(validation->arena, &screen, file->file,
					  &file->problems.items[j], err);
		if (r < 0)
			return r;
		if (file->problems.dropped > 0)
			printf("%s: %zu more problems\n", SHOW(file->file), file->problems.dropped);
	}
	if (validation->files.n_specs == 0 && validation->n_errors == 0)
		puts("no spec files");
	else if (validation->n_errors == 0)
		printf("%zu file%s: no errors\n", validation->files.n_specs,
		       validation->files.n_specs == 1 ? "" : "s");
	return 0;
}

static int print_json(const struct validation *validation, struct error *err)
{
	struct json_out out = {.text = {.arena = validation->arena}};

	json_out_begin(&out, NULL, '{');
	json_out_number(&out, "files", (long long)validation->files.n_specs);
	json_out_number(&out, "errors", (long long)validation->n_errors);
	json_out_number(&out, "warnings", (long long)validation->n_warnings);
	json_out_begin(&out, "problems", '[');
	for (size_t i = 0; i < validation->files.n; i++) {
		const struct cdi_file_problems *file = &validation->files.items[i];

		for (size_t j = 0; j < file->problems.n; j++) {
			const struct cdi_problem *problem = &file->problems.items[j];
			json_out_begin(&out, NULL, '{');
			json_out_string(&out, "severity",
					problem->severity == CDI_WARNING ? "warning" : "error");
			json_out_string(&out, "file", file->file);
			json_out_number(&out, "line", problem->line);
			json_out_number(&out, "column", problem->column);
			json_out_string(&out, "path", problem->path);
			json_out_string(&out, "text", problem->text);
			json_out_end(&out, '}');
		}
	}
	json_out_end(&out, ']');
	json_out_end(&out, '}');
	return json_out_print(&out, err);
}

static int run(struct arena *arena, const struct string_list *spec_dirs, int output,
	       char **arguments, struct error *err)
{
	struct validation validation = {.arena = arena};
	int r = 0;

	if (!*arguments)
		r = check_dirs(&validation, spec_dirs, CDI_ERROR, err);
	for (; r == 0 && *arguments; arguments++)
		r = check_argument(&validation, *arguments, err);
	if (r < 0)
		return r;
	count(&validation);
	r = output == OUTPUT_JSON ? print_json(&validation, err) : print_text(&validation, err);
	if (r == 0 && validation.n_errors > 0)
		return error_say(err, EXIT_CODE_OTHER, "%zu error%s", validation.n_errors,
				 validation.n_errors == 1 ? "" : "s");
	return r;
}

int ctl_validate(struct arena *arena, int argc, char **argv, struct error *err)
{
	struct string_list spec_dirs = {0};
	int output = OUTPUT_TABLE, first;
	const struct usage_option options[] = {
		SPECS_OPTION(&spec_dirs),
		OUTPUT_OPTION(&output),
	};
	const struct usage usage = {
		.command = "validate",
		.arguments = "[FILE|DIR]...",
		.about = "Tells every problem of every spec file, a line each:\n"
			 "\n"
			 "  FILE:LINE:COLUMN: json.path: what is wrong\n"
			 "\n"
			 "Without an argument: of the spec directories, and whether the hook "
			 "trusts them.\n"
			 "Ends with 1 if there is an error; warnings alone are none.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};

	first = usage_parse(arena, &usage, argc, argv, err);
	if (first <= 0)
		return first;
	if (first < argc && spec_dirs.n > 0)
		return error_say(err, EXIT_CODE_USAGE,
				 "validate: either --spec-dir or files and directories, not both");
	return run(arena, &spec_dirs, output, argv + first, err);
}
