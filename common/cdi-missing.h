/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Why devices could not be found, as one sentence that the reader can act on. Part of cdi-registry.
 */
#include "cdi-registry.h"

enum cdi_missing_why {
	CDI_MISSING_ABSENT,
	CDI_MISSING_TWICE,    /* defined more than once in the directory with this priority */
	CDI_MISSING_AMBIGUOUS /* a bare name that several kinds have */
};

struct cdi_missing {
	const char *text; /* as it was asked for */
	const char *kind; /* NULL for a bare name */
	const char *name;
	enum cdi_missing_why why;
	unsigned priority;
};

struct cdi_missing_list {
	struct cdi_missing *items;
	size_t n, cap;
};

/* Fills `err` for all of them (at least one); returns what error_say returned. */
int cdi_missing_say(struct arena *arena, const struct cdi_registry *registry,
		    const struct cdi_missing_list *missing, struct error *err)
	__attribute__((nonnull));
