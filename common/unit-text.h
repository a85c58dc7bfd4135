/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What systemd's unit files say about devices, and which unit a cgroup belongs to. Bytes in,
 * structures out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "plan.h"

/* One entry of a unit's device list: "/dev/char/10:229" or "char-pts", and "rw". */
struct unit_device {
	const char *device, *access;
};

struct unit_devices {
	/* DevicePolicy= is strict or closed. */
	bool policy_closed;
	ARRAY(struct unit_device) list;
	/* The path of the pinned device program that BPFProgram=device:PATH names, or NULL. */
	const char *pin;
	/* Slice=: below which its cgroup lies. NULL: systemd's default. */
	const char *slice;
};

/*
 * Reads one file on top of what earlier ones said, as systemd reads a unit and its drop-ins. Only
 * the device settings are looked at. Fails on a text that is no unit file.
 */
int unit_text_parse(struct arena *arena, const char *text, size_t size,
		    struct unit_devices *devices, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Whether the unit has a device list of its own, so that an entry more takes nothing away. */
bool unit_text_has_list(const struct unit_devices *devices) __attribute__((nonnull));

/* Room for the longest device of a rule: "/dev/block/4294967295:4294967295". */
#define UNIT_TEXT_DEVICE_MAX 40
/* How a unit's list names a rule's device, and its access. */
const char *unit_text_device(char text[static UNIT_TEXT_DEVICE_MAX],
			     const struct device_rule *rule);
#define UNIT_TEXT_ACCESS_MAX 4
const char *unit_text_access(char text[static UNIT_TEXT_ACCESS_MAX],
			     const struct device_rule *rule);
/* Whether the list has the rule, entry by entry as unit_text_device() writes it. */
bool unit_text_allows(const struct unit_devices *devices, const struct device_rule *rule)
	__attribute__((nonnull));

/*
 * The name of the scope that the cgroup `path` is or lies in, the innermost one, and as `*ret_path`
 * the path of its cgroup; NULL where there is none (`*ret_path` as well) or no memory. A name with a
 * "_" in front that systemd would not put there is none of systemd's.
 */
const char *unit_text_scope(struct arena *arena, const char *path, const char **ret_path)
	__attribute__((nonnull));

/*
 * The name of the slice or service that the cgroup `path` is by its name, a part of it; NULL where it is neither. Above a
 * container's cgroup such a unit is an administrator's.
 */
const char *unit_text_slice_or_service(const char *path) __attribute__((nonnull));

/* What systemd calls its own device program, from release 251 on; before that it has no name. */
#define UNIT_TEXT_PROGRAM "sd_devices"

/* What keeps a device from all that is in such a unit. */
struct unit_limit {
	uint32_t program;    /* its number; 0: a list of v1 or, with `problem`, all programs */
	const char *name;    /* the program's own, may be empty */
	const char *problem; /* why nobody can tell what it does, or NULL; printable */
	bool escaped_later; /* whoever prints the sentence does it: a backslash would not come out as one */
};

/*
 * What can be done about it, as a part of a sentence: a command only where typing it takes no device from anybody, as a first
 * entry of a unit without a list would. `rule`: one that is refused, not needed with `limit->problem`. NULL: no memory.
 */
const char *unit_text_advice(struct arena *arena, const char *unit, const struct device_rule *rule,
			     const struct unit_limit *limit) __attribute__((nonnull(1, 2, 4)));

/*
 * The path of the cgroup that systemd makes for the unit. Each directory on the way, the last one too,
 * may have a "_" in front of its name: which names get one depends on systemd's release. NULL: no
 * memory.
 */
const char *unit_text_cgroup(struct arena *arena, const struct unit_devices *devices,
			     const char *unit) __attribute__((nonnull));
