/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler that only notes the signal. It is set without SA_RESTART, so that a call that hangs (a
 * FUSE server behind a mount source, a stdin that never ends) comes back with EINTR; the timer goes
 * on ticking, in case it fired just before such a call.
 */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

static volatile sig_atomic_t last_signal;
static unsigned timeout_seconds;

static void note_signal(int signal)
{
	last_signal = signal;
}

int interrupt_set_up(unsigned seconds, struct error *err)
{
	const struct sigaction action = {.sa_handler = note_signal};
	const struct itimerval timer = {
		.it_value = {.tv_sec = seconds},
		.it_interval = {.tv_usec = 100 * 1000},
	};

	timeout_seconds = seconds;
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		if (sigaction(end_signals[i], &action, NULL) < 0)
			return error_set(err, errno, "sigaction");
	if (sigaction(SIGALRM, &action, NULL) < 0)
		return error_set(err, errno, "sigaction");
	if (setitimer(ITIMER_REAL, &timer, NULL) < 0)
		return error_set(err, errno, "setitimer");
	return 0;
}

int interrupted(struct error *err)
{
	int signal = last_signal;

	if (signal == 0)
		return 0;
	if (signal == SIGALRM)
		error_say(err, EXIT_CODE_DEADLINE,
			  "not done within the %u seconds that --timeout allows", timeout_seconds);
	else
		error_say(err, EXIT_CODE_OTHER, "ended by signal %d", signal);
	return -EINTR;
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
