/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of things done. The order is what matters: a mount is taken off before the file it covers
 * is removed, and a directory goes after what was made in it.
 */
#include "undo.h"

int undo_reserve(struct undo *undo, struct error *err)
{
	void *items = arena_grow(undo->arena, undo->steps.items, undo->steps.n, &undo->steps.cap,
				 sizeof(*undo->steps.items));
	if (!items)
		return error_memory(err);
	undo->steps.items = items;
	return 0;
}

void undo_push(struct undo *undo, const struct undo_step *step)
{
	undo->steps.items[undo->steps.n++] = *step;
}

bool undo_to(struct undo *undo, size_t n, struct error *err)
{
	bool complete = true;

	while (undo->steps.n > n) {
		const struct undo_step *step = &undo->steps.items[--undo->steps.n];
		struct error failed = {0};
		if (step->take_back(step->data, &failed) < 0) {
			error_prefix(&failed, "undo: %s", step->what);
			error_join(err, &failed);
			complete = false;
		}
	}
	return complete;
}

void undo_keep(struct undo *undo, struct error *err)
{
	for (size_t i = 0; i < undo->steps.n; i++) {
		const struct undo_step *step = &undo->steps.items[i];
		struct error failed = {0};
		if (step->keep && step->keep(step->data, &failed) < 0)
			error_join(err, &failed);
	}
	undo->steps.n = 0;
}

void undo_pop(struct undo *undo)
{
	undo->steps.n--;
}
