/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What every unit test includes: cmocka with the headers it needs, and a check of an error's whole sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h wants the four above first. */
#include <cmocka.h>

#include "arena.h"
#include "bounds.h"
#include "error.h"

static inline void assert_error(const struct error *err, enum exit_code exit_code,
				const char *sentence)
{
	char text[ERROR_TEXT_MAX];

	assert_string_equal(error_text(err, text), sentence);
	assert_int_equal(err->exit_code, exit_code);
}

/* `text` with `value` in place of its only "@". `out` has room for both. */
static inline void put_in(char *out, const char *text, const char *value)
{
	const char *at = strchr(text, '@');

	assert_non_null(at);
	memcpy(out, text, (size_t)(at - text));
	memcpy(stpcpy(out + (at - text), value), at + 1, strlen(at));
}
