/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container as a runtime leaves it when createRuntime hooks run, without a runtime: a process in
 * mount and pid namespaces of its own, in cgroups that limit its devices, with its root bound onto
 * itself, a tmpfs on /dev and a procfs, and nothing pivoted yet.
 *
 *   container ROOT V1|- V2|- USER own|host
 *
 * V1 and V2 are directories of cgroups, which must be fresh; USER other than 0 is the root of a user namespace of the container's
 * own; the network is its own or the host's.
 *
 * Prints the process's number when all is done. Then it answers each line on stdin with a line: the
 * device programs of V2 as ID:TAG (the tag is a digest of the instructions) and how they are
 * attached. The end of stdin is the end of the container.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_PROGRAMS 64

static void must(long r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "container: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/*
 * Limits. The rules are those that every runtime gives: its own default devices, and mknod of any.
 */

static const struct rule {
	char type;
	int major, minor; /* -1: all */
	const char *access;
} rules[] = {
	{'c', -1, -1, "m"}, {'b', -1, -1, "m"},    {'c', 1, 3, "rwm"}, {'c', 1, 5, "rwm"},
	{'c', 1, 7, "rwm"}, {'c', 1, 8, "rwm"},    {'c', 1, 9, "rwm"}, {'c', 5, 0, "rwm"},
	{'c', 5, 2, "rwm"}, {'c', 136, -1, "rwm"},
};

/* One write for each line, as the kernel wants it. */
static void write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd, path);
	must(write(fd, text, strlen(text)), path);
	close(fd);
}

static const char *number_or_star(char text[static 16], int number)
{
	if (number < 0)
		return "*";
	snprintf(text, 16, "%d", number);
	return text;
}

static void limit_v1(const char *dir)
{
	char line[64], major[16], minor[16];

	write_file(dir, "devices.deny", "a");
	for (size_t i = 0; i < COUNT(rules); i++) {
		snprintf(line, sizeof(line), "%c %s:%s %s", rules[i].type,
			 number_or_star(major, rules[i].major),
			 number_or_star(minor, rules[i].minor), rules[i].access);
		write_file(dir, "devices.allow", line);
	}
}

static int sys_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* What a device program is asked: R2 type, R3 access, R4 major, R5 minor, loaded once. */
static const struct bpf_insn prologue[] = {
	{BPF_LDX | BPF_MEM | BPF_W, 2, 1, 0, 0}, {BPF_ALU | BPF_AND | BPF_K, 2, 0, 0, 0xffff},
	{BPF_LDX | BPF_MEM | BPF_W, 3, 1, 0, 0}, {BPF_ALU | BPF_RSH | BPF_K, 3, 0, 0, 16},
	{BPF_LDX | BPF_MEM | BPF_W, 4, 1, 4, 0}, {BPF_LDX | BPF_MEM | BPF_W, 5, 1, 8, 0},
};

#define MAX_BLOCK 8

static size_t add_comparison(struct bpf_insn *block, size_t n, unsigned reg, int value)
{
	if (value >= 0)
		block[n++] = (struct bpf_insn){BPF_JMP | BPF_JNE | BPF_K, reg & 0xfU, 0, 0, value};
	return n;
}

/* "If it is this device and no more than this access, allow it", as runtimes write it. */
static size_t add_block(struct bpf_insn *insns, const struct rule *rule)
{
	int forbidden = BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE | BPF_DEVCG_ACC_MKNOD;
	size_t n;

	for (const char *c = rule->access; *c; c++)
		forbidden &= *c == 'r'   ? ~BPF_DEVCG_ACC_READ
			     : *c == 'w' ? ~BPF_DEVCG_ACC_WRITE
					 : ~BPF_DEVCG_ACC_MKNOD;
	n = add_comparison(insns, 0, 2,
			   rule->type == 'c' ? BPF_DEVCG_DEV_CHAR : BPF_DEVCG_DEV_BLOCK);
	if (forbidden)
		insns[n++] = (struct bpf_insn){BPF_JMP | BPF_JSET | BPF_K, 3, 0, 0, forbidden};
	n = add_comparison(insns, n, 4, rule->major);
	n = add_comparison(insns, n, 5, rule->minor);
	/* All of the above lead behind the block when they say no. */
	for (size_t i = 0; i < n; i++)
		insns[i].off = (short)(n + 2 - i - 1);
	insns[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1};
	insns[n++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
	return n;
}

static void limit_v2(int cgroup_fd)
{
	struct bpf_insn insns[COUNT(prologue) + COUNT(rules) * MAX_BLOCK + 2];
	union bpf_attr attr;
	size_t n = COUNT(prologue);
	int fd;

	memcpy(insns, prologue, sizeof(prologue));
	for (size_t i = 0; i < COUNT(rules); i++)
		n += add_block(insns + n, &rules[i]);
	insns[n++] = (struct bpf_insn){BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0};
	insns[n++] = (struct bpf_insn){BPF_JMP | BPF_EXIT, 0, 0, 0, 0};

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (uint32_t)n;
	attr.license = (uintptr_t) "GPL";
	fd = sys_bpf(BPF_PROG_LOAD, &attr);
	must(fd, "load the device program");

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup_fd;
	attr.attach_bpf_fd = (uint32_t)fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	must(sys_bpf(BPF_PROG_ATTACH, &attr), "attach the device program");
	close(fd);
}

static void print_program(uint32_t id)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
	must(fd, "open a device program");
	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	must(sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr), "look at a device program");
	close(fd);
	printf("%u:", id);
	for (size_t i = 0; i < sizeof(info.tag); i++)
		printf("%02x", info.tag[i]);
	printf(" ");
}

