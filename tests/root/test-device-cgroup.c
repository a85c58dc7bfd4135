/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cgroup_allow() on cgroups of our own making, limited as a runtime limits them, with a
 * process in a pid namespace of its own that tries to open devices. Both versions are tested where
 * the machine has both (a hybrid host does).
 *
 * Each case runs in a process and a mount namespace of its own; the parent removes what it left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "device-cgroup.h"
#include "device-filter.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RWM (DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD)

static unsigned checks_failed;

__attribute__((format(printf, 2, 3))) static bool check(bool ok, const char *fmt, ...)
{
	va_list args;

	if (ok)
		return true;
	checks_failed++;
	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	return false;
}

/* Something that the test itself needs. */
__attribute__((format(printf, 2, 3))) static void must(bool ok, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	if (ok)
		return;
	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf(": %s\n", strerror(saved));
	va_end(args);
	fflush(stdout);
	_exit(1);
}

/* ---- Between the code and the kernel ---- */

#define LOW_MEMORY 65536

/* What the kernel shall seem to be; all zero is the real one. */
static struct {
	bool no_openat2;    /* before 5.6 */
	bool no_replace;    /* before 5.6: BPF_F_REPLACE is EINVAL */
	bool counts_memory; /* before 5.11: RLIMIT_MEMLOCK too low, unless above LOW_MEMORY */
	bool no_programs;   /* without CONFIG_CGROUP_BPF */
	bool hides;         /* bpf_jit_harden=2 and kptr_restrict=2 */
	unsigned swaps;     /* somebody else replaces the program before we do, so many times */
	void (*swap)(void);
	unsigned attached, detached, loaded; /* calls that went through */
} kernel;

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

static long bpf_call(long command, union bpf_attr *attr, long size)
{
	struct rlimit lock;

	if (command == BPF_PROG_QUERY && kernel.no_programs) {
		errno = EINVAL;
		return -1;
	}
	if (command == BPF_PROG_ATTACH && attr->attach_flags & BPF_F_REPLACE) {
		if (kernel.no_replace) {
			errno = EINVAL;
			return -1;
		}
		if (kernel.swaps) {
			kernel.swaps--;
			kernel.swap();
		}
	}
	if (command == BPF_PROG_LOAD && kernel.counts_memory &&
	    getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur <= LOW_MEMORY) {
		errno = EPERM;
		return -1;
	}
	long r = __real_syscall(SYS_bpf, command, attr, size);
	if (r == 0 && command == BPF_OBJ_GET_INFO_BY_FD && kernel.hides)
		((struct bpf_prog_info *)(uintptr_t)attr->info.info)->xlated_prog_insns = 0;
	kernel.attached += r == 0 && command == BPF_PROG_ATTACH;
	kernel.detached += r == 0 && command == BPF_PROG_DETACH;
	kernel.loaded += r >= 0 && command == BPF_PROG_LOAD;
	return r;
}

/* Calls with three or four arguments are all that the code under test makes. */
long __wrap_syscall(long number, ...)
{
	const size_t n = number == SYS_bpf ? 3 : 4;
	long arg[4] = {0};
	va_list args;

	va_start(args, number);
	for (size_t i = 0; i < n; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf)
		return bpf_call((int)arg[0], (union bpf_attr *)arg[1], arg[2]);
	if (number == SYS_openat2 && kernel.no_openat2) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3]);
}

/* ---- The container's process ---- */

struct question {
	enum { ASK_OPEN, ASK_MKNOD, ASK_SPAWN, ASK_FORK } what;
	char path[PATH_MAX];
	int flags;
	dev_t device;
};

/* Only a case's own process holds the writing end: a reader sees its end, however that comes. */
static int life[2];

static pid_t clone_process(unsigned long namespaces)
{
	pid_t pid = (pid_t)__real_syscall(SYS_clone, namespaces | SIGCHLD, 0L, 0L, 0L, 0L);

	must(pid >= 0, "clone");
	if (pid == 0)
		close(life[1]);
	return pid;
}

/*
 * A process that lives as long as the case, in new namespaces; with `lifetime_ms` it ends earlier.
 */
static pid_t spawn(unsigned long namespaces, unsigned lifetime_ms)
{
	pid_t pid = clone_process(namespaces);
	char byte;

	if (pid == 0) {
		if (lifetime_ms)
			usleep(lifetime_ms * 1000);
		else
			(void)!read(life[0], &byte, 1);
		_exit(0);
	}
	return pid;
}

static int answer(const struct question *question)
{
	int fd, r;

	switch (question->what) {
	case ASK_OPEN:
		fd = open(question->path, question->flags | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return errno;
		close(fd);
		return 0;
	case ASK_MKNOD:
		r = mknod(question->path, S_IFCHR | 0600, question->device) < 0 ? errno : 0;
		unlink(question->path);
		return r;
	case ASK_SPAWN:
		spawn(CLONE_NEWPID, 0);
		return 0;
	case ASK_FORK:
		spawn(0, 0);
		return 0;
	}
	return EINVAL;
}

__attribute__((noreturn)) static void serve(int socket)
{
	struct question question;

	while (read(socket, &question, sizeof(question)) == sizeof(question)) {
		int result = answer(&question);
		if (write(socket, &result, sizeof(result)) < 0)
			break;
	}
	_exit(0);
}

/* ---- One case ---- */

enum { V1, V2 };

struct fixture {
	int version;
	pid_t pid; /* of the container, as we see it */
	int socket;
	int proc_fd, parent_fd, leaf_fd; /* the container's cgroup is PARENT/leaf */
	struct arena arena;
	struct notes notes;
	struct undo undo;
	const struct oci_devices *devices; /* what config.json says, if anybody knows */
	struct error err;
};

static char top[] = "/run/oci-cdi-hook-cgroup-XXXXXX";
static char
	parent_name[NAME_MAX]; /* of the cgroup below a hierarchy's root that holds all of a case */
static const char *mounted[2]; /* where the hierarchy is; NULL: this machine has none */
static struct fixture *current; /* for kernel.swap */

static const struct {
	const char *name;
	unsigned major, minor;
} nodes[] = {{"null", 1, 3}, {"kmsg", 1, 11}, {"fuse", 10, 229}, {"loop-control", 10, 237}};

static const struct device_rule two_rules[] = {
	{.type = 'c', .major = 10, .minor = 229, .access = RWM},
	{.type = 'c', .major = 1, .minor = 11, .access = DEVICE_READ},
};

static void write_at(int dirfd, const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dirfd, file, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) >= 0, "write %s to %s", text, file);
}

