/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This project's side of the comparison with the reference library: reads cases, a JSON object a
 * line, and answers each with one line that says which spec files are good and what they hold, which
 * file each device comes from, and what the plan is. reference.go answers in the same words where
 * both have them.
 *
 * Called with a directory, which becomes the root of all paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "cdi-registry.h"
#include "config-edit.h"
#include "json.h"
#include "oci-config.h"
#include "plan.h"
#include "request.h"

/* Whatever is not there counts as a plain file, since the reference never looks for the source of a
 * mount; but not what is below this. */
#define ABSENT "/absent/"

static struct json_object *checked(struct json_object *value)
{
	if (!value)
		abort();
	return value;
}

#define NEW_OBJECT() checked(json_object_new_object())
#define NEW_ARRAY() checked(json_object_new_array())

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	add(object, key, checked(json_object_new_string(text)));
}

static void add_number(struct json_object *object, const char *key, int64_t number)
{
	add(object, key, checked(json_object_new_int64(number)));
}

static void append(struct json_object *array, struct json_object *value)
{
	json_object_array_add(array, value);
}

static void append_text(struct json_object *array, const char *text)
{
	append(array, checked(json_object_new_string(text)));
}

/*
 * Specs, as the reference's structs encode: what is empty is left out
 */

static void add_if_text(struct json_object *object, const char *key, const char *text)
{
	if (text && *text)
		add_text(object, key, text);
}

static void add_if_number(struct json_object *object, const char *key, bool has, int64_t number)
{
	if (has)
		add_number(object, key, number);
}

static void add_if_array(struct json_object *object, const char *key, struct json_object *array)
{
	if (json_object_array_length(array))
		add(object, key, array);
	else
		json_object_put(array);
}

static void add_if_texts(struct json_object *object, const char *key,
			 const struct string_list *texts)
{
	struct json_object *array = NEW_ARRAY();

	for (size_t i = 0; i < texts->n; i++)
		append_text(array, texts->items[i]);
	add_if_array(object, key, array);
}

static struct json_object *node_value(const struct cdi_device_node *node)
{
	struct json_object *value = NEW_OBJECT();

	add_text(value, "path", node->path);
	add_if_text(value, "hostPath", node->host_path);
	add_if_text(value, "type", node->type);
	add_if_text(value, "permissions", node->permissions);
	add_if_number(value, "major", node->major != 0, node->major);
	add_if_number(value, "minor", node->minor != 0, node->minor);
	add_if_number(value, "fileMode", node->has_file_mode, node->file_mode);
	add_if_number(value, "uid", node->has_uid, node->uid);
	add_if_number(value, "gid", node->has_gid, node->gid);
	return value;
}

static struct json_object *net_device_value(const struct cdi_net_device *device)
{
	struct json_object *value = NEW_OBJECT();

	add_text(value, "hostInterfaceName", device->host_interface_name);
	add_text(value, "name", device->name);
	return value;
}

static struct json_object *mount_value(const struct cdi_mount *mount)
{
	struct json_object *value = NEW_OBJECT();

	add_text(value, "hostPath", mount->host_path);
	add_text(value, "containerPath", mount->container_path);
	add_if_text(value, "type", mount->type);
	add_if_texts(value, "options", &mount->options);
	return value;
}

static struct json_object *hook_value(const struct cdi_hook *hook)
{
	struct json_object *value = NEW_OBJECT();

	add_text(value, "hookName", hook->hook_name);
	add_text(value, "path", hook->path);
	add_if_texts(value, "args", &hook->args);
	add_if_texts(value, "env", &hook->env);
	add_if_number(value, "timeout", hook->has_timeout, hook->timeout);
	return value;
}

static struct json_object *rdt_value(const struct cdi_intel_rdt *rdt)
{
	struct json_object *value = NEW_OBJECT();

