/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image can lead a path into a volume whose server does not answer (FUSE, NFS). The kernel then
 * waits in a way that no signal ends, not even SIGKILL, and a runtime that waits for its hook waits
 * as long. A host directory that a spec names may do the same. So all that looks at files is done by
 * a child. The process that the
 * runtime waits for only watches it, and holds nothing that could hang; the child holds no stream of
 * the runtime's.
 */
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "interrupt.h"
#include "privilege.h"
#include "sys.h"

/* What a kill takes unless the child cannot be killed. */
#define KILL_MS 500

/* What the child hands over, in one write. */
struct report {
	int result;
	struct error err;
};

_Static_assert(sizeof(struct report) <= PIPE_BUF, "one write of a pipe is atomic up to PIPE_BUF");

struct child {
	pid_t pid;
	int pid_fd;
	int report_fd;
	int words_fd; /* what it says on stderr */
	bool told;    /* the signal was passed on */
};

static void child_close(struct child *child)
{
	close_fd(&child->pid_fd);
	close_fd(&child->report_fd);
	close_fd(&child->words_fd);
}

static _Noreturn void run_child(pid_t parent, int report_fd, int words_fd,
				int (*work)(void *data, struct error *err), void *data)
{
	struct report report = {0};

	/* A supervisor that is killed takes its child along: nobody would wait for its result. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	if (dup2(words_fd, STDOUT_FILENO) < 0 || dup2(words_fd, STDERR_FILENO) < 0)
		_exit(1);
	report.result = interrupt_restart(&report.err);
	if (report.result == 0)
		report.result = work(data, &report.err);
	(void)!write(report_fd, &report, sizeof(report));
	/* The exit code alone tells whether the container was changed, however the report fares. */
	_exit(report.result < 0 ? EXIT_CODE_OTHER : EXIT_CODE_DONE);
}

static int start(struct child *child, int (*work)(void *data, struct error *err), void *data,
		 struct error *err)
{
	int report[2], words[2];
	pid_t parent = getpid();

	/* Not blocking: what the child failed to say must not make us wait. */
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_set(err, errno, "pipe");
	child->report_fd = report[0];
	_cleanup_fd_ int report_fd = report[1];
	if (pipe2(words, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	child->words_fd = words[0];
	_cleanup_fd_ int words_fd = words[1];

	child->pid = sys_fork_pidfd(0, &child->pid_fd);
	if (child->pid < 0)
		return error_set(err, errno, "fork");
	if (child->pid == 0)
		run_child(parent, report_fd, words_fd, work, data);
	/* Watching, and ending a process of the same user, takes no rights. */
	privilege_give_up();
	return 0;
}

/* Passes on what the child said; false at the end of it. */
static bool pass_words(const struct child *child)
{
	char words[4096];
	ssize_t n = read(child->words_fd, words, sizeof(words));

	if (n > 0)
		(void)!write(STDERR_FILENO, words, (size_t)n);
	return n > 0;
}

/*
 * Waits at most `until_ms` past the deadline (negative: before it); true when the child has ended.
 */
static bool watch(struct child *child, long long until_ms)
{
	for (;;) {
		struct pollfd fds[2] = {
			{.fd = child->pid_fd, .events = POLLIN},
			{.fd = child->words_fd, .events = POLLIN},
		};
		long long left = interrupt_remaining_ms() + until_ms;
		if (left <= 0)
			return poll(fds, 1, 0) > 0;
		int n = poll(fds, 2, (int)left);
		if (n < 0 && interrupt_signal() && !child->told) {
			child->told = true;
			(void)pidfd_send_signal(child->pid_fd, interrupt_signal(), NULL, 0);
		}
		if (n <= 0)
			continue;
		if ((fds[1].revents & POLLIN) && pass_words(child))
			continue;
		if (fds[0].revents & POLLIN)
			return true;
		/* It has closed its stderr and goes on: only its end is left to wait for. */
		close_fd(&child->words_fd);
	}
}

/* The child has ended. */
static int take_report(const struct child *child, struct error *err)
{
	struct report report;
	int status = 0;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (child->words_fd >= 0 && fcntl(child->words_fd, F_SETFL, O_NONBLOCK) == 0)
		while (pass_words(child))
			;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CODE_DONE)
		return 0;
	if (read(child->report_fd, &report, sizeof(report)) != (ssize_t)sizeof(report) ||
	    report.result >= 0)
		return error_say(err, EXIT_CODE_OTHER,
				 "the process that changed the container ended without a word");
	*err = report.err;
	return report.result;
}

int supervise(int (*work)(void *data, struct error *err), void *data, int grace_ms,
	      struct error *err)
{
	__attribute__((cleanup(child_close))) struct child child = {
		.pid_fd = -1, .report_fd = -1, .words_fd = -1};
	int r = start(&child, work, data, err);

	if (r < 0)
		return r;
	if (watch(&child, grace_ms))
		return take_report(&child, err);
	(void)pidfd_send_signal(child.pid_fd, SIGKILL, NULL, 0);
	if (watch(&child, grace_ms + KILL_MS))
		(void)waitpid(child.pid, NULL, 0);
	char when[64] = "by the deadline";
	if (grace_ms)
		snprintf(when, sizeof(when), "%d seconds after the deadline", grace_ms / 1000);
	return error_say(err, EXIT_CODE_DEADLINE,
			 "not done %s, and ended: a file system of the container, or one that "
			 "holds a mount source, does not answer",
			 when);
}
