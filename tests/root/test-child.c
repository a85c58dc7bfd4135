/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_run() with programs that do everything a vendor's program should not. They are small shell
 * scripts and copies of busybox below a directory that only root can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "checks.h"
#include "child.h"
#include "cleanup.h"
#include "interrupt.h"

static char top[] = "/run/oci-cdi-hook-child-XXXXXX";
static const char *at(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	must(fd, name);
	must(write(fd, text, strlen(text)), name);
	must(fchmod(fd, mode), name);
	close(fd);
}

/* What the file holds, without its last line end; "" where there is none. */
static const char *text_of(const char *name)
{
	static char text[65536];
	int fd = open(at(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	return text;
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The run of one program, and what it came to. */
struct trial {
	const char *program; /* NULL: the script "run" */
	const char *script;
	const char *input;
	size_t input_size;
	long long timeout_ms;
	int pid_namespace_fd; /* 0: ours */
	int (*enter)(const void *data, struct error *err);
	struct error err;
	long long took_ms;
};

static int enter_nothing(const void *data, struct error *err)
{
	(void)err;
	return data ? chdir(data) : 0;
}

/* What try() has opened. */
static const struct program *opened;

static int try(struct trial *trial)
{
	const struct trust trust = {.root_fd = open("/", O_PATH | O_CLOEXEC), .owner = 0};
	char *argv[] = {(char[]){"name"}, (char[]){"two words"}, (char[]){""}, NULL};
	char *envp[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"X=y=z"}, NULL};
	char path[128];
	struct program program = {.fd = -1};
	struct child child = {
		.program = &program,
		.argv = argv,
		.envp = envp,
		.input = trial->input ? trial->input : "",
		.input_size = trial->input_size,
		.timeout_ms = trial->timeout_ms,
		.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.pid_namespace_fd = trial->pid_namespace_fd ? trial->pid_namespace_fd : -1,
		.enter = trial->enter ? trial->enter : enter_nothing,
		.data = top,
	};
	struct arena arena;
	int r;

	arena_init(&arena, LIMIT_MEMORY);
	if (trial->script)
		write_file("run", trial->script, 0755);
	snprintf(path, sizeof(path), "%s", trial->program ? trial->program : at("run"));
	trial->took_ms = now_ms();
	r = program_open(&arena, &trust, path, &program, &trial->err);
	opened = &program;
	if (r == 0)
		r = child_run(&arena, &child, &trial->err);
	trial->took_ms = now_ms() - trial->took_ms;
	close_fd(&program.fd);
	close(child.proc_fd);
	close(trust.root_fd);
	arena_done(&arena);
	return r;
}

static void check_fails(struct trial *trial, const char *sentence)
{
	char text[ERROR_TEXT_MAX];
	int r = try(trial);

	check(r < 0, "did not fail");
	check(strstr(error_text(&trial->err, text), sentence), "sentence: %s", text);
	check(trial->err.exit_code == EXIT_CODE_VENDOR_HOOK, "exit code %d", trial->err.exit_code);
}

static void check_succeeds(struct trial *trial)
{
	char text[ERROR_TEXT_MAX];
	int r = try(trial);

	check(r == 0, "failed: %s", error_text(&trial->err, text));
}

/* Whether a process of this name lives; waits a little for its end. */
static bool lives(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "pgrep --full '%s' >/dev/null", name);
	for (int i = 0; i < 20; i++) {
		if (system(command) != 0) /* NOLINT: a test's own words */
			return false;
		usleep(50000);
	}
	return true;
}

/*
 * Cases
 */

static void case_gets_what_it_is_given(void)
{
	struct trial trial = {
		.script = "#!/bin/sh\n"
			  "cat >input\n"
			  "echo \"$0|$#|$1|$2\" >args\n"
			  "env | grep -v '^PWD=\\|^_=\\|^OLDPWD=\\|^SHLVL=' | sort >env\n"
			  "pwd >cwd\n"
			  "umask >umask\n"
			  "ps -o sid= -p $$ | tr -d ' ' >sid; echo $$ >pid\n"
			  "grep -E '^(SigBlk|SigIgn|CapInh|CapAmb)' /proc/self/status >status\n"
			  "ulimit -Sn >files\n",
		.input = "the state\n",
		.input_size = 10,
	};
	char script[128];

	snprintf(script, sizeof(script), "%s|2|two words|", at("run"));
	check_succeeds(&trial);
	check(strcmp(text_of("input"), "the state") == 0, "input: %s", text_of("input"));
	check(strcmp(text_of("args"), script) == 0, "args: %s", text_of("args"));
	check(strcmp(text_of("env"), "PATH=/usr/bin:/bin\nX=y=z") == 0, "env: %s", text_of("env"));
	check(strcmp(text_of("cwd"), top) == 0, "cwd: %s", text_of("cwd"));
	check(strcmp(text_of("umask"), "0022") == 0, "umask: %s", text_of("umask"));
	check(atoi(text_of("sid")) > 0, "no session");
	int sid = atoi(text_of("sid"));
	check(sid == atoi(text_of("pid")), "session %d", sid);
	check(strcmp(text_of("status"),
		     "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
		     "CapInh:\t0000000000000000\nCapAmb:\t0000000000000000") == 0,
	      "status: %s", text_of("status"));
	check(atoi(text_of("files")) <= 1024, "files: %s", text_of("files"));
}

/* A static program is run by its descriptor: with the name that the spec gives it, and no other descriptor. */
static void case_program_has_no_descriptor_of_ours(void)
{
	struct trial trial = {.script = NULL, .program = at("busybox")};
	int leaked = open("/etc/passwd", O_RDONLY); /* not close-on-exec: by mistake */

	/* argv[0] "name" is no applet: it says so, which shows that it ran. */
	check_fails(&trial, "exit code 127: name: applet not found");
	trial = (struct trial){.script = "#!/bin/sh\nfor fd in 3 4 5 6 7 8 9; do [ -e "
					 "/proc/$$/fd/$fd ] && echo $fd; done "
					 ">fds\ntrue\n"};
	check_succeeds(&trial);
	check(strcmp(text_of("fds"), "") == 0, "fds: %s", text_of("fds"));
	close(leaked);
}

static void case_exit_code_and_words(void)
{
	struct trial trial = {
		.script = "#!/bin/sh\necho first\nprintf 'a\\001b\\n\\n' >&2\nexit 42\n"};

	check_fails(&trial, "exit code 42: first a\\x01b");
	trial = (struct trial){.script = "#!/bin/sh\nexit 1\n"};
	check_fails(&trial, "exit code 1");
	check(strcmp(trial.err.text, "exit code 1") == 0, "sentence: %s", trial.err.text);
}

static void case_large_input_that_nobody_reads(void)
{
	static char input[1024 * 1024];
	struct trial trial = {.input = input,
			      .input_size = sizeof(input),
			      .script = "#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' y\n"};

	memset(input, 'x', sizeof(input));
	check_succeeds(&trial);
	trial.script = "#!/bin/sh\nexec <&-\nsleep 0.2\n";
	check_succeeds(&trial);
	/* It reads and writes by turns, both more than a pipe holds. */
	trial.script = "#!/bin/sh\ntee copy | head -c 900000\ncat >/dev/null\nwc -c <copy >count\n";
	check_succeeds(&trial);
	check(atoi(text_of("count")) > 0, "count: %s", text_of("count"));
}

static void case_flood(void)
{
	struct trial trial = {.script = "#!/bin/sh\nexec yes flood-771\n"};

	check_fails(&trial, "wrote too much, and was ended: ");
	check(strstr(trial.err.text, "flood-771"), "its words: %s", trial.err.text);
	check(!lives("flood-77[1]"), "it lives");
}

static void case_hang(void)
{
	struct trial trial = {.script = "#!/bin/sh\necho before\nsleep 7712 & sleep 7712\n",
			      .timeout_ms = 1000};

	check_fails(&trial, "not done within the 1 seconds that its timeout allows: before");
	check(trial.took_ms < 6000, "took %lld ms", trial.took_ms);
	check(!lives("sleep 771[2]"), "it lives");
}

static void case_hang_with_all_closed(void)
{
	struct trial trial = {.script = "#!/bin/sh\nexec <&- >&- 2>&-\nsleep 7713\n",
			      .timeout_ms = 1000};

	check_fails(&trial, "not done within the 1 seconds that its timeout allows");
	check(!lives("sleep 771[3]"), "it lives");
}

static void case_deadline_of_the_run(void)
{
	struct error err = {0};
	struct trial trial = {.script = "#!/bin/sh\nsleep 7714\n", .timeout_ms = 3600 * 1000};

	must(interrupt_set_up(1, &err), "interrupt_set_up");
	check_fails(&trial, "not done within the time that --timeout allows for all");
	check(!lives("sleep 771[4]"), "it lives");
}

static void case_signal_to_us(void)
{
	struct trial trial = {.script = "#!/bin/sh\nkill -TERM $PPID\nsleep 7715\n"};
	char text[ERROR_TEXT_MAX];

	check(try(&trial) < 0, "did not fail");
	check(strstr(error_text(&trial.err, text), "ended by signal 15"), "sentence: %s", text);
	check(trial.err.exit_code == EXIT_CODE_OTHER, "exit code %d", trial.err.exit_code);
	check(!lives("sleep 771[5]"), "it lives");
}

static void case_dies_by_a_signal(void)
{
	struct trial trial = {.script = "#!/bin/sh\necho now\nkill -ABRT $$\n"};

	check_fails(&trial, "ended by signal 6 (ABRT): now");
}

static void case_daemon_that_holds_the_pipe(void)
{
	struct trial trial = {.script = "#!/bin/sh\nsetsid sh -c 'sleep 7716; :' &\necho up\n"};

	check_fails(&trial,
		    "has ended, but a process that it started keeps its output open, and was "
		    "ended too: up");
	check(trial.took_ms < 6000, "took %lld ms", trial.took_ms);
	check(!lives("sleep 771[6]"), "the daemon lives");
	/* Its own failure is what counts. */
	trial = (struct trial){.script = "#!/bin/sh\nsetsid sleep 7717 &\necho no >&2; exit 5\n"};
	check_fails(&trial, "exit code 5: no");
	check(!lives("sleep 771[7]"), "the daemon lives");
}

/* One that knows how to behave stays: it is none of ours. */
static void case_daemon_that_behaves(void)
{
	struct trial trial = {.script = "#!/bin/sh\nsetsid sleep 7718 <&- >&- 2>&- &\ntrue\n"};

	check_succeeds(&trial);
	check(system("pkill --full 'sleep 771[8]'") == 0, "the daemon is gone"); /* NOLINT */
}

/* A helper that ends a moment after the program is no daemon. */
static void case_pipe_is_closed_a_little_later(void)
{
	struct trial trial = {.script = "#!/bin/sh\nsleep 0.1 &\ntrue\n"};

	check_succeeds(&trial);
}

static void case_not_to_be_run(void)
{
	struct trial trial = {.program = at("missing")};

	check_fails(&trial, "missing: No such file or directory");
	trial = (struct trial){.script = "#!relative/sh\n"};
	check_fails(&trial, "its interpreter \"relative/sh\" is not an absolute path");
	trial = (struct trial){.script = "no program at all\n"};
	check_fails(&trial, "execute it: Exec format error");
	write_file("plain", "#!/bin/sh\n", 0644);
	trial = (struct trial){.program = at("plain")};
	check_fails(&trial, "not executable (mode 0644)");
	write_file("open", "#!/bin/sh\n", 0757);
	trial = (struct trial){.program = at("open")};
	check_fails(&trial, "not trusted: writable by others (mode 0757)");
	write_file("loop", "", 0755);
	char line[256];
	snprintf(line, sizeof(line), "#!%s\n", at("loop"));
	write_file("loop", line, 0755);
	trial = (struct trial){.program = at("loop")};
	check_fails(&trial, "more than 5 interpreters");
	trial = (struct trial){.program = top};
	check_fails(&trial, "Is a directory");
}

static int enter_fails(const void *data, struct error *err)
{
	(void)data;
	return error_set(err, ENOTDIR, "enter the place");
}

static void case_enter_fails(void)
{
	struct trial trial = {.script = "#!/bin/sh\ntouch ran\n", .enter = enter_fails};

	check_fails(&trial, "enter the place: Not a directory");
	check(access(at("ran"), F_OK) < 0, "it ran");
}

/* A process that is the first of a pid namespace of its own; returns its pid. */
static pid_t first_process(void)
{
	int fds[2];
	pid_t pid;
	char byte;

	must(pipe(fds), "pipe");
	pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		must(unshare(CLONE_NEWPID), "unshare");
		pid_t inner = fork();
		if (inner == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			must(write(fds[1], "x", 1), "write");
			pause();
			_exit(0);
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	must(read(fds[0], &byte, 1), "read");
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* In a mount namespace in which something else may lie over the program's files. */
static int enter_with_a_mount(const char *over, struct error *err)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    (over && mount("/bin/true", over, NULL, MS_BIND, NULL) < 0))
		return error_set(err, errno, "mount");
	return program_check_place(opened, err);
}

static int enter_plainly(const void *data, struct error *err)
{
	(void)data;
	return enter_with_a_mount(NULL, err);
}

static int enter_over_the_program(const void *data, struct error *err)
{
	(void)data;
	return enter_with_a_mount(at("run"), err);
}

static int enter_over_the_interpreter(const void *data, struct error *err)
{
	(void)data;
	return enter_with_a_mount(at("interpreter"), err);
}

static void case_another_file_there(void)
{
	char script[128], words[160];
	struct trial trial = {.script = script, .enter = enter_plainly};

	snprintf(script, sizeof(script), "#!%s -e\nexit 0\n", at("interpreter"));
	write_file("interpreter", "#!/bin/sh\nexit 0\n", 0755);
	check_succeeds(&trial);
	trial.enter = enter_over_the_program;
	check_fails(&trial, "the container's mount namespace shows another file there");
	trial.enter = enter_over_the_interpreter;
	snprintf(words, sizeof(words),
		 "the container's mount namespace shows another interpreter %s", at("interpreter"));
	check_fails(&trial, words);
}

static void case_born_in_another_pid_namespace(void)
{
	struct trial trial = {.script = "#!/bin/sh\necho $$ >inner\nexec 3<&-\n"};
	pid_t keeper = first_process();
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children", keeper);
	trial.pid_namespace_fd = open(path, O_RDONLY | O_CLOEXEC);
	must(trial.pid_namespace_fd, path);
	check_succeeds(&trial);
	check(atoi(text_of("inner")) == 2, "its pid there: %s", text_of("inner"));
	/* A hang there is ended, too; and our next child is born with us. */
	trial.script = "#!/bin/sh\nsleep 7719\n";
	trial.timeout_ms = 1000;
	check_fails(&trial, "not done within the 1 seconds");
	check(!lives("sleep 771[9]"), "it lives");
	close(trial.pid_namespace_fd);
	trial = (struct trial){.script = "#!/bin/sh\necho $$ >outer\n"};
	check_succeeds(&trial);
	check(atoi(text_of("outer")) > 2, "its pid here: %s", text_of("outer"));
	kill(keeper, SIGKILL);
}

/* Whoever kills us ends the program. */
static void case_dies_with_us(void)
{
	pid_t pid = fork();

	must(pid, "fork");
	if (pid == 0) {
		struct trial trial = {.script = "#!/bin/sh\nexec sleep 7720\n"};
		(void)try(&trial);
		_exit(0);
	}
	for (int i = 0; i < 100 && system("pgrep --full 'sleep 772[0]' >/dev/null") != 0;
	     i++) /* NOLINT */
		usleep(50000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(!lives("sleep 772[0]"), "it lives");
}

#define CASE(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(case_gets_what_it_is_given),
	CASE(case_program_has_no_descriptor_of_ours),
	CASE(case_exit_code_and_words),
	CASE(case_large_input_that_nobody_reads),
	CASE(case_flood),
	CASE(case_hang),
	CASE(case_hang_with_all_closed),
	CASE(case_deadline_of_the_run),
	CASE(case_signal_to_us),
	CASE(case_dies_by_a_signal),
	CASE(case_daemon_that_holds_the_pipe),
	CASE(case_daemon_that_behaves),
	CASE(case_pipe_is_closed_a_little_later),
	CASE(case_not_to_be_run),
	CASE(case_enter_fails),
	CASE(case_another_file_there),
	CASE(case_born_in_another_pid_namespace),
	CASE(case_dies_with_us),
};

static void run_case(size_t i)
{
	struct error err = {0};
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		must(interrupt_set_up(60, &err), "interrupt_set_up");
		cases[i].run();
		fflush(stdout);
		_exit(checks_failed ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	printf("%sok %zu - %s\n", status == 0 ? "" : "not ", i + 1, cases[i].name);
	checks_failed += status != 0;
}

int main(void)
{
	char command[128];

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	umask(0);
	must(mkdtemp(top) ? 0 : -1, top);
	must(chmod(top, 0755), top);
	snprintf(command, sizeof(command), "cp /bin/busybox %s/", top);
	must(system(command) == 0 ? 0 : -1, command); /* NOLINT */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_case(i);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	must(system(command) == 0 ? 0 : -1, command); /* NOLINT */
	printf("1..%zu\n", sizeof(cases) / sizeof(cases[0]));
	return checks_failed ? 1 : 0;
}
