/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a hook can do: read its standard input to the end. See idle.c. */
#include <unistd.h>

int main(void)
{
	char buffer[4096];
	ssize_t n;

	do {
		n = read(STDIN_FILENO, buffer, sizeof(buffer));
	} while (n > 0);
	return n < 0;
}
