/* SPDX-License-Identifier: Apache-2.0 */
/* device_cgroup_allow() on both versions, and on v1. */
#include "device-cgroup-cases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A directory's names cannot be read. */
static bool lists_fail;

struct dirent *__wrap_readdir64(DIR *dir);
struct dirent *__real_readdir64(DIR *dir);

struct dirent *__wrap_readdir64(DIR *dir)
{
	if (!lists_fail)
		return __real_readdir64(dir);
	errno = EIO;
	return NULL;
}

/* ---- Cases for both versions ---- */

static void case_round(struct fixture *f)
{
	limit(f);
	check_whole_round(f);
}

static void case_old_openat(struct fixture *f)
{
	kernel.no_openat2 = true;
	limit(f);
	check_whole_round(f);
}

static void case_keep(struct fixture *f)
{
	limit(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	undo_keep(&f->undo, &f->err);
	check_open(f);
}

static void case_no_rules(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	check_done(f, allow(f, NULL, 0));
	check_state(f, before, "no rules");
}

static void check_stranger_refused(struct fixture *f)
{
	const char *before = state_of(f);

	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "not the container's alone: process ");
	check_state(f, before, "refused");
	check(f->undo.steps.n == 0, "something to undo");
	check_closed(f);
}

static void case_stranger(struct fixture *f)
{
	limit(f);
	move_to(f->leaf_fd, spawn(0, 0));
	check_stranger_refused(f);
}

/* In a pid namespace of its own, but not one below the container's. */
static void case_other_container(struct fixture *f)
{
	limit(f);
	move_to(f->leaf_fd, spawn(CLONE_NEWPID, 0));
	check_stranger_refused(f);
}

static void case_stranger_below(struct fixture *f)
{
	limit(f);
	must(mkdirat(f->leaf_fd, "below", 0755) == 0, "mkdir");
	_cleanup_fd_ int below = openat(f->leaf_fd, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	move_to(below, spawn(0, 0));
	check_stranger_refused(f);
}

/* He is not overlooked when the cgroups below cannot be listed. */
static void case_no_list(struct fixture *f)
{
	char text[ERROR_TEXT_MAX];

	limit(f);
	lists_fail = true;
	int r = allow(f, two_rules, COUNT(two_rules));
	lists_fail = false;
	check(r < 0 && strstr(error_text(&f->err, text), "list cgroup: Input/output error"),
	      "%d, %s", r, error_text(&f->err, text));
	check_closed(f);
}

/* Where the container shares our pid namespace, everybody is in it. */
static void case_shared_stranger(struct fixture *f)
{
	limit(f);
	move_to(f->leaf_fd, spawn(0, 0));
	check_stranger_refused(f);
}

static void case_shared_other_container(struct fixture *f)
{
	limit(f);
	move_to(f->leaf_fd, spawn(CLONE_NEWNS, 0));
	check_stranger_refused(f);
}

static void case_shared_alone(struct fixture *f)
{
	limit(f);
	must(ask(f, &(struct question){.what = ASK_FORK}) == 0, "a process in the container");
	check_whole_round(f);
}

static void case_stranger_that_leaves(struct fixture *f)
{
	limit(f);
	move_to(f->leaf_fd, spawn(0, 20));
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
}

static void case_descendants(struct fixture *f)
{
	limit(f);
	must(ask(f, &(struct question){.what = ASK_SPAWN}) == 0, "a namespace in the container");
	must(mkdirat(f->leaf_fd, "below", 0755) == 0, "mkdir");
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
}

static void case_own_cgroup(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	move_to(f->leaf_fd, getpid());
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(has_note(f, "left as it is"), "no note");
	check_state(f, before, "our own");
	check(f->undo.steps.n == 0, "something to undo");
}

static void case_root_cgroup(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	check_done(f, allow_for(f, spawn(CLONE_NEWPID, 0), two_rules, COUNT(two_rules)));
	check_state(f, before, "root");
	check(f->undo.steps.n == 0, "something to undo");
}

static void case_process_gone(struct fixture *f)
{
	limit(f);
	pid_t pid = spawn(0, 1);
	must(waitpid(pid, NULL, 0) == pid, "wait");
	check_refused(f, allow_for(f, pid, two_rules, COUNT(two_rules)),
		      "No such file or directory");
}

/* A file that somebody mounted over one of the cgroup's is never read or written. */
/* The number came to mean another process between the first look at it and the look into its cgroup. */
static void case_number_is_anothers(struct fixture *f)
{
	const pid_t pid = spawn(0, 0);
	_cleanup_fd_ int pid_fd = pidfd_open(pid, 0);
	const struct device_cgroup_target target = {
		.arena = &f->arena,
		.proc_fd = f->proc_fd,
		.pid = f->pid,
		.pid_fd = pid_fd,
		.notes = &f->notes,
	};

	limit(f);
	must(pid_fd >= 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid, "end it");
	check_refused(f,
		      device_cgroup_allow(&target, two_rules, COUNT(two_rules), &f->undo, &f->err),
		      "the container's first");
	check(f->undo.steps.n == 0, "changed");
	check_closed(f);
}

static void case_mounted_over(struct fixture *f)
{
	char target[PATH_MAX], words[PATH_MAX];

	limit(f);
	const char *before = state_of(f);
	snprintf(target, sizeof(target), "%s/%s/leaf/%s", mounted[f->version], parent_name,
		 f->version == V1 ? "devices.allow" : "cgroup.procs");
	snprintf(words, sizeof(words), "%s/null", top);
	must(mount(words, target, NULL, MS_BIND, NULL) == 0, "mount over %s", target);
	check_refused(f, allow(f, two_rules, COUNT(two_rules)), "Invalid cross-device link");
	must(umount2(target, MNT_DETACH) == 0, "umount");
	f->undo.steps.n = 0;
	check_state(f, before, "refused");
	check_closed(f);
}

/* ---- Cases of v1 ---- */

static void case_v1_everything(struct fixture *f)
{
	check_state(f, "a *:* rwm\n", "a new cgroup");
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, "a *:* rwm\n", "everything");
	check(f->undo.steps.n == 0, "something to undo");
}

