/* SPDX-License-Identifier: Apache-2.0 */
/* The edits of a spec as JSON, in the specification's words; cdictl(1) promises the keys. */
#include <net/if.h>
#include <string.h>
#include <sys/stat.h>

#include "show-edit.h"

static void begin(struct json_out *out, const char *edit, bool shared,
		  const struct cdi_place *place)
{
	json_out_begin(out, NULL, '{');
	json_out_string(out, "edit", edit);
	json_out_bool(out, "shared", shared);
	if (place) {
		json_out_number(out, "line", place->line);
		json_out_number(out, "column", place->column);
	}
}

/* An absent number is null. */
static void put_number(struct json_out *out, const char *key, bool has, long long value)
{
	if (has)
		json_out_number(out, key, value);
	else
		json_out_string(out, key, NULL);
}

/* A path that the host has or lacks. */
static void put_path_on_host(const struct show *show, struct json_out *out, const char *path)
{
	json_out_begin(out, "host", '{');
	json_out_string(out, "state", show_path_missing(show, path) ? "missing" : "found");
	json_out_end(out, '}');
}

static void put_node_on_host(struct json_out *out, const struct node_on_host *node)
{
	static const char *const states[] = {
		[NODE_FOUND] = "found",     [NODE_AGREES] = "agrees", [NODE_DIFFERS] = "differs",
		[NODE_MISSING] = "missing", [NODE_MADE] = "made",     [NODE_NO_DEVICE] = "noDevice",
	};
	const struct host_device *device = &node->device;
	bool device_there = !device->missing && node->state != NODE_NO_DEVICE;
	bool numbered = device_there && !S_ISFIFO(device->node.mode);
	const char type[] = {show_type_letter(device->node.mode), '\0'};

	json_out_begin(out, "host", '{');
	json_out_string(out, "state", states[node->state]);
	json_out_string(out, "type", device_there ? type : NULL);
	put_number(out, "major", numbered, device->node.major);
	put_number(out, "minor", numbered, device->node.minor);
	json_out_string(out, "name", device->name);
	json_out_string(out, "driver", device->driver);
	json_out_string(out, "subsystem", device->subsystem);
	json_out_list(out, "links", &device->links);
	json_out_end(out, '}');
}

static int put_node(const struct show *show, const struct cdi_device_node *node, bool shared,
		    struct json_out *out, struct error *err)
{
	struct node_on_host host;
	int r = show_node_on_host(show, node, &host, err);

	if (r < 0)
		return r;
	begin(out, "deviceNode", shared, &node->place);
	json_out_string(out, "path", node->path);
	json_out_string(out, "hostPath", node->host_path);
	json_out_string(out, "type", node->type);
	put_number(out, "major", node->major != 0 || node->minor != 0, node->major);
	put_number(out, "minor", node->major != 0 || node->minor != 0, node->minor);
	put_number(out, "fileMode", node->has_file_mode, node->file_mode);
	json_out_string(out, "permissions", node->permissions);
	put_number(out, "uid", node->has_uid, node->uid);
	put_number(out, "gid", node->has_gid, node->gid);
	put_node_on_host(out, &host);
	json_out_end(out, '}');
	return 0;
}

static void put_mount(const struct show *show, const struct cdi_mount *mount, bool shared,
		      struct json_out *out)
{
	begin(out, "mount", shared, &mount->place);
	json_out_string(out, "hostPath", mount->host_path);
	json_out_string(out, "containerPath", mount->container_path);
	json_out_string(out, "type", mount->type);
	json_out_list(out, "options", &mount->options);
	if (mount->type && strcmp(mount->type, "tmpfs") == 0)
		json_out_string(out, "host", NULL);
	else
		put_path_on_host(show, out, mount->host_path);
	json_out_end(out, '}');
}

static void put_hook(const struct show *show, const struct cdi_hook *hook, bool shared,
		     struct json_out *out)
{
	begin(out, "hook", shared, &hook->place);
	json_out_string(out, "hookName", hook->hook_name);
	json_out_string(out, "path", hook->path);
	json_out_list(out, "args", &hook->args);
	json_out_list(out, "env", &hook->env);
	put_number(out, "timeout", hook->has_timeout, hook->timeout);
	put_path_on_host(show, out, hook->path);
	json_out_end(out, '}');
}

static void put_net_device(const struct cdi_net_device *net, bool shared, struct json_out *out)
{
	begin(out, "netDevice", shared, &net->place);
	json_out_string(out, "hostInterfaceName", net->host_interface_name);
	json_out_string(out, "name", net->name);
	json_out_begin(out, "host", '{');
	json_out_string(out, "state",
			if_nametoindex(net->host_interface_name) ? "found" : "missing");
	json_out_end(out, '}');
	json_out_end(out, '}');
}

static void put_rdt(const struct cdi_intel_rdt *rdt, bool shared, struct json_out *out)
{
	begin(out, "intelRdt", shared, NULL);
	json_out_string(out, "closID", rdt->clos_id);
	json_out_string(out, "l3CacheSchema", rdt->l3_cache_schema);
	json_out_string(out, "memBwSchema", rdt->mem_bw_schema);
	json_out_list(out, "schemata", &rdt->schemata);
	json_out_bool(out, "enableMonitoring", rdt->enable_monitoring);
	json_out_end(out, '}');
}

int show_edits_json(const struct show *show, const struct cdi_edits *edits, bool shared,
		    struct json_out *out, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < edits->device_nodes.n; i++)
		r = put_node(show, &edits->device_nodes.items[i], shared, out, err);
	for (size_t i = 0; i < edits->mounts.n; i++)
		put_mount(show, &edits->mounts.items[i], shared, out);
	for (size_t i = 0; i < edits->hooks.n; i++)
		put_hook(show, &edits->hooks.items[i], shared, out);
	for (size_t i = 0; i < edits->env.n; i++) {
		begin(out, "env", shared, NULL);
		json_out_string(out, "value", edits->env.items[i]);
		json_out_end(out, '}');
	}
	for (size_t i = 0; i < edits->additional_gids.n; i++) {
		begin(out, "additionalGid", shared, NULL);
		json_out_number(out, "gid", edits->additional_gids.items[i]);
		json_out_end(out, '}');
	}
	for (size_t i = 0; i < edits->net_devices.n; i++)
		put_net_device(&edits->net_devices.items[i], shared, out);
	if (edits->intel_rdt)
		put_rdt(edits->intel_rdt, shared, out);
	return r;
}
