/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle's config.json: what decides how and where its edits can be made. Everything else in it
 * belongs to the runtime and is neither read nor judged.
 */
#include "oci-config.h"

#include <string.h>

#include "bounds.h"
#include "json.h"
#include "plan.h"

/* (uid_t)-1 is nobody's number: system calls take it for "leave as it is". */
#define ID_MAX (UINT32_MAX - 1)

static int read_root(struct arena *arena, const struct json_at *document, struct oci_config *config,
		     struct error *err)
{
	struct json_at root = json_member(document, "root"), at;
	int r = json_get_object(&root, JSON_REQUIRED, err);

	if (r < 0)
		return r;
	at = json_member(&root, "path");
	r = json_get_string(arena, &at, JSON_REQUIRED, &config->root_path, err);
	if (r < 0)
		return r;
	at = json_member(&root, "readonly");
	return json_get_bool(&at, JSON_OPTIONAL, &config->root_readonly, err);
}

static int read_id(const struct json_at *user, const char *key, uint32_t *ret_id, struct error *err)
{
	struct json_at at = json_member(user, key);
	int64_t id = 0;
	int r = json_get_whole(&at, JSON_OPTIONAL, 0, ID_MAX, &id, err);

	*ret_id = (uint32_t)id;
	return r;
}

static int read_gids(struct arena *arena, const struct json_at *user, struct oci_config *config,
		     struct error *err)
{
	struct json_at list = json_member(user, "additionalGids");
	size_t count = 0;
	int r = json_get_array(&list, JSON_OPTIONAL, &count, err);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct json_at item = json_item(&list, i);
		int64_t gid = 0;

		/* Only compared: what the kernel takes is the runtime's to say. */
		r = json_get_whole(&item, JSON_REQUIRED, 0, UINT32_MAX, &gid, err);
		if (r < 0)
			return r;
		uint32_t *slot = array_add(arena, &config->additional_gids);
		if (!slot)
			return error_memory(err);
		*slot = (uint32_t)gid;
	}
	return r;
}

static int read_strings(struct arena *arena, const struct json_at *list,
			struct string_list *strings, struct error *err)
{
	size_t count = 0;
	int r = json_get_array(list, JSON_OPTIONAL, &count, err);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct json_at item = json_item(list, i);
		const char **slot = array_add(arena, strings);

		if (!slot)
			return error_memory(err);
		*slot = "";
		r = json_get_string(arena, &item, JSON_REQUIRED, slot, err);
	}
	return r;
}

static int read_process(struct arena *arena, const struct json_at *document,
			struct oci_config *config, struct error *err)
{
	struct json_at process = json_member(document, "process"), env, user;
	int r = json_get_object(&process, JSON_OPTIONAL, err);

	if (r <= 0)
		return r;
	env = json_member(&process, "env");
	r = read_strings(arena, &env, &config->env, err);
	if (r < 0)
		return r;
	user = json_member(&process, "user");
	r = json_get_object(&user, JSON_OPTIONAL, err);
	if (r <= 0)
		return r;
	r = read_id(&user, "uid", &config->uid, err);
	if (r < 0)
		return r;
	r = read_id(&user, "gid", &config->gid, err);
	return r < 0 ? r : read_gids(arena, &user, config, err);
}

static int read_namespaces(struct arena *arena, const struct json_at *section,
			   struct oci_config *config, struct error *err)
{
	struct json_at list = json_member(section, "namespaces");
	size_t count = 0;
	int r = json_get_array(&list, JSON_OPTIONAL, &count, err);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct json_at item = json_item(&list, i), at;
		const char *type = "";

		r = json_get_object(&item, JSON_REQUIRED, err);
		if (r < 0)
			return r;
		at = json_member(&item, "type");
		r = json_get_string(arena, &at, JSON_REQUIRED, &type, err);
		if (strcmp(type, "user") == 0)
			config->user_namespace = config->id_mapped = true;
		else if (strcmp(type, "mount") == 0)
			config->mount_namespace = true;
	}
	return r;
}

/* ---- What the device cgroup was made from ---- */

static int read_access(const char *letters, unsigned *ret_access)
{
	unsigned access = 0;

	for (; *letters; letters++)
		if (*letters == 'r')
			access |= DEVICE_READ;
		else if (*letters == 'w')
			access |= DEVICE_WRITE;
		else if (*letters == 'm')
			access |= DEVICE_MKNOD;
		else
			return -1;
	*ret_access = access;
	return 0;
}

static int read_device_rule(struct arena *arena, const struct json_at *item,
			    struct oci_device_rule *rule, struct error *err)
{
	const char *type = "a", *access = "";
	struct json_at at = json_member(item, "allow");
	int r = json_get_bool(&at, JSON_OPTIONAL, &rule->allow, err);

