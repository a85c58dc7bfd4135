/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The sub-commands of cdictl, one file each. */
#include "arena.h"
#include "error.h"

/*
 * `argv[0]` is the command's own name. Results go to standard output, whose failures main()
 * reports; what went wrong goes to `err`, whose class is the exit status. Returns 0 or a negative
 * number.
 */
int ctl_allow(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int ctl_check(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int ctl_list(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int ctl_plan(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int ctl_show(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int ctl_validate(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int ctl_inject(struct arena *arena, int argc, char **argv, struct error *err)
	__attribute__((nonnull, warn_unused_result));
