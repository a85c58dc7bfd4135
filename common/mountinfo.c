/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount table as the kernel prints it, read without libmount: the static hook needs two answers
 * only (how a mount propagates, and whether a file system is also the host's), and loading libmount
 * takes longer than the whole run.
 *
 *   36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 *   id parent major:minor root mount-point options optional... - type source super-options
 */
#include "mountinfo.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/*
 * One line while it is read. Fields are separated by exactly one blank each: an empty source is a
 * field too.
 */
struct line {
	const char *at, *end;
	unsigned number;
};

struct field {
	const char *text;
	size_t len;
};

static int expected(const struct line *line, const char *what, struct error *err)
{
	return error_set(err, 0, "mountinfo:%u: expected %s", line->number, what);
}

/* False when the line has no further field. */
static bool take_field(struct line *line, struct field *ret_field)
{
	if (!line->at)
		return false;
	const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
	const char *stop = blank ? blank : line->end;

	*ret_field = (struct field){line->at, (size_t)(stop - line->at)};
	line->at = blank ? blank + 1 : NULL;
	return true;
}

static bool field_is(const struct field *field, const char *text)
{
	return field->len == strlen(text) && memcmp(field->text, text, field->len) == 0;
}

/* Digits only, up to `most`. */
static bool number_parse(const char *text, size_t len, uint64_t most, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)(text[i] - '0');
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number) || number > most)
			return false;
	}
	*ret_number = number;
	return len > 0;
}

static bool take_id(struct line *line, uint64_t *ret_id)
{
	struct field field;

	return take_field(line, &field) && number_parse(field.text, field.len, UINT64_MAX, ret_id);
}

static bool take_numbers(struct line *line, struct mountinfo_entry *entry)
{
	struct field field;
	uint64_t major, minor;

	if (!take_field(line, &field))
		return false;
	const char *colon = memchr(field.text, ':', field.len);
	if (!colon)
		return false;
	size_t before = (size_t)(colon - field.text);
	if (!number_parse(field.text, before, UINT32_MAX, &major) ||
	    !number_parse(colon + 1, field.len - before - 1, UINT32_MAX, &minor))
		return false;
	entry->major = (uint32_t)major;
	entry->minor = (uint32_t)minor;
	return true;
}

static bool is_octal(const char *text, size_t len)
{
	return len >= 3 && text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7' && memcmp(text, "000", 3) != 0;
}

/*
 * A copy with \040 and the like undone: the kernel writes blanks, tabs, newlines, '#' and the
 * backslash so.
 */
static const char *unescape(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);
	size_t used = 0;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && is_octal(text + i + 1, len - i - 1)) {
			copy[used++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					      (text[i + 3] - '0'));
			i += 3;
		} else {
			copy[used++] = text[i];
		}
	}
	return copy;
}

static int take_text(struct arena *arena, struct line *line, const char **ret_text,
		     const char *what, struct error *err)
{
	struct field field;

	if (!take_field(line, &field))
		return expected(line, what, err);
	*ret_text = unescape(arena, field.text, field.len);
	return *ret_text ? 0 : error_memory(err);
}

static bool take_peer_group(const struct field *field, const char *tag, unsigned *ret_group)
{
	size_t len = strlen(tag);
	uint64_t group;

	if (field->len <= len || memcmp(field->text, tag, len) != 0 ||
	    !number_parse(field->text + len, field->len - len, UINT_MAX, &group))
		return false;
	*ret_group = (unsigned)group;
	return true;
}

/* The optional fields and the "-" behind them. Tags that a later kernel may add are passed over. */
static int take_optional(struct line *line, struct mountinfo_entry *entry, struct error *err)
{
	struct field field;

	while (take_field(line, &field)) {
		if (field_is(&field, "-"))
			return 0;
		if (field_is(&field, "unbindable"))
			entry->unbindable = true;
		else if (!take_peer_group(&field, "shared:", &entry->shared))
			take_peer_group(&field, "master:", &entry->master);
	}
	return expected(line, "a single - before the file system type", err);
}

static int line_parse(struct arena *arena, struct line *line, struct mountinfo_entry *entry,
		      struct error *err)
{
	int r;

	if (!take_id(line, &entry->id))
		return expected(line, "a mount id", err);
	if (!take_id(line, &entry->parent))
		return expected(line, "the id of the parent mount", err);
	if (!take_numbers(line, entry))
		return expected(line, "the file system's major:minor", err);
	if ((r = take_text(arena, line, &entry->root, "a root", err)) < 0 ||
	    (r = take_text(arena, line, &entry->mount_point, "a mount point", err)) < 0 ||
	    (r = take_text(arena, line, &entry->options, "mount options", err)) < 0 ||
	    (r = take_optional(line, entry, err)) < 0 ||
	    (r = take_text(arena, line, &entry->fs_type, "a file system type", err)) < 0 ||
	    (r = take_text(arena, line, &entry->source, "a source", err)) < 0)
		return r;
	/* The rest, blanks included: some file systems print their options unescaped. */
	if (!line->at)
		return expected(line, "the file system's options", err);
	entry->super_options = unescape(arena, line->at, (size_t)(line->end - line->at));
	return entry->super_options ? 0 : error_memory(err);
}

int mountinfo_parse(struct arena *arena, const char *data, size_t size, struct mountinfo *ret_table,
		    struct error *err)
{
	const char *end = data + size;
	unsigned number = 0;

	*ret_table = (struct mountinfo){0};
	for (const char *at = data; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		number++;
		struct line line = {.at = at, .end = newline ? newline : end, .number = number};

		if (memchr(line.at, '\0', (size_t)(line.end - line.at)))
			return expected(&line, "text without NUL", err);
		struct mountinfo_entry *entry = array_add(arena, ret_table);
		if (!entry)
			return error_memory(err);
		int r = line_parse(arena, &line, entry, err);
		if (r < 0)
			return r;
		at = newline ? newline + 1 : end;
	}
	return 0;
}

const struct mountinfo_entry *mountinfo_find(const struct mountinfo *table, uint64_t id)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->items[i].id == id)
			return &table->items[i];
	return NULL;
}

bool mountinfo_has_device(const struct mountinfo *table, uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->items[i].major == major && table->items[i].minor == minor)
			return true;
	return false;
}
