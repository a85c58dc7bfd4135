/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of a spec means on this host, in words for the table of cdictl show. */
#include "show-edit.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/stat.h>

char show_type_letter(mode_t mode)
{
	return S_ISBLK(mode) ? 'b' : S_ISCHR(mode) ? 'c' : S_ISFIFO(mode) ? 'p' : '?';
}

int show_path_missing(const struct show *show, const char *path)
{
	int root_fd = show->devices->root_fd;
	struct host_node node;

	return -host_node_look_up(&root_fd, path, &node);
}

/* Whether the spec says all of a node: then the host need not have it. */
static bool is_complete(const struct cdi_device_node *node)
{
	return node->type && node->type[0] && (node->major != 0 || node->type[0] == 'p');
}

/* Where the host has the node. */
static const char *host_path_of(const struct cdi_device_node *node)
{
	return node->host_path && node->host_path[0] ? node->host_path : node->path;
}

int show_node_on_host(const struct show *show, const struct cdi_device_node *node,
		      struct node_on_host *ret_node, struct error *err)
{
	const char *path = host_path_of(node);
	struct host_device *device = &ret_node->device;
	int r = host_device_look_up(show->devices, path, device, err);
	char letter;

	if (r < 0)
		return r;
	letter = show_type_letter(device->node.mode);
	if (device->missing)
		ret_node->state =
			device->missing == ENOENT && is_complete(node) ? NODE_MADE : NODE_MISSING;
	else if (letter == '?')
		ret_node->state = NODE_NO_DEVICE;
	else if (node->type && node->type[0] &&
		 letter != (node->type[0] == 'u' ? 'c' : node->type[0]))
		ret_node->state = NODE_DIFFERS;
	else if (letter == 'p' || node->major == 0)
		ret_node->state = NODE_FOUND;
	else if (node->major == device->node.major && node->minor == device->node.minor)
		ret_node->state = NODE_AGREES;
	else
		ret_node->state = NODE_DIFFERS;
	return 0;
}

/* ---- Words ---- */

