/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "dbus-message.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

#define AUTH_SIZE 26 /* "\0AUTH EXTERNAL 30\r\nBEGIN\r\n" */

/* Byte for byte what a writer made apart from ours gives. */
static void test_request(void **state)
{
	static const char expected[] =
		"l\001\000\001W\000\000\000\001\000\000\000\255\000\000\000\001\001o\000\031\000"
		"\000\000"
		"/org/freedesktop/systemd"
		"1\000\000\000\000\000\000\000\002\001s\000 \000\000\000org.free"
		"desktop.systemd1.Manager"
		"\000\000\000\000\000\000\000\000\003\001s\000\021\000\000\000SetUnitP"
		"roperties\000\000\000\000\000\000\000\006\001s\000\030\000\000\000"
		"org.freedesktop.systemd1"
		"\000\000\000\000\000\000\000\000\010\001g\000\007sba(sv)\000\000\000\000"
		"\007\000\000\000x.scope\000\001\000\000\000\077\000\000\000\000\000\000\000"
		"\013\000\000\000DeviceAllow\000\005a(ss)\000\000"
		"\037\000\000\000\000\000\000\000\020\000\000\000/dev/char/10"
		":229\000\000\000\000\002\000\000\000rw\000";
	struct unit_device items[] = {{"/dev/char/10:229", "rw"}};
	const struct unit_devices devices = {.list = {items, 1, 1}};
	struct dbus_bytes bytes;
	struct error err = {0};

	(void)state;
	assert_int_equal(dbus_message_set_devices(&arena, "x.scope", false, &devices, &bytes, &err),
			 0);
	assert_memory_equal(bytes.items, "\0AUTH EXTERNAL 30\r\nBEGIN\r\n", AUTH_SIZE);
	assert_true(bytes.n > AUTH_SIZE + sizeof(expected));
	assert_memory_equal(bytes.items + AUTH_SIZE, expected, sizeof(expected) - 1);
	assert_memory_equal(bytes.items + AUTH_SIZE + sizeof(expected) - 1,
			    "l\1\0\1\0\0\0\0\2\0\0\0", 12);
}

static void test_reset_comes_first(void **state)
{
	struct unit_device items[] = {{"/dev/null", "r"}};
	const struct unit_devices devices = {.list = {items, 1, 1}}, empty = {0};
	struct dbus_bytes bytes, cleared;
	struct error err = {0};

	(void)state;
	assert_int_equal(dbus_message_set_devices(&arena, "x", true, &devices, &bytes, &err), 0);
	const uint8_t *first = memmem(bytes.items, bytes.n, "DeviceAllow\0\5a(ss)\0\0\0\0\0", 24);
	assert_non_null(first);
	const size_t behind = bytes.n - (size_t)(first + 12 - bytes.items);
	assert_non_null(memmem(first + 12, behind, "DeviceAllow", 11));
	assert_non_null(memmem(first + 12, behind, "/dev/null", 9));
	assert_int_equal(dbus_message_set_devices(&arena, "x", true, &empty, &cleared, &err), 0);
	assert_true(cleared.n < bytes.n);
	/* The shortest that there is. systemd would not look at one that it has read as a whole with the authentication. */
	assert_true(cleared.n > 256);
}

static void test_authentication(void **state)
{
	struct error err = {0};
	char flood[LIMIT_DBUS_LINE + 1];
	size_t used = 0;

	(void)state;
	assert_int_equal(dbus_message_read_auth("OK 0", 4, &used, &err), DBUS_MORE);
	assert_int_equal(dbus_message_read_auth("OK 0\r\nl", 7, &used, &err), DBUS_REPLY);
	assert_int_equal(used, 6);
	assert_true(dbus_message_read_auth("REJECTED\r\n", 10, &used, &err) < 0);
	assert_error(&err, 0, "it does not let us in");
	err = (struct error){0};
	assert_true(dbus_message_read_auth("\n", 1, &used, &err) < 0);
	err = (struct error){0};
	memset(flood, 'x', sizeof(flood));
	assert_true(dbus_message_read_auth(flood, sizeof(flood), &used, &err) < 0);
	assert_error(&err, 0, "no answer to the authentication, but other bytes");
}

