/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON scanner of our own, although json-c has a reader, because it is the first to touch what decides
 * what root does:
 *
 *  - json-c's strict mode lets pass what is no JSON (single quotes, NaN, raw control characters),
 * and of two equal members it keeps the last in silence, so that two readers of one file could see
 * two different requests.
 *  - When memory runs out, its tokener (0.16) crashes, or loses members and text without an error:
 * a lost annotation is a container that starts without its device. It also takes some characters
 * for halves of surrogate pairs.
 *
 * It hands out one token after the other with its place, which is also what is needed to replace a member in a
 * document whose other bytes shall stay as they are.
 */
#include "json-scan.h"

#include <stdio.h>
#include <string.h>

#include "bounds.h"

/* What may come next. */
enum {
	EXPECT_VALUE,
	EXPECT_ITEM_OR_END,
	EXPECT_KEY,
	EXPECT_KEY_OR_END,
	EXPECT_COLON,
	EXPECT_COMMA_OR_END, /* or the end of the document */
};

/* A limit's number as text. */
#define STRING(limit) STRING_(limit)
#define STRING_(limit) #limit

/* A bit for each level. */
_Static_assert(LIMIT_DEPTH <= 64, "struct json_scan has no room for this depth");

void json_scan_init(struct json_scan *scan, const char *what, const char *data, size_t size)
{
	*scan = (struct json_scan){
		.what = what, .data = data, .size = size, .expect = EXPECT_VALUE};
}

void json_place(const char *data, size_t at, size_t *ret_line, size_t *ret_column)
{
	*ret_line = 1;
	*ret_column = 1;
	for (size_t i = 0; i < at; i++) {
		if (data[i] == '\n') {
			*ret_line += 1;
			*ret_column = 1;
		} else if (((unsigned char)data[i] & 0xc0) != 0x80) {
			*ret_column += 1;
		}
	}
}

static COLD int fault(struct json_scan *scan, size_t at, const char *problem, struct error *err)
{
	size_t line, column;

	scan->fault = at;
	json_place(scan->data, at, &line, &column);
	return error_say(err, EXIT_CODE_DONE, "%s:%zu:%zu: %s", scan->what, line, column, problem);
}

static COLD int fault_unexpected(struct json_scan *scan, size_t at, const char *expected,
				 struct error *err)
{
	char problem[128];

	if (at == scan->size)
		snprintf(problem, sizeof(problem), "expected %s, found the end", expected);
	else if (!scan->data[at])
		snprintf(problem, sizeof(problem), "expected %s, found a NUL byte", expected);
	else
		snprintf(problem, sizeof(problem), "expected %s, found '%s'", expected,
			 SHOW(((char[]){scan->data[at], '\0'})));
	return fault(scan, at, problem, err);
}

/* ---- Strings ---- */

/* Bytes of the UTF-8 sequence at the beginning of `s`, or 0: RFC 3629, so no overlong forms and no
 * surrogates. */