static void move_to(int cgroup_fd, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	write_at(cgroup_fd, "cgroup.procs", text);
}

static int ask(const struct fixture *f, const struct question *question)
{
	int result = -1;

	must(write(f->socket, question, sizeof(*question)) == sizeof(*question),
	     "ask the container");
	must(read(f->socket, &result, sizeof(result)) == sizeof(result), "hear from the container");
	return result;
}

static bool may_open(const struct fixture *f, const char *node, int flags)
{
	struct question question = {.what = ASK_OPEN, .flags = flags};

	snprintf(question.path, sizeof(question.path), "%s/%s", top, node);
	/* Whether a driver is behind the node is of no interest. */
	return ask(f, &question) != EPERM;
}

static bool may_mknod(const struct fixture *f, unsigned major, unsigned minor)
{
	struct question question = {.what = ASK_MKNOD, .device = makedev(major, minor)};

	snprintf(question.path, sizeof(question.path), "%s/new", top);
	return ask(f, &question) == 0;
}

static int allow_for(struct fixture *f, pid_t pid, const struct device_rule *rules, size_t n_rules)
{
	struct device_cgroup_target target = {
		.arena = &f->arena,
		.proc_fd = f->proc_fd,
		.pid = pid,
		.notes = &f->notes,
		.devices = f->devices,
	};

	f->err = (struct error){0};
	return device_cgroup_allow(&target, rules, n_rules, &f->undo, &f->err);
}

static int allow(struct fixture *f, const struct device_rule *rules, size_t n_rules)
{
	return allow_for(f, f->pid, rules, n_rules);
}

static void check_done(struct fixture *f, int r)
{
	char text[ERROR_TEXT_MAX];

	check(r == 0, "returned %d: %s", r, error_text(&f->err, text));
	check(!error_is_set(&f->err), "success with a sentence: %s", error_text(&f->err, text));
}

/* Failed as a device cgroup does, with a sentence that has all of `words`. */
static void check_refused(struct fixture *f, int r, const char *words)
{
	char text[ERROR_TEXT_MAX];

	check(r < 0, "not refused");
	check(f->err.exit_code == EXIT_CODE_CGROUP, "exit code %d", (int)f->err.exit_code);
	check(strstr(error_text(&f->err, text), words), "sentence \"%s\" without \"%s\"", text,
	      words);
}

static bool has_note(const struct fixture *f, const char *words)
{
	for (size_t i = 0; i < f->notes.list.n; i++)
		if (strstr(f->notes.list.items[i].text, words))
			return true;
	return false;
}

/* ---- BPF programs as a runtime loads them ---- */

#define INSN(code_, dst_, src_, off_, imm_)                                                        \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (dst_),                                                      \
			   .src_reg = (src_),                                                      \
			   .off = (off_),                                                          \
			   .imm = (imm_)})
#define LDXW(dst, off) INSN(BPF_LDX | BPF_MEM | BPF_W, dst, BPF_REG_1, off, 0)
#define JNE(dst, imm, off) INSN(BPF_JMP | BPF_JNE | BPF_K, dst, 0, off, imm)
#define MOV(dst, imm) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* clang-format off */
/* /dev/null and nothing else. */
static const struct bpf_insn null_only[] = {
	LDXW(2, 4), JNE(2, 1, 4), LDXW(2, 8), JNE(2, 3, 2), MOV(0, 1), EXIT(), MOV(0, 0), EXIT(),
};
/* The same with a call of bpf_get_current_uid_gid(). */
static const struct bpf_insn with_call[] = {INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 15), MOV(0, 0),
					     EXIT()};
/* clang-format on */

static int load_named(const struct bpf_insn *insns, size_t n, const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (uint32_t)n;
	attr.license = (uintptr_t) "GPL";
	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	int fd = (int)__real_syscall(SYS_bpf, (long)BPF_PROG_LOAD, &attr, sizeof(attr));
	must(fd >= 0, "load a program");
	return fd;
}

static int load(const struct bpf_insn *insns, size_t n)
{
	return load_named(insns, n, "");
}

static void attach(int cgroup_fd, int program_fd, uint32_t flags, int replaced)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup_fd;
	attr.attach_bpf_fd = (uint32_t)program_fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = flags | (replaced >= 0 ? BPF_F_REPLACE : 0);
	attr.replace_bpf_fd = replaced >= 0 ? (uint32_t)replaced : 0;
	must(__real_syscall(SYS_bpf, (long)BPF_PROG_ATTACH, &attr, sizeof(attr)) == 0,
	     "attach a program");
}

static void limit_v2(int cgroup_fd, uint32_t flags)
{
	_cleanup_fd_ int fd = load(null_only, COUNT(null_only));

	attach(cgroup_fd, fd, flags, -1);
}

static uint32_t query(int cgroup_fd, uint32_t ids[static LIMIT_BPF_PROGRAMS], uint32_t *ret_flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)cgroup_fd;
	attr.query.attach_type = BPF_CGROUP_DEVICE;
	attr.query.prog_ids = (uintptr_t)ids;
	attr.query.prog_cnt = LIMIT_BPF_PROGRAMS;
	must(__real_syscall(SYS_bpf, (long)BPF_PROG_QUERY, &attr, sizeof(attr)) == 0,
	     "query programs");
	*ret_flags = attr.query.attach_flags;
	return attr.query.prog_cnt;
}

