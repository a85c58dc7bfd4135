/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of a device program, as a kernel might show them; our rules put in front, twice. */
#include "fuzz.h"

#include "bounds.h"
#include "device-filter.h"
#include "device-verdict.h"

static void allow(struct arena *arena, const struct device_filter *filter)
{
	const struct device_rule rules[] = {
		{.type = 'c', .major = 10, .minor = 229, .access = DEVICE_READ | DEVICE_WRITE},
		{.type = 'b', .major = 8, .minor = 1, .access = DEVICE_READ},
	};
	struct device_filter first, second;
	struct error err = {0};
	/* Whatever it answers. */
	(void)device_verdict_allows(filter, &rules[0]);
	int r = device_filter_allow(arena, filter, rules, 2, &first, &err);

	fuzz_check_error(r, &err);
	if (r != 0)
		return;
	/* What comes out can be loaded, and grants what it should. */
	r = device_filter_check(&first, &err);
	assert(r == 0);
	assert(device_verdict_allows(&first, &rules[0]) &&
	       device_verdict_allows(&first, &rules[1]));
	r = device_filter_allow(arena, &first, rules, 2, &second, &err);
	assert(r == DEVICE_FILTER_UNCHANGED || err.errnum == 12 /* ENOMEM */);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n = size / sizeof(struct bpf_insn);
	struct device_filter shown = {.n = n}, filter;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	struct bpf_insn *insns = arena_alloc_array(&arena, n, sizeof(*insns));
	if (n > LIMIT_BPF_INSNS || !insns)
		goto out;
	if (n)
		memcpy(insns, data, n * sizeof(*insns));
	shown.insns = insns;
	int r = device_filter_unblind(&arena, &shown, &filter, &err);
	if (r == 0)
		r = device_filter_check(&filter, &err);
	fuzz_check_error(r, &err);
	if (r == 0)
		allow(&arena, &filter);
out:
	arena_done(&arena);
	return 0;
}
