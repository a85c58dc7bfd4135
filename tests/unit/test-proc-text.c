/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "proc-text.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

/* ---- /proc/PID/cgroup ---- */

static void test_cgroup_of_a_hybrid_host(void **state)
{
	static const char text[] = "12:cpu,cpuacct:/docker/abc\n"
				   "5:devices:/docker/abc\n"
				   "1:name=systemd:/\n"
				   "0::/system.slice/docker-abc.scope\n";
	struct proc_cgroup_list list;
	struct error err = {0};

	(void)state;
	assert_int_equal(proc_text_parse_cgroup(&arena, text, strlen(text), &list, &err), 0);
	assert_int_equal(list.n, 4);
	assert_string_equal(proc_text_find_cgroup(&list, "devices")->path, "/docker/abc");
	assert_string_equal(proc_text_find_cgroup(&list, "cpuacct")->controllers, "cpu,cpuacct");
	assert_string_equal(proc_text_find_cgroup(&list, "")->path,
			    "/system.slice/docker-abc.scope");
	assert_string_equal(proc_text_find_cgroup(&list, "name=systemd")->path, "/");
	assert_null(proc_text_find_cgroup(&list, "device"));
	assert_null(proc_text_find_cgroup(&list, "devices2"));
	assert_null(proc_text_find_cgroup(&list, "cpu,cpuacct,"));
	assert_false(error_is_set(&err));
}

static void test_cgroup_path_with_colons(void **state)
{
	static const char text[] = "5:devices:/:youki:id\n0::/a:b\n";
	struct proc_cgroup_list list;
	struct error err = {0};

	(void)state;
	assert_int_equal(proc_text_parse_cgroup(&arena, text, strlen(text), &list, &err), 0);
	assert_string_equal(proc_text_find_cgroup(&list, "devices")->path, "/:youki:id");
	assert_string_equal(proc_text_find_cgroup(&list, "")->path, "/a:b");
}

static void test_cgroup_edges(void **state)
{
	struct proc_cgroup_list list;
	struct error err = {0};

	(void)state;
	assert_int_equal(proc_text_parse_cgroup(&arena, "", 0, &list, &err), 0);
	assert_int_equal(list.n, 0);
	/* No line end at the end. */
	assert_int_equal(proc_text_parse_cgroup(&arena, "0::/", 4, &list, &err), 0);
	assert_int_equal(list.n, 1);
	assert_null(proc_text_find_cgroup(&list, "devices"));
	/* Bytes behind `size` are not looked at. */
	assert_int_equal(proc_text_parse_cgroup(&arena, "0::/garbage", 4, &list, &err), 0);
	assert_string_equal(list.items[0].path, "/");
}