	if (r >= 0) {
		at = json_member(item, "type");
		r = json_get_string(arena, &at, JSON_OPTIONAL, &type, err);
	}
	if (r >= 0) {
		at = json_member(item, "major");
		r = json_get_whole(&at, JSON_OPTIONAL, -1, UINT32_MAX, &rule->major, err);
	}
	if (r >= 0) {
		at = json_member(item, "minor");
		r = json_get_whole(&at, JSON_OPTIONAL, -1, UINT32_MAX, &rule->minor, err);
	}
	if (r >= 0) {
		at = json_member(item, "access");
		r = json_get_string(arena, &at, JSON_OPTIONAL, &access, err);
	}
	if (r < 0)
		return r;
	rule->type = type[0];
	if (strcmp(type, "a") != 0 && strcmp(type, "b") != 0 && strcmp(type, "c") != 0)
		r = error_set(err, 0, "type: expected a, b or c, found \"%s\"", SHOW(type));
	else if (read_access(access, &rule->access) < 0)
		r = error_set(err, 0, "access: expected letters of rwm, found \"%s\"",
			      SHOW(access));
	return r < 0 ? error_prefix(err, "config.json: linux.resources.devices[%zu]", item->index)
		     : 0;
}

static int read_device_rules(struct arena *arena, const struct json_at *section,
			     struct oci_devices *devices, struct error *err)
{
	struct json_at resources = json_member(section, "resources"), list, item;
	size_t count = 0;
	int r = json_get_object(&resources, JSON_OPTIONAL, err);

	if (r < 0)
		return r;
	list = json_member(&resources, "devices");
	r = json_get_array(&list, JSON_OPTIONAL, &count, err);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct oci_device_rule *rule = array_add(arena, &devices->rules);
		if (!rule)
			return error_memory(err);
		*rule = (struct oci_device_rule){.major = -1, .minor = -1};
		item = json_item(&list, i);
		r = json_get_object(&item, JSON_REQUIRED, err);
		if (r >= 0)
			r = read_device_rule(arena, &item, rule, err);
	}
	return r;
}

static int read_device_nodes(struct arena *arena, const struct json_at *section,
			     struct oci_devices *devices, struct error *err)
{
	struct json_at list = json_member(section, "devices"), item, at;
	size_t count = 0;
	int r = json_get_array(&list, JSON_OPTIONAL, &count, err);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const char **path = array_add(arena, &devices->nodes);
		if (!path)
			return error_memory(err);
		*path = "";
		item = json_item(&list, i);
		r = json_get_object(&item, JSON_REQUIRED, err);
		if (r < 0)
			return r;
		at = json_member(&item, "path");
		r = json_get_string(arena, &at, JSON_REQUIRED, path, err);
	}
	return r;
}

/* Fails only for want of memory. */
static int read_devices(struct arena *arena, const struct json_at *section,
			struct oci_devices *devices, struct error *err)
{
	char text[ERROR_TEXT_MAX];
	int r = read_device_rules(arena, section, devices, err);

	if (r >= 0)
		r = read_device_nodes(arena, section, devices, err);
	if (r >= 0 || err->exit_code == EXIT_CODE_OTHER)
		return r;
	devices->problem = arena_strdup(arena, error_text(err, text));
	*err = (struct error){0};
	return devices->problem ? 0 : error_memory(err);
}

/*
 * A label is written to a file of the kernel's and handed over as a mount option: one word, which an
 * operator's terminal can show too. One that cannot be used is the plan's to tell of: it stops no container.
 */
static int read_mount_label(struct arena *arena, const struct json_at *section,
			    struct oci_config *config, struct error *err)
{
	struct json_at at = json_member(section, "mountLabel");
	const char *label = NULL;
	char shown[ERROR_TEXT_MAX];
	struct error problem = {0};
	int r = json_get_string(arena, &at, JSON_OPTIONAL, &label, err);

	if (r <= 0 || !label[0])
		return r;
	if (strlen(label) > LIMIT_LABEL)
		error_set(&problem, 0, "config.json: linux.mountLabel: longer than %d bytes",
			  LIMIT_LABEL);
	for (const char *c = label; *c && !error_is_set(&problem); c++)
		if ((unsigned char)*c <= 0x20 || *c == 0x7f)
			error_set(&problem, 0,
				  "config.json: linux.mountLabel: a blank or a control "
				  "character in \"%s\"",
				  SHOW(label));
	if (error_is_set(&problem)) {
		config->mount_label_problem = arena_strdup(arena, error_text(&problem, shown));
		return config->mount_label_problem ? 0 : error_memory(err);
	}
	config->mount_label = label;
	return 0;
}

