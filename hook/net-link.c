/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A netlink socket belongs to the network namespace in which it was made, wherever its owner is
 * later: with one of each, an interface can be followed from the host into the container.
 */
#include "net-link.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"

/* A list that changed while it was read is asked for again, so often. */
#define LIST_TRIES 10

/* Runs in: the namespace that the socket is to speak for. Trusts: the kernel. Hostile: nothing. */
int net_link_open(struct error *err)
{
	/* Nobody but the kernel writes to a netlink socket that is connected to it. */
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	_cleanup_fd_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return error_set(err, errno, "open a netlink socket");
	return TAKE_FD(fd);
}

/* What to do with an answer that is not the last. */
typedef void (*answer_handler)(void *data, const struct netlink_answer *answer, struct error *err);

/* Whether it was the last one; then it tells of success or failure. */
static bool is_last(const struct netlink_answer *answer, struct error *err)
{
	if (answer->kind != NETLINK_ANSWER_ERROR && answer->kind != NETLINK_ANSWER_END)
		return false;
	if (answer->errnum && !error_is_set(err))
		error_set(err, answer->errnum, "the kernel refuses");
	if (answer->interrupted && !error_is_set(err))
		error_set(err, EAGAIN, "the list changes while it is read");
	return true;
}

/*
 * Reads to the last answer even when one cannot be used. Where reading fails, the answers are still to come when the next
 * request is answered, and are passed over by their number.
 */
static int read_answers(int socket_fd, uint32_t sequence, answer_handler handle, void *data,
			struct error *err)
{
	/* The kernel writes lists in pieces of at most this size, whole messages each. */
	_Alignas(struct nlmsghdr) char buffer[LIMIT_NETLINK_ANSWER];

	for (;;) {
		ssize_t n = recv(socket_fd, buffer, sizeof(buffer), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, errno, "read the kernel's answer");

		const char *at = buffer;
		size_t left = (size_t)n;
		struct netlink_answer answer;
		while (netlink_next_answer(&at, &left, &answer)) {
			if (answer.sequence != sequence)
				continue;
			if (is_last(&answer, err))
				return error_is_set(err) ? error_result(err) : 0;
			if (handle && !error_is_set(err))
				handle(data, &answer, err);
		}
		if (left > 0 || n == 0)
			return error_set(err, EBADMSG, "read the kernel's answer");
	}
}

/* Sends it, and has all its answers handled. */
static int ask(int socket_fd, const struct netlink_request *request, answer_handler handle,
	       void *data, struct error *err)
{
	static uint32_t last;
	struct netlink_request numbered = *request;

	numbered.header.nlmsg_seq = ++last;
	if (send(socket_fd, numbered.bytes, numbered.header.nlmsg_len, 0) < 0)
		return error_set(err, errno, "ask the kernel");
	return read_answers(socket_fd, numbered.header.nlmsg_seq, handle, data, err);
}

/* Runs in, Trusts, Hostile: as net_link_open(). */
int net_link_do(int socket_fd, const struct netlink_request *request, struct error *err)
{
	return ask(socket_fd, request, NULL, NULL, err);
}

static void take_link(void *data, const struct netlink_answer *answer, struct error *err)
{
	(void)err;
	if (answer->kind == NETLINK_ANSWER_LINK)
		*(struct net_link *)data = answer->link;
}

/* Runs in, Trusts, Hostile: as net_link_open(). */
int net_link_find(int socket_fd, const char *name, struct net_link *ret_link, struct error *err)
{
	struct netlink_request request;
	int r;

	*ret_link = (struct net_link){0};
	netlink_get_link(&request, name);
	r = ask(socket_fd, &request, take_link, ret_link, err);
	if (r < 0 && err->errnum == ENODEV) {
		*err = (struct error){0};
		return 0;
	}
	return r < 0 ? error_prefix(err, "look for the network interface %s", SHOW(name))
		     : ret_link->index > 0;
}

struct address_query {
	struct arena *arena;
	int index;
	struct net_address_list *list;
};

static void take_address(void *data, const struct netlink_answer *answer, struct error *err)
{
	struct address_query *query = data;

	if (answer->interrupted) {
		error_set(err, EAGAIN, "the list of addresses changes");
		return;
	}
	if (answer->kind != NETLINK_ANSWER_ADDRESS || answer->address_index != query->index ||
	    !answer->lasting)
		return;
	if (query->list->n == LIMIT_NET_ADDRESSES) {
		error_say(err, EXIT_CODE_HOST, "it has more than %d addresses",
			  LIMIT_NET_ADDRESSES);
		return;
	}
	struct net_address *slot = array_add(query->arena, query->list);
	if (slot)
		*slot = answer->address;
	else
		error_memory(err);
}

/* Runs in, Trusts, Hostile: as net_link_open(). */
int net_link_addresses(struct arena *arena, int socket_fd, int index,
		       struct net_address_list *ret_addresses, struct error *err)
{
	struct address_query query = {.arena = arena, .index = index, .list = ret_addresses};
	struct netlink_request request;
	int r = -EAGAIN;

	netlink_list_addresses(&request);
	/* Any other interface of the host may change it. */
	for (int i = 0; r == -EAGAIN && i < LIST_TRIES; i++) {
		*err = (struct error){0};
		*ret_addresses = (struct net_address_list){0};
		r = ask(socket_fd, &request, take_address, &query, err);
	}
	return r;
}
