/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interface loses its addresses when it changes its namespace, and may be lost itself when the
 * container's dies (a virtual one). So what it was is written down first, and taking it back makes
 * it what it was.
 */
#include "net-device.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "net-link.h"

static const char *host_name(const struct net_device *device)
{
	return device->plan->device->host_interface_name;
}

static const char *name(const struct net_device *device)
{
	return device->plan->device->name;
}

/*
 * Finding
 */

/*
 * A socket for the container's namespace. Runs in: that namespace for the moment. Trusts: both
 * namespace fds. Hostile: nothing; nothing of the container's is looked at.
 */
static int open_in_container(const struct net_devices *devices, struct error *err)
{
	_cleanup_fd_ int fd = -1;

	if (setns(devices->container_namespace_fd, CLONE_NEWNET) < 0)
		return error_set(err, errno, "enter the container's network namespace");
	fd = net_link_open(err);
	if (setns(devices->host_namespace_fd, CLONE_NEWNET) < 0)
		return error_set(err, errno, "come back from the container's network namespace");
	return fd < 0 ? fd : TAKE_FD(fd);
}

/* Runs in: the host's namespaces. Trusts: our procfs, the pidfd. Hostile: the container's pid. */
static int open_namespaces(struct net_devices *devices, const struct container *container,
			   struct error *err)
{
	struct stat host, theirs;

	devices->host_namespace_fd =
		openat(container->proc_fd, "self/ns/net", O_RDONLY | O_CLOEXEC);
	if (devices->host_namespace_fd < 0)
		return error_set(err, errno, "open /proc/self/ns/net");
	devices->container_namespace_fd = container_open_namespace(container, "net", err);
	if (devices->container_namespace_fd < 0)
		return error_result(err);
	if (fstat(devices->host_namespace_fd, &host) < 0 ||
	    fstat(devices->container_namespace_fd, &theirs) < 0)
		return error_set(err, errno, "look at the network namespaces");
	if (host.st_dev == theirs.st_dev && host.st_ino == theirs.st_ino)
		return error_say(
			err, EXIT_CODE_CONTAINER,
			"the container shares the host's network, so it cannot be given an "
			"interface of it");

	devices->host_fd = net_link_open(err);
	if (devices->host_fd >= 0)
		devices->container_fd = open_in_container(devices, err);
	return error_is_set(err) ? error_result(err) : 0;
}

static int find(struct arena *arena, struct net_device *device, struct error *err)
{
	const struct net_devices *all = device->all;
	struct net_link theirs;
	int here = net_link_find(all->host_fd, host_name(device), &device->link, err);
	int there = here < 0 ? here : net_link_find(all->container_fd, name(device), &theirs, err);

	if (there < 0)
		return there;
	if (!here && there) {
		log_line(LOG_LEVEL_DEBUG, "network interface %s is in the container already",
			 SHOW(name(device)));
		return 0;
	}
	if (!here)
		return error_say(err, EXIT_CODE_HOST, "the host has no network interface %s",
				 SHOW(host_name(device)));
	if (there)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "network interface %s cannot become %s: the container has an "
				 "interface of that name",
				 SHOW(host_name(device)), SHOW(name(device)));
	int r = net_link_addresses(arena, all->host_fd, device->link.index, &device->addresses,
				   err);
	return r < 0 ? error_prefix(err, "addresses of the network interface %s",
				    SHOW(host_name(device)))
		     : 0;
}

int net_devices_find(struct arena *arena, const struct plan *plan,
		     const struct container *container, struct net_devices *ret_devices,
		     struct error *err)
{
	int r;

	if (plan->net_devices.n == 0)
		return 0;
	ret_devices->items =
		arena_alloc_array(arena, plan->net_devices.n, sizeof(*ret_devices->items));
	if (!ret_devices->items)
		return error_memory(err);
	r = open_namespaces(ret_devices, container, err);
	if (r < 0)
		return plan_prefix_origin(&plan->net_devices.items[0].origin, err);
	for (size_t i = 0; i < plan->net_devices.n; i++) {
		struct net_device *device = &ret_devices->items[ret_devices->n++];
		*device = (struct net_device){.plan = &plan->net_devices.items[i],
					      .all = ret_devices};
		r = find(arena, device, err);
		if (r < 0)
			return plan_prefix_origin(&device->plan->origin, err);
	}
	return 0;
}

/*
 * Moving
 */

/* Gives an interface, which has just come to the namespace of `socket_fd`, what it had before. */
static int restore_addresses(const struct net_device *device, int socket_fd, int index,
			     struct error *err)
{
	struct netlink_request request;

