/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd says: the answer on its socket, and a unit file. Both are tried on the same bytes. */
#include "fuzz.h"

#include "dbus-message.h"
#include "unit-text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct unit_devices devices = {0};
	struct dbus_reply reply;
	struct error err = {0};
	struct arena arena;
	size_t used = 0;

	arena_init(&arena, FUZZ_MEMORY);
	int r = dbus_message_read_auth(text, size, &used, &err);
	fuzz_check_error(r, &err);
	assert(r != DBUS_REPLY || (used > 0 && used <= size));
	err = (struct error){0};
	r = dbus_message_read_reply(&arena, text, size, &used, &reply, &err);
	fuzz_check_error(r, &err);
	assert(r != DBUS_REPLY || (used > 0 && used <= size));
	err = (struct error){0};
	r = unit_text_parse(&arena, text, size, &devices, &err);
	fuzz_check_error(r, &err);
	for (size_t i = 0; r == 0 && i < devices.list.n; i++)
		assert(devices.list.items[i].device[0] && devices.list.items[i].access[0]);
	arena_done(&arena);
	return 0;
}
