/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Network interfaces of the host that a container gets for itself (CDI 1.1.0 netDevices). */
#include "arena.h"
#include "container.h"
#include "error.h"
#include "netlink.h"
#include "plan.h"
#include "undo.h"

/* One interface of the plan, and what it was on the host. */
struct net_device {
	const struct plan_net_device *plan;
	struct net_devices *all;
	struct net_link link; /* index 0: it is in the container already */
	bool moved;           /* to the container, as the kernel says */
	int moved_index;      /* its number there; 0: not known */
	struct net_address_list addresses;
};

struct net_devices {
	struct net_device *items;
	size_t n;
	int host_namespace_fd, container_namespace_fd;
	int host_fd, container_fd; /* netlink sockets */
};

#define NET_DEVICES_NULL                                                                           \
	{                                                                                          \
		.host_namespace_fd = -1, .container_namespace_fd = -1, .host_fd = -1,              \
		.container_fd = -1                                                                 \
	}

/*
 * Looks at the interfaces and at the container's network namespace; nothing is changed. Does nothing
 * for a plan without interfaces. An interface that is in the container already, under the right
 * name, is left as it is.
 */
int net_devices_find(struct arena *arena, const struct plan *plan,
		     const struct container *container, struct net_devices *ret_devices,
		     struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * Moves what net_devices_find() found, gives it its name, its lasting addresses, and sets it up
 * (runtime-spec 1.3, linux.netDevices). `devices` must outlive `undo`.
 */
int net_devices_move(struct net_devices *devices, struct undo *undo, struct error *err)
	__attribute__((nonnull, warn_unused_result));

void net_devices_close(struct net_devices *devices) __attribute__((nonnull));
