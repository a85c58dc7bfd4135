/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference's way of editing a config (pkg/cdi, Apply), so that a container gets the same as from an engine that
 * knows CDI: a variable is replaced in its place, a device and a mount by a new one at the end, all mounts are sorted by
 * depth, hooks are appended. Better than there: what an engine has put in already is found by comparison, and every byte
 * outside the edits stays (json-edit.h).
 */
#include "config-edit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "json-edit.h"
#include "path.h"
#include "plan-text.h"
#include "text.h"

/* ---- JSON of what is new ---- */

/* An object, member by member. */
struct value {
	const struct json_edit *edit;
	struct text text;
};

static struct value value_begin(const struct json_edit *edit)
{
	struct value value = {.edit = edit, .text = {.arena = edit->arena}};

	text_put_byte(&value.text, '{');
	return value;
}

static void put_key(struct value *value, const char *key)
{
	if (value->text.len > 1)
		text_put(&value->text, value->edit->comma);
	text_put_json(&value->text, key);
	text_put(&value->text, value->edit->colon);
}

/* Left out where the value is NULL or "". */
static void put_text(struct value *value, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	put_key(value, key);
	text_put_json(&value->text, text);
}

static void put_number(struct value *value, const char *key, long long number)
{
	put_key(value, key);
	text_printf(&value->text, "%lld", number);
}

static void put_true(struct value *value, const char *key, bool is_true)
{
	if (!is_true)
		return;
	put_key(value, key);
	text_put(&value->text, "true");
}

/* Left out where it is empty. */
static void put_list(struct value *value, const char *key, const struct string_list *list)
{
	if (list->n == 0)
		return;
	put_key(value, key);
	for (size_t i = 0; i < list->n; i++) {
		text_put(&value->text, i == 0 ? "[" : value->edit->comma);
		text_put_json(&value->text, list->items[i]);
	}
	text_put_byte(&value->text, ']');
}

static const char *value_end(struct value *value, struct error *err)
{
	text_put_byte(&value->text, '}');
	return text_end(&value->text, err);
}

static const char *string_value(const struct json_edit *edit, const char *string, struct error *err)
{
	struct text text = {.arena = edit->arena};

	text_put_json(&text, string);
	return text_end(&text, err);
}

/* ---- What is there ---- */

/* A member that is a string, or NULL. */
static const char *member_text(const struct json_at *object, const char *key)
{
	const struct json_at at = json_member(object, key);

	return json_object_is_type(at.value, json_type_string) ? json_object_get_string(at.value)
							       : NULL;
}

/* A member that is a whole number, or `otherwise` where there is none. */
static int64_t member_number(const struct json_at *object, const char *key, int64_t otherwise)
{
	const struct json_at at = json_member(object, key);

	if (!at.value)
		return otherwise;
	/* What is no number is never the same as ours. */
	return json_object_is_type(at.value, json_type_int) ? json_object_get_int64(at.value)
							    : INT64_MIN;
}

/* Whether a member that has a value has this one. */
static bool has_number_or_none(const struct json_at *object, const char *key, int64_t number)
{
	return member_number(object, key, number) == number;
}

/* ---- The process ---- */

static const char *item_text(const struct json_edit_item *item)
{
	return json_object_is_type(item->at.value, json_type_string)
		       ? json_object_get_string(item->at.value)
		       : "";
}

static int edit_env(struct json_edit_array *env, const struct plan_env *wanted, struct error *err)
{
	size_t name_len = strcspn(wanted->entry, "=");
	const char *value = string_value(env->parent->edit, wanted->entry, err);

	if (!value)
		return error_result(err);
	/* Of several the last counts for a process. */
	for (size_t i = env->items.n; i > 0; i--) {
		const char *text = item_text(&env->items.items[i - 1]);

		if (strcspn(text, "=") != name_len || strncmp(text, wanted->entry, name_len) != 0)
			continue;
		if (strcmp(text, wanted->entry) != 0)
			json_edit_replace(env, i - 1, value);
		return 0;
	}
	return json_edit_append(env, value, err);
}

static int edit_all_env(struct json_edit_object *process, const struct plan *plan,
			struct error *err)
{
	struct json_edit_array env;
	int r = json_edit_enter_array(process, "env", &env, err);

	for (size_t i = 0; r == 0 && i < plan->env.n; i++)
		r = edit_env(&env, &plan->env.items[i], err);
	return r < 0 ? r : json_edit_leave_array(&env, err);
}