	add_if_text(value, "closID", rdt->clos_id);
	add_if_text(value, "l3CacheSchema", rdt->l3_cache_schema);
	add_if_text(value, "memBwSchema", rdt->mem_bw_schema);
	add_if_texts(value, "schemata", &rdt->schemata);
	if (rdt->enable_monitoring)
		add(value, "enableMonitoring", checked(json_object_new_boolean(true)));
	return value;
}

static struct json_object *edits_value(const struct cdi_edits *edits)
{
	struct json_object *value = NEW_OBJECT(), *array;

	add_if_texts(value, "env", &edits->env);
	array = NEW_ARRAY();
	for (size_t i = 0; i < edits->device_nodes.n; i++)
		append(array, node_value(&edits->device_nodes.items[i]));
	add_if_array(value, "deviceNodes", array);
	array = NEW_ARRAY();
	for (size_t i = 0; i < edits->net_devices.n; i++)
		append(array, net_device_value(&edits->net_devices.items[i]));
	add_if_array(value, "netDevices", array);
	array = NEW_ARRAY();
	for (size_t i = 0; i < edits->mounts.n; i++)
		append(array, mount_value(&edits->mounts.items[i]));
	add_if_array(value, "mounts", array);
	array = NEW_ARRAY();
	for (size_t i = 0; i < edits->hooks.n; i++)
		append(array, hook_value(&edits->hooks.items[i]));
	add_if_array(value, "hooks", array);
	if (edits->intel_rdt)
		add(value, "intelRdt", rdt_value(edits->intel_rdt));
	array = NEW_ARRAY();
	for (size_t i = 0; i < edits->additional_gids.n; i++)
		append(array, checked(json_object_new_int64(edits->additional_gids.items[i])));
	add_if_array(value, "additionalGids", array);
	return value;
}

static void add_if_annotations(struct json_object *object, const struct cdi_annotation *items,
			       size_t n)
{
	struct json_object *value = NEW_OBJECT();

	for (size_t i = 0; i < n; i++)
		add_text(value, items[i].key, items[i].value);
	if (n)
		add(object, "annotations", value);
	else
		json_object_put(value);
}

static struct json_object *spec_value(const struct cdi_spec *spec)
{
	struct json_object *value = NEW_OBJECT(), *devices = NEW_ARRAY();

	add_text(value, "cdiVersion", spec->version);
	add_text(value, "kind", spec->kind);
	add_if_annotations(value, spec->annotations.items, spec->annotations.n);
	for (size_t i = 0; i < spec->devices.n; i++) {
		const struct cdi_device *device = &spec->devices.items[i];
		struct json_object *item = NEW_OBJECT();

		add_text(item, "name", device->name);
		add_if_annotations(item, device->annotations.items, device->annotations.n);
		add(item, "containerEdits", edits_value(&device->edits));
		append(devices, item);
	}
	add(value, "devices", devices);
	add(value, "containerEdits", edits_value(&spec->edits));
	return value;
}

/*
 * The case
 */

struct test_case {
	struct arena arena;
	struct notes notes;
	struct cdi_registry registry;
	struct request_list requests;
	struct cdi_found_list found;
	const char *config_text;
	struct oci_config config;
	struct plan plan;
	struct json_object *answer;
};

static struct host_view real_host;

static int look_up(void *data, const char *path, struct host_node *ret_node)
{
	int r = real_host.look_up(real_host.data, path, ret_node);

	(void)data;
	if ((r != -ENOENT && r != -ENOTDIR) || strncmp(path, ABSENT, strlen(ABSENT)) == 0)
		return r;
	*ret_node = (struct host_node){.mode = S_IFREG | 0644};
	return 0;
}

static int no_library(void *data, struct arena *arena, const char *path,
		      struct elf_library *ret_library, struct error *err)
{
	(void)data, (void)arena, (void)path, (void)ret_library, (void)err;
	return ELF_NOT_A_LIBRARY;
}

static int no_names(void *data, struct arena *arena, const char *path,
		    struct string_list *ret_names, struct error *err)
{
	(void)data, (void)arena, (void)path, (void)ret_names, (void)err;
	return 0;
}

