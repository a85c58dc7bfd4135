/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading half of what device-cgroup.c does, for a container that runs. Here not only what we would change counts but
 * all that decides: the programs of every cgroup above, those too that belong to others.
 */
#include "device-limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "bpf-program.h"
#include "cleanup.h"
#include "device-verdict.h"
#include "proc-text.h"

/* All that a look into one hierarchy needs. */
struct look {
	struct cgroup cgroup;
	struct systemd_unit unit;
	const struct device_rule *rules;
	size_t n_rules;
	struct device_limits *limits;
};

static struct arena *arena_of(const struct look *look)
{
	return look->cgroup.target->arena;
}

static struct device_limit *add(const struct look *look, size_t rule)
{
	struct device_limit *limit = array_add(arena_of(look), look->limits);

	if (limit)
		*limit = (struct device_limit){
			.rule = rule,
			.version = look->cgroup.version,
			.cgroup = look->cgroup.path,
			.unit = look->unit,
		};
	return limit;
}

/* ---- v1 ---- */

static int look_at_list(const struct look *look, size_t i, struct error *err)
{
	struct cgroup_v1_grants missing;
	unsigned refused = 0;
	int r = cgroup_v1_missing(&look->cgroup, &look->rules[i], 1, &missing, err);

	if (r < 0 || missing.n == 0)
		return r;
	for (size_t j = 0; j < missing.n; j++)
		refused |= missing.items[j].access;
	struct device_limit *limit = add(look, i);
	if (!limit)
		return error_memory(err);
	limit->refused = refused;
	const char *above = cgroup_v1_forbids_above(&look->cgroup, &missing.items[0]);
	if (above) {
		limit->cgroup = above;
		limit->above = true;
	}
	return 0;
}

static int look_at_lists(const struct look *look, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < look->n_rules; i++)
		r = look_at_list(look, i, err);
	return r;
}

/* ---- v2 ---- */

/* Whose program it is: the path of the cgroup, or NULL where we can see none that has it. */
static const char *find_owner(const struct look *look, uint32_t id)
{
	char *path = arena_strdup(arena_of(look), look->cgroup.path);
	struct error ignored = {0};
	struct cgroup level;

	if (bpf_program_is_attached(look->cgroup.fd, id))
		return look->cgroup.path;
	for (char *slash; path && (slash = strrchr(path, '/')) && path[1];) {
		/* The root keeps its name. */
		slash[slash == path] = '\0';
		if (cgroup_open_level(&look->cgroup, path, &level, &ignored) < 0)
			return NULL;
		const bool its = bpf_program_is_attached(level.fd, id);
		close_fd(&level.fd);
		if (its)
			return path;
	}
	return NULL;
}

/* Whether systemd would attach this one, from where crun from 1.23 on has pinned it. */
static bool is_pinned(const struct look *look, uint32_t id)
{
	const char *path = look->unit.name ? look->unit.devices.pin : NULL;
	_cleanup_fd_ int fd = path ? bpf_program_open_pinned(path) : -1;
	struct bpf_prog_info info;

	return fd >= 0 && bpf_program_info(fd, &info) == 0 && info.id == id;
}

static int note_limit(const struct look *look, size_t i, uint32_t id, const char *name,
		      unsigned refused, const char *problem, struct error *err)
{
	struct device_limit *limit = add(look, i);

	if (!limit)
		return error_memory(err);
	limit->cgroup = find_owner(look, id);
	limit->above = !limit->cgroup || strcmp(limit->cgroup, look->cgroup.path) != 0;
	limit->refused = refused;
	limit->problem = problem;
	limit->program = id;
	limit->pinned = is_pinned(look, id);
	snprintf(limit->name, sizeof(limit->name), "%s", name);
	return 0;
}

/* Of a program that nobody can read: each rule is in doubt. */
static int note_doubt(const struct look *look, uint32_t id, const char *name, const char *problem,
		      struct error *err)
{
	int r = problem ? 0 : error_memory(err);

	for (size_t i = 0; r == 0 && i < look->n_rules; i++)
		r = note_limit(look, i, id, name, 0, problem, err);
	return r;
}

