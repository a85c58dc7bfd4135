/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include "cdi-inventory.h"

struct fixture {
	struct tree tree;
	struct arena arena;
	struct string_list dirs;
	struct cdi_registry registry;
	struct cdi_inventory inventory;
	struct cdi_checked checked;
	struct error err;
};

static const char *default_dirs[] = {"/etc/cdi", "/run/cdi"};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tree_init(&f->tree);
	tree_dir(&f->tree, "/etc/cdi");
	tree_dir(&f->tree, "/run/cdi");
	arena_init(&f->arena, LIMIT_MEMORY);
	f->dirs = (struct string_list){.items = default_dirs, .n = 2};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_done(&f->arena);
	tree_done(&f->tree);
	free(f);
	return 0;
}

/* A file with devices, each in a line of its own from line 4 on. */
static void add_spec(struct fixture *f, const char *path, const char *kind, const char *first,
		     const char *second)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "cdiVersion: 1.1.0\nkind: %s\ndevices:\n"
		 "- {name: \"%s\", containerEdits: {env: [A=1]}}\n"
		 "- {name: \"%s\", containerEdits: {env: [A=1]}}\n",
		 kind, first, second);
	tree_file(&f->tree, path, text);
}

static struct cdi_registry_options options_of(struct fixture *f)
{
	return (struct cdi_registry_options){
		.trust = {.root_fd = f->tree.fd, .owner = geteuid()},
		.dirs = &f->dirs,
	};
}

static void make(struct fixture *f)
{
	struct cdi_registry_options options = options_of(f);

	assert_int_equal(cdi_registry_load(&f->arena, &options, NULL, &f->registry, &f->err), 0);
	assert_int_equal(cdi_inventory_make(&f->arena, &f->registry, &f->inventory, &f->err), 0);
}

static void assert_definition(const struct fixture *f, size_t i, const char *name, const char *file,
			      enum cdi_standing standing, const char *other)
{
	assert_true(i < f->inventory.n);
	const struct cdi_definition *definition = &f->inventory.items[i];
	assert_string_equal(definition->name, name);
	assert_string_equal(definition->spec->file, file);
	assert_string_equal(definition->device->name, strchr(name, '=') + 1);
	assert_int_equal(definition->priority, strncmp(file, "/run", 4) == 0);
	assert_int_equal(definition->standing, standing);
	assert_int_equal(definition->other != NULL, other != NULL);
	if (other)
		assert_string_equal(definition->other->spec->file, other);
}

static void test_order(void **state)
{
	struct fixture *f = *state;

	make(f);
	assert_int_equal(f->inventory.n, 0);
	add_spec(f, "/etc/cdi/a.yaml", "v.com/b", "10", "9");
	add_spec(f, "/run/cdi/b.yaml", "v.com/a", "x", "2");
	make(f);
	assert_int_equal(f->inventory.n, 4);
	assert_definition(f, 0, "v.com/a=2", "/run/cdi/b.yaml", CDI_IN_EFFECT, NULL);
	assert_definition(f, 1, "v.com/a=x", "/run/cdi/b.yaml", CDI_IN_EFFECT, NULL);
	assert_definition(f, 2, "v.com/b=9", "/etc/cdi/a.yaml", CDI_IN_EFFECT, NULL);
	assert_definition(f, 3, "v.com/b=10", "/etc/cdi/a.yaml", CDI_IN_EFFECT, NULL);
	assert_int_equal(f->inventory.items[2].device->place.line, 5);
	assert_int_equal(f->inventory.items[2].device->place.column, 3);
}

