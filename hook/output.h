/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a stage writes to stdout, which an engine takes for the container's new config: all of it, or nothing. It is kept in
 * memory until the run has come to a good end; the process that looks at files is not the one that writes.
 */
#include <stddef.h>

#include "error.h"

/* Memory for the output of a child, as a file descriptor. */
int output_open(struct error *err) __attribute__((nonnull, warn_unused_result));
/* Puts the output into it. */
int output_keep(int fd, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Writes what was kept to stdout; where nothing was, `data`. */
int output_hand_over(int fd, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Writes to stdout. `what` is for the sentence: "write WHAT to stdout: ...". */
int output_write(const char *what, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
