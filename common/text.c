/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

void text_put_byte(struct text *text, char byte)
{
	char *data = arena_grow(text->arena, text->data, text->len, &text->cap, 1);

	if (!data) {
		text->failed = true;
		return;
	}
	text->data = data;
	text->data[text->len++] = byte;
}

void text_put(struct text *text, const char *s)
{
	for (; *s; s++)
		text_put_byte(text, *s);
}

/* For numbers and short words: what strings from outside say is put by text_put(). */
void text_printf(struct text *text, const char *fmt, ...)
{
	char buffer[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buffer, sizeof(buffer), fmt, args);
	va_end(args);
	text_put(text, buffer);
}

const char *text_end(struct text *text, struct error *err)
{
	text_put_byte(text, '\0');
	if (!text->failed)
		return text->data;
	error_memory(err);
	return NULL;
}
