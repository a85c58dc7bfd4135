/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl check: a running container against what its devices should give. Nodes vanish, mounts go stale and device rules are
 * overwritten while a container runs (a driver is loaded anew, a program in the container tidies up, an engine updates it),
 * and what is seen then is only that a program does not find its device any more.
 *
 * The work is done by a child, as in the hook: a path of the container may lead into a file system that never answers.
 */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"
#include "bundle.h"
#include "cleanup.h"
#include "ctl.h"
#include "interrupt.h"
#include "json-out.h"
#include "repair.h"
#include "screen.h"
#include "specs.h"
#include "supervisor.h"
#include "table.h"
#include "usage.h"

/* Seconds that a hook may take after its deadline, and we for another look. */
#define REPAIR_EXTRA 10

/* What was asked for, and the check itself. */
struct command {
	struct check check;
	const char *pid_text, *bundle, *hook, *timeout_text;
	int output;
	bool repair;
	unsigned timeout;
	struct string_list spec_dirs;
	char **devices;
	struct screen screen;
	int output_fd; /* for what the child prints */
	size_t mended;
	int hook_status; /* of --repair: what the hook ended with */
};

/* ---- What is printed ---- */

static int print_table(const struct command *command, struct error *err)
{
	static const struct table_column columns[] = {
		{"STATE", TABLE_WHOLE},
		{"WHAT", TABLE_WHOLE},
		{"PATH", TABLE_WRAP},
		{"PROBLEM", TABLE_WRAP},
	};
	static const struct table_cell states[] = {
		[FINDING_GOOD] = {"good", COLOUR_GREEN},
		[FINDING_MISSING] = {"missing", COLOUR_RED},
		[FINDING_DIFFERS] = {"differs", COLOUR_RED},
		[FINDING_UNKNOWN] = {"unknown", COLOUR_YELLOW},
		[FINDING_MENDED] = {"mended", COLOUR_YELLOW},
	};
	const struct check *check = &command->check;
	struct table table = {.arena = check->arena, .columns = columns, .n_columns = 4};

	for (size_t i = 0; i < check->findings.n; i++) {
		const struct finding *finding = &check->findings.items[i];
		const struct table_cell cells[] = {states[finding->state],
						   {finding->operation},
						   {finding->path},
						   {finding->problem}};
		int r = table_add(&table, cells, err);
		if (r < 0)
			return r;
	}
	table_print(&table, &command->screen);
	return 0;
}

static int print_json(const struct check *check, struct error *err)
{
	static const char *const states[] = {
		[FINDING_GOOD] = "good",       [FINDING_MISSING] = "missing",
		[FINDING_DIFFERS] = "differs", [FINDING_UNKNOWN] = "unknown",
		[FINDING_MENDED] = "mended",
	};
	struct json_out out = {.text = {.arena = check->arena}};

	json_out_begin(&out, NULL, '{');
	json_out_number(&out, "pid", check->process.pid);
	json_out_bool(&out, "good", check->bad == 0 && check->unknown == 0);
	json_out_begin(&out, "findings", '[');
	for (size_t i = 0; i < check->findings.n; i++) {
		const struct finding *finding = &check->findings.items[i];
		json_out_begin(&out, NULL, '{');
		json_out_string(&out, "operation", finding->operation);
		json_out_string(&out, "path", finding->path);
		json_out_string(&out, "state", states[finding->state]);
		json_out_string(&out, "problem", finding->problem);
		json_out_string(&out, "device", finding->origin->device);
		json_out_string(&out, "kind", finding->origin->kind);
		json_out_string(&out, "file", finding->origin->file);
		json_out_number(&out, "line", finding->origin->place.line);
		json_out_number(&out, "column", finding->origin->place.column);
		json_out_end(&out, '}');
	}
	json_out_end(&out, ']');
	json_out_end(&out, '}');
	return json_out_print(&out, err);
}

/* ---- What is looked at ---- */

static int open_by_pid(struct process *process, const char *text, struct error *err)
{
	char *end;
	long number = strtol(text, &end, 10);

	/* 2^32 + 1 is no process, and not the first one either. */
	if (*end || number <= 0 || number > INT_MAX)
		return error_say(err, EXIT_CODE_USAGE,
				 "check: --pid=%s: expected the number of a process", SHOW(text));
	return process_open(process, (pid_t)number, err);
}

static int open_by_bundle(struct arena *arena, struct process *process, const char *bundle,
			  struct oci_config *ret_config, struct error *err)
{
	int r = bundle_read(arena, bundle, ret_config, err);
	_cleanup_fd_ int root_fd = r < 0 ? r : bundle_open_root(bundle, ret_config, err);
	pid_t pid = 0;

