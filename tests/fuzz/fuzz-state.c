/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "oci-state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct oci_state state;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	int r = oci_state_parse(&arena, (const char *)data, size, &state, &err);
	fuzz_check_error(r, &err);
	arena_done(&arena);
	return 0;
}
