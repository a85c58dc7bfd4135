/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The word that a person most likely meant. */
#include <stddef.h>

/* Edits between two words, capped at `most` + 1; letter case counts as no edit. */
size_t near_distance(const char *a, const char *b, size_t most) __attribute__((nonnull));

/* Of `n` words the nearest to `word` within a third of its length (at least 1 edit), or NULL. */
const char *near_word(const char *word, const char *const *words, size_t n)
	__attribute__((nonnull(1)));
