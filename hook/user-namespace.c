/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ways lead here. An engine of root's gives a container a user namespace of its own, and we stay
 * outside, with all rights: only the ids differ. An engine without root runs wholly in a user
 * namespace, and so do we; or a hook at createContainer, which every engine runs inside. And a plain
 * user's runtime runs us with no rights at all, save that of entering what the user owns.
 */
#include "user-namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bounds.h"
#include "fdio.h"
#include "privilege.h"

/*
 * Who is who
 */

static int read_map(struct arena *arena, const struct container *container, const char *path,
		    struct id_map *ret_map, struct error *err)
{
	char *text;
	size_t size;
	int r = fdio_read_at(arena, container->proc_fd, path, LIMIT_PROC_SIZE, &text, &size, err);

	if (r == 0)
		r = id_map_parse(arena, text, size, ret_map, err);
	return r < 0 ? error_prefix(err, "/proc/%s", path) : 0;
}

/* Whether we are in the user namespace that the kernel starts with. */
static int read_own_map(struct arena *arena, struct container *container, struct error *err)
{
	int r = read_map(arena, container, "self/uid_map", &container->uids, err);

	if (r == 0)
		r = read_map(arena, container, "self/gid_map", &container->gids, err);
	/* A kernel without user namespaces. */
	if (r < 0 && err->errnum == ENOENT) {
		*err = (struct error){0};
		return 0;
	}
	container->rootless = container->ids_hidden =
		r == 0 && !id_map_is_identity(&container->uids);
	return r;
}

/* In a namespace that is ours too, every id that it has means itself. */
static void see_from_inside(struct id_map *map)
{
	for (size_t i = 0; i < map->n; i++)
		map->items[i].outside = map->items[i].inside;
}

/*
 * Runs in: the namespaces that the runtime gave us. Trusts: our procfs. Hostile: nothing: the runtime wrote
 * the maps, and they are written once.
 */
int user_namespace_look(struct arena *arena, struct container *container, struct error *err)
{
	char path[64];
	int r = read_own_map(arena, container, err);

	if (r < 0)
		return r;
	if (!container->user_namespace) {
		container->user_namespace = container->rootless;
		see_from_inside(&container->uids);
		see_from_inside(&container->gids);
	} else {
		snprintf(path, sizeof(path), "%d/uid_map", container->pid);
		r = read_map(arena, container, path, &container->uids, err);
		snprintf(path, sizeof(path), "%d/gid_map", container->pid);
		if (r == 0)
			r = read_map(arena, container, path, &container->gids, err);
	}
	if (r < 0 || !container->user_namespace)
		return r;
	if (!id_map_outside(&container->uids, 0, &container->root_uid) ||
	    !id_map_outside(&container->gids, 0, &container->root_gid))
		return error_say(
			err, EXIT_CODE_CONTAINER,
			"the user namespace of process %d has no root: nothing can be made "
			"in the container",
			container->pid);
	return 0;
}

/*
 * Becoming somebody else
 */

/* What the kernel takes off a process whose ids or rights change. */
struct bond {
	pid_t parent;
	int signal; /* for us when it dies; 0: none */
};

static struct bond bond_look(void)
{
	struct bond bond = {.parent = getppid()};

	(void)prctl(PR_GET_PDEATHSIG, &bond.signal);
	return bond;
}

/* A parent that has died in between is no longer our parent. */
static int bond_renew(const struct bond *bond, struct error *err)
{
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return error_set(err, errno, "prctl PR_SET_DUMPABLE");
	if (bond->signal == 0)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, bond->signal) < 0)
		return error_set(err, errno, "prctl PR_SET_PDEATHSIG");
	if (getppid() != bond->parent)
		return error_say(err, EXIT_CODE_OTHER,
				 "the process that waits for this one is gone");
	return 0;
}

/*
 * Getting in without rights
 */

/*
 * Runs in: a plain user's namespaces, then the container's. Trusts: the pidfd, whose namespaces the kernel lets only
 * their owner enter. Hostile: nothing.
 */
int user_namespace_join(struct container *container, struct error *err)
{
	const struct bond bond = bond_look();
	int r;

	if (!container->user_namespace || container->inside)
		return 0;
	r = privilege_has(CAP_SYS_ADMIN, err);
	if (r != 0)
		return r < 0 ? r : 0;
	/*
	 * Both at once: the right to the one comes with the other. The user's groups stay with us: whether a node opens without
	 * them was asked before (node_access_check()), and what the container's process keeps of them, or gets by the gids of
	 * config.json, opens it with them. They can be the reason of an open here, but of no refusal.
	 */
	if (setns(container->pid_fd, CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return error_set(err, errno, "enter the user namespace of process %d",
				 container->pid);
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return error_set(err, errno, "become root of the user namespace of process %d",
				 container->pid);
	container->inside = container->rootless = container->joined = true;
	container->root_uid = 0;
	container->root_gid = 0;
	return bond_renew(&bond, err);
}

bool user_namespace_is_owner(const struct container *container, uid_t seen, uid_t planned)
{
	return container->joined ? id_map_shows(&container->uids, planned, seen) : seen == planned;
}

/*
 * Files of the container's root
 */

/* Neither call tells whether it worked; asking for -1 changes nothing and tells what is. */
static int act_as(uid_t uid, gid_t gid, struct error *err)
{
	const struct bond bond = bond_look();

	setfsgid(gid);
	setfsuid(uid);
	if ((gid_t)setfsgid((gid_t)-1) != gid || (uid_t)setfsuid((uid_t)-1) != uid)
		return error_set(err, EPERM, "make files as user %u", uid);
	return bond_renew(&bond, err);
}

static bool is_somebody_else(const struct container *container)
{
	return container->user_namespace &&
	       (container->root_uid != geteuid() || container->root_gid != getegid());
}

/* Runs in: the container's mount namespace, our own user namespace. Trusts: the id maps. Hostile: nothing. */
int user_namespace_act_as_root(const struct container *container, struct error *err)
{
	int r;

	if (!is_somebody_else(container))
		return 0;
	r = act_as(container->root_uid, container->root_gid, err);
	/* Another user than root loses all capabilities over files. The container's root has this one in its own
	 * namespace, and needs it: podman's root directories are 0555. */
	return r < 0 ? r : privilege_add(CAP_DAC_OVERRIDE, err);
}

int user_namespace_act_as_host(const struct container *container, struct error *err)
{
	return is_somebody_else(container) ? act_as(geteuid(), getegid(), err) : 0;
}
