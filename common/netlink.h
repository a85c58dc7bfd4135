/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The few messages by which the kernel is asked to move a network interface (rtnetlink(7)), as
 * bytes: who sends them stands in hook/net-link.c.
 */
#include <linux/netlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

/* Room for the largest of our requests: an address with all its attributes has about 120 bytes. */
#define NETLINK_REQUEST_MAX 256

struct netlink_request {
	union {
		struct nlmsghdr header;
		char bytes[NETLINK_REQUEST_MAX];
	};
};

struct net_link {
	int index;
	bool up;
};

/* An address that an administrator gave to an interface. */
struct net_address {
	uint8_t family;     /* AF_INET or AF_INET6 */
	uint8_t prefix_len; /* bits */
	uint32_t flags;     /* IFA_F_* that have to be said again */
	uint8_t size;       /* bytes of the addresses below: 4 or 16 */
	bool has_local, has_broadcast;
	uint8_t address[16], local[16], broadcast[16];
};

struct net_address_list {
	struct net_address *items;
	size_t n, cap;
};

/*
 * Requests. All but the list of addresses are answered with one message or an acknowledgement.
 */
void netlink_get_link(struct netlink_request *request, const char *name) __attribute__((nonnull));
/* Moves an interface to the namespace of `namespace_fd` and gives it `name` there, in one step. */
void netlink_move_link(struct netlink_request *request, int index, int namespace_fd,
		       const char *name) __attribute__((nonnull));
void netlink_set_up(struct netlink_request *request, int index) __attribute__((nonnull));
void netlink_list_addresses(struct netlink_request *request) __attribute__((nonnull));
void netlink_add_address(struct netlink_request *request, int index,
			 const struct net_address *address) __attribute__((nonnull));

/*
 * Answers: what one recv() brought. Each call takes one message off the front; false when none is left.
 */
struct netlink_answer {
	enum {
		NETLINK_ANSWER_OTHER,
		NETLINK_ANSWER_ERROR, /* errnum; 0 acknowledges */
		NETLINK_ANSWER_END,   /* of a list; errnum */
		NETLINK_ANSWER_LINK,
		NETLINK_ANSWER_ADDRESS,
	} kind;
	uint32_t sequence; /* of the request that it answers */
	int errnum;
	bool interrupted; /* the list changed while it was written: it has to be asked for again */
	struct net_link link;
	int address_index; /* the interface that has the address */
	bool lasting;      /* the address is global and permanent: it moves with the interface */
	struct net_address address;
};

bool netlink_next_answer(const char **data, size_t *size, struct netlink_answer *ret_answer)
	__attribute__((nonnull));
