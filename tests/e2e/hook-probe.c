/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vendor's hook for tests: appends a line for everything that it was given to the file $OUT, and its stdin to $OUT.json.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static FILE *out;

static void put_link(const char *what, const char *path)
{
	char target[PATH_MAX] = "";

	if (readlink(path, target, sizeof(target) - 1) < 0)
		snprintf(target, sizeof(target), "%s", strerror(errno));
	fprintf(out, "%s %s\n", what, target);
}

/* Of what is there when main() begins: called before anything is opened. */
static void find_fds(char *text, size_t size)
{
	text[0] = '\0';
	for (int fd = 0; fd < 1024; fd++) {
		struct stat st;
		size_t len = strlen(text);
		if (fstat(fd, &st) == 0)
			snprintf(text + len, size - len, " %d", fd);
	}
}

static void put_signals(void)
{
	struct sigaction action;
	sigset_t blocked;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < 65; number++) {
		if (sigismember(&blocked, number) == 1)
			fprintf(out, "blocked %d\n", number);
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			fprintf(out, "ignored %d\n", number);
	}
}

static void copy_stdin(const char *path)
{
	FILE *to = fopen(path, "w");
	int c;

	while (to && (c = getchar()) != EOF)
		putc(c, to);
	if (to)
		fclose(to);
}

int main(int argc, char **argv)
{
	static const char *const namespaces[] = {"mnt", "pid",    "net", "ipc",
						 "uts", "cgroup", "user"};
	char fds[8192], path[PATH_MAX];
	mode_t mask;

	find_fds(fds, sizeof(fds));
	out = fopen(getenv("OUT"), "a");
	if (!out)
		return 99;
	fprintf(out, "run\n");
	for (int i = 0; i < argc; i++)
		fprintf(out, "arg %s\n", argv[i]);
	for (char **entry = environ; *entry; entry++)
		fprintf(out, "env %s\n", *entry);
	fprintf(out, "fds%s\n", fds);
	put_link("cwd", "/proc/self/cwd");
	put_link("root", "/proc/self/root");
	put_link("exe", "/proc/self/exe");
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i]);
		put_link("ns", path);
	}
	put_signals();
	fprintf(out, "user %u %u groups %d\n", geteuid(), getegid(), getgroups(0, NULL));
	mask = umask(0);
	fprintf(out, "umask %03o\n", mask);
	fprintf(out, "session %s\n",
		getsid(0) == getpid() && getpgrp() == getpid() ? "own" : "shared");
	snprintf(path, sizeof(path), "%s.json", getenv("OUT"));
	copy_stdin(path);
	fclose(out);
	return 0;
}
