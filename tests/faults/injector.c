/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program and lets exactly one of its system calls go wrong, or hits it there with a signal.
 *
 *   injector LOG_FD HANG_SECONDS [ACTION] -- PROGRAM [ARGUMENT]...
 *
 *   ACTION: error PROCESS CALL N ERRNO      the Nth use of system call number CALL fails, undone
 *           signal PROCESS I TARGET SIGNAL  TARGET gets SIGNAL when PROCESS makes its Ith call
 *           delay PROCESS I MILLISECONDS    the Ith call of PROCESS, of whatever kind, takes that long
 *           look                            nothing goes wrong, but LOG_FD gets a line "rights PROCESS ..." before
 *                                           each call by which the process has got other rights than before:
 *                                           Inh, Prm, Eff, Bnd, Amb and NoNewPrivs of its /proc/PID/status
 *
 * PROCESS and TARGET are 0 for the program and 1, 2, ... for the processes that it starts, in order;
 * calls are counted from 1 after the program was executed, for each process by itself. That is why
 * this is not strace, whose when=N is counted for each process anew and meant for all of them: in a
 * program with children, which fail and make their parent undo, one fault would become two.
 *
 * LOG_FD gets lines: "call PROCESS NUMBER NAME" for each call; "fds PROCESS N" for the descriptors that are open when a process
 * ends by itself; "hit" when the action was done; "hung"
 * when it took longer than HANG_SECONDS and was killed; "left PID" for a process that is there 2 seconds
 * after the program's end; and last "exit CODE" or "killed SIGNAL".
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES 64
#define MAX_CALLS 1024
#define LEFT_SECONDS 2

enum action_kind { ACTION_NONE, ACTION_ERROR, ACTION_SIGNAL, ACTION_DELAY, ACTION_LOOK };

static struct {
	enum action_kind kind;
	long process, call, n, target, value;
	bool done;
} action;

struct process {
	pid_t pid;
	bool alive, in_call, failing;
	unsigned long number; /* of the call that it is in */
	long long heap_end;   /* what the last brk returned */
	unsigned total;
	unsigned counts[MAX_CALLS];
	char rights[160]; /* as they were last written down */
};

static struct process processes[MAX_PROCESSES];
static size_t n_processes;
static long hang_seconds;
static FILE *out;
static volatile sig_atomic_t time_is_up;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "injector: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void note_alarm(int signal)
{
	(void)signal;
	time_is_up = 1;
}

/* It ticks on: an alarm just before a waitpid() would be lost otherwise. */
static void set_alarm(long seconds)
{
	const struct itimerval timer = {.it_value = {.tv_sec = seconds},
					.it_interval = {.tv_usec = 100 * 1000}};

	time_is_up = 0;
	if (setitimer(ITIMER_REAL, &timer, NULL) < 0)
		die("setitimer");
}

static struct process *find_process(pid_t pid)
{
	for (size_t i = 0; i < n_processes; i++)
		if (processes[i].pid == pid && processes[i].alive)
			return &processes[i];
	if (n_processes == MAX_PROCESSES)
		die("too many processes");
	processes[n_processes] = (struct process){.pid = pid, .alive = true};
	return &processes[n_processes++];
}

static size_t index_of(const struct process *process)
{
	return (size_t)(process - processes);
}

/* Resolved once: there are few. */
static const char *call_name(unsigned long number)
{
	static char *names[MAX_CALLS];

	if (number >= MAX_CALLS)
		return "unknown";
	if (!names[number])
		names[number] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
	if (!names[number] && asprintf(&names[number], "call%lu", number) < 0)
		die("name a call");
	return names[number];
}

/*
 * Making a call fail: at its entry the number becomes one that no call has, at its exit the result
 * becomes what we like. Both are the architecture's own business.
 */

#if defined(__x86_64__)
static void drop_call(pid_t pid)
{
	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), -1L) < 0)
		die("take the call away");
}

static void set_result(pid_t pid, long result)
{
	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rax), result) < 0)
		die("set the result");
}
#elif defined(__aarch64__)
static void drop_call(pid_t pid)
{
	int none = -1;
	struct iovec iov = {&none, sizeof(none)};

	if (ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov) < 0)
		die("take the call away");
}

static void set_result(pid_t pid, long result)
{
	struct user_regs_struct regs;
	struct iovec iov = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) < 0)
		die("read the result");
	regs.regs[0] = (unsigned long long)result;
	if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov) < 0)
		die("set the result");
}
#else
static void drop_call(pid_t pid)
{
	(void)pid;
	errno = ENOSYS;
	die("this architecture");
}

static void set_result(pid_t pid, long result)
{
	(void)pid;
	(void)result;
}
#endif

/*
 * The stops
 */

