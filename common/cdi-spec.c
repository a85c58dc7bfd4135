/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CDI's keys, one line each, and what CDI asks of them. The tables say what the file may hold and
 * since which version; their order is the order of the reference's checks, so that of several
 * mistakes the same one is named first.
 *
 * What some release of the reference accepts is accepted, unless nothing sensible could be done
 * with it: a relative path in a container, a negative device number, a mode with bits that no node
 * has.
 */
#include "cdi-spec.h"

#include <errno.h>
#include <linux/limits.h>
#include <string.h>

#include "bounds.h"
#include "cdi-name.h"
#include "spec-decode.h"
#include "spec-reader.h"
#include "spec-scalar.h"

#define V0_3_0 SPEC_VERSION(0, 3, 0)
#define V0_4_0 SPEC_VERSION(0, 4, 0)
#define V0_5_0 SPEC_VERSION(0, 5, 0)
#define V0_6_0 SPEC_VERSION(0, 6, 0)
#define V0_7_0 SPEC_VERSION(0, 7, 0)
#define V0_8_0 SPEC_VERSION(0, 8, 0)
#define V1_0_0 SPEC_VERSION(1, 0, 0)
#define V1_1_0 SPEC_VERSION(1, 1, 0)

/* All that exist. */
static const struct {
	const char *text;
	unsigned version;
} versions[] = {
	{"0.1.0", SPEC_VERSION(0, 1, 0)},
	{"0.2.0", SPEC_VERSION(0, 2, 0)},
	{"0.3.0", V0_3_0},
	{"0.4.0", V0_4_0},
	{"0.5.0", V0_5_0},
	{"0.6.0", V0_6_0},
	{"0.7.0", V0_7_0},
	{"0.8.0", V0_8_0},
	{"1.0.0", V1_0_0},
	{"1.1.0", V1_1_0},
};
#define N_VERSIONS (sizeof(versions) / sizeof(versions[0]))
#define NEWEST "1.1.0"

/*
 * What is wrong with a text, or NULL: each reads on behind the text in quotes
 */

static const char *long_path_problem(const char *path, size_t len)
{
	(void)path;
	return len >= PATH_MAX ? "is too long for a path" : NULL;
}

static const char *path_problem(const char *path, size_t len)
{
	/* U+2018 to U+201F, which word processors make of the keyboard's quotes. */
	if (strncmp(path, "\xe2\x80", 2) == 0 && (unsigned char)path[2] >= 0x98 &&
	    (unsigned char)path[2] <= 0x9f)
		return "begins with a typographic quote: write \" or no quote at all";
	return path[0] == '/' ? long_path_problem(path, len) : "is not an absolute path";
}

static const char *program_problem(const char *path, size_t len)
{
	return path[0] == '/' || strncmp(path, "\xe2\x80", 2) == 0 ? path_problem(path, len) : NULL;
}

/* The reference takes it, and no runtime runs it: an error for whoever has to. */
static const char *program_doubt(const char *path, size_t len)
{
	(void)len;
	return path[0] == '/' ? NULL : "is not an absolute path: it cannot be run";
}

static const char *env_problem(const char *entry, size_t len)
{
	const char *equals = memchr(entry, '=', len);

	return !equals || equals == entry ? "is not NAME=value" : NULL;
}

static const char *env_doubt(const char *entry, size_t len)
{
	return memchr(entry, '\n', len) ? "has a line break in it" : NULL;
}

static const char *node_type_problem(const char *type, size_t len)
{
	return len == 1 && strchr("bcup", type[0]) ? NULL
						   : "is no type of device node: b, c, u and p are";
}

static const char *permissions_problem(const char *permissions, size_t len)
{
	if (strcmp(permissions, "none") == 0 || strspn(permissions, "rwm") == len)
		return NULL;
	return "is neither made of the letters r, w and m nor none";
}

static const char *hook_name_problem(const char *name, size_t len)
{
	static const char *const names[] = {
		"prestart",       "createRuntime", "createContainer",
		"startContainer", "poststart",     "poststop",
	};

	(void)len;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return NULL;
	return "is no hook: prestart, createRuntime, createContainer, startContainer, poststart "
	       "and poststop are";
}

