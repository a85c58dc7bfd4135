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

/* Bytes of the character at `s` where it is well-formed UTF-8 (RFC 3629), else 0. */
static size_t utf_8_len(const unsigned char *s)
{
	static const struct {
		unsigned char first_min, first_max, second_min, second_max;
		size_t len;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	if (s[0] < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].first_min || s[0] > forms[i].first_max)
			continue;
		if (s[1] < forms[i].second_min || s[1] > forms[i].second_max)
			return 0;
		for (size_t j = 2; j < forms[i].len; j++)
			if ((s[j] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

/*
 * The code of a character that must not come to a terminal as it is, else 0: the controls beyond ASCII, which some terminals
 * obey as they do ESC, and marks that are not seen and turn the order of the text around.
 */
static unsigned hidden_character(const unsigned char *s, size_t len)
{
	unsigned code = 0;

	if (len == 2)
		code = (s[0] & 0x1fU) << 6 | (s[1] & 0x3fU);
	if (len == 3)
		code = (s[0] & 0x0fU) << 12 | (s[1] & 0x3fU) << 6 | (s[2] & 0x3fU);
	if ((code >= 0x80 && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
	    (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) ||
	    code == 0xfeff)
		return code;
	return 0;
}

void text_put_json(struct text *text, const char *string)
{
	const unsigned char *s = (const unsigned char *)string;

	text_put_byte(text, '"');
	while (*s) {
		size_t len = utf_8_len(s);

		if (*s == '"' || *s == '\\') {
			text_put_byte(text, '\\');
		} else if (len == 0 || *s < 0x20 || *s == 0x7f) {
			text_printf(text, "\\u%04x", *s++);
			continue;
		} else if (hidden_character(s, len)) {
			text_printf(text, "\\u%04x", hidden_character(s, len));
			s += len;
			continue;
		}
		for (; len > 0; len--)
			text_put_byte(text, (char)*s++);
	}
	text_put_byte(text, '"');
}

const char *text_end(struct text *text, struct error *err)
{
	text_put_byte(text, '\0');
	if (!text->failed)
		return text->data;
	error_memory(err);
	return NULL;
}
