/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Rows under a heading, in columns that fit the terminal. */
#include "arena.h"
#include "error.h"
#include "screen.h"

/* What happens to a column's text where the whole table is too wide for the screen. */
enum table_fit {
	TABLE_WHOLE, /* nothing */
	TABLE_CUT,   /* its middle is left out: "/run/cdi/...-claim.json" */
	TABLE_WRAP   /* it goes on in the next line */
};

struct table_column {
	const char *title;
	enum table_fit fit;
};

struct table_cell {
	const char *text; /* from anywhere: it is escaped here. NULL: "-" */
	enum colour colour;
};

#define TABLE_COLUMNS_MAX 6

struct table {
	struct arena *arena;
	const struct table_column *columns;
	size_t n_columns;
	ARRAY(struct table_cell) cells; /* row after row */
};

/* One row: as many cells as there are columns. */
int table_add(struct table *table, const struct table_cell *cells, struct error *err)
	__attribute__((nonnull, warn_unused_result));

void table_print(const struct table *table, const struct screen *screen) __attribute__((nonnull));
