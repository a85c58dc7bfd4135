/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading whole files with a bound. What is read may be hostile, endless or growing, so nobody
 * reads in a loop of their own. An interrupted read is an error like any other: the only signal
 * that reaches this program is its deadline.
 */
#include "fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

/*
 * First buffer of a source that does not tell its size: pipes, and files of procfs and cgroupfs. Most states have less.
 */
#define FIRST_SIZE 1024

struct buffer {
	char *data;
	size_t used, size;
};

/*
 * Room for at least one byte more; at most `limit` + 1, the one byte that proves that the limit is
 * passed.
 */
static int buffer_grow(struct arena *arena, struct buffer *buffer, size_t limit, struct error *err)
{
	size_t size = buffer->size < limit / 2 ? buffer->size * 2 : limit + 1;
	char *data = arena_alloc(arena, size + 1);

	if (!data)
		return error_memory(err);
	memcpy(data, buffer->data, buffer->used);
	buffer->data = data;
	buffer->size = size;
	return 0;
}

/*
 * A regular file is read into a buffer of its own size, with a byte more to see its end in the
 * first read. One that says itself that it is too long costs no memory: then 0.
 */
static size_t first_size(int fd, size_t limit)
{
	struct stat st;
	size_t size = FIRST_SIZE;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		if ((uintmax_t)st.st_size > limit)
			return 0;
		size = (size_t)st.st_size + 1;
	}
	return size <= limit ? size : limit + 1;
}

static int too_long(const char *what, size_t limit, struct error *err)
{
	return error_set(err, EFBIG, "read %s: more than %zu bytes", SHOW(what), limit);
}

int fdio_read(struct arena *arena, int fd, size_t limit, const char *what, char **ret_data,
	      size_t *ret_size, struct error *err)
{
	struct buffer buffer = {.size = first_size(fd, limit)};

	if (buffer.size == 0)
		return too_long(what, limit, err);
	buffer.data = arena_alloc(arena, buffer.size + 1);
	if (!buffer.data)
		return error_memory(err);
	for (;;) {
		if (buffer.used > limit)
			return too_long(what, limit, err);
		if (buffer.used == buffer.size && buffer_grow(arena, &buffer, limit, err) < 0)
			return -ENOMEM;
		ssize_t n = read(fd, buffer.data + buffer.used, buffer.size - buffer.used);
		if (n < 0)
			return error_set(err, errno, "read %s", SHOW(what));
		if (n == 0)
			break;
		buffer.used += (size_t)n;
	}
	buffer.data[buffer.used] = '\0';
	*ret_data = buffer.data;
	*ret_size = buffer.used;
	return 0;
}

int fdio_read_at(struct arena *arena, int dirfd, const char *path, size_t limit, char **ret_data,
		 size_t *ret_size, struct error *err)
{
	/* O_NONBLOCK: a FIFO in the place of the file must not hold us up. */
	_cleanup_fd_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return error_set(err, errno, "open %s", SHOW(path));
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat %s", SHOW(path));
	if (S_ISDIR(st.st_mode))
		return error_set(err, EISDIR, "read %s", SHOW(path));
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "read %s: not a regular file", SHOW(path));
	return fdio_read(arena, fd, limit, path, ret_data, ret_size, err);
}
