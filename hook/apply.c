/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a finished plan. It knows the order and the undo; how a mount, a node or a cache is made
 * stands in the files beside it.
 */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bounds.h"
#include "builtin.h"
#include "cleanup.h"
#include "device-cgroup.h"
#include "intel-rdt.h"
#include "interrupt.h"
#include "label.h"
#include "ldconfig.h"
#include "library-cache.h"
#include "log.h"
#include "net-device.h"
#include "path.h"
#include "privilege.h"
#include "user-namespace.h"

/* What takes the place of a node in a user namespace. */
struct host_device {
	int fd;                /* a detached mount of the host's; -1: the node is to be made */
	enum node_group group; /* to be in to open it */
};

struct apply {
	struct arena *arena;
	const struct plan *plan;
	const struct container *container;
	const struct apply_options *options;
	struct notes *notes;
	struct undo undo;
	unsigned later; /* steps that come, or may have to be taken back: as of privilege_take() */
	const char *label; /* of what is created, or NULL: SELinux is off */
	/* The detached mounts of the plan, in its order: each holds its mount until the run is over. */
	int *tree_fds;
	size_t n_trees;
	struct host_device *host_devices; /* the same for the nodes */
	size_t n_host_devices;
	struct net_devices net_devices;
	int class_fd;                  /* of the cache class to join; -1: none */
	bool has_libraries;            /* there is something to be found by name */
	int ldconfig_fd;               /* or -1 */
	struct error ldconfig_problem; /* then this is why */
	struct string_list
		front; /* directories that the library cache has in front of all others */
};

static void apply_done(struct apply *apply)
{
	for (size_t i = 0; i < apply->n_trees; i++)
		close_fd(&apply->tree_fds[i]);
	for (size_t i = 0; i < apply->n_host_devices; i++)
		close_fd(&apply->host_devices[i].fd);
	net_devices_close(&apply->net_devices);
	close_fd(&apply->class_fd);
	close_fd(&apply->ldconfig_fd);
}

/* Where a path of the host leads, links followed; what cannot be opened is told when it is cloned. */
static int real_path(const struct apply *apply, const char *path, const char **ret_path,
		     struct error *err)
{
	_cleanup_fd_ int fd = open(path, O_PATH | O_CLOEXEC);
	char link[32], target[PATH_MAX];
	ssize_t n;

	*ret_path = path;
	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "self/fd/%d", fd);
	n = readlinkat(apply->container->proc_fd, link, target, sizeof(target));
	if (n < 0 || n == (ssize_t)sizeof(target))
		return error_set(err, n < 0 ? errno : ENAMETOOLONG, "look where %s is", SHOW(path));
	*ret_path = arena_strndup(apply->arena, target, (size_t)n);
	return *ret_path ? 0 : error_memory(err);
}

/* Nothing below the container's root is ever the source of a mount: there the image decides. */
static int check_source(const struct apply *apply, const char *root, const struct plan_mount *mount,
			struct error *err)
{
	const char *source;
	int r;

	if (mount->kind != PLAN_MOUNT_BIND)
		return 0;
	r = real_path(apply, mount->source, &source, err);
	/* "/" is none that the host has a path for: cdictl check --repair by pid. The host's own root was refused before. */
	if (r == 0 && strcmp(root, "/") != 0 && path_is_below(source, root))
		return error_say(err, EXIT_CODE_HOST,
				 "mount source %s lies in the container's own root",
				 SHOW(mount->source));
	return r;
}

/*
 * Runs in: the host's mount namespace. Trusts: the host's paths. Hostile: nothing.
 * A clone made after the namespace was entered would be refused by the kernel: a safety net against
 * mixing them up.
 */
