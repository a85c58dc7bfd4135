/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Too wide a table is folded by the terminal into something that nobody can read. So columns that may give way do, the
 * widest first; in a pipe or a file everything is there in full, one row a line.
 */
#include "table.h"

#include <stdio.h>
#include <string.h>

/* Blanks between columns. */
#define GAP 2
/* A column is never made narrower than this. */
#define WIDTH_LEAST 12

int table_add(struct table *table, const struct table_cell *cells, struct error *err)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		const char *shown = screen_shown(table->arena, cells[i].text ? cells[i].text : "-");
		struct table_cell *cell = array_add(table->arena, &table->cells);

		if (!cell || !shown)
			return error_memory(err);
		*cell = (struct table_cell){shown, cells[i].colour};
	}
	return 0;
}

/* Widths by the longest text of each column. Returns that of the whole table. */
static size_t natural_widths(const struct table *table, size_t *ret_widths)
{
	size_t total = GAP * (table->n_columns - 1);

	for (size_t i = 0; i < table->n_columns; i++) {
		ret_widths[i] = strlen(table->columns[i].title);
		for (size_t j = i; j < table->cells.n; j += table->n_columns) {
			size_t len = strlen(table->cells.items[j].text);
			ret_widths[i] = len > ret_widths[i] ? len : ret_widths[i];
		}
		total += ret_widths[i];
	}
	return total;
}

/* Takes what is too much from the columns that may give way, always from the widest. */
static void fit_widths(const struct table *table, size_t too_much, size_t *widths)
{
	while (too_much > 0) {
		size_t *widest = NULL;

		for (size_t i = 0; i < table->n_columns; i++) {
			if (table->columns[i].fit != TABLE_WHOLE && widths[i] > WIDTH_LEAST &&
			    (!widest || widths[i] > *widest))
				widest = &widths[i];
		}
		if (!widest)
			return;
		(*widest)--;
		too_much--;
	}
}

/* Prints the next line of a cell; returns how many columns it took. */
static size_t put_line(const struct screen *screen, const struct table_column *column,
		       enum colour colour, size_t width, const char **text)
{
	size_t len = strlen(*text);
	const char *next = *text + len;
	char line[512];

	if (len <= width || column->fit == TABLE_WHOLE || width >= sizeof(line)) {
		screen_put(screen, colour, *text);
		*text = next;
		return len;
	}
	if (column->fit == TABLE_CUT) {
		size_t head = (width - 3) / 2;
		len = width;
		snprintf(line, sizeof(line), "%.*s...%s", (int)head, *text,
			 next - (width - 3 - head));
	} else {
		len = screen_line(*text, width, &next);
		snprintf(line, sizeof(line), "%.*s", (int)len, *text);
	}
	screen_put(screen, colour, line);
	*text = next;
	return len;
}

/* A row, of several lines where a cell wraps. No line ends with blanks. */
static void put_row(const struct table *table, const struct screen *screen,
		    const struct table_cell *cells, const size_t *widths)
{
	const char *rest[TABLE_COLUMNS_MAX];
	bool more;

	for (size_t i = 0; i < table->n_columns; i++)
		rest[i] = cells[i].text;
	do {
		size_t at = 0, column = 0;

		more = false;
		for (size_t i = 0; i < table->n_columns; i++) {
			if (*rest[i]) {
				printf("%*s", at < column ? (int)(column - at) : i > 0, "");
				at = column + put_line(screen, &table->columns[i], cells[i].colour,
						       widths[i], &rest[i]);
			}
			more = more || *rest[i];
			column += widths[i] + GAP;
		}
		putchar('\n');
	} while (more);
}

void table_print(const struct table *table, const struct screen *screen)
{
	struct table_cell heading[TABLE_COLUMNS_MAX];
	size_t widths[TABLE_COLUMNS_MAX];
	size_t total = natural_widths(table, widths);

	if (screen->width > 0 && total > screen->width)
		fit_widths(table, total - screen->width, widths);
	for (size_t i = 0; i < table->n_columns; i++)
		heading[i] = (struct table_cell){table->columns[i].title, COLOUR_BOLD};
	put_row(table, screen, heading, widths);
	for (size_t i = 0; i < table->cells.n; i += table->n_columns)
		put_row(table, screen, &table->cells.items[i], widths);
}
