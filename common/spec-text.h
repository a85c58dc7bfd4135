/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A spec file as characters: what has to be known of it before libyaml reads it, and where a byte
 * of it stands.
 */
#include <stdbool.h>
#include <stddef.h>

struct spec_text {
	const char *data;
	size_t size;
	size_t start; /* behind the byte order mark */
	enum { SPEC_UTF_8, SPEC_UTF_16_LE, SPEC_UTF_16_BE } encoding;
};

/* The data are not copied. */
void spec_text_init(struct spec_text *text, const char *data, size_t size) __attribute__((nonnull));

/* Whether there is nothing but blanks, not even a comment. */
bool spec_text_is_blank(const struct spec_text *text) __attribute__((nonnull));

/* Line of the first directive (a line that begins with %) beyond the `most` first ones, or 0. */
unsigned spec_text_directive(const struct spec_text *text, unsigned most) __attribute__((nonnull));

/* Line and column of a byte, from 1, as libyaml counts them. */
void spec_text_place(const struct spec_text *text, size_t offset, unsigned *ret_line,
		     unsigned *ret_column) __attribute__((nonnull));

/* The ASCII character at a place, or 0 where there is another one or none. */
int spec_text_at(const struct spec_text *text, unsigned line, unsigned column)
	__attribute__((nonnull));

/*
 * False when no value of the file can be `word`, which is printable ASCII: it is nowhere among the
 * bytes, and nothing is there that writes characters otherwise (escapes, base64, UTF-16).
 */
bool spec_text_may_hold(const struct spec_text *text, const char *word) __attribute__((nonnull));

/* Where the reading of a text has come to. */
struct spec_position {
	size_t offset;
	unsigned line, column; /* from 1 */
	unsigned last;
};

/* The beginning; and from any place on to a byte behind it. */
struct spec_position spec_text_begin(const struct spec_text *text) __attribute__((nonnull));
void spec_text_go_to(const struct spec_text *text, struct spec_position *at, size_t offset)
	__attribute__((nonnull));
