/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Who may ask: fnmatch(3) patterns over the whole device name, from --allow and from the allow file. */
#include "arena.h"
#include "error.h"
#include "request.h"

/* Where an administrator says who may ask, unless --allow-file names another. */
#define ALLOW_FILE_DEFAULT "/etc/oci-cdi-hook/allow"

struct allow_pattern {
	const char *pattern;
	const char *source; /* "--allow", or the file's name */
	unsigned line;      /* in the file; 0 for --allow */
};

struct allow_list {
	struct allow_pattern *items;
	size_t n, cap;
};

int allow_add(struct arena *arena, struct allow_list *list, const char *pattern, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Adds the patterns of an allow file: one a line, blanks around it dropped, # starts a comment at the beginning of a
 * line or after a blank. NUL bytes and over-long lines fail with EXIT_CODE_REFUSED and "FILE:LINE: ...".
 */
int allow_add_file(struct arena *arena, struct allow_list *list, const char *file, const char *data,
		   size_t size, struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * Fills in `pattern` of every request that an annotation made. `*` matches `/` too. Requests that nothing allows are
 * reported together with EXIT_CODE_REFUSED; the sentence names device and annotation, where patterns were looked for
 * (`file`), and ends with the command to type: cdictl allow 'vendor.com/class=*', which names `file` where that is
 * another than the default.
 */
int allow_check(const struct allow_list *list, const char *file, struct request_list *requests,
		struct error *err) __attribute__((nonnull, warn_unused_result));
