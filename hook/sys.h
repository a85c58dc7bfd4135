/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* System calls that the C library of Debian 12 has no function for. Their numbers are the same on
 * all architectures. */
#include <errno.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* fchmodat2(2): the only chmod that works on an O_PATH descriptor, with AT_EMPTY_PATH. */
static inline int sys_fchmodat2(int dirfd, const char *path, mode_t mode, int flags)
{
	return (int)syscall(SYS_fchmodat2, dirfd, path, mode, flags);
}
