/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a harness over saved inputs as an ordinary program: what a fuzzer once found stays tested
 * with every compiler, and nobody needs a fuzzer for that. Arguments are files, and directories of
 * files.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

static unsigned count;

/* From a buffer without a byte to spare: reading beyond it shows under a sanitizer. */
static void run_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0) {
		perror(path);
		exit(1);
	}
	size_t size = (size_t)st.st_size;
	uint8_t *data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, file) != size) {
		perror(path);
		exit(1);
	}
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	fclose(file);
	printf("ok %u - %s\n", ++count, path);
	fflush(stdout);
}

static void run_path(const char *path)
{
	struct dirent **entries;
	char below[4096];
	int n = scandir(path, &entries, NULL, alphasort);

	if (n < 0) {
		run_file(path);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.') {
			snprintf(below, sizeof(below), "%s/%s", path, entries[i]->d_name);
			run_file(below);
		}
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("1..%u\n", count);
	return count ? 0 : 1;
}
