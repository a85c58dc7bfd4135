/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML leaves the meaning of a word to its reader, and readers differ: 0666 is octal to one and
 * decimal to the next, `yes` is a truth or a word. The rules here are those of the reference
 * at 1.1.2, except that a fraction is never cut off (`uid: 0.5` would be root) and that what older
 * releases take for a truth is one here too.
 *
 * Text is never converted: where text is wanted, it is what stands in the file.
 */
#include "spec-scalar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

#define CORE_TAG "tag:yaml.org,2002:"
/* No number that fits in 64 bits needs more bytes. */
#define NUMBER_MAX 64

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool has_core_tag(const struct value *value, const char *name)
{
	return value->tag && strncmp(value->tag, CORE_TAG, strlen(CORE_TAG)) == 0 &&
	       strcmp(value->tag + strlen(CORE_TAG), name) == 0;
}

/*
 * Whether the word may mean something other than itself: not quoted, or tagged so in spite of its
 * quotes.
 */
static bool is_open(const struct value *value)
{
	if (!value->tag)
		return value->plain;
	return has_core_tag(value, "int") || has_core_tag(value, "float") ||
	       has_core_tag(value, "bool");
}

bool spec_scalar_is_null(const struct value *value)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};

	if (value->kind != VALUE_SCALAR)
		return false;
	if (value->tag ? !has_core_tag(value, "null") : !value->plain)
		return false;
	return is_one_of(value->text, words, N_ELEMENTS(words));
}

bool spec_scalar_bool(const struct value *value, bool *ret_truth)
{
	/* The first four of each are truths even in quotes. */
	static const char *const yes[] = {"y",  "Y",  "yes",  "on",   "Yes", "YES",
					  "On", "ON", "true", "True", "TRUE"};
	static const char *const no[] = {"n",   "N",   "no",    "off",   "No",   "NO",
					 "Off", "OFF", "false", "False", "FALSE"};
	size_t n = is_open(value) ? N_ELEMENTS(yes) : 4;

	*ret_truth = is_one_of(value->text, yes, n);
	return *ret_truth || is_one_of(value->text, no, n);
}

/* The value of a digit of any base up to 16, else 16. */
static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

/* `text` as digits of `base` and nothing else. */
static enum spec_number read_digits(const char *text, unsigned base, bool negative,
				    int64_t *ret_number)
{
	int64_t number = 0;
	bool fits = true;

	if (!*text)
		return SPEC_NUMBER_NONE;
	for (; *text; text++) {
		int64_t d = digit(*text);

		if (d >= base)
			return SPEC_NUMBER_NONE;
		/* Counted downwards, since the negative numbers reach one further. */
		fits = fits && !__builtin_mul_overflow(number, (int64_t)base, &number) &&
		       !__builtin_sub_overflow(number, d, &number);
	}
	if (!fits || (!negative && __builtin_sub_overflow(0, number, &number)))
		return SPEC_NUMBER_RANGE;
	*ret_number = number;
	return SPEC_NUMBER_OK;
}

static const char *skip_digits(const char *s)
{
	return s + strspn(s, "0123456789");
}

/*
 * Digits with a point, an exponent or both: strtod(3) alone takes more (hexadecimal, "inf",
 * blanks).
 */
static bool is_float(const char *text)
{
	const char *s = skip_digits(text);
	bool any = s > text;

	if (*s == '.') {
		const char *fraction = ++s;

		s = skip_digits(s);
		any = any || s > fraction;
	}
	if (any && (*s == 'e' || *s == 'E')) {
		s++;
		if (*s == '+' || *s == '-')
			s++;
		if (skip_digits(s) == s)
			return false;
		s = skip_digits(s);
	}
	return any && !*s;
}

static enum spec_number read_float(const char *text, bool negative, int64_t *ret_number)
{
	int saved = errno;

	errno = 0;
	double number = strtod(text, NULL);
	bool exact = errno == 0;
	errno = saved;
	/* Numbers from 2^63 on do not fit; the smallest that is refused is exact as a double. */
	if (number >= 0x1p63)
		return SPEC_NUMBER_RANGE;
	if (!exact) /* so small that not even a double has it */
		return SPEC_NUMBER_FRACTION;
	*ret_number = (int64_t)number;
	if ((double)*ret_number < number)
		return SPEC_NUMBER_FRACTION;
	if (negative)
		*ret_number = -*ret_number;
	return SPEC_NUMBER_OK;
}

