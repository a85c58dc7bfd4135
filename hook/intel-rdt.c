/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A class of the host's resctrl file system is a directory, and joining it is writing a number to
 * its file "tasks". It is done when all else has succeeded and so is never taken back: a process in
 * a class leaves nothing behind when it ends.
 */
#include "intel-rdt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "resctrl.h"

#define RESCTRL "/sys/fs/resctrl"

static int refuse(const struct cdi_intel_rdt *rdt, const char *schema, struct error *err)
{
	return error_say(err, EXIT_CODE_HOST,
			 "intelRdt: class %s of " RESCTRL " does not allot \"%s\"; a class that is "
			 "there already is not changed",
			 SHOW(rdt->clos_id), SHOW(schema));
}

/* runtime-spec: where the class exists and allots something else, that is an error. */
static int check_schemata(struct arena *arena, int class_fd, const struct cdi_intel_rdt *rdt,
			  struct error *err)
{
	char *actual;
	size_t size;
	int r;

	if (!rdt->l3_cache_schema && !rdt->mem_bw_schema && rdt->schemata.n == 0)
		return 0;
	r = fdio_read_at(arena, class_fd, "schemata", LIMIT_PROC_SIZE, &actual, &size, err);
	if (r < 0)
		return error_prefix(err, "intelRdt: class %s", SHOW(rdt->clos_id));
	if (rdt->l3_cache_schema && !resctrl_allots(actual, rdt->l3_cache_schema))
		return refuse(rdt, rdt->l3_cache_schema, err);
	if (rdt->mem_bw_schema && !resctrl_allots(actual, rdt->mem_bw_schema))
		return refuse(rdt, rdt->mem_bw_schema, err);
	for (size_t i = 0; i < rdt->schemata.n; i++)
		if (!resctrl_allots(actual, rdt->schemata.items[i]))
			return refuse(rdt, rdt->schemata.items[i], err);
	return 0;
}

/* Runs in: the host's mount namespace. Trusts: /sys, the plan's closID, which is one name or "/".
 * Hostile: nothing. */
static int open_tasks(struct arena *arena, const struct cdi_intel_rdt *rdt, struct error *err)
{
	_cleanup_fd_ int root_fd = open(RESCTRL, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int class_fd = -1, fd = -1;

	if (root_fd < 0)
		return error_set(err, errno, "intelRdt: open " RESCTRL);
	class_fd = openat(root_fd, strcmp(rdt->clos_id, "/") == 0 ? "." : rdt->clos_id,
			  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (class_fd >= 0)
		fd = openat(class_fd, "tasks", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return error_say(err, EXIT_CODE_HOST,
				 "intelRdt: there is no class %s in " RESCTRL
				 ", and a hook can only join one that is there",
				 SHOW(rdt->clos_id));
	if (fd < 0)
		return error_set(err, errno, "intelRdt: open class %s of " RESCTRL,
				 SHOW(rdt->clos_id));
	int r = check_schemata(arena, class_fd, rdt, err);
	return r < 0 ? r : TAKE_FD(fd);
}

int intel_rdt_open(struct arena *arena, const struct plan_intel_rdt *wanted, struct error *err)
{
	int fd = open_tasks(arena, wanted->rdt, err);
	if (fd >= 0)
		return fd;
	error_class(err, EXIT_CODE_HOST);
	return plan_prefix_origin(&wanted->origin, err);
}

static void close_directory(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* All threads, before the first of them joins: what fails here must leave none in the class. */
static int list_threads(struct arena *arena, const struct container *container,
			struct string_list *threads, struct error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "%d/task", container->pid);
	int fd = openat(container->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(close_directory))) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		error_set(err, errno, "open /proc/%s", path);
		close_fd(&fd);
		return error_result(err);
	}
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry)
			return errno ? error_set(err, errno, "list /proc/%s", path) : 0;
		if (entry->d_name[0] == '.')
			continue;
		const char **slot = array_add(arena, threads);
		if (!slot || !(*slot = arena_strdup(arena, entry->d_name)))
			return error_memory(err);
	}
}

/* Runs in: any mount namespace, our procfs is the host's. Trusts: the kernel. Hostile: nothing: the
 * container's program has not begun. */
int intel_rdt_join(struct arena *arena, int tasks_fd, const struct container *container,
		   struct error *err)
{
	struct string_list threads = {0};
	int r = list_threads(arena, container, &threads, err);

	for (size_t i = 0; r == 0 && i < threads.n; i++) {
		/* A thread of the runtime may end at any time; the process itself would be missed. */
		if (dprintf(tasks_fd, "%s\n", threads.items[i]) < 0 && errno != ESRCH)
			r = error_set(err, errno, "intelRdt: put process %d into its class",
				      container->pid);
	}
	return r;
}