/* "Inh Prm Eff Bnd Amb NoNewPrivs", in the order in which the kernel has them. */
static void read_rights(pid_t pid, char *rights, size_t size)
{
	char path[64], line[256], value[64];
	size_t len = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		die(path);
	rights[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Cap%*3s: %63s", value) == 1 ||
		    sscanf(line, "NoNewPrivs: %63s", value) == 1)
			len += (size_t)snprintf(rights + len, size - len, " %s", value);
	fclose(file);
}

static void note_rights(struct process *process)
{
	char rights[sizeof(process->rights)];

	if (action.kind != ACTION_LOOK)
		return;
	read_rights(process->pid, rights, sizeof(rights));
	if (strcmp(rights, process->rights) == 0)
		return;
	memcpy(process->rights, rights, sizeof(rights));
	fprintf(out, "rights %zu%s\n", index_of(process), rights);
}

static void act(struct process *process)
{
	const struct timespec pause = {.tv_sec = action.value / 1000,
				       .tv_nsec = action.value % 1000 * 1000000};

	action.done = true;
	switch (action.kind) {
	case ACTION_ERROR:
		drop_call(process->pid);
		process->failing = true;
		break;
	case ACTION_SIGNAL:
		if ((size_t)action.target < n_processes)
			kill(processes[action.target].pid, (int)action.value);
		break;
	case ACTION_DELAY:
		/* Its timer runs on; a tick of our own alarm must not cut this short. */
		for (struct timespec left = pause; nanosleep(&left, &left) < 0 && errno == EINTR;)
			;
		break;
	case ACTION_NONE:
	case ACTION_LOOK:
		break;
	}
}

static bool is_due(const struct process *process, unsigned long number, unsigned count)
{
	if (action.done || action.process != (long)index_of(process))
		return false;
	if (action.kind == ACTION_ERROR)
		return action.call == (long)number && action.n == (long)count;
	return action.kind != ACTION_NONE && action.n == (long)process->total;
}

static void on_entry(struct process *process, unsigned long number)
{
	unsigned count = 0;

	process->in_call = true;
	process->number = number;
	process->total++;
	if (number < MAX_CALLS)
		count = ++process->counts[number];
	note_rights(process);
	fprintf(out, "call %zu %lu %s\n", index_of(process), number, call_name(number));
	if (is_due(process, number, count)) {
		fprintf(out, "hit\n");
		act(process);
	}
}

/* brk knows no errors: one that fails returns what it returned before. */
static void on_exit_of_call(struct process *process, long long result)
{
	bool is_brk = process->number == SYS_brk;

	process->in_call = false;
	if (process->failing)
		set_result(process->pid, is_brk ? (long)process->heap_end : -action.value);
	else if (is_brk)
		process->heap_end = result;
	process->failing = false;
}

/* At the entry or exit of a call. A process that was killed meanwhile no longer answers: fine. */
static void on_call(struct process *process)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof(info), &info) < 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		on_entry(process, info.entry.nr);
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT && process->in_call)
		on_exit_of_call(process, info.exit.rval);
}

static bool is_known(pid_t pid)
{
	for (size_t i = 0; i < n_processes; i++)
		if (processes[i].pid == pid)
			return true;
	return false;
}

/*
 * Known from its birth on: it may outlive its parent before it is seen to do anything. Or it has come to its end before its
 * parent's word of it is heard, and must not count as alive again.
 */
static void note_child(pid_t parent)
{
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent, 0L, &pid) == 0 && !is_known((pid_t)pid))
		(void)find_process((pid_t)pid);
}

/*
 * A process that runs into a fault, such as the end of abort(). As the init of a pid namespace it
 * would die of that, but the kernel spares such a process while it is traced: it would run into the
 * same fault for ever. So it is let go.
 */
static bool let_go_at_fault(struct process *process, int signal)
{
	siginfo_t info;

	if (signal != SIGSEGV && signal != SIGBUS && signal != SIGILL && signal != SIGFPE)
		return false;
	if (process == &processes[0] || ptrace(PTRACE_GETSIGINFO, process->pid, 0L, &info) < 0 ||
	    info.si_code <= 0)
		return false;
	process->alive = false;
	return ptrace(PTRACE_DETACH, process->pid, 0L, (long)signal) == 0;
}

/* It is about to end, and still has what it has opened. */
static void count_descriptors(const struct process *process)
{
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)process->pid);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	fprintf(out, "fds %zu %zu\n", index_of(process), n);
}

/* Returns the signal that the process goes on with. */
static int on_stop(struct process *process, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	    event == PTRACE_EVENT_CLONE)
		note_child(process->pid);
	if (event == PTRACE_EVENT_EXIT)
		count_descriptors(process);
	if (event != 0)
		return 0; /* those, an exec, the first stop of a new process */
	if (signal == (SIGTRAP | 0x80)) {
		on_call(process);
		return 0;
	}
	return signal;
}

