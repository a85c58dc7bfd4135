/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * systemd, where it manages the container's cgroup: what it knows of the container's devices, and
 * telling it of ours. systemd.c says why.
 */
#include "arena.h"
#include "error.h"
#include "plan.h"
#include "undo.h"
#include "unit-text.h"

struct systemd_unit {
	const char *name;   /* NULL: no unit that we may change */
	const char *cgroup; /* path of its cgroup in the hierarchy that was asked about */
	struct unit_devices devices;
};

/*
 * The transient scope that the cgroup `path` is or lies in, as a runtime has one made for each
 * container. `ret_unit->name` is NULL where there is none. Whether it is the container's alone is
 * for the caller to make sure of.
 *
 * Runs in: the host's mount namespace. Trusts: root's files below /run/systemd. Hostile: nothing.
 */
int systemd_find_unit(struct arena *arena, const char *path, struct systemd_unit *ret_unit,
		      struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * Adds to the unit's device list what it lacks of `rules`, until the unit ends; systemd has acted on
 * it when this returns. The unit must have a list (unit_text_has_list()): a first entry would take
 * all other devices away. Gives up after LIMIT_SYSTEMD_MS.
 *
 * Runs in: the host's namespaces. Trusts: who listens at /run/systemd/private, if it is root.
 * Hostile: nothing; its answer is bounded in size and time.
 */
int systemd_allow(struct arena *arena, const struct systemd_unit *unit,
		  const struct device_rule *rules, size_t n_rules, struct undo *undo,
		  struct error *err) __attribute__((nonnull, warn_unused_result));
