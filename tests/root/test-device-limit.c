/* SPDX-License-Identifier: Apache-2.0 */
/* device_limits_find(): what is found on real cgroups, compared with what the container's process can open. */
#include "device-cgroup-cases.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device-limit.h"

/* What is found for the two rules; fails the case when that fails. */
static struct device_limits look(struct fixture *f)
{
	const struct device_cgroup_target target = {
		.arena = &f->arena,
		.proc_fd = f->proc_fd,
		.pid = f->pid,
		.pid_fd = -1,
		.notes = &f->notes,
	};
	struct device_limits limits;
	char text[ERROR_TEXT_MAX];

	f->err = (struct error){0};
	const char *before = state_of(f);
	int r = device_limits_find(&target, two_rules, COUNT(two_rules), &limits, &f->err);
	check(r == 0 && !error_is_set(&f->err), "returned %d: %s", r, error_text(&f->err, text));
	check_state(f, before, "after looking");
	check(kernel.loaded == 0 && kernel.attached == 0 && kernel.detached == 0, "changed");
	return limits;
}

/* The one and only finding about rule `i`, or a failed check. */
static const struct device_limit *only(const struct device_limits *limits, size_t i)
{
	static const struct device_limit none;
	const struct device_limit *found = NULL;
	size_t n = 0;

	for (size_t j = 0; j < limits->n; j++)
		if (limits->items[j].rule == i) {
			found = &limits->items[j];
			n++;
		}
	check(n == 1, "%zu findings about rule %zu", n, i);
	return found ? found : &none;
}

static void check_own(const struct device_limits *limits)
{
	char path[NAME_MAX + 16];

	snprintf(path, sizeof(path), "/%s/leaf", parent_name);
	check(only(limits, 0)->refused == RWM, "of fuse: %u", only(limits, 0)->refused);
	check(only(limits, 1)->refused == DEVICE_READ, "of kmsg: %u", only(limits, 1)->refused);
	check(!only(limits, 0)->above && !only(limits, 0)->problem, "not in its own cgroup");
	check(only(limits, 0)->cgroup && strcmp(only(limits, 0)->cgroup, path) == 0, "cgroup %s",
	      only(limits, 0)->cgroup);
	check(!only(limits, 0)->unit.name, "a unit");
}

static void case_refused_then_allowed(struct fixture *f)
{
	limit(f);
	struct device_limits limits = look(f);
	check_own(&limits);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	kernel.loaded = kernel.attached = kernel.detached = 0;
	check(look(f).n == 0, "something is found after allowing");
	undo_to(&f->undo, 0, &f->err);
	kernel.loaded = kernel.attached = kernel.detached = 0;
	limits = look(f);
	check_own(&limits);
}

static void case_nothing_limits(struct fixture *f)
{
	check(look(f).n == 0, "something limits");
}

/* Our own cgroup is left alone by the hook, but it may be what keeps a container from its device. */
static void case_own_cgroup(struct fixture *f)
{
	limit(f);
	move_to(f->leaf_fd, getpid());
	const struct device_limits limits = look(f);
	check_own(&limits);
}

static void case_process_gone(struct fixture *f)
{
	struct device_cgroup_target target = {
		.arena = &f->arena,
		.proc_fd = f->proc_fd,
		.pid = 4194304,
		.pid_fd = -1,
		.notes = &f->notes,
	};
	struct device_limits limits;

	check(device_limits_find(&target, two_rules, 2, &limits, &f->err) < 0, "looked at nobody");
	check(limits.n == 0, "found something of nobody's");
}

static void case_v1_partly(struct fixture *f)
{
	static const char *const lines[] = {"c *:* m", "c 10:229 r", "c 1:* r", NULL};

	limit_v1(f->leaf_fd, lines);
	const struct device_limits limits = look(f);
	check(limits.n == 1 && only(&limits, 0)->refused == (DEVICE_READ | DEVICE_WRITE),
	      "%zu findings", limits.n);
}

static const char *const forbids_fuse[] = {"c 1:3 rwm", "c 1:11 r", NULL};

