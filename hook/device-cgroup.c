/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hierarchies limit the container's devices, and in what order they are changed. A host has
 * cgroup v1, v2 or both (hybrid: v1 decides there, and v2 too where a program is attached), and all
 * that limit must agree.
 */
#include "device-cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"
#include "cleanup.h"
#include "interrupt.h"
#include "proc-text.h"
#include "sys.h"
#include "systemd.h"

/* The container's and our own place in every hierarchy. */
struct places {
	struct proc_cgroup_list theirs, ours;
};

/* What systemd will do to the container where it doesn't know of the devices. */
static void note_untold(const struct device_cgroup_target *target, const char *unit,
			struct error *err)
{
	char text[ERROR_TEXT_MAX];

	note_add(target->notes, NOTE_WARNING,
		 "%s: the devices are allowed by the kernel only, and will be refused to unit %s "
		 "from the next systemctl daemon-reload or change of the unit on; requested at "
		 "stage "
		 "precreate they would last",
		 error_text(err, text), SHOW(unit));
	*err = (struct error){0};
}

/*
 * Where systemd manages the cgroup it is told first: what it does with its own programs then, it has
 * done when we look at them. That it cannot be told is no reason to fail: the devices work until the
 * next reload, and the warning says so.
 */
static int tell_systemd(struct cgroup *cgroup, struct systemd_unit *unit,
			const struct device_rule *rules, size_t n_rules, struct undo *undo,
			struct error *err)
{
	const struct device_cgroup_target *target = cgroup->target;
	int r = cgroup_find_unit(cgroup, unit, err);

	/* Memory is no matter of systemd's. */
	if (r < 0 && err->errnum == ENOMEM)
		return r;
	if (r < 0) {
		note_untold(target, "of the container", err);
		return 0;
	}
	if (!unit->name)
		return 0;
	cgroup->unit = unit;
	if (!unit_text_has_list(&unit->devices))
		return 0;
	r = systemd_allow(target->arena, unit, rules, n_rules, undo, err);
	if (r == 0) {
		cgroup->told = true;
		return 0;
	}
	struct error stopped = {0};
	if (err->errnum == ENOMEM || interrupted(&stopped) < 0) {
		*err = err->errnum == ENOMEM ? *err : stopped;
		return r;
	}
	note_untold(target, unit->name, err);
	return 0;
}

/* The cgroup was found by a number, which is the container's as long as its process is there. */
static int check_still_there(const struct device_cgroup_target *target, struct error *err)
{
	if (target->pid_fd < 0 || sys_pidfd_is_there(target->pid_fd))
		return 0;
	return error_set(err, errno, "process %d, the container's first", (int)target->pid);
}

/* `controller`: "devices" for v1, "" for v2. Returns as cgroup_v2_allow(). */
static int allow_in(const struct device_cgroup_target *target, const struct places *places,
		    const char *controller, const struct device_rule *rules, size_t n_rules,
		    struct undo *undo, struct error *err)
{
	const struct proc_cgroup *line = proc_text_find_cgroup(&places->theirs, controller);
	enum cgroup_version version = *controller ? CGROUP_V1 : CGROUP_V2;
	_cleanup_cgroup_ struct cgroup cgroup = {.root_fd = -1, .fd = -1};
	struct systemd_unit unit;

	if (!line)
		return 0;
	int r = cgroup_open(target, version, line, &cgroup, err);
	if (r == 0)
		r = check_still_there(target, err);
	if (r == 0) {
		cgroup.ours = cgroup_is_ours(target, &places->ours, controller, cgroup.path);
		if (!cgroup.ours && !target->inside)
			r = tell_systemd(&cgroup, &unit, rules, n_rules, undo, err);
	}
	if (r == 0)
		r = version == CGROUP_V1 ? cgroup_v1_allow(&cgroup, rules, n_rules, undo, err)
					 : cgroup_v2_allow(&cgroup, rules, n_rules, undo, err);
	if (r != 0)
		error_prefix(err, "cgroup %s %s", version == CGROUP_V1 ? "v1" : "v2",
			     SHOW(line->path));
	/* What we must not change cannot fail the start because we could not look at it. */
	if (r < 0 && cgroup_is_ours(target, &places->ours, controller, line->path)) {
		char text[ERROR_TEXT_MAX];
		note_add(target->notes, NOTE_INFO, "%s: left as it is", error_text(err, text));
		*err = (struct error){0};
		return 0;
	}
	return r;
}

static int allow_everywhere(const struct device_cgroup_target *target,
			    const struct device_rule *rules, size_t n_rules, struct undo *undo,
			    struct error *err)
{
	struct places places;
	char process[16];

	snprintf(process, sizeof(process), "%d", (int)target->pid);
	int r = cgroup_read_places(target, process, &places.theirs, err);
	if (r == 0)
		r = cgroup_read_places(target, "self", &places.ours, err);
	if (r == 0)
		r = allow_in(target, &places, "devices", rules, n_rules, undo, err);
	if (r < 0)
		return r;
	r = allow_in(target, &places, "", rules, n_rules, undo, err);
	if (r <= 0)
		return r;
	/*
	 * A kernel without device programs: fine where v1 does the work, else nobody knows what
	 * limits devices.
	 */
	if (proc_text_find_cgroup(&places.theirs, "devices")) {
		*err = (struct error){0};
		return 0;
	}
	return error_prefix(err, "no device programs in this kernel (--no-cgroup does without)");
}

/* Runs in, Trusts, Hostile: see device-cgroup.h. */
int device_cgroup_allow(const struct device_cgroup_target *target, const struct device_rule *rules,
			size_t n_rules, struct undo *undo, struct error *err)
{
	if (n_rules == 0)
		return 0;
	int r = allow_everywhere(target, rules, n_rules, undo, err);
	return r < 0 ? error_class(err, EXIT_CODE_CGROUP) : 0;
}