static int clone_sources(struct apply *apply, struct error *err)
{
	const struct plan *plan = apply->plan;
	const char *root = apply->container->root_path;

	if (plan->mounts.n > 0 && real_path(apply, apply->container->root_path, &root, err) < 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	apply->tree_fds = arena_alloc_array(apply->arena, plan->mounts.n, sizeof(*apply->tree_fds));
	if (!apply->tree_fds)
		return error_memory(err);
	for (size_t i = 0; i < plan->mounts.n; i++) {
		int r = interrupted(err);
		if (r == 0)
			r = check_source(apply, root, &plan->mounts.items[i], err);
		if (r == 0)
			r = apply_mount_clone(apply->container, &plan->mounts.items[i], plan,
					      apply->label, apply->notes, err);
		if (r < 0) {
			error_class(err, EXIT_CODE_HOST);
			return plan_prefix_origin(&plan->mounts.items[i].origin, err);
		}
		apply->tree_fds[apply->n_trees++] = r;
	}
	log_step("clone %zu mount sources", plan->mounts.n);
	return 0;
}

/* What a mount of the host's node cannot give: the owner and mode that the spec wants. */
static void note_differences(const struct apply *apply, const struct plan_node *node)
{
	const struct host_node *host = &node->source_node;
	uint32_t uid = 0, gid = 0;

	if ((host->mode & 07777) == node->mode &&
	    id_map_outside(&apply->container->uids, node->uid, &uid) && uid == host->uid &&
	    id_map_outside(&apply->container->gids, node->gid, &gid) && gid == host->gid)
		return;
	note_add(apply->notes, NOTE_INFO,
		 "device node %s keeps the host's owner and mode, %u:%u %04o, since the container "
		 "is in a user namespace",
		 SHOW(node->path), host->uid, host->gid, host->mode & 07777U);
}

/*
 * Runs in: the host's mount namespace. Trusts: the host's path. Hostile: nothing.
 * A list that cannot be read is as none: the mode is asked.
 */
static void read_acl(const struct plan_node *node, struct node_acl *ret_acl)
{
	uint8_t data[LIMIT_ACL_SIZE];
	const ssize_t size = getxattr(node->source, "system.posix_acl_access", data, sizeof(data));

	node_acl_read(&node->source_node, data, size < 0 ? 0 : (size_t)size, ret_acl);
}

static int check_access(const struct apply *apply, const struct plan_node *node,
			const struct node_acl *acl, struct error *err)
{
	const struct container *container = apply->container;
	const struct oci_config *config = apply->options->config;
	const struct node_user user = {
		.uids = &container->uids,
		.gids = &container->gids,
		.uid = config->uid,
		.gid = config->gid,
		.additional_gids = config->additional_gids.items,
		.n_additional_gids = config->additional_gids.n,
		.overflow = container->ids_hidden,
		.joined = container->joined,
	};

	/* Which groups the runtime's user has, nobody sees from inside: then the kernel decides, in fill_root(). */
	if (apply->options->keeps_groups && container->rootless)
		return 0;
	return node_access_check(&user, node, acl, err);
}

static int clone_node(const struct apply *apply, const struct plan_node *node,
		      struct host_device *ret_device, struct error *err)
{
	_cleanup_fd_ int fd = apply_device_clone(apply->container, node, err);
	struct node_acl acl;

	if (fd < 0)
		return fd;
	read_acl(node, &acl);
	if (check_access(apply, node, &acl, err) < 0)
		return error_prefix(err, "device node %s", SHOW(node->path));
	note_differences(apply, node);
	ret_device->fd = TAKE_FD(fd);
	ret_device->group = node_acl_group(&acl, node->access);
	return 0;
}

/*
 * Runs in: the host's mount namespace. Trusts: the host's paths. Hostile: nothing.
 */
static int clone_nodes(struct apply *apply, struct error *err)
{
	const struct plan *plan = apply->plan;

	apply->host_devices =
		arena_alloc_array(apply->arena, plan->nodes.n, sizeof(*apply->host_devices));
	if (!apply->host_devices)
		return error_memory(err);
	for (size_t i = 0; i < plan->nodes.n; i++) {
		const struct plan_node *node = &plan->nodes.items[i];
		struct host_device device = {.fd = -1};

		/* A FIFO can be made by everybody. */
		if (apply->container->user_namespace && !S_ISFIFO(node->type) &&
		    clone_node(apply, node, &device, err) < 0) {
			error_class(err, EXIT_CODE_HOST);
			return plan_prefix_origin(&node->origin, err);
		}
		apply->host_devices[apply->n_host_devices++] = device;
	}
	return 0;
}

/* A cache that a hook of the spec asks for must come; one that is only for comfort may be missed. */
static int ldcache_failed(const struct apply *apply, struct error *err)
{
	char text[ERROR_TEXT_MAX];

	error_class(err, EXIT_CODE_LDCACHE);
	if (apply->plan->ldcache.n > 0)
		return plan_prefix_origin(&apply->plan->ldcache.items[0].origin, err);
	log_line(LOG_LEVEL_WARNING, "%s; programs may not find the mounted libraries by name",
		 error_text(err, text));
	*err = (struct error){0};
	return 0;
}

/*
 * Runs in: the host's mount namespace. Trusts: root's files. Hostile: nothing.
 * That there is none is no failure yet: most images do without.
 */
static void find_ldconfig(struct apply *apply)
{
	const struct plan *plan = apply->plan;
	struct error *err = &apply->ldconfig_problem;

	apply->has_libraries = plan->libraries.n > 0 || plan->ldcache.n > 0;
	if (!apply->has_libraries)
		return;
	apply->ldconfig_fd = ldconfig_open(apply->options->trust, apply->options->ldconfig, err);
	if (apply->ldconfig_fd < 0)
		error_prefix(err, "the host's ldconfig");
}

static bool has_programs(const struct plan *plan)
{
	for (size_t i = 0; i < plan->hooks.n; i++)
		if (plan->hooks.items[i].builtin.kind == VENDOR_HOOK_OTHER)
			return true;
	return false;
}

static bool changes_cgroup(const struct apply *apply)
{
	return apply->options->cgroup && !apply->container->rootless && apply->plan->rules.n > 0;
}

/* What is to be done is known now; rights for anything else are not needed again. */
static unsigned steps_ahead(const struct apply *apply)
{
	const struct plan *plan = apply->plan;
	unsigned steps = PRIVILEGE_BIT(PRIVILEGE_FILL);

	if (changes_cgroup(apply))
		steps |= PRIVILEGE_BIT(PRIVILEGE_CGROUP);
	if (plan->net_devices.n > 0)
		steps |= PRIVILEGE_BIT(PRIVILEGE_NETWORK);
	if (plan->libraries.n > 0 || plan->ldcache.n > 0)
		steps |= PRIVILEGE_BIT(PRIVILEGE_SANDBOX);
	if (has_programs(plan))
		steps |= PRIVILEGE_BIT(PRIVILEGE_PROGRAM);
	return steps;
}

/* A step that left nothing to take back is over, and its rights with it. `before`: the undo steps when it began. */
static void step_is_over(struct apply *apply, enum privilege_step step, size_t before)
{
	if (apply->undo.steps.n == before)
		apply->later &= ~PRIVILEGE_BIT(step);
}

/*
 * What else of the host's the plan wants, looked for before anything is changed.
 * Runs in: the host's namespaces. Trusts: the kernel. Hostile: nothing.
 */
static int find_host_resources(struct apply *apply, struct error *err)
{
	const struct plan *plan = apply->plan;
	int r = 0;

	if (plan->net_devices.n > 0)
		r = privilege_take(PRIVILEGE_NETWORK, apply->later, err);
	if (r == 0)
		r = net_devices_find(apply->arena, plan, apply->container, &apply->net_devices,
				     err);
	if (r < 0 || !plan->intel_rdt.rdt)
		return r;
	/* An administrator may have given the classes to somebody else. */
	r = privilege_take(PRIVILEGE_FILL, apply->later, err);
	if (r < 0)
		return r;
	apply->class_fd = intel_rdt_open(apply->arena, &plan->intel_rdt, err);
	return apply->class_fd < 0 ? error_result(err) : 0;
}

static int move_net_devices(struct apply *apply, struct error *err)
{
	const size_t before = apply->undo.steps.n;
	int r = interrupted(err);

	if (r < 0 || apply->net_devices.n == 0)
		return r;
	r = privilege_take(PRIVILEGE_NETWORK, apply->later, err);
	if (r == 0)
		r = net_devices_move(&apply->net_devices, &apply->undo, err);
	step_is_over(apply, PRIVILEGE_NETWORK, before);
	if (r == 0)
		log_step("move %zu network interfaces", apply->net_devices.n);
	return r;
}

/* The last of all acts: it needs no undo. */
static int join_class(struct apply *apply, struct error *err)
{
	if (apply->class_fd < 0 ||
	    intel_rdt_join(apply->arena, apply->class_fd, apply->container, err) == 0)
		return 0;
	error_class(err, EXIT_CODE_CONTAINER);
	return plan_prefix_origin(&apply->plan->intel_rdt.origin, err);
}

static int allow_devices(struct apply *apply, struct error *err)
{
	const struct device_cgroup_target target = {
		.arena = apply->arena,
		.proc_fd = apply->container->proc_fd,
		.pid = apply->container->pid,
		.pid_fd = apply->container->pid_fd,
		.inside = apply->container->inside,
		.notes = apply->notes,
		.devices = apply->options->devices,
	};
	const size_t before = apply->undo.steps.n;
	int r = interrupted(err);

	if (r == 0)
		r = privilege_take(PRIVILEGE_CGROUP, apply->later, err);
	if (r == 0)
		r = device_cgroup_allow(&target, apply->plan->rules.items, apply->plan->rules.n,
					&apply->undo, err);
	step_is_over(apply, PRIVILEGE_CGROUP, before);
	if (r < 0)
		return error_class(err, EXIT_CODE_CGROUP);
	log_step("allow %zu devices", apply->plan->rules.n);
	return 0;
}

/*
 * Runs in: the container's mount namespace. Trusts: the plan, the trees. Hostile: the container's
 * root.
 */
static int fill_root(struct apply *apply, struct rootfs *rootfs, struct error *err)
{
	const struct plan *plan = apply->plan;
	const struct origin *origin = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->mounts.n; i++) {
		origin = &plan->mounts.items[i].origin;
		r = interrupted(err);
		if (r == 0)
			r = apply_mount_attach(rootfs, &plan->mounts.items[i], apply->tree_fds[i],
					       apply->notes, err);
	}
	if (r == 0)
		log_step("attach %zu mounts", plan->mounts.n);
	/* Behind the mounts, as a runtime does: a node may lie on a tmpfs that the spec brings. */
	for (size_t i = 0; r == 0 && i < plan->nodes.n; i++) {
		origin = &plan->nodes.items[i].origin;
		r = interrupted(err);
		if (r == 0)
			r = apply_device(rootfs, &plan->nodes.items[i], apply->host_devices[i].fd,
					 apply->notes, err);
		if (r == 0 && apply->container->rootless)
			r = apply_device_check(rootfs, &plan->nodes.items[i],
					       apply->host_devices[i].group,
					       apply->options->config->uid == 0, err);
	}
	if (r < 0) {
		error_class(err, EXIT_CODE_APPLY);
		return plan_prefix_origin(origin, err);
	}
	log_step("make %zu nodes", plan->nodes.n);
	return 0;
}