/* Another runtime is faster: a fresh program in the place of the first one. */
static void swap(void)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
	union bpf_attr attr;

	must(query(current->leaf_fd, ids, &flags) > 0, "no program to swap");
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = ids[0];
	_cleanup_fd_ int old =
		(int)__real_syscall(SYS_bpf, (long)BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	_cleanup_fd_ int new = load(null_only, COUNT(null_only));
	attach(current->leaf_fd, new, flags, old);
}

/* ---- What limits the container ---- */

static void limit_v1(int cgroup_fd, const char *const *lines)
{
	write_at(cgroup_fd, "devices.deny", "a");
	for (; *lines; lines++)
		write_at(cgroup_fd, "devices.allow", *lines);
}

/* /dev/null alone, in either version. */
static void limit(struct fixture *f)
{
	static const char *const lines[] = {"c 1:3 rwm", NULL};

	if (f->version == V1)
		limit_v1(f->leaf_fd, lines);
	else
		limit_v2(f->leaf_fd, BPF_F_ALLOW_MULTI);
}

/*
 * The device list, or the ids of the programs in order: what undo has to bring back. Lives as long
 * as the fixture.
 */
static const char *state_of(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
	const char *text = "";

	if (f->version == V1) {
		char *list = arena_alloc(&f->arena, 65536);
		_cleanup_fd_ int fd = openat(f->leaf_fd, "devices.list", O_RDONLY | O_CLOEXEC);
		must(fd >= 0 && read(fd, list, 65535) >= 0, "read devices.list");
		return list;
	}
	uint32_t n = query(f->leaf_fd, ids, &flags);
	for (uint32_t i = 0; i < n; i++)
		text = arena_printf(&f->arena, "%s%u ", text, ids[i]);
	return arena_printf(&f->arena, "%sflags %u", text, flags);
}

static void check_state(struct fixture *f, const char *expected, const char *when)
{
	const char *state = state_of(f);

	check(strcmp(state, expected) == 0, "%s: \"%s\" instead of \"%s\"", when, state, expected);
}

static void check_undo(struct fixture *f, const char *before)
{
	char text[ERROR_TEXT_MAX];

	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo: %s", error_text(&f->err, text));
	check_state(f, before, "after undo");
}

/* The two rules hold and nothing else became open. */
static void check_open(struct fixture *f)
{
	check(may_open(f, "null", O_RDWR), "null is closed");
	check(may_open(f, "fuse", O_RDONLY) && may_open(f, "fuse", O_WRONLY), "fuse is closed");
	check(may_open(f, "fuse", O_RDWR), "fuse is closed for both");
	check(may_mknod(f, 10, 229), "fuse cannot be made");
	check(may_open(f, "kmsg", O_RDONLY), "kmsg cannot be read");
	check(!may_open(f, "kmsg", O_WRONLY), "kmsg can be written");
	check(!may_open(f, "kmsg", O_RDWR), "kmsg is open for both");
	check(!may_mknod(f, 1, 11), "kmsg can be made");
	check(!may_open(f, "loop-control", O_RDONLY), "loop-control is open");
	check(!may_mknod(f, 10, 237), "loop-control can be made");
}

static void check_closed(struct fixture *f)
{
	check(may_open(f, "null", O_RDWR), "null is closed");
	check(!may_open(f, "fuse", O_RDONLY), "fuse is open");
	check(!may_open(f, "kmsg", O_RDONLY), "kmsg is open");
}

/* All of it on a cgroup that is limited: allow, twice, and back. */
static void check_whole_round(struct fixture *f)
{
	const char *before = state_of(f);

	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);

	const char *after = state_of(f);
	size_t steps = f->undo.steps.n;
	check(strcmp(before, after) != 0, "nothing has changed");
	check(steps > 0, "nothing to undo");
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, after, "after the second time");
	check(f->undo.steps.n == steps, "the second time left something to undo");

	check_undo(f, before);
	check_closed(f);
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

/* ---- Cases of v2 ---- */

static void case_v2_no_program(struct fixture *f)
{
	const char *before = state_of(f);

	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, before, "no program");
	check(kernel.loaded == 0 && f->undo.steps.n == 0, "something was done");
}

static void case_v2_several(struct fixture *f)
{
	static const struct bpf_insn everything[] = {MOV(0, 1), EXIT()};
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;

	limit_v2(f->leaf_fd, BPF_F_ALLOW_MULTI);
	limit_v2(f->leaf_fd, BPF_F_ALLOW_MULTI);
	_cleanup_fd_ int fd = load(everything, COUNT(everything));
	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	check_whole_round(f);
	check(query(f->leaf_fd, ids, &flags) == 3, "not three programs");
	/* The third one allows it all already. */
	check(kernel.loaded == 2 && kernel.detached == 0, "%u loaded, %u detached", kernel.loaded,
	      kernel.detached);
}

static void case_v2_override(struct fixture *f)
{
	limit_v2(f->leaf_fd, BPF_F_ALLOW_OVERRIDE);
	check_whole_round(f);
	check(kernel.detached == 0, "detached");
}

static void case_v2_exclusive(struct fixture *f)
{
	limit_v2(f->leaf_fd, 0);
	check_whole_round(f);
	check(kernel.detached == 0, "detached");
}

static void case_v2_more_rules_later(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	check_done(f, allow(f, two_rules, 1));
	check(may_open(f, "fuse", O_RDWR) && !may_open(f, "kmsg", O_RDONLY),
	      "not the first rule alone");
	check_done(f, allow(f, two_rules + 1, 1));
	check_open(f);
	check_undo(f, before);
	check_closed(f);
}

static void case_v2_no_replace(struct fixture *f)
{
	kernel.no_replace = true;
	limit(f);
	limit(f);
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(kernel.attached == 2 && kernel.detached == 2, "%u attached, %u detached",
	      kernel.attached, kernel.detached);
	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo failed");
	check_closed(f);
}

