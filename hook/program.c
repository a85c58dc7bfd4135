/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever may write a program that we run is root. A script is only half of a program, so its
 * interpreter is judged like it. The loader and the libraries of a dynamic program are not: they
 * are looked up in the host's tree, of whose directories the same is true as of /usr/bin.
 */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "script.h"

/* A script whose interpreter is a script, and so on: the kernel's own bound. */
#define INTERPRETERS_MAX 5

/* Opens one file of the chain and says what its interpreter is, or NULL. */
static int open_one(struct arena *arena, const struct trust *trust, const char *path,
		    const char **ret_interpreter, bool *ret_elf, struct error *err)
{
	_cleanup_fd_ int fd = trusted_open(trust, path, TRUSTED_FILE, err);
	char head[SCRIPT_HEAD];
	enum script_kind kind;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat %s", SHOW(path));
	if (!(st.st_mode & 0111))
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "not executable (mode %04o)",
				 st.st_mode & 07777);
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return error_set(err, errno, "read %s", SHOW(path));
	kind = script_look(arena, head, (size_t)n, ret_interpreter);
	if (kind == SCRIPT_INTERPRETED && !*ret_interpreter)
		return error_memory(err);
	*ret_elf = kind == SCRIPT_ELF;
	return TAKE_FD(fd);
}

static int check_interpreters(struct arena *arena, const struct trust *trust, const char *path,
			      struct error *err)
{
	for (int i = 0; path; i++) {
		const char *interpreter = NULL;
		bool elf;

		if (path[0] != '/')
			return error_say(err, EXIT_CODE_VENDOR_HOOK,
					 "its interpreter \"%s\" is not an absolute path",
					 SHOW(path));
		if (i == INTERPRETERS_MAX)
			return error_say(err, EXIT_CODE_VENDOR_HOOK,
					 "more than %d interpreters, one for the other",
					 INTERPRETERS_MAX);
		_cleanup_fd_ int fd = open_one(arena, trust, path, &interpreter, &elf, err);
		if (fd < 0)
			return error_prefix(err, "its interpreter %s", SHOW(path));
		path = interpreter;
	}
	return 0;
}

int program_open(struct arena *arena, const struct trust *trust, const char *path,
		 struct program *ret_program, struct error *err)
{
	const char *interpreter = NULL;
	bool elf = false;
	_cleanup_fd_ int fd = open_one(arena, trust, path, &interpreter, &elf, err);
	int r = fd < 0 ? fd : check_interpreters(arena, trust, interpreter, err);

	if (r < 0) {
		/* Whatever is wrong with it, untrusted files included: what the user misses is the hook. */
		if (err->errnum != ENOMEM)
			err->exit_code = EXIT_CODE_VENDOR_HOOK;
		return r;
	}
	*ret_program = (struct program){.path = path, .fd = TAKE_FD(fd), .by_path = !elf};
	return 0;
}

int program_check_place(const struct program *program, struct error *err)
{
	struct stat here, opened;

	if (fstat(program->fd, &opened) < 0 || stat(program->path, &here) < 0)
		return error_set(err, errno, "look at it from the container's mount namespace");
	if (here.st_dev != opened.st_dev || here.st_ino != opened.st_ino)
		return error_say(err, EXIT_CODE_VENDOR_HOOK,
				 "the container's mount namespace shows another file there");
	return 0;
}

void program_exec(const struct program *program, char *const *argv, char *const *envp,
		  struct error *err)
{
	if (program->by_path)
		execve(program->path, argv, envp);
	else
		execveat(program->fd, "", argv, envp, AT_EMPTY_PATH);
	error_set(err, errno, "execute it");
}
