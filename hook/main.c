/* SPDX-License-Identifier: Apache-2.0 */
/* oci-cdi-hook: argv in, one sentence and an exit code out. What lies between is hook.c. */
#include <errno.h>
#include <stdio.h>

#include "arena.h"
#include "bounds.h"
#include "error.h"
#include "hook.h"
#include "interrupt.h"
#include "log.h"
#include "options.h"
#include "privilege.h"
#include "startup.h"

/* A call that a signal or the deadline has broken off says EINTR: the user wants to hear of the
 * deadline first. */
static COLD void explain_interruption(struct error *err)
{
	char text[ERROR_TEXT_MAX];
	struct error cause = {0};

	if (interrupted(&cause) == 0)
		return;
	/* A hook that hangs is the cause, and its sentence says so. */
	if (err->exit_code == EXIT_CODE_VENDOR_HOOK && err->errnum == 0)
		return;
	if (err->exit_code != cause.exit_code) {
		error_text(err, text);
		error_prefix(&cause, "%s", text);
		*err = cause;
	}
}

static COLD int fail(struct error *err)
{
	char text[ERROR_TEXT_MAX];

	log_line(LOG_LEVEL_ERROR, "%s", error_text(err, text));
	return err->exit_code ? (int)err->exit_code : EXIT_CODE_OTHER;
}

static int run(struct arena *arena, const struct options *options, struct error *err)
{
	int r = log_open(options->log_level, options->log_file, err);

	/* What comes now are texts of others: nothing that root may is needed to read them. */
	if (r == 0)
		r = privilege_take(PRIVILEGE_NONE, PRIVILEGE_ANY, err);
	if (r == 0)
		r = interrupt_set_up(options->timeout, err);
	if (r == 0)
		r = hook_run(arena, options, err);
	if (r < 0)
		explain_interruption(err);
	return r;
}

int main(int argc, char **argv)
{
	/* Not on the stack, where it would have to be cleared: 4 kB that most runs never touch. */
	static struct error err;
	struct options options;
	struct arena arena;
	int r = startup(&err);

	arena_init(&arena, LIMIT_MEMORY);
	if (r >= 0)
		r = options_parse(&arena, argc, argv, &options, &err);
	if (r >= 0 && options.help)
		r = fputs(options_help, stdout) < 0 || fflush(stdout) < 0
			    ? error_set(&err, errno, "write to stdout")
			    : 0;
	else if (r >= 0 && options.version)
		r = puts("oci-cdi-hook " VERSION) < 0 || fflush(stdout) < 0
			    ? error_set(&err, errno, "write to stdout")
			    : 0;
	else if (r >= 0)
		r = run(&arena, &options, &err);
	r = r < 0 ? fail(&err) : EXIT_CODE_DONE;
	log_close();
	arena_done(&arena);
	return r;
}