static void test_cgroup_refused(void **state)
{
	static const char *const bad[] = {
		"\n",
		":\n",
		"0\n",
		"0:\n",
		"0:devices\n",
		"x::/\n",
		"-1::/\n",
		" 0::/\n",
		"0::\n",
		"0::a\n",
		"99999999999999999::/\n",
		"5:devices:\n",
		"0x0::/a\n",
	};
	struct proc_cgroup_list list;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct error){0};
		assert_true(proc_text_parse_cgroup(&arena, bad[i], strlen(bad[i]), &list, &err) <
			    0);
		assert_true(error_is_set(&err));
	}
	err = (struct error){0};
	assert_true(proc_text_parse_cgroup(&arena, "0::/\n0::/a\0b\n", 12, &list, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "line 2: expected an absolute path, found \"0::/a\"");

	err = (struct error){0};
	assert_true(proc_text_parse_cgroup(&arena, "nonsense", 8, &list, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE,
		     "line 1: expected HIERARCHY:CONTROLLERS:PATH, found \"nonsense\"");

	char longer[5000] = "0::/";
	memset(longer + 4, 'a', sizeof(longer) - 4);
	assert_true(proc_text_parse_cgroup(&arena, longer, sizeof(longer), &list, &err) < 0);
}

/* ---- devices.list ---- */

static void parse(const char *text, struct proc_device_list *ret_list)
{
	struct error err = {0};

	assert_int_equal(proc_text_parse_devices(&arena, text, strlen(text), ret_list, &err), 0);
}

static void test_devices_of_a_container(void **state)
{
	const unsigned rw = DEVICE_READ | DEVICE_WRITE, rwm = rw | DEVICE_MKNOD;
	struct proc_device_list list;

	(void)state;
	parse("c *:* m\nb *:* m\nc 1:3 rwm\nc 136:* rw\nb 8:0 r\n", &list);
	assert_int_equal(list.n, 5);
	assert_true(proc_text_devices_allow(&list, 'c', 1, 3, rwm));
	assert_true(proc_text_devices_allow(&list, 'c', 10, 229, DEVICE_MKNOD));
	assert_false(proc_text_devices_allow(&list, 'c', 10, 229, DEVICE_READ));
	assert_false(proc_text_devices_allow(&list, 'b', 1, 3, DEVICE_READ));
	assert_true(proc_text_devices_allow(&list, 'c', 136, 77, rw));
	/* Two entries that have the bits only together: the kernel says no. */
	assert_false(proc_text_devices_allow(&list, 'c', 136, 77, rwm));
	assert_true(proc_text_devices_allow(&list, 'b', 8, 0, DEVICE_READ));
	assert_false(proc_text_devices_allow(&list, 'b', 8, 0, rw));

	assert_int_equal(proc_text_devices_exact(&list, 'c', 1, 3), rwm);
	assert_int_equal(proc_text_devices_exact(&list, 'b', 8, 0), DEVICE_READ);
	assert_int_equal(proc_text_devices_exact(&list, 'c', 8, 0), 0);
	assert_int_equal(proc_text_devices_exact(&list, 'c', 136, 0), 0);
}

static void test_devices_all(void **state)
{
	struct proc_device_list list;

	(void)state;
	parse("a *:* rwm\n", &list);
	assert_true(proc_text_devices_allow(&list, 'c', 1, 2,
					    DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD));
	assert_true(proc_text_devices_allow(&list, 'b', 4095, 1048575, DEVICE_WRITE));
	parse("", &list);
	assert_false(proc_text_devices_allow(&list, 'c', 1, 2, DEVICE_READ));
	parse("c 4294967295:0 w\n", &list);
	assert_true(proc_text_devices_allow(&list, 'c', 4294967295u, 0, DEVICE_WRITE));
}

static void test_devices_refused(void **state)
{
	static const char *const bad[] = {
		"\n",           "c\n",        "c 1:3\n",     "c 1:3 \n",     "c 1:3 rwx\n",
		"d 1:3 rwm\n",  "c 1 rwm\n",  "c 1:3rwm\n",  "c  1:3 rwm\n", "c -1:3 rwm\n",
		"c 1:3 rwm \n", "c 1:3 mr\n", "c 1:+ rwm\n", "c 1:** rwm\n", "c 4294967296:0 r\n",
		"cc 1:3 rwm\n", "c 1:3 rr\n",
	};
	struct proc_device_list list;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct error){0};
		assert_true(proc_text_parse_devices(&arena, bad[i], strlen(bad[i]), &list, &err) <
			    0);
		assert_true(error_is_set(&err));
	}
	err = (struct error){0};
	assert_true(proc_text_parse_devices(&arena, "c 1:3 rwm\n\0 1:3 rwm\n", 20, &list, &err) <
		    0);
	assert_error(&err, EXIT_CODE_DONE, "line 2: expected a device entry, found \"\"");
}

static void test_device_line(void **state)
{
	char line[PROC_TEXT_DEVICE_MAX];

	(void)state;
	assert_string_equal(proc_text_device_line(line, 'c', 10, 229,
						  DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD),
			    "c 10:229 rwm");
	assert_string_equal(proc_text_device_line(line, 'b', 0, 0, DEVICE_MKNOD), "b 0:0 m");
	assert_string_equal(proc_text_device_line(line, 'c', 4294967295u, 4294967295u,
						  DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD),
			    "c 4294967295:4294967295 rwm");
	assert_string_equal(proc_text_device_line(line, 'c', 1, 2, DEVICE_WRITE), "c 1:2 w");
}

/* What we write is what we read. */
static void test_device_line_comes_back(void **state)
{
	(void)state;
	for (unsigned access = 1; access < 8; access++) {
		char line[PROC_TEXT_DEVICE_MAX];
		struct proc_device_list list;
		parse(proc_text_device_line(line, 'b', 259, access, access), &list);
		assert_int_equal(proc_text_devices_exact(&list, 'b', 259, access), access);
	}
}

