/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written by hand and not through json-c: the order of keys is a promise, one element stands on one
 * line so that golden files can be compared by eye, and no byte of a path may be refused.
 */
#include "plan-json.h"

#include <string.h>
#include <sys/stat.h>

#include "plan-text.h"
#include "text.h"

static void put_key(struct text *text, const char *key)
{
	text_printf(text, ",\"%s\":", key);
}

/* NULL is null. */
static void put_member(struct text *text, const char *key, const char *value)
{
	put_key(text, key);
	if (value)
		text_put_json(text, value);
	else
		text_put(text, "null");
}

static void put_number(struct text *text, const char *key, long long value)
{
	put_key(text, key);
	text_printf(text, "%lld", value);
}

static void put_list(struct text *text, const char *key, const struct string_list *list)
{
	put_key(text, key);
	for (size_t i = 0; i < list->n; i++) {
		text_put_byte(text, i ? ',' : '[');
		text_put_json(text, list->items[i]);
	}
	text_put(text, list->n ? "]" : "[]");
}

static void begin(struct text *text, const char *operation)
{
	text_put(text, text->len > 1 ? ",\n" : "\n");
	text_printf(text, "{\"operation\":\"%s\"", operation);
}

static void end(struct text *text, const struct origin *origin)
{
	text_put(text, ",\"origin\":{\"device\":");
	if (origin->device)
		text_put_json(text, origin->device);
	else
		text_put(text, "null");
	put_member(text, "kind", origin->kind);
	put_member(text, "file", origin->file);
	put_number(text, "line", origin->place.line);
	put_number(text, "column", origin->place.column);
	text_put(text, "}}");
}

static void put_rule(struct text *text, const struct device_rule *rule)
{
	char access[4];

	begin(text, "allow");
	put_member(text, "type", rule->type == 'b' ? "b" : "c");
	put_number(text, "major", rule->major);
	put_number(text, "minor", rule->minor);
	put_member(text, "access", device_access_text(rule->access, access));
	end(text, &rule->origin);
}

static void put_mount(struct text *text, const struct plan_mount *mount)
{
	const char *options = plan_mount_options(text->arena, mount);
	bool tmpfs = mount->kind == PLAN_MOUNT_TMPFS;

	text->failed = text->failed || !options;
	begin(text, "mount");
	put_member(text, "type",
		   mount->kind == PLAN_MOUNT_OTHER ? mount->type
		   : tmpfs                         ? "tmpfs"
						   : "bind");
	put_member(text, "source", tmpfs ? NULL : mount->source);
	put_member(text, "destination", mount->destination);
	put_member(text, "options", options);
	end(text, &mount->origin);
}

static void put_node(struct text *text, const struct plan_node *node)
{
	begin(text, "node");
	put_member(text, "path", node->path);
	put_member(text, "type", S_ISFIFO(node->type) ? "p" : S_ISBLK(node->type) ? "b" : "c");
	if (S_ISFIFO(node->type)) {
		text_put(text, ",\"major\":null,\"minor\":null");
	} else {
		put_number(text, "major", node->major);
		put_number(text, "minor", node->minor);
	}
	text_printf(text, ",\"mode\":\"%04o\"", node->mode);
	put_number(text, "uid", node->uid);
	put_number(text, "gid", node->gid);
	end(text, &node->origin);
}

static void put_library(struct text *text, const struct plan_library *library)
{
	begin(text, "library");
	put_member(text, "soname", library->elf.soname);
	put_member(text, "path", library->path);
	end(text, &library->origin);
}

static void put_links(struct text *text, const struct plan_hook *hook)
{
	for (size_t i = 0; i < hook->builtin.links.n; i++) {
		begin(text, "link");
		put_member(text, "target", hook->builtin.links.items[i].target);
		put_member(text, "path", hook->builtin.links.items[i].path);
		end(text, &hook->origin);
	}
}

static void put_chmod(struct text *text, const struct plan_hook *hook)
{
	for (size_t i = 0; i < hook->builtin.paths.n; i++) {
		begin(text, "chmod");
		put_member(text, "path", hook->builtin.paths.items[i]);
		text_printf(text, ",\"mode\":\"%04o\"", hook->builtin.mode);
		end(text, &hook->origin);
	}
}

