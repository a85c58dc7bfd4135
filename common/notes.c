/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded list of sentences; what does not fit is counted, never an error. */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "bounds.h"
#include "error.h"

void note_add(struct notes *notes, enum note_level level, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	if (!notes)
		return;
	if (notes->list.n >= LIMIT_LOG_LINES) {
		notes->dropped++;
		return;
	}
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);

	const char *copy = arena_strdup(notes->arena, text);
	struct note *note = copy ? array_add(notes->arena, &notes->list) : NULL;
	if (!note) {
		notes->dropped++;
		return;
	}
	*note = (struct note){.level = level, .text = copy};
}
