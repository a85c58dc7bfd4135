/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA library of an image: any bytes. */
#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda-compat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("library", MFD_CLOEXEC);
	struct cuda_compat compat;
	struct error err = {0};
	struct arena arena;
	struct notes notes = {.arena = &arena};

	if (fd < 0)
		return 0;
	arena_init(&arena, FUZZ_MEMORY);
	if (write(fd, data, size) == (ssize_t)size) {
		int r = cuda_compat_read(&arena, fd, "/lib", &notes, &compat, &err);
		fuzz_check_error(r, &err);
		assert(r < 0 || compat.has_note || (!compat.cuda_version && compat.drivers.n == 0));
		if (r == 0)
			(void)cuda_compat_is_wanted(&compat, "570.1", "550.2", "12.3", &notes);
	}
	close(fd);
	arena_done(&arena);
	return 0;
}