static void case_v2_memory(struct fixture *f)
{
	struct rlimit low, now;

	kernel.counts_memory = true;
	must(getrlimit(RLIMIT_MEMLOCK, &low) == 0, "getrlimit");
	low.rlim_cur = LOW_MEMORY;
	must(setrlimit(RLIMIT_MEMLOCK, &low) == 0, "setrlimit");
	limit(f);
	check_whole_round(f);
	must(getrlimit(RLIMIT_MEMLOCK, &now) == 0, "getrlimit");
	check(now.rlim_cur == low.rlim_cur && now.rlim_max == low.rlim_max,
	      "the limit stays raised");
}

static void case_v2_kernel_without(struct fixture *f)
{
	char *text = arena_alloc(&f->arena, 65536);
	_cleanup_fd_ int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

	must(read(fd, text, 65535) > 0, "read /proc/self/cgroup");
	kernel.no_programs = true;
	int r = allow(f, two_rules, COUNT(two_rules));
	/* Where v1 limits devices nobody needs programs. */
	if (strstr(text, ":devices:"))
		check_done(f, r);
	else
		check_refused(f, r, "no device programs in this kernel");
}

static void case_v2_hidden(struct fixture *f)
{
	limit(f);
	const char *before = state_of(f);
	kernel.hides = true;
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "(net.core.bpf_jit_harden=2 and kernel.kptr_restrict=2, or no CAP_SYSLOG), "
		      "and it cannot be made anew (there is no config.json)");
	check_state(f, before, "refused");
}

/* ---- Hidden instructions, with a config.json ---- */

static struct oci_device_rule deny_all = {.type = 'a', .major = -1, .minor = -1, .access = RWM};

static const struct oci_devices only_defaults = {.rules = {.items = &deny_all, .n = 1}};

/* Limited as a runtime does it that was given `devices`. */
static void limit_by(struct fixture *f, const struct oci_devices *devices, const char *name)
{
	struct device_filter filter;

	must(device_filter_build(&f->arena, devices, &filter, &f->err) == 0, "build a program");
	_cleanup_fd_ int fd = load_named(filter.insns, filter.n, name);
	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	f->devices = devices;
}

/* The two rules hold; runtimes let everybody make every node. */
static void check_open_anew(struct fixture *f)
{
	check(may_open(f, "null", O_RDWR), "null is closed");
	check(may_open(f, "fuse", O_RDWR), "fuse is closed");
	check(may_open(f, "kmsg", O_RDONLY) && !may_open(f, "kmsg", O_WRONLY), "kmsg is wrong");
	check(!may_open(f, "loop-control", O_RDONLY), "loop-control is open");
	check(may_mknod(f, 10, 237), "loop-control cannot be made");
}

static void case_v2_hidden_anew(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	const char *before = state_of(f);
	kernel.hides = true;
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open_anew(f);
	check(has_note(f, "made anew from config.json"), "no note");
	check(f->notes.list.n == 1, "%zu notes", f->notes.list.n);

	const char *after = state_of(f);
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, after, "after the second time");
	check(f->undo.steps.n == 1 && f->notes.list.n == 1, "the second time did something");
	check_undo(f, before);
	check_closed(f);
}

/* The engine knew the devices itself: there is nothing to do, hidden or not. */
/* As after an engine that knows CDI itself: the runtime's own program allows the devices. */
static void granted(struct fixture *f, bool hidden)
{
	struct oci_device_rule entries[] = {
		deny_all,
		{.allow = true, .type = 'c', .major = 10, .minor = 229, .access = RWM},
		{.allow = true, .type = 'c', .major = 1, .minor = 11, .access = DEVICE_READ},
	};
	const struct oci_devices devices = {.rules = {.items = entries, .n = COUNT(entries)}};

	limit_by(f, &devices, "");
	const char *before = state_of(f);
	kernel.hides = hidden;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, before, "granted");
	check(kernel.loaded == 0 && f->notes.list.n == 0, "something was done");
	check_open_anew(f);
}

static void case_v2_granted(struct fixture *f)
{
	granted(f, false);
}

static void case_v2_hidden_granted(struct fixture *f)
{
	granted(f, true);
}

/* Hidden only after a first run that could read it. */
static void case_v2_hidden_later(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	const char *after = state_of(f);
	kernel.hides = true;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_state(f, after, "after the second time");
	check_open_anew(f);
}

static void check_hidden_refused(struct fixture *f, const struct device_rule *rules, size_t n_rules,
				 const char *reason)
{
	char words[1024];

	const char *before = state_of(f);
	size_t steps = f->undo.steps.n;
	kernel.hides = true;
	snprintf(words, sizeof(words), "cannot be made anew (%s): set one of them to 1", reason);
	check_refused(f, allow(f, rules, n_rules), words);
	check_state(f, before, "refused");
	check(f->undo.steps.n == steps, "something to undo");
}

static void case_v2_hidden_two(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	limit(f);
	check_hidden_refused(f, two_rules, COUNT(two_rules), "it is not the only one");
}

static void case_v2_hidden_stranger(struct fixture *f)
{
	limit_by(f, &only_defaults, "sd_devices");
	check_hidden_refused(f, two_rules, COUNT(two_rules),
			     "it has a name, so it is no runtime's");
}

static void case_v2_hidden_other_rules(struct fixture *f)
{
	limit_by(f, &only_defaults, "");
	kernel.hides = true;
	check_done(f, allow(f, two_rules, 1));
	check_hidden_refused(f, two_rules + 1, 1, "it has the rules of an earlier run");
	check(may_open(f, "fuse", O_RDWR), "fuse is closed");
}

static void case_v2_hidden_odd_config(struct fixture *f)
{
	const struct oci_devices odd = {.problem = "config.json: linux.resources: is odd"};

	limit(f);
	f->devices = &odd;
	check_hidden_refused(f, two_rules, COUNT(two_rules), odd.problem);
}

