/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that will be done stands here before it is done, so a line must be exact: nothing is
 * shortened, and a hostile path cannot look like two words or two lines.
 */
#include "plan-text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "text.h"

/* A blank and one word of the line. */
static void put_word(struct text *text, const char *word)
{
	text_put_byte(text, ' ');
	if (!*word)
		text_put(text, "\"\"");
	for (; *word; word++) {
		unsigned char c = (unsigned char)*word;
		char hex[5];

		if (c > 0x20 && c < 0x7f && c != '\\' && c != '#') {
			text_put_byte(text, *word);
			continue;
		}
		snprintf(hex, sizeof(hex), "\\x%02x", c);
		text_put(text, hex);
	}
}

static void put_origin(struct text *text, const struct origin *origin)
{
	char place[32];

	text_put(text, "  #");
	put_word(text, origin->device ? origin->device : origin->kind);
	put_word(text, origin->file);
	snprintf(place, sizeof(place), ":%u:%u\n", origin->place.line, origin->place.column);
	text_put(text, place);
}

const char *device_access_text(unsigned access, char buffer[static 4])
{
	size_t n = 0;

	if (access & DEVICE_READ)
		buffer[n++] = 'r';
	if (access & DEVICE_WRITE)
		buffer[n++] = 'w';
	if (access & DEVICE_MKNOD)
		buffer[n++] = 'm';
	buffer[n] = '\0';
	return buffer;
}

static void put_rule(struct text *text, const struct device_rule *rule)
{
	char line[64], access[4];

	snprintf(line, sizeof(line), "allow %c %u:%u %s", rule->type, rule->major, rule->minor,
		 device_access_text(rule->access, access));
	text_put(text, line);
	put_origin(text, &rule->origin);
}

static void put_label(struct text *text, const char *label)
{
	text_put(text, "label");
	put_word(text, label);
	text_put(text, "  # linux.mountLabel, where SELinux is on\n");
}

const char *plan_mount_options(struct arena *arena, const struct plan_mount *mount)
{
	const char *text = "";

	if (!mount->type)
		return mount_options_text(arena, &mount->options);
	for (size_t i = 0; text && i < mount->words.n; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? "," : "", mount->words.items[i]);
	return text;
}

static void put_mount(struct text *text, const struct plan_mount *mount)
{
	const char *options = plan_mount_options(text->arena, mount);
	const char *source = mount->kind == PLAN_MOUNT_TMPFS ? "tmpfs" : mount->source;

	if (mount->kind == PLAN_MOUNT_OTHER)
		source = arena_printf(text->arena, "%s:%s", mount->type, mount->source);
	if (!options || !source) {
		text->failed = true;
		return;
	}
	text_put(text, "mount");
	put_word(text, source);
	put_word(text, mount->destination);
	put_word(text, options);
	put_origin(text, &mount->origin);
}

static void put_node(struct text *text, const struct plan_node *node)
{
	char rest[96];

	text_put(text, "node");
	put_word(text, node->path);
	if (S_ISFIFO(node->type))
		snprintf(rest, sizeof(rest), " p %04o %u:%u", node->mode, node->uid, node->gid);
	else
		snprintf(rest, sizeof(rest), " %c %u:%u %04o %u:%u",
			 S_ISBLK(node->type) ? 'b' : 'c', node->major, node->minor, node->mode,
			 node->uid, node->gid);
	text_put(text, rest);
	put_origin(text, &node->origin);
}

static void put_library(struct text *text, const struct plan_library *library)
{
	text_put(text, "library");
	put_word(text, library->elf.soname);
	put_word(text, library->path);
	put_origin(text, &library->origin);
}

static void put_ldcache(struct text *text, const struct plan_ldcache *ldcache)
{
	text_put(text, "ldcache");
	for (size_t i = 0; i < ldcache->folders.n; i++)
		put_word(text, ldcache->folders.items[i]);
	put_origin(text, &ldcache->origin);
}

