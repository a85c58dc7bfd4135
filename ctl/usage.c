/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options are read by getopt_long, as everywhere; what is added here is what a person sees: the help, and sentences that
 * name the option that was probably meant. A word counts only when it is written out, since its abbreviation could
 * mean another option in the next release.
 */
#include "usage.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "near.h"

#define OPTIONS_MAX 15
/* getopt's number of the first option: beyond all letters. */
#define FIRST_OPTION 256

/* ---- Help ---- */

/* "  -o, --output=table|json"; the longest gives the width of the column. */
static size_t option_head(const struct usage_option *option, char *buffer, size_t size)
{
	int len = option->letter
			  ? snprintf(buffer, size, "  -%c, --%s", option->letter, option->name)
			  : snprintf(buffer, size, "      --%s", option->name);

	if (option->value)
		len += snprintf(buffer + len, size - (size_t)len, "=%s", option->value);
	return (size_t)len;
}

static void print_option(const struct usage_option *option, size_t width)
{
	char head[80];

	option_head(option, head, sizeof(head));
	printf("%-*s  ", (int)width, head);
	for (const char *c = option->help; *c; c++) {
		putchar(*c);
		if (*c == '\n')
			printf("%*s", (int)width + 2, "");
	}
	putchar('\n');
}

static void print_help(const struct usage *usage)
{
	static const struct usage_option help = {
		.name = "help", .letter = 'h', .help = "Show this help"};
	char head[80];
	size_t width = option_head(&help, head, sizeof(head));

	for (size_t i = 0; i < usage->n_options; i++) {
		size_t len = option_head(&usage->options[i], head, sizeof(head));
		width = len > width ? len : width;
	}
	printf("Usage: cdictl %s [OPTION]...%s%s\n\n%s\n\nOptions:\n", usage->command,
	       *usage->arguments ? " " : "", usage->arguments, usage->about);
	for (size_t i = 0; i < usage->n_options; i++)
		print_option(&usage->options[i], width);
	print_option(&help, width);
	puts("\nSee cdictl(1) for details.");
}

/* ---- Values ---- */

/* Which of the words "table|json" it is. */
static int set_choice(const struct usage *usage, const struct usage_option *option,
		      const char *value, struct error *err)
{
	const char *word = option->value;
	size_t len = strlen(value);

	for (int i = 0; *word; i++) {
		size_t word_len = strcspn(word, "|");

		if (word_len == len && strncmp(word, value, len) == 0) {
			*(int *)option->target = i;
			return 0;
		}
		word += word_len + (word[word_len] == '|');
	}
	return error_say(err, EXIT_CODE_USAGE, "%s: --%s=%s: expected %s", usage->command,
			 option->name, SHOW(value), option->value);
}

static int set_option(struct arena *arena, const struct usage *usage,
		      const struct usage_option *option, const char *value, struct error *err)
{
	struct string_list *list = option->target;
	const char **slot;

	if (option->kind == USAGE_FLAG) {
		*(bool *)option->target = true;
		return 0;
	}
	if (!*value)
		return error_say(err, EXIT_CODE_USAGE, "%s: --%s needs a value", usage->command,
				 option->name);
	if (option->kind == USAGE_CHOICE)
		return set_choice(usage, option, value, err);
	if (option->kind == USAGE_TEXT) {
		*(const char **)option->target = value;
		return 0;
	}
	if (list->n >= LIMIT_OPTION_REPEATS)
		return error_say(err, EXIT_CODE_USAGE, "%s: --%s is given more than %d times",
				 usage->command, option->name, LIMIT_OPTION_REPEATS);
	slot = array_add(arena, list);
	if (!slot)
		return error_memory(err);
	*slot = value;
	return 0;
}

/* ---- Parsing ---- */