static void case_v2_changed_meanwhile(struct fixture *f)
{
	limit(f);
	kernel.swaps = 3;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(kernel.swaps == 0, "%u swaps left", kernel.swaps);
	check_open(f);
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
}

static void case_v2_never_still(struct fixture *f)
{
	limit(f);
	kernel.swaps = 1000;
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "its device programs keep changing");
	check(kernel.swaps == 990, "%u tries", 1000 - kernel.swaps);
	check(f->undo.steps.n == 0, "something to undo");
	check_closed(f);
}

static void case_v2_calls(struct fixture *f)
{
	/* The second program cannot be changed, so the first is left alone too. */
	limit(f);
	_cleanup_fd_ int fd = load(with_call, COUNT(with_call));
	attach(f->leaf_fd, fd, BPF_F_ALLOW_MULTI, -1);
	const char *before = state_of(f);
	check_refused(f, allow(f, two_rules, COUNT(two_rules)),
		      "its instruction 0 (0x85) calls a function");
	check_state(f, before, "refused");
	check(f->undo.steps.n == 0, "something to undo");
}

static void case_v2_link(struct fixture *f)
{
	_cleanup_fd_ int program = load(null_only, COUNT(null_only));
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)program;
	attr.link_create.target_fd = (uint32_t)f->leaf_fd;
	attr.link_create.attach_type = BPF_CGROUP_DEVICE;
	_cleanup_fd_ int fd =
		(int)__real_syscall(SYS_bpf, (long)BPF_LINK_CREATE, &attr, sizeof(attr));
	must(fd >= 0, "create a link");
	const char *before = state_of(f);
	check_refused(f, allow(f, two_rules, COUNT(two_rules)), "attached by a bpf_link");
	check_state(f, before, "refused");
}

/* One above the container's own, which is its alone: crun makes such. */
static void case_v2_ancestor(struct fixture *f)
{
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	limit(f);
	check_whole_round(f);
	check(!has_note(f, "another one above it"), "noted");
}

/* Only the one above has a program. */
static void case_v2_ancestor_alone(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;

	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(query(f->leaf_fd, ids, &flags) == 0, "a program where there was none");
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	undo_to(&f->undo, 0, &f->err);
	check_closed(f);
}

static void case_v2_ancestor_shared(struct fixture *f)
{
	limit_v2(f->parent_fd, BPF_F_ALLOW_MULTI);
	limit(f);
	move_to(f->parent_fd, spawn(0, 0));
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(has_note(f, "another one above it limits devices too"), "no note");
	check(f->undo.steps.n == 1, "%zu steps to undo", f->undo.steps.n);
	check_closed(f);
}

/*
 * The most rules that a plan may hold; blinding makes the program too long for the kernel at two
 * thousand.
 */
static size_t most_rules(void)
{
	_cleanup_fd_ int fd = open("/proc/sys/net/core/bpf_jit_harden", O_RDONLY | O_CLOEXEC);
	char harden = '0';

	(void)!read(fd, &harden, 1);
	return harden == '2' ? 2000 : LIMIT_EDITS;
}

/* The verifier must be able to follow that many. */
static void check_many(struct fixture *f, uint32_t majors)
{
	const size_t n = most_rules();
	struct device_rule *rules = arena_alloc_array(&f->arena, n, sizeof(*rules));

	for (uint32_t i = 0; i < n; i++)
		rules[i] = (struct device_rule){.type = i % 3 ? 'c' : 'b',
						.major = 200 + i % majors,
						.minor = i,
						.access = 1 + i % 7};
	rules[n - 2] = two_rules[0];
	rules[n - 1] = two_rules[1];
	check_done(f, allow(f, rules, n));
	check_open(f);
}

static void case_v2_many_minors(struct fixture *f)
{
	limit(f);
	check_many(f, 1);
}

static void case_v2_many_majors(struct fixture *f)
{
	limit(f);
	check_many(f, 3000);
}

/* ---- Running them ---- */

#define BOTH (1 << V1 | 1 << V2)

/* v1 takes a new list for a cgroup only as long as there is none below it. */
static const char *const forbids_fuse[] = {"c 1:3 rwm", "c 1:11 r", NULL};
/* ---- systemd ---- */

enum talk { TALK_ANSWER, TALK_HANG, TALK_REFUSE, TALK_REJECT, TALK_HANG_UP, TALK_BABBLE };

/* What the one who plays systemd has heard; shared with him. */
static struct heard {
	unsigned calls;
	size_t n;
	char bytes[8192];
} * heard;

#define UNIT_DIR "/run/systemd/transient"

static void write_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write %s", path);
}

/* A reply to call `serial`, as systemd sends it; with `error` a refusal. */
static void send_reply(int fd, uint8_t serial, bool error)
{
	const uint8_t ok[] = {'l', 2, 1, 1, 0, 0, 0,   0, 9,      0, 0, 0,
			      8,   0, 0, 0, 5, 1, 'u', 0, serial, 0, 0, 0};
	const uint8_t refusal[] = {
		'l', 3, 1,   1, 8,      0,   0,   0, 9,   0,   0,   0, 31, 0, 0, 0, /* head */
		5,   1, 'u', 0, serial, 0,   0,   0,                                /* reply to */
		4,   1, 's', 0, 3,      0,   0,   0, 'a', '.', 'b', 0, 0,  0, 0, 0, /* name */
		8,   1, 'g', 0, 1,      's', 0,   0, /* the body's type */
		3,   0, 0,   0, 'n',    'o', '!', 0};

	(void)!write(fd, error ? refusal : ok, error ? sizeof(refusal) : sizeof(ok));
}

static bool has_heard(const char *word)
{
	return memmem(heard->bytes, heard->n, word, strlen(word));
}

