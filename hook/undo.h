/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The journal of what was done to a container, so that it can be taken back in reverse order. */
#include <stdbool.h>

#include "arena.h"
#include "error.h"

struct undo_step {
	const char *what; /* "remove node /dev/x": for the sentence when that fails in its turn */
	int (*take_back)(void *data, struct error *err);
	/* What is left to do when it stays; may be NULL. */
	int (*keep)(void *data, struct error *err);
	void *data;
};

struct undo {
	struct arena *arena;
	ARRAY(struct undo_step) steps;
};

/* Makes room for one more step. Called before the act, so that what was done can always be written
 * down. */
int undo_reserve(struct undo *undo, struct error *err) __attribute__((nonnull, warn_unused_result));
/* Called right after the act; needs an undo_reserve() before it. */
void undo_push(struct undo *undo, const struct undo_step *step) __attribute__((nonnull));
/*
 * Takes back all but the first `n` steps, last first; goes on when a step fails. What failed is
 * joined to `err`. Whether all was taken back.
 */
bool undo_to(struct undo *undo, size_t n, struct error *err) __attribute__((nonnull));
/* All has succeeded: what was done stays. What could not be tidied up is joined to `err`. */
void undo_keep(struct undo *undo, struct error *err) __attribute__((nonnull));
/* The last step has been taken back already, by whoever made it. */
void undo_pop(struct undo *undo) __attribute__((nonnull));
