/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the results are written to: a terminal with a width and perhaps colours, or a file or pipe, which gets all of it. */
#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW };

struct screen {
	size_t width; /* columns; 0: no terminal, nothing is cut or wrapped */
	bool colours;
};

/* Standard output. Colours only on a terminal, and never with NO_COLOR or TERM=dumb. */
struct screen screen_stdout(void);

/* `text` (shown already, see below) between the codes of its colour. */
void screen_put(const struct screen *screen, enum colour colour, const char *text)
	__attribute__((nonnull));

/* A paragraph of shown text whose lines all begin with `indent` blanks. */
void screen_put_paragraph(const struct screen *screen, size_t indent, const char *text)
	__attribute__((nonnull));

/*
 * Bytes of `text` that its first line in `width` columns takes: up to the last blank, or where there is none up to a slash or
 * comma, or all that fits.
 * `*ret_next` is what the next line begins with.
 */
size_t screen_line(const char *text, size_t width, const char **ret_next) __attribute__((nonnull));

/*
 * `s` as SHOW() has it, but whole: no byte of it moves a cursor or changes a colour. Every string from outside goes
 * through here or through SHOW() before it is printed. NULL where there is no memory.
 */
const char *screen_shown(struct arena *arena, const char *s)
	__attribute__((nonnull, warn_unused_result));
