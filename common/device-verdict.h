/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a device program answers, found out without running it in the kernel: nobody can ask the kernel what a process of
 * somebody else's may open. The hook leaves a program alone that allows a device already, as where an engine knows CDI
 * itself; cdictl check says what one refuses.
 */
#include <stdbool.h>

#include "arena.h"
#include "device-filter.h"
#include "error.h"
#include "plan.h"

/*
 * `*ret_refused` is the access of `rule->access` that the program refuses: a bit for each way of asking that is refused (to
 * read, to write, both at once as opening a node does, to make a node). Fails with a sentence where the program does what
 * cannot be followed: calls, maps, jumps backwards.
 */
int device_verdict(const struct device_filter *filter, const struct device_rule *rule,
		   unsigned *ret_refused, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether it allows all that the rule does: each kind of access alone, and any of them at once. False, too, where it cannot be
 * followed.
 */
bool device_verdict_allows(const struct device_filter *filter, const struct device_rule *rule)
	__attribute__((nonnull));
