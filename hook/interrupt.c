/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler that only notes the signal. It is set without SA_RESTART, so that a call that waits (a
 * stdin that never ends) comes back with EINTR; the timer goes on ticking, in case it fired just
 * before such a call, and the other signals start it for the same reason. One thing it cannot break:
 * the kernel waiting for a FUSE or network file system that does not answer. For that there is
 * supervisor.c.
 */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#define TICK_US (100 * 1000)

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

static volatile sig_atomic_t end_signal;
static volatile sig_atomic_t alarmed;
static unsigned timeout_seconds;
static struct timespec deadline;

static void note_signal(int signal)
{
	static const struct itimerval tick = {
		.it_value = {.tv_usec = TICK_US},
		.it_interval = {.tv_usec = TICK_US},
	};
	const int saved = errno;

	if (signal == SIGALRM) {
		alarmed = 1;
	} else if (!end_signal) {
		end_signal = signal;
		(void)setitimer(ITIMER_REAL, &tick, NULL);
	}
	errno = saved;
}

long long interrupt_remaining_ms(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (deadline.tv_sec - now.tv_sec) * 1000LL + (deadline.tv_nsec - now.tv_nsec) / 1000000;
}

int interrupt_restart(struct error *err)
{
	const long long left = end_signal ? 0 : interrupt_remaining_ms();
	const struct itimerval timer = {
		/* Zero would mean never. */
		.it_value = {.tv_sec = left > 0 ? left / 1000 : 0,
			     .tv_usec = left > 0 ? left % 1000 * 1000 + 1 : 1},
		.it_interval = {.tv_usec = TICK_US},
	};

	return setitimer(ITIMER_REAL, &timer, NULL) < 0 ? error_set(err, errno, "setitimer") : 0;
}

int interrupt_set_up(unsigned seconds, struct error *err)
{
	const struct sigaction action = {.sa_handler = note_signal};

	timeout_seconds = seconds;
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += seconds;
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		if (sigaction(end_signals[i], &action, NULL) < 0)
			return error_set(err, errno, "sigaction");
	if (sigaction(SIGALRM, &action, NULL) < 0)
		return error_set(err, errno, "sigaction");
	return interrupt_restart(err);
}

int interrupted(struct error *err)
{
	if (end_signal) {
		error_say(err, EXIT_CODE_OTHER, "ended by signal %d", (int)end_signal);
		return -EINTR;
	}
	if (alarmed) {
		error_say(err, EXIT_CODE_DEADLINE,
			  "not done within the %u seconds that --timeout allows", timeout_seconds);
		return -EINTR;
	}
	return 0;
}

int interrupt_signal(void)
{
	return end_signal;
}

void interrupt_ignore(void)
{
	const struct itimerval never = {0};
	const struct sigaction action = {.sa_handler = SIG_IGN};

	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)sigaction(SIGALRM, &action, NULL);
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		(void)sigaction(end_signals[i], &action, NULL);
}
