/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Scoped ownership of file descriptors, and the mark of every transfer of it. Closing keeps errno,
 * so that a cleanup on the way out never changes the cause that is being reported.
 */
#include <errno.h>
#include <unistd.h>

static inline void close_fd(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
		*fd = -1;
	}
}

#define _cleanup_fd_ __attribute__((cleanup(close_fd)))

/* The value of `fd`, which is -1 afterwards: whoever takes the value owns it. */
#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})
