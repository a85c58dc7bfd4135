/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The deadline of the run, and signals that ask it to end: both take the way of every other
 * failure, undo included.
 */
#include "error.h"

/*
 * From now on a signal or the end of `seconds` makes interrupted() fail, and system calls that wait
 * end with EINTR, save those in which the kernel waits for a file system that does not answer.
 */
int interrupt_set_up(unsigned seconds, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* In a forked child, which inherits the deadline but no timer. */
int interrupt_restart(struct error *err) __attribute__((nonnull, warn_unused_result));
/*
 * 0, or a failure with EXIT_CODE_DEADLINE (EXIT_CODE_OTHER for a signal). Asked before every step.
 */
int interrupted(struct error *err) __attribute__((nonnull, warn_unused_result));
/* The signal that asked us to end, or 0; the deadline is none. */
int interrupt_signal(void);
/* Milliseconds until the deadline; negative when it has passed. */
long long interrupt_remaining_ms(void);
/* Undoing must not be interrupted in its turn. */
void interrupt_ignore(void);
