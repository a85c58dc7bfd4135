/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a class of the kernel's resctrl file system allots: the lines of its "schemata" file. */
#include <stdbool.h>

/*
 * Whether a class whose schemata file says `actual` gives what `wanted` asks for: one line such as
 * "L3:0=ff0;1=ff0" or several. Domains that are not named do not matter, nor leading zeros and blanks.
 */
bool resctrl_allots(const char *actual, const char *wanted) __attribute__((nonnull));
