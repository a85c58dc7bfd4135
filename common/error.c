/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error model: functions return -errno and fill a fixed-size struct error passed last.
 *
 * The person who reads the sentence sees one line, quoted by a runtime inside a line of its own, so
 * the whole chain of causes stands in that line: each level that knows something puts it in front.
 * Nothing is allocated, so running out of memory is an ordinary error, and a child process can hand
 * the struct to its parent with one write. Library code never prints and never exits: tests assert
 * on the sentence, fuzzers run in-process.
 */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names in parentheses: under analysis there are macros of these names. */

/* Room that a cause keeps for itself however many prefixes are put in front of it. */
#define CAUSE_MAX (ERROR_TEXT_MAX / 2)

int(error_result)(const struct error *err)
{
	return err->errnum ? -err->errnum : -EINVAL;
}

int(error_set)(struct error *err, int errnum, const char *fmt, ...)
{
	va_list args;

	err->errnum = errnum;
	err->exit_code = EXIT_CODE_DONE;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return error_result(err);
}

int(error_say)(struct error *err, enum exit_code exit_code, const char *fmt, ...)
{
	va_list args;

	err->errnum = 0;
	err->exit_code = exit_code;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return error_result(err);
}

int(error_memory)(struct error *err)
{
	error_set(err, ENOMEM, "memory");
	err->exit_code = EXIT_CODE_OTHER;
	return -ENOMEM;
}

int(error_prefix)(struct error *err, const char *fmt, ...)
{
	char cause[CAUSE_MAX];
	char prefix[ERROR_TEXT_MAX - CAUSE_MAX - 2];
	va_list args;

	/* A cause that is too long loses its head, which an earlier prefix put there, never its
	 * end. */
	size_t len = strlen(err->text);
	const char *tail = len < sizeof(cause) ? err->text : err->text + len - (sizeof(cause) - 1);
	memcpy(cause, tail, strlen(tail) + 1);

	va_start(args, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, args);
	va_end(args);
	snprintf(err->text, sizeof(err->text), "%s: %s", prefix, cause);
	return error_result(err);
}

int(error_class)(struct error *err, enum exit_code exit_code)
{
	if (err->exit_code == EXIT_CODE_DONE)
		err->exit_code = exit_code;
	return error_result(err);
}

void error_join(struct error *err, const struct error *more)
{
	char text[ERROR_TEXT_MAX];
	size_t len;

	error_text(more, text);
	if (!error_is_set(err)) {
		*err = *more;
		return;
	}
	/* The errno words of the first cause must be written now: another sentence follows them. */
	if (err->errnum) {
		char first[ERROR_TEXT_MAX];
		error_text(err, first);
		memcpy(err->text, first, sizeof(first));
		err->errnum = 0;
	}
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, "; %s", text);
	if (more->exit_code && (!err->exit_code || more->exit_code < err->exit_code))
		err->exit_code = more->exit_code;
}

const char *error_text(const struct error *err, char buffer[static ERROR_TEXT_MAX])
{
	const char *words = err->errnum ? strerrordesc_np(err->errnum) : NULL;
	size_t len = strlen(err->text);
	size_t room = ERROR_TEXT_MAX - 1;

	if (!words) {
		memcpy(buffer, err->text, len + 1);
		return buffer;
	}
	/* The errno words are the cause: where room is short, the text before them is cut. */
	room -= strlen(words) + 2;
	if (len > room)
		len = room;
	memcpy(buffer, err->text, len);
	snprintf(buffer + len, ERROR_TEXT_MAX - len, ": %s", words);
	return buffer;
}

/* Appends one byte of hostile text in printable form; returns how many bytes that took. */
static size_t show_byte(char *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";

	if (c >= 0x20 && c <= 0x7e && c != '\\') {
		out[0] = (char)c;
		return 1;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = hex[c >> 4];
	out[3] = hex[c & 15];
	return 4;
}

const char *error_show(char buffer[static ERROR_SHOW_MAX], const char *s)
{
	const size_t half = (ERROR_SHOW_MAX - 4) / 2;
	size_t used = 0, shown = 0, len;
	char byte[4];

	if (!s)
		return "(none)";

	for (len = 0; s[len] && shown < ERROR_SHOW_MAX; len++)
		shown += show_byte(byte, (unsigned char)s[len]);
	if (shown < ERROR_SHOW_MAX) {
		for (size_t i = 0; i < len; i++)
			used += show_byte(buffer + used, (unsigned char)s[i]);
		buffer[used] = '\0';
		return buffer;
	}

	/* Too long: the beginning and the end tell most about a path. */
	len = strlen(s);
	for (size_t i = 0; i < len; i++) {
		size_t n = show_byte(byte, (unsigned char)s[i]);
		if (used + n > half)
			break;
		memcpy(buffer + used, byte, n);
		used += n;
	}
	memcpy(buffer + used, "...", 3);
	used += 3;

	size_t from = len, tail = 0;
	while (from > 0) {
		size_t n = show_byte(byte, (unsigned char)s[from - 1]);
		if (tail + n > half)
			break;
		tail += n;
		from--;
	}
	for (; from < len; from++)
		used += show_byte(buffer + used, (unsigned char)s[from]);
	buffer[used] = '\0';
	return buffer;
}
