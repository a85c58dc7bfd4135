/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A cgroup of the container: found, opened, made sure of. cgroup-v1.c and cgroup-v2.c change it. */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "device-cgroup.h"
#include "error.h"
#include "plan.h"
#include "proc-text.h"
#include "systemd.h"
#include "undo.h"

enum cgroup_version { CGROUP_V1, CGROUP_V2 };

struct cgroup {
	const struct device_cgroup_target *target;
	enum cgroup_version version;
	const char *path; /* below root_fd */
	int root_fd;      /* of the hierarchy as we see it */
	int fd;           /* the cgroup's directory */
	bool ours;        /* we live in it ourselves, or it is the root: it must not be changed */
	const struct systemd_unit
		*unit; /* the scope that systemd made for the container, or NULL */
	bool told;     /* systemd allows the rules by itself: its own programs are left to it */
	bool above;    /* one above the container's own, and above what systemd made for it alone */
};

/* A process's places in all hierarchies; `process` as procfs names it: a number, or "self". */
int cgroup_read_places(const struct device_cgroup_target *target, const char *process,
		       struct proc_cgroup_list *ret_list, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether the container's place in the hierarchy of `controller` must not be changed: it is the host's root, or our own (`ours`:
 * all places of "self").
 */
bool cgroup_is_ours(const struct device_cgroup_target *target, const struct proc_cgroup_list *ours,
		    const char *controller, const char *path) __attribute__((nonnull));

/*
 * Opens the directory of `line` (of the container's /proc/PID/cgroup): that of a cgroup file system
 * in which the kernel lists the container's process. `ret_cgroup->ours` is left to the caller.
 */
int cgroup_open(const struct device_cgroup_target *target, enum cgroup_version version,
		const struct proc_cgroup *line, struct cgroup *ret_cgroup, struct error *err)
	__attribute__((nonnull, warn_unused_result));
void cgroup_close(struct cgroup *cgroup);
#define _cleanup_cgroup_ __attribute__((cleanup(cgroup_close)))

/*
 * Whether we are in the cgroup namespace that the kernel starts with: there a cgroup2 mount of our
 * own would change the options of everybody's.
 */
bool cgroup_is_initial_namespace(int proc_fd);

/*
 * Opens `path` below a directory of a cgroup file system: no link, no other mount. -1 and errno, as
 * openat(2).
 */
int cgroup_open_below(int dirfd, const char *path, int flags) __attribute__((nonnull));
/*
 * The cgroup at `path`, which is `cgroup` or one above it, as another view of the same hierarchy:
 * `ret_cgroup` borrows its root, and is closed by close_fd(&ret_cgroup->fd) alone.
 */
int cgroup_open_level(const struct cgroup *cgroup, const char *path, struct cgroup *ret_cgroup,
		      struct error *err) __attribute__((nonnull, warn_unused_result));
/* Reads a file in the directory `dirfd`. */
int cgroup_read(struct arena *arena, int dirfd, const char *name, char **ret_text, size_t *ret_size,
		struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * Refuses a cgroup that is not the container's alone: every process in it and below it must be in
 * the pid namespace of the container's process or in a descendant of that. Anybody else would get
 * the devices too.
 */
int cgroup_check_alone(const struct cgroup *cgroup, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Notes that something would have to be allowed, in a cgroup that is not to be changed. */
void cgroup_note_left_alone(const struct cgroup *cgroup) __attribute__((nonnull));

/*
 * The container's own unit of systemd: `*ret_unit` without a name where it has none, or where others
 * live in it too.
 */
int cgroup_find_unit(const struct cgroup *cgroup, struct systemd_unit *ret_unit, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* ---- What allows ---- */

/* One entry of devices.list that a rule needs: read and write are one, mknod is another. */
struct cgroup_v1_grant {
	char type;
	uint32_t major, minor;
	unsigned access;
	unsigned absent; /* bits of it that the device's own entry does not have */
};

struct cgroup_v1_grants {
	struct cgroup_v1_grant *items;
	size_t n, cap;
};

/* The parts of `rules` that the cgroup's devices.list does not grant. */
int cgroup_v1_missing(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		      struct cgroup_v1_grants *ret_missing, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* The cgroup nearest to the root, of those above this one, that does not grant that either; NULL: all do, or no memory. */
const char *cgroup_v1_forbids_above(const struct cgroup *cgroup,
				    const struct cgroup_v1_grant *grant) __attribute__((nonnull));

/* ---- Allowing ---- */

/* The work of each version: see device_cgroup_allow(). */
int cgroup_v1_allow(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		    struct undo *undo, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Positive when the kernel has no device programs, so that nothing can limit devices here. */
enum { CGROUP_V2_WITHOUT_PROGRAMS = 1 };
int cgroup_v2_allow(const struct cgroup *cgroup, const struct device_rule *rules, size_t n_rules,
		    struct undo *undo, struct error *err)
	__attribute__((nonnull, warn_unused_result));
