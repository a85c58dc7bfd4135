/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A program of the host that a spec names, found and judged before anything is changed. */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"
#include "trusted.h"

/* A script whose interpreter is a script, and so on: the kernel's own bound. */
#define PROGRAM_INTERPRETERS 5

struct program {
	const char *path;
	int fd;
	bool by_path; /* it is no ELF file: the kernel hands its path to an interpreter */
	/* That one and its own interpreters, as the host has them. */
	struct interpreter {
		const char *path;
		dev_t dev;
		ino_t ino;
	} interpreters[PROGRAM_INTERPRETERS];
	size_t n_interpreters;
};

/*
 * Opens the program. It, its interpreter and that one's, and the directories above them must be root's alone, and it must
 * be executable. Failures are EXIT_CODE_VENDOR_HOOK.
 *
 * Runs in: the host's mount namespace. Trusts: root's files. Hostile: nothing.
 */
int program_open(struct arena *arena, const struct trust *trust, const char *path,
		 struct program *ret_program, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether the path leads to the same file from here, and those of its interpreters to theirs: what a namespace shows
 * under them may be others.
 *
 * Runs in: a child, in the namespaces that the program gets. Trusts: the descriptor. Hostile: mounts.
 */
int program_check_place(const struct program *program, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Becomes the program; returns only with a failure. A script is opened again by its path, since its interpreter could
 * not open a descriptor that is closed by exec: nobody but root can have exchanged it, as program_open() saw to.
 *
 * Runs in: as above. Trusts: the descriptor, the path's directories. Hostile: nothing.
 */
void program_exec(const struct program *program, char *const *argv, char *const *envp,
		  struct error *err) __attribute__((nonnull));