static void add_files(struct test_case *c)
{
	struct json_object *files = NEW_OBJECT();

	add(c->answer, "files", files);
	for (size_t i = 0; i < c->registry.specs.n; i++) {
		const struct cdi_spec *spec = c->registry.specs.items[i].spec;
		struct json_object *file = NEW_OBJECT();

		add(file, "value", spec_value(spec));
		add(files, spec->file, file);
	}
	for (size_t i = 0; i < c->registry.set_aside.n; i++) {
		const struct cdi_set_aside *aside = &c->registry.set_aside.items[i];
		struct json_object *file = NEW_OBJECT();

		add_text(file, "error", aside->reason);
		add(files, aside->file, file);
	}
}

/* The file from which a device comes, or NULL. */
static const char *file_of(struct test_case *c, const char *device)
{
	struct request request = {.device = device, .annotation = "test"};
	const struct request_list requests = {.items = &request, .n = 1};
	struct cdi_found_list found;
	struct error err = {0};

	if (cdi_registry_find(&c->arena, &c->registry, &requests, &found, &err) < 0)
		return NULL;
	return found.items[0].spec->file;
}

static void add_devices(struct test_case *c)
{
	struct json_object *devices = NEW_OBJECT();

	add(c->answer, "devices", devices);
	for (size_t i = 0; i < c->registry.specs.n; i++) {
		const struct cdi_spec *spec = c->registry.specs.items[i].spec;

		for (size_t j = 0; j < spec->devices.n; j++) {
			const char *name = arena_printf(&c->arena, "%s=%s", spec->kind,
							spec->devices.items[j].name);
			const char *file = name ? file_of(c, name) : NULL;

			if (file)
				add_text(devices, name, file);
		}
	}
}

static void add_unresolved(struct test_case *c)
{
	struct json_object *unresolved = NEW_ARRAY();

	add(c->answer, "unresolved", unresolved);
	for (size_t i = 0; i < c->requests.n; i++)
		if (!file_of(c, c->requests.items[i].device))
			append_text(unresolved, c->requests.items[i].device);
}

/*
 * The plan
 */

static void add_nodes(struct test_case *c, struct json_object *plan)
{
	struct json_object *nodes = NEW_ARRAY(), *rules = NEW_ARRAY();

	for (size_t i = 0; i < c->plan.nodes.n; i++) {
		const struct plan_node *node = &c->plan.nodes.items[i];
		struct json_object *item = NEW_OBJECT();

		add_text(item, "path", node->path);
		add_text(item, "type",
			 S_ISBLK(node->type)    ? "b"
			 : S_ISFIFO(node->type) ? "p"
						: "c");
		add_number(item, "major", node->major);
		add_number(item, "minor", node->minor);
		add_number(item, "fileMode", node->mode);
		add_number(item, "uid", node->uid);
		add_number(item, "gid", node->gid);
		append(nodes, item);
	}
	for (size_t i = 0; i < c->plan.rules.n; i++) {
		const struct device_rule *rule = &c->plan.rules.items[i];
		struct json_object *item = NEW_OBJECT();
		const char access[] = {
			rule->access & DEVICE_READ ? 'r' : '-',
			rule->access & DEVICE_WRITE ? 'w' : '-',
			rule->access & DEVICE_MKNOD ? 'm' : '-',
			'\0',
		};

		add_text(item, "type", (const char[]){rule->type, '\0'});
		add_number(item, "major", rule->major);
		add_number(item, "minor", rule->minor);
		add_text(item, "access", access);
		append(rules, item);
	}
	add(plan, "nodes", nodes);
	add(plan, "rules", rules);
}

