/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "allow.h"

struct world {
	struct arena arena;
	struct allow_list list;
	struct request_list requests;
	struct error err;
};

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	arena_init(&world->arena, LIMIT_MEMORY);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	arena_done(&world->arena);
	free(world);
	return 0;
}

static void ask(struct world *world, const char *device, const char *annotation)
{
	*array_add(&world->arena, &world->requests) =
		(struct request){.device = device, .annotation = annotation};
}

static void allow(struct world *world, const char *pattern)
{
	assert_int_equal(allow_add(&world->arena, &world->list, pattern, &world->err), 0);
}

static int check(struct world *world)
{
	return allow_check(&world->list, ALLOW_FILE_DEFAULT, &world->requests, &world->err);
}

static bool allows(const char *pattern, const char *device)
{
	struct request request = {.device = device, .annotation = "a"};
	struct request_list requests = {.items = &request, .n = 1};
	struct allow_pattern item = {.pattern = pattern};
	struct allow_list list = {.items = &item, .n = 1};
	struct error err = {0};

	if (allow_check(&list, ALLOW_FILE_DEFAULT, &requests, &err) < 0)
		return false;
	assert_string_equal(request.pattern, pattern);
	return true;
}

static int read_file(struct world *world, const char *data, size_t size)
{
	return allow_add_file(&world->arena, &world->list, "/etc/allow", data, size, &world->err);
}

static void assert_pattern(const struct world *world, size_t index, const char *pattern,
			   unsigned line)
{
	assert_true(index < world->list.n);
	assert_string_equal(world->list.items[index].pattern, pattern);
	assert_string_equal(world->list.items[index].source, "/etc/allow");
	assert_int_equal(world->list.items[index].line, line);
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(allows("vendor.com/gpu=0", "vendor.com/gpu=0"));
	assert_false(allows("vendor.com/gpu=0", "vendor.com/gpu=00"));
	assert_false(allows("vendor.com/gpu=0", "vendor.com/gpu="));
	assert_true(allows("vendor.com/gpu=*", "vendor.com/gpu=all"));
	assert_false(allows("vendor.com/gpu=*", "vendor.com/gpux=all"));
	assert_false(allows("vendor.com/*", "vendor.comm/gpu=0"));
	assert_false(allows("VENDOR.com/*", "vendor.com/gpu=0"));
	/* A slash is a byte like all others. */
	assert_true(allows("*", "vendor.com/gpu=0"));
	assert_true(allows("vendor*0", "vendor.com/gpu=0"));
	assert_true(allows("vendor.com?gpu=0", "vendor.com/gpu=0"));
	assert_true(allows("vendor.com[/]gpu=0", "vendor.com/gpu=0"));
	assert_true(allows("*=.x", "v/c=.x"));
	assert_true(allows("vendor.com/gpu=[0-3]", "vendor.com/gpu=2"));
	assert_false(allows("vendor.com/gpu=[0-3]", "vendor.com/gpu=4"));
	assert_true(allows("vendor.com/gpu=[!0-3]", "vendor.com/gpu=4"));
	assert_false(allows("vendor.com/gpu=[!0-3]", "vendor.com/gpu=2"));
	assert_true(allows("vendor.com/gpu\\=0", "vendor.com/gpu=0"));
	assert_false(allows("vendor.com/gpu=[0", "vendor.com/gpu=0"));
}

static void test_the_first_pattern_is_noted(void **state)
{
	struct world *world = *state;

	allow(world, "a/*");
	allow(world, "v/c=*");
	allow(world, "v/*");
	ask(world, "v/c=command-line", NULL);
	ask(world, "v/c=0", "cdi.k8s.io/x");
	ask(world, "v/other=0", "cdi.k8s.io/x");
	assert_int_equal(check(world), 0);
	assert_null(world->requests.items[0].pattern);
	assert_string_equal(world->requests.items[1].pattern, "v/c=*");
	assert_string_equal(world->requests.items[2].pattern, "v/*");
}

