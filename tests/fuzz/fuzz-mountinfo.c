/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "mountinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mountinfo table;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, FUZZ_MEMORY);
	int r = mountinfo_parse(&arena, (const char *)data, size, &table, &err);
	fuzz_check_error(r, &err);
	for (size_t i = 0; r == 0 && i < table.n; i++) {
		assert(mountinfo_find(&table, table.items[i].id));
		assert(mountinfo_has_device(&table, table.items[i].major, table.items[i].minor));
	}
	arena_done(&arena);
	return 0;
}
