/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silent-old-kernel CALL[,CALL]... PROGRAM [ARGUMENT]...
 *
 * Runs PROGRAM, by its path, as on a kernel that lacks these system calls: a seccomp filter answers
 * ENOSYS to them, in PROGRAM and in all that it starts.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	char *rest = NULL;

	if (argc < 3 || !filter) {
		fprintf(stderr, "usage: silent-old-kernel CALL[,CALL]... PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	for (char *name = strtok_r(argv[1], ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		int call = seccomp_syscall_resolve_name(name);
		if (call == __NR_SCMP_ERROR ||
		    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) < 0) {
			fprintf(stderr, "silent-old-kernel: no such system call: %s\n", name);
			return 2;
		}
	}
	/* Root needs no such promise, and set-user-ID programs are to work as ever. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (seccomp_load(filter) < 0) {
		fprintf(stderr, "silent-old-kernel: cannot load the filter\n");
		return 2;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
