/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a device program decides. An engine that knows CDI has the runtime's program allow a device
 * already; then there is nothing to put in front of it.
 */
#include <stdbool.h>

#include "device-filter.h"
#include "plan.h"

/*
 * Whether `filter` allows all that `rule` does: each kind of access alone, and any of them at once,
 * as the kernel asks for them. False, too, where that cannot be told: the program does more than
 * runtimes' programs do (memory of its own, a register that was never set). `filter` must have
 * passed device_filter_check(), so that it only jumps forward.
 */
bool device_verdict_allows(const struct device_filter *filter, const struct device_rule *rule)
	__attribute__((nonnull));
