/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vendor SOCKET WORD
 *
 * A vendor's hook: reads the state to its end, and tells the test that it has run by a datagram to this abstract socket. That is all
 * that it does, since what a vendor's program has done cannot be taken back.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char state[4096];
	size_t size = 0;
	ssize_t n;

	if (argc != 3 || strlen(argv[1]) + 2 > sizeof(address.sun_path))
		return 2;
	while ((n = read(STDIN_FILENO, state + size, sizeof(state) - 1 - size)) > 0)
		size += (size_t)n;
	state[size] = '\0';
	if (n < 0 || !strstr(state, "\"pid\"")) {
		fprintf(stderr, "no state\n");
		return 3;
	}
	strcpy(address.sun_path + 1, argv[1]);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    sendto(fd, argv[2], strlen(argv[2]), 0, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[1]))) < 0) {
		perror("tell");
		return 4;
	}
	return 0;
}
