/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a device node of this host is: its numbers, and what udev and the kernel know of it. */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "host-node.h"

struct host_device {
	int missing;           /* errno of the look-up; 0: it is there */
	struct host_node node; /* links followed */
	const char
		*name; /* the kernel's own name of it, "/dev/ttyUSB0"; NULL where sysfs has none */
	const char *
		driver; /* of the device or the nearest one above it; of its major number where sysfs has none; or NULL */
	const char *subsystem;    /* NULL where sysfs has none */
	struct string_list links; /* udev's other names: /dev/disk/by-path/..., sorted */
};

/* Where udev is asked; host_devices_done() at the end. */
struct host_devices {
	struct arena *arena;
	int root_fd; /* of "/" */
	struct udev *udev;
};

int host_devices_init(struct arena *arena, struct host_devices *devices, int root_fd,
		      struct error *err) __attribute__((nonnull, warn_unused_result));

/* Never opens the device. Fails only without memory: what is not there or not known is a result. */
int host_device_look_up(const struct host_devices *devices, const char *path,
			struct host_device *ret_device, struct error *err)
	__attribute__((nonnull, warn_unused_result));

void host_devices_done(struct host_devices *devices) __attribute__((nonnull));
#define _cleanup_host_devices_ __attribute__((cleanup(host_devices_done)))