static void test_standing(void **state)
{
	struct fixture *f = *state;

	add_spec(f, "/etc/cdi/a.yaml", "v.com/a", "x", "y");
	add_spec(f, "/etc/cdi/b.yaml", "v.com/a", "x", "z");
	add_spec(f, "/etc/cdi/c.yaml", "v.com/a", "x", "u");
	add_spec(f, "/run/cdi/a.yaml", "v.com/a", "y", "z");
	add_spec(f, "/run/cdi/b.yaml", "v.com/a", "y", "w");
	make(f);
	assert_int_equal(f->inventory.n, 10);
	assert_definition(f, 0, "v.com/a=u", "/etc/cdi/c.yaml", CDI_IN_EFFECT, NULL);
	assert_definition(f, 1, "v.com/a=w", "/run/cdi/b.yaml", CDI_IN_EFFECT, NULL);
	assert_definition(f, 2, "v.com/a=x", "/etc/cdi/a.yaml", CDI_CONFLICT, "/etc/cdi/b.yaml");
	assert_definition(f, 3, "v.com/a=x", "/etc/cdi/b.yaml", CDI_CONFLICT, "/etc/cdi/a.yaml");
	assert_definition(f, 4, "v.com/a=x", "/etc/cdi/c.yaml", CDI_CONFLICT, "/etc/cdi/a.yaml");
	assert_definition(f, 5, "v.com/a=y", "/run/cdi/a.yaml", CDI_CONFLICT, "/run/cdi/b.yaml");
	assert_definition(f, 6, "v.com/a=y", "/run/cdi/b.yaml", CDI_CONFLICT, "/run/cdi/a.yaml");
	assert_definition(f, 7, "v.com/a=y", "/etc/cdi/a.yaml", CDI_SHADOWED, "/run/cdi/a.yaml");
	assert_definition(f, 8, "v.com/a=z", "/run/cdi/a.yaml", CDI_IN_EFFECT, NULL);
	assert_definition(f, 9, "v.com/a=z", "/etc/cdi/b.yaml", CDI_SHADOWED, "/run/cdi/a.yaml");
}

/* What the hook finds is what is in effect here. */
static void test_as_the_hook_finds(void **state)
{
	struct fixture *f = *state;

	add_spec(f, "/etc/cdi/a.yaml", "v.com/a", "x", "y");
	add_spec(f, "/etc/cdi/b.yaml", "v.com/a", "x", "z");
	add_spec(f, "/run/cdi/a.yaml", "v.com/a", "y", "z");
	make(f);
	for (size_t i = 0; i < f->inventory.n; i++) {
		const struct cdi_definition *definition = &f->inventory.items[i];
		struct request request = {.device = definition->name};
		const struct request_list requests = {.items = &request, .n = 1};
		struct cdi_found_list found = {0};
		struct error err = {0};

		int r = cdi_registry_find(&f->arena, &f->registry, &requests, &found, &err);
		assert_int_equal(r < 0, definition->standing == CDI_CONFLICT);
		if (r == 0 && definition->standing == CDI_IN_EFFECT)
			assert_ptr_equal(found.items[0].device, definition->device);
		if (r == 0 && definition->standing == CDI_SHADOWED)
			assert_ptr_equal(found.items[0].device, definition->other->device);
	}
}

/* All lines, as a person reads them. */
static const char *check(struct fixture *f)
{
	struct cdi_registry_options options = options_of(f);
	const char *lines = "";

	assert_int_equal(cdi_inventory_check(&f->arena, &options, &f->checked, &f->err), 0);
	for (size_t i = 0; i < f->checked.files.n; i++) {
		const struct cdi_file_problems *file = &f->checked.files.items[i];

		assert_true(file->problems.n > 0);
		for (size_t j = 0; j < file->problems.n; j++)
			lines = arena_printf(
				&f->arena, "%s%s%s\n", lines,
				file->problems.items[j].severity == CDI_WARNING ? "(warning) " : "",
				cdi_problem_text(&f->arena, file->file, &file->problems.items[j]));
	}
	return lines;
}

static void test_nothing_to_tell(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(check(f), "");
	assert_int_equal(f->checked.files.n_specs, 0);
	add_spec(f, "/etc/cdi/a.yaml", "v.com/a", "x", "y");
	add_spec(f, "/run/cdi/a.yaml", "v.com/a", "x", "y");
	assert_string_equal(check(f), "");
	assert_int_equal(f->checked.files.n_specs, 2);
	assert_int_equal(f->checked.registry.specs.n, 2);
}

