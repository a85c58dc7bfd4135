/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl check: a running container against what its devices should give. Nodes vanish and mounts go stale while a
 * container runs (a driver is loaded anew, a program in the container tidies up), and what is seen then is only that a
 * program does not find its device any more.
 */
#include <errno.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "bundle.h"
#include "cleanup.h"
#include "ctl.h"
#include "json-out.h"
#include "process.h"
#include "screen.h"
#include "specs.h"
#include "table.h"
#include "usage.h"

enum finding_state { FINDING_GOOD, FINDING_MISSING, FINDING_DIFFERS };

/* One thing that a device should give, and how it is in the container. */
struct finding {
	const char *operation; /* "node", "mount": as in the plan */
	const char *path;
	enum finding_state state;
	const char *problem; /* what is wrong, NULL where nothing is */
	const struct origin *origin;
};

struct check {
	struct arena *arena;
	int output;
	const char *pid_text, *bundle;
	struct string_list spec_dirs;
	struct process process;
	struct plan plan;
	ARRAY(struct finding) findings;
	size_t bad;
};

/* Text from outside goes in as it is: whoever prints the finding escapes it. */
__attribute__((format(printf, 4, 5))) static int find_bad(struct check *check,
							  struct finding *finding,
							  enum finding_state state, const char *fmt,
							  ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	finding->state = state;
	finding->problem = arena_strdup(check->arena, text);
	check->bad++;
	return finding->problem ? 0 : -ENOMEM;
}

/*
 * Looks the path up. 1: it is there, and `*ret_file` says what it is; 0: the finding is complete without that.
 */
static int look(struct check *check, struct finding *finding, struct process_file *ret_file)
{
	struct error why = {0};
	int r = process_look(&check->process, finding->path, ret_file, &why);

	if (r == 0)
		return 1;
	if (r == -ENOENT || r == -ENOTDIR)
		return find_bad(check, finding, FINDING_MISSING, "is not there");
	return find_bad(check, finding, FINDING_DIFFERS, "%s", strerrordesc_np(why.errnum));
}

/* ---- Nodes ---- */

static char type_letter(mode_t mode)
{
	return S_ISBLK(mode) ? 'b' : S_ISFIFO(mode) ? 'p' : 'c';
}

static int check_node(struct check *check, const struct plan_node *node, struct finding *finding)
{
	struct process_file file;
	int r = look(check, finding, &file);

	if (r <= 0)
		return r;
	if (!S_ISCHR(file.st.st_mode) && !S_ISBLK(file.st.st_mode) && !S_ISFIFO(file.st.st_mode))
		return find_bad(check, finding, FINDING_DIFFERS, "is no device node");
	if ((file.st.st_mode & S_IFMT) == node->type &&
	    (S_ISFIFO(node->type) ||
	     (major(file.st.st_rdev) == node->major && minor(file.st.st_rdev) == node->minor)))
		return 0;
	return find_bad(check, finding, FINDING_DIFFERS,
			"is %c %u:%u instead of %c %u:%u: made by something else, or the driver "
			"has new numbers since",
			type_letter(file.st.st_mode), major(file.st.st_rdev),
			minor(file.st.st_rdev), type_letter(node->type), node->major, node->minor);
}

/* ---- Mounts ---- */

/* The first option that the spec asks for and the mount has not, or NULL. */
static const char *lacking_option(const struct plan_mount *mount, struct libmnt_fs *fs)
{
	static const struct {
		uint64_t attr;
		const char *word;
	} options[] = {
		{MOUNT_ATTR_RDONLY, "ro"},
		{MOUNT_ATTR_NOSUID, "nosuid"},
		{MOUNT_ATTR_NODEV, "nodev"},
		{MOUNT_ATTR_NOEXEC, "noexec"},
	};
	const char *has = mnt_fs_get_vfs_options(fs);

	for (size_t i = 0; has && i < sizeof(options) / sizeof(options[0]); i++)
		if (mount->options.attr_set & options[i].attr &&
		    mnt_optstr_get_option(has, options[i].word, NULL, NULL) != 0)
			return options[i].word;
	return NULL;
}

static int check_mount(struct check *check, const struct plan_mount *mount, struct finding *finding)
{
	bool tmpfs = mount->kind == PLAN_MOUNT_TMPFS;
	struct process_file file;
	const char *option;
	int r = look(check, finding, &file);

	if (r <= 0)
		return r;
	if (!file.mount_root || !file.mount)
		return find_bad(check, finding, FINDING_MISSING,
				"nothing is mounted there: the mount is gone, or was never made");
	if (tmpfs && strcmp(mnt_fs_get_fstype(file.mount), "tmpfs") != 0)
		return find_bad(check, finding, FINDING_DIFFERS,
				"a %s is mounted there instead of a tmpfs",
				mnt_fs_get_fstype(file.mount));
	if (!tmpfs &&
	    (file.st.st_dev != mount->source_node.dev || file.st.st_ino != mount->source_node.ino))
		return find_bad(check, finding, FINDING_DIFFERS,
				"shows another file than %s of the host: that was replaced since, "
				"by an update of the driver perhaps, or something else is mounted",
				mount->source);
	option = lacking_option(mount, file.mount);
	if (option)
		return find_bad(check, finding, FINDING_DIFFERS, "is mounted without %s", option);
	return 0;
}

