/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That the kernel takes the requests is shown by tests/root/test-net-device.c; here, that answers
 * are read to the last byte and not beyond.
 */
#include "netlink.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "unit.h"

static void test_answers_to_requests(void **state)
{
	struct netlink_request request;
	struct netlink_answer answer;
	const struct net_address address = {
		.family = AF_INET,
		.prefix_len = 24,
		.flags = IFA_F_NOPREFIXROUTE,
		.size = 4,
		.has_local = true,
		.has_broadcast = true,
		.address = {10, 0, 0, 1},
		.local = {10, 0, 0, 1},
		.broadcast = {10, 0, 0, 255},
	};
	const char *data = request.bytes;

	(void)state;
	netlink_add_address(&request, 7, &address);
	assert_true(request.header.nlmsg_len < NETLINK_REQUEST_MAX);
	request.header.nlmsg_seq = 77;
	/* A request for a new address has the form of an answer. */
	size_t size = request.header.nlmsg_len;
	assert_true(netlink_next_answer(&data, &size, &answer));
	assert_int_equal(answer.kind, NETLINK_ANSWER_ADDRESS);
	assert_int_equal(answer.sequence, 77);
	assert_int_equal(answer.address_index, 7);
	assert_false(answer.lasting);
	assert_memory_equal(&answer.address, &address, sizeof(address));
	assert_int_equal(size, 0);
	assert_false(netlink_next_answer(&data, &size, &answer));
}

static size_t put(char *buffer, uint16_t type, uint16_t flags, const void *body, size_t size)
{
	struct nlmsghdr header = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
				  .nlmsg_type = type,
				  .nlmsg_flags = flags};

	memcpy(buffer, &header, sizeof(header));
	memcpy(buffer + NLMSG_HDRLEN, body, size);
	return NLMSG_ALIGN(header.nlmsg_len);
}

static void test_list(void **state)
{
	const struct ifinfomsg link = {.ifi_index = 3, .ifi_flags = IFF_UP};
	const int refused = -EPERM, fine = 0;
	struct netlink_answer answer;
	char buffer[256] = "";
	const char *data = buffer;
	size_t size = put(buffer, RTM_NEWLINK, NLM_F_DUMP_INTR, &link, sizeof(link));

	(void)state;
	size += put(buffer + size, NLMSG_ERROR, 0, &refused, sizeof(refused));
	size += put(buffer + size, RTM_NEWNEIGH, 0, &link, sizeof(link));
	size += put(buffer + size, NLMSG_DONE, 0, &fine, sizeof(fine));

	assert_true(netlink_next_answer(&data, &size, &answer));
	assert_int_equal(answer.kind, NETLINK_ANSWER_LINK);
	assert_int_equal(answer.link.index, 3);
	assert_true(answer.link.up && answer.interrupted);
	assert_true(netlink_next_answer(&data, &size, &answer));
	assert_int_equal(answer.kind, NETLINK_ANSWER_ERROR);
	assert_int_equal(answer.errnum, EPERM);
	assert_false(answer.interrupted);
	assert_true(netlink_next_answer(&data, &size, &answer));
	assert_int_equal(answer.kind, NETLINK_ANSWER_OTHER);
	assert_true(netlink_next_answer(&data, &size, &answer));
	assert_int_equal(answer.kind, NETLINK_ANSWER_END);
	assert_int_equal(answer.errnum, 0);
	assert_false(netlink_next_answer(&data, &size, &answer));
}

static void test_lasting(void **state)
{
	struct {
		struct ifaddrmsg info;
		struct rtattr attribute;
		uint32_t flags;
	} body = {
		.info = {.ifa_family = AF_INET6, .ifa_index = 2, .ifa_prefixlen = 64},
		.attribute = {.rta_len = RTA_LENGTH(4), .rta_type = IFA_FLAGS},
		.flags = IFA_F_PERMANENT | IFA_F_NODAD,
	};
	struct netlink_answer answer;
	char buffer[128];

	(void)state;
	for (unsigned scope = 0; scope <= RT_SCOPE_LINK; scope += RT_SCOPE_LINK) {
		body.info.ifa_scope = (unsigned char)scope;
		const char *data = buffer;
		size_t size = put(buffer, RTM_NEWADDR, 0, &body, sizeof(body));
		assert_true(netlink_next_answer(&data, &size, &answer));
		assert_int_equal(answer.kind, NETLINK_ANSWER_ADDRESS);
		assert_int_equal(answer.lasting, scope == RT_SCOPE_UNIVERSE);
		assert_int_equal(answer.address.flags, IFA_F_NODAD);
		assert_int_equal(answer.address.size, 16);
	}
}

/* However short an answer is cut and whatever lengths stand in it: nothing is read behind its end (the sanitizers see
 * that), and the end is reached. */
static void test_damaged(void **state)
{
	struct netlink_request request;
	const struct net_address address = {.family = AF_INET6, .size = 16, .has_local = true};

	(void)state;
	netlink_add_address(&request, 7, &address);
	for (size_t length = 0; length <= request.header.nlmsg_len; length++)
		for (size_t at = 0; at + 2 <= length; at += 2)
			for (uint16_t value = 0; value < 80; value += 3) {
				char *copy = malloc(length);
				const char *data = copy;
				size_t size = length;
				struct netlink_answer answer;

				assert_non_null(copy);
				memcpy(copy, request.bytes, length);
				memcpy(copy + at, &value, sizeof(value));
				for (size_t left; size > 0; assert_true(size < left)) {
					left = size;
					if (!netlink_next_answer(&data, &size, &answer))
						break;
				}
				free(copy);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_to_requests),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_lasting),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