static void put_builtin(struct text *text, const struct plan_hook *hook)
{
	const struct vendor_hook *builtin = &hook->builtin;

	switch (builtin->kind) {
	case VENDOR_HOOK_CHMOD:
		text_printf(text, "chmod %04o", builtin->mode);
		for (size_t i = 0; i < builtin->paths.n; i++)
			put_word(text, builtin->paths.items[i]);
		break;
	case VENDOR_HOOK_CUDA_COMPAT:
		text_put(text, "cuda-compat");
		put_word(text, builtin->compat_root);
		text_put(text, " driver");
		put_word(text, builtin->host_driver_version ? builtin->host_driver_version : "-");
		text_put(text, " cuda");
		put_word(text, builtin->host_cuda_version ? builtin->host_cuda_version : "-");
		break;
	case VENDOR_HOOK_DRIVER_PARAMS:
		text_put(text, "driver-params " VENDOR_HOOK_PARAMS_PATH);
		break;
	case VENDOR_HOOK_APPLICATION_PROFILE:
		text_put(text, "application-profile " VENDOR_HOOK_PROFILE_PATH);
		break;
	default:
		return;
	}
	put_origin(text, &hook->origin);
}

static void put_links(struct text *text, const struct plan_hook *hook)
{
	for (size_t i = 0; i < hook->builtin.links.n; i++) {
		text_put(text, "link");
		put_word(text, hook->builtin.links.items[i].target);
		put_word(text, hook->builtin.links.items[i].path);
		put_origin(text, &hook->origin);
	}
}

const char *refresh_way_name(enum refresh_way way)
{
	switch (way) {
	case REFRESH_MERGE:
		return "merge";
	case REFRESH_LDCONFIG:
		return "ldconfig";
	case REFRESH_NEW:
		return "new";
	case REFRESH_MUSL_PATH:
		return "musl-path";
	default:
		return "nothing";
	}
}

/* The reason takes the origin's place: it is no device that decides. */
static void put_refresh(struct text *text, const struct plan_refresh *refresh)
{
	text_put(text, "refresh");
	put_word(text, refresh_way_name(refresh->way));
	put_word(text, refresh->path);
	text_put(text, "  # ");
	text_put(text, refresh->why);
	text_put(text, "\n");
}

static void put_hook(struct text *text, const struct plan_hook *hook)
{
	put_links(text, hook);
	if (hook->builtin.kind != VENDOR_HOOK_OTHER) {
		put_builtin(text, hook);
		return;
	}
	text_put(text, "hook");
	put_word(text, hook->hook->hook_name);
	put_word(text, hook->hook->path);
	for (size_t i = 0; i < hook->hook->args.n; i++)
		put_word(text, hook->hook->args.items[i]);
	put_origin(text, &hook->origin);
}

static void put_net_device(struct text *text, const struct plan_net_device *net)
{
	text_put(text, "netDevice");
	put_word(text, net->device->host_interface_name);
	put_word(text, net->device->name);
	put_origin(text, &net->origin);
}

static void put_intel_rdt(struct text *text, const struct plan_intel_rdt *wanted)
{
	text_put(text, "intelRdt");
	put_word(text, wanted->rdt->clos_id);
	put_origin(text, &wanted->origin);
}

/* "env NAME=value with blanks": the first word is ours, the rest is one word. */
static void put_unsupported(struct text *text, const struct plan_unsupported *unsupported)
{
	const char *edit = unsupported->edit;
	const char *blank = strchr(edit, ' ');

	text_put(text, "unsupported ");
	for (; edit < blank; edit++)
		text_put_byte(text, *edit);
	if (blank)
		put_word(text, blank + 1);
	put_origin(text, &unsupported->origin);
}

/* What only an edited config.json can give. */
static void put_process(struct text *text, const struct plan *plan)
{
	for (size_t i = 0; i < plan->env.n; i++) {
		text_put(text, "env");
		put_word(text, plan->env.items[i].entry);
		put_origin(text, &plan->env.items[i].origin);
	}
	for (size_t i = 0; i < plan->gids.n; i++) {
		text_printf(text, "additionalGid %u", plan->gids.items[i].gid);
		put_origin(text, &plan->gids.items[i].origin);
	}
}

const char *plan_text(struct arena *arena, const struct plan *plan, struct error *err)
{
	struct text text = {.arena = arena};

	for (size_t i = 0; i < plan->rules.n; i++)
		put_rule(&text, &plan->rules.items[i]);
	if (plan->label)
		put_label(&text, plan->label);
	for (size_t i = 0; i < plan->mounts.n; i++)
		put_mount(&text, &plan->mounts.items[i]);
	for (size_t i = 0; i < plan->nodes.n; i++)
		put_node(&text, &plan->nodes.items[i]);
	for (size_t i = 0; i < plan->libraries.n; i++)
		put_library(&text, &plan->libraries.items[i]);
	for (size_t i = 0; i < plan->ldcache.n; i++)
		put_ldcache(&text, &plan->ldcache.items[i]);
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
	return text_end(&text, err);
}
