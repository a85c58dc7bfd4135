/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Talking to the kernel about network interfaces of one network namespace. */
#include "arena.h"
#include "error.h"
#include "netlink.h"

/* A socket that speaks for the network namespace in which this process is. Returns its fd. */
int net_link_open(struct error *err) __attribute__((nonnull, warn_unused_result));

/* The interface with this name: 1 and `*ret_link`, or 0 when there is none. */
int net_link_find(int socket_fd, const char *name, struct net_link *ret_link, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* The addresses of an interface that an administrator gave it for good, for use outside its own network. */
int net_link_addresses(struct arena *arena, int socket_fd, int index,
		       struct net_address_list *ret_addresses, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Sends a request that is answered by an acknowledgement. */
int net_link_do(int socket_fd, const struct netlink_request *request, struct error *err)
	__attribute__((nonnull, warn_unused_result));
