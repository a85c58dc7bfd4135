/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The few D-Bus messages that we exchange with systemd: what is sent, and what comes back, as
 * bytes. Not a D-Bus library: no other message can be made, and of replies only what is asked for
 * is read.
 */
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "unit-text.h"

struct dbus_bytes {
	uint8_t *items;
	size_t n, cap;
};

/* Serial numbers of the two calls in a request: a reply carries that of its call. */
enum { DBUS_SERIAL_SET = 1, DBUS_SERIAL_BARRIER = 2 };

/*
 * A whole conversation's worth of bytes: authentication as root, a call that sets the unit's device
 * list (`reset`: to exactly `devices`; else these are added), for as long as the unit lives, and a
 * second, empty call: systemd answers it only after it has acted on the first.
 */
int dbus_message_set_devices(struct arena *arena, const char *unit, bool reset,
			     const struct unit_devices *devices, struct dbus_bytes *ret_bytes,
			     struct error *err) __attribute__((nonnull, warn_unused_result));

struct dbus_reply {
	uint32_t serial; /* of the call; 0 for a message that is no reply */
	const char
		*error; /* what went wrong, in the sender's words; NULL: the call has succeeded */
};

enum { DBUS_MORE = 0, DBUS_REPLY = 1 };

/*
 * Takes the line that answers the authentication off the front: `*ret_used` bytes. DBUS_MORE when it
 * has not come as a whole yet, DBUS_REPLY when we are let in.
 */
int dbus_message_read_auth(const char *data, size_t size, size_t *ret_used, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* The same for one message. */
int dbus_message_read_reply(struct arena *arena, const char *data, size_t size, size_t *ret_used,
			    struct dbus_reply *ret_reply, struct error *err)
	__attribute__((nonnull, warn_unused_result));