static bool has_gid(const struct json_edit_array *gids, uint32_t gid)
{
	for (size_t i = 0; i < gids->items.n; i++) {
		struct json_object *value = gids->items.items[i].at.value;
		if (json_object_is_type(value, json_type_int) &&
		    json_object_get_int64(value) == gid)
			return true;
	}
	return false;
}

static int edit_gids(struct json_edit_object *user, const struct plan *plan, struct error *err)
{
	struct json_edit_array gids;
	int r = 0;

	/* A user that is not there was root. */
	if (!user->at.value)
		r = json_edit_set(user, "uid", "0", err);
	if (r == 0 && !user->at.value)
		r = json_edit_set(user, "gid", "0", err);
	if (r == 0)
		r = json_edit_enter_array(user, "additionalGids", &gids, err);
	for (size_t i = 0; r == 0 && i < plan->gids.n; i++) {
		const char *value;

		if (has_gid(&gids, plan->gids.items[i].gid))
			continue;
		value = arena_printf(user->edit->arena, "%u", plan->gids.items[i].gid);
		r = value ? json_edit_append(&gids, value, err) : error_memory(err);
	}
	return r < 0 ? r : json_edit_leave_array(&gids, err);
}

static int edit_process(struct json_edit_object *root, const struct plan *plan, struct error *err)
{
	struct json_edit_object process, user;
	int r = json_edit_enter(root->edit, root, "process", &process, err);

	if (r == 0 && plan->env.n > 0)
		r = edit_all_env(&process, plan, err);
	if (r == 0 && plan->gids.n > 0) {
		r = json_edit_enter(root->edit, &process, "user", &user, err);
		if (r == 0)
			r = edit_gids(&user, plan, err);
		if (r == 0)
			r = json_edit_leave(&user, err);
	}
	return r < 0 ? r : json_edit_leave(&process, err);
}

/* ---- Devices ---- */

static const char *type_text(mode_t type)
{
	return S_ISBLK(type) ? "b" : S_ISFIFO(type) ? "p" : "c";
}

static const char *node_value(const struct json_edit *edit, const struct plan_node *node,
			      struct error *err)
{
	struct value value = value_begin(edit);

	put_text(&value, "path", node->path);
	put_text(&value, "type", type_text(node->type));
	if (!S_ISFIFO(node->type)) {
		put_number(&value, "major", node->major);
		put_number(&value, "minor", node->minor);
	}
	if (node->has_mode)
		put_number(&value, "fileMode", node->mode);
	if (node->has_uid)
		put_number(&value, "uid", node->uid);
	if (node->has_gid)
		put_number(&value, "gid", node->gid);
	return value_end(&value, err);
}

/* The same device. Older releases of the reference leave mode and owner to the runtime: that does not make it another. */
static bool is_same_node(const struct json_at *device, const struct plan_node *node)
{
	const char *type = member_text(device, "type");

	if (!type || strcmp(strcmp(type, "u") == 0 ? "c" : type, type_text(node->type)) != 0)
		return false;
	if (!S_ISFIFO(node->type) && (member_number(device, "major", 0) != node->major ||
				      member_number(device, "minor", 0) != node->minor))
		return false;
	return (!node->has_mode || has_number_or_none(device, "fileMode", node->mode)) &&
	       (!node->has_uid || has_number_or_none(device, "uid", node->uid)) &&
	       (!node->has_gid || has_number_or_none(device, "gid", node->gid));
}

static bool is_at(const struct json_edit_item *item, const char *path)
{
	const char *other = member_text(&item->at, "path");

	return other && strcmp(other, path) == 0;
}

static int edit_node(struct json_edit_array *devices, const struct plan_node *node,
		     struct error *err)
{
	const char *value = node_value(devices->parent->edit, node, err);
	size_t there = 0, same = 0, seen = 0;
	bool placed = false;

	if (!value)
		return error_result(err);
	for (size_t i = 0; i < devices->items.n; i++) {
		if (!is_at(&devices->items.items[i], node->path))
			continue;
		there++;
		same += is_same_node(&devices->items.items[i].at, node);
	}
	if (there == 1 && same == 1)
		return 0;
	/* As in the reference: the old one goes, and the new one stands at the end, or in the place
	 * of a second one. */
	for (size_t i = 0; i < devices->items.n;) {
		if (!is_at(&devices->items.items[i], node->path)) {
			i++;
		} else if (seen++ == 1) {
			json_edit_replace(devices, i++, value);
			placed = true;
		} else {
			json_edit_remove(devices, i);
		}
	}
	return placed ? 0 : json_edit_append(devices, value, err);
}

