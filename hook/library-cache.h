/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Makes the libraries that were mounted findable by name: the container's ld.so.cache. */
#include <stdbool.h>

#include "notes.h"
#include "plan.h"
#include "rootfs.h"

struct library_cache {
	const struct plan *plan;
	const struct string_list
		*front;      /* directories of the image whose libraries win over ours, or NULL */
	bool ldconfig_named; /* by --ldconfig=PATH */
	bool has_ldconfig;   /* there is one on the host that can be run */
	int ldconfig_fd;     /* as ldconfig_open() returned it */
	const struct error *ldconfig_problem; /* why there is none */
	bool root_readonly;                   /* the root will be read-only once hooks have run */
};

/*
 * Makes a cache, by a merge with the image's or by the host's ldconfig over the root in its sandbox, and installs it: by
 * rename, or mounted over the old one where /etc is or will be read-only. Where a library lies in a
 * directory that no ldconfig would look at, one file in /etc/ld.so.conf.d tells a later one in the container. musl's search path
 * gets our directories. An image without a loader for any of the libraries needs nothing. Which way was taken is
 * logged. Failures are EXIT_CODE_LDCACHE.
 *
 * Runs in: the container's mount namespace. Trusts: the plan, the fds. Hostile: the root.
 */
int library_cache_refresh(struct rootfs *rootfs, const struct library_cache *cache,
			  struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 4), warn_unused_result));

/*
 * Adds to the plan which way would be taken. Only looks: of `rootfs` the fds and the arena are needed.
 *
 * Runs in: any namespace that shows the root. Trusts: the fds. Hostile: the root.
 */
int library_cache_plan(struct rootfs *rootfs, const struct library_cache *cache, struct plan *plan,
		       struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 3, 5), warn_unused_result));
