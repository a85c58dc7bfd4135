/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Whether the CUDA library that an image brings is to be used instead of the host's, by what its name and a note in it say. */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "notes.h"

/* The note in a library: with which drivers it works. */
struct cuda_compat {
	bool has_note; /* false: there is none of NVIDIA's, or it cannot be read */
	const char *cuda_version;
	struct {
		int64_t *items; /* major versions of the host's driver */
		size_t n, cap;
	} drivers;
};

/* The version in a file's name, "550.54.15" of "libcuda.so.550.54.15", or NULL for other names. */
const char *cuda_compat_version(const char *file_name) __attribute__((nonnull));

/*
 * Reads the note in `fd`, a regular file open for reading, whose content may be anything: with bounds, by pread. What
 * is damaged is noted with `what` in front, and is as if there were no note. Fails only where the file cannot be read.
 */
int cuda_compat_read(struct arena *arena, int fd, const char *what, struct notes *notes,
		     struct cuda_compat *ret_compat, struct error *err)
	__attribute__((nonnull(1, 3, 5, 6), warn_unused_result));

/*
 * Whether the library is newer than the host's and works with its driver. The host's versions are NULL where they are
 * not known; one that is no version counts as not known, and is noted.
 */
bool cuda_compat_is_wanted(const struct cuda_compat *compat, const char *version,
			   const char *host_driver, const char *host_cuda, struct notes *notes)
	__attribute__((nonnull(1, 2)));