static int read_linux(struct arena *arena, const struct json_at *document,
		      struct oci_config *config, struct error *err)
{
	struct json_at section = json_member(document, "linux"), path;
	static const char *const mappings[] = {"uidMappings", "gidMappings"};
	int r = json_get_object(&section, JSON_OPTIONAL, err);

	if (r <= 0)
		return r;
	r = read_namespaces(arena, &section, config, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(mappings) / sizeof(*mappings); i++) {
		struct json_at at = json_member(&section, mappings[i]);
		size_t count = 0;

		r = json_get_array(&at, JSON_OPTIONAL, &count, err);
		if (r < 0)
			return r;
		if (count > 0)
			config->user_namespace = true;
		else
			config->id_mapped = false;
	}
	path = json_member(&section, "cgroupsPath");
	r = json_get_string(arena, &path, JSON_OPTIONAL, &config->cgroups_path, err);
	if (r >= 0)
		r = read_mount_label(arena, &section, config, err);
	return r < 0 ? r : read_devices(arena, &section, &config->devices, err);
}

/* What is of another type than it should be counts as absent: the runtime has taken it. */
static int read_mounts(struct arena *arena, const struct json_at *document,
		       struct oci_config *config, struct error *err)
{
	struct json_at list = json_member(document, "mounts");
	size_t count = json_object_is_type(list.value, json_type_array)
			       ? json_object_array_length(list.value)
			       : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_at item = json_item(&list, i), at;
		struct oci_mount *mount = array_add(arena, &config->mounts);
		struct error ignored = {0};

		if (!mount)
			return error_memory(err);
		*mount = (struct oci_mount){0};
		at = json_member(&item, "destination");
		int r = json_get_string(arena, &at, JSON_OPTIONAL, &mount->destination, &ignored);
		at = json_member(&item, "source");
		if (r >= 0)
			r = json_get_string(arena, &at, JSON_OPTIONAL, &mount->source, &ignored);
		at = json_member(&item, "options");
		if (r >= 0)
			r = read_strings(arena, &at, &mount->options, &ignored);
		if (r < 0 && ignored.exit_code == EXIT_CODE_OTHER)
			return error_memory(err);
		if (r < 0)
			*mount = (struct oci_mount){0};
	}
	return 0;
}

static int read_hook_list(struct arena *arena, const struct json_at *section, enum stage stage,
			  struct oci_config *config, struct error *err)
{
	struct json_at list = json_member(section, stage_name(stage)), item, at;
	size_t count = 0;
	int r = json_get_array(&list, JSON_OPTIONAL, &count, err);

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct oci_hook *hook = array_add(arena, &config->hooks);
		if (!hook)
			return error_memory(err);
		*hook = (struct oci_hook){.stage = stage, .path = ""};
		item = json_item(&list, i);
		r = json_get_object(&item, JSON_REQUIRED, err);
		if (r < 0)
			return r;
		at = json_member(&item, "path");
		r = json_get_string(arena, &at, JSON_REQUIRED, &hook->path, err);
		if (r < 0)
			return r;
		at = json_member(&item, "args");
		r = read_strings(arena, &at, &hook->args, err);
	}
	return r;
}

static int read_hooks(struct arena *arena, const struct json_at *document,
		      struct oci_config *config, struct error *err)
{
	struct json_at section = json_member(document, "hooks");
	int r = json_get_object(&section, JSON_OPTIONAL, err);

	/* In the order in which they run. */
	for (int stage = STAGE_PRESTART; r > 0 && stage < STAGE_COUNT; stage++)
		if (read_hook_list(arena, &section, (enum stage)stage, config, err) < 0)
			return error_result(err);
	return r;
}

static int read_config(struct arena *arena, const char *data, size_t size,
		       struct oci_config *config, struct error *err)
{
	_cleanup_json_ struct json_object *value = NULL;
	struct json_at document;
	int r;

	r = json_parse(arena, "config.json", data, size, &value, err);
	if (r < 0)
		return r;
	document = json_root("config.json", value);
	r = json_get_object(&document, JSON_REQUIRED, err);
	if (r < 0)
		return r;
	r = read_root(arena, &document, config, err);
	if (r < 0)
		return r;
	r = read_process(arena, &document, config, err);
	if (r < 0)
		return r;
	r = read_hooks(arena, &document, config, err);
	if (r < 0)
		return r;
	r = oci_annotations_read(arena, &document, &config->annotations, err);
	if (r < 0)
		return r;
	r = read_mounts(arena, &document, config, err);
	if (r < 0)
		return r;
	return read_linux(arena, &document, config, err);
}

int oci_config_parse(struct arena *arena, const char *data, size_t size,
		     struct oci_config *ret_config, struct error *err)
{
	*ret_config = (struct oci_config){0};
	if (read_config(arena, data, size, ret_config, err) < 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	return 0;
}