static const char *clos_id_problem(const char *id, size_t len)
{
	if (strcmp(id, "/") == 0)
		return NULL;
	if (strcmp(id, ".") == 0 || strcmp(id, "..") == 0 || strpbrk(id, "/\n"))
		return "cannot be the name of a directory";
	return len >= PATH_MAX ? "is too long for a path" : NULL;
}

/*
 * Readers that only CDI needs
 */

/* Three numbers with dots, none above 255; 0 where it is anything else. */
static unsigned version_number(const char *text)
{
	unsigned parts[3] = {0};

	for (int i = 0; i < 3; i++) {
		size_t len = strspn(text, "0123456789");

		if (len < 1 || len > 3 || text[len] != (i < 2 ? '.' : '\0'))
			return 0;
		for (size_t j = 0; j < len; j++)
			parts[i] = parts[i] * 10 + (unsigned)(text[j] - '0');
		if (parts[i] > 255)
			return 0;
		text += len + 1;
	}
	return SPEC_VERSION(parts[0], parts[1], parts[2]);
}

static int decode_version(struct decoder *d, const struct field *field, const struct value *value,
			  void *out)
{
	const char **ret_version = out;
	int r = decode_expect(d, field, value, VALUE_SCALAR);

	if (r < 0)
		return r;
	const char *text = value->text + (value->text[0] == 'v');
	for (size_t i = 0; i < N_VERSIONS; i++) {
		if (strcmp(text, versions[i].text) != 0)
			continue;
		if (versions[i].version < V0_3_0)
			return decode_fail(d, value,
					   "%s is too old: 0.3.0 is the oldest that works", text);
		d->version = versions[i].version;
		*ret_version = versions[i].text;
		return 0;
	}
	if (version_number(text) > V1_1_0)
		return decode_fail(d, value,
				   "%s is newer than " NEWEST ", the newest that is known here",
				   SHOW(text));
	return decode_fail(
		d, value,
		"\"%s\" is no version of CDI: 0.3.0, 0.4.0, 0.5.0, 0.6.0, 0.7.0, 0.8.0, 1.0.0 and "
		"1.1.0 are",
		SHOW(value->text));
}

static int decode_kind(struct decoder *d, const struct field *field, const struct value *value,
		       void *out)
{
	static const struct field dotted = {.since = V0_6_0};
	const char *problem;
	int r = decode_text(d, field, value, out);

	if (r < 0)
		return r;
	const char *slash = strchr(value->text, '/');
	if (!slash || slash == value->text || !slash[1])
		return decode_fail(d, value, "\"%s\" is not vendor/class", SHOW(value->text));

	size_t vendor_len = (size_t)(slash - value->text);
	problem = cdi_vendor_problem(value->text, vendor_len);
	if (problem)
		return decode_fail(d, value, "vendor of \"%s\" %s", SHOW(value->text), problem);
	problem = cdi_class_problem(slash + 1, value->len - vendor_len - 1);
	if (problem)
		return decode_fail(d, value, "class of \"%s\" %s", SHOW(value->text), problem);
	if (!strchr(slash, '.') || d->version >= V0_6_0)
		return 0;
	(void)decode_push(d, " with a dot in its class");
	return decode_needs(d, &dotted, value);
}

static int decode_name(struct decoder *d, const struct field *field, const struct value *value,
		       void *out)
{
	static const struct field digit = {.since = V0_5_0};
	int r = decode_text(d, field, value, out);

	if (r < 0)
		return r;
	if (spec_scalar_is_ambiguous(value))
		decode_note(d, value, "%s without quotes is another name to some readers",
			    SHOW(value->text));
	if (value->text[0] < '0' || value->text[0] > '9' || d->version >= V0_5_0)
		return 0;
	(void)decode_push(d, " with a digit first");
	return decode_needs(d, &digit, value);
}

/* A negative one would be every device in a cgroup rule. */
static int decode_device_number(struct decoder *d, const struct field *field,
				const struct value *value, void *out)
{
	(void)field;
	return decode_number(d, value, 0, INT64_MAX, out);
}

static int decode_mode(struct decoder *d, const struct field *field, const struct value *value,
		       void *out)
{
	uint32_t *mode = out;
	int r = decode_uint32(d, field, value, mode);

	if (r < 0)
		return r;
	return *mode > 07777 ? decode_fail(d, value, "%s is more than 07777", SHOW(value->text))
			     : 0;
}

