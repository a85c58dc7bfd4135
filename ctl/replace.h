/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A file that is replaced as a whole: at any moment it is the old or the new one, and the new one has the old one's
 * owner, mode and attributes.
 */
#include "arena.h"
#include "error.h"

struct replace {
	const char *file;       /* as the person named it, for sentences */
	const char *dir, *name; /* where it really is: links stay what they are */
	const char *new_name;   /* the temporary file beside it */
	int old_fd, dir_fd, new_fd;
};

#define REPLACE_NULL                                                                               \
	{                                                                                          \
		.old_fd = -1, .dir_fd = -1, .new_fd = -1                                           \
	}

/* Opens the file for reading, and keeps another cdictl away from it until the end. */
int replace_begin(struct arena *arena, struct replace *replace, const char *file, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int replace_commit(struct replace *replace, const char *data, size_t size, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Without a commit, or after one that failed, nothing has happened. */
void replace_end(struct replace *replace) __attribute__((nonnull));
#define _cleanup_replace_ __attribute__((cleanup(replace_end)))
