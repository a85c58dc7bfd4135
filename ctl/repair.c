/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl check --repair. The hook does all of it: it knows how to change a container that may be hostile, takes everything
 * back when a part fails, and leaves alone what is there already. Here only what a runtime tells it is made up: a state on
 * its stdin, and a config.json where no bundle was named. No path of the container is used for anything.
 */
#include "repair.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "interrupt.h"
#include "text.h"

/* Numbers of a process's owner and group as they are now: whom nodes belong to where a spec says nothing. */
static int read_owner(const struct process *process, unsigned *ret_uid, unsigned *ret_gid,
		      struct error *err)
{
	_cleanup_fd_ int fd = openat(process->proc_fd, "status", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];
	int found = 0;

	if (!file)
		return error_set(err, errno, "look at the owner of the process");
	TAKE_FD(fd);
	while (fgets(line, sizeof(line), file)) {
		found += sscanf(line, "Uid: %*u %u", ret_uid) == 1;
		found += sscanf(line, "Gid: %*u %u", ret_gid) == 1;
	}
	fclose(file);
	return found == 2 ? 0 : error_set(err, 0, "the process has no owner: it has ended");
}

int repair_check_possible(const struct process *process, struct error *err)
{
	if (geteuid() != 0)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "process %d: only root may change its container; stop it and "
				 "start it again",
				 process->pid);
	if (process_is_mapped(process))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "process %d: its container is in a user namespace, where it can "
				 "be given devices at its start only: stop it and start it again",
				 process->pid);
	return 0;
}

/* ---- What the hook reads ---- */

static int write_all(int fd, const char *data, const char *what, struct error *err)
{
	const size_t size = strlen(data);

	return write(fd, data, size) == (ssize_t)size ? 0 : error_set(err, errno, "write %s", what);
}

/*
 * A config.json for a process without a bundle. Its root is the directory that we hold: should the number come to be another
 * process's, that one has another root, and the hook refuses it.
 */
static const char *make_config(struct arena *arena, const struct process *process,
			       struct error *err)
{
	unsigned uid = 0, gid = 0;

	if (read_owner(process, &uid, &gid, err) < 0)
		return NULL;
	const char *config =
		arena_printf(arena,
			     "{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"/proc/%d/fd/%d\"},"
			     "\"process\":{\"user\":{\"uid\":%u,\"gid\":%u}},"
			     "\"linux\":{\"namespaces\":[{\"type\":\"mount\"}]}}\n",
			     getpid(), process->root_fd, uid, gid);
	if (!config)
		(void)error_memory(err);
	return config;
}

/* A bundle directory that only root can look into; `path` is its name, empty where none was made. */
static int make_bundle(struct arena *arena, const struct process *process, char *path,
		       struct error *err)
{
	const char *config = make_config(arena, process, err);

	if (!config) {
		*path = '\0';
		return error_result(err);
	}
	if (!mkdtemp(path)) {
		*path = '\0';
		return error_set(err, errno, "make a directory in /run");
	}
	_cleanup_fd_ int dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd =
		openat(dir_fd, "config.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(err, errno, "make %s/config.json", path);
	return write_all(fd, config, "config.json", err);
}

static void remove_bundle(struct arena *arena, const char *path)
{
	const char *config = arena_printf(arena, "%s/config.json", path);

	if (*path && config)
		(void)unlink(config);
	if (*path)
		(void)rmdir(path);
}

/* The state, in a file that nobody else can name. */
static int make_state(struct arena *arena, const struct process *process, const char *bundle,
		      struct error *err)
{
	_cleanup_fd_ int fd = memfd_create("state", MFD_CLOEXEC);
	struct text text = {.arena = arena};

	if (fd < 0)
		return error_set(err, errno, "memfd_create");
	text_put(&text, "{\"ociVersion\":\"1.0.2\",\"status\":\"running\",");
	text_printf(&text, "\"id\":\"process-%d\",\"pid\":%d,\"bundle\":", process->pid,
		    process->pid);
	text_put_json(&text, bundle);
	text_put(&text, "}\n");
	const char *state = text_end(&text, err);
	if (!state)
		return error_result(err);
	int r = write_all(fd, state, "the state", err);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "rewind the state");
	return TAKE_FD(fd);
}

/* ---- Running it ---- */

static int add(struct arena *arena, struct string_list *argv, const char *word, struct error *err)
{
	const char **slot = word ? array_add(arena, argv) : NULL;

	if (!slot)
		return error_memory(err);
	*slot = word;
	return 0;
}

/*
 * Stage prestart: no other is earlier, so all of it is done, whatever stages the hook was registered at. Hooks of specs are left
 * out, since they ran once already; so is the library cache, which is still there when a mount comes back.
 */
static int make_argv(struct arena *arena, const struct repair *repair, struct string_list *argv,
		     struct error *err)
{
	int r = add(arena, argv, "oci-cdi-hook", err);

	for (size_t i = 0; r == 0 && i < repair->spec_dirs->n; i++)
		r = add(arena, argv,
			arena_printf(arena, "--spec-dir=%s", repair->spec_dirs->items[i]), err);
	for (char **device = repair->devices; r == 0 && *device; device++)
		r = add(arena, argv, arena_printf(arena, "--device=%s", *device), err);
	if (r == 0)
		r = add(arena, argv, arena_printf(arena, "--timeout=%u", repair->timeout), err);
	if (r == 0 && repair->leave_cgroup)
		r = add(arena, argv, "--no-cgroup", err);
	if (r == 0)
		r = add(arena, argv, "--vendor-hooks=none", err);
	if (r == 0)
		r = add(arena, argv, "--ldconfig=none", err);
	if (r == 0)
		r = add(arena, argv, "prestart", err);
	if (r < 0)
		return r;
	const char **end = array_add(arena, argv);
	if (!end)
		return error_memory(err);
	*end = NULL;
	return 0;
}

/* Returns its exit status, or a failure. A signal for us is passed on: it takes back what it did, and ends. */
static int wait_for(pid_t pid, struct error *err)
{
	bool told = false;
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return error_set(err, errno, "wait for the hook");
		if (interrupt_signal() && !told) {
			told = true;
			(void)kill(pid, interrupt_signal());
		}
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return error_set(err, 0, "the hook was ended by signal %d", WTERMSIG(status));
}

static int run(const char *path, char *const argv[], int state_fd, struct error *err)
{
	char path_variable[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *const environment[] = {path_variable, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return error_memory(err);
	r = posix_spawn_file_actions_adddup2(&actions, state_fd, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (r == 0)
		r = posix_spawn(&pid, path, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return error_set(err, r, "run %s (--hook=FILE names another)", SHOW(path));
	return wait_for(pid, err);
}

int repair_run(struct arena *arena, const struct process *process, const struct repair *repair,
	       struct error *err)
{
	char made[] = "/run/cdictl-repair-XXXXXX", named[PATH_MAX];
	struct string_list argv = {0};
	int r = 0;

	if (!repair->bundle)
		r = make_bundle(arena, process, made, err);
	else if (!realpath(repair->bundle, named))
		r = error_set(err, errno, "bundle %s", SHOW(repair->bundle));
	_cleanup_fd_ int state_fd =
		r < 0 ? r : make_state(arena, process, repair->bundle ? named : made, err);
	if (state_fd < 0)
		r = state_fd;
	if (r == 0)
		r = make_argv(arena, repair, &argv, err);
	if (r == 0)
		r = run(repair->hook, (char *const *)argv.items, state_fd, err);
	if (!repair->bundle)
		remove_bundle(arena, made);
	return r;
}
