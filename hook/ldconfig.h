/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The host's ldconfig, run over a container's root in a sandbox: it reads what the image has put there, and an image
 * may put anything there.
 */
#include "arena.h"
#include "error.h"
#include "trusted.h"

/* A library that was mounted into the container: shown to ldconfig at the same place. */
struct ldconfig_library {
	int mount_fd;     /* of the mount in the container */
	const char *path; /* below the container's root */
};

/*
 * Finds the host's ldconfig: `wanted` is a path, or NULL for /sbin/ldconfig.real and /sbin/ldconfig. It must be trusted and a static ELF
 * program, since the sandbox has no libraries of the host. Returns an fd of it. -ENOENT when the host has none.
 *
 * Runs in: the host's mount namespace. Trusts: root's files. Hostile: nothing.
 */
int ldconfig_find(const struct trust *trust, const char *wanted, struct error *err)
	__attribute__((nonnull(1, 3), warn_unused_result));

/*
 * The same, and returns an fd to execute it by: a read-only mount of its own, so that nothing in the container can write
 * to it through /proc.
 *
 * Runs in: the host's mount namespace. Trusts: root's files. Hostile: nothing.
 */
int ldconfig_open(const struct trust *trust, const char *wanted, struct error *err)
	__attribute__((nonnull(1, 3), warn_unused_result));

/*
 * Runs it over the root file system `root_fd`, with `conf` (directories, a line each) as its configuration, and returns
 * the cache that it made.
 *
 * The root is seen read-only and without what is mounted in it, save `libraries`; ldconfig has no capabilities, few
 * system calls, no network, and limits on time, memory and what it may write. Nothing it does is seen by anybody.
 *
 * Runs in: the container's mount namespace; the child in namespaces of its own. Trusts: exec_fd. Hostile: the root.
 */
int ldconfig_run(struct arena *arena, int exec_fd, int root_fd,
		 const struct ldconfig_library *libraries, size_t n_libraries, const char *conf,
		 char **ret_cache, size_t *ret_size, struct error *err)
	__attribute__((nonnull(1, 6, 7, 8, 9), warn_unused_result));
