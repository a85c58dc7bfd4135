/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A short list of system calls that a program may make; any other is answered with ENOSYS (seccomp(2)). */
#include <stddef.h>

/* So many at most: a jump of the filter leads over 255 instructions, and no further. */
#define CALL_FILTER_MAX 200

/*
 * From here on only these calls are made, by this process and by what it becomes. It must have set no_new_privs. Returns 0, or -1
 * and errno: then nothing is filtered. Nothing is allocated, and no code of a library is run.
 *
 * Runs in: a child that is about to become a host program. Trusts: nothing. Hostile: what that program will read.
 */
int call_filter_load(const unsigned *calls, size_t n) __attribute__((nonnull, warn_unused_result));