static int judge(const struct look *look, uint32_t id, const char *name,
		 const struct device_filter *filter, struct error *err)
{
	struct error why = {0};
	char text[ERROR_TEXT_MAX];
	unsigned refused;
	int r = 0;

	for (size_t i = 0; r == 0 && i < look->n_rules; i++) {
		if (device_verdict(filter, &look->rules[i], &refused, &why) < 0)
			return note_doubt(look, id, name,
					  arena_strdup(arena_of(look), error_text(&why, text)),
					  err);
		if (refused)
			r = note_limit(look, i, id, name, refused, NULL, err);
	}
	return r;
}

static int look_at_program(const struct look *look, uint32_t id, struct error *err)
{
	_cleanup_fd_ int fd = bpf_program_open(id);
	struct bpf_prog_info info = {0};
	struct device_filter filter;
	struct error why = {0};
	char text[ERROR_TEXT_MAX];

	/* Detached meanwhile: it decides nothing any more. */
	if (fd < 0 && errno == ENOENT)
		return 0;
	int r = fd < 0 ? error_set(&why, errno, "open it")
		       : bpf_program_read(arena_of(look), fd, &filter, &info, &why);
	if (r == BPF_PROGRAM_HIDDEN)
		return note_doubt(look, id, info.name, BPF_PROGRAM_HIDDEN_TEXT, err);
	if (r < 0)
		return note_doubt(look, id, info.name,
				  arena_strdup(arena_of(look), error_text(&why, text)), err);
	return judge(look, id, info.name, &filter, err);
}

static int look_at_programs(const struct look *look, struct error *err)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], n, flags;
	int r = 0;

	if (bpf_program_query(look->cgroup.fd, BPF_F_QUERY_EFFECTIVE, ids, &n, &flags) < 0) {
		/* A kernel without device programs limits nothing by them. */
		if (errno == ENOSYS || errno == EINVAL)
			return 0;
		if (errno == ENOSPC)
			return error_set(err, 0, "more than %d device programs decide",
					 LIMIT_BPF_PROGRAMS);
		return error_set(err, errno, "query device programs");
	}
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = look_at_program(look, ids[i], err);
	return r;
}

/* ---- Both ---- */

/* The container's and our own place in every hierarchy. */
struct places {
	struct proc_cgroup_list theirs, ours;
};

/* `controller`: "devices" for v1, "" for v2. */
static int look_into(const struct device_cgroup_target *target, const struct places *places,
		     const char *controller, struct look *look, struct error *err)
{
	const struct proc_cgroup *line = proc_text_find_cgroup(&places->theirs, controller);
	struct error ignored = {0};

	if (!line)
		return 0;
	int r = cgroup_open(target, *controller ? CGROUP_V1 : CGROUP_V2, line, &look->cgroup, err);
	/* A hierarchy in which the container was given no place, and which may not even be mounted: nothing was done there. */
	if (r < 0 && cgroup_is_ours(target, &places->ours, controller, line->path)) {
		*err = (struct error){0};
		return 0;
	}
	if (r == 0) {
		/* What it would say is a cause at most. */
		if (cgroup_find_unit(&look->cgroup, &look->unit, &ignored) < 0)
			look->unit = (struct systemd_unit){0};
		r = *controller ? look_at_lists(look, err) : look_at_programs(look, err);
	}
	cgroup_close(&look->cgroup);
	if (r == 0)
		return 0;
	error_prefix(err, "cgroup %s %s", *controller ? "v1" : "v2", SHOW(line->path));
	return error_class(err, EXIT_CODE_CGROUP);
}

/* Runs in, Trusts, Hostile: see device-limit.h. */
int device_limits_find(const struct device_cgroup_target *target, const struct device_rule *rules,
		       size_t n_rules, struct device_limits *ret_limits, struct error *err)
{
	struct look look = {.rules = rules, .n_rules = n_rules, .limits = ret_limits};
	struct places places;
	char process[16];

	*ret_limits = (struct device_limits){0};
	snprintf(process, sizeof(process), "%d", (int)target->pid);
	int r = cgroup_read_places(target, process, &places.theirs, err);
	if (r == 0)
		r = cgroup_read_places(target, "self", &places.ours, err);
	if (r == 0)
		r = look_into(target, &places, "devices", &look, err);
	if (r == 0)
		r = look_into(target, &places, "", &look, err);
	return r;
}
