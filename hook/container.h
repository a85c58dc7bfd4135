/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The container's first process, its mount namespace, and how to get into it. */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "error.h"
#include "id-map.h"
#include "mountinfo.h"
#include "oci-config.h"

struct container {
	bool inside; /* we are in its namespaces already: stage createContainer */
	pid_t pid;
	int pid_fd;  /* holds the process: its number cannot come to mean another one */
	int proc_fd; /* a procfs of our own, for our pid namespace */
	int mount_namespace_fd;
	const char *root_path; /* absolute, as the host sees it */
	dev_t root_dev;        /* what root_path was when the host looked */
	ino_t root_ino;
	dev_t host_root_dev;
	ino_t host_root_ino;
	struct mountinfo host_mounts;
	bool user_namespace; /* it is in one, its own or ours: no node can be made for it */
	bool rootless; /* we are in one ourselves, or without rights: cgroups are not ours to change */
	bool joined; /* its user namespace is one that we entered after the plan was made: user_namespace_join() */
	bool ids_hidden; /* when the plan was made, ids outside of our user namespace showed as OVERFLOW_ID */
	struct id_map uids, gids;
	uid_t root_uid; /* its root, as we and the file systems see it */
	gid_t root_gid;
};

#define CONTAINER_NULL                                                                             \
	{                                                                                          \
		.pid_fd = -1, .proc_fd = -1, .mount_namespace_fd = -1                              \
	}

/*
 * Finds the process `pid` and checks that it has a mount namespace of its own; reads the id maps of
 * its user namespace, if it has one of its own; looks at the container's root from the host. `bundle` is where a relative root.path
 * starts. Nothing is entered yet.
 */
int container_open(struct arena *arena, struct container *container, pid_t pid, const char *bundle,
		   const struct oci_config *config, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * For the stage createContainer, where we run in the container's namespaces already, and the number
 * in the state means nothing: the process is our own. The host's tree is still what "/" shows.
 */
int container_open_inside(struct arena *arena, struct container *container, const char *bundle,
			  const struct oci_config *config, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * For the same stage, where nothing but hooks of specs is left to run: whether "/" is still the host's tree, in which
 * their programs lie, and not the container's root.
 */
int container_check_inside(struct arena *arena, struct container *container, const char *bundle,
			   const struct oci_config *config, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Enters the mount namespace, unless we are in it, for good, and opens the container's root there: the directory that
 * the host saw, which is the root of a mount. Returns an O_PATH fd of it.
 */
int container_enter(const struct container *container, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * A namespace of the container's process: "mnt", "net". Returns an fd of it; the process was there
 * all the time.
 */
int container_open_namespace(const struct container *container, const char *name, struct error *err)
	__attribute__((nonnull, warn_unused_result));

void container_close(struct container *container) __attribute__((nonnull));
#define _cleanup_container_ __attribute__((cleanup(container_close)))