static void put_builtin(struct text *text, const struct plan_hook *hook)
{
	switch (hook->builtin.kind) {
	case VENDOR_HOOK_CREATE_SYMLINKS:
		put_links(text, hook);
		return;
	case VENDOR_HOOK_CHMOD:
		put_chmod(text, hook);
		return;
	case VENDOR_HOOK_CUDA_COMPAT:
		begin(text, "cuda-compat");
		put_member(text, "path", hook->builtin.compat_root);
		put_member(text, "driver", hook->builtin.host_driver_version);
		put_member(text, "cuda", hook->builtin.host_cuda_version);
		break;
	case VENDOR_HOOK_DRIVER_PARAMS:
		begin(text, "driver-params");
		put_member(text, "path", VENDOR_HOOK_PARAMS_PATH);
		break;
	case VENDOR_HOOK_APPLICATION_PROFILE:
		begin(text, "application-profile");
		put_member(text, "path", VENDOR_HOOK_PROFILE_PATH);
		break;
	default:
		return;
	}
	end(text, &hook->origin);
}

static void put_refresh(struct text *text, const struct plan_refresh *refresh)
{
	begin(text, "refresh");
	put_member(text, "way", refresh_way_name(refresh->way));
	put_member(text, "path", refresh->path);
	put_member(text, "why", refresh->why);
	text_put_byte(text, '}');
}

static void put_hook(struct text *text, const struct plan_hook *hook)
{
	if (hook->builtin.kind != VENDOR_HOOK_OTHER) {
		put_builtin(text, hook);
		return;
	}
	begin(text, "hook");
	put_member(text, "stage", hook->hook->hook_name);
	put_member(text, "path", hook->hook->path);
	put_list(text, "args", &hook->hook->args);
	put_list(text, "env", &hook->hook->env);
	if (hook->hook->has_timeout)
		put_number(text, "timeout", hook->hook->timeout);
	else
		text_put(text, ",\"timeout\":null");
	end(text, &hook->origin);
}

static void put_net_device(struct text *text, const struct plan_net_device *net)
{
	begin(text, "netDevice");
	put_member(text, "hostInterfaceName", net->device->host_interface_name);
	put_member(text, "name", net->device->name);
	end(text, &net->origin);
}

static void put_intel_rdt(struct text *text, const struct plan_intel_rdt *wanted)
{
	begin(text, "intelRdt");
	put_member(text, "closID", wanted->rdt->clos_id);
	end(text, &wanted->origin);
}

/* "env NAME=value with blanks": the first word is ours, the rest is the value. */
static void put_unsupported(struct text *text, const struct plan_unsupported *unsupported)
{
	const char *edit = unsupported->edit;
	const char *blank = strchr(edit, ' ');

	begin(text, "unsupported");
	text_printf(text, ",\"edit\":\"%.*s\"", (int)strcspn(edit, " "), edit);
	put_member(text, "value", blank ? blank + 1 : NULL);
	end(text, &unsupported->origin);
}

/* What only an edited config.json can give. */
static void put_process(struct text *text, const struct plan *plan)
{
	for (size_t i = 0; i < plan->env.n; i++) {
		begin(text, "env");
		put_member(text, "entry", plan->env.items[i].entry);
		end(text, &plan->env.items[i].origin);
	}
	for (size_t i = 0; i < plan->gids.n; i++) {
		begin(text, "additionalGid");
		put_number(text, "gid", plan->gids.items[i].gid);
		end(text, &plan->gids.items[i].origin);
	}
}

const char *plan_json(struct arena *arena, const struct plan *plan, struct error *err)
{
	struct text text = {.arena = arena};

	text_put_byte(&text, '[');
	for (size_t i = 0; i < plan->rules.n; i++)
		put_rule(&text, &plan->rules.items[i]);
	if (plan->label) {
		begin(&text, "label");
		put_member(&text, "label", plan->label);
		text_put_byte(&text, '}');
	}
	for (size_t i = 0; i < plan->mounts.n; i++)
		put_mount(&text, &plan->mounts.items[i]);
	for (size_t i = 0; i < plan->nodes.n; i++)
		put_node(&text, &plan->nodes.items[i]);
	for (size_t i = 0; i < plan->libraries.n; i++)
		put_library(&text, &plan->libraries.items[i]);
	for (size_t i = 0; i < plan->ldcache.n; i++) {
		begin(&text, "ldcache");
		put_list(&text, "folders", &plan->ldcache.items[i].folders);
		end(&text, &plan->ldcache.items[i].origin);
	}
	for (size_t i = 0; i < plan->refresh.n; i++)
		put_refresh(&text, &plan->refresh.items[i]);
	for (size_t i = 0; i < plan->hooks.n; i++)
		put_hook(&text, &plan->hooks.items[i]);
	put_process(&text, plan);
	for (size_t i = 0; i < plan->net_devices.n; i++)
		put_net_device(&text, &plan->net_devices.items[i]);
	if (plan->intel_rdt.rdt)
		put_intel_rdt(&text, &plan->intel_rdt);
	for (size_t i = 0; i < plan->unsupported.n; i++)
		put_unsupported(&text, &plan->unsupported.items[i]);
	text_put(&text, text.len > 1 ? "\n]\n" : "]\n");
	return text_end(&text, err);
}