/* ---- All of it ---- */

static struct finding *add_finding(struct check *check, const char *operation, const char *path,
				   const struct origin *origin)
{
	struct finding *finding = array_add(check->arena, &check->findings);

	if (finding)
		*finding = (struct finding){operation, path, FINDING_GOOD, NULL, origin};
	return finding;
}

static int check_all(struct check *check, struct error *err)
{
	const struct plan *plan = &check->plan;
	struct finding *finding;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->nodes.n; i++) {
		const struct plan_node *node = &plan->nodes.items[i];
		finding = add_finding(check, "node", node->path, &node->origin);
		r = finding ? check_node(check, node, finding) : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < plan->mounts.n; i++) {
		const struct plan_mount *mount = &plan->mounts.items[i];
		finding = add_finding(check, "mount", mount->destination, &mount->origin);
		r = finding ? check_mount(check, mount, finding) : -ENOMEM;
	}
	if (r < 0)
		return error_memory(err);
	return process_check_alive(&check->process, err);
}

static int print_table(const struct check *check, struct error *err)
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
	};
	const struct screen screen = screen_stdout();
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
	table_print(&table, &screen);
	return 0;
}

static int print_json(const struct check *check, struct error *err)
{
	static const char *const states[] = {
		[FINDING_GOOD] = "good",
		[FINDING_MISSING] = "missing",
		[FINDING_DIFFERS] = "differs",
	};
	struct json_out out = {.text = {.arena = check->arena}};

	json_out_begin(&out, NULL, '{');
	json_out_number(&out, "pid", check->process.pid);
	json_out_bool(&out, "good", check->bad == 0);
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

static int open_process(struct check *check, const struct oci_config *config, struct error *err)
{
	_cleanup_fd_ int root_fd = -1;
	pid_t pid = 0;

	if (check->pid_text) {
		char *end;
		long number = strtol(check->pid_text, &end, 10);
		/* 2^32 + 1 is no process, and not the first one either. */
		if (*end || number <= 0 || number > INT_MAX)
			return error_say(err, EXIT_CODE_USAGE,
					 "check: --pid=%s: expected the number of a process",
					 SHOW(check->pid_text));
		pid = (pid_t)number;
		return process_open(&check->process, pid, err);
	}
	root_fd = bundle_open_root(check->bundle, config, err);
	if (root_fd < 0)
		return root_fd;
	if (process_find(root_fd, &pid, err) < 0) {
		error_prefix(err, "bundle %s", SHOW(check->bundle));
		return error_class(err, EXIT_CODE_CONTAINER);
	}
	return process_open(&check->process, pid, err);
}

/* Nothing of it depends on the stage: nodes and mounts are the same at each. */
static int make_plan(struct check *check, struct specs *specs, const struct oci_config *config,
		     char **devices, struct error *err)
{
	const struct plan_options options = {.stage = STAGE_CREATE_RUNTIME};
	int r = specs_open(check->arena, specs, &check->spec_dirs, err);

	if (r == 0)
		r = specs_find(specs, devices, err);
	return r == 0 ? specs_plan(specs, config, &options, &check->plan, err) : r;
}

static int run(struct check *check, char **devices, struct error *err)
{
	_cleanup_specs_ struct specs specs = SPECS_NULL;
	struct oci_config config = {0};
	int r = check->bundle ? bundle_read(check->arena, check->bundle, &config, err) : 0;

	if (r == 0)
		r = open_process(check, &config, err);
	if (r == 0)
		r = make_plan(check, &specs, &config, devices, err);
	if (r == 0)
		r = check_all(check, err);
	if (r == 0)
		r = check->output == OUTPUT_JSON ? print_json(check, err) : print_table(check, err);
	process_close(&check->process);
	if (r == 0 && check->bad > 0)
		return error_say(
			err, EXIT_CODE_APPLY,
			"process %d: %zu of %zu nodes and mounts are not as they should be",
			check->process.pid, check->bad, check->findings.n);
	return r;
}

int ctl_check(struct arena *arena, int argc, char **argv, struct error *err)
{
	struct check check = {.arena = arena, .process = PROCESS_NULL};
	const struct usage_option options[] = {
		{"pid", 0, "PID", USAGE_TEXT, &check.pid_text, "A process of the container"},
		{"bundle", 0, "DIR", USAGE_TEXT, &check.bundle,
		 "Or its bundle: the first process in its root"},
		SPECS_OPTION(&check.spec_dirs),
		OUTPUT_OPTION(&check.output),
	};
	const struct usage usage = {
		.command = "check",
		.arguments = "--pid=PID|--bundle=DIR DEVICE...",
		.about = "Compares a running container with what these devices should give it: "
			 "whether\n"
			 "nodes are there with the right numbers, and mounts with the right source "
			 "and\n"
			 "options. Nothing is changed. Ends with 8 if something is not as it "
			 "should be.",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
	};
	int first = usage_parse(arena, &usage, argc, argv, err);

	if (first <= 0)
		return first;
	if (!check.pid_text == !check.bundle)
		return error_say(err, EXIT_CODE_USAGE,
				 "check: name a container by either --pid=PID or --bundle=DIR");
	if (first == argc)
		return error_say(err, EXIT_CODE_USAGE,
				 "check: no device given; cdictl list shows what there is");
	return run(&check, argv + first, err);
}
