/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A process of a running container: what it has in its file system, seen from outside. */
#include <libmount.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"

struct process {
	pid_t pid;
	int proc_fd; /* its directory in /proc: goes on meaning this process when its number is used again */
	int root_fd;                 /* O_PATH, its root directory */
	struct libmnt_table *mounts; /* of its mount namespace */
};

#define PROCESS_NULL                                                                               \
	{                                                                                          \
		.proc_fd = -1, .root_fd = -1                                                       \
	}

/* What is at a path. */
struct process_file {
	struct stat st;
	bool mount_root;         /* something is mounted exactly there */
	struct libmnt_fs *mount; /* the mount that it is in; NULL where the table has it not */
};

/*
 * Opens the process and checks that it is a container's: with a mount namespace and a root of its own. Failures are
 * EXIT_CODE_CONTAINER: "process 12: ...".
 */
int process_open(struct process *process, pid_t pid, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * The first process that was started in this root directory (an fd, as the host sees it), the container's init. Failures are
 * EXIT_CODE_CONTAINER, also when several containers run from it.
 */
int process_find(int root_fd, pid_t *ret_pid, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * What is at `path` for this process; links are followed inside its root. -ENOENT (with the error set) when nothing is there.
 */
int process_look(const struct process *process, const char *path, struct process_file *ret_file,
		 struct error *err) __attribute__((nonnull, warn_unused_result));

/* Its mounts as they are now: what process_look() finds is looked up there. */
int process_read_mounts(struct process *process, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Whether it is in a user namespace other than ours. */
bool process_is_mapped(const struct process *process) __attribute__((nonnull));

/* Whether it is there still: what was looked at then was all its. */
int process_check_alive(const struct process *process, struct error *err)
	__attribute__((nonnull, warn_unused_result));

void process_close(struct process *process) __attribute__((nonnull));
#define _cleanup_process_ __attribute__((cleanup(process_close)))