/* Of size 72: the body ends it. */
static const char refusal[] = "l\3\1\1\10\0\0\0\11\0\0\0\x1f\0\0\0"
			      "\5\1u\0\1\0\0\0"
			      "\4\1s\0\3\0\0\0a.b\0\0\0\0\0"
			      "\10\1g\0\1s\0\0"
			      "\3\0\0\0no!";
#define REFUSAL_SIZE sizeof(refusal)

static void test_replies(void **state)
{
	static const char good[] = "l\2\1\1\0\0\0\0\7\0\0\0\10\0\0\0\5\1u\0\2\0\0\0";
	static const char big_endian[] = "B\2\1\1\0\0\0\0\0\0\0\7\0\0\0\10\5\1u\0\0\0\0\2";
	static const char signal[] = "l\4\1\1\0\0\0\0\7\0\0\0\10\0\0\0\5\1u\0\2\0\0\0";
	struct dbus_reply reply;
	struct error err = {0};
	size_t used = 0;

	(void)state;
	assert_int_equal(dbus_message_read_reply(&arena, good, 24, &used, &reply, &err),
			 DBUS_REPLY);
	assert_int_equal(used, 24);
	assert_int_equal(reply.serial, 2);
	assert_null(reply.error);
	assert_int_equal(dbus_message_read_reply(&arena, big_endian, 24, &used, &reply, &err),
			 DBUS_REPLY);
	assert_int_equal(reply.serial, 2);
	assert_int_equal(dbus_message_read_reply(&arena, signal, 24, &used, &reply, &err),
			 DBUS_REPLY);
	assert_int_equal(reply.serial, 0);
	assert_int_equal(
		dbus_message_read_reply(&arena, refusal, REFUSAL_SIZE, &used, &reply, &err),
		DBUS_REPLY);
	assert_int_equal(used, REFUSAL_SIZE);
	assert_int_equal(reply.serial, 1);
	assert_string_equal(reply.error, "no!");
}

/* Every shorter one is not whole yet, and no changed byte makes us read elsewhere. */
static void test_cut_off_and_changed(void **state)
{
	struct dbus_reply reply;
	size_t used;

	(void)state;
	for (size_t n = 0; n < REFUSAL_SIZE; n++) {
		struct error err = {0};
		char *exact = arena_alloc(&arena, n ? n : 1);
		memcpy(exact, refusal, n);
		assert_int_equal(dbus_message_read_reply(&arena, exact, n, &used, &reply, &err),
				 DBUS_MORE);
	}
	for (size_t i = 0; i < REFUSAL_SIZE; i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			char changed[REFUSAL_SIZE];
			struct error err = {0};
			memcpy(changed, refusal, sizeof(changed));
			changed[i] = (char)byte;
			int r = dbus_message_read_reply(&arena, changed, sizeof(changed), &used,
							&reply, &err);
			assert_true(r != DBUS_REPLY || used <= sizeof(changed));
			assert_int_equal(r < 0, error_is_set(&err));
		}
}

static void test_no_messages(void **state)
{
	struct dbus_reply reply;
	struct error err = {0};
	size_t used;

	(void)state;
	assert_true(dbus_message_read_reply(&arena, "HTTP/1.1 200 OK\r", 16, &used, &reply, &err) <
		    0);
	assert_error(&err, 0, "its answer is no D-Bus message");
	err = (struct error){0};
	assert_true(dbus_message_read_reply(&arena, "l\2\1\1\0\0\1\1\7\0\0\0\0\0\0\0", 16, &used,
					    &reply, &err) < 0);
	assert_error(&err, 0, "its answer is longer than 65536 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_request, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset_comes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_authentication, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_off_and_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_messages, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
