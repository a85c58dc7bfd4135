/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What libyaml complains of, for people who know the file and not YAML's grammar. */
#include <stddef.h>

/* Bytes of the longest sentence. */
#define YAML_PROBLEM_MAX 256

struct yaml_problem {
	const char *problem;   /* libyaml's words, NULL: none */
	const char *context;   /* what it was doing, or NULL */
	unsigned line;         /* where the problem is */
	unsigned context_line; /* where that began */
	int found;             /* the ASCII character at the problem's place, or 0 */
};

/* Writes the sentence into `buffer` and returns it. */
const char *yaml_problem_text(char buffer[static YAML_PROBLEM_MAX],
			      const struct yaml_problem *problem) __attribute__((nonnull));
