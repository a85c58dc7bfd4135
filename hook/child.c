/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's program is trusted to be what it is, not to be good: it may read nothing, say too much,
 * hang, crash, or leave a process that holds the other end of our pipe. The start of the container waits
 * for us, so none of these may hold us: all pipes are served at once and until a deadline, and the end of
 * the program, not the end of its output, is what we wait for.
 *
 * We have one thread, so the child may do between clone3 and exec whatever the parent could.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "interrupt.h"
#include "log.h"
#include "privilege.h"
#include "proc-text.h"
#include "sys.h"

/* What is kept of the output: its end. The sentence and the log show less. */
#define OUTPUT_KEPT 4096
/* How long a pipe may stay open behind the program's end: a process that ends together with it needs less. */
#define PIPE_GRACE_MS 2000
/* The soft limit that programs expect; ours is as high as it goes. */
#define OPEN_FILES 1024
/* Rounds of killing what a program has left: each finds the children of those that died in the one before. */
#define KILL_ROUNDS 100

struct running {
	struct arena *arena;
	const struct child *child;
	pid_t pid;
	int pid_fd;
	int input_fd, output_fd; /* our ends */
	int report_fd;           /* an error of the child before it became the program */
	size_t input_done;
	size_t output_total, output_len;
	char output[2 * OUTPUT_KEPT + 1];
	long long deadline_ms; /* of its own timeout, on now_ms()'s clock; 0: none */
	long long ended_ms;    /* when its end was seen; 0: it runs */
};

static long long now_ms(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void running_done(struct running *running)
{
	close_fd(&running->pid_fd);
	close_fd(&running->input_fd);
	close_fd(&running->output_fd);
	close_fd(&running->report_fd);
}

/*
 * The child, up to exec
 */

/* Handlers end with exec; what was ignored would stay so. */
static void reset_signals(void)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * A parent that is killed takes the program along. One that died before this was said has left a
 * pipe without a reader: then this is the end. (Its number would not tell: in another pid namespace it has none.)
 */
static int die_with_parent(int report_fd, struct error *err)
{
	struct pollfd parent = {.fd = report_fd};
	int n = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -1 : poll(&parent, 1, 0);

	if (n > 0)
		_exit(1);
	return n < 0 ? error_set(err, errno, "see to it that it ends with the hook") : 0;
}

static int set_up(const struct child *child, int input_fd, int output_fd, int report_fd,
		  struct error *err)
{
	struct rlimit files;

	if (setsid() < 0)
		return error_set(err, errno, "setsid");
	if (child->enter(child->data, err) < 0)
		return error_result(err);
	/* Becoming somebody else has taken it off. */
	if (die_with_parent(report_fd, err) < 0)
		return error_result(err);
	if (dup2(input_fd, STDIN_FILENO) < 0 || dup2(output_fd, STDOUT_FILENO) < 0 ||
	    dup2(output_fd, STDERR_FILENO) < 0)
		return error_set(err, errno, "dup2");
	/* All of ours are closed by exec anyway; this is for those that nobody thought of. */
	if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0 && errno != ENOSYS &&
	    errno != EINVAL)
		return error_set(err, errno, "close_range");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > OPEN_FILES) {
		files.rlim_cur = OPEN_FILES;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	umask(022);
	reset_signals();
	return 0;
}

/* `report` are both ends of the pipe. */
static _Noreturn void become_program(const struct child *child, int input_fd, int output_fd,
				     const int report[2])
{
	struct error err = {0};

	close(report[0]);
	if (die_with_parent(report[1], &err) == 0 &&
	    privilege_take(PRIVILEGE_PROGRAM, 0, &err) == 0 &&
	    set_up(child, input_fd, output_fd, report[1], &err) == 0)
		program_exec(child->program, child->argv, child->envp, &err);
	(void)!write(report[1], &err, sizeof(err));
	_exit(1);
}

/*
 * The parent
 */

/* A pipe of which only our end, the one at `ours`, does not block. */
static int make_pipe(int fds[2], int ours, struct error *err)
{
	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	return fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0 ? error_set(err, errno, "fcntl") : 0;
}

