/* SPDX-License-Identifier: Apache-2.0 */
/* The allow file, and whether what it says lets a request pass. */
#include "fuzz.h"

#include "allow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request items[] = {{.device = "vendor.com/gpu=0", .annotation = "cdi.k8s.io/x"},
				  {.device = "vendor.com/gpu=1"}};
	struct request_list requests = {.items = items, .n = 2};
	struct allow_list list = {0};
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	int r = allow_add_file(&arena, &list, "/allow", (const char *)data, size, &err);
	if (r == 0)
		r = allow_check(&list, "/allow", &requests, &err);
	fuzz_check_error(r, &err);
	/* Only what an annotation asks for needs a pattern, and what passes has one. */
	assert(r < 0 || items[0].pattern);
	arena_done(&arena);
	return 0;
}
