/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl, what people type about CDI devices. It has no privileges of its own and never touches a
 * container that runs (check --repair has the hook do it); everything that decides something is in
 * common/, the same code that the hook uses.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "ctl.h"
#include "near.h"

/*
 * Every sub-command: a row each, in the order of the help. A new one brings FILE.c with its function, which is declared
 * in ctl.h; its own help and options come from a table there (usage.h).
 */
static const struct command {
	const char *name;
	const char *arguments;
	int (*run)(struct arena *arena, int argc, char **argv, struct error *err);
	const char *summary;
} commands[] = {
	{"list", "", ctl_list, "List all devices, and what is there but not used"},
	{"show", "DEVICE...", ctl_show, "Show what devices give, and what the host has of it"},
	{"validate", "[FILE|DIR]...", ctl_validate, "Tell every problem of every spec file"},
	{"plan", "DEVICE...", ctl_plan, "Show what the hook would do to a container"},
	{"check", "DEVICE...", ctl_check, "Compare a running container with what it should have"},
	{"inject", "CONFIG DEVICE...", ctl_inject, "Put devices into a container's config.json"},
	{"allow", "[PATTERN]...", ctl_allow,
	 "List or add patterns of devices that may be asked for"},
};

#define COMMANDS_N (sizeof(commands) / sizeof(*commands))

static void print_help(void)
{
	puts("Usage: cdictl COMMAND [OPTION]... [ARGUMENT]...\n"
	     "\n"
	     "What containers get by the Container Device Interface (CDI).\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; i < COMMANDS_N; i++)
		printf("  %s %-*s %s\n", commands[i].name, 23 - (int)strlen(commands[i].name),
		       commands[i].arguments, commands[i].summary);
	puts("\n"
	     "Options:\n"
	     "  -h, --help               Show this help; `cdictl COMMAND --help` tells more\n"
	     "      --version            Show the version\n"
	     "\n"
	     "See cdictl(1) for details.");
}

static int run_command(struct arena *arena, int argc, char **argv, struct error *err)
{
	const char *names[COMMANDS_N], *near;

	for (size_t i = 0; i < COMMANDS_N; i++) {
		names[i] = commands[i].name;
		if (strcmp(argv[0], names[i]) == 0)
			return commands[i].run(arena, argc, argv, err);
	}
	near = near_word(argv[0], names, COMMANDS_N);
	if (near)
		return error_say(err, EXIT_CODE_USAGE, "unknown command \"%s\": is %s meant?",
				 SHOW(argv[0]), near);
	return error_say(err, EXIT_CODE_USAGE, "unknown command \"%s\"; cdictl --help lists them",
			 SHOW(argv[0]));
}

static int run(struct arena *arena, int argc, char **argv, struct error *err)
{
	if (argc < 2)
		return error_say(err, EXIT_CODE_USAGE,
				 "no command given; cdictl --help lists them");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("cdictl " VERSION);
		return 0;
	}
	if (argv[1][0] == '-')
		return error_say(err, EXIT_CODE_USAGE,
				 "unknown option %s; cdictl --help lists what there is",
				 SHOW(argv[1]));
	return run_command(arena, argc - 1, argv + 1, err);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct arena arena;
	char text[ERROR_TEXT_MAX];
	int r;

	arena_init(&arena, LIMIT_MEMORY);
	r = run(&arena, argc, argv, &err);
	/* A list that could not be written is no list: a full disk must not look like success. */
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && r >= 0)
		r = error_set(&err, errno ? errno : EIO, "write to standard output");
	arena_done(&arena);
	if (r >= 0)
		return EXIT_CODE_DONE;
	fprintf(stderr, "cdictl: %s\n", error_text(&err, text));
	return err.exit_code ? (int)err.exit_code : EXIT_CODE_OTHER;
}