/* Forks, into the pid namespace where that is another one; ours is what later children get again. */
static int fork_there(struct running *running, struct error *err)
{
	const int there = running->child->pid_namespace_fd;
	_cleanup_fd_ int ours = -1;
	int fork_errno;

	if (there >= 0) {
		ours = openat(running->child->proc_fd, "self/ns/pid", O_RDONLY | O_CLOEXEC);
		if (ours < 0)
			return error_set(err, errno, "open /proc/self/ns/pid");
		if (setns(there, CLONE_NEWPID) < 0)
			return error_set(err, errno, "enter the container's pid namespace");
	}
	running->pid = sys_fork_pidfd(0, &running->pid_fd);
	fork_errno = errno;
	if (running->pid == 0)
		return 0;
	if (there >= 0 && setns(ours, CLONE_NEWPID) < 0) {
		error_set(err, errno, "go back to our own pid namespace");
		if (running->pid > 0) {
			(void)kill(running->pid, SIGKILL);
			(void)waitpid(running->pid, NULL, 0);
		}
		return error_result(err);
	}
	return running->pid < 0 ? error_set(err, fork_errno, "fork") : 0;
}

static int start(struct running *running, struct error *err)
{
	int input[2] = {-1, -1}, output[2] = {-1, -1}, report[2] = {-1, -1};
	int r = make_pipe(input, 1, err);

	running->input_fd = input[1];
	_cleanup_fd_ int input_fd = input[0];
	if (r == 0)
		r = make_pipe(output, 0, err);
	running->output_fd = output[0];
	_cleanup_fd_ int output_fd = output[1];
	if (r == 0)
		r = make_pipe(report, 0, err);
	running->report_fd = report[0];
	_cleanup_fd_ int report_fd = report[1];
	/* What it leaves behind becomes our child, so that it can be found. */
	if (r == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		r = error_set(err, errno, "prctl PR_SET_CHILD_SUBREAPER");
	if (r == 0)
		r = fork_there(running, err);
	if (r == 0 && running->pid == 0)
		become_program(running->child, input_fd, output_fd,
			       (const int[2]){running->report_fd, report_fd});
	return r;
}

static void feed(struct running *running)
{
	const struct child *child = running->child;
	ssize_t n = write(running->input_fd, child->input + running->input_done,
			  child->input_size - running->input_done);

	if (n > 0)
		running->input_done += (size_t)n;
	/* It need not read it. */
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    running->input_done == child->input_size)
		close_fd(&running->input_fd);
}

/* Takes what it has said; false when nobody can say any more. */
static bool listen_to(struct running *running)
{
	ssize_t n = read(running->output_fd, running->output + running->output_len, OUTPUT_KEPT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		close_fd(&running->output_fd);
		return false;
	}
	running->output_len += (size_t)n;
	running->output_total += (size_t)n;
	if (running->output_len > OUTPUT_KEPT) {
		memmove(running->output, running->output + running->output_len - OUTPUT_KEPT,
			OUTPUT_KEPT);
		running->output_len = OUTPUT_KEPT;
	}
	return true;
}