/* ---- cgroup.procs ---- */

static void test_pids(void **state)
{
	static const char *const bad[] = {"\n", "1 \n", "-1\n", "2147483648\n", "x\n", "1\n\n2\n"};
	struct proc_pid_list list;
	struct error err = {0};

	(void)state;
	assert_int_equal(proc_text_parse_pids(&arena, "1\n0\n2147483647\n", 15, &list, &err), 0);
	assert_int_equal(list.n, 3);
	assert_int_equal(list.items[0], 1);
	assert_int_equal(list.items[1], 0);
	assert_int_equal(list.items[2], 2147483647);
	assert_int_equal(proc_text_parse_pids(&arena, "", 0, &list, &err), 0);
	assert_int_equal(list.n, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(proc_text_parse_pids(&arena, bad[i], strlen(bad[i]), &list, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "line 2: expected a pid, found \"\"");
}

static void test_children(void **state)
{
	static const char *const bad[] = {"\n", " 1", "1  2 ", "1\n", "x ", "2147483648 "};
	struct proc_pid_list list;
	struct error err = {0};

	(void)state;
	assert_int_equal(proc_text_parse_children(&arena, "7 2147483647 ", 13, &list, &err), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.items[0], 7);
	assert_int_equal(list.items[1], 2147483647);
	assert_int_equal(proc_text_parse_children(&arena, "", 0, &list, &err), 0);
	assert_int_equal(list.n, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(proc_text_parse_children(&arena, bad[i], strlen(bad[i]), &list, &err) <
			    0);
	assert_error(&err, EXIT_CODE_DONE, "expected pids with blanks between");
}

static void assert_inner_pid(const char *text, pid_t expected)
{
	struct error err = {0};
	pid_t pid = 0;

	assert_int_equal(proc_text_parse_inner_pid(text, strlen(text), &pid, &err), 0);
	assert_int_equal(pid, expected);
}

static void test_inner_pid(void **state)
{
	static const char *const bad[] = {"NSpid:\n", "NSpid: 1\n", "NSpid:\tx\n", "NSpid:\t1\t\n"};
	struct error err = {0};
	pid_t pid = 0;

	(void)state;
	assert_inner_pid("Name:\tx\nNSpid:\t4242\nNSpgid:\t1\n", 4242);
	assert_inner_pid("Name:\tNSpid:\nNSpid:\t4242\t7\t1\n", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(proc_text_parse_inner_pid(bad[i], strlen(bad[i]), &pid, &err) < 0);
	err = (struct error){0};
	assert_true(proc_text_parse_inner_pid("Pid:\t1\n", 7, &pid, &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, "has no line NSpid");
}

static void test_memory_ends(void **state)
{
	struct proc_cgroup_list cgroups;
	struct proc_device_list devices;
	struct proc_pid_list pids;
	struct arena small;
	struct error err = {0};

	(void)state;
	for (size_t limit = 0; limit < 200; limit += 16) {
		arena_init(&small, limit);
		int r = proc_text_parse_cgroup(&small, "0::/a\n", 6, &cgroups, &err);
		assert_true(r == 0 || r == -ENOMEM);
		arena_done(&small);
	}
	arena_init(&small, 16);
	assert_int_equal(proc_text_parse_devices(&small, "c 1:3 r\n", 8, &devices, &err), -ENOMEM);
	assert_int_equal(proc_text_parse_pids(&small, "1\n", 2, &pids, &err), -ENOMEM);
	assert_int_equal(err.exit_code, EXIT_CODE_OTHER);
	arena_done(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup_of_a_hybrid_host),
		cmocka_unit_test(test_cgroup_path_with_colons),
		cmocka_unit_test(test_cgroup_edges),
		cmocka_unit_test(test_cgroup_refused),
		cmocka_unit_test(test_devices_of_a_container),
		cmocka_unit_test(test_devices_all),
		cmocka_unit_test(test_devices_refused),
		cmocka_unit_test(test_device_line),
		cmocka_unit_test(test_device_line_comes_back),
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_inner_pid),
		cmocka_unit_test(test_memory_ends),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
