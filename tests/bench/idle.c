/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every container pays for a hook that has nothing to do: the time of our hook with a state
 * that asks for no device, beside that of a static program that only reads its standard input and
 * exits, which is the least that any hook can take.
 *
 *   meson setup build && ninja -C build
 *   build/tests/bench/idle build/hook/oci-cdi-hook build/tests/bench/idle-floor [RUNS]
 *
 * or `meson test -C build --benchmark --verbose`. Run it on a machine that has little else to do.
 * Both programs run in turn, so that whatever else the machine does hits both alike, and on one core;
 * the medians are compared. It prints three lines, of which the last is the ratio:
 *
 *   hook     421.3 us
 *   floor    390.2 us
 *   ratio    1.080
 *
 * It is not part of the tests: a number depends on the machine, and a busy one would fail by chance.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_RUNS = 4000, WARM_UP = 200, MAX_RUNS = 1000000 };

/* As runc gives it: its annotations are those that a container has without any device. */
static const char state[] =
	"{\"ociVersion\":\"1.0.2-dev\",\"id\":\"idle\",\"status\":\"creating\",\"pid\":1,"
	"\"bundle\":\"/run/bundle\",\"annotations\":{\"org.opencontainers.image.title\":\"idle\","
	"\"org.opencontainers.image.version\":\"1\"}}";

static void die(const char *what)
{
	fprintf(stderr, "idle: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The last core that we may use: the first ones have most of the interrupts. */
static size_t pin_to_a_core(void)
{
	cpu_set_t all, one;
	size_t core = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		die("sched_getaffinity");
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			core = i;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		die("sched_setaffinity");
	return core;
}

static double microseconds(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) * 1e6 +
	       (double)(to->tv_nsec - from->tv_nsec) / 1e3;
}

/* Runs a program as a runtime runs a hook, and returns the time until it has ended. */
static double run(const char *program)
{
	char name[] = "oci-cdi-hook", stage[] = "createRuntime", path[] = "PATH=/usr/sbin:/usr/bin";
	char *argv[] = {name, stage, NULL}, *envp[] = {path, NULL};
	posix_spawn_file_actions_t actions;
	struct timespec start, end;
	int fds[2], status, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		die("pipe");
	if (write(fds[1], state, sizeof(state) - 1) != (ssize_t)sizeof(state) - 1)
		die("write the state");
	close(fds[1]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[0], STDIN_FILENO);

	clock_gettime(CLOCK_MONOTONIC, &start);
	r = posix_spawn(&pid, program, &actions, NULL, argv, envp);
	if (r != 0) {
		errno = r;
		die(program);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("wait");
	clock_gettime(CLOCK_MONOTONIC, &end);

	posix_spawn_file_actions_destroy(&actions);
	close(fds[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "idle: %s: wait status %#x instead of success\n", program,
			(unsigned)status);
		exit(1);
	}
	return microseconds(&start, &end);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *times, size_t n)
{
	qsort(times, n, sizeof(*times), compare);
	return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	long runs = argc == 4 ? atol(argv[3]) : DEFAULT_RUNS;
	double *hook, *floor;

	if (argc < 3 || argc > 4 || runs < 1 || runs > MAX_RUNS) {
		fprintf(stderr, "usage: idle HOOK FLOOR [RUNS]\n");
		return 2;
	}
	hook = calloc((size_t)runs, sizeof(*hook));
	floor = calloc((size_t)runs, sizeof(*floor));
	if (!hook || !floor)
		die("memory");

	size_t core = pin_to_a_core();
	for (int i = 0; i < WARM_UP; i++) {
		run(argv[1]);
		run(argv[2]);
	}
	for (long i = 0; i < runs; i++) {
		hook[i] = run(argv[1]);
		floor[i] = run(argv[2]);
	}

	double hook_median = median(hook, (size_t)runs), floor_median = median(floor, (size_t)runs);
	printf("%ld runs of each in turn on core %zu, medians:\n", runs, core);
	printf("hook  %8.1f us\nfloor %8.1f us\nratio %8.3f\n", hook_median, floor_median,
	       hook_median / floor_median);
	free(hook);
	free(floor);
	return 0;
}