static void talk_once(int fd, enum talk talk)
{
	static const char babble[] = "OK 00\r\nx this is no message at all";

	heard->n = 0;
	if (talk == TALK_HANG_UP)
		return;
	while (!has_heard("Ping")) {
		ssize_t n = read(fd, heard->bytes + heard->n, sizeof(heard->bytes) - heard->n);
		if (n <= 0)
			return;
		heard->n += (size_t)n;
	}
	heard->calls++;
	if (talk == TALK_HANG)
		pause();
	if (talk == TALK_REJECT) {
		(void)!write(fd, "REJECTED EXTERNAL\r\n", 19);
		return;
	}
	if (talk == TALK_BABBLE) {
		(void)!write(fd, babble, sizeof(babble) - 1);
		return;
	}
	/* In two pieces: an answer may come in any. */
	(void)!write(fd, "OK 0123456789ab", 15);
	usleep(1000);
	(void)!write(fd, "cdef\r\n", 6);
	send_reply(fd, 1, talk == TALK_REFUSE);
	send_reply(fd, 2, false);
}

/* A process that listens where systemd would. It lives as long as the case. */
static void play_systemd(enum talk talk)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/private"};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		     listen(listener, 8) == 0,
	     "listen at %s", address.sun_path);
	const pid_t parent = getpid();
	if (clone_process(0) == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		for (;;) {
			int fd = accept(listener, NULL, NULL);
			talk_once(fd, talk);
			close(fd);
		}
	}
	close(listener);
}

/* A scope around the container, with such a unit file. */
static void make_unit(const char *settings)
{
	char path[PATH_MAX], text[1024];

	must(mount("tmpfs", "/run/systemd", "tmpfs", 0, "mode=0755") == 0, "mount a tmpfs");
	must(mkdir(UNIT_DIR, 0755) == 0, "mkdir %s", UNIT_DIR);
	snprintf(path, sizeof(path), UNIT_DIR "/%s", parent_name);
	snprintf(text, sizeof(text), "# This is a transient unit file.\n[Scope]\nSlice=x.slice\n%s",
		 settings);
	write_file(path, text);
	heard = mmap(NULL, sizeof(*heard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	must(heard != MAP_FAILED, "mmap");
}

static const char strict[] = "DevicePolicy=strict\nDeviceAllow=/dev/char/1:3 rwm\n";

/* The runtime's limit on the container's cgroup, and systemd's on the scope. */
static void limit_as_systemd(struct fixture *f)
{
	limit(f);
	if (f->version == V1)
		return;
	_cleanup_fd_ int fd = load_named(null_only, COUNT(null_only), "sd_devices");
	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
}

/* Whether the scope's program is systemd's own still. */
static bool is_systemds_there(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
	struct bpf_prog_info info = {0};
	union bpf_attr attr;

	if (query(f->parent_fd, ids, &flags) != 1)
		return false;
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = ids[0];
	_cleanup_fd_ int fd =
		(int)__real_syscall(SYS_bpf, (long)BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	must(__real_syscall(SYS_bpf, (long)BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0,
	     "info");
	return strcmp(info.name, "sd_devices") == 0;
}

static void case_systemd_told(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_ANSWER);
	limit_as_systemd(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(heard->calls == 1, "%u calls", heard->calls);
	check(has_heard("SetUnitProperties") && has_heard(parent_name), "no such call");
	check(has_heard("/dev/char/10:229") && has_heard("/dev/char/1:11"), "not all devices");
	check(!has_heard("/dev/char/1:3"), "the whole list");
	check(!has_note(f, "systemd"), "a warning");
	if (f->version == V2)
		check(is_systemds_there(f), "systemd's program was changed");
	else
		check_open(f);
	check(f->undo.steps.n > 1, "%zu steps to undo", f->undo.steps.n);

	/* Taken back: the list as it was, and nothing of ours in it. */
	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo fails");
	check(heard->calls == 2 && has_heard("/dev/char/1:3"), "the old list is not set again");
	check(!has_heard("/dev/char/10:229"), "ours is in the old list");
	check_closed(f);
}

static void case_systemd_knows(struct fixture *f)
{
	char path[PATH_MAX];

	make_unit(strict);
	snprintf(path, sizeof(path), UNIT_DIR "/%s.d", parent_name);
	must(mkdir(path, 0755) == 0, "mkdir");
	snprintf(path, sizeof(path), UNIT_DIR "/%s.d/50-DeviceAllow.conf", parent_name);
	write_file(path, "[Scope]\nDeviceAllow=\nDeviceAllow=/dev/char/1:3 rwm\n"
			 "DeviceAllow=/dev/char/1:11 r\nDeviceAllow=/dev/char/10:229 rwm\n");
	play_systemd(TALK_ANSWER);
	limit_as_systemd(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(heard->calls == 0, "%u calls", heard->calls);
	if (f->version == V2)
		check(is_systemds_there(f), "systemd's program was changed");
}

/* A first entry would take all other devices away. */
static void case_systemd_no_list(struct fixture *f)
{
	make_unit("DevicePolicy=auto\n");
	play_systemd(TALK_ANSWER);
	limit(f);
	check_whole_round(f);
	check(heard->calls == 0, "%u calls", heard->calls);
	check(!has_note(f, "daemon-reload"), "a warning");
}

static void case_systemd_shared(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_ANSWER);
	limit(f);
	move_to(f->parent_fd, spawn(0, 0));
	check_whole_round(f);
	check(heard->calls == 0, "%u calls", heard->calls);
}

/* The devices open all the same, and the warning has `words` and says until when. */
static void check_untold(struct fixture *f, const char *words)
{
	limit_as_systemd(f);
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(has_note(f, words), "no note \"%s\"", words);
	check(has_note(f, "from the next systemctl daemon-reload or change of the unit on"),
	      "until when?");
	if (f->version == V2)
		check(!is_systemds_there(f), "systemd's program was not changed");
	undo_to(&f->undo, 0, &f->err);
	check_closed(f);
}

static void case_systemd_absent(struct fixture *f)
{
	make_unit(strict);
	check_untold(f, "systemd: connect to /run/systemd/private: No such file or directory");
}

static void case_systemd_hangs(struct fixture *f)
{
	struct timespec from, to;

	make_unit(strict);
	play_systemd(TALK_HANG);
	clock_gettime(CLOCK_MONOTONIC, &from);
	check_untold(f, "systemd: no answer within 1000 ms");
	clock_gettime(CLOCK_MONOTONIC, &to);
	check(to.tv_sec - from.tv_sec < 5, "%ld seconds", (long)(to.tv_sec - from.tv_sec));
}

static void case_systemd_refuses(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_REFUSE);
	check_untold(f, "systemd: it refuses: no!");
}

static void case_systemd_rejects(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_REJECT);
	check_untold(f, "systemd: it does not let us in");
}

static void case_systemd_hangs_up(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_HANG_UP);
	check_untold(f, "systemd: ");
}

static void case_systemd_babbles(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_BABBLE);
	check_untold(f, "systemd: its answer is no D-Bus message");
}