	if (root_fd < 0)
		return root_fd;
	if (process_find(root_fd, &pid, err) < 0) {
		error_prefix(err, "bundle %s", SHOW(bundle));
		return error_class(err, EXIT_CODE_CONTAINER);
	}
	return process_open(process, pid, err);
}

/* Nothing of it depends on the stage: nodes, mounts and rules are the same at each. */
static int make_plan(struct command *command, struct specs *specs, const struct oci_config *config,
		     struct error *err)
{
	const struct plan_options options = {.stage = STAGE_CREATE_RUNTIME};
	struct check *check = &command->check;
	int r = specs_open(check->arena, specs, &command->spec_dirs, err);

	if (r == 0)
		r = specs_find(specs, command->devices, err);
	return r == 0 ? specs_plan(specs, config, &options, &check->plan, err) : r;
}

/* ---- Repairing ---- */

/* What was bad before and is good now keeps its problem, so that it can be said what was mended. */
static void compare(struct command *command, const struct finding_list *before)
{
	struct finding_list *now = &command->check.findings;

	for (size_t i = 0; i < now->n && i < before->n; i++) {
		if (now->items[i].state != FINDING_GOOD || before->items[i].state == FINDING_GOOD)
			continue;
		now->items[i].state = FINDING_MENDED;
		now->items[i].problem = before->items[i].problem;
		command->mended++;
	}
}

/* A hook that is started must be able to end by its own deadline, undo included, before ours ends us. */
static int check_time_left(const struct command *command, struct error *err)
{
	int r = interrupted(err);

	if (r == 0 && interrupt_remaining_ms() < (command->timeout + REPAIR_EXTRA) * 1000LL)
		return error_say(err, EXIT_CODE_DEADLINE,
				 "process %d: looking at it took longer than the %u seconds that "
				 "--timeout allows: the hook was not started, and nothing is "
				 "changed",
				 command->check.process.pid, command->timeout);
	return r;
}

static int repair(struct command *command, const struct specs *specs, struct error *err)
{
	struct check *check = &command->check;
	const struct finding_list before = check->findings;
	const struct repair repair = {
		.hook = command->hook,
		.bundle = command->bundle,
		.spec_dirs = &specs->dirs,
		.devices = command->devices,
		.timeout = command->timeout,
		/* What nobody can read nobody should change: it may allow less than what would be put there. */
		.leave_cgroup = check->unknown > 0,
	};
	int r = check_time_left(command, err);

	if (r == 0)
		r = command->hook_status = repair_run(check->arena, &check->process, &repair, err);
	if (r >= 0)
		r = process_read_mounts(&check->process, err);
	if (r == 0)
		r = check_all(check, err);
	if (r == 0)
		compare(command, &before);
	return r;
}

/* ---- All of it ---- */

static int print(const struct command *command, struct error *err)
{
	int r;

	/* Up to here stdout was the way for words to the process that watches us. */
	if (dup2(command->output_fd, STDOUT_FILENO) < 0)
		return error_set(err, errno, "duplicate a descriptor");
	r = command->output == OUTPUT_JSON ? print_json(&command->check, err)
					   : print_table(command, err);
	if (r == 0 && command->repair && command->output == OUTPUT_TABLE && !command->mended &&
	    !command->check.bad && !command->check.unknown)
		puts("There is nothing to mend.");
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = error_set(err, errno, "keep what is to be printed");
	return r;
}

/* The sentence at the end, where not all is well. */
static int judge(const struct command *command, struct error *err)
{
	const struct check *check = &command->check;

	if (command->hook_status > 0)
		return error_say(
			err, EXIT_CODE_APPLY,
			"process %d: the hook failed with %d and %s: %zu of %zu nodes, "
			"mounts and device rules are not as they should be",
			check->process.pid, command->hook_status,
			/* Where a file system does not answer, it is ended before it has. */
			command->hook_status == EXIT_CODE_DEADLINE
				? "was late, so that it may not have taken back all that it did"
				: "has taken back what it did",
			check->bad, check->findings.n);
	if (check->bad > 0)
		return error_say(err, EXIT_CODE_APPLY,
				 "process %d: %zu of %zu nodes, mounts and device rules are%s not "
				 "as they should be",
				 check->process.pid, check->bad, check->findings.n,
				 command->repair ? " still" : "");
	if (check->unknown > 0)
		return error_say(err, EXIT_CODE_CGROUP,
				 "process %d: of %zu of %zu nodes, mounts and device rules nobody "
				 "can tell whether they are as they should be",
				 check->process.pid, check->unknown, check->findings.n);
	return 0;
}

