/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A directory to start from, for system calls that take a path and no descriptor (bpf, connect). After the container's mount
 * namespace was entered a path of the host would lead into the container; a descriptor that was opened before still means
 * what it meant.
 */
#include "error.h"

struct workdir {
	int back_fd; /* where we were */
};

#define WORKDIR_NULL                                                                               \
	{                                                                                          \
		.back_fd = -1                                                                      \
	}

/* Paths that do not begin with a slash start in `dir_fd` from now on, until workdir_leave(). */
int workdir_enter(struct workdir *workdir, int dir_fd, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Also where nothing was entered. */
void workdir_leave(struct workdir *workdir) __attribute__((nonnull));
#define _cleanup_workdir_ __attribute__((cleanup(workdir_leave)))