/* Runs in: the container's mount namespace. Trusts: the plan. Hostile: the container's root. */
static int apply_builtins(struct apply *apply, struct rootfs *rootfs, struct error *err)
{
	const struct plan *plan = apply->plan;

	for (size_t i = 0; i < plan->hooks.n; i++) {
		const struct plan_hook *hook = &plan->hooks.items[i];
		int r = hook->builtin.kind == VENDOR_HOOK_OTHER ? 0 : interrupted(err);
		if (r == 0 && hook->builtin.kind != VENDOR_HOOK_OTHER)
			r = builtin_apply(apply->arena, rootfs, hook, &apply->front, apply->notes,
					  err);
		if (r < 0)
			return plan_prefix_origin(&hook->origin, err);
	}
	log_step("do %zu hooks", plan->hooks.n);
	return 0;
}

/* Runs in: the container's mount namespace. Trusts: the plan. Hostile: the container's root. */
static int refresh_ldcache(struct apply *apply, struct rootfs *rootfs, struct error *err)
{
	const struct library_cache cache = {
		.plan = apply->plan,
		.ldconfig_named = apply->options->ldconfig != NULL,
		.has_ldconfig = apply->ldconfig_fd >= 0,
		.ldconfig_fd = apply->ldconfig_fd,
		.front = &apply->front,
		.ldconfig_problem = &apply->ldconfig_problem,
		.root_readonly = apply->options->root_readonly,
	};
	const size_t before = apply->undo.steps.n;
	int r;

	if (!apply->has_libraries)
		return 0;
	r = interrupted(err);
	if (r == 0)
		r = library_cache_refresh(rootfs, &cache, apply->notes, err);
	if (r == 0)
		return 0;
	/* The deadline is no failure of the cache. */
	if (interrupted(err) < 0)
		return error_result(err);
	/* Something that is left behind, or no memory, is more than a cache that could not be had. */
	bool memory = err->errnum == ENOMEM;
	if (!undo_to(&apply->undo, before, err) || memory)
		return error_class(err, EXIT_CODE_LDCACHE);
	return ldcache_failed(apply, err);
}

