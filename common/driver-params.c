/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's libraries look at one of these settings before they make device nodes, and there is no other way to stop
 * them in a container. What counts is the line "ModifyDeviceFiles: 1", exactly; a file that has the opposite too is
 * left alone, as the vendor's own hook leaves it.
 */
#include "driver-params.h"

#include <stdbool.h>
#include <string.h>

static const char on[] = "ModifyDeviceFiles: 1";
static const char off[] = "ModifyDeviceFiles: 0";

/* The next line, without its end. */
static bool next_line(const char **at, const char *end, const char **ret_line, size_t *ret_len)
{
	const char *newline;

	if (*at == end)
		return false;
	*ret_line = *at;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	*at = newline ? newline + 1 : end;
	*ret_len = (size_t)((newline ? newline : end) - *ret_line);
	if (*ret_len > 0 && (*ret_line)[*ret_len - 1] == '\r')
		--*ret_len;
	return true;
}

static bool is_line(const char *line, size_t len, const char *wanted)
{
	return len == strlen(wanted) && memcmp(line, wanted, len) == 0;
}

int driver_params_mask(struct arena *arena, const char *text, size_t size, const char **ret_text,
		       struct error *err)
{
	const char *at = text, *end = text + size, *line;
	char *masked = arena_alloc(arena, size + 2); /* the last line may have no end */
	bool wanted = false;
	size_t len, used = 0;

	if (!masked)
		return error_memory(err);
	while (next_line(&at, end, &line, &len)) {
		if (is_line(line, len, off))
			return 0;
		if (is_line(line, len, on)) {
			wanted = true;
			line = off;
		}
		memcpy(masked + used, line, len);
		used += len;
		masked[used++] = '\n';
	}
	masked[used] = '\0';
	*ret_text = masked;
	return wanted;
}
