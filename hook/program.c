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

static int note_interpreter(struct program *program, const char *path, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat %s", SHOW(path));
	program->interpreters[program->n_interpreters++] =
		(struct interpreter){.path = path, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

static int check_interpreters(struct arena *arena, const struct trust *trust, const char *path,
			      struct program *program, struct error *err)
{
	while (path) {
		const char *interpreter = NULL;
		bool elf;

		if (path[0] != '/')
			return error_say(err, EXIT_CODE_VENDOR_HOOK,
					 "its interpreter \"%s\" is not an absolute path",
					 SHOW(path));
		if (program->n_interpreters == PROGRAM_INTERPRETERS)
			return error_say(err, EXIT_CODE_VENDOR_HOOK,
					 "more than %d interpreters, one for the other",
					 PROGRAM_INTERPRETERS);
		_cleanup_fd_ int fd = open_one(arena, trust, path, &interpreter, &elf, err);
		if (fd < 0 || note_interpreter(program, path, fd, err) < 0)
			return error_prefix(err, "its interpreter %s", SHOW(path));
		path = interpreter;
	}
	return 0;
}

int program_open(struct arena *arena, const struct trust *trust, const char *path,
		 struct program *ret_program, struct error *err)
{
	struct program program = {.path = path};
	const char *interpreter = NULL;
	bool elf = false;
	_cleanup_fd_ int fd = open_one(arena, trust, path, &interpreter, &elf, err);
	int r = fd < 0 ? fd : check_interpreters(arena, trust, interpreter, &program, err);

	if (r < 0) {
		/* Whatever is wrong with it, untrusted files included: what the user misses is the hook. */
		if (err->errnum != ENOMEM)
			err->exit_code = EXIT_CODE_VENDOR_HOOK;
		return r;
	}
	program.fd = TAKE_FD(fd);
	program.by_path = !elf;
	*ret_program = program;
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
	for (size_t i = 0; i < program->n_interpreters; i++) {
		const struct interpreter *interpreter = &program->interpreters[i];
		if (stat(interpreter->path, &here) < 0)
			return error_set(err, errno,
					 "look at its interpreter %s from the container's mount "
					 "namespace",
					 SHOW(interpreter->path));
		if (here.st_dev != interpreter->dev || here.st_ino != interpreter->ino)
			return error_say(err, EXIT_CODE_VENDOR_HOOK,
					 "the container's mount namespace shows another "
					 "interpreter %s",
					 SHOW(interpreter->path));
	}
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
