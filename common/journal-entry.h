/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One entry for journald, in the form that its socket takes (systemd's "Native Journal Protocol"): fields with names, so
 * that a person can ask for the containers that got a device.
 */
#include <stddef.h>

struct journal_entry {
	char *data;
	size_t size, used;
	size_t fields, left_out;
};

/* An empty entry, which is written into `buffer`; of `size` bytes, LIMIT_JOURNAL_ENTRY where it may be long. */
void journal_entry_init(struct journal_entry *entry, char *buffer, size_t size)
	__attribute__((nonnull));

/*
 * Adds a field; a name may come several times. `name` is ours: capitals, digits and underscores, no underscore first. `value`
 * is any bytes. What is too long (LIMIT_JOURNAL_VALUE), or has no room, is left out as a whole: half a name could be taken
 * for another one.
 */
void journal_entry_add(struct journal_entry *entry, const char *name, const char *value)
	__attribute__((nonnull));

/* Adds CDI_FIELDS_LEFT_OUT, how many were, if any; then `data` and `used` are the datagram. */
void journal_entry_end(struct journal_entry *entry) __attribute__((nonnull));