static int edit_nodes(struct json_edit_object *section, const struct plan *plan, struct error *err)
{
	struct json_edit_array devices;
	int r = json_edit_enter_array(section, "devices", &devices, err);

	for (size_t i = 0; r == 0 && i < plan->nodes.n; i++)
		r = edit_node(&devices, &plan->nodes.items[i], err);
	return r < 0 ? r : json_edit_leave_array(&devices, err);
}

static bool covers(const struct json_at *item, const char *key, uint32_t number)
{
	int64_t there = member_number(item, key, -1);

	return there == -1 || there == number;
}

static bool has_access(const char *letters, unsigned access)
{
	return letters && (!(access & DEVICE_READ) || strchr(letters, 'r')) &&
	       (!(access & DEVICE_WRITE) || strchr(letters, 'w')) &&
	       (!(access & DEVICE_MKNOD) || strchr(letters, 'm'));
}

/* Whether the list has this very rule, and nothing behind it that takes it back. */
static bool has_rule(const struct json_edit_array *rules, const struct device_rule *rule)
{
	const char letter[] = {rule->type, '\0'};
	bool has = false;

	for (size_t i = 0; i < rules->items.n; i++) {
		const struct json_at *item = &rules->items.items[i].at;
		const struct json_at allow = json_member(item, "allow");
		const char *type = member_text(item, "type");
		bool all = !type || !*type || strcmp(type, "a") == 0;

		if (!json_object_get_boolean(allow.value)) {
			if ((all || strcmp(type, letter) == 0) &&
			    covers(item, "major", rule->major) &&
			    covers(item, "minor", rule->minor))
				has = false;
		} else if (!all && strcmp(type, letter) == 0 &&
			   member_number(item, "major", -1) == rule->major &&
			   member_number(item, "minor", -1) == rule->minor &&
			   has_access(member_text(item, "access"), rule->access)) {
			has = true;
		}
	}
	return has;
}

static int edit_rule(struct json_edit_array *rules, const struct device_rule *rule,
		     struct error *err)
{
	struct value value = value_begin(rules->parent->edit);
	char access[4];
	const char *text;

	if (has_rule(rules, rule))
		return 0;
	put_true(&value, "allow", true);
	put_text(&value, "type", rule->type == 'b' ? "b" : "c");
	put_number(&value, "major", rule->major);
	put_number(&value, "minor", rule->minor);
	put_text(&value, "access", device_access_text(rule->access, access));
	text = value_end(&value, err);
	return text ? json_edit_append(rules, text, err) : error_result(err);
}

static int edit_rules(struct json_edit_object *section, const struct plan *plan, struct error *err)
{
	struct json_edit_object resources;
	struct json_edit_array rules;
	int r = json_edit_enter(section->edit, section, "resources", &resources, err);

	if (r == 0)
		r = json_edit_enter_array(&resources, "devices", &rules, err);
	for (size_t i = 0; r == 0 && i < plan->rules.n; i++)
		r = edit_rule(&rules, &plan->rules.items[i], err);
	if (r == 0)
		r = json_edit_leave_array(&rules, err);
	return r < 0 ? r : json_edit_leave(&resources, err);
}

/* ---- The rest of the section linux ---- */

static int edit_net_devices(struct json_edit_object *section, const struct plan *plan,
			    struct error *err)
{
	struct json_edit_object net_devices;
	int r = json_edit_enter(section->edit, section, "netDevices", &net_devices, err);

	for (size_t i = 0; r == 0 && i < plan->net_devices.n; i++) {
		const struct cdi_net_device *device = plan->net_devices.items[i].device;
		struct value value = value_begin(section->edit);
		const char *text;

		put_text(&value, "name", device->name);
		text = value_end(&value, err);
		r = text ? json_edit_set(&net_devices, device->host_interface_name, text, err)
			 : error_result(err);
	}
	return r < 0 ? r : json_edit_leave(&net_devices, err);
}

static int edit_rdt(struct json_edit_object *section, const struct cdi_intel_rdt *rdt,
		    struct error *err)
{
	struct value value = value_begin(section->edit);
	const char *text;

