/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script runs as a program only because the kernel runs another program that its first line names. Who asks whether a
 * program can be trusted has to ask for that one too.
 */
#include "script.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

static bool is_end(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\0';
}

enum script_kind script_look(struct arena *arena, const char *head, size_t size,
			     const char **ret_interpreter)
{
	size_t start = 2, end;

	*ret_interpreter = NULL;
	if (size >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return SCRIPT_ELF;
	if (size < 2 || memcmp(head, "#!", 2) != 0)
		return SCRIPT_OTHER;
	while (start < size && (head[start] == ' ' || head[start] == '\t'))
		start++;
	for (end = start; end < size && !is_end(head[end]);)
		end++;
	*ret_interpreter = arena_strndup(arena, head + start, end - start);
	return SCRIPT_INTERPRETED;
}
