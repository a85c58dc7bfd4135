/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misspelt keys, options and sub-commands: whoever gets a refusal wants to read the word that they
 * meant. The distance is the number of letters to insert, drop, change or swap with their
 * neighbour.
 */
#include "near.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Nobody misspells longer words, and the words come from outside: this bounds time and stack. */
#define NEAR_LENGTH_MAX 127

struct near_rows {
	/* Distances of the first i letters of `a` to each beginning of `b`: for i, i - 1 and i - 2.
	 */
	size_t now[NEAR_LENGTH_MAX + 1], last[NEAR_LENGTH_MAX + 1], before[NEAR_LENGTH_MAX + 1];
};

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Fills rows->now for letter `i` of `a`, counted from 1. */
static void next_row(struct near_rows *rows, const char *a, size_t i, const char *b, size_t len_b)
{
	rows->now[0] = i;
	for (size_t j = 1; j <= len_b; j++) {
		size_t change = rows->last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
		size_t best = smaller(change, smaller(rows->last[j], rows->now[j - 1]) + 1);

		if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
		    same_letter(a[i - 2], b[j - 1]))
			best = smaller(best, rows->before[j - 2] + 1);
		rows->now[j] = best;
	}
}

size_t near_distance(const char *a, const char *b, size_t most)
{
	size_t len_a = strlen(a), len_b = strlen(b);
	struct near_rows rows;

	if (strcasecmp(a, b) == 0)
		return 0;
	if (len_a > NEAR_LENGTH_MAX || len_b > NEAR_LENGTH_MAX)
		return most + 1;
	if ((len_a > len_b ? len_a - len_b : len_b - len_a) > most)
		return most + 1;

	for (size_t j = 0; j <= len_b; j++)
		rows.last[j] = j;
	memcpy(rows.before, rows.last, sizeof(rows.before));
	for (size_t i = 1; i <= len_a; i++) {
		next_row(&rows, a, i, b, len_b);
		memcpy(rows.before, rows.last, sizeof(rows.before));
		memcpy(rows.last, rows.now, sizeof(rows.last));
	}
	return smaller(rows.last[len_b], most + 1);
}

const char *near_word(const char *word, const char *const *words, size_t n)
{
	size_t most = strlen(word) / 3;
	const char *nearest = NULL;

	if (most < 1)
		most = 1;
	for (size_t i = 0; i < n; i++) {
		size_t distance = near_distance(word, words[i], most);

		if (distance > most)
			continue;
		nearest = words[i];
		if (distance == 0)
			break;
		/* Only a nearer one may replace it: among equals the first counts. */
		most = distance - 1;
	}
	return nearest;
}