static void kill_all(void)
{
	for (size_t i = 0; i < n_processes; i++)
		if (processes[i].alive)
			kill(processes[i].pid, SIGKILL);
}

static size_t count_alive(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_processes; i++)
		n += processes[i].alive;
	return n;
}

static void on_time_up(bool main_is_gone)
{
	set_alarm(hang_seconds);
	if (!main_is_gone)
		fprintf(out, "hung\n");
	for (size_t i = 0; main_is_gone && i < n_processes; i++)
		if (processes[i].alive)
			fprintf(out, "left %d\n", (int)processes[i].pid);
	kill_all();
}

/* Returns how the program itself ended, as of waitpid(). */
static int trace(void)
{
	int main_status = -1;

	while (count_alive() > 0) {
		int status;
		pid_t pid;
		if (time_is_up)
			on_time_up(main_status != -1);
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			die("wait");
		struct process *process = find_process(pid);
		if (WIFSTOPPED(status)) {
			int signal = on_stop(process, status);
			if (let_go_at_fault(process, signal))
				continue;
			(void)ptrace(PTRACE_SYSCALL, pid, 0L, (long)signal);
			continue;
		}
		process->alive = false;
		if (process == &processes[0]) {
			main_status = status;
			set_alarm(LEFT_SECONDS);
		}
	}
	return main_status;
}

/*
 * Start
 */

/* The child waits until it is traced. */
static _Noreturn void become(int go_fd, char **argv)
{
	char byte;

	if (read(go_fd, &byte, 1) != 1)
		_exit(1);
	execv(argv[0], argv);
	fprintf(stderr, "injector: execute %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void attach(pid_t pid)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT |
			     PTRACE_O_EXITKILL;

	if (ptrace(PTRACE_SEIZE, pid, 0L, options) < 0)
		die("trace the program");
}

/* Until the program is executed, nothing is counted. */
static void wait_for_exec(pid_t pid)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) != pid)
			die("wait for the program");
		if (!WIFSTOPPED(status))
			die("the program did not start");
		if (status >> 16 == PTRACE_EVENT_EXEC)
			break;
		(void)ptrace(PTRACE_CONT, pid, 0L, 0L);
	}
	(void)find_process(pid);
	if (ptrace(PTRACE_SYSCALL, pid, 0L, 0L) < 0)
		die("let the program go");
}

static long number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (!*text || *end) {
		errno = EINVAL;
		die(text);
	}
	return value;
}

static void read_action(char **words, int n)
{
	if (n == 0)
		return;
	if (strcmp(words[0], "look") == 0 && n == 1) {
		action.kind = ACTION_LOOK;
		return;
	}
	action.process = number(words[1]);
	if (strcmp(words[0], "error") == 0 && n == 5) {
		action.kind = ACTION_ERROR;
		action.call = number(words[2]);
		action.n = number(words[3]);
		action.value = number(words[4]);
	} else if (strcmp(words[0], "signal") == 0 && n == 5) {
		action.kind = ACTION_SIGNAL;
		action.n = number(words[2]);
		action.target = number(words[3]);
		action.value = number(words[4]);
	} else if (strcmp(words[0], "delay") == 0 && n == 4) {
		action.kind = ACTION_DELAY;
		action.n = number(words[2]);
		action.value = number(words[3]);
	} else {
		errno = EINVAL;
		die("action");
	}
}

int main(int argc, char **argv)
{
	const struct sigaction on_alarm = {.sa_handler = note_alarm};
	int fds[2], program = 3, status;
	pid_t pid;

	while (program < argc && strcmp(argv[program], "--") != 0)
		program++;
	if (argc < 5 || program + 1 >= argc) {
		fprintf(stderr,
			"usage: injector LOG_FD HANG_SECONDS [ACTION] -- PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	hang_seconds = number(argv[2]);
	read_action(argv + 3, program - 3);
	int log_fd = (int)number(argv[1]);
	if (fcntl(log_fd, F_SETFD, FD_CLOEXEC) < 0 || !(out = fdopen(log_fd, "w")))
		die("log");
	if (pipe2(fds, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		become(fds[0], argv + program + 1);

	if (sigaction(SIGALRM, &on_alarm, NULL) < 0)
		die("sigaction");
	attach(pid);
	if (write(fds[1], "g", 1) != 1)
		die("let the program start");
	wait_for_exec(pid);
	set_alarm(hang_seconds);
	status = trace();
	if (WIFEXITED(status))
		fprintf(out, "exit %d\n", WEXITSTATUS(status));
	else
		fprintf(out, "killed %d\n", WTERMSIG(status));
	return fflush(out) == 0 ? 0 : 1;
}