static void case_systemd_bad_unit(struct fixture *f)
{
	make_unit("this is no setting\n");
	play_systemd(TALK_ANSWER);
	check_untold(f, "line 4: no setting of a unit file");
	check(heard->calls == 0, "%u calls", heard->calls);
}

static uint32_t pinned_id(const char *path)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	_cleanup_fd_ int fd = (int)__real_syscall(SYS_bpf, (long)BPF_OBJ_GET, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	must(__real_syscall(SYS_bpf, (long)BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0,
	     "pinned program");
	return info.id;
}

/* As crun from 1.23 on has it: one program, on the scope, which systemd attaches from its pin. */
static void case_systemd_pinned(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
	char settings[PATH_MAX + 64], path[PATH_MAX];
	union bpf_attr attr;

	snprintf(path, sizeof(path), "%s/bpf", top);
	must(mkdir(path, 0700) == 0 && mount("bpf", path, "bpf", 0, NULL) == 0, "mount bpf");
	snprintf(path, sizeof(path), "%s/bpf/crun_scope", top);
	snprintf(settings, sizeof(settings), "BPFProgram=device:%s\n", path);
	make_unit(settings);
	_cleanup_fd_ int fd = load(null_only, COUNT(null_only));
	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	attr.bpf_fd = (uint32_t)fd;
	must(__real_syscall(SYS_bpf, (long)BPF_OBJ_PIN, &attr, sizeof(attr)) == 0, "pin");
	const uint32_t old = pinned_id(path);

	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(query(f->parent_fd, ids, &flags) == 1 && ids[0] != old, "not replaced");
	check(pinned_id(path) == ids[0], "pinned is another one than attached");
	const size_t steps = f->undo.steps.n;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(f->undo.steps.n == steps && pinned_id(path) == ids[0],
	      "the second time changed something");
	undo_to(&f->undo, 0, &f->err);
	check(pinned_id(path) == old, "the old one is not pinned again");
	check_closed(f);
}

static const char *const splits_fuse[] = {"c 1:* rwm", "c 10:229 rw", "c *:* m", NULL};

static const struct test_case {
	const char *name;
	unsigned versions;
	void (*run)(struct fixture *f);
	const char *const *parent_lines; /* of the cgroup above the container's */
	unsigned long namespaces;        /* the container's own; 0: pid */
} cases[] = {
	{"allow, twice, undo", BOTH, case_round},
	{"allow and keep", BOTH, case_keep},
	{"without openat2", BOTH, case_old_openat},
	{"no rules", BOTH, case_no_rules},
	{"a stranger in the cgroup", BOTH, case_stranger},
	{"another container in the cgroup", BOTH, case_other_container},
	{"a stranger in a cgroup below", BOTH, case_stranger_below},
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
	{"a mount over a cgroup file", BOTH, case_mounted_over},
	{"everything allowed", 1 << V1, case_v1_everything},
	{"entries that are partly there", 1 << V1, case_v1_partly_there},
	{"a parent that forbids", 1 << V1, case_v1_forbidden_above, forbids_fuse},
	{"a parent with split entries", 1 << V1, case_v1_split_above, splits_fuse},
	{"not mounted", 1 << V1, case_v1_not_mounted},
	{"no program", 1 << V2, case_v2_no_program},
	{"several programs", 1 << V2, case_v2_several},
	{"granted by the runtime", 1 << V2, case_v2_granted},
	{"flags: override", 1 << V2, case_v2_override},
	{"flags: none", 1 << V2, case_v2_exclusive},
	{"more rules later", 1 << V2, case_v2_more_rules_later},
	{"without BPF_F_REPLACE", 1 << V2, case_v2_no_replace},
	{"memory that is counted", 1 << V2, case_v2_memory},
	{"a kernel without device programs", 1 << V2, case_v2_kernel_without},
	{"hidden instructions", 1 << V2, case_v2_hidden},
	{"hidden, made anew", 1 << V2, case_v2_hidden_anew},
	{"hidden, granted already", 1 << V2, case_v2_hidden_granted},
	{"hidden after a first run", 1 << V2, case_v2_hidden_later},
	{"hidden, and not alone", 1 << V2, case_v2_hidden_two},
	{"hidden, and a stranger's", 1 << V2, case_v2_hidden_stranger},
	{"hidden, with an earlier run's rules", 1 << V2, case_v2_hidden_other_rules},
	{"hidden, with an odd config.json", 1 << V2, case_v2_hidden_odd_config},
	{"a program that changes meanwhile", 1 << V2, case_v2_changed_meanwhile},
	{"a program that never stops changing", 1 << V2, case_v2_never_still},
	{"a program with a call", 1 << V2, case_v2_calls},
	{"a bpf_link", 1 << V2, case_v2_link},
	{"an ancestor with a program", 1 << V2, case_v2_ancestor},
	{"an ancestor with the only program", 1 << V2, case_v2_ancestor_alone},
	{"an ancestor with a program, and others in it", 1 << V2, case_v2_ancestor_shared},
	{"systemd: told, its own program is left to it", BOTH, case_systemd_told},
	{"systemd: it knows the devices already", BOTH, case_systemd_knows},
	{"systemd: a unit without a list", BOTH, case_systemd_no_list},
	{"systemd: a unit that is not the container's alone", BOTH, case_systemd_shared},
	{"systemd: not there", BOTH, case_systemd_absent},
	{"systemd: does not answer", BOTH, case_systemd_hangs},
	{"systemd: refuses", BOTH, case_systemd_refuses},
	{"systemd: does not let us in", BOTH, case_systemd_rejects},
	{"systemd: hangs up", BOTH, case_systemd_hangs_up},
	{"systemd: says something else", BOTH, case_systemd_babbles},
	{"systemd: a unit file that is none", BOTH, case_systemd_bad_unit},
	{"systemd: a pinned program", 1 << V2, case_systemd_pinned},
	{"as many rules as can be, one major", 1 << V2, case_v2_many_minors},
	{"as many rules as can be, many majors", 1 << V2, case_v2_many_majors},
};

static int open_cgroup(int version, const char *path)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s/%s", mounted[version], parent_name, path);
	must(mkdir(whole, 0755) == 0, "mkdir %s", whole);
	int fd = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0, "open %s", whole);
	return fd;
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	must(dir, "list descriptors");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void start_container(struct fixture *f, unsigned long namespaces)
{
	int sockets[2];

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0, "socketpair");
	f->pid = clone_process(namespaces ? namespaces : CLONE_NEWPID);
	if (f->pid == 0) {
		close(sockets[0]);
		serve(sockets[1]);
	}
	close(sockets[1]);
	f->socket = sockets[0];
	move_to(f->leaf_fd, f->pid);
}

