/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the devices that were found to the list of what will be done. The order of edits and the way
 * they replace each other are the reference's (pkg/cdi, InjectDevices and Apply), so that a
 * container gets the same from this hook as from an engine that knows CDI. Everything that can be
 * refused without touching the container is refused here.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bounds.h"
#include "path.h"
#include "plan-builtin.h"
#include "plan-hook.h"
#include "plan-library.h"
#include "plan-process.h"

/* What dev_t can hold since Linux 2.6: 12 bits of major and 20 bits of minor number. */
#define MAJOR_MAX 0xfff
#define MINOR_MAX 0xfffff

struct builder {
	struct arena *arena;
	const struct oci_config *config;
	const struct host_view *host;
	const struct plan_options *options;
	struct notes *notes;
	struct plan plan;
	struct plan_process process;
	struct plan_hooks hooks;
	struct error missing; /* host resources that are not there, all of them */
};

int plan_prefix_origin(const struct origin *origin, struct error *err)
{
	return error_prefix(err, "%s %s (%s:%u:%u)", origin->device ? "device" : "kind",
			    SHOW(origin->device ? origin->device : origin->kind),
			    SHOW(origin->file), origin->place.line, origin->place.column);
}

/* Says it as a note instead of failing; clears the error. */
static void note_error(struct builder *b, enum note_level level, const struct origin *origin,
		       struct error *err)
{
	char text[ERROR_TEXT_MAX];

	plan_prefix_origin(origin, err);
	note_add(b->notes, level, "%s", error_text(err, text));
	*err = (struct error){0};
}

/* A host resource that is missing does not stop the planning: the user wants to hear of all of them
 * at once. */
static int missing(struct builder *b, const struct origin *origin, struct error *err)
{
	plan_prefix_origin(origin, err);
	error_class(err, EXIT_CODE_HOST);
	error_join(&b->missing, err);
	*err = (struct error){0};
	return 0;
}

/* The cleaned form of a path in the container, which must name something below its root and outside
 * its sysfs. */
static int container_path(struct builder *b, const char *path, const char *field,
			  const char **ret_path, struct error *err)
{
	const char *problem = NULL;
	const char *clean = path_clean(b->arena, path, &problem);

	if (!clean && !problem)
		return error_memory(err);
	if (!clean)
		return error_say(err, EXIT_CODE_SPEC, "%s %s %s", field, SHOW(path), problem);
	if (strcmp(clean, "/") == 0)
		return error_say(err, EXIT_CODE_SPEC, "%s / is the container's whole root", field);
	if (path_is_below(clean, "/sys"))
		return error_say(err, EXIT_CODE_SPEC,
				 "%s %s lies in the container's /sys, where nothing is ever put",
				 field, SHOW(clean));
	*ret_path = clean;
	return 0;
}

/*
 * The container's /proc: vendors show or hide entries below /proc/driver, and nothing else is
 * theirs. A process directory, a sysctl or a single control file there belongs to the kernel's and
 * the runtime's own safety.
 */
static bool proc_path_is_refused(const char *path)
{
	const char *entry;
	size_t len;

	if (!path_is_below(path, "/proc"))
		return false;
	if (path_depth(path) < 3)
		return true;
	entry = path + strlen("/proc/");
	len = strcspn(entry, "/");
	if (strspn(entry, "0123456789") >= len)
		return true;
	return (len == 4 && strncmp(entry, "self", len) == 0) ||
	       (len == 3 && strncmp(entry, "sys", len) == 0) ||
	       (len == 11 && strncmp(entry, "thread-self", len) == 0);
}

/*
 * Device nodes
 */

static mode_t node_type(const char *type)
{
	switch (type && type[0] ? type[0] : '\0') {
	case 'b':
		return S_IFBLK;
	case 'c':
	case 'u': /* unbuffered: Linux knows only one sort of character device */
		return S_IFCHR;
	case 'p':
		return S_IFIFO;
	default:
		return 0;
	}
}

static char type_letter(mode_t type)
{
	return S_ISBLK(type) ? 'b' : S_ISFIFO(type) ? 'p' : 'c';
}

