/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <sys/sysmacros.h>

#include "host-node.h"

struct fixture {
	struct tree tree;
	size_t fds;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	tree_init(&fixture->tree);
	fixture->fds = count_fds();
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(count_fds(), fixture->fds);
	tree_done(&fixture->tree);
	free(fixture);
	return 0;
}

static struct host_node look_up(struct fixture *fixture, const char *path)
{
	struct host_node node;

	assert_int_equal(host_node_look_up(&fixture->tree.fd, path, &node), 0);
	return node;
}

static void test_files(void **state)
{
	struct fixture *fixture = *state;

	tree_file(&fixture->tree, "/conf", "text");
	struct host_node node = look_up(fixture, "/conf");
	assert_int_equal(node.mode, S_IFREG | 0644);
	assert_int_equal(node.uid, geteuid());
	assert_int_equal(node.major, 0);
	assert_false(node.loadable);
	tree_file(&fixture->tree, "/empty", "");
	assert_false(look_up(fixture, "/empty").loadable);
	tree_file(&fixture->tree, "/lib.so", "\177ELF and more");
	assert_true(look_up(fixture, "/lib.so").loadable);
	tree_file(&fixture->tree, "/script", "#!/bin/sh\n");
	assert_false(look_up(fixture, "/script").loadable);
	tree_mode(&fixture->tree, "/script", 0645);
	assert_true(look_up(fixture, "/script").loadable);
	/* The stricter rule for what cannot be looked into. */
	tree_mode(&fixture->tree, "/conf", 0);
	assert_int_equal(look_up(fixture, "/conf").loadable, geteuid() != 0);
}

static void test_others(void **state)
{
	struct fixture *fixture = *state;
	struct host_node node;

	tree_dir(&fixture->tree, "/d");
	assert_int_equal(look_up(fixture, "/d").mode, S_IFDIR | 0755);
	assert_false(look_up(fixture, "/d").loadable);
	assert_true(S_ISDIR(look_up(fixture, "/").mode));
	tree_fifo(&fixture->tree, "/fifo");
	assert_int_equal(look_up(fixture, "/fifo").mode, S_IFIFO | 0644);
	assert_int_equal(host_node_look_up(&fixture->tree.fd, "/missing", &node), -ENOENT);
	assert_int_equal(host_node_look_up(&fixture->tree.fd, "/d/missing", &node), -ENOENT);
	assert_int_equal(host_node_look_up(&fixture->tree.fd, "relative", &node), -EINVAL);
	assert_int_equal(host_node_look_up(&fixture->tree.fd, "", &node), -EINVAL);
}

static void test_links_are_followed(void **state)
{
	struct fixture *fixture = *state;
	struct host_node node;

	tree_dir(&fixture->tree, "/dev/by-id");
	tree_file(&fixture->tree, "/dev/lib", "\177ELF");
	tree_link(&fixture->tree, "../lib", "/dev/by-id/lib");
	assert_true(look_up(fixture, "/dev/by-id/lib").loadable);
	tree_link(&fixture->tree, "../gone", "/dev/by-id/gone");
	assert_int_equal(host_node_look_up(&fixture->tree.fd, "/dev/by-id/gone", &node), -ENOENT);
}

static void test_device(void **state)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct host_node node;

	(void)state;
	assert_int_equal(host_node_look_up(&root, "/dev/null", &node), 0);
	close(root);
	assert_true(S_ISCHR(node.mode));
	assert_int_equal(node.major, 1);
	assert_int_equal(node.minor, 3);
	assert_false(node.loadable);
}

static void test_whose_files_are_loaded(void **state)
{
	struct fixture *fixture = *state;
	struct host_view view = host_view_real(&fixture->tree.fd, 0);
	struct host_node node = {.mode = S_IFREG | 0755, .uid = 1000, .loadable = true};
	struct error err = {0};

	assert_true(host_node_check_loadable(&view, "/lib.so", &node, &err) < 0);
	assert_string_equal(err.text, "mount source /lib.so can be loaded or executed and belongs "
				      "to user 1000, not to root");
	err = (struct error){0};
	view = host_view_real(&fixture->tree.fd, 1000);
	assert_int_equal(host_node_check_loadable(&view, "/lib.so", &node, &err), 0);
	node.uid = 0;
	assert_int_equal(host_node_check_loadable(&view, "/lib.so", &node, &err), 0);
	node.uid = 1001;
	assert_true(host_node_check_loadable(&view, "/lib.so", &node, &err) < 0);
}

static void test_libraries(void **state)
{
	struct fixture *fixture = *state;
	struct host_view view = host_view_real(&fixture->tree.fd, 0);
	struct elf_library library;
	struct error err = {0};
	struct arena arena;
	struct string_list names = {0};
	char *data;
	size_t size;

	tree_file(&fixture->tree, "/conf", "text");
	tree_file(&fixture->tree, "/a", "");
	tree_dir(&fixture->tree, "/d");
	tree_fifo(&fixture->tree, "/fifo");
	arena_init(&arena, 1 << 20);
	assert_int_equal(view.library(view.data, &arena, "/conf", &library, &err),
			 ELF_NOT_A_LIBRARY);
	assert_int_equal(view.library(view.data, &arena, "/d", &library, &err), ELF_NOT_A_LIBRARY);
	assert_int_equal(view.library(view.data, &arena, "/fifo", &library, &err),
			 ELF_NOT_A_LIBRARY);
	assert_int_equal(view.library(view.data, &arena, "/missing", &library, &err), -ENOENT);
	assert_int_equal(view.list(view.data, &arena, "/", &names, &err), 0);
	assert_true(names.n >= 4);
	for (size_t k = 1; k < names.n; k++)
		assert_true(strcmp(names.items[k - 1], names.items[k]) < 0);
	assert_int_equal(view.list(view.data, &arena, "/conf", &names, &err), -ENOTDIR);
	assert_int_equal(view.read(view.data, &arena, "/conf", 4, &data, &size, &err), 0);
	assert_string_equal(data, "text");
	assert_int_equal(view.read(view.data, &arena, "/conf", 3, &data, &size, &err), -EFBIG);
	assert_int_equal(view.read(view.data, &arena, "/missing", 9, &data, &size, &err), -ENOENT);
	assert_true(view.read(view.data, &arena, "/fifo", 9, &data, &size, &err) < 0);
	arena_done(&arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files),
		TEST(test_others),
		TEST(test_links_are_followed),
		cmocka_unit_test(test_device),
		TEST(test_whose_files_are_loaded),
		TEST(test_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
