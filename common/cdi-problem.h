/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is wrong with a spec file, and what only looks strange in it. A hook wants the first error
 * as a sentence; whoever validates a file wants all of them, in order and in parts.
 */
#include "arena.h"
#include "error.h"
#include "notes.h"

enum cdi_severity {
	CDI_ERROR, /* the file, or what stands there, is not used */
	CDI_WARNING,
};

struct cdi_problem {
	enum cdi_severity severity;
	unsigned line, column; /* from 1; both 0 where it is about the file as a whole */
	const char *path;      /* "devices[0].containerEdits.env[1]", or "" */
	const char *text;      /* what is wrong, printable */
};

struct cdi_problem_list {
	struct cdi_problem *items;
	size_t n, cap;   /* at most LIMIT_SPEC_PROBLEMS */
	size_t dropped;  /* those beyond, or for which there was no memory */
	size_t n_errors; /* dropped ones included */
};

/* "FILE:LINE:COLUMN: json.path: what is wrong"; without what there is not. NULL: no memory. */
const char *cdi_problem_text(struct arena *arena, const char *file,
			     const struct cdi_problem *problem)
	__attribute__((nonnull, warn_unused_result));

/*
 * Adds a copy of a problem. What was said of the same place before, in the same words, is left out:
 * a value that several aliases lead to is one fault.
 */
void cdi_problem_add(struct arena *arena, struct cdi_problem_list *list,
		     const struct cdi_problem *problem) __attribute__((nonnull));

/* In the order of the file; equal places keep theirs. */
void cdi_problem_sort(struct cdi_problem_list *list) __attribute__((nonnull));

/* ---- For those who read a file ---- */

/* Where that which is found in a file goes. */
struct cdi_report {
	const char *file;
	struct notes *notes; /* for warnings; may be NULL */
	struct error *err;   /* for the error that ends the reading, and for lack of memory */
	/* Not NULL: everything goes here, from this arena, and the reading goes on. */
	struct cdi_problem_list *problems;
	struct arena *arena;
};

/*
 * Of a value at `line` and `column`, both from 1; `path` is "" for the file as a whole, and `fmt` as
 * in error.h. An error returns -EINVAL, with "FILE:LINE:COLUMN: json.path: ..." and EXIT_CODE_SPEC.
 */
int cdi_report_error(const struct cdi_report *report, unsigned line, unsigned column,
		     const char *path, const char *fmt, ...)
	__attribute__((format(printf, 5, 6), nonnull(1, 4, 5)));
void cdi_report_warning(const struct cdi_report *report, unsigned line, unsigned column,
			const char *path, const char *fmt, ...)
	__attribute__((format(printf, 5, 6), nonnull(1, 4, 5)));
