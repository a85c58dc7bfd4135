/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Files that decide what this program does must come from root: the file, every directory on the way to it and every
 * symbolic link passed on the way belong to root (or to `owner`, who started us), and nobody else may write them
 * (design: "Specs must be trusted"). A sticky bit does not help: whoever may create may also wait for a gap.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"

struct trust {
	int root_fd; /* paths start here: the host's "/", or a fixture */
	uid_t owner; /* besides root: the user who started us */
	/* For who only looks, and uses nothing of it (cdictl validate): whoever owns or may write it. */
	bool everybody;
};

/*
 * Opens a directory for reading (TRUSTED_DIR) or a regular file; never blocks on a FIFO, never opens a device.
 * -ENOENT means that it is not there, which callers may accept. Something that is there but not trusted fails with EXIT_CODE_REFUSED and a
 * sentence that names the very component and the remedy:
 * "/run/cdi: not trusted: writable by its group (mode 0775): chmod go-w /run/cdi". Something of another type fails
 * without a class.
 * Returns the fd, close-on-exec.
 */
enum trusted_kind { TRUSTED_FILE, TRUSTED_DIR };
int trusted_open(const struct trust *trust, const char *path, enum trusted_kind kind,
		 struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * The same for one entry of a directory that trusted_open() returned; `dir` is its path, for messages and because a
 * link in it is resolved from there.
 */
int trusted_open_at(const struct trust *trust, int dirfd, const char *dir, const char *name,
		    struct error *err) __attribute__((nonnull, warn_unused_result));
