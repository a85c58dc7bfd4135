/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Reading whole files with a bound. */
#include "arena.h"
#include "error.h"

/*
 * Reads `fd` to its end. `*ret_data` has a NUL behind its `*ret_size` bytes. More than `limit` bytes fail with EFBIG.
 * `what` names the file in the sentence: "read WHAT: ...".
 */
int fdio_read(struct arena *arena, int fd, size_t limit, const char *what, char **ret_data,
	      size_t *ret_size, struct error *err) __attribute__((nonnull, warn_unused_result));

/* Opens `path` below `dirfd` (which must be a regular file, or a file of procfs or cgroupfs) and reads it as above. */
int fdio_read_at(struct arena *arena, int dirfd, const char *path, size_t limit, char **ret_data,
		 size_t *ret_size, struct error *err) __attribute__((nonnull, warn_unused_result));
