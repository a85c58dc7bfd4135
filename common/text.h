/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A text that grows in an arena. Running out of memory is looked at once, at its end. */
#include <stdbool.h>

#include "arena.h"
#include "error.h"

struct text {
	struct arena *arena;
	char *data;
	size_t len, cap;
	bool failed; /* there was no memory: what was put since is lost */
};

void text_put_byte(struct text *text, char byte) __attribute__((nonnull));
void text_put(struct text *text, const char *s) __attribute__((nonnull));
void text_printf(struct text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), nonnull));

/*
 * As a JSON string, quotes included: UTF-8 as it is, but for control characters and marks that change the order of the text, which are
 * escaped. A byte that is no UTF-8 is written as the escape
 * of the character with its number, so that every reader takes the text: \xff shows as "\u00ff".
 */
void text_put_json(struct text *text, const char *string) __attribute__((nonnull));

/* The whole text, NUL-terminated; NULL where something had no memory. */
const char *text_end(struct text *text, struct error *err)
	__attribute__((nonnull, warn_unused_result));