static unsigned node_access(const struct cdi_device_node *spec, mode_t type)
{
	const char *permissions = spec->permissions;
	unsigned access = 0;

	if (S_ISFIFO(type) || (permissions && strcmp(permissions, "none") == 0))
		return 0;
	if (!permissions || !permissions[0])
		return DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD;
	if (strchr(permissions, 'r'))
		access |= DEVICE_READ;
	if (strchr(permissions, 'w'))
		access |= DEVICE_WRITE;
	if (strchr(permissions, 'm'))
		access |= DEVICE_MKNOD;
	return access;
}

static bool is_node(const struct host_node *node)
{
	return S_ISCHR(node->mode) || S_ISBLK(node->mode) || S_ISFIFO(node->mode);
}

/* A spec that says less than everything: the host's node says the rest, so it must be there. */
static int complete_from_host(const char *host_path, int found, const struct host_node *host,
			      struct plan_node *node, struct error *err)
{
	if (found == -ENOENT && strpbrk(host_path, "*?["))
		return error_say(err, EXIT_CODE_HOST,
				 "device node %s of the host: no such file; CDI takes it for a "
				 "name, not for a pattern: name every node",
				 SHOW(host_path));
	if (found < 0)
		return error_set(err, -found, "device node %s of the host", SHOW(host_path));
	if (!is_node(host))
		return error_say(err, EXIT_CODE_HOST, "%s of the host is not a device node",
				 SHOW(host_path));
	/* A udev rule of its own that knew the number too early; no driver answers there. */
	if (!S_ISFIFO(host->mode) && host->major == 0)
		return error_say(err, EXIT_CODE_HOST,
				 "%s of the host has the number %u:%u, which no driver has: the "
				 "node was made wrongly",
				 SHOW(host_path), host->major, host->minor);
	if (!node->type)
		node->type = host->mode & S_IFMT;
	if (node->major == 0 && !S_ISFIFO(node->type)) {
		node->major = host->major;
		node->minor = host->minor;
	}
	return 0;
}

/*
 * A stale spec would open another device than the one it was written for: numbers change with every
 * reload of a driver that takes them dynamically.
 */
static int compare_with_host(struct builder *b, const char *host_path, const struct host_node *host,
			     const struct plan_node *node, struct error *err)
{
	mode_t type = host->mode & S_IFMT;

	if (type == node->type &&
	    (S_ISFIFO(type) || (host->major == node->major && host->minor == node->minor)))
		return 0;
	error_say(err, EXIT_CODE_HOST, "the spec says %c %u:%u, but %s of the host is %c %u:%u",
		  type_letter(node->type), node->major, node->minor, SHOW(host_path),
		  type_letter(type), host->major, host->minor);
	if (!b->options->lenient)
		return -EINVAL;
	note_error(b, NOTE_WARNING, &node->origin, err);
	return 0;
}

/* Type and numbers of a node, by the reference's rules: "complete" is a type with a major number,
 * or a FIFO. */
static int resolve_node(struct builder *b, const struct cdi_device_node *spec,
			struct plan_node *node, struct error *err)
{
	const char *host_path =
		spec->host_path && spec->host_path[0] ? spec->host_path : spec->path;
	struct host_node host = {0};
	int found = b->host->look_up(b->host->data, host_path, &host);
	int r;

	if (!(node->type && (node->major != 0 || S_ISFIFO(node->type)))) {
		r = complete_from_host(host_path, found, &host, node, err);
		if (r < 0)
			return r;
	}
	if (found == 0 && is_node(&host)) {
		r = compare_with_host(b, host_path, &host, node, err);
		if (r < 0)
			return r;
		node->source = host_path;
		node->source_node = host;
	}
	node->has_mode = spec->has_file_mode || (found == 0 && is_node(&host));
	/* Without a mode anywhere: what runc and crun give a device of config.json that has none.
	 */
	if (spec->has_file_mode)
		node->mode = spec->file_mode & 07777;
	else
		node->mode = node->has_mode ? host.mode & 07777 : 0666;
	return 0;
}

