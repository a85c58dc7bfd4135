/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things that libyaml leaves to us. It compares each directive with all before it, so a file
 * of nothing else takes it minutes: they are counted first. It tells only the byte of a bad
 * character: its line has to be found.
 *
 * It takes UTF-8 and, with a byte order mark, UTF-16, which Windows tools write.
 */
#include "spec-text.h"

#include <string.h>

/* A continuation byte of UTF-8, whatever it is. */
#define CONTINUATION 0x80

void spec_text_init(struct spec_text *text, const char *data, size_t size)
{
	*text = (struct spec_text){.data = data, .size = size};
	if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
		text->start = 3;
	} else if (size >= 2 && memcmp(data, "\xff\xfe", 2) == 0) {
		text->start = 2;
		text->encoding = SPEC_UTF_16_LE;
	} else if (size >= 2 && memcmp(data, "\xfe\xff", 2) == 0) {
		text->start = 2;
		text->encoding = SPEC_UTF_16_BE;
	}
}

/* A byte of UTF-8; but a line break of several bytes is one character. */
static unsigned next_utf_8(const unsigned char *s, size_t left, size_t *pos)
{
	*pos += 1;
	if (left >= 2 && s[0] == 0xc2 && s[1] == 0x85) {
		*pos += 1;
		return 0x85;
	}
	if (left >= 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9)) {
		*pos += 2;
		return 0x2000 | (s[2] & 0x7f);
	}
	return (s[0] & 0xc0) == 0x80 ? CONTINUATION : s[0];
}

/* The next character, as far as it is a line break or ASCII: nothing else is of interest here. */
static unsigned next_char(const struct spec_text *text, size_t *pos)
{
	const unsigned char *s = (const unsigned char *)text->data + *pos;
	size_t left = text->size - *pos;

	if (text->encoding == SPEC_UTF_8 || left < 2)
		return next_utf_8(s, left, pos);
	*pos += 2;
	if (text->encoding == SPEC_UTF_16_LE)
		return (unsigned)s[1] << 8 | s[0];
	return (unsigned)s[0] << 8 | s[1];
}

/* All that YAML takes for one: carriage return, line feed, NEL, LS and PS. */
static bool is_break(unsigned c)
{
	return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool spec_text_is_blank(const struct spec_text *text)
{
	size_t pos = text->start;

	while (pos < text->size) {
		unsigned c = next_char(text, &pos);

		if (c != ' ' && c != '\t' && !is_break(c))
			return false;
	}
	return true;
}

unsigned spec_text_directive(const struct spec_text *text, unsigned most)
{
	unsigned line = 1, n = 0, last = '\n';
	size_t pos = text->start;

	if (!text->size || !memchr(text->data, '%', text->size))
		return 0;
	while (pos < text->size) {
		unsigned c = next_char(text, &pos);

		if (c == '%' && is_break(last) && ++n > most)
			return line;
		/* CR LF is one break. */
		line += is_break(c) && !(c == '\n' && last == '\r');
		last = c;
	}
	return 0;
}

static void step(const struct spec_text *text, struct spec_position *at)
{
	unsigned c = next_char(text, &at->offset);

	if (is_break(c)) {
		/* CR LF is one break. */
		at->line += !(c == '\n' && at->last == '\r');
		at->column = 1;
	} else if (text->encoding != SPEC_UTF_8 || c != CONTINUATION) {
		at->column++;
	}
	at->last = c;
}

struct spec_position spec_text_begin(const struct spec_text *text)
{
	return (struct spec_position){.offset = text->start, .line = 1, .column = 1};
}

void spec_text_go_to(const struct spec_text *text, struct spec_position *at, size_t offset)
{
	while (at->offset < text->size && at->offset < offset)
		step(text, at);
}

void spec_text_place(const struct spec_text *text, size_t offset, unsigned *ret_line,
		     unsigned *ret_column)
{
	struct spec_position at = spec_text_begin(text);

	spec_text_go_to(text, &at, offset);
	*ret_line = at.line;
	*ret_column = at.column;
}

int spec_text_at(const struct spec_text *text, unsigned line, unsigned column)
{
	struct spec_position at = spec_text_begin(text);

	unsigned c = 0;

	while (at.offset < text->size) {
		size_t next = at.offset;

		c = next_char(text, &next);
		/* Still inside a character of several bytes, or a break of two. */
		bool inside = text->encoding == SPEC_UTF_8 && c == CONTINUATION;
		inside = inside || (c == '\n' && at.last == '\r');
		if (!inside && (at.line > line || (at.line == line && at.column >= column)))
			break;
		step(text, &at);
	}
	return at.offset < text->size && at.line == line && at.column == column && c < 0x80 ? (int)c
											    : 0;
}

bool spec_text_may_hold(const struct spec_text *text, const char *word)
{
	/*
	 * A backslash may begin an escape, "!" a tag such as !!binary. All else that YAML can do to
	 * a word leaves its characters side by side: quotes and block marks stand around it, anchors
	 * in front of it, and a line is only ever broken where a blank or a break is meant.
	 */
	return text->encoding != SPEC_UTF_8 || memmem(text->data, text->size, word, strlen(word)) ||
	       memchr(text->data, '\\', text->size) || memchr(text->data, '!', text->size);
}
