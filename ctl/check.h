/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What cdictl check finds, thing by thing. */
#include "arena.h"
#include "error.h"
#include "plan.h"
#include "process.h"

enum finding_state {
	FINDING_GOOD,
	FINDING_MISSING,
	FINDING_DIFFERS,
	FINDING_UNKNOWN, /* nobody can tell */
	FINDING_MENDED,  /* good now, and bad before --repair */
};

/* One thing that a device should give, and how it is in the container. */
struct finding {
	const char *operation; /* "node", "mount", "rule": of the plan */
	const char *path;      /* of a rule: "c 10:229 rw" */
	enum finding_state state;
	const char *problem; /* what is wrong, or was before it was mended; NULL where nothing is */
	const struct origin *origin;
};

struct finding_list {
	struct finding *items;
	size_t n, cap;
};

struct check {
	struct arena *arena;
	struct process process;
	struct plan plan;
	struct finding_list findings; /* in the order of the plan, always the same */
	size_t bad;                   /* how many of them */
	size_t unknown; /* how many nobody can tell, or not wholly: one that is bad may count here too */
};

/*
 * Compares all of it anew. Fails where that cannot be done, as when the process has ended; what is wrong in the container is a
 * finding. Device rules are root's to look at: nobody else gets a finding of them.
 */
int check_all(struct check *check, struct error *err) __attribute__((nonnull, warn_unused_result));

/* ---- For the parts of it ---- */

/* Room for one more finding, a good one so far. NULL: no memory. */
struct finding *check_add(struct check *check, const char *operation, const char *path,
			  const struct origin *origin) __attribute__((nonnull));
/* Text from outside goes in as it is: whoever prints the finding escapes it. */
int check_bad(struct check *check, struct finding *finding, enum finding_state state,
	      const char *fmt, ...) __attribute__((nonnull(1, 2, 4), format(printf, 4, 5)));

/* The device rules of the plan. */
int check_rules(struct check *check, struct error *err)
	__attribute__((nonnull, warn_unused_result));