static int add_node(struct builder *b, const struct cdi_device_node *spec,
		    const struct origin *origin, struct error *err)
{
	struct plan_node node = {
		.type = node_type(spec->type),
		.uid = spec->has_uid ? spec->uid : b->config->uid,
		.gid = spec->has_gid ? spec->gid : b->config->gid,
		.has_uid = spec->has_uid || b->config->uid > 0,
		.has_gid = spec->has_gid || b->config->gid > 0,
		.origin = *origin,
	};
	int r;

	r = container_path(b, spec->path, "deviceNodes path", &node.path, err);
	if (r == 0 && path_is_below(node.path, "/proc"))
		r = error_say(err, EXIT_CODE_SPEC,
			      "deviceNodes path %s lies in the container's /proc", SHOW(node.path));
	if (r == 0 && (spec->major < 0 || spec->major > MAJOR_MAX || spec->minor < 0 ||
		       spec->minor > MINOR_MAX))
		r = error_say(err, EXIT_CODE_SPEC, "device number %lld:%lld of %s is beyond %d:%d",
			      (long long)spec->major, (long long)spec->minor, SHOW(spec->path),
			      MAJOR_MAX, MINOR_MAX);
	if (r < 0)
		return plan_prefix_origin(origin, err);
	node.major = (uint32_t)spec->major;
	node.minor = (uint32_t)spec->minor;

	if (resolve_node(b, spec, &node, err) < 0)
		return missing(b, origin, err);
	node.access = node_access(spec, node.type);

	/* As in the reference: a later definition of the same path takes the place of the earlier
	 * one, at the end. */
	for (size_t i = 0; i < b->plan.nodes.n; i++) {
		struct plan_node *other = &b->plan.nodes.items[i];
		if (strcmp(other->path, node.path) != 0)
			continue;
		b->plan.nodes.n--;
		memmove(other, other + 1, (b->plan.nodes.n - i) * sizeof(*other));
		break;
	}
	struct plan_node *slot = array_add(b->arena, &b->plan.nodes);
	if (!slot)
		return error_memory(err);
	*slot = node;
	return 0;
}

/* One rule for each device number: what several nodes of the same device may do is added up. */
static int add_rules(struct builder *b, struct error *err)
{
	for (size_t i = 0; i < b->plan.nodes.n; i++) {
		const struct plan_node *node = &b->plan.nodes.items[i];
		struct device_rule *rule = NULL;
		char type = type_letter(node->type);

		if (!node->access)
			continue;
		for (size_t j = 0; j < b->plan.rules.n && !rule; j++) {
			struct device_rule *other = &b->plan.rules.items[j];
			if (other->type == type && other->major == node->major &&
			    other->minor == node->minor)
				rule = other;
		}
		if (!rule) {
			rule = array_add(b->arena, &b->plan.rules);
			if (!rule)
				return error_memory(err);
			*rule = (struct device_rule){
				.type = type,
				.major = node->major,
				.minor = node->minor,
				.origin = node->origin,
			};
		}
		rule->access |= node->access;
	}
	return 0;
}

/*
 * Mounts
 */

/* Fills in source and what the source is. Positive: the source is missing and has been noted as
 * such. */
static int resolve_mount(struct builder *b, const struct cdi_mount *spec, struct plan_mount *mount,
			 struct error *err)
{
	const char *problem = NULL;
	int r;

	if (mount->kind != PLAN_MOUNT_BIND) {
		mount->source = spec->host_path;
		return 0;
	}
	mount->source = path_clean(b->arena, spec->host_path, &problem);
	if (!mount->source && !problem)
		return error_memory(err);
	if (!mount->source)
		return error_say(err, EXIT_CODE_SPEC, "mounts hostPath %s %s",
				 SHOW(spec->host_path), problem);

	r = b->host->look_up(b->host->data, mount->source, &mount->source_node);
	if (r < 0)
		error_set(err, -r, "mount source %s", SHOW(mount->source));
	else
		r = host_node_check_loadable(b->host, mount->source, &mount->source_node, err);
	if (r < 0) {
		missing(b, &mount->origin, err);
		return 1;
	}
	return 0;
}

static bool has_word(const struct string_list *words, const char *word)
{
	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->items[i], word) == 0)
			return true;
	return false;
}

/* "bind" in the options makes a bind mount of any type; without it the type decides, and none is a
 * bind mount too. */
static enum plan_mount_kind mount_kind(const struct cdi_mount *spec)
{
	const char *type = spec->type && spec->type[0] ? spec->type : "bind";

	if (strcmp(type, "bind") == 0 || strcmp(type, "none") == 0)
		return PLAN_MOUNT_BIND;
	if (has_word(&spec->options, "bind") || has_word(&spec->options, "rbind"))
		return PLAN_MOUNT_BIND;
	return strcmp(type, "tmpfs") == 0 ? PLAN_MOUNT_TMPFS : PLAN_MOUNT_OTHER;
}

