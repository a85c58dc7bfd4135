/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D-Bus on the wire, as far as we speak it: little-endian, every value aligned to its size from the
 * start of its message. A message is a fixed head, an array of header fields (a number and a variant
 * each), padding to 8 and a body. A D-Bus library would bring threads, callbacks and a dependency of
 * the static program for two calls of fixed form.
 */
#include "dbus-message.h"

#include <stdbool.h>
#include <string.h>

#include "bounds.h"

enum { TYPE_CALL = 1, TYPE_RETURN = 2, TYPE_ERROR = 3 };
enum {
	FIELD_PATH = 1,
	FIELD_INTERFACE = 2,
	FIELD_MEMBER = 3,
	FIELD_ERROR_NAME = 4,
	FIELD_REPLY_SERIAL = 5,
	FIELD_DESTINATION = 6,
	FIELD_SIGNATURE = 8,
};
/* Head: byte order, type, flags, version, size of the body, serial, size of the header fields. */
#define HEAD_SIZE 16

/* ---- Writing ---- */

/* `failed`: there was no memory, and what was put since is lost. */
struct writer {
	struct arena *arena;
	struct dbus_bytes *bytes;
	size_t start; /* of the message: alignment counts from there */
	bool failed;
};

static void put_byte(struct writer *writer, unsigned byte)
{
	uint8_t *slot = array_add(writer->arena, writer->bytes);

	if (slot)
		*slot = (uint8_t)byte;
	else
		writer->failed = true;
}

static void put_bytes(struct writer *writer, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_byte(writer, (uint8_t)data[i]);
}

static void align(struct writer *writer, size_t size)
{
	while (!writer->failed && (writer->bytes->n - writer->start) % size)
		put_byte(writer, 0);
}

static void put_number(struct writer *writer, uint32_t number)
{
	align(writer, 4);
	for (unsigned shift = 0; shift < 32; shift += 8)
		put_byte(writer, number >> shift & 0xff);
}

/* Room for a number that is known later. */
static size_t put_gap(struct writer *writer)
{
	put_number(writer, 0);
	return writer->bytes->n - 4;
}

static void fill_gap(struct writer *writer, size_t gap, size_t number)
{
	for (unsigned i = 0; i < 4 && !writer->failed; i++)
		writer->bytes->items[gap + i] = (uint8_t)(number >> (8 * i));
}

static void put_string(struct writer *writer, const char *text)
{
	put_number(writer, (uint32_t)strlen(text));
	put_bytes(writer, text, strlen(text) + 1);
}

static void put_signature(struct writer *writer, const char *signature)
{
	put_byte(writer, (unsigned)strlen(signature));
	put_bytes(writer, signature, strlen(signature) + 1);
}

static void put_field(struct writer *writer, unsigned field, const char *signature,
		      const char *value)
{
	align(writer, 8);
	put_byte(writer, field);
	put_signature(writer, signature);
	if (strcmp(signature, "g") == 0)
		put_signature(writer, value);
	else
		put_string(writer, value);
}

struct call {
	uint32_t serial;
	const char *interface, *member, *signature;
};

/* Everything before the body; returns where the body's size goes. */
static size_t put_call(struct writer *writer, const struct call *call)
{
	writer->start = writer->bytes->n;
	put_bytes(writer, "l", 1);
	put_byte(writer, TYPE_CALL);
	put_byte(writer, 0);
	put_byte(writer, 1);
	size_t body = put_gap(writer);
	put_number(writer, call->serial);
	size_t fields = put_gap(writer), from = writer->bytes->n;
	put_field(writer, FIELD_PATH, "o", "/org/freedesktop/systemd1");
	put_field(writer, FIELD_INTERFACE, "s", call->interface);
	put_field(writer, FIELD_MEMBER, "s", call->member);
	put_field(writer, FIELD_DESTINATION, "s", "org.freedesktop.systemd1");
	if (call->signature)
		put_field(writer, FIELD_SIGNATURE, "g", call->signature);
	fill_gap(writer, fields, writer->bytes->n - from);
	align(writer, 8);
	return body;
}