/* In the child. */
static int work(void *data, struct error *err)
{
	struct command *command = data;
	struct check *check = &command->check;
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct oci_config config = {0};
	int r = command->bundle ? open_by_bundle(check->arena, &check->process, command->bundle,
						 &config, err)
				: open_by_pid(&check->process, command->pid_text, err);

	if (r == 0 && command->repair)
		r = repair_check_possible(&check->process, err);
	if (r == 0)
		r = make_plan(command, &specs, &config, err);
	if (r == 0)
		r = check_all(check, err);
	if (r == 0 && command->repair && check->bad > 0)
		r = repair(command, &specs, err);
	if (r == 0)
		r = print(command, err);
	if (r == 0)
		r = judge(command, err);
	process_close(&check->process);
	return r;
}

/* What the child has printed: all of it, or as far as it came where it was ended. */
static int hand_over(int fd, struct error *err)
{
	char bytes[4096];
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "read what is to be printed");
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, (size_t)n, stdout);
	return n < 0 ? error_set(err, errno, "read what is to be printed") : 0;
}

static int run(struct command *command, struct error *err)
{
	/* The hook has a deadline of its own, and some seconds to take back what it did. */
	const unsigned seconds =
		command->timeout + (command->repair ? command->timeout + REPAIR_EXTRA : 0);
	_cleanup_fd_ int fd = memfd_create("cdictl", MFD_CLOEXEC);
	struct error other = {0};

	if (fd < 0)
		return error_set(err, errno, "memfd_create");
	command->output_fd = fd;
	command->screen = screen_stdout();
	int r = interrupt_set_up(seconds, err);
	if (r < 0)
		return r;
	r = supervise(work, command, 0, err);
	if (hand_over(fd, &other) < 0 && r == 0) {
		*err = other;
		return error_result(err);
	}
	return r;
}

static int parse_timeout(struct command *command, struct error *err)
{
	const char *text = command->timeout_text;
	char *end;

	command->timeout = DEFAULT_TIMEOUT;
	if (!text)
		return 0;
	unsigned long seconds = strtoul(text, &end, 10);
	if (text[strspn(text, "0123456789")] || seconds < 1 || seconds > LIMIT_TIMEOUT)
		return error_say(err, EXIT_CODE_USAGE,
				 "check: --timeout=%s: expected whole seconds from 1 to %d",
				 SHOW(text), LIMIT_TIMEOUT);
	command->timeout = (unsigned)seconds;
	return 0;
}

int ctl_check(struct arena *arena, int argc, char **argv, struct error *err)
{
	struct command command = {
		.check = {.arena = arena, .process = PROCESS_NULL},
		.hook = HOOK_PATH,
	};
	const struct usage_option options[] = {
		{"pid", 0, "PID", USAGE_TEXT, &command.pid_text, "A process of the container"},
		{"bundle", 0, "DIR", USAGE_TEXT, &command.bundle,
		 "Or its bundle: the first process in its root"},
		{"repair", 0, NULL, USAGE_FLAG, &command.repair,
		 "Put back what is missing, by the hook"},
		{"hook", 0, "FILE", USAGE_TEXT, &command.hook,
		 "The hook's program (default:\n" HOOK_PATH ")"},
		{"timeout", 0, "SECONDS", USAGE_TEXT, &command.timeout_text,
		 "Give up after so long (default: 20)"},
		SPECS_OPTION(&command.spec_dirs),
		OUTPUT_OPTION(&command.output),
	};
	const struct usage usage = {
		.command = "check",
		.arguments = "--pid=PID|--bundle=DIR DEVICE...",
		.about =
			"Compares a running container with what these devices should give it: "
			"whether\n"
			"nodes are there with the right numbers, mounts with the right source and\n"
			"options, and whether its device cgroup allows the devices. Nothing is "
			"changed\n"
			"without --repair. Ends with 8 if something is not as it should be.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};
	int first = usage_parse(arena, &usage, argc, argv, err);

	if (first <= 0)
		return first;
	if (!command.pid_text == !command.bundle)
		return error_say(err, EXIT_CODE_USAGE,
				 "check: name a container by either --pid=PID or --bundle=DIR");
	if (first == argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "check: no device given; cdictl list shows what there is");
	int r = parse_timeout(&command, err);
	if (r < 0)
		return r;
	command.devices = argv + first;
	return run(&command, err);
}
