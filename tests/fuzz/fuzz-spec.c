/* SPDX-License-Identifier: Apache-2.0 */
/* Spec files: both names, strict and lenient. */
#include "fuzz.h"

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
	return 0;
}