static int add_word(struct builder *b, struct string_list *words, const char *word,
		    struct error *err)
{
	const char **slot = array_add(b->arena, words);

	if (!slot)
		return error_memory(err);
	*slot = word;
	return 0;
}

/* Whether the last of bind and rbind is rbind. */
static bool is_recursive(const struct string_list *words)
{
	bool recursive = false;

	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->items[i], "bind") == 0 || strcmp(words->items[i], "rbind") == 0)
			recursive = words->items[i][0] == 'r';
	return recursive;
}

static bool has_id_map(const struct string_list *words)
{
	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->items[i] + (words->items[i][0] == 'r');
		if (strcmp(word, "idmap") == 0 || strncmp(word, "idmap=", 6) == 0)
			return true;
	}
	return false;
}

/*
 * Type and options for config.json: the spec's own words. A runtime makes a bind mount only when one
 * of them says so, while CDI takes a mount for one that says nothing else. As in the reference, a
 * container with a user namespace gets its files with its own owners.
 */
static int add_config_words(struct builder *b, const struct cdi_mount *spec,
			    struct plan_mount *mount, struct error *err)
{
	struct string_list *words = &mount->words;
	int r = 0;

	mount->type = spec->type ? spec->type : "";
	for (size_t i = 0; r == 0 && i < spec->options.n; i++)
		r = add_word(b, words, spec->options.items[i], err);
	if (r < 0 || mount->kind != PLAN_MOUNT_BIND)
		return r;
	if (strcmp(mount->type, "bind") != 0 && !has_word(words, "bind") &&
	    !has_word(words, "rbind"))
		r = add_word(b, words, "bind", err);
	if (r == 0 && b->config->id_mapped && !has_id_map(words))
		r = add_word(b, words, is_recursive(words) ? "ridmap" : "idmap", err);
	return r;
}

/*
 * A word that is wrong is refused at every stage: a runtime hands what it does not know to the file
 * system, and a bind mount ignores that, so "readonly" would be writable. What a file system of
 * another type takes is its own business.
 */
static int parse_options(struct builder *b, const struct cdi_mount *spec, struct plan_mount *mount,
			 struct error *err)
{
	bool in_config = stage_edits_config(b->options->stage), tmpfs;
	struct string_list words = {0};

	if (mount->kind == PLAN_MOUNT_OTHER && !in_config)
		return error_say(
			err, EXIT_CODE_OTHER,
			"mount of type \"%s\" on %s: a hook makes bind and tmpfs mounts only",
			SHOW(spec->type), SHOW(spec->container_path));
	if (mount->kind == PLAN_MOUNT_OTHER)
		return 0;
	for (size_t i = 0; i < spec->options.n; i++) {
		if (in_config && mount_option_is_runtimes(spec->options.items[i]))
			continue;
		if (add_word(b, &words, spec->options.items[i], err) < 0)
			return error_result(err);
	}
	tmpfs = spec->type && strcmp(spec->type, "tmpfs") == 0;
	if (mount_options_parse(b->arena, &words, tmpfs, &mount->options, err) == 0)
		return 0;
	return error_prefix(err, "mounts containerPath %s", SHOW(mount->destination));
}

static int parse_mount(struct builder *b, const struct cdi_mount *spec, struct plan_mount *mount,
		       struct error *err)
{
	int r = container_path(b, spec->container_path, "mounts containerPath", &mount->destination,
			       err);

	if (r < 0)
		return r;
	if (proc_path_is_refused(mount->destination))
		return error_say(err, EXIT_CODE_SPEC,
				 "mounts containerPath %s lies in the container's /proc, where a "
				 "spec may only cover "
				 "entries of drivers such as /proc/driver/NAME",
				 SHOW(mount->destination));
	mount->kind = mount_kind(spec);
	r = parse_options(b, spec, mount, err);
	if (r == 0 && stage_edits_config(b->options->stage))
		r = add_config_words(b, spec, mount, err);
	return r < 0 ? r : resolve_mount(b, spec, mount, err);
}

