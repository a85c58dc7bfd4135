/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Work in a child process, so that this one can always end. */
#include "error.h"

/*
 * Runs work(data, err) in a child and returns what it returned, its error included. Signals that ask
 * us to end are passed on, and the child undoes what it did. A child that does not come back some
 * seconds after the deadline is killed, and left behind if even that does not end it:
 * EXIT_CODE_DEADLINE.
 */
int supervise(int (*work)(void *data, struct error *err), void *data, struct error *err)
	__attribute__((nonnull(1, 3), warn_unused_result));
