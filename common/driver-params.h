/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The settings of NVIDIA's driver, /proc/driver/nvidia/params: "NAME: VALUE", one a line. */
#include <stddef.h>

#include "arena.h"
#include "error.h"

/*
 * The same settings, but that programs of the driver are not to make or change device nodes: in a container they would
 * make nodes of GPUs that were not given to it. 1 with `*ret_text`; 0 when the driver says so already, or is none that
 * would.
 */
int driver_params_mask(struct arena *arena, const char *text, size_t size, const char **ret_text,
		       struct error *err) __attribute__((nonnull, warn_unused_result));