static void print_programs(int cgroup_fd)
{
	uint32_t ids[MAX_PROGRAMS] = {0};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)cgroup_fd;
	attr.query.attach_type = BPF_CGROUP_DEVICE;
	attr.query.prog_ids = (uintptr_t)ids;
	attr.query.prog_cnt = MAX_PROGRAMS;
	must(sys_bpf(BPF_PROG_QUERY, &attr), "query device programs");
	for (uint32_t i = 0; i < attr.query.prog_cnt; i++)
		print_program(ids[i]);
	printf("flags %u", attr.query.attach_flags);
}

/*
 * The process
 */

/* In a user namespace nobody can make one: the host's is mounted there. */
static void make_node(const char *dir, const char *name, unsigned minor, bool mounted)
{
	char path[PATH_MAX], source[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!mounted) {
		must(mknod(path, S_IFCHR | 0666, makedev(1, minor)), path);
		return;
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	must(fd, path);
	close(fd);
	snprintf(source, sizeof(source), "/dev/%s", name);
	must(mount(source, path, NULL, MS_BIND, NULL), path);
}

static _Noreturn void contain(const char *root, bool has_users, int go_fd, int ready_fd)
{
	char dev[PATH_MAX], proc[PATH_MAX], byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(dev, sizeof(dev), "%s/dev", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	if (read(go_fd, &byte, 1) != 1) /* it is in its cgroups now */
		_exit(1);
	if (has_users) {
		must(setresgid(0, 0, 0), "become the group of the namespace's root");
		must(setresuid(0, 0, 0), "become the namespace's root");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "make / private");
	must(mount(root, root, NULL, MS_BIND | MS_REC, NULL), "bind the root onto itself");
	must(mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "mount /proc");
	must(mount("tmpfs", dev, "tmpfs", MS_NOSUID | MS_STRICTATIME, "mode=755,size=65536k"),
	     "mount /dev");
	make_node(dev, "null", 3, has_users);
	make_node(dev, "zero", 5, has_users);
	make_node(dev, "full", 7, has_users);
	must(write(ready_fd, "r", 1), "say that it is ready");
	for (;;)
		pause();
}

/* The container's user 0 is `user` outside, and so on. */
static void map_users(pid_t pid, const char *user)
{
	char dir[64], text[64];

	snprintf(dir, sizeof(dir), "/proc/%d", (int)pid);
	snprintf(text, sizeof(text), "0 %s 65536", user);
	write_file(dir, "uid_map", text);
	write_file(dir, "gid_map", text);
}

static void move_to(const char *cgroup, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	write_file(cgroup, "cgroup.procs", text);
}

int main(int argc, char **argv)
{
	int go[2], ready[2], cgroup_fd = -1;
	char line[64], byte;
	const char *v1, *v2;
	pid_t pid;

	if (argc != 6) {
		fprintf(stderr, "usage: container ROOT V1|- V2|- USER own|host\n");
		return 2;
	}
	const bool has_users = strcmp(argv[4], "0") != 0;
	v1 = strcmp(argv[2], "-") == 0 ? NULL : argv[2];
	v2 = strcmp(argv[3], "-") == 0 ? NULL : argv[3];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	umask(0);
	must(pipe2(go, O_CLOEXEC), "pipe");
	must(pipe2(ready, O_CLOEXEC), "pipe");
	pid = (pid_t)syscall(SYS_clone,
			     CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
				     (has_users ? CLONE_NEWUSER : 0) |
				     (strcmp(argv[5], "own") == 0 ? CLONE_NEWNET : 0) | SIGCHLD,
			     0L, 0L, 0L, 0L);
	must(pid, "clone");
	if (pid == 0)
		contain(argv[1], has_users, go[0], ready[1]);
	close(ready[1]);
	if (has_users)
		map_users(pid, argv[4]);

	if (v1) {
		limit_v1(v1);
		move_to(v1, pid);
	}
	if (v2) {
		cgroup_fd = open(v2, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(cgroup_fd, v2);
		limit_v2(cgroup_fd);
		move_to(v2, pid);
	}
	must(write(go[1], "g", 1), "let it go");
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	printf("%d\n", (int)pid);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (cgroup_fd >= 0)
			print_programs(cgroup_fd);
		printf("\n");
		fflush(stdout);
	}
	/* The init of a pid namespace takes all others in it along. */
	must(kill(pid, SIGKILL), "kill");
	must(waitpid(pid, NULL, 0), "wait");
	return 0;
}
