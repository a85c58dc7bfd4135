/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* /etc/ld-musl-ARCH.path: where musl's loader looks for libraries. It has no cache. */
#include "arena.h"
#include "error.h"

/* What musl does without that file, in its form. */
#define MUSL_PATH_DEFAULT "/lib:/usr/local/lib:/usr/lib\n"

/* The file that belongs to a loader: "/lib/ld-musl-x86_64.so.1" has "/etc/ld-musl-x86_64.path". NULL without memory. */
const char *musl_path_file(struct arena *arena, const char *loader) __attribute__((nonnull));

/*
 * The file's new text: those of `dirs` that it does not name yet, then what it was, `old` (`size` bytes, NULL where there was
 * none: then musl's own list). `*ret_text` is NULL when it names all of them. Directories have neither ':' nor newlines.
 */
int musl_path_merge(struct arena *arena, const char *old, size_t size,
		    const struct string_list *dirs, const char **ret_text, struct error *err)
	__attribute__((nonnull(1, 4, 5, 6), warn_unused_result));
