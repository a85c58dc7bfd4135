/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdi_registry_look_up() passes over files that cannot matter. This is the test that they never do:
 * spec directories and requests by chance, looked up with and without it. The files write their
 * kind in all the ways that YAML has for a word.
 */
#include "tree.h"

#include "cdi-registry.h"

#define ROUNDS 1500
#define SEED 20261130

static const char *const kinds[] = {"v.com/c", "v.com/cc", "w.org/c", "v.com/d"};
#define N_KINDS 4

static unsigned chance(unsigned n)
{
	return (unsigned)rand() % n;
}

/* Ways to write a kind; %s is the kind, %.*s its vendor, and the rest is behind its slash. */
enum {
	PLAIN,
	SINGLE_QUOTES,
	DOUBLE_QUOTES,
	TAGGED,
	BLOCK,
	ANCHOR,
	MERGED,
	LONG_KEY,
	OTHER_CASE,
	SLASH_ESCAPED,
	LETTER_ESCAPED,
	LINE_CONTINUED,
	BINARY,
	KEY_ESCAPED,
	ONLY_A_COMMENT,
	NOT_AT_ALL,
	WAYS
};

static void write_kind(char *out, size_t size, unsigned way, const char *kind)
{
	static const char *const binary[N_KINDS] = {
		"di5jb20vYw==", "di5jb20vY2M=", "dy5vcmcvYw==", "di5jb20vZA=="};
	const char *class = strchr(kind, '/') + 1;
	int vendor = (int)(class - kind) - 1;
	size_t i;

	switch (way) {
	case SINGLE_QUOTES:
		snprintf(out, size, "kind: '%s'\n", kind);
		return;
	case DOUBLE_QUOTES:
		snprintf(out, size, "\"kind\" : \"%s\"\n", kind);
		return;
	case TAGGED:
		snprintf(out, size, "kind: !!str %s\n", kind);
		return;
	case BLOCK:
		snprintf(out, size, "kind: >-\n  %s\n", kind);
		return;
	case ANCHOR:
		snprintf(out, size, "annotations: {a: &k %s}\nkind: *k\n", kind);
		return;
	case MERGED:
		snprintf(out, size, "<<: {kind: %s}\n", kind);
		return;
	case LONG_KEY:
		snprintf(out, size, "? kind\n: %s\n", kind);
		return;
	case OTHER_CASE:
		snprintf(out, size, "KIND: %s # and no other\n", kind);
		return;
	case SLASH_ESCAPED:
		snprintf(out, size, "kind: \"%.*s\\/%s\"\n", vendor, kind, class);
		return;
	case LETTER_ESCAPED:
		snprintf(out, size, "kind: \"\\x%02x%s\"\n", (unsigned)kind[0], kind + 1);
		return;
	case LINE_CONTINUED:
		snprintf(out, size, "kind: \"%.*s\\\n  /%s\"\n", vendor, kind, class);
		return;
	case BINARY:
		for (i = 0; kinds[i] != kind; i++)
			;
		snprintf(out, size, "kind: !!binary %s\n", binary[i]);
		return;
	case KEY_ESCAPED:
		snprintf(out, size, "\"k\\u0069nd\": %s\n", kind);
		return;
	case ONLY_A_COMMENT:
		snprintf(out, size, "# %s\nkind: x.net/c\n", kind);
		return;
	case NOT_AT_ALL:
		snprintf(out, size, "# nothing\n");
		return;
	default:
		snprintf(out, size, "kind: %s\n", kind);
	}
}