/* The process of one case. */
__attribute__((noreturn)) static void run_inside(const struct test_case *test, int version)
{
	struct fixture f = {.version = version};

	must(pipe2(life, O_CLOEXEC) == 0, "pipe");
	must(unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
	     "unshare");
	must(mount("tmpfs", top, "tmpfs", 0, "mode=0755") == 0 && chdir(top) == 0, "mount a tmpfs");
	umask(0);
	for (size_t i = 0; i < COUNT(nodes); i++)
		must(mknod(nodes[i].name, S_IFCHR | 0666,
			   makedev(nodes[i].major, nodes[i].minor)) == 0,
		     "mknod");
	arena_init(&f.arena, LIMIT_MEMORY);
	f.notes.arena = f.undo.arena = &f.arena;
	current = &f;
	kernel.swap = swap;
	f.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	f.parent_fd = open_cgroup(version, "");
	if (test->parent_lines)
		limit_v1(f.parent_fd, test->parent_lines);
	f.leaf_fd = open_cgroup(version, "leaf");
	start_container(&f, test->namespaces);

	size_t fds = count_fds();
	test->run(&f);
	undo_to(&f.undo, 0, &f.err);
	check(count_fds() == fds, "%zu descriptors instead of %zu", count_fds(), fds);
	arena_done(&f.arena);
	fflush(stdout);
	_exit(checks_failed ? 1 : 0);
}

/* Ends what is left in a cgroup and removes it. */
static void remove_cgroup(int version, const char *path)
{
	char whole[PATH_MAX], procs[PATH_MAX];
	int pid;

	snprintf(whole, sizeof(whole), "%s/%s/%s", mounted[version], parent_name, path);
	if (access(whole, F_OK) < 0)
		return;
	snprintf(procs, sizeof(procs), "%s/%s/%s/cgroup.procs", mounted[version], parent_name,
		 path);
	for (int i = 0; i < 100 && rmdir(whole) < 0; i++) {
		FILE *file = fopen(procs, "re");
		while (file && fscanf(file, "%d", &pid) == 1)
			kill(pid, SIGKILL);
		if (file)
			fclose(file);
		usleep(10000);
	}
	check(access(whole, F_OK) < 0, "%s is left behind", whole);
}

static bool run_case(const struct test_case *test, int version)
{
	int status = -1;
	pid_t pid = fork();

	checks_failed = 0;
	if (pid == 0)
		run_inside(test, version);
	must(waitpid(pid, &status, 0) == pid, "wait");
	check(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	remove_cgroup(version, "leaf/below");
	remove_cgroup(version, "leaf");
	remove_cgroup(version, "");
	return checks_failed == 0 && status == 0;
}

static const char *find_hierarchy(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == magic ? path : NULL;
}

static unsigned run_all(void)
{
	unsigned n = 0, failed = 0;

	for (size_t i = 0; i < COUNT(cases); i++)
		for (int version = V1; version <= V2; version++) {
			if (!(cases[i].versions & 1u << version))
				continue;
			if (!mounted[version]) {
				printf("ok %u - v%d: %s # SKIP no such cgroup hierarchy here\n",
				       ++n, version + 1, cases[i].name);
				continue;
			}
			bool ok = run_case(&cases[i], version);
			printf("%s %u - v%d: %s\n", ok ? "ok" : "not ok", ++n, version + 1,
			       cases[i].name);
			fflush(stdout);
			failed += !ok;
		}
	printf("1..%u\n", n);
	return failed;
}

int main(void)
{
	if (geteuid() != 0) {
		printf("needs root\n");
		return 77;
	}
	snprintf(parent_name, sizeof(parent_name), "oci-cdi-hook-cgroup-%d.scope", getpid());
	/* Something to mount on, where systemd does not run. */
	const bool made = mkdir("/run/systemd", 0755) == 0;
	mounted[V1] = find_hierarchy("/sys/fs/cgroup/devices", CGROUP_SUPER_MAGIC);
	mounted[V2] = find_hierarchy("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC);
	if (!mounted[V2])
		mounted[V2] = find_hierarchy("/sys/fs/cgroup/unified", CGROUP2_SUPER_MAGIC);
	must(mkdtemp(top), "mkdtemp");
	unsigned failed = run_all();
	must(rmdir(top) == 0, "rmdir %s", top);
	must(!made || rmdir("/run/systemd") == 0, "rmdir /run/systemd");
	return failed ? 1 : 0;
}
