/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of numbers needs no library, and libseccomp does badly here when memory runs out while it builds its filter: it
 * leaves calls out without an error, frees twice, or never comes back (2.5.4). A filter is the last thing that may be
 * half done.
 */
#include "call-filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers of another architecture mean other calls. */
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__loongarch__) && __loongarch_grlen == 64
#define ARCHITECTURE AUDIT_ARCH_LOONGARCH64
#else
/* One of 32 bits has other calls, too (mmap2, _llseek, fstat64): the list in ldconfig.c would have to know them. */
#error "the name of this architecture in <linux/audit.h> has to be added here"
#endif

/* Two to look at the architecture, one to kill, one to get the number, two answers. */
#define AROUND 6

static size_t put(struct sock_filter *filter, size_t n, struct sock_filter instruction)
{
	filter[n] = instruction;
	return n + 1;
}

int call_filter_load(const unsigned *calls, size_t n)
{
	struct sock_filter filter[CALL_FILTER_MAX + AROUND];
	struct sock_fprog program = {.filter = filter};
	size_t len = 0;

	if (n > CALL_FILTER_MAX) {
		errno = E2BIG;
		return -1;
	}
	len = put(filter, len,
		  (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, arch)));
	len = put(filter, len,
		  (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
	len = put(filter, len,
		  (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	len = put(filter, len,
		  (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr)));
	/* Over the calls that are left and the refusal behind them. */
	for (size_t i = 0; i < n; i++)
		len = put(filter, len,
			  (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
						       (unsigned char)(n - i), 0));
	len = put(filter, len,
		  (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
	len = put(filter, len, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = (unsigned short)len;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