static int unknown(const struct usage *usage, const char *arg, struct error *err)
{
	const char *names[OPTIONS_MAX + 1];
	size_t n = 0, len = strcspn(arg, "=");
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1),
		 arg);
	names[n++] = "help";
	for (size_t i = 0; i < usage->n_options; i++)
		names[n++] = usage->options[i].name;
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], word) == 0)
			return error_say(err, EXIT_CODE_USAGE, "%s: --%s takes no value",
					 usage->command, word);
	const char *near = near_word(word, names, n);
	if (near)
		return error_say(err, EXIT_CODE_USAGE,
				 "%s: unknown option --%s; did you mean --%s?", usage->command,
				 SHOW(word), near);
	return error_say(err, EXIT_CODE_USAGE,
			 "%s: unknown option --%s; cdictl %s --help lists them", usage->command,
			 SHOW(word), usage->command);
}

/* getopt says only that something is wrong; the person needs to know what. `arg` is the word with the option. */
static int bad_option(const struct usage *usage, const char *arg, int problem, struct error *err)
{
	if (problem == ':')
		return error_say(err, EXIT_CODE_USAGE, "%s: %s needs a value", usage->command,
				 SHOW(arg));
	/* getopt goes on to the next word only behind the last of several letters. */
	if (optopt > 0 && optopt < FIRST_OPTION)
		return error_say(
			err, EXIT_CODE_USAGE, "%s: unknown option -%s; cdictl %s --help lists them",
			usage->command, SHOW(((char[]){(char)optopt, '\0'})), usage->command);
	return unknown(usage, arg + 2, err);
}

static bool is_abbreviated(const char *arg, const char *name)
{
	return strncmp(arg, "--", 2) == 0 &&
	       (strcspn(arg + 2, "=") != strlen(name) || strncmp(arg + 2, name, strlen(name)) != 0);
}

/* What getopt wants: `ret_letters` begins with ":", so that a missing value can be told from an unknown option. */
static void make_tables(const struct usage *usage, struct option *ret_options, char *ret_letters)
{
	char *letter = ret_letters;

	*letter++ = ':';
	*letter++ = 'h';
	for (size_t i = 0; i < usage->n_options; i++) {
		const struct usage_option *option = &usage->options[i];

		ret_options[i] = (struct option){
			.name = option->name,
			.has_arg = option->kind == USAGE_FLAG ? no_argument : required_argument,
			.val = FIRST_OPTION + (int)i,
		};
		if (!option->letter)
			continue;
		*letter++ = option->letter;
		if (option->kind != USAGE_FLAG)
			*letter++ = ':';
	}
	*letter = '\0';
	ret_options[usage->n_options] =
		(struct option){.name = "help", .val = FIRST_OPTION + (int)usage->n_options};
	ret_options[usage->n_options + 1] = (struct option){0};
}

static const struct usage_option *option_of(const struct usage *usage, int found)
{
	for (size_t i = 0; i < usage->n_options; i++)
		if (found == FIRST_OPTION + (int)i || found == usage->options[i].letter)
			return &usage->options[i];
	return NULL;
}

int usage_parse(struct arena *arena, const struct usage *usage, int argc, char **argv,
		struct error *err)
{
	struct option options[OPTIONS_MAX + 2];
	char letters[2 * OPTIONS_MAX + 3];
	int found;

	make_tables(usage, options, letters);
	opterr = 0;
	while ((found = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		const char *arg = argv[optind - 1];
		const char *value = optarg ? optarg : ""; /* of a flag: none */
		if (value == arg)                         /* --option VALUE */
			arg = argv[optind - 2];
		if (found == '?' || found == ':')
			return bad_option(usage, arg, found, err);
		const struct usage_option *option = option_of(usage, found);
		if (is_abbreviated(arg, option ? option->name : "help"))
			return unknown(usage, arg + 2, err);
		if (!option) {
			print_help(usage);
			return USAGE_HELP;
		}
		int r = set_option(arena, usage, option, value, err);
		if (r < 0)
			return r;
	}
	return optind;
}