/* Its last words on one line; NULL for none. */
static const char *last_words(struct running *running)
{
	char *text = running->output;
	size_t len = running->output_len;

	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		len--;
	text[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r')
			text[i] = ' ';
	return len > 0 ? text : NULL;
}

/* "REASON: its last words" */
static int failed(struct running *running, const char *reason, struct error *err)
{
	const char *words = last_words(running);

	return error_say(err, EXIT_CODE_VENDOR_HOOK, "%s%s%s", reason, words ? ": " : "",
			 words ? SHOW(words) : "");
}

/* Milliseconds until something has to be done about it even if nothing happens. */
static long long patience(const struct running *running)
{
	long long left = interrupt_remaining_ms(), own;

	if (running->deadline_ms) {
		own = running->deadline_ms - now_ms();
		left = own < left ? own : left;
	}
	if (running->ended_ms) {
		own = running->ended_ms + PIPE_GRACE_MS - now_ms();
		left = own < left ? own : left;
	}
	return left;
}

/* Nothing more is waited for: why. Positive: it has ended, and something else holds its output. */
static int out_of_time(struct running *running, struct error *err)
{
	char reason[128];

	if (interrupt_signal())
		return interrupted(err);
	if (running->ended_ms)
		return 1;
	if (interrupt_remaining_ms() <= 0)
		return failed(running, "not done within the time that --timeout allows for all",
			      err);
	snprintf(reason, sizeof(reason), "not done within the %lld seconds that its timeout allows",
		 running->child->timeout_ms / 1000);
	return failed(running, reason, err);
}

/* Serves the program until it has ended. Positive as of out_of_time(). */
static int serve(struct running *running, struct error *err)
{
	for (;;) {
		struct pollfd fds[] = {
			{.fd = running->ended_ms ? -1 : running->pid_fd, .events = POLLIN},
			{.fd = running->output_fd, .events = POLLIN},
			{.fd = running->input_fd, .events = POLLOUT},
		};
		long long left = patience(running);
		int n = 0;

		if (running->ended_ms && running->output_fd < 0)
			return 0;
		if (interrupt_signal() || left <= 0)
			return out_of_time(running, err);
		n = poll(fds, 3, (int)left);
		if (n < 0 && errno != EINTR)
			return error_set(err, errno, "poll");
		if (n <= 0)
			continue;
		if (fds[0].revents)
			running->ended_ms = now_ms();
		if (fds[1].revents)
			(void)listen_to(running);
		if (running->output_total > LIMIT_HOOK_OUTPUT)
			return failed(running, "wrote too much, and was ended", err);
		if (fds[2].revents)
			feed(running);
	}
}

/* In a procfs of another pid namespace the numbers are not ours, and may be anybody's here. */
static bool is_child(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/*
 * What the program started and left here has become our child when its parent died. In another pid
 * namespace it has become a child of that one's first process instead, and ends with the container.
 */
static void kill_left(struct running *running)
{
	for (int round = 0; round < KILL_ROUNDS; round++) {
		struct proc_pid_list list = {0};
		struct error ignored = {0};
		char *text;
		size_t size;

		if (fdio_read_at(running->arena, running->child->proc_fd, "thread-self/children",
				 LIMIT_PROC_SIZE, &text, &size, &ignored) < 0 ||
		    proc_text_parse_children(running->arena, text, size, &list, &ignored) < 0 ||
		    list.n == 0)
			return;
		for (size_t i = 0; i < list.n; i++) {
			if (!is_child(list.items[i]))
				continue;
			(void)kill(list.items[i], SIGKILL);
			(void)waitpid(list.items[i], NULL, 0);
		}
	}
}

/* Ends the program with its whole session, as far as that has stayed together, and what else it left. */
static void end_all(struct running *running)
{
	(void)pidfd_send_signal(running->pid_fd, SIGKILL, NULL, 0);
	(void)kill(-running->pid, SIGKILL);
}

/* It has ended: how. `held`: something else holds its output. */
static int judge(struct running *running, bool held, struct error *err)
{
	struct error reported;
	siginfo_t info = {0};
	char reason[64];

	if (waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOWAIT) < 0)
		return error_set(err, errno, "waitid");

	if (read(running->report_fd, &reported, sizeof(reported)) == (ssize_t)sizeof(reported)) {
		*err = reported;
		return error_class(err, EXIT_CODE_VENDOR_HOOK);
	}
	if (info.si_code != CLD_EXITED) {
		const char *name = sigabbrev_np(info.si_status);
		snprintf(reason, sizeof(reason), "ended by signal %d (%s)", info.si_status,
			 name ? name : "?");
		return failed(running, reason, err);
	}
	if (info.si_status != 0) {
		snprintf(reason, sizeof(reason), "exit code %d", info.si_status);
		return failed(running, reason, err);
	}
	return held ? failed(running,
			     "has ended, but a process that it started keeps its output open, "
			     "and was ended too",
			     err)
		    : 0;
}

static void log_output(struct running *running)
{
	const char *words = last_words(running);

	if (words)
		log_line(LOG_LEVEL_INFO, "%s says: %s", SHOW(running->child->program->path),
			 SHOW(words));
}

int child_run(struct arena *arena, const struct child *child, struct error *err)
{
	__attribute__((cleanup(running_done))) struct running running = {
		.arena = arena,
		.child = child,
		.pid_fd = -1,
		.input_fd = -1,
		.output_fd = -1,
		.report_fd = -1,
		.deadline_ms = child->timeout_ms ? now_ms() + child->timeout_ms : 0,
	};
	int r = start(&running, err);

	if (r < 0)
		return error_class(err, EXIT_CODE_VENDOR_HOOK);
	r = serve(&running, err);
	if (r >= 0)
		r = judge(&running, r > 0, err);
	/* Not waited for yet: its number is still its own, and that of its session. */
	if (r < 0)
		end_all(&running);
	while (waitpid(running.pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		kill_left(&running);
	else
		log_output(&running);
	return r;
}