	put_text(&value, "closID", rdt->clos_id);
	put_list(&value, "schemata", &rdt->schemata);
	put_text(&value, "l3CacheSchema", rdt->l3_cache_schema);
	put_text(&value, "memBwSchema", rdt->mem_bw_schema);
	/* runtime-spec 1.3 has one word for what were two; old runtimes know the old ones. */
	put_true(&value, "enableMonitoring",
		 rdt->enable_monitoring || rdt->enable_cmt || rdt->enable_mbm);
	put_true(&value, "enableCMT", rdt->enable_cmt);
	put_true(&value, "enableMBM", rdt->enable_mbm);
	text = value_end(&value, err);
	return text ? json_edit_set(section, "intelRdt", text, err) : error_result(err);
}

static int edit_linux(struct json_edit_object *root, const struct plan *plan, struct error *err)
{
	struct json_edit_object section;
	int r = json_edit_enter(root->edit, root, "linux", &section, err);

	if (r == 0 && plan->nodes.n > 0)
		r = edit_nodes(&section, plan, err);
	if (r == 0 && plan->rules.n > 0)
		r = edit_rules(&section, plan, err);
	if (r == 0 && plan->net_devices.n > 0)
		r = edit_net_devices(&section, plan, err);
	if (r == 0 && plan->intel_rdt.rdt)
		r = edit_rdt(&section, plan->intel_rdt.rdt, err);
	return r < 0 ? r : json_edit_leave(&section, err);
}

/* ---- Mounts ---- */

static const char *mount_value(const struct json_edit *edit, const struct plan_mount *mount,
			       struct error *err)
{
	struct value value = value_begin(edit);

	put_text(&value, "destination", mount->destination);
	put_text(&value, "type", mount->type);
	put_text(&value, "source", mount->source);
	put_list(&value, "options", &mount->words);
	return value_end(&value, err);
}

/* What a bind mount is anyway: an engine may write it, or not. */
static bool is_default_word(const char *word)
{
	static const char *const words[] = {"bind", "rw", "private", "rprivate", "defaults"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct plan_mount *mount, const char *word)
{
	for (size_t i = 0; i < mount->words.n; i++)
		if (strcmp(mount->words.items[i], word) == 0)
			return true;
	return is_default_word(word);
}

static bool has_option(const struct json_at *options, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(options->value, i);
		if (json_object_is_type(item, json_type_string) &&
		    strcmp(json_object_get_string(item), word) == 0)
			return true;
	}
	return is_default_word(word);
}

static bool is_same_mount(const struct json_at *item, const struct plan_mount *mount)
{
	const struct json_at options = json_member(item, "options");
	const char *source = member_text(item, "source"), *type = member_text(item, "type");
	size_t n = json_object_is_type(options.value, json_type_array)
			   ? json_object_array_length(options.value)
			   : 0;
	bool same = source && strcmp(source, mount->source) == 0;

	if (mount->kind != PLAN_MOUNT_BIND)
		same = same && type && strcmp(type, mount->type) == 0;
	for (size_t i = 0; same && i < n; i++) {
		struct json_object *word = json_object_array_get_idx(options.value, i);
		same = json_object_is_type(word, json_type_string) &&
		       is_wanted(mount, json_object_get_string(word));
	}
	for (size_t i = 0; same && i < mount->words.n; i++)
		same = has_option(&options, n, mount->words.items[i]);
	return same;
}

/* Depth of a destination as the reference counts it: the slashes of its cleaned form. Links are not looked at. */
static unsigned slashes(const char *path)
{
	bool absolute = *path == '/';
	unsigned names = 0, ups = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0) {
			if (names > 0)
				names--;
			else if (!absolute)
				ups++;
		} else if (len > 0 && !(len == 1 && *path == '.')) {
			names++;
		}
		path += len;
		path += strspn(path, "/");
	}
	names += ups;
	return absolute && names > 0 ? names : absolute ? 1 : names > 0 ? names - 1 : 0;
}

/* Whether an item of the config is mounted on a cleaned path: /a/ is /a. */
static int is_mounted_on(struct arena *arena, const struct json_edit_item *item, const char *path,
			 struct error *err)
{
	const char *destination = member_text(&item->at, "destination"), *problem = NULL, *clean;

	if (!destination)
		return 0;
	clean = path_clean(arena, destination, &problem);
	if (!clean && !problem)
		return error_memory(err);
	return clean && strcmp(clean, path) == 0;
}