	for (size_t i = 0; i < device->addresses.n; i++) {
		netlink_add_address(&request, index, &device->addresses.items[i]);
		int r = net_link_do(socket_fd, &request, err);
		if (r < 0 && err->errnum != EEXIST)
			return error_prefix(err, "add an address");
		*err = (struct error){0};
	}
	return 0;
}

static int set_up(int socket_fd, int index, struct error *err)
{
	struct netlink_request request;

	netlink_set_up(&request, index);
	return net_link_do(socket_fd, &request, err) < 0 ? error_prefix(err, "set it up") : 0;
}

/*
 * Runs in: anywhere, the sockets know their namespaces. Trusts: the kernel. Hostile: whoever shares
 * the container's network namespace, as the containers of a pod do: names are theirs to give, so
 * the interface is taken by its number.
 */
static int take_back(void *data, struct error *err)
{
	const struct net_device *device = data;
	const struct net_devices *all = device->all;
	struct netlink_request request;
	struct error other = {0};
	struct net_link link = {.index = device->moved_index};
	int r = link.index > 0;

	/* It could not be asked for its number there. */
	if (r == 0 && device->moved)
		r = net_link_find(all->container_fd, name(device), &link, err);
	if (r <= 0)
		return r;
	netlink_move_link(&request, link.index, all->host_namespace_fd, host_name(device));
	r = net_link_do(all->container_fd, &request, err);
	if (r == 0)
		r = net_link_find(all->host_fd, host_name(device), &link, err);
	if (r == 0)
		r = error_say(err, EXIT_CODE_APPLY, "it is not there");
	if (r < 0)
		return r;
	/* An address that it cannot have again is no reason to leave it down. */
	r = restore_addresses(device, all->host_fd, link.index, err);
	if (device->link.up && set_up(all->host_fd, link.index, &other) < 0) {
		error_join(err, &other);
		r = error_result(err);
	}
	return r;
}

/*
 * After a move that failed, and nevertheless may have moved it: the kernel gives it the new name as the last step, and its
 * answer can be lost. `taken`: its old name was another's there.
 */
static void look_for_moved(struct net_device *device, bool taken)
{
	const struct net_devices *all = device->all;
	struct error ignored = {0};
	struct net_link link;

	if (net_link_find(all->host_fd, host_name(device), &link, &ignored) != 0)
		return;
	/* Under its new name, which was nobody's there when it was looked for. */
	device->moved =
		taken || net_link_find(all->container_fd, host_name(device), &link, &ignored) <= 0;
	if (!device->moved)
		device->moved_index = link.index;
}

/* Runs in, Trusts, Hostile: as take_back(). */
static int move(struct net_device *device, struct undo *undo, struct error *err)
{
	const struct net_devices *all = device->all;
	struct netlink_request request;
	struct net_link link;
	int r = undo_reserve(undo, err);
	int taken = r < 0 ? r : net_link_find(all->container_fd, host_name(device), &link, err);

	if (taken < 0)
		return taken;
	netlink_move_link(&request, device->link.index, all->container_namespace_fd, name(device));
	r = net_link_do(all->host_fd, &request, err);
	device->moved = r == 0;
	if (r < 0)
		look_for_moved(device, taken > 0);
	else
		r = net_link_find(all->container_fd, name(device), &link, err);
	if (r > 0)
		device->moved_index = link.index;
	/* Even when it failed: it may be there. */
	undo_push(undo, &(struct undo_step){.what = "give the network interface back",
					    .take_back = take_back,
					    .data = device});
	if (r == 0)
		r = error_say(err, EXIT_CODE_APPLY, "it is not there");
	if (r > 0)
		r = restore_addresses(device, all->container_fd, link.index, err);
	return r < 0 ? r : set_up(all->container_fd, link.index, err);
}

int net_devices_move(struct net_devices *devices, struct undo *undo, struct error *err)
{
	for (size_t i = 0; i < devices->n; i++) {
		struct net_device *device = &devices->items[i];
		if (device->link.index == 0 || move(device, undo, err) == 0)
			continue;
		error_prefix(err, "move network interface %s into the container as %s",
			     SHOW(host_name(device)), SHOW(name(device)));
		error_class(err, EXIT_CODE_APPLY);
		return plan_prefix_origin(&device->plan->origin, err);
	}
	return 0;
}

void net_devices_close(struct net_devices *devices)
{
	close_fd(&devices->host_fd);
	close_fd(&devices->container_fd);
	close_fd(&devices->host_namespace_fd);
	close_fd(&devices->container_namespace_fd);
}
