/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node is only a number; what a person wants to know is whose driver answers there, and by which name it can be found
 * again after the next start: udev's links. Drivers whose devices are not in sysfs still have their line in /proc/devices.
 */
#include "host-device.h"

#include <errno.h>
#include <fcntl.h>
#include <libudev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bounds.h"
#include "fdio.h"

int host_devices_init(struct arena *arena, struct host_devices *devices, int root_fd,
		      struct error *err)
{
	*devices = (struct host_devices){.arena = arena, .root_fd = root_fd, .udev = udev_new()};
	return devices->udev ? 0 : error_memory(err);
}

void host_devices_done(struct host_devices *devices)
{
	udev_unref(devices->udev);
	devices->udev = NULL;
}

/*
 * libudev answers NULL for what is not there and for what it had no memory for: only errno tells, which it leaves alone when all is
 * well.
 */
static int copy(struct arena *arena, const char *text, const char **ret_copy, struct error *err)
{
	*ret_copy = text ? arena_strdup(arena, text) : NULL;
	return (text && !*ret_copy) || (!text && errno == ENOMEM) ? error_memory(err) : 0;
}

/* The driver of a device stands at the device of its bus, one or several levels up. */
static const char *driver_of(struct udev_device *device)
{
	for (; device; device = udev_device_get_parent(device)) {
		const char *driver = udev_device_get_driver(device);
		if (driver || errno == ENOMEM)
			return driver;
	}
	return NULL;
}

static int compare_links(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_links(struct arena *arena, struct udev_device *device, struct string_list *links,
		      struct error *err)
{
	struct udev_list_entry *entry;

	udev_list_entry_foreach(entry, udev_device_get_devlinks_list_entry(device))
	{
		const char **slot = array_add(arena, links);
		if (!slot || copy(arena, udev_list_entry_get_name(entry), slot, err) < 0)
			return error_memory(err);
	}
	if (links->n == 0 && errno == ENOMEM)
		return error_memory(err);
	if (links->n > 0)
		qsort(links->items, links->n, sizeof(links->items[0]), compare_links);
	return 0;
}

/* "195 nvidia-frontend", in the part of /proc/devices for its sort of device. */
static int driver_of_major(struct arena *arena, char type, uint32_t major, const char **ret_driver,
			   struct error *err)
{
	struct error ignored = {0};
	bool blocks = false;
	char *text, *save = NULL;
	size_t size;

	*ret_driver = NULL;
	if (fdio_read_at(arena, AT_FDCWD, "/proc/devices", LIMIT_PROC_SIZE, &text, &size,
			 &ignored) < 0)
		return ignored.errnum == ENOMEM ? error_memory(err) : 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end;
		unsigned long number = strtoul(line, &end, 10);

		if (strncmp(line, "Block", 5) == 0)
			blocks = true;
		if (blocks == (type == 'b') && end != line && *end == ' ' && number == major) {
			*ret_driver = end + 1;
			return 0;
		}
	}
	return 0;
}

static int ask_udev(const struct host_devices *devices, char type, struct host_device *result,
		    struct error *err)
{
	errno = 0;
	struct udev_device *device = udev_device_new_from_devnum(
		devices->udev, type, makedev(result->node.major, result->node.minor));
	int r;

	if (!device)
		return errno == ENOMEM ? error_memory(err) : 0;
	r = copy(devices->arena, udev_device_get_devnode(device), &result->name, err);
	if (r == 0)
		r = copy(devices->arena, driver_of(device), &result->driver, err);
	if (r == 0)
		r = copy(devices->arena, udev_device_get_subsystem(device), &result->subsystem,
			 err);
	if (r == 0)
		r = read_links(devices->arena, device, &result->links, err);
	/* It goes on without what it could not read. */
	if (r == 0 && errno == ENOMEM)
		r = error_memory(err);
	udev_device_unref(device);
	return r;
}

int host_device_look_up(const struct host_devices *devices, const char *path,
			struct host_device *ret_device, struct error *err)
{
	int root_fd = devices->root_fd, r;
	char type;

	*ret_device = (struct host_device){0};
	ret_device->missing = -host_node_look_up(&root_fd, path, &ret_device->node);
	if (ret_device->missing ||
	    (!S_ISCHR(ret_device->node.mode) && !S_ISBLK(ret_device->node.mode)))
		return 0;
	type = S_ISBLK(ret_device->node.mode) ? 'b' : 'c';
	r = ask_udev(devices, type, ret_device, err);
	if (r == 0 && !ret_device->driver && !ret_device->subsystem)
		r = driver_of_major(devices->arena, type, ret_device->node.major,
				    &ret_device->driver, err);
	return r;
}
