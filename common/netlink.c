/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debian has no static library for these messages, and only five kinds of them are needed. Numbers
 * are in the machine's byte order, attributes begin at multiples of four bytes. Although the kernel
 * is trusted, nothing is read beyond the end of what it sent.
 */
#include "netlink.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/*
 * Requests
 */

/* An empty message of this type with room for its fixed part, which is returned, zeroed. */
static void *begin(struct netlink_request *request, uint16_t type, uint16_t flags, size_t size)
{
	memset(request, 0, sizeof(*request));
	request->header = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
	};
	return request->bytes + NLMSG_HDRLEN;
}

/* All that we ever put fits into NETLINK_REQUEST_MAX. */
static void put(struct netlink_request *request, uint16_t type, const void *data, size_t size)
{
	size_t at = NLMSG_ALIGN(request->header.nlmsg_len);
	struct rtattr attribute = {.rta_len = (uint16_t)RTA_LENGTH(size), .rta_type = type};

	memcpy(request->bytes + at, &attribute, sizeof(attribute));
	memcpy(request->bytes + at + RTA_LENGTH(0), data, size);
	request->header.nlmsg_len = (uint32_t)(at + RTA_LENGTH(size));
}

static void put_name(struct netlink_request *request, const char *name)
{
	put(request, IFLA_IFNAME, name, strnlen(name, IFNAMSIZ - 1) + 1);
}

void netlink_get_link(struct netlink_request *request, const char *name)
{
	begin(request, RTM_GETLINK, NLM_F_ACK, sizeof(struct ifinfomsg));
	put_name(request, name);
}

void netlink_move_link(struct netlink_request *request, int index, int namespace_fd,
		       const char *name)
{
	struct ifinfomsg *info = begin(request, RTM_SETLINK, NLM_F_ACK, sizeof(*info));
	uint32_t fd = (uint32_t)namespace_fd;

	info->ifi_index = index;
	put(request, IFLA_NET_NS_FD, &fd, sizeof(fd));
	put_name(request, name);
}

void netlink_set_up(struct netlink_request *request, int index)
{
	struct ifinfomsg *info = begin(request, RTM_SETLINK, NLM_F_ACK, sizeof(*info));

	info->ifi_index = index;
	info->ifi_flags = info->ifi_change = IFF_UP;
}

void netlink_list_addresses(struct netlink_request *request)
{
	begin(request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
}

void netlink_add_address(struct netlink_request *request, int index,
			 const struct net_address *address)
{
	struct ifaddrmsg *info =
		begin(request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, sizeof(*info));

	info->ifa_family = address->family;
	info->ifa_prefixlen = address->prefix_len;
	info->ifa_index = (uint32_t)index;
	put(request, IFA_FLAGS, &address->flags, sizeof(address->flags));
	put(request, IFA_ADDRESS, address->address, address->size);
	if (address->has_local)
		put(request, IFA_LOCAL, address->local, address->size);
	if (address->has_broadcast)
		put(request, IFA_BROADCAST, address->broadcast, address->size);
}

/*
 * Answers
 */

static void read_link(const char *data, size_t size, struct netlink_answer *answer)
{
	struct ifinfomsg info;

	if (size < sizeof(info))
		return;
	memcpy(&info, data, sizeof(info));
	answer->kind = NETLINK_ANSWER_LINK;
	answer->link = (struct net_link){.index = info.ifi_index, .up = info.ifi_flags & IFF_UP};
}

static void read_attribute(struct net_address *address, uint16_t type, const char *data,
			   size_t size)
{
	if (type == IFA_FLAGS && size >= sizeof(address->flags)) {
		memcpy(&address->flags, data, sizeof(address->flags));
		return;
	}
	if (size != address->size)
		return;
	if (type == IFA_ADDRESS) {
		memcpy(address->address, data, size);
	} else if (type == IFA_LOCAL) {
		memcpy(address->local, data, size);
		address->has_local = true;
	} else if (type == IFA_BROADCAST) {
		memcpy(address->broadcast, data, size);
		address->has_broadcast = true;
	}
}

/* What the kernel sets by itself on adding an address must not be asked for. */
#define FLAGS_KEPT (IFA_F_NODAD | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN | IFA_F_HOMEADDRESS)

static void read_address(const char *data, size_t size, struct netlink_answer *answer)
{
	struct net_address *address = &answer->address;
	struct ifaddrmsg info;

	if (size < sizeof(info))
		return;
	memcpy(&info, data, sizeof(info));
	if (info.ifa_family != AF_INET && info.ifa_family != AF_INET6)
		return;
	answer->kind = NETLINK_ANSWER_ADDRESS;
	answer->address_index = (int)info.ifa_index;
	*address = (struct net_address){
		.family = info.ifa_family,
		.prefix_len = info.ifa_prefixlen,
		.flags = info.ifa_flags,
		.size = info.ifa_family == AF_INET ? 4 : 16,
	};
	for (size_t at = NLMSG_ALIGN(sizeof(info)); at + sizeof(struct rtattr) <= size;) {
		struct rtattr attribute;

		memcpy(&attribute, data + at, sizeof(attribute));
		if (attribute.rta_len < RTA_LENGTH(0) || attribute.rta_len > size - at)
			break;
		read_attribute(address, attribute.rta_type, data + at + RTA_LENGTH(0),
			       attribute.rta_len - RTA_LENGTH(0));
		at += RTA_ALIGN(attribute.rta_len);
	}
	answer->lasting = info.ifa_scope == RT_SCOPE_UNIVERSE && (address->flags & IFA_F_PERMANENT);
	address->flags &= FLAGS_KEPT;
}

/* NLMSG_ERROR and NLMSG_DONE both begin with a negative errno. */
static int read_errnum(const char *data, size_t size)
{
	int32_t number = 0;

	if (size >= sizeof(number))
		memcpy(&number, data, sizeof(number));
	return -number;
}

bool netlink_next_answer(const char **data, size_t *size, struct netlink_answer *ret_answer)
{
	struct nlmsghdr header;

	if (*size < NLMSG_HDRLEN)
		return false;
	memcpy(&header, *data, sizeof(header));
	if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > *size)
		return false;

	const char *body = *data + NLMSG_HDRLEN;
	size_t body_size = header.nlmsg_len - NLMSG_HDRLEN;
	*ret_answer = (struct netlink_answer){
		.sequence = header.nlmsg_seq,
		.interrupted = header.nlmsg_flags & NLM_F_DUMP_INTR,
	};
	if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
		ret_answer->kind = header.nlmsg_type == NLMSG_ERROR ? NETLINK_ANSWER_ERROR
								    : NETLINK_ANSWER_END;
		ret_answer->errnum = read_errnum(body, body_size);
	} else if (header.nlmsg_type == RTM_NEWLINK) {
		read_link(body, body_size, ret_answer);
	} else if (header.nlmsg_type == RTM_NEWADDR) {
		read_address(body, body_size, ret_answer);
	}

	size_t whole = NLMSG_ALIGN(header.nlmsg_len);
	whole = whole < *size ? whole : *size;
	*data += whole;
	*size -= whole;
	return true;
}
