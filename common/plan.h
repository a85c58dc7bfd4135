/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What will be done to a container, all of it, before anything is done: a plain structure made
 * without privilege.
 * --dry-run prints it, hook/apply.c walks it. Paths are cleaned and absolute, below the container's
 * root for `path` and `destination`, of the host for `source`.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "cdi-registry.h"
#include "cdi-spec.h"
#include "elf-library.h"
#include "error.h"
#include "hook-schedule.h"
#include "host-node.h"
#include "mount-option.h"
#include "notes.h"
#include "oci-config.h"
#include "stage.h"
#include "vendor-hook.h"

/* Which device of which spec file wants something: every operation and every error sentence carries
 * it. */
struct origin {
	const char *device; /* vendor/class=name; NULL for an edit of the spec itself, which all its
			       devices share */
	const char *kind;
	const char *file;
	struct cdi_place place;
};

/* Access to a device, as the device cgroup counts it. */
enum { DEVICE_READ = 1, DEVICE_WRITE = 2, DEVICE_MKNOD = 4 };

struct device_rule {
	char type; /* 'b' or 'c' */
	uint32_t major, minor;
	unsigned access; /* never 0 */
	struct origin origin;
};

struct plan_node {
	const char *path;
	mode_t type; /* S_IFCHR, S_IFBLK or S_IFIFO */
	uint32_t major, minor;
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
	bool has_mode, has_uid, has_gid; /* false: nobody says, the runtime's own default will do */
	unsigned access; /* what the device cgroup is to allow; 0 for a FIFO and for permissions
			    "none" */
	/* The host's node, which takes the place of ours in a user namespace, where none can be made. NULL: there is none. */
	const char *source;
	struct host_node source_node;
	struct origin origin;
};

enum plan_mount_kind {
	PLAN_MOUNT_BIND,
	PLAN_MOUNT_TMPFS,
	PLAN_MOUNT_OTHER, /* any other file system: only a runtime can make it, by config.json */
};

struct plan_mount {
	enum plan_mount_kind kind;
	const char *source;           /* of the host; only a word unless it is a bind mount */
	struct host_node source_node; /* what that was when it was planned */
	const char *destination;
	struct mount_options options; /* not for a file system of another type */
	bool in_config; /* config.json has it, too: the runtime makes it, and may set its
					 flags later */
	/* For config.json, at a stage that edits it: */
	const char *type;         /* "" for none; NULL at other stages */
	struct string_list words; /* the options */
	struct origin origin;
};

/* In the order of the specs; those of an earlier stage run first. */
struct plan_hook {
	const struct cdi_hook *hook;
	enum stage stage; /* whose namespaces and state it gets */
	struct vendor_hook
		builtin; /* what is done instead; VENDOR_HOOK_OTHER: it is run as a program */
	struct origin origin;
};

/* A shared library that a mount brings, which programs in the container should find by its soname. */
struct plan_library {
	const char *path; /* in the container */
	struct elf_library elf;
	struct origin origin;
};

/* A hook of a spec asks for the library cache to be refreshed: then it must succeed. */
struct plan_ldcache {
	struct string_list folders; /* directories that it wants in the cache */
	struct origin origin;
};

/* What can be had only while there is no process yet: at a stage that edits config.json (stage.h). At
 * others these lists are empty. */

struct plan_env {
	const char *entry; /* NAME=value */
	struct origin origin;
};

struct plan_gid {
	uint32_t gid;
	struct origin origin;
};

/* How a file of the image's that tells loaders where libraries are is refreshed. */
enum refresh_way {
	REFRESH_NOTHING,   /* it stays as it is */
	REFRESH_MERGE,     /* our libraries are added to the image's cache */
	REFRESH_LDCONFIG,  /* the host's ldconfig makes a cache anew */
	REFRESH_NEW,       /* a cache of our libraries alone */
	REFRESH_MUSL_PATH, /* our directories are added to musl's search path */
};

/* Known only where the container's root can be looked at. */
struct plan_refresh {
	enum refresh_way way;
	const char *path; /* of the file */
	const char *why;
};

/* An edit that this stage cannot make. */
struct plan_unsupported {
	const char *edit;    /* "env NAME=value", "additionalGids 44", "hook poststop /usr/bin/x" */
	const char *problem; /* "is not run: ..."; NULL: it cannot be set at this stage */
	struct origin origin;
};

/* A network interface of the host that moves into the container's network namespace. */
struct plan_net_device {
	const struct cdi_net_device *device;
	struct origin origin;
};

/* The cache class that the container's process is to be in. */
struct plan_intel_rdt {
	const struct cdi_intel_rdt *rdt; /* NULL: nobody wants one */
	struct origin origin;
};

struct plan {
	/* SELinux's label of all that is created, which matters where SELinux is on. NULL: config.json has none, or nothing
	 * is created by us. */
	const char *label;
	ARRAY(struct device_rule) rules;
	ARRAY(struct plan_mount) mounts; /* parents before children */
	ARRAY(struct plan_node) nodes;
	ARRAY(struct plan_library) libraries;
	ARRAY(struct plan_ldcache) ldcache;
	ARRAY(struct plan_refresh) refresh;
	ARRAY(struct plan_hook) hooks;
	ARRAY(struct plan_env) env;
	ARRAY(struct plan_gid) gids;
	ARRAY(struct plan_unsupported) unsupported;
	ARRAY(struct plan_net_device) net_devices;
	struct plan_intel_rdt intel_rdt;
};

enum plan_vendor_hooks {
	PLAN_VENDOR_HOOKS_NONE,    /* they are left out */
	PLAN_VENDOR_HOOKS_BUILTIN, /* those that are built in are done here, the others are run */
	PLAN_VENDOR_HOOKS_EXEC,    /* all are run */
};

struct plan_options {
	enum stage stage;
	stage_set registered; /* the stages at which this program is called for the container */
	bool lenient;         /* numbers that differ from the host's are noted instead of refused */
	enum plan_vendor_hooks vendor_hooks;
	const struct string_list
		*disabled_hooks; /* hooks to leave out, by program or command; may be NULL */
	bool ldcache;            /* false: the library cache is left alone */
};

/*
 * Merges the edits of the devices in the reference's order (a spec's own edits once, before its
 * first device), looks up what is missing on the host and refuses what cannot be done. Missing host
 * resources are reported together with EXIT_CODE_HOST. `config` gives the container's user, whom
 * nodes belong to where the spec says nothing.
 *
 * At a stage that edits config.json the hooks stay what they are, those too that this program could
 * do itself: the runtime runs them.
 */
int plan_build(struct arena *arena, const struct cdi_found_list *found,
	       const struct oci_config *config, const struct host_view *host,
	       const struct plan_options *options, struct notes *notes, struct plan *ret_plan,
	       struct error *err) __attribute__((nonnull(1, 2, 3, 4, 5, 7, 8), warn_unused_result));

/* Whether only hooks are left to run: the rest is done at an earlier stage, or the container has started. */
bool plan_is_hooks_only(const struct plan_options *options) __attribute__((nonnull));

/* "device vendor.com/gpu=0 (/etc/cdi/vendor.yaml:7:5): " in front of the sentence, or the kind for an edit that all
 * devices of a spec share. Returns as error_prefix(). */
int plan_prefix_origin(const struct origin *origin, struct error *err) __attribute__((nonnull));
