/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Paths below a directory that is a file descriptor, with or without openat2(2). */
#include <linux/openat2.h>
#include <stdint.h>

/*
 * As openat2(2), with O_CLOEXEC: `flags` have O_PATH, with or without O_DIRECTORY and O_NOFOLLOW;
 * `resolve` has RESOLVE_IN_ROOT or RESOLVE_BENEATH, and RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS
 * (always meant) and RESOLVE_NO_XDEV as wanted. Where the kernel has no openat2 (before Linux 5.6,
 * or a seccomp filter that does not know it), the same by walk_path(). Where the kernel asks to try again, that is done
 * for some milliseconds. Returns -1 with errno.
 *
 * Runs in: any namespaces. Trusts: dirfd. Hostile: all that `path` passes.
 */
int walk_open(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
	__attribute__((nonnull, warn_unused_result));

/* The walk itself, component by component. */
int walk_path(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
	__attribute__((nonnull, warn_unused_result));
