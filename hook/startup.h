/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The state in which the rest of the program may rely on itself, whatever the caller left behind.
 */
#include "error.h"

/*
 * Empties the environment; resets signals, umask, file descriptors, limits, core dumps. Must be the first thing that main()
 * does. Returns 0 or -errno.
 */
int startup(struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * The rest of it, before the first path is opened: a run that has nothing to do opens none, and does without.
 *
 * Changes to "/" and returns an O_PATH fd of the working directory that we were started in (where a runtime's bundle may be), or
 * -errno.
 */
int startup_leave_directory(struct error *err) __attribute__((nonnull, warn_unused_result));