/* A number without sign and underscores. */
static enum spec_number read_magnitude(const char *text, bool negative, int64_t *ret_number)
{
	enum spec_number r;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return read_digits(text + 2, 16, negative, ret_number);
	if (text[0] == '0' && (text[1] == 'o' || text[1] == 'O'))
		return read_digits(text + 2, 8, negative, ret_number);
	if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
		return read_digits(text + 2, 2, negative, ret_number);
	if (text[0] == '0' && text[1]) {
		r = read_digits(text + 1, 8, negative, ret_number);
		if (r != SPEC_NUMBER_NONE)
			return r;
		r = read_digits(text + 1, 10, negative, ret_number);
		if (r != SPEC_NUMBER_NONE)
			return r == SPEC_NUMBER_OK ? SPEC_NUMBER_OK_NOT_OCTAL : r;
	}
	r = read_digits(text, 10, negative, ret_number);
	if (r == SPEC_NUMBER_NONE && is_float(text))
		return read_float(text, negative, ret_number);
	return r;
}

static enum spec_number read_number(const struct value *value, int64_t *ret_number)
{
	char bare[NUMBER_MAX];
	const char *text = value->text;
	size_t used = 0;

	/* A word that begins with an underscore is no number, whatever follows. */
	if (*text == '_')
		return SPEC_NUMBER_NONE;
	for (; *text; text++) {
		if (*text == '_')
			continue;
		if (used == sizeof(bare) - 1)
			return SPEC_NUMBER_NONE;
		bare[used++] = *text;
	}
	bare[used] = '\0';

	bool sign = bare[0] == '-' || bare[0] == '+';
	return read_magnitude(bare + sign, bare[0] == '-', ret_number);
}

enum spec_number spec_scalar_number(const struct value *value, int64_t *ret_number)
{
	int64_t number = 0;
	enum spec_number r = read_number(value, &number);

	if (!is_open(value) && r != SPEC_NUMBER_NONE)
		return SPEC_NUMBER_QUOTED;
	if (r == SPEC_NUMBER_OK || r == SPEC_NUMBER_OK_NOT_OCTAL)
		*ret_number = number;
	return r;
}

/* A number as !!int has it: digits of some base, and no more of them than 64 bits take. */
static bool is_tagged_int(const struct value *value)
{
	int64_t number;
	enum spec_number r = read_number(value, &number);
	bool digits = strpbrk(value->text, "xX") || !strpbrk(value->text, ".eE");

	return digits && (r == SPEC_NUMBER_OK || r == SPEC_NUMBER_RANGE);
}

static bool is_tagged_float(const struct value *value)
{
	static const char *const words[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
					    "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};
	int64_t number;

	return is_one_of(value->text, words, N_ELEMENTS(words)) ||
	       read_number(value, &number) != SPEC_NUMBER_NONE;
}

bool spec_scalar_fits_tag(const struct value *value)
{
	bool truth;

	if (has_core_tag(value, "int"))
		return is_tagged_int(value);
	if (has_core_tag(value, "float"))
		return is_tagged_float(value);
	if (has_core_tag(value, "bool"))
		return spec_scalar_bool(value, &truth);
	if (has_core_tag(value, "null"))
		return spec_scalar_is_null(value);
	/* Dates begin with the year; nothing that CDI has is one. */
	if (has_core_tag(value, "timestamp"))
		return strspn(value->text, "0123456789") == 4 && value->text[4] == '-';
	return true;
}

bool spec_scalar_is_ambiguous(const struct value *value)
{
	char canonical[NUMBER_MAX];
	int64_t number;
	bool truth;

	if (value->kind != VALUE_SCALAR || !is_open(value))
		return false;
	if (spec_scalar_bool(value, &truth))
		return strcmp(value->text, truth ? "true" : "false") != 0;

	switch (spec_scalar_number(value, &number)) {
	case SPEC_NUMBER_OK:
	case SPEC_NUMBER_OK_NOT_OCTAL:
		snprintf(canonical, sizeof(canonical), "%lld", (long long)number);
		return strcmp(value->text, canonical) != 0;
	case SPEC_NUMBER_FRACTION:
		/* 1.5 stays as it is, 1.50 and 15e-1 do not. */
		return strpbrk(value->text, "eE_+") || value->text[0] == '0' ||
		       value->text[value->len - 1] == '0';
	case SPEC_NUMBER_RANGE:
		return true;
	case SPEC_NUMBER_NONE:
	case SPEC_NUMBER_QUOTED:
		break;
	}
	return false;
}

/* The value of a base64 digit, or -1. */
static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

long spec_scalar_base64(const char *text, size_t len, char *out)
{
	unsigned bits = 0, n_digits = 0, n_padding = 0;
	long used = 0;

	for (size_t i = 0; i < len; i++) {
		int value = base64_digit(text[i]);

		if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=' && n_padding < 2) {
			n_padding++;
			continue;
		}
		if (value < 0 || n_padding)
			return -1;
		bits = (bits << 6 | (unsigned)value) & 0xffffff;
		n_digits++;
		/* Each digit after the first of its group of four completes a byte. */
		if (n_digits % 4 != 1)
			out[used++] = (char)(bits >> (6 - 2 * ((n_digits + 3) % 4)));
	}
	return (n_digits + n_padding) % 4 == 0 ? used : -1;
}
