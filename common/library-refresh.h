/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What has to be done to an image so that its programs find the mounted libraries by name, and why that. */
#include "image-view.h"
#include "ldcache.h"
#include "ldconf.h"
#include "notes.h"
#include "plan.h"

#define LDCACHE_PATH "/etc/ld.so.cache"

struct library_refresh_options {
	bool ldconfig_named; /* --ldconfig=PATH: that one is run, whatever else would do */
	bool has_ldconfig;   /* there is one that can be run */
	const struct string_list
		*front; /* directories of the image whose libraries win over ours, or NULL */
};

/* A search path of musl's that has to be changed. */
struct musl_path {
	const char *path;
	const char *text;
	bool was_there;
};

struct library_refresh {
	enum refresh_way way;
	const char *why; /* half a sentence */
	struct ldconf conf;
	struct string_list dirs; /* of our libraries, and those that hooks ask for */
	struct string_list
		unknown; /* those of them that an ldconfig in the container would not look at */
	struct ldcache_library *libraries; /* each soname once for a machine and capability */
	size_t n_libraries;
	size_t n_sonames;     /* the first of them; the rest are names that only links have */
	struct ldcache image; /* the image's cache; empty unless the way is REFRESH_MERGE */
	ARRAY(struct musl_path) musl;
};

/*
 * Looks at the image: its loaders, its cache, its ld.so.conf, and the names in directories that are new to it. No library of
 * it is opened. Failures: what the image has cannot be read for a reason of ours, or a directory cannot be named.
 */
int library_refresh_choose(struct arena *arena, const struct image_view *view,
			   const struct plan *plan, const struct library_refresh_options *options,
			   struct notes *notes, struct library_refresh *ret_refresh,
			   struct error *err)
	__attribute__((nonnull(1, 2, 3, 4, 6, 7), warn_unused_result));

/* The same as lines of the plan: one for each file. */
int library_refresh_show(struct arena *arena, const struct library_refresh *refresh,
			 struct plan *plan, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* `head`, then one directory a line. */
int library_refresh_conf(struct arena *arena, const char *head, const struct string_list *first,
			 const struct string_list *second, const char **ret_text, struct error *err)
	__attribute__((nonnull(1, 2, 3, 5, 6), warn_unused_result));
