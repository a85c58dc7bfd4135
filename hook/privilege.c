/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook is started with all that root has, and no step of it needs most of that. Rights that are not in effect guard against
 * mistakes: a path that was to be read only is not written, a spec parser that is led astray opens no device. Rights that are
 * given up guard against code of somebody else's in our process, too. So each step has in effect what it needs, and what no
 * later one needs is given up; what was done must be taken back when a later step fails, so the rights for that stay in reserve.
 *
 * A vendor's program is root's and needs whatever it needs: it gets what the runtime gave us. While one is still to be run
 * nothing is given up; a process that may execute a program with all rights would have them anyway.
 */
#include "privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/* To look at the container's process: it is root's, with all rights, and hides from its likes. */
#define SEE_PROCESS BIT(CAP_SYS_PTRACE)
/* All that has to do with mounts and namespaces is one capability; entering a mount namespace takes another. */
#define MOUNT BIT(CAP_SYS_ADMIN)
#define ENTER (MOUNT | BIT(CAP_SYS_CHROOT))
/* A child may have become the container's root. */
#define END_CHILD BIT(CAP_KILL)

/*
 * SYS_ADMIN: the program by its number, and v1. BPF, NET_ADMIN: loading and replacing programs. PERFMON: without it the
 * verifier rewrites ours. SYSLOG: without it the kernel hides the runtime's, unless perf_event_paranoid is low. SYS_RESOURCE:
 * the limit on locked memory, before Linux 5.11.
 */
#define CHANGE_CGROUP                                                                              \
	(MOUNT | SEE_PROCESS | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_BPF) | BIT(CAP_NET_ADMIN) |         \
	 BIT(CAP_PERFMON) | BIT(CAP_SYSLOG) | BIT(CAP_SYS_RESOURCE))
#define MOVE_INTERFACE (MOUNT | SEE_PROCESS | BIT(CAP_NET_ADMIN))
/* FSETID: a mode with set-group-ID. SETUID, SETGID: the ids by which files are made, in a user namespace. */
#define CHANGE_FILES                                                                               \
	(ENTER | SEE_PROCESS | END_CHILD | BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) |                \
	 BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_MKNOD) | BIT(CAP_SETUID) | BIT(CAP_SETGID))

/* SECURITY.md has the same table for people, and tests/faults/privileges.py compares it with what a running hook has. */
static const uint64_t needs[] = {
	[PRIVILEGE_NONE] = 0,
	/* Root may read what others own, such as a mount source below a home directory. */
	[PRIVILEGE_READ] = BIT(CAP_DAC_READ_SEARCH),
	[PRIVILEGE_FIND] = BIT(CAP_DAC_READ_SEARCH) | MOUNT | SEE_PROCESS,
	[PRIVILEGE_CGROUP] = CHANGE_CGROUP,
	[PRIVILEGE_NETWORK] = MOVE_INTERFACE,
	[PRIVILEGE_FILL] = CHANGE_FILES,
	/* SETPCAP: emptying the bounding set. */
	[PRIVILEGE_SANDBOX] = MOUNT | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_SETPCAP) | BIT(CAP_SETUID) |
			      BIT(CAP_SETGID),
	[PRIVILEGE_PROGRAMS] = MOUNT | SEE_PROCESS | END_CHILD,
	[PRIVILEGE_PROGRAM] = ~UINT64_C(0),
	[PRIVILEGE_UNDO] = CHANGE_CGROUP | MOVE_INTERFACE | CHANGE_FILES,
};

#define N_STEPS (sizeof(needs) / sizeof(needs[0]))

struct rights {
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int get(struct rights *rights, struct error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, rights->words) < 0 ? error_set(err, errno, "capget")
							       : 0;
}

static int set(const struct rights *rights, struct error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &header, rights->words) < 0 ? error_set(err, errno, "capset")
							       : 0;
}

/*
 * Runs in: any namespaces. Trusts: the kernel. Hostile: nothing.
 */
int privilege_take(enum privilege_step step, unsigned later, struct error *err)
{
	uint64_t kept = needs[step];
	struct rights rights;
	int r = get(&rights, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < N_STEPS; i++)
		if (later & PRIVILEGE_BIT(i))
			kept |= needs[i];
	if (!((later | PRIVILEGE_BIT(step)) & PRIVILEGE_BIT(PRIVILEGE_PROGRAM)) &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "prctl PR_SET_NO_NEW_PRIVS");
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		struct __user_cap_data_struct *word = &rights.words[i];
		word->permitted &= (uint32_t)(kept >> (32 * i));
		word->effective = word->permitted & (uint32_t)(needs[step] >> (32 * i));
		/* An ambient capability that is not inheritable is none. */
		word->inheritable = 0;
	}
	return set(&rights, err);
}

void privilege_give_up(void)
{
	struct error ignored = {0};
	int r = privilege_take(PRIVILEGE_NONE, 0, &ignored);

	(void)r;
}

int privilege_has(unsigned capability, struct error *err)
{
	struct rights rights;
	int r = get(&rights, err);

	if (r < 0)
		return r;
	return (rights.words[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

int privilege_add(unsigned capability, struct error *err)
{
	struct rights rights;
	int r = get(&rights, err);

	if (r < 0)
		return r;
	rights.words[CAP_TO_INDEX(capability)].effective |= CAP_TO_MASK(capability);
	return set(&rights, err);
}