/* Positive: the entry is the very mount, with all that the spec asks for. */
static int is_same_mount(struct builder *b, const struct oci_mount *entry,
			 const struct plan_mount *mount, struct error *err)
{
	const char *problem = NULL, *destination, *source;
	struct mount_options options;
	struct error ignored = {0};

	if (!entry->destination || !entry->source || strcmp(entry->source, "") == 0)
		return 0;
	destination = path_clean(b->arena, entry->destination, &problem);
	if (!destination)
		return problem ? 0 : error_memory(err);
	if (strcmp(destination, mount->destination) != 0)
		return 0;
	source = path_clean(b->arena, entry->source, &problem);
	if (!source)
		return problem ? 0 : error_memory(err);
	if (strcmp(source, mount->source) != 0)
		return 0;
	if (mount_options_parse(b->arena, &entry->options, false, &options, &ignored) < 0)
		return ignored.exit_code == EXIT_CODE_OTHER ? error_memory(err) : 0;
	return (options.attr_set & mount->options.attr_set) == mount->options.attr_set &&
	       !(options.attr_set & mount->options.attr_clear);
}

/* An engine that knows CDI, or our stage precreate, may have put it in. */
static int find_in_config(struct builder *b, struct plan_mount *mount, struct error *err)
{
	int r = 0;

	if (mount->kind != PLAN_MOUNT_BIND || stage_edits_config(b->options->stage))
		return 0;
	for (size_t i = 0; r == 0 && i < b->config->mounts.n; i++)
		r = is_same_mount(b, &b->config->mounts.items[i], mount, err);
	mount->in_config = r > 0;
	return r < 0 ? r : 0;
}

static int add_mount(struct builder *b, const struct cdi_mount *spec, const struct origin *origin,
		     struct error *err)
{
	struct plan_mount mount = {.origin = *origin};
	int r = parse_mount(b, spec, &mount, err);

	if (r < 0)
		return plan_prefix_origin(origin, err);
	if (r > 0)
		return 0;
	r = find_in_config(b, &mount, err);
	if (r < 0)
		return r;

	/* As in the reference: a later mount on the same destination takes the place of the earlier
	 * one. */
	for (size_t i = 0; i < b->plan.mounts.n; i++) {
		struct plan_mount *other = &b->plan.mounts.items[i];
		if (strcmp(other->destination, mount.destination) != 0)
			continue;
		b->plan.mounts.n--;
		memmove(other, other + 1, (b->plan.mounts.n - i) * sizeof(*other));
		break;
	}
	/*
	 * Parents first, otherwise in the order of the specs: the new one goes behind all that lie
	 * as deep as it or less deep (the reference's stable sort by depth).
	 */
	if (!array_add(b->arena, &b->plan.mounts))
		return error_memory(err);
	size_t at = b->plan.mounts.n - 1;
	while (at > 0 &&
	       path_depth(b->plan.mounts.items[at - 1].destination) > path_depth(mount.destination))
		at--;
	memmove(&b->plan.mounts.items[at + 1], &b->plan.mounts.items[at],
		(b->plan.mounts.n - 1 - at) * sizeof(mount));
	b->plan.mounts.items[at] = mount;
	return 0;
}

/*
 * All of it
 */

static int check_count(size_t n, size_t limit, const char *what, const struct origin *origin,
		       struct error *err)
{
	if (n <= limit)
		return 0;
	error_say(err, EXIT_CODE_SPEC, "more than %zu %s for one container", limit, what);
	return plan_prefix_origin(origin, err);
}

/* The bound is looked at with every edit, since comparing them all with each other takes time. */
static int add_files(struct builder *b, const struct cdi_edits *edits, const struct origin *origin,
		     struct error *err)
{
	struct origin at = *origin;
	int r = 0;

	for (size_t i = 0; r == 0 && i < edits->device_nodes.n; i++) {
		at.place = edits->device_nodes.items[i].place;
		r = add_node(b, &edits->device_nodes.items[i], &at, err);
		if (r == 0)
			r = check_count(b->plan.nodes.n, LIMIT_EDITS, "deviceNodes", &at, err);
	}
	for (size_t i = 0; r == 0 && i < edits->mounts.n; i++) {
		at.place = edits->mounts.items[i].place;
		r = add_mount(b, &edits->mounts.items[i], &at, err);
		if (r == 0)
			r = check_count(b->plan.mounts.n, LIMIT_EDITS, "mounts", &at, err);
	}
	return r;
}

