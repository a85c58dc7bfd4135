/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device list of a v1 cgroup. The kernel keeps one entry for each device and grants what an
 * entry of the list has whole, so read and write, which are asked for together, are one grant here
 * and mknod is another. Only what the list doesn't grant yet is written, and taking back denies
 * only bits that the device's own entry did not have: the list is then what it was. (The kernel
 * also accepts a denial that makes a hole in a wildcard, and ignores it.)
 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cleanup.h"

/* What was granted, for taking it back. */
struct granted {
	int cgroup_fd;
	const struct cgroup_v1_grant *grants;
	size_t n;
};

static int read_list(struct arena *arena, int cgroup_fd, struct proc_device_list *ret_list,
		     struct error *err)
{
	char *text;
	size_t size;

	int r = cgroup_read(arena, cgroup_fd, "devices.list", &text, &size, err);
	if (r < 0)
		return r;
	r = proc_text_parse_devices(arena, text, size, ret_list, err);
	return r < 0 ? error_prefix(err, "devices.list") : 0;
}

static bool is_granted(const struct proc_device_list *list, const struct cgroup_v1_grant *grant)
{
	return proc_text_devices_allow(list, grant->type, grant->major, grant->minor,
				       grant->access);
}

int cgroup_v1_missing(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		      struct cgroup_v1_grants *ret_missing, struct error *err)
{
	struct arena *arena = cgroup->target->arena;
	struct proc_device_list list;
	static const unsigned parts[] = {DEVICE_READ | DEVICE_WRITE, DEVICE_MKNOD};

	*ret_missing = (struct cgroup_v1_grants){0};
	int r = read_list(arena, cgroup->fd, &list, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < 2 * n_rules; i++) {
		const struct device_rule *rule = &rules[i / 2];
		struct cgroup_v1_grant grant = {
			.type = rule->type,
			.major = rule->major,
			.minor = rule->minor,
			.access = rule->access & parts[i % 2],
		};
		if (!grant.access || is_granted(&list, &grant))
			continue;
		grant.absent = grant.access & ~proc_text_devices_exact(&list, rule->type,
								       rule->major, rule->minor);
		struct cgroup_v1_grant *slot = array_add(arena, ret_missing);
		if (!slot)
			return error_memory(err);
		*slot = grant;
	}
	return 0;
}

/* Writes one rule, the way the kernel wants it: one write for each. -1 and errno. */
static int write_rule(int fd, const struct cgroup_v1_grant *grant, unsigned access)
{
	char line[PROC_TEXT_DEVICE_MAX];

	proc_text_device_line(line, grant->type, grant->major, grant->minor, access);
	return write(fd, line, strlen(line)) < 0 ? -1 : 0;
}

const char *cgroup_v1_forbids_above(const struct cgroup *cgroup,
				    const struct cgroup_v1_grant *grant)
{
	struct arena *arena = cgroup->target->arena;
	char *path = arena_strdup(arena, cgroup->path);
	const char *forbids = NULL;
	struct error ignored = {0};

	for (char *slash; path && (slash = strrchr(path, '/'));) {
		struct proc_device_list list;
		*slash = '\0';
		_cleanup_fd_ int fd = cgroup_open_below(cgroup->root_fd, *path ? path + 1 : ".",
							O_RDONLY | O_DIRECTORY);
		if (fd >= 0 && read_list(arena, fd, &list, &ignored) == 0 &&
		    !is_granted(&list, grant))
			forbids = arena_strdup(arena, *path ? path : "/");
	}
	return forbids;
}

/* The kernel does not grant it: says which cgroup above this one keeps it from that. */
static int forbidden_above(const struct cgroup *cgroup, const struct cgroup_v1_grant *grant,
			   struct error *err)
{
	const char *forbids = cgroup_v1_forbids_above(cgroup, grant);
	char line[PROC_TEXT_DEVICE_MAX];

	proc_text_device_line(line, grant->type, grant->major, grant->minor, grant->access);
	if (!forbids)
		return error_set(err, EPERM, "allow %s", line);
	return error_say(err, EXIT_CODE_CGROUP,
			 "allow %s: the cgroup %s above it does not allow that", line,
			 SHOW(forbids));
}

/* Runs in, Trusts, Hostile: as cgroup_v1_allow(). */
static int take_back(void *data, struct error *err)
{
	struct granted *granted = data;
	_cleanup_fd_ int cgroup_fd = TAKE_FD(granted->cgroup_fd);
	_cleanup_fd_ int fd = cgroup_open_below(cgroup_fd, "devices.deny", O_WRONLY);
	int r = 0;

	if (fd < 0)
		return error_set(err, errno, "open devices.deny");
	for (size_t i = granted->n; i > 0; i--) {
		const struct cgroup_v1_grant *grant = &granted->grants[i - 1];
		if (grant->absent && write_rule(fd, grant, grant->absent) < 0)
			r = error_set(err, errno, "write devices.deny");
	}
	return r;
}

static int keep(void *data, struct error *err)
{
	struct granted *granted = data;

	(void)err;
	close_fd(&granted->cgroup_fd);
	return 0;
}

static int write_missing(const struct cgroup *cgroup, const struct cgroup_v1_grants *missing,
			 struct undo *undo, struct error *err)
{
	_cleanup_fd_ int fd = cgroup_open_below(cgroup->fd, "devices.allow", O_WRONLY);
	struct granted *granted = arena_new(cgroup->target->arena, struct granted);
	const char *what =
		arena_printf(cgroup->target->arena, "device cgroup v1 %s", SHOW(cgroup->path));

	if (fd < 0)
		return error_set(err, errno, "open devices.allow");
	if (!granted || !what)
		return error_memory(err);
	int r = undo_reserve(undo, err);
	if (r < 0)
		return r;
	*granted = (struct granted){.cgroup_fd = fcntl(cgroup->fd, F_DUPFD_CLOEXEC, 3),
				    .grants = missing->items};
	if (granted->cgroup_fd < 0)
		return error_set(err, errno, "duplicate a descriptor");
	/* Pushed before the first of several acts: `n` counts those that were done. */
	const struct undo_step step = {
		.what = what, .take_back = take_back, .keep = keep, .data = granted};
	undo_push(undo, &step);

	for (size_t i = 0; i < missing->n; i++) {
		const struct cgroup_v1_grant *grant = &missing->items[i];
		if (write_rule(fd, grant, grant->access) < 0)
			return errno == EPERM ? forbidden_above(cgroup, grant, err)
					      : error_set(err, errno, "write devices.allow");
		granted->n++;
	}
	return 0;
}

/*
 * Runs in: the host's namespaces. Trusts: cgroupfs, verified by cgroup_open(). Hostile: nothing;
 * `rules` come from a trusted spec and hold single devices only.
 */
int cgroup_v1_allow(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		    struct undo *undo, struct error *err)
{
	struct cgroup_v1_grants missing;
	int r = cgroup_v1_missing(cgroup, rules, n_rules, &missing, err);

	if (r < 0 || missing.n == 0)
		return r;
	if (cgroup->ours) {
		cgroup_note_left_alone(cgroup);
		return 0;
	}
	r = cgroup_check_alone(cgroup, err);
	if (r == 0)
		r = write_missing(cgroup, &missing, undo, err);
	if (r == 0)
		r = cgroup_v1_missing(cgroup, rules, n_rules, &missing, err);
	if (r == 0 && missing.n > 0)
		return error_say(err, EXIT_CODE_CGROUP,
				 "devices.list does not show what was allowed");
	return r;
}