static int decode_timeout(struct decoder *d, const struct field *field, const struct value *value,
			  void *out)
{
	int64_t *timeout = out;
	int r = decode_int64(d, field, value, timeout);

	if (r >= 0 && *timeout <= 0)
		decode_note(d, value, "%s should be more than 0", SHOW(value->text));
	return r;
}

static bool edits_are_empty(const struct cdi_edits *edits)
{
	return !edits->env.n && !edits->device_nodes.n && !edits->net_devices.n &&
	       !edits->mounts.n && !edits->hooks.n && !edits->intel_rdt &&
	       !edits->additional_gids.n;
}

static int check_device(struct decoder *d, const struct value *map, void *object)
{
	const struct cdi_device *device = object;
	const struct value *edits = decode_get(map, "containerEdits");

	if (!edits_are_empty(&device->edits))
		return 0;
	(void)decode_push(d, ".containerEdits");
	return decode_fail(d, edits ? edits : map,
			   "is %s: every device needs at least one edit of its own, such as "
			   "containerEdits: {env: [NAME=value]}",
			   edits ? "empty" : "missing");
}

struct annotation_list {
	struct cdi_annotation *items;
	size_t n, cap;
};

static int decode_annotation(struct decoder *d, const struct field *field,
			     const struct value_entry *entry, struct cdi_annotation *annotation)
{
	int r = spec_scalar_is_null(entry->value)
			? 0
			: decode_expect(d, field, entry->value, VALUE_SCALAR);
	const char *problem = cdi_annotation_key_problem(entry->key->text, entry->key->len);

	if (r >= 0)
		r = decode_expect(d, NULL, entry->key, VALUE_SCALAR);
	if (r < 0)
		return r;
	/* Nothing here depends on annotations, and no release of the reference checks them. */
	if (problem)
		decode_note(d, entry->key, "is no annotation key of Kubernetes: it %s", problem);
	annotation->key = decode_copy(d, entry->key);
	annotation->value = spec_scalar_is_null(entry->value) ? "" : decode_copy(d, entry->value);
	return annotation->key && annotation->value ? 0 : error_memory(d->report->err);
}

static int decode_annotations(struct decoder *d, const struct field *field,
			      const struct value *value, void *out)
{
	struct annotation_list list = {0};
	int r = decode_expect(d, field, value, VALUE_MAP);

	if (r < 0 || !value->map.n)
		return r;
	r = decode_needs(d, field, value);
	if (r < 0)
		return r;
	list.items = arena_alloc_array(d->arena, value->map.n, sizeof(*list.items));
	if (!list.items)
		return error_memory(d->report->err);
	list.cap = value->map.n;
	for (; list.n < list.cap; list.n++) {
		const struct value_entry *entry = &value->map.items[list.n];
		size_t path_len = decode_push(d, "[\"%s\"]", SHOW(entry->key->text));

		r = decode_go_on(d, decode_annotation(d, field, entry, &list.items[list.n]));
		decode_pop(d, path_len);
		if (r < 0)
			return r;
	}
	memcpy(out, &list, sizeof(list));
	return 0;
}

/*
 * Keys that people write: from Docker, OCI, Kubernetes and older drafts of CDI, or a level too high
 */

#define BELONGS "it belongs in containerEdits, one level down"

static const struct stray node_strays[] = {
	{"containerPath", "write path"},
	{"pathInContainer", "write path"},
	{"pathOnHost", "write hostPath"},
	{"cgroupPermissions", "write permissions"},
	{"access", "write permissions"},
	{"mode", "write fileMode"},
	{NULL, NULL},
};

static const struct stray hook_strays[] = {
	{"name", "write hookName"}, {"stage", "write hookName"},  {"command", "write path"},
	{"cmd", "write path"},      {"environment", "write env"}, {NULL, NULL},
};

static const struct stray mount_strays[] = {
	{"host", "write hostPath"},
	{"source", "write hostPath"},
	{"src", "write hostPath"},
	{"container", "write containerPath"},
	{"path", "write containerPath"},
	{"mountPath", "write containerPath"},
	{"destination", "write containerPath"},
	{"target", "write containerPath"},
	{"dst", "write containerPath"},
	{"readOnly", "write options: [ro, bind]"},
	{NULL, NULL},
};

static const struct stray edits_strays[] = {
	{"devices", "write deviceNodes"},
	{"volumes", "write mounts"},
	{"environment", "write env"},
	{"groups", "write additionalGids"},
	{NULL, NULL},
};

