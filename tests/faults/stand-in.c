/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook that leaves something behind, for faults.py --self-test: it runs the real one and, when that
 * fails, does one thing that a good hook never does. The harness has to see each of them.
 *
 *   stand-in WHAT ROOT PID HOST V1|- V2|- HOOK [ARGUMENT]...
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *root, *pid, *host, *v1, *v2;

static void must(long r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "stand-in: %s: %s\n", what, strerror(errno));
	_exit(99);
}

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
	static char buffers[4][PATH_MAX];
	static unsigned next;
	char *buffer = buffers[next++ % 4];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buffer, PATH_MAX, fmt, args);
	va_end(args);
	return buffer;
}

static const char *inside(const char *path)
{
	return text("/proc/%s/root%s/%s", pid, root, path);
}

static void write_to(const char *path, int flags, const char *words)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);

	must(fd, path);
	must(write(fd, words, strlen(words)), path);
	close(fd);
}

static void leave_mount(void)
{
	int fd = open(text("/proc/%s/ns/mnt", pid), O_RDONLY | O_CLOEXEC);

	must(fd, "open the namespace");
	must(setns(fd, CLONE_NEWNS), "enter the namespace");
	must(mount("tmpfs", text("%s/opt", root), "tmpfs", 0, NULL), "mount");
}

/* A program that allows all: beside the runtime's own it changes nothing but the list. */
static void leave_program(void)
{
	const struct bpf_insn insns[] = {
		{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1},
		{BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	must(fd, "load");
	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)open(v2, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	attr.attach_bpf_fd = (uint32_t)fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	must(syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof(attr)), "attach");
}

static void leave_process(void)
{
	pid_t child = fork();

	must(child, "fork");
	if (child == 0)
		for (;;)
			pause();
}

static void leave(const char *what)
{
	if (strcmp(what, "file") == 0)
		write_to(inside("etc/left"), O_CREAT, "");
	else if (strcmp(what, "content") == 0)
		write_to(inside("etc/passwd"), 0, "R");
	else if (strcmp(what, "mode") == 0)
		must(chmod(inside("etc/passwd"), 0666), "chmod");
	else if (strcmp(what, "owner") == 0)
		must(chown(inside("etc/passwd"), 1, 0), "chown");
	else if (strcmp(what, "directory") == 0)
		must(mkdir(inside("opt/left"), 0755), "mkdir");
	else if (strcmp(what, "node") == 0)
		must(mknod(inside("dev/left"), S_IFCHR | 0600, makedev(1, 3)), "mknod");
	else if (strcmp(what, "link") == 0)
		must(symlink("passwd", inside("etc/left")), "symlink");
	else if (strcmp(what, "mount") == 0)
		leave_mount();
	else if (strcmp(what, "rule") == 0)
		write_to(text("%s/devices.allow", v1), 0, "c 10:229 rw");
	else if (strcmp(what, "program") == 0)
		leave_program();
	else if (strcmp(what, "host-file") == 0)
		write_to(text("%s/left", host), O_CREAT, "");
	else if (strcmp(what, "host-mount") == 0)
		must(mount("tmpfs", host, "tmpfs", 0, NULL), "mount");
	else if (strcmp(what, "process") == 0)
		leave_process();
	else if (strcmp(what, "hang") == 0)
		for (;;)
			pause();
}

int main(int argc, char **argv)
{
	int status, null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t child;

	if (argc < 8)
		return 99;
	const char *what = argv[1];
	root = argv[2];
	pid = argv[3];
	host = argv[4];
	v1 = argv[5];
	v2 = argv[6];
	child = fork();
	must(child, "fork");
	if (child == 0) {
		if (strcmp(what, "silence") == 0)
			must(dup2(null_fd, STDERR_FILENO), "dup2");
		execv(argv[7], argv + 7);
		_exit(99);
	}
	must(waitpid(child, &status, 0), "wait");
	if (status == 0)
		return 0;
	leave(what);
	if (strcmp(what, "lie") == 0)
		return 0;
	if (strcmp(what, "crash") == 0)
		(void)kill(getpid(), SIGSEGV);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
