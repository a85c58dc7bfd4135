/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the words of a spec file mean where a number, a truth or nothing is wanted. */
#include <stdint.h>

#include "spec-tree.h"

enum spec_number {
	SPEC_NUMBER_OK,
	SPEC_NUMBER_OK_NOT_OCTAL, /* 0688: begins like an octal number and is a decimal one */
	SPEC_NUMBER_NONE,         /* no number at all */
	SPEC_NUMBER_QUOTED,       /* would be one without its quotes */
	SPEC_NUMBER_FRACTION,
	SPEC_NUMBER_RANGE, /* does not fit in 64 bits */
};

/*
 * Whole numbers as YAML 1.1 and 1.2 write them: 438, 0666, 0o666, 0x1b6, 0b11, 1_000, +1, 438.0,
 * 1e2.
 * `*ret_number` is set for the two OK answers.
 */
enum spec_number spec_scalar_number(const struct value *value, int64_t *ret_number)
	__attribute__((nonnull, warn_unused_result));

/*
 * true, yes, on, y and their opposites; of the quoted ones "yes", "on", "y" as the reference has
 * it. False: neither.
 */
bool spec_scalar_bool(const struct value *value, bool *ret_truth)
	__attribute__((nonnull, warn_unused_result));

/* `~`, `null` or nothing at all, without quotes. Lists and maps are never null. */
bool spec_scalar_is_null(const struct value *value) __attribute__((nonnull));

/*
 * False where the text is not what its tag says: !!int x. A truth is whatever spec_scalar_bool()
 * takes for one.
 */
bool spec_scalar_fits_tag(const struct value *value) __attribute__((nonnull));

/*
 * Whether readers that convert unquoted words first (the reference up to 1.1.0) make another text
 * of this one: yes -> "true", 1.0 -> "1", 010 -> "8".
 */
bool spec_scalar_is_ambiguous(const struct value *value) __attribute__((nonnull));

/*
 * Decodes base64, blanks and line breaks skipped, into `out`, which has room for `len` bytes.
 * Returns the number of bytes, or -1 where it is no base64.
 */
long spec_scalar_base64(const char *text, size_t len, char *out)
	__attribute__((nonnull, warn_unused_result));
