/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A field is "NAME=value" and a newline. A value that has a newline itself would end early, and what follows could pose as
 * a field of ours; it is written with its length: NAME, a newline, eight bytes of length, lowest first, the value, a newline.
 */
#include "journal-entry.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"

#define LENGTH_SIZE 8
/* Kept for the last field: its name, a number, and what stands between. */
#define LEFT_OUT "CDI_FIELDS_LEFT_OUT"
#define END_ROOM (sizeof(LEFT_OUT) + 22)

void journal_entry_init(struct journal_entry *entry, char *buffer, size_t size)
{
	*entry = (struct journal_entry){.data = buffer,
					.size = size > END_ROOM ? size - END_ROOM : 0};
}

static void put(struct journal_entry *entry, const char *bytes, size_t len)
{
	memcpy(entry->data + entry->used, bytes, len);
	entry->used += len;
}

static void put_length(struct journal_entry *entry, size_t len)
{
	for (unsigned i = 0; i < LENGTH_SIZE; i++)
		put(entry, &(char){(char)((uint64_t)len >> (8 * i) & 0xff)}, 1);
}

void journal_entry_add(struct journal_entry *entry, const char *name, const char *value)
{
	size_t name_len = strlen(name), len = strnlen(value, LIMIT_JOURNAL_VALUE + 1);
	bool has_newline = memchr(value, '\n', len) != NULL;
	/* Behind the name '=' or a newline, behind the value a newline. */
	size_t need = name_len + 1 + (has_newline ? LENGTH_SIZE : 0) + len + 1;

	if (len > LIMIT_JOURNAL_VALUE || need > entry->size - entry->used ||
	    entry->fields == LIMIT_JOURNAL_FIELDS) {
		entry->left_out++;
		return;
	}
	entry->fields++;
	put(entry, name, name_len);
	put(entry, has_newline ? "\n" : "=", 1);
	if (has_newline)
		put_length(entry, len);
	put(entry, value, len);
	put(entry, "\n", 1);
}

void journal_entry_end(struct journal_entry *entry)
{
	char field[END_ROOM];

	if (entry->left_out == 0 || entry->size == 0)
		return;
	int len = snprintf(field, sizeof(field), LEFT_OUT "=%zu\n", entry->left_out);
	put(entry, field, (size_t)len);
}
