/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hook needs decides where it can run: prestart and createRuntime need the host's
 * namespaces, which both of these stages have; createContainer needs the container's, which can be
 * entered from there; poststart and poststop need their moment; and startContainer needs to be
 * started by the runtime, since its program lies in the container.
 */
#include "hook-schedule.h"

#include <string.h>

#define HOST_STAGES (STAGE_BIT(STAGE_PRESTART) | STAGE_BIT(STAGE_CREATE_RUNTIME))

/* Where a hook of this stage can run, its own stage included. */
static stage_set possible_stages(enum stage stage)
{
	switch (stage) {
	case STAGE_PRESTART:
	case STAGE_CREATE_RUNTIME:
		return HOST_STAGES;
	case STAGE_CREATE_CONTAINER:
		return HOST_STAGES | STAGE_BIT(STAGE_CREATE_CONTAINER);
	case STAGE_POSTSTART:
	case STAGE_POSTSTOP:
		return STAGE_BIT(stage);
	default:
		return 0;
	}
}

static enum stage earliest(stage_set stages)
{
	int stage = 0;

	while (!(stages & STAGE_BIT(stage)))
		stage++;
	return (enum stage)stage;
}

static stage_set registered(const struct hook_schedule *schedule)
{
	return schedule->registered | STAGE_BIT(schedule->now);
}

enum hook_turn hook_schedule_turn(const struct hook_schedule *schedule, enum stage stage)
{
	stage_set stages = possible_stages(stage) & registered(schedule);
	enum stage chosen;

	if (!stages)
		return HOOK_NEVER;
	chosen = stages & STAGE_BIT(stage) ? stage : earliest(stages);
	return chosen == schedule->now ? HOOK_NOW : HOOK_ANOTHER_TIME;
}

bool hook_schedule_done_earlier(const struct hook_schedule *schedule)
{
	return schedule->now <= STAGE_CREATE_CONTAINER &&
	       earliest(registered(schedule)) < schedule->now;
}

enum stage hook_schedule_entry_stage(const struct oci_hook *entry)
{
	for (size_t i = entry->args.n; i > 1; i--) {
		int stage = stage_from_name(entry->args.items[i - 1]);
		if (stage > STAGE_PRECREATE && stage != STAGE_START_CONTAINER)
			return (enum stage)stage;
	}
	return entry->stage;
}
