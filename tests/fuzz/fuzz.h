/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What every harness includes. A harness is one function that takes any bytes; whatever it asserts
 * must hold for all of them. driver.c or libFuzzer calls it.
 */
#undef NDEBUG
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "notes.h"

/* Less than a run may have, so that a fuzzer finds what grows without bound. */
#define FUZZ_MEMORY ((size_t)64 * 1024 * 1024)

/* Always 0. The bytes are copied by nobody: reading behind them shows under a sanitizer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failure has a sentence and a class, a success has neither. */
static inline void fuzz_check_error(int r, const struct error *err)
{
	char text[ERROR_TEXT_MAX];

	assert((r < 0) == error_is_set(err));
	assert(r >= 0 || error_text(err, text)[0]);
	/* Nothing from outside may break the line or the terminal. */
	for (const char *c = text; r < 0 && *c; c++)
		assert(*c >= 0x20 && *c < 0x7f);
}
