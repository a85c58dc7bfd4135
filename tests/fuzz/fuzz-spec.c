/* SPDX-License-Identifier: Apache-2.0 */
/* Spec files: both names, strict and lenient; for a verdict, and for every problem. */
#include "fuzz.h"

#include <errno.h>

#include "bounds.h"
#include "cdi-spec.h"

static struct cdi_spec *parse(struct arena *arena, const char *file, const uint8_t *data,
			      size_t size, bool lenient)
{
	struct notes notes = {.arena = arena};
	struct cdi_spec *spec = NULL;
	struct error err = {0};
	const char *kind;
	int r = cdi_spec_parse(arena, file, (const char *)data, size, lenient, &notes, &spec, &kind,
			       &err);

	fuzz_check_error(r, &err);
	assert((r < 0) == !spec);
	/* Whose file it is can be told of every file that is used. */
	assert(!spec || (kind && strcmp(kind, spec->kind) == 0 && spec->devices.n > 0));
	return spec;
}

static bool is_among(const struct cdi_problem_list *list, const char *file, const char *sentence,
		     struct arena *arena)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *text = cdi_problem_text(arena, file, &list->items[i]);

		if (text && strcmp(text, sentence) == 0)
			return true;
	}
	return false;
}

/* Looking for all problems comes to the same verdict, and finds at least the one. */
static void check(const char *file, const uint8_t *data, size_t size, bool lenient)
{
	struct cdi_problem_list problems;
	struct cdi_spec *spec = NULL, *checked;
	struct error err = {0}, check_err = {0};
	const char *kind, *checked_kind;
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	struct notes notes = {.arena = &arena};
	int r = cdi_spec_parse(&arena, file, (const char *)data, size, lenient, &notes, &spec,
			       &kind, &err);
	int checked_r = cdi_spec_check(&arena, file, (const char *)data, size, lenient, &problems,
				       &checked, &checked_kind, &check_err);
	fuzz_check_error(checked_r, &check_err);
	if (r != -ENOMEM && checked_r == 0 && arena.used < FUZZ_MEMORY / 4) {
		assert((r < 0) == !checked && (r < 0) == (problems.n_errors > 0));
		assert(!kind || !checked_kind || strcmp(kind, checked_kind) == 0);
		assert(problems.n <= LIMIT_SPEC_PROBLEMS);
		assert(r == 0 || problems.dropped || is_among(&problems, file, err.text, &arena));
		/* What several aliases lead to is told once. */
		bool aliases = size && memchr(data, '*', size);
		for (size_t i = 0; i < notes.list.n && !problems.dropped && !aliases; i++)
			assert(is_among(&problems, file, notes.list.items[i].text, &arena));
		assert(r < 0 || problems.dropped || problems.n <= notes.list.n);
		for (size_t i = 1; i < problems.n; i++)
			assert(problems.items[i - 1].line <= problems.items[i].line);
	}
	arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	const struct cdi_spec *strict = parse(&arena, "/x.yaml", data, size, false);
	const struct cdi_spec *lenient = parse(&arena, "/x.json", data, size, true);
	/* Leniency only ever accepts more, and the name decides nothing but a note. */
	if (strict && arena.used < FUZZ_MEMORY / 4)
		assert(lenient && lenient->devices.n == strict->devices.n);
	arena_done(&arena);
	check("/x.yaml", data, size, false);
	check("/x.json", data, size, true);
	return 0;
}
