/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The small texts of procfs and cgroupfs as data. Bytes in, structures out; who reads them bounds
 * their size.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"
#include "plan.h"

/* ---- /proc/PID/cgroup ---- */

struct proc_cgroup {
	/* Comma-separated; "" for cgroup v2, "name=x" for a hierarchy without controllers. */
	const char *controllers;
	/* Absolute, below the root of the reader's cgroup namespace. */
	const char *path;
};

struct proc_cgroup_list {
	struct proc_cgroup *items;
	size_t n, cap;
};

/* Failures name the line: "line 3: expected HIERARCHY:CONTROLLERS:PATH". */
int proc_text_parse_cgroup(struct arena *arena, const char *text, size_t size,
			   struct proc_cgroup_list *ret_list, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* The line of the hierarchy that `controller` is bound to ("" for cgroup v2), or NULL. */
const struct proc_cgroup *proc_text_find_cgroup(const struct proc_cgroup_list *list,
						const char *controller) __attribute__((nonnull));

/* ---- devices.list, devices.allow, devices.deny of cgroup v1 ---- */

struct proc_device {
	char type; /* 'a' (both), 'b' or 'c' */
	bool any_major, any_minor;
	uint32_t major, minor;
	unsigned access; /* DEVICE_READ and so on */
};

struct proc_device_list {
	struct proc_device *items;
	size_t n, cap;
};

int proc_text_parse_devices(struct arena *arena, const char *text, size_t size,
			    struct proc_device_list *ret_list, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether the kernel grants all bits of `access` at once: it asks for one entry that has them all.
 * (It asks for read and write together when a node is opened, for mknod by itself.)
 */
bool proc_text_devices_allow(const struct proc_device_list *list, char type, uint32_t major,
			     uint32_t minor, unsigned access) __attribute__((nonnull));
/* The bits of the entry for exactly this device, 0 where there is none. */
unsigned proc_text_devices_exact(const struct proc_device_list *list, char type, uint32_t major,
				 uint32_t minor) __attribute__((nonnull));

/* Room for the longest line: "c 4294967295:4294967295 rwm". */
#define PROC_TEXT_DEVICE_MAX 32
/* What devices.allow and devices.deny take, without a line end: "c 10:229 rwm". Returns `line`. */
const char *proc_text_device_line(char line[static PROC_TEXT_DEVICE_MAX], char type, uint32_t major,
				  uint32_t minor, unsigned access);

/* ---- cgroup.procs ---- */

struct proc_pid_list {
	pid_t *items; /* 0 for a process that the reader's pid namespace cannot name */
	size_t n, cap;
};

int proc_text_parse_pids(struct arena *arena, const char *text, size_t size,
			 struct proc_pid_list *ret_list, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* ---- /proc/PID/task/TID/children: pids with a blank behind each ---- */

int proc_text_parse_children(struct arena *arena, const char *text, size_t size,
			     struct proc_pid_list *ret_list, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* ---- /proc/PID/status ---- */

/* The process's number in its own pid namespace: the last one of the line NSpid. */
int proc_text_parse_inner_pid(const char *text, size_t size, pid_t *ret_pid, struct error *err)
	__attribute__((nonnull, warn_unused_result));