static void test_the_command_line_needs_no_pattern(void **state)
{
	struct world *world = *state;

	ask(world, "v/c=0", NULL);
	assert_int_equal(check(world), 0);
}

static void test_refused(void **state)
{
	struct world *world = *state;

	allow(world, "vendor.com/fpga=*");
	ask(world, "vendor.com/gpu=0", "cdi.k8s.io/x");
	assert_true(check(world) < 0);
	assert_error(&world->err, EXIT_CODE_REFUSED,
		     "device vendor.com/gpu=0: asked for by annotation cdi.k8s.io/x, allowed by no "
		     "pattern of --allow "
		     "or /etc/oci-cdi-hook/allow; to allow it: cdictl allow 'vendor.com/gpu=*'");
}

static void test_several_refused(void **state)
{
	struct world *world = *state;

	allow(world, "a.com/good=*");
	ask(world, "c.com/mine=0", NULL);
	ask(world, "a.com/x=0", "cdi.k8s.io/1");
	ask(world, "a.com/good=0", "cdi.k8s.io/1");
	ask(world, "a.com/x=1", "cdi.k8s.io/1");
	ask(world, "b.com/y=0", "cdi.k8s.io/1");
	ask(world, "a.com/good=1", "cdi.k8s.io/2");
	ask(world, "a.com/xx=0", "cdi.k8s.io/3");
	ask(world, "a.com/x=2", "cdi.k8s.io/3");
	assert_true(check(world) < 0);
	assert_error(
		&world->err, EXIT_CODE_REFUSED,
		"devices a.com/x=0, a.com/x=1, b.com/y=0: asked for by annotation cdi.k8s.io/1; "
		"a.com/xx=0, a.com/x=2: asked for by annotation cdi.k8s.io/3, allowed by no "
		"pattern of --allow "
		"or /etc/oci-cdi-hook/allow; to allow them: "
		"cdictl allow 'a.com/x=*' 'b.com/y=*' 'a.com/xx=*'");
}

static void test_the_command_names_another_file(void **state)
{
	struct world *world = *state;

	ask(world, "v/c=0", "k");
	assert_true(allow_check(&world->list, "/run/it's here", &world->requests, &world->err) < 0);
	assert_error(&world->err, EXIT_CODE_REFUSED,
		     "device v/c=0: asked for by annotation k, allowed by no pattern of --allow or "
		     "/run/it's here; "
		     "to allow it: cdictl allow 'v/c=*' --allow-file '/run/it'\\''s here'");
}

static void test_quotes_and_control_bytes_stay_harmless(void **state)
{
	struct world *world = *state;

	/* No such name comes out of request_collect(); the sentence does not rely on it. */
	ask(world, "v/c';reboot;'=0", "k\n");
	assert_true(check(world) < 0);
	assert_error(
		&world->err, EXIT_CODE_REFUSED,
		"device v/c';reboot;'=0: asked for by annotation k\\x0a, allowed by no pattern of "
		"--allow or "
		"/etc/oci-cdi-hook/allow; to allow it: cdictl allow 'v/c'\\'';reboot;'\\''=*'");
}

static void test_very_many_refused(void **state)
{
	struct world *world = *state;
	char text[ERROR_TEXT_MAX];

	for (int i = 0; i < LIMIT_REQUESTS; i++)
		ask(world, arena_printf(&world->arena, "vendor-%03d.example.com/class=name", i),
		    "cdi.k8s.io/x");
	assert_true(check(world) < 0);
	error_text(&world->err, text);
	assert_memory_equal(text, "devices vendor-000.example.com/class=name, vendor-001", 52);
	assert_non_null(strstr(
		text,
		"class=name, and 216 more: asked for by annotation cdi.k8s.io/x, allowed by no "
		"pattern of --allow or "));
	assert_non_null(strstr(
		text,
		"to allow them (214 more kinds are named when these are allowed): cdictl allow "
		"'vendor-000.example.com/class=*' "));
	/* It ends with a whole word. */
	assert_string_equal(text + strlen(text) - 33, " 'vendor-041.example.com/class=*'");
}