static void case_v1_partly_there(struct fixture *f)
{
	static const char *const lines[] = {"c *:* m", "c 10:229 r", "c 1:* r", NULL};
	const char *before = "c *:* m\nc 10:229 r\nc 1:* r\n";

	limit_v1(f->leaf_fd, lines);
	check_state(f, before, "limited");
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	/* mknod is granted by the wildcard, kmsg too; read and write are asked for together. */
	check_state(f, "c *:* m\nc 10:229 rw\nc 1:* r\n", "allowed");
	check(may_open(f, "fuse", O_RDWR), "fuse is closed");
	check_undo(f, before);
	check(!may_open(f, "fuse", O_RDWR) && may_open(f, "fuse", O_RDONLY), "not as before");
}

static void case_v1_forbidden_above(struct fixture *f)
{
	char words[PATH_MAX];

	limit(f);
	const char *before = state_of(f);
	/* kmsg can be allowed, fuse after it cannot. */
	const struct device_rule rules[] = {two_rules[1], two_rules[0]};
	snprintf(words, sizeof(words),
		 "allow c 10:229 rw: the cgroup /%s above it does not allow that", parent_name);
	check_refused(f, allow(f, rules, COUNT(rules)), words);
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	check_undo(f, before);
}

/*
 * The parent has read and write in one entry, mknod in another: the kernel takes no line that wants
 * all three.
 */
static void case_v1_split_above(struct fixture *f)
{
	limit(f);
	check_whole_round(f);
}

static void case_v1_not_mounted(struct fixture *f)
{
	must(umount2("/sys/fs/cgroup", MNT_DETACH) == 0, "umount");
	limit(f);
	check_whole_round(f);
}

/* v1 takes a new list for a cgroup only as long as there is none below it. */
static const char *const forbids_fuse[] = {"c 1:3 rwm", "c 1:11 r", NULL};
static const char *const splits_fuse[] = {"c 1:* rwm", "c 10:229 rw", "c *:* m", NULL};

static const struct test_case cases[] = {
	{"allow, twice, undo", BOTH, case_round},
	{"allow and keep", BOTH, case_keep},
	{"without openat2", BOTH, case_old_openat},
	{"no rules", BOTH, case_no_rules},
	{"a stranger in the cgroup", BOTH, case_stranger},
	{"another container in the cgroup", BOTH, case_other_container},
	{"a stranger in a cgroup below", BOTH, case_stranger_below},
	{"the cgroups below cannot be listed", BOTH, case_no_list},
	{"our pid namespace: a stranger in the cgroup", BOTH, case_shared_stranger, NULL,
	 CLONE_NEWNS},
	{"our pid namespace: another container in the cgroup", BOTH, case_shared_other_container,
	 NULL, CLONE_NEWNS},
	{"our pid namespace: alone in the cgroup", BOTH, case_shared_alone, NULL, CLONE_NEWNS},
	{"a stranger that leaves", BOTH, case_stranger_that_leaves},
	{"pid namespaces below the container's", BOTH, case_descendants},
	{"our own cgroup", BOTH, case_own_cgroup},
	{"the root cgroup", BOTH, case_root_cgroup},
	{"a process that is gone", BOTH, case_process_gone},
	{"a process whose number is another's by now", BOTH, case_number_is_anothers},
	{"a mount over a cgroup file", BOTH, case_mounted_over},
	{"everything allowed", 1 << V1, case_v1_everything},
	{"entries that are partly there", 1 << V1, case_v1_partly_there},
	{"a parent that forbids", 1 << V1, case_v1_forbidden_above, forbids_fuse},
	{"a parent with split entries", 1 << V1, case_v1_split_above, splits_fuse},
	{"not mounted", 1 << V1, case_v1_not_mounted},
};

int main(void)
{
	return run_cases(cases, COUNT(cases));
}
