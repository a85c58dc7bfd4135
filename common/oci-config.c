/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle's config.json: what decides how and where its edits can be made. Everything else in it
 * belongs to the runtime and is neither read nor judged.
 */
#include "oci-config.h"

#include <string.h>

#include "json.h"

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

static int read_user(const struct json_at *document, struct oci_config *config, struct error *err)
{
	struct json_at process = json_member(document, "process"), user;
	int r = json_get_object(&process, JSON_OPTIONAL, err);

	if (r <= 0)
		return r;
	user = json_member(&process, "user");
	r = json_get_object(&user, JSON_OPTIONAL, err);
	if (r <= 0)
		return r;
	r = read_id(&user, "uid", &config->uid, err);
	if (r < 0)
		return r;
	return read_id(&user, "gid", &config->gid, err);
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
			config->user_namespace = true;
		else if (strcmp(type, "mount") == 0)
			config->mount_namespace = true;
	}
	return r;
}

static int read_linux(struct arena *arena, const struct json_at *document,
		      struct oci_config *config, struct error *err)
{
	struct json_at section = json_member(document, "linux");
	static const char *const mappings[] = {"uidMappings", "gidMappings"};
	int r = json_get_object(&section, JSON_OPTIONAL, err);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < sizeof(mappings) / sizeof(*mappings); i++) {
		struct json_at at = json_member(&section, mappings[i]);
		size_t count = 0;

		r = json_get_array(&at, JSON_OPTIONAL, &count, err);
		if (r < 0)
			return r;
		if (count > 0)
			config->user_namespace = true;
	}
	return read_namespaces(arena, &section, config, err);
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
	r = read_user(&document, config, err);
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
