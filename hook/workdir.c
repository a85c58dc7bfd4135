/* SPDX-License-Identifier: Apache-2.0 */
/* See workdir.h. We have one thread, so nobody else is led astray meanwhile. */
#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cleanup.h"

/* Runs in: any namespaces. Trusts: `dir_fd`. Hostile: nothing; no path is looked up. */
int workdir_enter(struct workdir *workdir, int dir_fd, struct error *err)
{
	_cleanup_fd_ int back_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (back_fd < 0)
		return error_set(err, errno, "open the working directory");
	if (fchdir(dir_fd) < 0)
		return error_set(err, errno, "change the working directory");
	workdir->back_fd = TAKE_FD(back_fd);
	return 0;
}

void workdir_leave(struct workdir *workdir)
{
	/* Nothing of ours depends on it: other paths are absolute, or below a descriptor. */
	if (workdir->back_fd >= 0)
		(void)!fchdir(workdir->back_fd);
	close_fd(&workdir->back_fd);
}
