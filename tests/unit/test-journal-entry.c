/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "journal-entry.h"

static char buffer[LIMIT_JOURNAL_ENTRY];

/* The whole datagram, byte by byte; `expected` is a literal, which may hold NUL bytes. */
#define assert_entry(entry, expected)                                                              \
	do {                                                                                       \
		assert_int_equal((entry).used, sizeof(expected) - 1);                              \
		assert_memory_equal((entry).data, (expected), sizeof(expected) - 1);               \
	} while (0)

static struct journal_entry empty(size_t size)
{
	struct journal_entry entry;

	memset(buffer, '#', sizeof(buffer));
	journal_entry_init(&entry, buffer, size);
	return entry;
}

static void test_fields(void **state)
{
	struct journal_entry entry = empty(sizeof(buffer));

	(void)state;
	journal_entry_add(&entry, "MESSAGE", "gave it");
	journal_entry_add(&entry, "PRIORITY", "5");
	journal_entry_add(&entry, "CDI_DEVICE", "v/c=1");
	journal_entry_add(&entry, "CDI_DEVICE", "v/c=2");
	journal_entry_add(&entry, "CDI_EMPTY", "");
	journal_entry_end(&entry);
	assert_entry(entry, "MESSAGE=gave it\nPRIORITY=5\nCDI_DEVICE=v/c=1\nCDI_DEVICE=v/c=2\n"
			    "CDI_EMPTY=\n");
}

/* Bytes that are no text, and what looks like the end of a field without being one. */
static void test_any_byte_but_newline_is_plain(void **state)
{
	struct journal_entry entry = empty(sizeof(buffer));

	(void)state;
	journal_entry_add(&entry, "A", "\x01\xff\r\t=\x7f");
	assert_entry(entry, "A=\x01\xff\r\t=\x7f\n");
}

/* The value cannot pose as further fields: a reader skips it by its length. */
static void test_newlines(void **state)
{
	struct journal_entry entry = empty(sizeof(buffer));

	(void)state;
	journal_entry_add(&entry, "CDI_CONTAINER_ID", "x\nCDI_DEVICE=all");
	journal_entry_add(&entry, "B", "\n");
	journal_entry_end(&entry);
	assert_entry(entry, "CDI_CONTAINER_ID\n\x10\0\0\0\0\0\0\0x\nCDI_DEVICE=all\n"
			    "B\n\x01\0\0\0\0\0\0\0\n\n");
}

static void test_length_has_its_lowest_byte_first(void **state)
{
	struct journal_entry entry = empty(sizeof(buffer));
	static char value[0x1234 + 1];

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	value[0] = '\n';
	journal_entry_add(&entry, "A", value);
	assert_int_equal(entry.used, 2 + 8 + 0x1234 + 1);
	assert_memory_equal(entry.data, "A\n\x34\x12\0\0\0\0\0\0\nvvv", 14);
	assert_int_equal(entry.data[entry.used - 1], '\n');
}

static void test_too_long_a_value_is_left_out(void **state)
{
	struct journal_entry entry = empty(sizeof(buffer));
	static char value[LIMIT_JOURNAL_VALUE + 2];

	(void)state;
	memset(value, 'v', LIMIT_JOURNAL_VALUE + 1);
	journal_entry_add(&entry, "LONG", value);
	journal_entry_add(&entry, "NEXT", "1");
	journal_entry_end(&entry);
	assert_entry(entry, "NEXT=1\nCDI_FIELDS_LEFT_OUT=1\n");

	entry = empty(sizeof(buffer));
	value[LIMIT_JOURNAL_VALUE] = '\0';
	journal_entry_add(&entry, "LONG", value);
	journal_entry_end(&entry);
	assert_int_equal(entry.used, 5 + LIMIT_JOURNAL_VALUE + 1);
}

static void test_number_of_fields(void **state)
{
	struct journal_entry entry = empty(sizeof(buffer));
	static const char last[] = "N=1\nCDI_FIELDS_LEFT_OUT=7\n";

	(void)state;
	for (int i = 0; i < LIMIT_JOURNAL_FIELDS + 7; i++)
		journal_entry_add(&entry, "N", "1");
	journal_entry_end(&entry);
	assert_int_equal(entry.used, 4 * LIMIT_JOURNAL_FIELDS + sizeof(last) - 1 - 4);
	assert_memory_equal(entry.data + entry.used - (sizeof(last) - 1), last, sizeof(last) - 1);
}

/* A buffer of each size: what fits is whole, the count is right, and no byte behind the buffer changes. */
static void test_any_size(void **state)
{
	static const char plain[] = "NAME=value\n", lines[] = "L\n\x02\0\0\0\0\0\0\0a\n\n";

	(void)state;
	for (size_t size = 0; size < 400; size++) {
		struct journal_entry entry = empty(size);
		char end[64] = "";
		size_t at = 0, whole = 0;

		for (int i = 0; i < 20; i++)
			journal_entry_add(&entry, i % 2 ? "L" : "NAME", i % 2 ? "a\n" : "value");
		size_t left_out = entry.left_out;
		journal_entry_end(&entry);
		assert_true(entry.used <= size);
		for (size_t i = size; i < 500; i++)
			assert_int_equal(buffer[i], '#');

		for (; at < entry.used && entry.data[at] != 'C'; whole++) {
			bool is_plain = entry.data[at] == 'N';
			size_t len = is_plain ? sizeof(plain) - 1 : sizeof(lines) - 1;
			assert_memory_equal(entry.data + at, is_plain ? plain : lines, len);
			at += len;
		}
		assert_int_equal(whole + left_out, 20);
		/* Where there is not even room for the count there is none for a field. */
		if (left_out && entry.used > 0)
			snprintf(end, sizeof(end), "CDI_FIELDS_LEFT_OUT=%zu\n", left_out);
		assert_true(size < 64 || entry.used > 0);
		assert_int_equal(entry.used - at, strlen(end));
		assert_memory_equal(entry.data + at, end, strlen(end));
		assert_true(size < 350 || left_out == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_any_byte_but_newline_is_plain),
		cmocka_unit_test(test_newlines),
		cmocka_unit_test(test_length_has_its_lowest_byte_first),
		cmocka_unit_test(test_too_long_a_value_is_left_out),
		cmocka_unit_test(test_number_of_fields),
		cmocka_unit_test(test_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
