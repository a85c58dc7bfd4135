/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cdictl check says of the device cgroup, and why a rule that was allowed once may be gone. The cgroups are looked at by
 * the hook's own code (hook/device-limit.c); the causes are those that were seen to take devices away.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf-program.h"
#include "check.h"
#include "cleanup.h"
#include "device-limit.h"
#include "plan-text.h"
#include "text.h"

/* ---- Why ---- */

/* The node of the container that the rule is for, where it has other numbers than the host's has now. */
static bool has_old_numbers(const struct check *check, const struct device_rule *rule,
			    struct stat *ret_st)
{
	const mode_t type = rule->type == 'b' ? S_IFBLK : S_IFCHR;
	struct process_file file;
	struct error ignored = {0};

	for (size_t i = 0; i < check->plan.nodes.n; i++) {
		const struct plan_node *node = &check->plan.nodes.items[i];
		if (node->type != type || node->major != rule->major || node->minor != rule->minor)
			continue;
		if (process_look(&check->process, node->path, &file, &ignored) < 0 ||
		    (file.st.st_mode & S_IFMT) != type)
			continue;
		if (file.st.st_rdev != makedev(node->major, node->minor)) {
			*ret_st = file.st;
			return true;
		}
	}
	return false;
}

/* systemd's program, or a list of v1 that is as systemd would write it. */
static bool is_systemds(const struct device_limit *limit, const struct device_rule *rule)
{
	if (limit->version == CGROUP_V2)
		return strcmp(limit->name, BPF_PROGRAM_SYSTEMDS_NAME) == 0;
	return limit->unit.name && unit_text_has_list(&limit->unit.devices) &&
	       !unit_text_allows(&limit->unit.devices, rule);
}

/* What to do about a unit that is not the container's. */
static const char *advice(const struct check *check, const struct device_rule *rule,
			  const struct device_limit *limit, const char *unit)
{
	const struct unit_limit what = {
		.program = limit->program, .name = limit->name, .escaped_later = true};

	return unit_text_advice(check->arena, unit, rule, &what);
}

static const char *cause(const struct check *check, const struct device_rule *rule,
			 const struct device_limit *limit)
{
	const char *unit =
		limit->above && limit->cgroup ? unit_text_slice_or_service(limit->cgroup) : NULL;
	struct stat st;

	if (has_old_numbers(check, rule, &st))
		return arena_printf(check->arena,
				    "the container's node is %c %u:%u, and the host's has new "
				    "numbers since: only the old ones were allowed",
				    rule->type, major(st.st_rdev), minor(st.st_rdev));
	if (unit)
		return advice(check, rule, limit, unit);
	if (is_systemds(limit, rule) && limit->unit.name)
		return arena_printf(check->arena,
				    "the device list that systemd has of unit %s lacks it, and a "
				    "daemon-reload, a set-property or a package upgrade has put "
				    "that in force again",
				    limit->unit.name);
	if (is_systemds(limit, rule))
		return "it is systemd's, and its list of the unit lacks the device";
	if (limit->pinned && limit->unit.name)
		return arena_printf(check->arena,
				    "it is the one pinned at %s, which systemd has attached again "
				    "at a change of unit %s",
				    limit->unit.devices.pin, limit->unit.name);
	if (limit->above)
		return "what limits there was not changed for the container";
	if (strcmp(limit->name, BPF_PROGRAM_OUR_NAME) == 0)
		return "the hook has put other rules there: was the container given this device?";
	return "an engine's update has written its own rules over it, or it never was allowed";
}

/* ---- What ---- */

/* "12 (sd_devices)" */
static const char *program(const struct check *check, const struct device_limit *limit)
{
	return arena_printf(check->arena, limit->name[0] ? "%u (%s)" : "%u", limit->program,
			    limit->name);
}