static size_t utf8_sequence(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	/* The first bytes at the borders of a range leave less room for the second. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;

	if (left < n || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

/* Writes one character as UTF-8; returns its bytes. */
static size_t utf8_write(char out[static 4], uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The number behind \u in `s`, or -1. */
static int32_t hex4(const char *s, size_t left)
{
	int32_t value = 0;

	if (left < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		static const char digits[] = "0123456789abcdef";
		char lower = (char)(s[i] >= 'A' && s[i] <= 'F' ? s[i] - 'A' + 'a' : s[i]);
		const char *digit = lower ? strchr(digits, lower) : NULL;

		if (!digit)
			return -1;
		value = value << 4 | (int32_t)(digit - digits);
	}
	return value;
}

/*
 * The escape at the beginning of `s`: writes the character that it stands for into `out` and how
 * many bytes that are into `*ret_written`. Returns the bytes of the escape, or 0 with
 * `*ret_problem`.
 */
static size_t escape_read(const char *s, size_t left, char out[static 4], size_t *ret_written,
			  const char **ret_problem)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name = left > 1 && s[1] ? strchr(names, s[1]) : NULL;
	int32_t first, second;

	if (name) {
		out[0] = values[name - names];
		*ret_written = 1;
		return 2;
	}
	*ret_problem = "unknown escape in a string";
	if (left < 2 || s[1] != 'u')
		return 0;
	first = hex4(s, left);
	*ret_problem = "\\u takes four hexadecimal digits";
	if (first < 0)
		return 0;
	*ret_problem = "\\u0000 in a string";
	if (first == 0)
		return 0;
	if (first < 0xd800 || first > 0xdfff) {
		*ret_written = utf8_write(out, (uint32_t)first);
		return 6;
	}
	*ret_problem = "half of a surrogate pair in a string";
	second = first <= 0xdbff ? hex4(s + 6, left - 6) : -1;
	if (second < 0xdc00 || second > 0xdfff)
		return 0;
	*ret_written = utf8_write(out, 0x10000 + ((uint32_t)(first - 0xd800) << 10) +
					       (uint32_t)(second - 0xdc00));
	return 12;
}

/* The string that begins at scan->start. */
static int scan_string(struct json_scan *scan, struct error *err)
{
	size_t at = scan->start + 1, length = 0;

	for (;;) {
		const char *problem = "invalid UTF-8 in a string";
		size_t n = 1, written = 1;
		char out[4];

		if (at >= scan->size)
			return fault(scan, scan->start, "a string without its end", err);
		unsigned char c = (unsigned char)scan->data[at];
		if (c == '"')
			break;
		if (c < 0x20)
			return fault(scan, at, "raw control character in a string", err);
		if (c == '\\')
			n = escape_read(scan->data + at, scan->size - at, out, &written, &problem);
		else if (c >= 0x80)
			written = n = utf8_sequence(scan->data + at, scan->size - at);
		if (n == 0)
			return fault(scan, at, problem, err);
		at += n;
		length += written;
		if (length > LIMIT_JSON_STRING)
			return fault(scan, scan->start,
				     "a string of more than " STRING(LIMIT_JSON_STRING) " bytes",
				     err);
	}
	scan->end = at + 1;
	return 0;
}

/* Escapes are never shorter than what they mean. */
size_t json_scan_write(const struct json_scan *scan, char *text)
{
	const char *s = scan->data + scan->start + 1, *end = scan->data + scan->end - 1;
	size_t used = 0;

	while (s < end) {
		const char *problem;
		size_t written = 1, n = 1;
		char out[4] = {*s};

		if (*s == '\\')
			n = escape_read(s, (size_t)(end - s), out, &written, &problem);
		memcpy(text + used, out, written);
		used += written;
		s += n;
	}
	text[used] = '\0';
	return used;
}

char *json_scan_text(struct arena *arena, const struct json_scan *scan)
{
	/* The quotes are room enough for the NUL. */
	char *text = arena_alloc(arena, scan->end - scan->start);

	if (text)
		json_scan_write(scan, text);
	return text;
}

/* ---- Other scalars ---- */

static size_t skip_digits(const struct json_scan *scan, size_t at)
{
	while (at < scan->size && scan->data[at] >= '0' && scan->data[at] <= '9')
		at++;
	return at;
}

/* The number that begins at scan->start. */
static int scan_number(struct json_scan *scan, struct error *err)
{
	const char *data = scan->data;
	size_t size = scan->size, at = scan->start, from;

	if (data[at] == '-')
		at++;
	from = at;
	at = skip_digits(scan, at);
	if (at == from)
		return fault_unexpected(scan, at, "a digit", err);
	if (data[from] == '0' && at > from + 1)
		return fault(scan, scan->start, "a number that begins with 0", err);
	if (at < size && data[at] == '.') {
		from = ++at;
		at = skip_digits(scan, at);
		if (at == from)
			return fault_unexpected(scan, at, "a digit", err);
	}
	if (at < size && (data[at] == 'e' || data[at] == 'E')) {
		at++;
		if (at < size && (data[at] == '+' || data[at] == '-'))
			at++;
		from = at;
		at = skip_digits(scan, at);
		if (at == from)
			return fault_unexpected(scan, at, "a digit", err);
	}
	if (at - scan->start > LIMIT_JSON_NUMBER)
		return fault(scan, scan->start,
			     "a number of more than " STRING(LIMIT_JSON_NUMBER) " digits", err);
	scan->end = at;
	return JSON_TOKEN_NUMBER;
}

static int scan_word(struct json_scan *scan, const char *word, int token, struct error *err)
{
	size_t len = strlen(word);

	if (scan->size - scan->start < len || memcmp(scan->data + scan->start, word, len) != 0)
		return fault_unexpected(scan, scan->start, "a value", err);
	scan->end = scan->start + len;
	return token;
}

/* ---- Structure ---- */

static bool in_object(const struct json_scan *scan)
{
	return scan->objects >> (scan->depth - 1) & 1;
}

/* Opens an object or array. */
static int scan_open(struct json_scan *scan, bool is_object, struct error *err)
{
	if (scan->depth == LIMIT_DEPTH)
		return fault(scan, scan->start, "nested deeper than " STRING(LIMIT_DEPTH), err);
	scan->objects &= ~(UINT64_C(1) << scan->depth);
	scan->objects |= (uint64_t)is_object << scan->depth;
	scan->depth++;
	scan->end = scan->start + 1;
	scan->expect = is_object ? EXPECT_KEY_OR_END : EXPECT_ITEM_OR_END;
	return is_object ? JSON_TOKEN_OBJECT : JSON_TOKEN_ARRAY;
}

static int scan_close(struct json_scan *scan)
{
	bool was_object = in_object(scan);

	scan->depth--;
	scan->end = scan->start + 1;
	scan->expect = EXPECT_COMMA_OR_END;
	return was_object ? JSON_TOKEN_OBJECT_END : JSON_TOKEN_ARRAY_END;
}

static int scan_value(struct json_scan *scan, struct error *err)
{
	char c = scan->start < scan->size ? scan->data[scan->start] : '\0';
	int r;

	if (++scan->values > LIMIT_VALUES)
		return fault(scan, scan->start, "more than " STRING(LIMIT_VALUES) " values", err);
	if (c == '{' || c == '[')
		return scan_open(scan, c == '{', err);

	scan->expect = EXPECT_COMMA_OR_END;
	switch (c) {
	case '"':
		r = scan_string(scan, err);
		return r < 0 ? r : JSON_TOKEN_STRING;
	case 't':
		return scan_word(scan, "true", JSON_TOKEN_TRUE, err);
	case 'f':
		return scan_word(scan, "false", JSON_TOKEN_FALSE, err);
	case 'n':
		return scan_word(scan, "null", JSON_TOKEN_NULL, err);
	default:
		if (c == '-' || (c >= '0' && c <= '9'))
			return scan_number(scan, err);
		return fault_unexpected(scan, scan->start, "a value", err);
	}
}

/* Sets scan->start to the next byte that is no blank, and returns that byte or NUL. */
static char skip_blanks(struct json_scan *scan)
{
	size_t at = scan->end;

	while (at < scan->size && (scan->data[at] == ' ' || scan->data[at] == '\n' ||
				   scan->data[at] == '\t' || scan->data[at] == '\r'))
		at++;
	scan->start = scan->end = at;
	return at < scan->size ? scan->data[at] : '\0';
}

/* Skips `c`, which must be there, and the blanks behind it. */
static int scan_punctuation(struct json_scan *scan, char c, const char *expected, struct error *err)
{
	if (scan->start == scan->size || scan->data[scan->start] != c)
		return fault_unexpected(scan, scan->start, expected, err);
	scan->end = scan->start + 1;
	skip_blanks(scan);
	return 0;
}

static int scan_key(struct json_scan *scan, struct error *err)
{
	int r;

	if (scan->start == scan->size || scan->data[scan->start] != '"')
		return fault_unexpected(scan, scan->start,
					scan->expect == EXPECT_KEY
						? "a key in double quotes"
						: "a key in double quotes or '}'",
					err);
	r = scan_string(scan, err);
	if (r < 0)
		return r;
	scan->expect = EXPECT_COLON;
	return JSON_TOKEN_KEY;
}

/* Behind a value that is not the last one. */
static int scan_comma(struct json_scan *scan, struct error *err)
{
	bool object = in_object(scan);
	int r = scan_punctuation(scan, ',', object ? "',' or '}'" : "',' or ']'", err);

	scan->expect = object ? EXPECT_KEY : EXPECT_VALUE;
	return r;
}

int json_scan_next(struct json_scan *scan, struct error *err)
{
	char c = skip_blanks(scan);
	int r = 0;

	switch (scan->expect) {
	case EXPECT_COMMA_OR_END:
		if (scan->depth == 0 && scan->start == scan->size)
			return JSON_TOKEN_END;
		if (scan->depth == 0)
			return fault_unexpected(scan, scan->start, "the end", err);
		if (c == (in_object(scan) ? '}' : ']'))
			return scan_close(scan);
		r = scan_comma(scan, err);
		break;
	case EXPECT_KEY_OR_END:
	case EXPECT_ITEM_OR_END:
		if (c == (in_object(scan) ? '}' : ']'))
			return scan_close(scan);
		break;
	case EXPECT_COLON:
		r = scan_punctuation(scan, ':', "':'", err);
		scan->expect = EXPECT_VALUE;
		break;
	}
	if (r < 0)
		return r;
	if (scan->expect == EXPECT_KEY || scan->expect == EXPECT_KEY_OR_END)
		return scan_key(scan, err);
	return scan_value(scan, err);
}

int json_check(const char *what, const char *data, size_t size, struct error *err)
{
	struct json_scan scan;
	int token;

	json_scan_init(&scan, what, data, size);
	do
		token = json_scan_next(&scan, err);
	while (token > 0);
	return token;
}