/* A label stops no container: where the policy then refuses it a file, this line says why. */
static void label_failed(const struct apply *apply, struct error *err)
{
	char text[ERROR_TEXT_MAX];

	note_add(apply->notes, NOTE_WARNING,
		 "SELinux (linux.mountLabel): %s; the container may be refused what is made in it",
		 error_text(err, text));
}

/* Runs in: the container's mount namespace. Trusts: the plan. Hostile: the container's root. */
static int fill_container(struct apply *apply, struct rootfs *rootfs, struct error *err)
{
	struct error other = {0};

	if (apply->label && label_new_files(rootfs->proc_fd, apply->label, &other) < 0)
		label_failed(apply, &other);
	int r = fill_root(apply, rootfs, err);

	if (r == 0)
		r = apply_builtins(apply, rootfs, err);
	if (r == 0)
		r = refresh_ldcache(apply, rootfs, err);
	/* Only vendors' programs create something from here on: the kernel would start them without it in any case. */
	if (apply->label && label_new_files(rootfs->proc_fd, NULL, &other) < 0)
		log_line(LOG_LEVEL_DEBUG, "%s", other.text);
	return r;
}

static int change_container(struct apply *apply, struct error *err)
{
	_cleanup_fd_ int root_fd = privilege_take(PRIVILEGE_FILL, apply->later, err) < 0
					   ? error_result(err)
					   : container_enter(apply->container, err);
	struct rootfs rootfs = {
		.arena = apply->arena,
		.fd = root_fd,
		.proc_fd = apply->container->proc_fd,
		.host_mounts = &apply->container->host_mounts,
		.uid = apply->container->root_uid,
		.gid = apply->container->root_gid,
		.undo = &apply->undo,
	};
	int r = root_fd < 0 ? root_fd : rootfs_init(&rootfs, err);

	if (r == 0)
		r = user_namespace_act_as_root(apply->container, err);
	if (r < 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	log_step("enter the container's mount namespace");
	return fill_container(apply, &rootfs, err);
}

/* All is done, or all is taken back. What could not be tidied up harms nobody, and is said. */
static void finish(struct apply *apply, bool done, struct error *err)
{
	struct error other = {0};
	char text[ERROR_TEXT_MAX];

	/* Without them as much is done as can be. */
	(void)!privilege_take(PRIVILEGE_UNDO, 0, &other);
	if (!done) {
		if (error_is_set(&other))
			error_join(err, &other);
		undo_to(&apply->undo, 0, err);
		return;
	}
	undo_keep(&apply->undo, &other);
	if (error_is_set(&other))
		log_line(LOG_LEVEL_WARNING, "%s", error_text(&other, text));
}

int apply_plan(struct arena *arena, const struct plan *plan, struct container *container,
	       const struct apply_options *options, struct notes *notes, struct error *err)
{
	__attribute__((cleanup(apply_done))) struct apply apply = {
		.arena = arena,
		.plan = plan,
		.container = container,
		.options = options,
		.notes = notes,
		.undo = {.arena = arena},
		.label = plan->label && label_is_used() ? plan->label : NULL,
		.net_devices = NET_DEVICES_NULL,
		.class_fd = -1,
		.ldconfig_fd = -1,
	};
	struct error other = {0};
	int r;

	apply.later = steps_ahead(&apply);
	r = privilege_take(PRIVILEGE_FIND, apply.later, err);
	if (r == 0)
		r = clone_sources(&apply, err);
	if (r == 0)
		r = clone_nodes(&apply, err);
	if (r == 0)
		find_ldconfig(&apply);
	if (r == 0)
		r = find_host_resources(&apply, err);
	if (r == 0 && changes_cgroup(&apply))
		r = allow_devices(&apply, err);
	if (r == 0)
		r = move_net_devices(&apply, err);
	if (r == 0)
		r = change_container(&apply, err);
	/* Cgroups, the host's interfaces and vendors' programs are not the container's root's. */
	if (user_namespace_act_as_host(container, &other) < 0) {
		error_join(err, &other);
		r = r < 0 ? r : error_result(err);
	}
	/* The last that can fail, since what a vendor's program does cannot be taken back. */
	if (r == 0 && options->hook_runner && has_programs(plan))
		r = hook_runner_run(options->hook_runner, apply.later, err);
	/* From here on nothing may break in: what was done is kept or taken back as a whole. */
	if (r == 0)
		r = interrupted(err);
	interrupt_ignore();
	if (r == 0)
		r = join_class(&apply, err);
	finish(&apply, r == 0, err);
	return r;
}
