/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtimes start hooks in surprising states: crun with nearly all signals blocked and umask 0, runc
 * before 1.3 with the environment of the image and with file descriptors of its own. Nothing of
 * that may reach what follows.
 */
#include "startup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

/*
 * What a caller can leave behind are blocked and ignored signals: handlers end with exec. Those that
 * ask us to end are set by interrupt_set_up(); of the others only these change what we do.
 */
static void reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	/* Ignored, it would let the kernel reap our children before we can ask how they ended. */
	(void)sigaction(SIGCHLD, &action, NULL);
	/* A pipe that goes away or a limit on file sizes is an error of that write, not our end. */
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
	(void)sigaction(SIGXFSZ, &action, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 0, 1 and 2 must be open, or the first file that we open would be taken for stdin or stderr. */
static int open_standard_fds(struct error *err)
{
	int fd = STDIN_FILENO;

	/* As always: this costs less than to open a file and to close it. */
	while (fd <= STDERR_FILENO && fcntl(fd, F_GETFD) >= 0)
		fd++;
	if (fd > STDERR_FILENO)
		return 0;
	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return error_set(err, errno, "open /dev/null");
		if (fd < 0)
			fd = open("/", O_PATH | O_CLOEXEC); /* a host without /dev/null: a
							       descriptor that takes nothing */
		if (fd < 0)
			return error_set(err, errno, "open /");
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}

static int close_other_fds(struct error *err)
{
	struct rlimit limit;

	if (close_range(STDERR_FILENO + 1, ~0U, 0) == 0)
		return 0;
	if (errno != ENOSYS)
		return error_set(err, errno, "close_range");
	/* Before Linux 5.9. */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_set(err, errno, "getrlimit");
	for (int fd = STDERR_FILENO + 1; (rlim_t)fd < limit.rlim_cur && fd < 65536; fd++)
		close(fd);
	return 0;
}

static void set_limits(void)
{
	struct rlimit limit = {0};

	(void)setrlimit(RLIMIT_CORE, &limit);
	/* Every mount of the plan is held by a descriptor until the run is over. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int startup(struct error *err)
{
	int r;

	/* The environment may be the image's: no variable of it is ever read. */
	clearenv();
	reset_signals();
	umask(0);
	r = open_standard_fds(err);
	if (r < 0)
		return r;
	r = close_other_fds(err);
	if (r < 0)
		return r;
	set_limits();
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return error_set(err, errno, "prctl PR_SET_DUMPABLE");
	return 0;
}

int startup_leave_directory(struct error *err)
{
	_cleanup_fd_ int cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (cwd < 0)
		return error_set(err, errno, "open the working directory");
	if (chdir("/") < 0)
		return error_set(err, errno, "chdir /");
	return TAKE_FD(cwd);
}