static int edit_mount(struct json_edit_array *mounts, const struct plan_mount *mount,
		      struct error *err)
{
	struct json_edit *edit = mounts->parent->edit;
	const char *value = mount_value(edit, mount, err);
	size_t first = SIZE_MAX;
	bool there = false;

	if (!value)
		return error_result(err);
	/* Of several on one place the last covers the others. */
	for (size_t i = 0; i < mounts->items.n; i++) {
		int r = is_mounted_on(edit->arena, &mounts->items.items[i], mount->destination,
				      err);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		there = is_same_mount(&mounts->items.items[i].at, mount);
		first = first == SIZE_MAX ? i : first;
	}
	if (there)
		return 0;
	if (first != SIZE_MAX)
		json_edit_remove(mounts, first);
	if (json_edit_append(mounts, value, err) < 0)
		return error_result(err);
	mounts->items.items[mounts->items.n - 1].rank = slashes(mount->destination);
	return 0;
}

static int edit_mounts(struct json_edit_object *root, const struct plan *plan, struct error *err)
{
	struct json_edit_array mounts;
	int r = json_edit_enter_array(root, "mounts", &mounts, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < mounts.items.n; i++) {
		const char *path = member_text(&mounts.items.items[i].at, "destination");
		mounts.items.items[i].rank = slashes(path ? path : "");
	}
	for (size_t i = 0; r == 0 && i < plan->mounts.n; i++)
		r = edit_mount(&mounts, &plan->mounts.items[i], err);
	if (r < 0)
		return r;
	if (mounts.changed)
		json_edit_sort(&mounts);
	return json_edit_leave_array(&mounts, err);
}

/* ---- Hooks ---- */

static int edit_hook(struct json_edit_array *list, const struct cdi_hook *hook, struct error *err)
{
	struct value value = value_begin(list->parent->edit);
	const char *text;

	put_text(&value, "path", hook->path);
	put_list(&value, "args", &hook->args);
	put_list(&value, "env", &hook->env);
	if (hook->has_timeout)
		put_number(&value, "timeout", hook->timeout);
	text = value_end(&value, err);
	return text ? json_edit_append(list, text, err) : error_result(err);
}

/* The plan has left out what is there already. */
static int edit_hooks_of(struct json_edit_object *hooks, const char *name, const struct plan *plan,
			 struct error *err)
{
	struct json_edit_array list;
	int r = json_edit_enter_array(hooks, name, &list, err);

	for (size_t i = 0; r == 0 && i < plan->hooks.n; i++)
		if (strcmp(plan->hooks.items[i].hook->hook_name, name) == 0)
			r = edit_hook(&list, plan->hooks.items[i].hook, err);
	return r < 0 ? r : json_edit_leave_array(&list, err);
}

static int edit_hooks(struct json_edit_object *root, const struct plan *plan, struct error *err)
{
	static const char *const names[] = {"prestart",       "createRuntime", "createContainer",
					    "startContainer", "poststart",     "poststop"};
	struct json_edit_object hooks;
	int r = json_edit_enter(root->edit, root, "hooks", &hooks, err);

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = edit_hooks_of(&hooks, names[i], plan, err);
	return r < 0 ? r : json_edit_leave(&hooks, err);
}

/* ---- All of it ---- */

static int edit_all(struct json_edit *edit, const struct plan *plan, struct error *err)
{
	struct json_edit_object root;
	int r = json_edit_enter(edit, NULL, NULL, &root, err);

	if (r == 0)
		r = edit_process(&root, plan, err);
	if (r == 0)
		r = edit_linux(&root, plan, err);
	if (r == 0 && plan->mounts.n > 0)
		r = edit_mounts(&root, plan, err);
	if (r == 0 && plan->hooks.n > 0)
		r = edit_hooks(&root, plan, err);
	return r < 0 ? r : json_edit_leave(&root, err);
}

int config_edit(struct arena *arena, const char *data, size_t size, const struct plan *plan,
		const char **ret_data, size_t *ret_size, struct error *err)
{
	_cleanup_json_edit_ struct json_edit edit = {0};
	int r = json_edit_open(arena, &edit, "config.json", data, size, err);

	if (r == 0)
		r = edit_all(&edit, plan, err);
	if (r == 0)
		r = json_edit_finish(&edit, ret_data, ret_size, err);
	return r < 0 ? error_class(err, EXIT_CODE_CONTAINER) : 0;
}
