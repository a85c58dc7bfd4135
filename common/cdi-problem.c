/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook that cannot use a file needs one sentence, at once. A person who writes a file wants to
 * hear everything in one go. The readers of a file therefore report to here and ask nothing: with a
 * list to fill they go on after an error, without one the first error is the sentence.
 */
#include "cdi-problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

/* "FILE:LINE:COLUMN: json.path: " */
static int write_place(char buffer[static ERROR_TEXT_MAX], const char *file, unsigned line,
		       unsigned column, const char *path)
{
	char place[32] = "";

	if (line)
		snprintf(place, sizeof(place), ":%u:%u", line, column);
	/* Far shorter than the buffer: file and path are bounded. */
	return snprintf(buffer, ERROR_TEXT_MAX, "%s%s: %s%s", SHOW(file), place, path,
			*path ? ": " : "");
}

const char *cdi_problem_text(struct arena *arena, const char *file,
			     const struct cdi_problem *problem)
{
	char place[ERROR_TEXT_MAX];

	write_place(place, file, problem->line, problem->column, problem->path);
	return arena_printf(arena, "%s%s", place, problem->text);
}

static bool is_known(const struct cdi_problem_list *list, const struct cdi_problem *problem)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct cdi_problem *known = &list->items[i];

		if (known->line == problem->line && known->column == problem->column &&
		    strcmp(known->text, problem->text) == 0)
			return true;
	}
	return false;
}

/* Room for one more; an error takes that of a warning. NULL: none. */
static struct cdi_problem *make_room(struct arena *arena, struct cdi_problem_list *list,
				     enum cdi_severity severity)
{
	if (list->n < LIMIT_SPEC_PROBLEMS)
		return array_add(arena, list);
	for (size_t i = list->n; i-- > 0 && severity == CDI_ERROR;)
		if (list->items[i].severity == CDI_WARNING)
			return &list->items[i];
	return NULL;
}

void cdi_problem_add(struct arena *arena, struct cdi_problem_list *list,
		     const struct cdi_problem *problem)
{
	if (is_known(list, problem))
		return;
	list->n_errors += problem->severity == CDI_ERROR;
	const char *path = arena_strdup(arena, problem->path);
	const char *text = arena_strdup(arena, problem->text);
	size_t n = list->n;
	struct cdi_problem *room = path && text ? make_room(arena, list, problem->severity) : NULL;
	if (list->n == n)
		list->dropped++;
	if (!room)
		return;
	*room = *problem;
	room->path = path;
	room->text = text;
}

static int compare_places(const struct cdi_problem *a, const struct cdi_problem *b)
{
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->column > b->column) - (a->column < b->column);
}

void cdi_problem_sort(struct cdi_problem_list *list)
{
	/* A few, mostly in order. */
	for (size_t i = 1; i < list->n; i++)
		for (size_t j = i; j > 0; j--) {
			struct cdi_problem *left = &list->items[j - 1], *right = &list->items[j];
			const struct cdi_problem moved = *right;

			if (compare_places(left, right) <= 0)
				break;
			*right = *left;
			*left = moved;
		}
}

int cdi_report_error(const struct cdi_report *report, unsigned line, unsigned column,
		     const char *path, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX], place[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (report->problems)
		cdi_problem_add(report->arena, report->problems,
				&(struct cdi_problem){CDI_ERROR, line, column, path, text});
	write_place(place, report->file, line, column, path);
	return error_say(report->err, EXIT_CODE_SPEC, "%s%s", place, text);
}

void cdi_report_warning(const struct cdi_report *report, unsigned line, unsigned column,
			const char *path, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX], place[ERROR_TEXT_MAX];
	va_list args;

	if (!report->notes && !report->problems)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (report->problems)
		cdi_problem_add(report->arena, report->problems,
				&(struct cdi_problem){CDI_WARNING, line, column, path, text});
	write_place(place, report->file, line, column, path);
	note_add(report->notes, NOTE_WARNING, "%s%s", place, text);
}