/* A property and its value: ("DeviceAllow", a(ss)). */
static void put_device_list(struct writer *writer, const struct unit_devices *devices)
{
	align(writer, 8);
	put_string(writer, "DeviceAllow");
	put_signature(writer, "a(ss)");
	size_t size = put_gap(writer);
	align(writer, 8);
	size_t from = writer->bytes->n;
	for (size_t i = 0; devices && i < devices->list.n; i++) {
		align(writer, 8);
		put_string(writer, devices->list.items[i].device);
		put_string(writer, devices->list.items[i].access);
	}
	fill_gap(writer, size, writer->bytes->n - from);
}

/* SetUnitProperties(s unit, b for now only, a(sv) properties). An empty list clears what there is. */
static void put_set_properties(struct writer *writer, const char *unit, bool reset,
			       const struct unit_devices *devices)
{
	const struct call call = {
		.serial = DBUS_SERIAL_SET,
		.interface = "org.freedesktop.systemd1.Manager",
		.member = "SetUnitProperties",
		.signature = "sba(sv)",
	};
	size_t body = put_call(writer, &call), from = writer->bytes->n;

	put_string(writer, unit);
	put_number(writer, 1);
	size_t size = put_gap(writer);
	align(writer, 8);
	size_t first = writer->bytes->n;
	if (reset)
		put_device_list(writer, NULL);
	if (devices->list.n > 0)
		put_device_list(writer, devices);
	fill_gap(writer, size, writer->bytes->n - first);
	fill_gap(writer, body, writer->bytes->n - from);
}

int dbus_message_set_devices(struct arena *arena, const char *unit, bool reset,
			     const struct unit_devices *devices, struct dbus_bytes *ret_bytes,
			     struct error *err)
{
	/* "30" is user 0, its digit as hexadecimal code. */
	const char auth[] = "\0AUTH EXTERNAL 30\r\nBEGIN\r\n";
	const struct call barrier = {
		.serial = DBUS_SERIAL_BARRIER,
		.interface = "org.freedesktop.DBus.Peer",
		.member = "Ping",
	};
	struct writer writer = {.arena = arena, .bytes = ret_bytes};

	*ret_bytes = (struct dbus_bytes){0};
	/*
	 * systemd's first read is of 256 bytes, and messages that it took off the socket as a whole with the
	 * authentication it looks at only when more comes. Ours are always longer than that.
	 */
	put_bytes(&writer, auth, sizeof(auth) - 1);
	put_set_properties(&writer, unit, reset, devices);
	put_call(&writer, &barrier);
	return writer.failed ? error_memory(err) : 0;
}

/* ---- Reading ---- */

int dbus_message_read_auth(const char *data, size_t size, size_t *ret_used, struct error *err)
{
	const char *end = memchr(data, '\n', size);

	if (!end && size > LIMIT_DBUS_LINE)
		return error_set(err, 0, "no answer to the authentication, but other bytes");
	if (!end)
		return DBUS_MORE;
	if (size < 3 || memcmp(data, "OK ", 3) != 0)
		return error_set(err, 0, "it does not let us in");
	*ret_used = (size_t)(end - data) + 1;
	return DBUS_REPLY;
}

/* What is left of a message. All numbers in it are the sender's: each is compared before it is used. */
struct reader {
	const uint8_t *message;
	size_t at, end;
	bool big_endian;
	bool failed;
};

static uint32_t number_at(const uint8_t *at, bool big_endian)
{
	return big_endian ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
				    at[3]
			  : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 |
				    at[0];
}

/* NULL, and `failed`, when there are fewer bytes. */
static const uint8_t *take(struct reader *reader, size_t alignment, size_t n)
{
	size_t at = (reader->at + alignment - 1) / alignment * alignment;

	if (reader->failed || at > reader->end || n > reader->end - at) {
		reader->failed = true;
		return NULL;
	}
	reader->at = at + n;
	return reader->message + at;
}