static void test_everything_is_told(void **state)
{
	struct fixture *f = *state;

	add_spec(f, "/etc/cdi/a.yaml", "v.com/a", "x", "y");
	add_spec(f, "/etc/cdi/b.yaml", "v.com/a", "y", "z");
	tree_file(&f->tree, "/etc/cdi/c.json", "{\"kind\": \"c\", \"x\": 1}");
	tree_file(&f->tree, "/etc/cdi/d.yaml",
		  "cdiVersion: 1.1.0\nKind: v.com/d\n"
		  "devices: [{name: d, containerEdits: {env: [A=1]}}]\n");
	tree_link(&f->tree, "nowhere", "/etc/cdi/e.yaml");
	add_spec(f, "/etc/cdi/f.yaml", "v.com/f", "x", "y");
	tree_mode(&f->tree, "/etc/cdi/f.yaml", 0666);
	tree_file(&f->tree, "/etc/cdi/g.yml", "");
	tree_fifo(&f->tree, "/run/cdi/h.yaml");
	assert_string_equal(
		check(f),
		"(warning) /etc/cdi/g.yml: not read: the names of spec files end in .json or "
		".yaml\n"
		"/etc/cdi/a.yaml:5:3: devices[1]: v.com/a=y is defined at /etc/cdi/b.yaml:4:3 too, "
		"in "
		"the same directory: neither is used\n"
		"/etc/cdi/b.yaml:4:3: devices[0]: v.com/a=y is defined at /etc/cdi/a.yaml:5:3 too, "
		"in "
		"the same directory: neither is used\n"
		"/etc/cdi/c.json:1:1: cdiVersion: is missing: write cdiVersion: \"0.6.0\"\n"
		"/etc/cdi/c.json:1:1: devices: is missing: write devices: [{name: NAME, "
		"containerEdits: {deviceNodes: [{path: /dev/x}]}}]\n"
		"/etc/cdi/c.json:1:10: kind: \"c\" is not vendor/class\n"
		"/etc/cdi/c.json:1:15: unknown key \"x\", known here are cdiVersion, kind, "
		"annotations, containerEdits, devices\n"
		"(warning) /etc/cdi/d.yaml:2:1: key \"Kind\" should be spelt \"kind\"\n"
		"/etc/cdi/e.yaml: dangling link: open /etc/cdi/nowhere: No such file or directory\n"
		"/etc/cdi/f.yaml: not trusted: writable by its group and others (mode 0666): chmod "
		"go-w /etc/cdi/f.yaml\n"
		"/run/cdi/h.yaml: is a FIFO, not a regular file\n");
	assert_int_equal(f->checked.files.n_specs, 7);
	assert_int_equal(f->checked.registry.specs.n, 3);
	/* As without looking for everything. */
	make(f);
	assert_int_equal(f->registry.set_aside.n, f->checked.registry.set_aside.n);
	for (size_t i = 0; i < f->registry.set_aside.n; i++) {
		const struct cdi_set_aside *one = &f->registry.set_aside.items[i];
		const struct cdi_set_aside *other = &f->checked.registry.set_aside.items[i];

		assert_string_equal(one->file, other->file);
		assert_int_equal(one->exit_code, other->exit_code);
		assert_int_equal(!one->kind, !other->kind);
	}
}

static void test_bad_directory(void **state)
{
	struct fixture *f = *state;
	const char *dirs[] = {"/etc/cdi", "/run/cdi/file", "/absent", "/run/../cdi"};

	tree_file(&f->tree, "/run/cdi/file", "");
	f->dirs = (struct string_list){.items = dirs, .n = 4};
	assert_string_equal(check(f), "/run/cdi/file: Not a directory\n"
				      "/run/../cdi: the path contains ..\n");
	assert_int_equal(f->checked.files.n_specs, 0);
}

static void test_memory(void **state)
{
	struct fixture *f = *state;
	struct cdi_registry_options options = options_of(f);
	int r = -ENOMEM;

	add_spec(f, "/etc/cdi/a.yaml", "v.com/a", "x", "y");
	add_spec(f, "/etc/cdi/b.yaml", "v.com/a", "y", "z");
	tree_file(&f->tree, "/etc/cdi/c.json", "{\"kind\": \"c\", \"x\": 1}");
	tree_file(&f->tree, "/etc/cdi/g.yml", "");
	tree_fifo(&f->tree, "/etc/cdi/h.yaml");
	for (size_t limit = 0; r < 0; limit += 16) {
		struct cdi_checked checked = {0};
		struct error err = {0};
		struct arena small;

		assert_true(limit < 1000000);
		arena_init(&small, limit);
		r = cdi_inventory_check(&small, &options, &checked, &err);
		assert_true(r == 0 || r == -ENOMEM);
		if (r < 0)
			assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&small);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_standing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_as_the_hook_finds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_to_tell, setup, teardown),
		cmocka_unit_test_setup_teardown(test_everything_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
