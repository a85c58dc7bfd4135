/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook gets what the runtime would give it: arguments and environment of the spec, the state of its stage on stdin,
 * the runtime's working directory and namespaces. For a hook of createContainer that we run at an earlier stage these are
 * the container's. The runtime has not pivoted yet then, so "/" is still the host's tree there, and a dynamic program
 * finds the host's loader and libraries: that is made sure of, since with the container's root in its place they would be
 * the image's.
 */
#include "hook-runner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "child.h"
#include "cleanup.h"
#include "fdio.h"
#include "interrupt.h"
#include "log.h"
#include "oci-state.h"
#include "privilege.h"
#include "proc-text.h"

/* For programs that are found by their names; a spec's own PATH takes its place. */
#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Where a hook runs. */
enum place {
	PLACE_HERE,      /* where we were started, and still are */
	PLACE_BACK,      /* where we were started, and are no longer */
	PLACE_CONTAINER, /* in the container's namespaces */
};

struct entrance {
	const struct hook_runner *runner;
	const struct program *program;
	enum place place;
};

/*
 * The child
 */

/* Runs in: a child, in the container's mount namespace or ours. Trusts: the descriptor. Hostile: nothing. */
static int change_root(int root_fd, struct error *err)
{
	if (fchdir(root_fd) < 0 || chroot(".") < 0)
		return error_set(err, errno, "change to the host's root");
	return 0;
}

/* Runs in: a child. Trusts: the descriptors. Hostile: nothing. */
static int go_back(const struct hook_runner *runner, struct error *err)
{
	if (setns(runner->mount_namespace_fd, CLONE_NEWNS) < 0)
		return error_set(err, errno, "go back to the host's mount namespace");
	return change_root(runner->trust->root_fd, err);
}

/*
 * The kinds of namespaces in which the container is elsewhere than we are. The others may be such as we have no right to enter,
 * and the user namespace that one is in is not to be entered at all: an engine without root may share each of them with
 * the container. The mount namespace is always entered: that fails when the process is gone and its number is another's.
 *
 * Runs in: as below. Trusts: our procfs. Hostile: nothing.
 */
static int find_namespaces(const struct container *container, int *ret_flags, struct error *err)
{
	static const struct {
		const char *name;
		int flag;
	} kinds[] = {{"user", CLONE_NEWUSER},
		     {"net", CLONE_NEWNET},
		     {"ipc", CLONE_NEWIPC},
		     {"uts", CLONE_NEWUTS},
		     {"cgroup", CLONE_NEWCGROUP}};

	*ret_flags = CLONE_NEWNS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char ours_path[32], theirs_path[64];
		struct stat ours, theirs;

		snprintf(ours_path, sizeof(ours_path), "self/ns/%s", kinds[i].name);
		snprintf(theirs_path, sizeof(theirs_path), "%d/ns/%s", container->pid,
			 kinds[i].name);
		if (fstatat(container->proc_fd, theirs_path, &theirs, 0) < 0 ||
		    fstatat(container->proc_fd, ours_path, &ours, 0) < 0)
			return error_set(err, errno, "look at /proc/%s", theirs_path);
		if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
			*ret_flags |= kinds[i].flag;
	}
	return 0;
}

/*
 * Runs in: a child, born in the container's pid namespace. Trusts: the pidfd. Hostile: nothing.
 * In a user namespace the hook is the container's root, as a runtime would have it.
 */
