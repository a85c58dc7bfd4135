/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Work in a child process, so that this one can always end. */
#include "error.h"

/*
 * Runs work(data, err) in a child and returns what it returned, its error included. Signals that ask
 * us to end are passed on, and the child undoes what it did. A child that does not come back
 * `grace_ms` after the deadline is killed, and left behind if even that does not end it:
 * EXIT_CODE_DEADLINE. interrupt_set_up() comes before. Nothing may wait in stdio's buffers.
 */
int supervise(int (*work)(void *data, struct error *err), void *data, int grace_ms,
	      struct error *err) __attribute__((nonnull(1, 4), warn_unused_result));

/* For the undo after the deadline: with the default of 20 s this ends before a runtime's 30 s. */
#define SUPERVISOR_GRACE_MS (5 * 1000)