static const char *place(const struct check *check, const struct device_limit *limit)
{
	char access[4];
	const char *what = device_access_text(limit->refused, access);

	if (limit->version == CGROUP_V1 && limit->above)
		return arena_printf(check->arena,
				    "the cgroup %s above the container's does not allow %s",
				    limit->cgroup, what);
	if (limit->version == CGROUP_V1)
		return arena_printf(check->arena, "%s is not in devices.list of cgroup %s", what,
				    limit->cgroup);
	if (!limit->cgroup)
		return arena_printf(check->arena,
				    "device program %s of a cgroup above that cannot be seen "
				    "refuses %s",
				    program(check, limit), what);
	return arena_printf(check->arena, "device program %s of cgroup %s refuses %s",
			    program(check, limit), limit->cgroup, what);
}

/* Of those that refuse in one cgroup another's program comes before systemd's: an entry of the unit would not help against it. */
static bool counts_more(const struct device_limit *limit, const struct device_limit *first)
{
	return !first ||
	       (limit->version == CGROUP_V2 && first->version == CGROUP_V2 && limit->cgroup &&
		first->cgroup && strcmp(limit->cgroup, first->cgroup) == 0 &&
		strcmp(first->name, BPF_PROGRAM_SYSTEMDS_NAME) == 0);
}

/* The sentence of all that refuses the rule, with the cause of the first, or NULL. */
static int describe(struct check *check, const struct device_limits *limits, size_t rule,
		    struct finding *finding)
{
	struct text text = {.arena = check->arena};
	const struct device_limit *doubt = NULL, *first = NULL;
	struct error ignored = {0};

	for (size_t i = 0; i < limits->n; i++) {
		const struct device_limit *limit = &limits->items[i];
		if (limit->rule != rule)
			continue;
		if (!limit->refused) {
			doubt = doubt ? doubt : limit;
			continue;
		}
		if (first)
			text_put(&text, "; ");
		first = counts_more(limit, first) ? limit : first;
		text_put(&text, place(check, limit) ?: "no memory");
	}
	if (first) {
		if (doubt)
			text_printf(&text, "; device program %s cannot be read (%s)",
				    program(check, doubt) ?: "?", doubt->problem);
		text_put(&text, ": ");
		text_put(&text, cause(check, &check->plan.rules.items[rule], first) ?: "no memory");
		const char *sentence = text_end(&text, &ignored);
		/* What nobody can read may refuse it as well, and --repair must leave it alone. */
		check->unknown += doubt != NULL;
		return sentence ? check_bad(check, finding, FINDING_MISSING, "%s", sentence)
				: -ENOMEM;
	}
	if (!doubt)
		return 0;
	return check_bad(check, finding, FINDING_UNKNOWN, "device program %s cannot be read: %s",
			 program(check, doubt) ?: "?", doubt->problem);
}

/* ---- All of them ---- */

static int find_limits(const struct check *check, struct device_limits *ret_limits,
		       struct error *err)
{
	_cleanup_fd_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct notes notes = {.arena = check->arena};
	const struct device_cgroup_target target = {
		.arena = check->arena,
		.proc_fd = proc_fd,
		.pid = check->process.pid,
		.pid_fd = -1,
		.notes = &notes,
	};

	return device_limits_find(&target, check->plan.rules.items, check->plan.rules.n, ret_limits,
				  err);
}

int check_rules(struct check *check, struct error *err)
{
	struct device_limits limits = {0};
	struct error why = {0};
	char reason[ERROR_TEXT_MAX], line[PROC_TEXT_DEVICE_MAX];
	int r = 0;

	if (geteuid() != 0 || check->plan.rules.n == 0)
		return 0;
	const bool seen = find_limits(check, &limits, &why) == 0;
	for (size_t i = 0; r == 0 && i < check->plan.rules.n; i++) {
		const struct device_rule *rule = &check->plan.rules.items[i];
		const char *what = arena_strdup(check->arena,
						proc_text_device_line(line, rule->type, rule->major,
								      rule->minor, rule->access));
		struct finding *finding =
			what ? check_add(check, "rule", what, &rule->origin) : NULL;
		if (!finding)
			return error_memory(err);
		r = seen ? describe(check, &limits, i, finding)
			 : check_bad(check, finding, FINDING_UNKNOWN, "%s",
				     error_text(&why, reason));
	}
	return r < 0 ? error_memory(err) : 0;
}
