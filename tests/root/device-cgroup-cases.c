/* SPDX-License-Identifier: Apache-2.0 */
/* See device-cgroup-cases.h: what the tests of device cgroups share. */
#include "device-cgroup-cases.h"

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

static unsigned checks_failed;

bool check(bool ok, const char *fmt, ...)
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
void must(bool ok, const char *fmt, ...)
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

struct kernel kernel;

long __wrap_syscall(long number, ...);

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

/* Only a case's own process holds the writing end: a reader sees its end, however that comes. */
static int life[2];

pid_t clone_process(unsigned long namespaces)
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
pid_t spawn(unsigned long namespaces, unsigned lifetime_ms)
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

const struct device_rule two_rules[] = {
	{.type = 'c', .major = 10, .minor = 229, .access = RWM},
	{.type = 'c', .major = 1, .minor = 11, .access = DEVICE_READ},
};

char top[] = "/run/oci-cdi-hook-cgroup-XXXXXX";
char parent_name[NAME_MAX]; /* of the cgroup below a hierarchy's root that holds all of a case */
const char *mounted[2];     /* where the hierarchy is; NULL: this machine has none */
static struct fixture *current; /* for kernel.swap */

static const struct {
	const char *name;
	unsigned major, minor;
} nodes[] = {{"null", 1, 3}, {"kmsg", 1, 11}, {"fuse", 10, 229}, {"loop-control", 10, 237}};

static void write_at(int dirfd, const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dirfd, file, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) >= 0, "write %s to %s", text, file);
}

void move_to(int cgroup_fd, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	write_at(cgroup_fd, "cgroup.procs", text);
}

int ask(const struct fixture *f, const struct question *question)
{
	int result = -1;

	must(write(f->socket, question, sizeof(*question)) == sizeof(*question),
	     "ask the container");
	must(read(f->socket, &result, sizeof(result)) == sizeof(result), "hear from the container");
	return result;
}

bool may_open(const struct fixture *f, const char *node, int flags)
{
	struct question question = {.what = ASK_OPEN, .flags = flags};

	snprintf(question.path, sizeof(question.path), "%s/%s", top, node);
	/* Whether a driver is behind the node is of no interest. */
	return ask(f, &question) != EPERM;
}

bool may_mknod(const struct fixture *f, unsigned major, unsigned minor)
{
	struct question question = {.what = ASK_MKNOD, .device = makedev(major, minor)};

	snprintf(question.path, sizeof(question.path), "%s/new", top);
	return ask(f, &question) == 0;
}

int allow_for(struct fixture *f, pid_t pid, const struct device_rule *rules, size_t n_rules)
{
	struct device_cgroup_target target = {
		.arena = &f->arena,
		.proc_fd = f->proc_fd,
		.pid = pid,
		.pid_fd = -1,
		.notes = &f->notes,
		.devices = f->devices,
		.inside = f->inside,
	};

	f->err = (struct error){0};
	return device_cgroup_allow(&target, rules, n_rules, &f->undo, &f->err);
}

int allow(struct fixture *f, const struct device_rule *rules, size_t n_rules)
{
	return allow_for(f, f->pid, rules, n_rules);
}

void check_done(struct fixture *f, int r)
{
	char text[ERROR_TEXT_MAX];

	check(r == 0, "returned %d: %s", r, error_text(&f->err, text));
	check(!error_is_set(&f->err), "success with a sentence: %s", error_text(&f->err, text));
}

/* Failed as a device cgroup does, with a sentence that has all of `words`. */
void check_refused(struct fixture *f, int r, const char *words)
{
	char text[ERROR_TEXT_MAX];

	check(r < 0, "not refused");
	check(f->err.exit_code == EXIT_CODE_CGROUP, "exit code %d", (int)f->err.exit_code);
	check(strstr(error_text(&f->err, text), words), "sentence \"%s\" without \"%s\"", text,
	      words);
}

bool has_note(const struct fixture *f, const char *words)
{
	for (size_t i = 0; i < f->notes.list.n; i++)
		if (strstr(f->notes.list.items[i].text, words))
			return true;
	return false;
}

/* ---- BPF programs as a runtime loads them ---- */

/* clang-format off */
/* /dev/null and nothing else. */
const struct bpf_insn null_only[] = {
	LDXW(2, 4), JNE(2, 1, 4), LDXW(2, 8), JNE(2, 3, 2), MOV(0, 1), EXIT(), MOV(0, 0), EXIT(),
};
/* clang-format on */

int load_named(const struct bpf_insn *insns, size_t n, const char *name)
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

int load(const struct bpf_insn *insns, size_t n)
{
	return load_named(insns, n, "");
}

void attach(int cgroup_fd, int program_fd, uint32_t flags, int replaced)
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