static int enter_namespaces(const struct container *container, struct error *err)
{
	int flags = 0;

	if (find_namespaces(container, &flags, err) < 0)
		return error_result(err);
	if (setns(container->pid_fd, flags) < 0)
		return error_set(err, errno, "enter the namespaces of process %d", container->pid);
	if ((flags & CLONE_NEWUSER) &&
	    (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
		return error_set(err, errno, "become the container's root");
	return 0;
}

/* Runs in: as above. Trusts: the bundle. Hostile: nothing. */
static int change_to_bundle(const struct hook_runner *runner, struct error *err)
{
	if (chdir(runner->bundle) == 0)
		return 0;
	/* podman's is the host's root's alone. */
	if (runner->container->user_namespace && errno == EACCES && chdir("/") == 0)
		return 0;
	return error_set(err, errno, "chdir %s", SHOW(runner->bundle));
}

/*
 * Runs in: as above. Trusts: the descriptors. Hostile: what the namespace shows below the container's root; "/" must be
 * the host's.
 */
static int go_in(const struct hook_runner *runner, const struct program *program, struct error *err)
{
	const struct container *container = runner->container;
	_cleanup_fd_ int root_fd = -1;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%d/root", container->pid);
	root_fd = openat(container->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return error_set(err, errno, "open /proc/%s", path);
	if (enter_namespaces(container, err) < 0 || change_root(root_fd, err) < 0)
		return error_result(err);
	if (stat("/", &st) < 0)
		return error_set(err, errno, "look at /");
	if (st.st_dev != container->host_root_dev || st.st_ino != container->host_root_ino)
		return error_say(err, EXIT_CODE_VENDOR_HOOK,
				 "the container's process no longer sees the host's tree, so the "
				 "hook cannot be run "
				 "from here: register oci-cdi-hook at createContainer, too");
	if (program_check_place(program, err) < 0)
		return error_result(err);
	return change_to_bundle(runner, err);
}

static int enter(const void *data, struct error *err)
{
	const struct entrance *entrance = data;
	const struct hook_runner *runner = entrance->runner;

	if (entrance->place == PLACE_CONTAINER)
		return go_in(runner, entrance->program, err);
	if (entrance->place == PLACE_BACK && go_back(runner, err) < 0)
		return error_result(err);
	return fchdir(runner->cwd_fd) < 0 ? error_set(err, errno, "change to the working directory")
					  : 0;
}

/*
 * The parent
 */

static int open_programs(struct hook_runner *runner, struct error *err)
{
	const struct plan *plan = runner->plan;

	runner->programs =
		arena_alloc_array(runner->arena, plan->hooks.n, sizeof(*runner->programs));
	if (!runner->programs)
		return error_memory(err);
	for (size_t i = 0; i < plan->hooks.n; i++) {
		const struct plan_hook *hook = &plan->hooks.items[i];
		struct program *program = &runner->programs[runner->n_programs++];

		program->fd = -1;
		if (hook->builtin.kind != VENDOR_HOOK_OTHER)
			continue;
		if (program_open(runner->arena, runner->trust, hook->hook->path, program, err) <
		    0) {
			error_prefix(err, "hook %s %s", SHOW(hook->hook->hook_name),
				     SHOW(hook->hook->path));
			return plan_prefix_origin(&hook->origin, err);
		}
	}
	return 0;
}

int hook_runner_open(struct hook_runner *runner, struct error *err)
{
	const struct container *container = runner->container;
	int r = open_programs(runner, err);

	if (r < 0)
		return r;
	if (!container) {
		/* At createContainer "/proc" is the host's, with other numbers than our pid namespace has. */
		runner->proc_fd = runner->around ? openat(runner->around->proc_fd, ".",
							  O_PATH | O_DIRECTORY | O_CLOEXEC)
						 : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
		return runner->proc_fd < 0 ? error_set(err, errno, "open /proc") : 0;
	}
	runner->proc_fd = openat(container->proc_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (runner->proc_fd < 0)
		return error_set(err, errno, "open /proc");
	runner->mount_namespace_fd = openat(runner->proc_fd, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (runner->mount_namespace_fd < 0)
		return error_set(err, errno, "open /proc/self/ns/mnt");
	runner->pid_namespace_fd = container_open_namespace(container, "pid", err);
	return runner->pid_namespace_fd < 0 ? error_result(err) : 0;
}

/* A list that ends with NULL, as exec wants it. */
static char **vector(struct arena *arena, const struct string_list *list, const char *last)
{
	char **items = arena_alloc_array(arena, list->n + 2, sizeof(*items));

	for (size_t i = 0; items && i < list->n; i++)
		items[i] = (char *)list->items[i];
	if (items)
		items[list->n] = (char *)last;
	return items;
}

static bool has_path(const struct string_list *env)
{
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->items[i], "PATH=", 5) == 0)
			return true;
	return false;
}

/* The number of the container's first process, as its own pid namespace sees it. */
static int inner_pid(const struct hook_runner *runner, pid_t *ret_pid, struct error *err)
{
	char path[64], *text;
	size_t size;
	int r;

	snprintf(path, sizeof(path), "%d/status", runner->container->pid);
	r = fdio_read_at(runner->arena, runner->proc_fd, path, LIMIT_PROC_SIZE, &text, &size, err);
	if (r == 0)
		r = proc_text_parse_inner_pid(text, size, ret_pid, err);
	return r < 0 ? error_prefix(err, "/proc/%s", path) : 0;
}

/*
 * The state for the place: by the specification the pid is the one that a hook sees from its own
 * namespace. Elsewhere it is the runtime's own text.
 */
static int make_state(const struct hook_runner *runner, enum place place, struct child *child,
		      struct error *err)
{
	pid_t pid = 0;
	int r;

	child->input = runner->state;
	child->input_size = runner->state_size;
	if (place != PLACE_CONTAINER)
		return 0;
	r = inner_pid(runner, &pid, err);
	return r < 0 ? r
		     : oci_state_adapt(runner->arena, runner->state, runner->state_size, pid, NULL,
				       &child->input, &child->input_size, err);
}

static enum place place_of(const struct hook_runner *runner, const struct plan_hook *hook)
{
	if (!runner->container)
		return PLACE_HERE;
	return hook->stage == STAGE_CREATE_CONTAINER ? PLACE_CONTAINER : PLACE_BACK;
}

static int run_program(const struct hook_runner *runner, const struct plan_hook *hook,
		       const struct program *program, struct error *err)
{
	const struct cdi_hook *spec = hook->hook;
	const struct entrance entrance = {runner, program, place_of(runner, hook)};
	char **argv = vector(runner->arena, &spec->args, spec->args.n ? NULL : spec->path);
	char **envp = vector(runner->arena, &spec->env, has_path(&spec->env) ? NULL : DEFAULT_PATH);
	struct child child = {
		.program = program,
		.argv = argv,
		.envp = envp,
		.proc_fd = runner->proc_fd,
		.pid_namespace_fd =
			entrance.place == PLACE_CONTAINER ? runner->pid_namespace_fd : -1,
		.enter = enter,
		.data = &entrance,
	};
	int r;

	if (!argv || !envp)
		return error_memory(err);
	/* A spec may say more than fits; the run has a deadline of its own. */
	if (spec->has_timeout && spec->timeout > 0 && spec->timeout <= LIMIT_TIMEOUT)
		child.timeout_ms = spec->timeout * 1000;
	r = make_state(runner, entrance.place, &child, err);
	return r < 0 ? error_class(err, EXIT_CODE_VENDOR_HOOK)
		     : child_run(runner->arena, &child, err);
}

int hook_runner_run(const struct hook_runner *runner, unsigned later, struct error *err)
{
	const struct plan *plan = runner->plan;

	if (privilege_take(PRIVILEGE_PROGRAMS, later | PRIVILEGE_BIT(PRIVILEGE_PROGRAM), err) < 0)
		return error_result(err);
	for (int stage = STAGE_PRESTART; stage < STAGE_COUNT; stage++) {
		for (size_t i = 0; i < plan->hooks.n; i++) {
			const struct plan_hook *hook = &plan->hooks.items[i];
			int r;

			if (hook->stage != (enum stage)stage || runner->programs[i].fd < 0)
				continue;
			r = interrupted(err);
			if (r == 0)
				r = run_program(runner, hook, &runner->programs[i], err);
			if (r < 0) {
				error_prefix(err, "hook %s %s", SHOW(hook->hook->hook_name),
					     SHOW(hook->hook->path));
				return plan_prefix_origin(&hook->origin, err);
			}
			log_step("run %s", SHOW(hook->hook->path));
		}
	}
	return 0;
}

void hook_runner_close(struct hook_runner *runner)
{
	for (size_t i = 0; i < runner->n_programs; i++)
		close_fd(&runner->programs[i].fd);
	close_fd(&runner->proc_fd);
	close_fd(&runner->mount_namespace_fd);
	close_fd(&runner->pid_namespace_fd);
}