/* "a" to UTF-16: little or big endian, with a byte order mark. */
static void write_utf_16(const struct tree *tree, const char *path, const char *text, bool big)
{
	int fd = openat(tree->fd, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_int_equal(write(fd, big ? "\xfe\xff" : "\xff\xfe", 2), 2);
	for (; *text; text++) {
		const char pair[] = {big ? '\0' : *text, big ? *text : '\0'};
		assert_int_equal(write(fd, pair, 2), 2);
	}
	close(fd);
}

static void add_file(const struct tree *tree, const char *path)
{
	static const char *const breaks[] = {"", "foo: bar\n", "devices: [\n", "\tx\n"};
	char kind[256], text[1024];
	size_t used;

	write_kind(kind, sizeof(kind), chance(WAYS), kinds[chance(N_KINDS)]);
	used = (size_t)snprintf(text, sizeof(text), "cdiVersion: 1.1.0\n%sdevices:\n", kind);
	for (unsigned i = 0, n = 1 + chance(3); i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "- {name: \"%u\", containerEdits: {env: [A=%u]}}\n",
					 i * (1 + chance(2)), chance(100));
	snprintf(text + used, sizeof(text) - used, "%s", breaks[chance(6) ? 0 : chance(4)]);
	if (chance(8) == 0)
		write_utf_16(tree, path, text, chance(2));
	else
		tree_file(tree, path, text);
	if (chance(20) == 0)
		tree_mode(tree, path, 0666);
}

/* Files of a round are written over those of the rounds before, or removed. */
static void make_directories(const struct tree *tree)
{
	static const char *const files[] = {"/etc/cdi/a.yaml", "/etc/cdi/b.json",
					    "/etc/cdi/c.yaml", "/run/cdi/a.yaml",
					    "/run/cdi/d.json", "/run/cdi/e.yaml"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		unlinkat(tree->fd, files[i] + 1, 0);
		if (chance(2))
			add_file(tree, files[i]);
	}
}

static void make_requests(struct arena *arena, struct request_list *requests)
{
	for (unsigned i = 0, n = 1 + chance(2); i < n; i++) {
		struct request *request = array_add(arena, requests);

		if (chance(12) == 0)
			request->device = arena_printf(arena, "%u", chance(4));
		else
			request->device =
				arena_printf(arena, "%s=%u", kinds[chance(N_KINDS)], chance(3));
	}
}

/* What a look-up came to, notes apart. */
struct outcome {
	int r;
	struct cdi_registry registry;
	struct cdi_found_list found;
	struct error err;
	struct notes notes;
};

static void assert_same(const struct outcome *all, const struct outcome *some)
{
	char text_all[ERROR_TEXT_MAX], text_some[ERROR_TEXT_MAX];

	assert_string_equal(error_text(&all->err, text_all), error_text(&some->err, text_some));
	assert_int_equal(all->r, some->r);
	assert_int_equal(all->err.exit_code, some->err.exit_code);
	if (all->r < 0)
		return;
	assert_int_equal(all->found.n, some->found.n);
	for (size_t i = 0; i < all->found.n; i++) {
		const struct cdi_found *a = &all->found.items[i], *b = &some->found.items[i];

		assert_string_equal(a->name, b->name);
		assert_string_equal(a->spec->file, b->spec->file);
		assert_int_equal(a->device->place.line, b->device->place.line);
	}
	/* Nothing is noted that would not be noted otherwise. */
	for (size_t i = 0, j = 0; i < some->notes.list.n; i++, j++) {
		while (j < all->notes.list.n &&
		       strcmp(all->notes.list.items[j].text, some->notes.list.items[i].text) != 0)
			j++;
		assert_true(j < all->notes.list.n);
	}
}

static void test_no_result_changes(void **state)
{
	static const char *dirs[] = {"/etc/cdi", "/run/cdi"};
	const struct string_list dir_list = {.items = dirs, .n = 2};
	size_t passed_over = 0, n_found = 0;
	struct tree tree;

	(void)state;
	srand(SEED);
	tree_init(&tree);
	tree_dir(&tree, "/etc/cdi");
	tree_dir(&tree, "/run/cdi");
	for (int round = 0; round < ROUNDS; round++) {
		const struct cdi_registry_options options = {
			.trust = {.root_fd = tree.fd, .owner = geteuid()},
			.dirs = &dir_list,
		};
		struct outcome all = {0}, some = {0};
		struct request_list requests = {0};
		struct arena arena;

		arena_init(&arena, LIMIT_MEMORY);
		all.notes.arena = some.notes.arena = &arena;
		make_directories(&tree);
		make_requests(&arena, &requests);
		assert_int_equal(
			cdi_registry_load(&arena, &options, &all.notes, &all.registry, &all.err),
			0);
		all.r = cdi_registry_find(&arena, &all.registry, &requests, &all.found, &all.err);
		some.r = cdi_registry_look_up(&arena, &options, &requests, &some.notes,
					      &some.registry, &some.found, &some.err);
		assert_same(&all, &some);
		passed_over += some.r == 0 ? some.registry.passed_over : 0;
		n_found += some.r == 0;
		arena_done(&arena);
	}
	tree_done(&tree);
	/* Both happened often enough to tell something. */
	print_message("# %d rounds: %zu found what was asked for and passed over %zu files\n",
		      ROUNDS, n_found, passed_over);
	assert_true(n_found > ROUNDS / 10);
	assert_true(passed_over > ROUNDS / 10);
}

static void test_memory(void **state)
{
	static const char *dirs[] = {"/etc/cdi", "/run/cdi"};
	const struct string_list dir_list = {.items = dirs, .n = 2};
	struct request items[] = {{.device = "x.com/c=0"}, {.device = "v.com/c=1"}};
	const struct request_list requests = {.items = items, .n = 2};
	struct tree tree;
	int r = -ENOMEM;

	(void)state;
	tree_init(&tree);
	tree_dir(&tree, "/etc/cdi");
	tree_file(&tree, "/etc/cdi/w.yaml", "kind: w.com/c\n");
	tree_file(&tree, "/etc/cdi/x.yaml",
		  "cdiVersion: 1.1.0\nkind: x.com/c\n"
		  "devices: [{name: '0', containerEdits: {env: [A=1]}}]\n");
	for (size_t limit = 0; r == -ENOMEM; limit += 16) {
		const struct cdi_registry_options options = {
			.trust = {.root_fd = tree.fd, .owner = geteuid()},
			.dirs = &dir_list,
		};
		struct outcome outcome = {0};
		struct arena arena;

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		r = cdi_registry_look_up(&arena, &options, &requests, NULL, &outcome.registry,
					 &outcome.found, &outcome.err);
		assert_true(r < 0);
		if (r == -ENOMEM)
			assert_error(&outcome.err, EXIT_CODE_OTHER,
				     "memory: Cannot allocate memory");
		else
			assert_error(
				&outcome.err, EXIT_CODE_REQUEST,
				"device v.com/c=1: no spec file has the kind v.com/c (did you mean "
				"x.com/c?); kinds found: x.com/c; searched /etc/cdi, /run/cdi "
				"(missing); set aside: /etc/cdi/w.yaml:1:1: cdiVersion: is "
				"missing: write cdiVersion: \"0.6.0\"");
		arena_done(&arena);
	}
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_result_changes),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