static void add_mounts(struct test_case *c, struct json_object *plan)
{
	struct json_object *mounts = NEW_ARRAY();

	for (size_t i = 0; i < c->plan.mounts.n; i++) {
		const struct plan_mount *mount = &c->plan.mounts.items[i];
		struct json_object *item = NEW_OBJECT();

		add_text(item, "source", mount->source);
		add_text(item, "destination", mount->destination);
		add_if_text(item, "type", mount->type);
		add_if_texts(item, "options", &mount->words);
		append(mounts, item);
	}
	add(plan, "mounts", mounts);
}

static void add_rest(struct test_case *c, struct json_object *plan)
{
	struct json_object *hooks = NEW_ARRAY(), *edits = NEW_ARRAY();

	for (size_t i = 0; i < c->plan.hooks.n; i++)
		append(hooks, hook_value(c->plan.hooks.items[i].hook));
	for (size_t i = 0; i < c->plan.env.n; i++)
		append_text(edits, arena_printf(&c->arena, "env %s", c->plan.env.items[i].entry));
	for (size_t i = 0; i < c->plan.gids.n; i++)
		append_text(edits, arena_printf(&c->arena, "additionalGids %u",
						c->plan.gids.items[i].gid));
	for (size_t i = 0; i < c->plan.net_devices.n; i++) {
		const struct cdi_net_device *device = c->plan.net_devices.items[i].device;

		append_text(edits, arena_printf(&c->arena, "netDevices %s:%s",
						device->host_interface_name, device->name));
	}
	if (c->plan.intel_rdt.rdt)
		append_text(edits, arena_printf(&c->arena, "intelRdt %s",
						c->plan.intel_rdt.rdt->clos_id
							? c->plan.intel_rdt.rdt->clos_id
							: ""));
	add(plan, "hooks", hooks);
	add(plan, "edits", edits);
}

/*
 * The way of the hook, up to the plan
 */

static int read_case(struct test_case *c, const struct json_at *root, struct string_list *dirs,
		     const char **ret_annotation, struct error *err)
{
	struct json_at list = json_member(root, "dirs"), config = json_member(root, "config");
	struct json_at annotation = json_member(root, "annotation");
	const char *text;
	size_t n;
	int r = json_get_array(&list, JSON_REQUIRED, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct json_at item = json_item(&list, i);
		const char **slot = array_add(&c->arena, dirs);

		r = slot ? json_get_string(&c->arena, &item, JSON_REQUIRED, slot, err)
			 : error_memory(err);
	}
	if (r >= 0)
		r = json_get_string(&c->arena, &annotation, JSON_REQUIRED, ret_annotation, err);
	if (r >= 0)
		r = json_get_object(&config, JSON_REQUIRED, err);
	if (r < 0)
		return r;
	text = json_object_to_json_string_ext(config.value, JSON_C_TO_STRING_PLAIN);
	c->config_text = arena_strdup(&c->arena, text);
	if (!c->config_text)
		return error_memory(err);
	return oci_config_parse(&c->arena, text, strlen(text), &c->config, err);
}

static int load(struct test_case *c, int root_fd, const struct string_list *dirs, struct error *err)
{
	const struct cdi_registry_options options = {
		.trust = {.root_fd = root_fd, .owner = geteuid()},
		.dirs = dirs,
	};
	int r = cdi_registry_load(&c->arena, &options, &c->notes, &c->registry, err);

	if (r == 0) {
		add_files(c);
		add_devices(c);
	}
	return r;
}

static int ask(struct test_case *c, const char *annotation, struct error *err)
{
	const struct string_list prefixes = {.items = (const char *[]){"cdi.k8s.io/"}, .n = 1};
	const struct string_list none = {0};
	struct oci_annotation item = {"cdi.k8s.io/test", annotation};
	const struct oci_state state = {.annotations = {&item, 1, 1}};
	struct json_object *names = NEW_ARRAY();
	int r = request_collect(&c->arena, &state, &prefixes, &none, &c->requests, err);

	for (size_t i = 0; r == 0 && i < c->requests.n; i++)
		append_text(names, c->requests.items[i].device);
	add(c->answer, "requests", names);
	if (r < 0)
		return r;
	add_unresolved(c);
	return cdi_registry_find(&c->arena, &c->registry, &c->requests, &c->found, err);
}