static const struct stray device_strays[] = {
	{"env", BELONGS},
	{"deviceNodes", BELONGS},
	{"mounts", BELONGS},
	{"hooks", BELONGS},
	{"netDevices", BELONGS},
	{"intelRdt", BELONGS},
	{"additionalGids", BELONGS},
	{"edits", "write containerEdits"},
	{"path", "write containerEdits: {deviceNodes: [{path: /dev/x}]}"},
	{NULL, NULL},
};

static const struct stray spec_strays[] = {
	{"env", BELONGS},
	{"deviceNodes", BELONGS},
	{"mounts", BELONGS},
	{"hooks", BELONGS},
	{"netDevices", BELONGS},
	{"intelRdt", BELONGS},
	{"additionalGids", BELONGS},
	{"version", "write cdiVersion"},
	{"apiVersion", "write cdiVersion"},
	{"vendor", "write kind: vendor.com/class"},
	{"class", "write kind: vendor.com/class"},
	{NULL, NULL},
};

/*
 * The tables
 */

#define MEMBER(type, member) .offset = offsetof(struct type, member)
#define HAS(type, member) .has = offsetof(struct type, member)
#define OBJECT(name, type, ...)                                                                    \
	_Static_assert(N_FIELDS(name##_fields) <= DECODE_FIELDS_MAX, "room for every field");      \
	static const struct object name##_object = {.fields = name##_fields,                       \
						    .n_fields = N_FIELDS(name##_fields),           \
						    .size = sizeof(struct type),                   \
						    __VA_ARGS__}

static const struct field node_fields[] = {
	{"path", decode_text, MEMBER(cdi_device_node, path), .required = true,
	 .problem = path_problem, .form = "path: /dev/x"},
	{"hostPath", decode_text, MEMBER(cdi_device_node, host_path), .problem = path_problem,
	 .since = V0_5_0, .overlooked = true},
	{"type", decode_text, MEMBER(cdi_device_node, type), .problem = node_type_problem},
	{"permissions", decode_text, MEMBER(cdi_device_node, permissions),
	 .problem = permissions_problem},
	{"major", decode_device_number, MEMBER(cdi_device_node, major)},
	{"minor", decode_device_number, MEMBER(cdi_device_node, minor)},
	{"fileMode", decode_mode, MEMBER(cdi_device_node, file_mode),
	 HAS(cdi_device_node, has_file_mode)},
	{"uid", decode_uint32, MEMBER(cdi_device_node, uid), HAS(cdi_device_node, has_uid)},
	{"gid", decode_uint32, MEMBER(cdi_device_node, gid), HAS(cdi_device_node, has_gid)},
};
OBJECT(node, cdi_device_node, .strays = node_strays, .has_place = true);

static const struct field net_device_fields[] = {
	{"hostInterfaceName", decode_text, MEMBER(cdi_net_device, host_interface_name),
	 .required = true, .unique = true, .doubt = cdi_interface_problem,
	 .form = "hostInterfaceName: eth1"},
	{"name", decode_text, MEMBER(cdi_net_device, name), .required = true, .unique = true,
	 .doubt = cdi_interface_problem, .form = "name: net1"},
};
OBJECT(net_device, cdi_net_device, .has_place = true);

static const struct field hook_fields[] = {
	{"hookName", decode_text, MEMBER(cdi_hook, hook_name), .required = true,
	 .problem = hook_name_problem, .form = "hookName: createContainer"},
	{"path", decode_text, MEMBER(cdi_hook, path), .required = true, .problem = program_problem,
	 .doubt = program_doubt, .form = "path: /usr/bin/x"},
	{"args", decode_texts, MEMBER(cdi_hook, args), .drop_null = true, .form = "args: [x, -v]"},
	{"env", decode_texts, MEMBER(cdi_hook, env), .drop_null = true, .problem = env_problem,
	 .doubt = env_doubt, .form = "env: [NAME=value]"},
	{"timeout", decode_timeout, MEMBER(cdi_hook, timeout), HAS(cdi_hook, has_timeout)},
};
OBJECT(hook, cdi_hook, .strays = hook_strays, .has_place = true);

static const struct field mount_fields[] = {
	{"hostPath", decode_text, MEMBER(cdi_mount, host_path), .required = true,
	 .problem = long_path_problem, .form = "hostPath: /usr/lib/x.so"},
	{"containerPath", decode_text, MEMBER(cdi_mount, container_path), .required = true,
	 .problem = path_problem, .form = "containerPath: /usr/lib/x.so"},
	{"type", decode_text, MEMBER(cdi_mount, type), .since = V0_4_0, .overlooked = true},
	{"options", decode_texts, MEMBER(cdi_mount, options), .drop_null = true,
	 .form = "options: [ro, bind]"},
};
OBJECT(mount, cdi_mount, .strays = mount_strays, .has_place = true);

static const struct field rdt_fields[] = {
	{"closID", decode_text, MEMBER(cdi_intel_rdt, clos_id), .problem = clos_id_problem},
	{"l3CacheSchema", decode_text, MEMBER(cdi_intel_rdt, l3_cache_schema)},
	{"memBwSchema", decode_text, MEMBER(cdi_intel_rdt, mem_bw_schema)},
	{"schemata", decode_texts, MEMBER(cdi_intel_rdt, schemata),
	 HAS(cdi_intel_rdt, has_schemata), .drop_null = true, .since = V1_1_0,
	 .since_if_empty = true, .form = "schemata: [\"L3:0=f\"]"},
	{"enableMonitoring", decode_bool, MEMBER(cdi_intel_rdt, enable_monitoring),
	 .since = V1_1_0},
	{"enableCMT", decode_bool, MEMBER(cdi_intel_rdt, enable_cmt), .until = V1_0_0,
	 .form = "enableMonitoring"},
	{"enableMBM", decode_bool, MEMBER(cdi_intel_rdt, enable_mbm), .until = V1_0_0,
	 .form = "enableMonitoring"},
};
OBJECT(rdt, cdi_intel_rdt, .has_place = true);

static const struct field edits_fields[] = {
	{"env", decode_texts, MEMBER(cdi_edits, env), .drop_null = true, .problem = env_problem,
	 .doubt = env_doubt, .form = "env: [NAME=value]"},
	{"deviceNodes", decode_list, MEMBER(cdi_edits, device_nodes), .object = &node_object,
	 .form = "deviceNodes: [{path: /dev/x}]"},
	{"netDevices", decode_list, MEMBER(cdi_edits, net_devices), .object = &net_device_object,
	 .since = V1_1_0, .form = "netDevices: [{hostInterfaceName: eth1, name: net1}]"},
	{"hooks", decode_list, MEMBER(cdi_edits, hooks), .object = &hook_object,
	 .form = "hooks: [{hookName: createContainer, path: /usr/bin/x, args: [x, -v]}]"},
	{"mounts", decode_list, MEMBER(cdi_edits, mounts), .object = &mount_object,
	 .form = "mounts: [{hostPath: /usr/lib/x.so, containerPath: /usr/lib/x.so, options: [ro, "
		 "bind]}]"},
	{"intelRdt", decode_pointer, MEMBER(cdi_edits, intel_rdt), .object = &rdt_object,
	 .since = V0_7_0, .form = "intelRdt: {closID: NAME}"},
	{"additionalGids", decode_uint32s, MEMBER(cdi_edits, additional_gids), .drop_null = true,
	 .since = V0_7_0, .form = "additionalGids: [44]"},
};
OBJECT(edits, cdi_edits, .strays = edits_strays, .check = NULL);

static const struct field device_fields[] = {
	{"name", decode_name, MEMBER(cdi_device, name), .required = true, .unique = true,
	 .problem = cdi_device_problem, .form = "name: NAME"},
	{"annotations", decode_annotations, MEMBER(cdi_device, annotations), .since = V0_6_0,
	 .form = "annotations: {key: value}"},
	{"containerEdits", decode_member, MEMBER(cdi_device, edits), .object = &edits_object,
	 .form = "containerEdits: {env: [NAME=value], deviceNodes: [{path: /dev/x}]}"},
};
OBJECT(device, cdi_device, .strays = device_strays, .has_place = true, .check = check_device);

static const struct field spec_fields[] = {
	{"cdiVersion", decode_version, MEMBER(cdi_spec, version), .required = true,
	 .form = "cdiVersion: \"0.6.0\""},
	{"kind", decode_kind, MEMBER(cdi_spec, kind), .required = true,
	 .form = "kind: vendor.com/class"},
	{"annotations", decode_annotations, MEMBER(cdi_spec, annotations), .since = V0_6_0,
	 .form = "annotations: {key: value}"},
	{"containerEdits", decode_member, MEMBER(cdi_spec, edits), .object = &edits_object,
	 .form = "containerEdits: {env: [NAME=value], deviceNodes: [{path: /dev/x}]}"},
	{"devices", decode_list, MEMBER(cdi_spec, devices), .object = &device_object,
	 .required = true, .drop_null = true, .last_counts = true,
	 .form = "devices: [{name: NAME, containerEdits: {deviceNodes: [{path: /dev/x}]}}]"},
};
OBJECT(spec, cdi_spec, .strays = spec_strays, .check = NULL);

/*
 * The file
 */

/* The kind of whatever could be read of a file. */
static int read_kind(struct decoder *d, const struct value *root, const char **ret_kind)
{
	const struct value *kind =
		root && root->kind == VALUE_MAP ? decode_get(root, "kind") : NULL;

	*ret_kind = NULL;
	if (!kind || kind->kind != VALUE_SCALAR)
		return 0;
	*ret_kind = decode_copy(d, kind);
	return *ret_kind ? 0 : error_memory(d->report->err);
}

/*
 * The version comes before all else: that a file is newer than we explains keys that we do not
 * know.
 */
static int read_version(struct decoder *d, const struct value *root, struct cdi_spec *spec)
{
	const struct value *version = decode_get(root, "cdiVersion");

	if (!version)
		return 0; /* the table says that it is missing */
	size_t path_len = decode_push(d, "cdiVersion");
	int r = decode_version(d, &spec_fields[0], version, &spec->version);
	decode_pop(d, path_len);
	return r;
}

static int decode_spec(struct decoder *d, const struct value *root, struct cdi_spec **ret_spec)
{
	struct cdi_spec *spec = arena_new(d->arena, struct cdi_spec);
	int r = decode_expect(d, NULL, root, VALUE_MAP);

	if (r < 0)
		return r;
	if (!spec)
		return error_memory(d->report->err);
	spec->file = arena_strdup(d->arena, d->report->file);
	if (!spec->file)
		return error_memory(d->report->err);
	r = decode_go_on(d, read_version(d, root, spec));
	if (r >= 0)
		r = decode_object(d, &spec_object, root, spec);
	if (r >= 0)
		*ret_spec = spec;
	return r;
}

static int load(struct arena *arena, const struct cdi_report *report, const char *data, size_t size,
		bool lenient, struct cdi_spec **ret_spec, const char **ret_kind)
{
	/* The tree is several times as large as the structs, and a run may read a thousand files.
	 */
	__attribute__((cleanup(arena_done))) struct arena scratch;
	const struct value *root;
	struct decoder d = {
		.arena = arena,
		.scratch = &scratch,
		.report = report,
		.lenient = lenient,
	};
	int r, kind_r;

	arena_init(&scratch, LIMIT_MEMORY);
	*ret_kind = NULL;
	r = spec_read(&scratch, report, data, size, &root);
	if (r == -ENOMEM)
		return r;
	/* Whose file it is matters most when it is broken. */
	kind_r = read_kind(&d, root, ret_kind);
	if (kind_r < 0)
		return kind_r;
	if (r < 0)
		return r;
	return decode_spec(&d, root, ret_spec);
}

int cdi_spec_parse(struct arena *arena, const char *file, const char *data, size_t size,
		   bool lenient, struct notes *notes, struct cdi_spec **ret_spec,
		   const char **ret_kind, struct error *err)
{
	const struct cdi_report report = {.file = file, .notes = notes, .err = err};

	return load(arena, &report, data, size, lenient, ret_spec, ret_kind);
}

int cdi_spec_check(struct arena *arena, const char *file, const char *data, size_t size,
		   bool lenient, struct cdi_problem_list *ret_problems, struct cdi_spec **ret_spec,
		   const char **ret_kind, struct error *err)
{
	struct error last = {0};
	const struct cdi_report report = {
		.file = file, .err = &last, .problems = ret_problems, .arena = arena};

	*ret_problems = (struct cdi_problem_list){0};
	*ret_spec = NULL;
	int r = load(arena, &report, data, size, lenient, ret_spec, ret_kind);
	if (r == -ENOMEM)
		return error_memory(err);
	if (ret_problems->n_errors)
		*ret_spec = NULL;
	cdi_problem_sort(ret_problems);
	return 0;
}
