/* SPDX-License-Identifier: Apache-2.0 */
/* The state on stdin does not say at which stage a hook is called: the word on the command line
 * alone does. */
#include "stage.h"

#include <string.h>

static const char *const names[STAGE_COUNT] = {
	[STAGE_PRECREATE] = "precreate",
	[STAGE_PRESTART] = "prestart",
	[STAGE_CREATE_RUNTIME] = "createRuntime",
	[STAGE_CREATE_CONTAINER] = "createContainer",
	[STAGE_START_CONTAINER] = "startContainer",
	[STAGE_POSTSTART] = "poststart",
	[STAGE_POSTSTOP] = "poststop",
};

const char *stage_name(enum stage stage)
{
	return names[stage];
}

int stage_from_name(const char *name)
{
	for (int i = 0; i < STAGE_COUNT; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}