static uint32_t take_number(struct reader *reader)
{
	const uint8_t *at = take(reader, 4, 4);

	return at ? number_at(at, reader->big_endian) : 0;
}

/* A string with its NUL behind it, not copied. */
static const char *take_string(struct reader *reader)
{
	uint32_t len = take_number(reader);
	const uint8_t *at = take(reader, 1, (size_t)len + 1);

	if (at && (at[len] || memchr(at, 0, len)))
		reader->failed = true;
	return reader->failed ? NULL : (const char *)at;
}

/* The signatures that fields of a reply have: one letter. Returns it. */
static char take_signature(struct reader *reader)
{
	const uint8_t *at = take(reader, 1, 3);

	if (at && (at[0] != 1 || at[2]))
		reader->failed = true;
	return reader->failed ? '\0' : (char)at[1];
}

struct fields {
	uint32_t reply_serial;
	const char *error_name;
	bool body_is_string; /* its first value */
};

static void take_field(struct reader *reader, struct fields *fields)
{
	const uint8_t *number = take(reader, 8, 1);
	char signature = take_signature(reader);

	if (!number || reader->failed)
		return;
	if (signature == 'u') {
		uint32_t value = take_number(reader);
		if (*number == FIELD_REPLY_SERIAL)
			fields->reply_serial = value;
	} else if (signature == 's' || signature == 'o') {
		const char *value = take_string(reader);
		if (*number == FIELD_ERROR_NAME)
			fields->error_name = value;
	} else if (signature == 'g') {
		const uint8_t *len = take(reader, 1, 1);
		const uint8_t *value = len ? take(reader, 1, (size_t)*len + 1) : NULL;
		if (value && *number == FIELD_SIGNATURE)
			fields->body_is_string = value[0] == 's';
	} else {
		reader->failed = true;
	}
}

static int malformed(struct error *err)
{
	return error_set(err, 0, "its answer is no D-Bus message");
}

int dbus_message_read_reply(struct arena *arena, const char *data, size_t size, size_t *ret_used,
			    struct dbus_reply *ret_reply, struct error *err)
{
	const uint8_t *message = (const uint8_t *)data;
	struct fields fields = {0};

	if (size < HEAD_SIZE)
		return DBUS_MORE;
	if ((message[0] != 'l' && message[0] != 'B') || message[3] != 1)
		return malformed(err);
	const bool big_endian = message[0] == 'B';
	const size_t body_size = number_at(message + 4, big_endian);
	const size_t fields_size = number_at(message + 12, big_endian);
	if (body_size > LIMIT_DBUS_REPLY || fields_size > LIMIT_DBUS_REPLY)
		return error_set(err, 0, "its answer is longer than %d bytes", LIMIT_DBUS_REPLY);
	const size_t body = (HEAD_SIZE + fields_size + 7) / 8 * 8;
	if (size < body + body_size)
		return DBUS_MORE;

	struct reader reader = {message, HEAD_SIZE, HEAD_SIZE + fields_size, big_endian, false};
	while (!reader.failed && reader.at < reader.end)
		take_field(&reader, &fields);
	if (reader.failed)
		return malformed(err);
	*ret_used = body + body_size;
	*ret_reply = (struct dbus_reply){0};
	if (message[1] == TYPE_RETURN || message[1] == TYPE_ERROR)
		ret_reply->serial = fields.reply_serial;
	if (message[1] != TYPE_ERROR)
		return DBUS_REPLY;
	reader = (struct reader){message, body, body + body_size, big_endian, false};
	const char *words = fields.body_is_string ? take_string(&reader) : NULL;
	ret_reply->error = arena_strdup(arena, words ?: fields.error_name ?: "no reason given");
	return ret_reply->error ? DBUS_REPLY : error_memory(err);
}