static void case_v1_above(struct fixture *f)
{
	char path[NAME_MAX + 2];

	snprintf(path, sizeof(path), "/%s", parent_name);
	limit(f);
	const struct device_limits limits = look(f);
	check(only(&limits, 0)->above && strcmp(only(&limits, 0)->cgroup, path) == 0,
	      "not the one above");
	check(!only(&limits, 1)->above, "kmsg is forbidden above");
}

static void case_v2_above(struct fixture *f)
{
	char path[NAME_MAX + 2];

	snprintf(path, sizeof(path), "/%s", parent_name);
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	check_closed(f);
	const struct device_limits limits = look(f);
	check(only(&limits, 0)->above && only(&limits, 0)->cgroup &&
		      strcmp(only(&limits, 0)->cgroup, path) == 0,
	      "not the one above");
}

/* One that an override of the container's own puts out of force decides nothing. */
static void case_v2_overridden(struct fixture *f)
{
	static const struct bpf_insn everything[] = {MOV(0, 1), EXIT()};

	limit_v2(f->parent_fd, BPF_F_ALLOW_OVERRIDE);
	_cleanup_fd_ int fd = load(everything, COUNT(everything));
	attach(f->leaf_fd, fd, BPF_F_ALLOW_OVERRIDE, -1);
	check(may_open(f, "fuse", O_RDWR), "fuse is closed");
	check(look(f).n == 0, "something limits");
}

/* A name tells whose it is. */
static void case_v2_named(struct fixture *f)
{
	_cleanup_fd_ int fd = load_named(null_only, COUNT(null_only), "sd_devices");

	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	const struct device_limits limits = look(f);
	check_own(&limits);
	check(strcmp(only(&limits, 0)->name, "sd_devices") == 0, "name %s", only(&limits, 0)->name);
	check(only(&limits, 0)->program != 0, "no id");
}

static void case_v2_hidden(struct fixture *f)
{
	limit(f);
	kernel.hides = true;
	const struct device_limits limits = look(f);
	for (size_t i = 0; i < 2; i++)
		check(only(&limits, i)->refused == 0 && only(&limits, i)->problem &&
			      strstr(only(&limits, i)->problem, "hides its instructions"),
		      "not said of rule %zu", i);
}

/* Attached by a bpf_link: nobody but its owner can change that, but it can be read. */
static void case_v2_link(struct fixture *f)
{
	_cleanup_fd_ int fd = link_v2(f->leaf_fd);

	must(fd >= 0, "no link");
	const struct device_limits limits = look(f);
	check_own(&limits);
}

static void case_v2_call(struct fixture *f)
{
	static const struct bpf_insn with_call[] = {INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 15),
						    MOV(0, 0), EXIT()};
	_cleanup_fd_ int fd = load(with_call, COUNT(with_call));

	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	const struct device_limits limits = look(f);
	check(only(&limits, 0)->problem &&
		      strstr(only(&limits, 0)->problem, "instruction 0 (0x85) cannot be followed"),
	      "no doubt");
}

static void case_v2_kernel_without(struct fixture *f)
{
	kernel.no_programs = true;
	const struct device_cgroup_target target = {
		.arena = &f->arena,
		.proc_fd = f->proc_fd,
		.pid = f->pid,
		.pid_fd = -1,
		.notes = &f->notes,
	};
	struct device_limits limits;

	check(device_limits_find(&target, two_rules, 2, &limits, &f->err) == 0 && limits.n == 0,
	      "something limits");
}

static const struct test_case cases[] = {
	{"refused, then allowed, then refused", BOTH, case_refused_then_allowed},
	{"nothing limits", BOTH, case_nothing_limits},
	{"our own cgroup", BOTH, case_own_cgroup},
	{"a process that is gone", BOTH, case_process_gone},
	{"entries that are partly there", 1 << V1, case_v1_partly},
	{"a parent that forbids", 1 << V1, case_v1_above, forbids_fuse},
	{"a program above", 1 << V2, case_v2_above},
	{"a program above that is overridden", 1 << V2, case_v2_overridden},
	{"a program with a name", 1 << V2, case_v2_named},
	{"hidden instructions", 1 << V2, case_v2_hidden},
	{"a bpf_link", 1 << V2, case_v2_link},
	{"a program with a call", 1 << V2, case_v2_call},
	{"a kernel without device programs", 1 << V2, case_v2_kernel_without},
};

int main(void)
{
	return run_cases(cases, COUNT(cases));
}
