/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The command line of one sub-command: a table from which both its help and its parser come. */
#include <stdbool.h>

#include "arena.h"
#include "error.h"

enum usage_kind {
	USAGE_FLAG,   /* bool: true when the option is given */
	USAGE_TEXT,   /* const char *: the last value counts; never empty */
	USAGE_LIST,   /* struct string_list: every value */
	USAGE_CHOICE, /* int: which word of `value` ("table|json") was given, counted from 0 */
};

struct usage_option {
	const char *name;  /* without its dashes */
	char letter;       /* 0: it has none */
	const char *value; /* "FILE", for the help; NULL for a flag */
	enum usage_kind kind;
	void *target;
	const char *help; /* lines are broken by \n */
};

struct usage {
	const char *command;
	const char *arguments; /* "DEVICE..." */
	const char *about;     /* what the command does, broken into lines; no newline at its end */
	const struct usage_option *options; /* --help comes by itself */
	size_t n_options;
};

/*
 * Reads the options. Returns the index in `argv` where the arguments begin (they are moved behind the options), or
 * USAGE_HELP when the help was asked for and printed: the caller has nothing left to do. Failures are EXIT_CODE_USAGE.
 */
#define USAGE_HELP 0
int usage_parse(struct arena *arena, const struct usage *usage, int argc, char **argv,
		struct error *err) __attribute__((nonnull, warn_unused_result));
