/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Which capabilities each step of a run has. */
#include "error.h"

enum privilege_step {
	PRIVILEGE_NONE,     /* reading stdin; watching the process that works; all is done */
	PRIVILEGE_READ,     /* reading spec files, the allow file and config.json; the plan */
	PRIVILEGE_FIND,     /* opening the container's process, mount sources and programs */
	PRIVILEGE_CGROUP,   /* allowing devices */
	PRIVILEGE_NETWORK,  /* finding and moving network interfaces */
	PRIVILEGE_FILL,     /* mounts, nodes and files in the container */
	PRIVILEGE_SANDBOX,  /* ldconfig's child, before it is ldconfig */
	PRIVILEGE_PROGRAMS, /* waiting for vendors' programs */
	PRIVILEGE_PROGRAM,  /* a vendor's program: what we were given */
	PRIVILEGE_UNDO,     /* taking back what was done, or tidying up */
};

#define PRIVILEGE_BIT(step) (1U << (step))
/* Not known yet. */
#define PRIVILEGE_ANY (~0U)

/*
 * The effective capabilities become those of `step`, as far as we have them. `later` are the steps that may follow, as
 * PRIVILEGE_BIT()s: what none of these needs is given up for good, and where no vendor's program is among them no program
 * that is executed will ever have more than we do (no_new_privs). The inheritable and ambient capabilities become empty.
 *
 * Nothing that the kernel takes off a process whose rights change is lost by this: they only become fewer.
 */
int privilege_take(enum privilege_step step, unsigned later, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * All of them, for good, where nothing is left to do that needs any. That it may fail is no reason to fail: the effective ones
 * are few already, and what was done is done.
 */
void privilege_give_up(void);

/* Whether we have this one (CAP_*) in effect: 1, 0 or a failure. */
int privilege_has(unsigned capability, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Adds one that the kernel took off when we became somebody else. */
int privilege_add(unsigned capability, struct error *err)
	__attribute__((nonnull, warn_unused_result));
