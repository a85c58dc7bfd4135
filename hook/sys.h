/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* System calls that the C library of Debian 12 has no function for. Their numbers are the same on
 * all architectures. */
#include <errno.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

/* openat2(2), Linux 5.6: the only call that resolves a path inside a root that is a file
 * descriptor. */
static inline int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode,
			      uint64_t resolve)
{
	struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

/* faccessat2(2), Linux 5.8: asks of a descriptor itself, and by the rights that we act with. */
static inline int sys_faccessat2(int dirfd, const char *path, int mode, int flags)
{
	return (int)syscall(SYS_faccessat2, dirfd, path, mode, flags);
}

/* fchmodat2(2): the only chmod that works on an O_PATH descriptor, with AT_EMPTY_PATH. */
static inline int sys_fchmodat2(int dirfd, const char *path, mode_t mode, int flags)
{
	return (int)syscall(SYS_fchmodat2, dirfd, path, mode, flags);
}

/*
 * clone3(2), Linux 5.3, as a fork() that also returns a pidfd (close-on-exec): a child is never
 * without one. `flags` are CLONE_NEW*. We have one thread, so the child may go on like after fork().
 */
static inline pid_t sys_fork_pidfd(uint64_t flags, int *ret_pid_fd)
{
	const struct clone_args args = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pid_fd,
		.exit_signal = SIGCHLD,
	};

	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	/* A seccomp filter older than clone3 says so: clone(2) hands out a pidfd too. */
	if (pid < 0 && errno == ENOSYS)
		pid = (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, 0L, ret_pid_fd, 0L,
				     0L);
	return pid;
}

/*
 * Whether the process of a pidfd has not been waited for: until then its number is no other's. EPERM
 * proves that as well: it is there, and we have no right to signal it. errno says what is wrong.
 */
static inline bool sys_pidfd_is_there(int pid_fd)
{
	return pidfd_send_signal(pid_fd, 0, NULL, 0) == 0 || errno == EPERM;
}
