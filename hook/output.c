/* SPDX-License-Identifier: Apache-2.0 */
/*
 * podman takes what a precreate hook writes and does not look whether it is whole: an empty answer is an error of its
 * own, and a short one may be a container that lacks its limits. So the answer is made first and written then.
 */
#include "output.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

int output_open(struct error *err)
{
	int fd = memfd_create("oci-cdi-hook", MFD_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "memfd_create") : fd;
}

int output_keep(int fd, const char *data, size_t size, struct error *err)
{
	int r = write_all(fd, data, size);

	return r < 0 ? error_set(err, -r, "keep the edited config") : 0;
}

int output_write(const char *what, const char *data, size_t size, struct error *err)
{
	int r = write_all(STDOUT_FILENO, data, size);

	return r < 0 ? error_set(err, -r, "write %s to stdout", what) : 0;
}

int output_hand_over(int fd, const char *data, size_t size, struct error *err)
{
	struct stat st = {0};
	void *kept;
	int r;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat the edited config");
	if (st.st_size == 0)
		return output_write("the config", data, size, err);
	kept = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (kept == MAP_FAILED)
		return error_set(err, errno, "map the edited config");
	r = output_write("the config", kept, (size_t)st.st_size, err);
	munmap(kept, (size_t)st.st_size);
	return r;
}