/*
 * The edited config. A second edit, for which the edited config is read anew, must find nothing to do.
 */
static int add_edited(struct test_case *c, const struct host_view *host,
		      const struct plan_options *options, struct error *err)
{
	struct json_object *value;
	struct oci_config config;
	struct plan plan;
	const char *edited, *again;
	size_t size, again_size;
	int r = config_edit(&c->arena, c->config_text, strlen(c->config_text), &c->plan, &edited,
			    &size, err);

	if (r == 0)
		r = json_parse(&c->arena, "config", edited, size, &value, err);
	if (r < 0)
		return r;
	add(c->answer, "edited", value);
	r = oci_config_parse(&c->arena, edited, size, &config, err);
	if (r == 0)
		r = plan_build(&c->arena, &c->found, &config, host, options, NULL, &plan, err);
	if (r == 0)
		r = config_edit(&c->arena, edited, size, &plan, &again, &again_size, err);
	if (r == 0 && again != edited)
		r = error_say(err, EXIT_CODE_OTHER, "edited twice: %s", again);
	return r;
}

static int make_plan(struct test_case *c, struct error *err)
{
	struct host_view host = real_host;
	const struct plan_options options = {.stage = STAGE_PRECREATE,
					     .vendor_hooks = PLAN_VENDOR_HOOKS_BUILTIN,
					     .ldcache = true};
	struct json_object *plan;
	int r;

	host.look_up = look_up;
	host.library = no_library;
	host.list = no_names;
	r = plan_build(&c->arena, &c->found, &c->config, &host, &options, &c->notes, &c->plan, err);
	if (r < 0)
		return r;
	plan = NEW_OBJECT();
	add_nodes(c, plan);
	add_mounts(c, plan);
	add_rest(c, plan);
	add(c->answer, "plan", plan);
	return add_edited(c, &host, &options, err);
}

static int run_case(struct test_case *c, int root_fd, const char *line, size_t size,
		    struct error *err)
{
	_cleanup_json_ struct json_object *value = NULL;
	struct string_list dirs = {0};
	const char *annotation = "";
	int r = json_parse(&c->arena, "case", line, size, &value, err);

	if (r < 0)
		return r;
	struct json_at root = json_root("case", value);
	r = read_case(c, &root, &dirs, &annotation, err);
	if (r == 0)
		r = load(c, root_fd, &dirs, err);
	if (r == 0)
		r = ask(c, annotation, err);
	if (r == 0)
		r = make_plan(c, err);
	return r;
}

static void answer_case(int root_fd, const char *line, size_t size)
{
	struct test_case c = {.notes = {.arena = &c.arena}, .answer = NEW_OBJECT()};
	struct json_object *notes = NEW_ARRAY();
	struct error err = {0};
	char text[ERROR_TEXT_MAX];

	arena_init(&c.arena, LIMIT_MEMORY);
	if (run_case(&c, root_fd, line, size, &err) < 0)
		add_text(c.answer, "error", error_text(&err, text));
	for (size_t i = 0; i < c.notes.list.n; i++)
		append_text(notes, c.notes.list.items[i].text);
	add(c.answer, "notes", notes);
	puts(json_object_to_json_string_ext(c.answer, JSON_C_TO_STRING_PLAIN));
	fflush(stdout);
	json_object_put(c.answer);
	arena_done(&c.arena);
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t size;
	int root_fd;

	if (argc != 2) {
		fprintf(stderr, "usage: %s ROOT\n", argv[0]);
		return 2;
	}
	if (chroot(argv[1]) < 0 || chdir("/") < 0) {
		perror(argv[1]);
		return 1;
	}
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	real_host = host_view_real(&root_fd, 0);
	while ((size = getline(&line, &cap, stdin)) > 0)
		answer_case(root_fd, line, (size_t)size);
	free(line);
	close(root_fd);
	return 0;
}
