/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "host-list.h"

static void test_list(void **state)
{
	static const char text[] = "# what a host may have\n"
				   "\n"
				   "/dev/null c 1:3\n"
				   "  /dev/dm-0\tb 253:4294967295  0600 0:6\n"
				   "/run/fifo p\n"
				   "/usr/lib d 0700\n"
				   "/etc/conf f 7644 1000:1000\n"
				   "/run/socket s\n"
				   "/usr/lib/x.so x\n"
				   "/usr/lib/libx.so.1.2 f 0644 0:0 soname=libx.so.1\n"
				   "/proc/x f text=A: 1|B: 2|\n";
	struct host_list list;
	struct host_view view = host_list_view(&list);
	struct elf_library library;
	struct string_list names = {0};
	struct host_node node;
	struct error err = {0};
	char *data;
	size_t size;
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(host_list_parse(&arena, text, strlen(text), &list, &err), 0);
	assert_int_equal(list.n, 9);
	assert_int_equal(view.look_up(view.data, "/dev/null", &node), 0);
	assert_int_equal(node.mode, S_IFCHR | 0666);
	assert_int_equal(node.major, 1);
	assert_int_equal(node.minor, 3);
	assert_int_equal(view.look_up(view.data, "/dev/dm-0", &node), 0);
	assert_int_equal(node.mode, S_IFBLK | 0600);
	assert_int_equal(node.minor, 4294967295);
	assert_int_equal(node.gid, 6);
	assert_int_equal(view.look_up(view.data, "/etc/conf", &node), 0);
	assert_int_equal(node.mode, S_IFREG | 07644);
	assert_int_equal(node.uid, 1000);
	assert_false(node.loadable);
	assert_int_equal(view.look_up(view.data, "/usr/lib/x.so", &node), 0);
	assert_int_equal(node.mode, S_IFREG | 0755);
	assert_true(node.loadable);
	assert_int_equal(view.look_up(view.data, "/usr", &node), -ENOENT);
	assert_int_equal(view.library(view.data, &arena, "/usr/lib/x.so", &library, &err),
			 ELF_NOT_A_LIBRARY);
	assert_int_equal(view.library(view.data, &arena, "/usr/lib/libx.so.1.2", &library, &err),
			 0);
	assert_string_equal(library.soname, "libx.so.1");
	assert_int_equal(view.list(view.data, &arena, "/usr/lib", &names, &err), 0);
	assert_int_equal(names.n, 2);
	assert_string_equal(names.items[1], "libx.so.1.2");
	assert_int_equal(view.read(view.data, &arena, "/proc/x", 10, &data, &size, &err), 0);
	assert_int_equal(size, 10);
	assert_string_equal(data, "A: 1\nB: 2\n");
	assert_int_equal(view.read(view.data, &arena, "/proc/x", 9, &data, &size, &err), -EFBIG);
	assert_int_equal(view.read(view.data, &arena, "/run/fifo", 9, &data, &size, &err), -ENOENT);
	arena_done(&arena);
}

static void test_list_refuses(void **state)
{
	static const char *const cases[][2] = {
		{"\n\nx c 1:3\n", "host nodes:3: expected an absolute path"},
		{"/x\n", "host nodes:1: expected a type, one of c b p d f s x"},
		{"/x chr 1:3\n", "host nodes:1: expected a type, one of c b p d f s x"},
		{"/x c\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x c 1\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x c 1:\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x c :3\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x c 1:3x\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x c -1:3\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x c 4294967296:3\n", "host nodes:1: expected the numbers MAJOR:MINOR"},
		{"/x f 0888\n", "host nodes:1: expected an octal mode"},
		{"/x f 10000\n", "host nodes:1: expected an octal mode"},
		{"/x f 0644 0\n", "host nodes:1: expected the owner UID:GID"},
		{"/x f 0644 0:0 more\n", "host nodes:1: expected nothing more"},
	};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host_list list;
		struct error err = {0};
		assert_int_equal(
			host_list_parse(&arena, cases[i][0], strlen(cases[i][0]), &list, &err),
			-EINVAL);
		assert_error(&err, EXIT_CODE_DONE, cases[i][1]);
	}
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
