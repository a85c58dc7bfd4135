/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which hooks of specs run now. Whoever registers this program at several stages must get each of
 * them once, and whoever registers it at one must hear of those that cannot run there.
 */
#include <stdbool.h>

#include "oci-config.h"
#include "stage.h"

/* A set of stages. */
typedef unsigned stage_set;
#define STAGE_BIT(stage) (1U << (stage))

struct hook_schedule {
	enum stage now;
	stage_set
		registered; /* the stages at which this program is called for the container; `now` is one of them in any case */
};

enum hook_turn {
	HOOK_NOW,
	HOOK_ANOTHER_TIME, /* at another stage at which we are registered */
	HOOK_NEVER,        /* at none of them */
};

/* For a hook that is a program to run: at its own stage, or at the earliest one that has what it needs. */
enum hook_turn hook_schedule_turn(const struct hook_schedule *schedule, enum stage stage)
	__attribute__((nonnull));

/*
 * Whether an earlier stage is ours too: nodes, mounts, device rules and what is built in are done
 * there. False at the stages after the start, which have no part in that.
 */
bool hook_schedule_done_earlier(const struct hook_schedule *schedule) __attribute__((nonnull));

/*
 * The stage that an entry of ours in config.json calls us with: the word in its args. An engine may
 * have put it into another list than its file says (prestart becomes createRuntime in podman 5).
 */
enum stage hook_schedule_entry_stage(const struct oci_hook *entry) __attribute__((nonnull));
