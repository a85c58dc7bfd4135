/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every container pays for a hook that has nothing to do: the time of our hook with a state
 * that asks for no device, beside that of a static program that only reads its standard input and
 * exits, which is the least that any hook can take.
 *
 *   meson setup build && ninja -C build
 *   build/tests/bench/idle build/hook/oci-cdi-hook build/tests/bench/idle-floor [RUNS]
 *
 * or `meson test -C build --benchmark --verbose`. Run it on a machine that has little else to do. A program that a
 * linker has just written lies in the page cache in smaller pieces than one that was copied or read from a disk, which costs
 * some per cent: a copy of the hook shows what a container pays where it is installed.
 * Both programs run in turn, so that whatever else the machine does hits both alike, and on one core;
 * the medians are compared. It prints three lines, of which the last is the ratio of the times:
 *
 *   hook     304.1 us   29 page faults
 *   floor    286.2 us   28 page faults
 *   ratio    1.063
 *
 * The time is no test: a busy machine would fail it by chance. Page faults are nearly the same in every run, and most of what can
 * be saved: of those there is a test (tests/e2e/idle.bats).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

struct cost {
	double *times, *faults;
};

/* Runs a program as a runtime runs a hook. Costs the time until it has ended, and page faults. */
static void run(const char *program, double *ret_time, double *ret_faults)
{
	char name[] = "oci-cdi-hook", stage[] = "createRuntime", path[] = "PATH=/usr/sbin:/usr/bin";
	char *argv[] = {name, stage, NULL}, *envp[] = {path, NULL};
	posix_spawn_file_actions_t actions;
	struct timespec start, end;
	struct rusage usage;
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
	if (wait4(pid, &status, 0, &usage) < 0)
		die("wait");
	clock_gettime(CLOCK_MONOTONIC, &end);

	posix_spawn_file_actions_destroy(&actions);
	close(fds[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "idle: %s: wait status %#x instead of success\n", program,
			(unsigned)status);
		exit(1);
	}
	*ret_time = microseconds(&start, &end);
	*ret_faults = (double)usage.ru_minflt;
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

static struct cost make_cost(size_t runs)
{
	struct cost cost = {calloc(runs, sizeof(double)), calloc(runs, sizeof(double))};

	if (!cost.times || !cost.faults)
		die("memory");
	return cost;
}

/* Prints a line, frees, and returns the time. */
static double print_cost(const char *name, struct cost *cost, size_t runs)
{
	double time = median(cost->times, runs);

	printf("%-5s %8.1f us %4.0f page faults\n", name, time, median(cost->faults, runs));
	free(cost->times);
	free(cost->faults);
	return time;
}

int main(int argc, char **argv)
{
	long runs = argc == 4 ? atol(argv[3]) : DEFAULT_RUNS;
	double time, faults;

	if (argc < 3 || argc > 4 || runs < 1 || runs > MAX_RUNS) {
		fprintf(stderr, "usage: idle HOOK FLOOR [RUNS]\n");
		return 2;
	}
	struct cost hook = make_cost((size_t)runs), floor = make_cost((size_t)runs);

	size_t core = pin_to_a_core();
	for (int i = 0; i < WARM_UP; i++) {
		run(argv[1], &time, &faults);
		run(argv[2], &time, &faults);
	}
	for (long i = 0; i < runs; i++) {
		run(argv[1], &hook.times[i], &hook.faults[i]);
		run(argv[2], &floor.times[i], &floor.faults[i]);
	}

	printf("%ld runs of each in turn on core %zu, medians:\n", runs, core);
	double hook_time = print_cost("hook", &hook, (size_t)runs);
	double floor_time = print_cost("floor", &floor, (size_t)runs);
	printf("ratio %8.3f\n", hook_time / floor_time);
	return 0;
}
