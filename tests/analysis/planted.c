/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong here each of the analysers has to find, before it is believed that there is nothing to find in what we ship
 * (tests/run.sh). Nothing of the build uses this file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char *kept = malloc(16), *freed = malloc(16);
	int numbers[4];

	memset(numbers, '0', sizeof(numbers)); /* the digit */
	if (!kept || !freed || argc > 4 || numbers[argc - 1] == 0 || !argv[0])
		return 1;
	free(freed);
	free(freed);
	/* An open file, and memory that nobody can reach any more. */
	return open("/dev/null", O_RDONLY) < 0;
}