static int add_edits(struct builder *b, const struct cdi_edits *edits, const struct origin *origin,
		     struct error *err)
{
	const bool hooks_only = b->hooks.hooks_only;
	struct origin at = *origin;
	int r = hooks_only ? 0 : add_files(b, edits, origin, err);

	for (size_t i = 0; r == 0 && i < edits->hooks.n; i++) {
		at.place = edits->hooks.items[i].place;
		r = plan_hook_add(&b->hooks, &edits->hooks.items[i], &at, &b->plan, err);
		if (r == 0)
			r = check_count(b->plan.hooks.n + b->plan.ldcache.n, LIMIT_EDITS, "hooks",
					&at, err);
	}
	return r == 0 && !hooks_only ? plan_process_add(&b->process, edits, origin, err) : r;
}

/* Whether the edits that all devices of a spec share were added with an earlier device of the same
 * file. */
static bool spec_seen(const struct cdi_found_list *found, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (found->items[i].spec == found->items[at].spec)
			return true;
	return false;
}

/* Whether anything may be created in the container's root, by us and not by the runtime. */
static bool creates_files(const struct builder *b)
{
	const struct plan *plan = &b->plan;

	if (stage_edits_config(b->options->stage))
		return false;
	for (size_t i = 0; i < plan->hooks.n; i++)
		if (plan->hooks.items[i].builtin.kind != VENDOR_HOOK_OTHER)
			return true;
	return plan->mounts.n + plan->nodes.n + plan->libraries.n + plan->ldcache.n > 0;
}

/* A label is comfort: without one the container may be refused what is made in it, and nothing worse. */
static void add_label(struct builder *b)
{
	b->plan.label = b->config->mount_label;
	if (b->config->mount_label_problem)
		note_add(b->notes, NOTE_WARNING,
			 "%s; where SELinux is on the container may be refused what is made in it",
			 b->config->mount_label_problem);
}

bool plan_is_hooks_only(const struct plan_options *options)
{
	const struct hook_schedule schedule = {options->stage, options->registered};

	return schedule.now > STAGE_CREATE_CONTAINER || hook_schedule_done_earlier(&schedule);
}

static int add_devices(struct builder *b, const struct cdi_found_list *found, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < found->n; i++) {
		const struct cdi_found *item = &found->items[i];
		struct origin origin = {
			.kind = item->spec->kind, .file = item->spec->file, .place = {1, 1}};

		if (!spec_seen(found, i))
			r = add_edits(b, &item->spec->edits, &origin, err);
		origin.device = item->name;
		origin.place = item->device->place;
		if (r == 0)
			r = add_edits(b, &item->device->edits, &origin, err);
	}
	if (r == 0 && error_is_set(&b->missing)) {
		*err = b->missing;
		return -ENOENT;
	}
	return r;
}

/* What follows from all edits together. */
static int finish(struct builder *b, struct error *err)
{
	const bool with_libraries = b->options->ldcache && !stage_edits_config(b->options->stage);
	int r = add_rules(b, err);

	if (r == 0)
		r = plan_process_finish(&b->process, &b->plan, err);
	if (r == 0 && with_libraries)
		r = plan_libraries(b->arena, &b->plan, b->host, b->notes, err);
	if (r == 0)
		r = plan_builtin_links(b->arena, &b->plan, with_libraries, b->host, err);
	if (r == 0 && creates_files(b))
		add_label(b);
	return r;
}

int plan_build(struct arena *arena, const struct cdi_found_list *found,
	       const struct oci_config *config, const struct host_view *host,
	       const struct plan_options *options, struct notes *notes, struct plan *ret_plan,
	       struct error *err)
{
	struct builder b = {
		.arena = arena,
		.config = config,
		.host = host,
		.options = options,
		.notes = notes,
		.process = {.arena = arena,
			    .config = config,
			    .stage = options->stage,
			    .notes = notes},
		.hooks = {.arena = arena,
			  .config = config,
			  .host = host,
			  .options = options,
			  .notes = notes,
			  .missing = &b.missing,
			  .hooks_only = plan_is_hooks_only(options)},
	};
	int r;

	b.hooks.taken = arena_alloc(arena, config->hooks.n + 1);
	if (!b.hooks.taken)
		return error_memory(err);
	r = add_devices(&b, found, err);
	if (r == 0)
		r = finish(&b, err);
	if (r < 0)
		return r;
	*ret_plan = b.plan;
	return 0;
}
