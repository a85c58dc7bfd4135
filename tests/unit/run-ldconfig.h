/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The system's own ldconfig, where there is one: what it writes and reads is what ours is compared with. */
#include <spawn.h>
#include <sys/wait.h>

#include "tree.h"

static inline bool have_ldconfig(void)
{
	static const char magic[] = {0x7f, 'E', 'L', 'F'};
	char start[sizeof(magic)] = {0};
	int fd = open("/sbin/ldconfig", O_RDONLY | O_CLOEXEC);

	/* Elsewhere than in glibc it is a script that writes no cache. */
	if (fd < 0)
		return false;
	bool is_program = read(fd, start, sizeof(start)) == sizeof(start) &&
			  memcmp(start, magic, sizeof(magic)) == 0;
	close(fd);
	return is_program && access("/sbin/ldconfig", X_OK) == 0;
}

/* Runs it with these arguments, the last one NULL; its output goes to the file `output` of the tree. */
static inline void run_ldconfig(const struct tree *tree, const char *output,
				const char *const *argv)
{
	char *const environment[] = {(char[]){"LC_ALL=C"}, NULL};
	char path[PATH_MAX];
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	snprintf(path, sizeof(path), "%s%s", tree->path, output);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path,
					 O_WRONLY | O_CREAT | O_TRUNC, 0644);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	assert_int_equal(posix_spawn(&pid, "/sbin/ldconfig", &actions, NULL,
				     (char *const *)(uintptr_t)argv, environment),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