static void test_option(void **state)
{
	struct world *world = *state;
	char pattern[LIMIT_PATTERN + 2] = "";

	assert_true(allow_add(&world->arena, &world->list, "", &world->err) < 0);
	assert_error(&world->err, EXIT_CODE_USAGE, "--allow: the pattern is empty");
	memset(pattern, '*', LIMIT_PATTERN + 1);
	assert_true(allow_add(&world->arena, &world->list, pattern, &world->err) < 0);
	assert_error(&world->err, EXIT_CODE_USAGE, "--allow: a pattern of more than 1024 bytes");
	pattern[LIMIT_PATTERN] = '\0';
	allow(world, pattern);
	assert_int_equal(world->list.n, 1);
	assert_string_equal(world->list.items[0].source, "--allow");
	assert_int_equal(world->list.items[0].line, 0);
}

static void test_file(void **state)
{
	static const char data[] = "# who may ask\n"
				   "\n"
				   "vendor.com/gpu=*\n"
				   "  \t vendor.com/fpga=*\t # the lab\r\n"
				   "   # indented\n"
				   "a/b=c#d\n"
				   "\r\n"
				   "e/f=g#\n"
				   "#\n"
				   "last/line=*";
	struct world *world = *state;

	assert_int_equal(read_file(world, data, sizeof(data) - 1), 0);
	assert_int_equal(world->list.n, 5);
	assert_pattern(world, 0, "vendor.com/gpu=*", 3);
	assert_pattern(world, 1, "vendor.com/fpga=*", 4);
	assert_pattern(world, 2, "a/b=c#d", 6);
	assert_pattern(world, 3, "e/f=g#", 8);
	assert_pattern(world, 4, "last/line=*", 10);
}

static void test_files_without_patterns(void **state)
{
	struct world *world = *state;

	assert_int_equal(read_file(world, "", 0), 0);
	assert_int_equal(read_file(world, "\n", 1), 0);
	assert_int_equal(read_file(world, "#", 1), 0);
	assert_int_equal(read_file(world, " \t\r", 3), 0);
	assert_int_equal(world->list.n, 0);
	ask(world, "v/c=0", "k");
	assert_true(check(world) < 0);
}

static void test_broken_files(void **state)
{
	static const char nul[] = "v/c=*\nv/c=\0*\n";
	struct world *world = *state;
	char data[LIMIT_PATTERN + 4] = "\n ";

	assert_true(read_file(world, nul, sizeof(nul) - 1) < 0);
	assert_error(&world->err, EXIT_CODE_REFUSED, "/etc/allow:2: a NUL byte");

	/* Blanks around it are no part of a pattern. */
	memset(data + 2, 'x', LIMIT_PATTERN + 1);
	assert_true(read_file(world, data, LIMIT_PATTERN + 3) < 0);
	assert_error(&world->err, EXIT_CODE_REFUSED,
		     "/etc/allow:2: a pattern of more than 1024 bytes");
	assert_int_equal(read_file(world, data, LIMIT_PATTERN + 2), 0);
}

static void test_no_memory(void **state)
{
	struct allow_list list = {0};
	struct arena arena;

	(void)state;
	for (size_t limit = 0; limit < 96; limit += 16) {
		struct error err = {0};

		arena_init(&arena, limit);
		assert_true(allow_add_file(&arena, &list, "f", "v/c=*", 5, &err) < 0);
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test_setup_teardown(test_the_first_pattern_is_noted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_command_line_needs_no_pattern, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_command_names_another_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_quotes_and_control_bytes_stay_harmless, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_very_many_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_option, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_without_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_files, setup, teardown),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