void detach(int cgroup_fd, int program_fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup_fd;
	attr.attach_bpf_fd = (uint32_t)program_fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	must(__real_syscall(SYS_bpf, (long)BPF_PROG_DETACH, &attr, sizeof(attr)) == 0,
	     "detach a program");
}

void limit_v2_named(int cgroup_fd, uint32_t flags, const char *name)
{
	_cleanup_fd_ int fd = load_named(null_only, COUNT(null_only), name);

	attach(cgroup_fd, fd, flags, -1);
}

void limit_v2(int cgroup_fd, uint32_t flags)
{
	limit_v2_named(cgroup_fd, flags, "");
}

int link_v2(int cgroup_fd)
{
	_cleanup_fd_ int program = load(null_only, COUNT(null_only));
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)program;
	attr.link_create.target_fd = (uint32_t)cgroup_fd;
	attr.link_create.attach_type = BPF_CGROUP_DEVICE;
	int fd = (int)__real_syscall(SYS_bpf, (long)BPF_LINK_CREATE, &attr, sizeof(attr));
	must(fd >= 0, "create a link");
	return fd;
}

uint32_t query(int cgroup_fd, uint32_t ids[static LIMIT_BPF_PROGRAMS], uint32_t *ret_flags)
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

int open_program(uint32_t id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	int fd = (int)__real_syscall(SYS_bpf, (long)BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	must(fd >= 0, "open program %u", id);
	return fd;
}

/* Another runtime is faster: a fresh program in the place of the first one. */
static void swap(void)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;

	must(query(current->leaf_fd, ids, &flags) > 0, "no program to swap");
	_cleanup_fd_ int old = open_program(ids[0]);
	_cleanup_fd_ int new = load(null_only, COUNT(null_only));
	attach(current->leaf_fd, new, flags, old);
}

/* ---- What limits the container ---- */

void limit_v1(int cgroup_fd, const char *const *lines)
{
	write_at(cgroup_fd, "devices.deny", "a");
	for (; *lines; lines++)
		write_at(cgroup_fd, "devices.allow", *lines);
}

/* /dev/null alone, in either version. */
void limit(struct fixture *f)
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
const char *state_of(struct fixture *f)
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

void check_state(struct fixture *f, const char *expected, const char *when)
{
	const char *state = state_of(f);

	check(strcmp(state, expected) == 0, "%s: \"%s\" instead of \"%s\"", when, state, expected);
}

void check_undo(struct fixture *f, const char *before)
{
	char text[ERROR_TEXT_MAX];

	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo: %s", error_text(&f->err, text));
	check_state(f, before, "after undo");
}

/* The two rules hold and nothing else became open. */
void check_open(struct fixture *f)
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

void check_closed(struct fixture *f)
{
	check(may_open(f, "null", O_RDWR), "null is closed");
	check(!may_open(f, "fuse", O_RDONLY), "fuse is open");
	check(!may_open(f, "kmsg", O_RDONLY), "kmsg is open");
}

/* All of it on a cgroup that is limited: allow, twice, and back. */
void check_whole_round(struct fixture *f)
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

/* ---- Running them ---- */

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
	for (int i = 0; i < 1000 && rmdir(whole) < 0; i++) {
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

	snprintf(parent_name, sizeof(parent_name), "oci-cdi-hook-cgroup-%d%s", getpid(),
		 test->parent_suffix ?: ".scope");
	pid_t pid = fork();
	checks_failed = 0;
	if (pid == 0)
		run_inside(test, version);
	must(waitpid(pid, &status, 0) == pid, "wait");
	check(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	remove_cgroup(version, "leaf/below");
	remove_cgroup(version, "inner.slice/leaf");
	remove_cgroup(version, "inner.slice");
	remove_cgroup(version, "leaf");
	remove_cgroup(version, "");
	return checks_failed == 0 && status == 0;
}

static const char *find_hierarchy(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == magic ? path : NULL;
}

static unsigned run_all(const struct test_case *cases, size_t n_cases)
{
	unsigned n = 0, failed = 0;

	for (size_t i = 0; i < n_cases; i++)
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

int run_cases(const struct test_case *cases, size_t n_cases)
{
	if (geteuid() != 0) {
		printf("needs root\n");
		return 77;
	}
	/* Something to mount on, where systemd does not run. */
	const bool made = mkdir("/run/systemd", 0755) == 0;
	mounted[V1] = find_hierarchy("/sys/fs/cgroup/devices", CGROUP_SUPER_MAGIC);
	mounted[V2] = find_hierarchy("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC);
	if (!mounted[V2])
		mounted[V2] = find_hierarchy("/sys/fs/cgroup/unified", CGROUP2_SUPER_MAGIC);
	must(mkdtemp(top), "mkdtemp");
	unsigned failed = run_all(cases, n_cases);
	must(rmdir(top) == 0, "rmdir %s", top);
	must(!made || rmdir("/run/systemd") == 0, "rmdir /run/systemd");
	return failed ? 1 : 0;
}