/* `text` with something more behind it; NULL stays NULL. */
#define APPEND(text, fmt, ...)                                                                     \
	((text) ? arena_printf(show->arena, "%s" fmt, (text), ##__VA_ARGS__) : NULL)

static const char *words_of_list(const struct show *show, const char *text,
				 const struct string_list *list, size_t from, const char *between)
{
	for (size_t i = from; i < list->n; i++)
		text = APPEND(text, "%s%s", i > from ? between : "", list->items[i]);
	return text;
}

static const char *words_of_node(const struct show *show, const struct cdi_device_node *node)
{
	const char *text = node->path;

	if (node->host_path && node->host_path[0] && strcmp(node->host_path, node->path) != 0)
		text = APPEND(text, " from %s", node->host_path);
	if (node->type && node->type[0])
		text = APPEND(text, " %s", node->type);
	if (node->major != 0 || node->minor != 0)
		text = APPEND(text, " %lld:%lld", (long long)node->major, (long long)node->minor);
	if (node->permissions && node->permissions[0])
		text = APPEND(text, ", access %s", node->permissions);
	if (node->has_file_mode)
		text = APPEND(text, ", mode %04o", node->file_mode);
	if (node->has_uid)
		text = APPEND(text, ", uid %u", node->uid);
	if (node->has_gid)
		text = APPEND(text, ", gid %u", node->gid);
	return text;
}

static const char *words_of_host(const struct show *show, const struct cdi_device_node *spec,
				 const struct node_on_host *node)
{
	const char *path = host_path_of(spec);
	const struct host_device *device = &node->device;
	const char *text;

	if (node->state == NODE_MISSING || node->state == NODE_MADE) {
		text = device->missing == ENOENT ? "not there" : strerrordesc_np(device->missing);
		return node->state == NODE_MADE
			       ? APPEND(text, "; made from the numbers of the spec")
			       : text;
	}
	if (node->state == NODE_NO_DEVICE)
		return S_ISDIR(device->node.mode) ? "a directory, not a device" : "not a device";
	text = arena_printf(show->arena, "%c %u:%u", show_type_letter(device->node.mode),
			    device->node.major, device->node.minor);
	if (S_ISFIFO(device->node.mode))
		text = "p";
	if (node->state == NODE_AGREES)
		text = APPEND(text, " as in the spec");
	if (node->state == NODE_DIFFERS)
		text = APPEND(text, ", not what the spec says");
	if (device->driver)
		text = APPEND(text, ", driver %s", device->driver);
	if (device->subsystem)
		text = APPEND(text, ", subsystem %s", device->subsystem);
	if (device->name && strcmp(device->name, path) != 0)
		text = APPEND(text, ", %s", device->name);
	return words_of_list(show, device->links.n ? APPEND(text, ", also ") : text, &device->links,
			     0, ", ");
}

static const char *words_of_mount(const struct show *show, const struct cdi_mount *mount)
{
	const char *text =
		arena_printf(show->arena, "%s on %s", mount->host_path, mount->container_path);

	if (mount->type && mount->type[0])
		text = APPEND(text, ", type %s", mount->type);
	return words_of_list(show, mount->options.n ? APPEND(text, ", ") : text, &mount->options, 0,
			     ",");
}

static const char *words_of_hook(const struct show *show, const struct cdi_hook *hook)
{
	const char *text = arena_printf(show->arena, "%s: %s", hook->hook_name, hook->path);

	/* The first argument is the program's own name. */
	for (size_t i = 1; i < hook->args.n; i++)
		text = APPEND(text, " %s", hook->args.items[i]);
	if (hook->env.n)
		text = words_of_list(show, APPEND(text, ", env "), &hook->env, 0, " ");
	return hook->has_timeout ? APPEND(text, ", timeout %lld s", (long long)hook->timeout)
				 : text;
}

static const char *words_of_rdt(const struct show *show, const struct cdi_intel_rdt *rdt)
{
	const char *text = "";

	if (rdt->clos_id)
		text = APPEND(text, "closID %s ", rdt->clos_id);
	if (rdt->l3_cache_schema)
		text = APPEND(text, "l3CacheSchema %s ", rdt->l3_cache_schema);
	if (rdt->mem_bw_schema)
		text = APPEND(text, "memBwSchema %s ", rdt->mem_bw_schema);
	if (rdt->schemata.n)
		text = words_of_list(show, APPEND(text, "schemata "), &rdt->schemata, 0, ", ");
	if (rdt->enable_monitoring)
		text = APPEND(text, " enableMonitoring");
	return text;
}

/* ---- Rows ---- */

static int add(const struct show *show, struct table *table, const char *edit, const char *what,
	       const char *host, enum colour colour, const struct cdi_place *place,
	       struct error *err)
{
	const char *line =
		place ? arena_printf(show->arena, "%u:%u", place->line, place->column) : "-";
	struct table_cell cells[] = {{edit}, {what}, {host, colour}, {line}};

	return what && host && line ? table_add(table, cells, err) : error_memory(err);
}

/* "there", or why not. */
static int add_path(const struct show *show, struct table *table, const char *edit,
		    const char *what, const char *path, const struct cdi_place *place,
		    struct error *err)
{
	int missing = show_path_missing(show, path);

	return add(show, table, edit, what,
		   missing == 0        ? "there"
		   : missing == ENOENT ? "not there"
				       : strerrordesc_np(missing),
		   missing ? COLOUR_RED : COLOUR_NONE, place, err);
}

static int add_node(const struct show *show, struct table *table,
		    const struct cdi_device_node *node, struct error *err)
{
	static const enum colour colours[] = {
		[NODE_DIFFERS] = COLOUR_RED, [NODE_MISSING] = COLOUR_RED,
		[NODE_MADE] = COLOUR_YELLOW, [NODE_NO_DEVICE] = COLOUR_RED,
		[NODE_FOUND] = COLOUR_NONE,  [NODE_AGREES] = COLOUR_NONE,
	};
	struct node_on_host host;
	int r = show_node_on_host(show, node, &host, err);

	return r < 0 ? r
		     : add(show, table, "node", words_of_node(show, node),
			   words_of_host(show, node, &host), colours[host.state], &node->place,
			   err);
}

static int add_mount(const struct show *show, struct table *table, const struct cdi_mount *mount,
		     struct error *err)
{
	const char *what = words_of_mount(show, mount);

	if (mount->type && strcmp(mount->type, "tmpfs") == 0)
		return add(show, table, "mount", what, "-", COLOUR_NONE, &mount->place, err);
	return add_path(show, table, "mount", what, mount->host_path, &mount->place, err);
}

static int add_net_device(const struct show *show, struct table *table,
			  const struct cdi_net_device *net, struct error *err)
{
	bool there = if_nametoindex(net->host_interface_name) != 0;
	const char *what =
		arena_printf(show->arena, "%s as %s", net->host_interface_name, net->name);

	return add(show, table, "net", what, there ? "there" : "not there",
		   there ? COLOUR_NONE : COLOUR_RED, &net->place, err);
}

int show_edits_table(const struct show *show, const struct cdi_edits *edits, struct table *table,
		     struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < edits->device_nodes.n; i++)
		r = add_node(show, table, &edits->device_nodes.items[i], err);
	for (size_t i = 0; r == 0 && i < edits->mounts.n; i++)
		r = add_mount(show, table, &edits->mounts.items[i], err);
	for (size_t i = 0; r == 0 && i < edits->hooks.n; i++)
		r = add_path(show, table, "hook", words_of_hook(show, &edits->hooks.items[i]),
			     edits->hooks.items[i].path, &edits->hooks.items[i].place, err);
	for (size_t i = 0; r == 0 && i < edits->env.n; i++)
		r = add(show, table, "env", edits->env.items[i], "-", COLOUR_NONE, NULL, err);
	for (size_t i = 0; r == 0 && i < edits->additional_gids.n; i++)
		r = add(show, table, "gid",
			arena_printf(show->arena, "%u", edits->additional_gids.items[i]), "-",
			COLOUR_NONE, NULL, err);
	for (size_t i = 0; r == 0 && i < edits->net_devices.n; i++)
		r = add_net_device(show, table, &edits->net_devices.items[i], err);
	if (r == 0 && edits->intel_rdt)
		r = add(show, table, "rdt", words_of_rdt(show, edits->intel_rdt), "-", COLOUR_NONE,
			NULL, err);
	return r;
}
