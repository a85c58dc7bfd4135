/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "cdi-name.h"

#define FORM "; a device is named vendor.com/class=name"

static void assert_name(const char *text, const char *kind, const char *vendor, const char *class,
			const char *device)
{
	struct cdi_name name = {0};
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(cdi_name_parse(&arena, text, &name, &err), 0);
	assert_string_equal(name.kind, kind);
	assert_string_equal(name.vendor, vendor);
	assert_string_equal(name.class, class);
	assert_string_equal(name.device, device);
	arena_done(&arena);
}

static void assert_problem(const char *text, const char *sentence)
{
	struct cdi_name name;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	assert_true(cdi_name_parse(&arena, text, &name, &err) < 0);
	assert_error(&err, EXIT_CODE_REQUEST, sentence);
	arena_done(&arena);
}

static void test_good_names(void **state)
{
	(void)state;
	assert_name("vendor.com/gpu=0", "vendor.com/gpu", "vendor.com", "gpu", "0");
	assert_name("a/b=c", "a/b", "a", "b", "c");
	assert_name("v.com/c=all", "v.com/c", "v.com", "c", "all");
	assert_name("v/c=a..b", "v/c", "v", "c", "a..b");
	assert_name("v/c=a:b", "v/c", "v", "c", "a:b");
	assert_name("v/c=1", "v/c", "v", "c", "1");
	assert_name("v..com/c_x-1.2=GPU-0:1_a", "v..com/c_x-1.2", "v..com", "c_x-1.2", "GPU-0:1_a");
	assert_name("Vendor/Class=Name", "Vendor/Class", "Vendor", "Class", "Name");
}

static void test_no_bound_on_the_length(void **state)
{
	char text[5000 + sizeof("v/c=")] = "v/c=";

	(void)state;
	memset(text + 4, 'd', 5000);
	assert_name(text, "v/c", "v", "c", text + 4);
}

static void test_not_qualified(void **state)
{
	(void)state;
	assert_problem("", "device \"\": is empty" FORM);
	assert_problem("bad", "device \"bad\": a device is named vendor.com/class=name");
	assert_problem("=x", "device \"=x\": a device is named vendor.com/class=name");
	assert_problem("v.com=x", "device \"v.com=x\": a device is named vendor.com/class=name");
	assert_problem("vendor=x/class",
		       "device \"vendor=x/class\": a device is named vendor.com/class=name");
	assert_problem("v.com/c", "device \"v.com/c\": has no =name" FORM);
	assert_problem("/dev/null", "device \"/dev/null\": has no =name" FORM);
}

static void test_empty_parts(void **state)
{
	(void)state;
	assert_problem("v.com/c=", "device \"v.com/c=\": name is empty" FORM);
	assert_problem("/c=x", "device \"/c=x\": vendor is empty" FORM);
	assert_problem("v.com/=x", "device \"v.com/=x\": class is empty" FORM);
}

static void test_first_and_last_byte(void **state)
{
	(void)state;
	assert_problem("1v/c=d",
		       "device \"1v/c=d\": vendor \"1v\" must start with a letter, not \"1\"" FORM);
	assert_problem(" v.com/c=d", "device \" v.com/c=d\": vendor \" v.com\" must start with a "
				     "letter, not \" \"" FORM);
	assert_problem("v/1c=d",
		       "device \"v/1c=d\": class \"1c\" must start with a letter, not \"1\"" FORM);
	assert_problem(
		"v/c=:",
		"device \"v/c=:\": name \":\" must start with a letter or digit, not \":\"" FORM);
	assert_problem(
		"v/c=*",
		"device \"v/c=*\": name \"*\" must start with a letter or digit, not \"*\"" FORM);
	assert_problem(
		"v/c=a:",
		"device \"v/c=a:\": name \"a:\" must end with a letter or digit, not \":\"" FORM);
	assert_problem(
		"v-/c=a",
		"device \"v-/c=a\": vendor \"v-\" must end with a letter or digit, not \"-\"" FORM);
}

static void test_bytes_inside(void **state)
{
	(void)state;
	assert_problem(
		"a/b/c=d",
		"device \"a/b/c=d\": class \"b/c\" may only contain letters, digits, _, - and "
		"., not \"/\"" FORM);
	assert_problem(
		"v/c=a=b",
		"device \"v/c=a=b\": name \"a=b\" may only contain letters, digits, _, -, . and "
		":, not \"=\"" FORM);
	assert_problem(
		"v/c=a b\n",
		"device \"v/c=a b\\x0a\": name \"a b\\x0a\" may only contain letters, digits, "
		"_, -, . and :, not \" \"" FORM);
	assert_problem("v/c=a\xc3\xa4z",
		       "device \"v/c=a\\xc3\\xa4z\": name \"a\\xc3\\xa4z\" may only contain "
		       "letters, digits, _, -, . and :, not \"\\xc3\"" FORM);
	assert_problem(
		"v:x/c=d",
		"device \"v:x/c=d\": vendor \"v:x\" may only contain letters, digits, _, - and "
		"., not \":\"" FORM);
}

static void test_parts_alone(void **state)
{
	(void)state;
	assert_null(cdi_vendor_problem("vendor.com/x", 10));
	assert_null(cdi_vendor_problem("v", 1));
	assert_null(cdi_class_problem("c", 1));
	assert_null(cdi_device_problem("0", 1));
	assert_string_equal(cdi_vendor_problem("", 0), "is empty");
	assert_string_equal(cdi_class_problem("0", 1), "must start with a letter");
	assert_string_equal(cdi_device_problem("a\0b", 3),
			    "may only contain letters, digits, _, -, . and :");
	assert_string_equal(cdi_device_problem("a.", 2), "must end with a letter or digit");
}

static void assert_interface(const char *name, const char *problem)
{
	const char *found = cdi_interface_problem(name, strlen(name));

	if (problem)
		assert_string_equal(found, problem);
	else
		assert_null(found);
}

static void test_interfaces(void **state)
{
	static const char *const refused[] = {"a b", "a/b", "a:b", "net%d", "a\t", "a\xa0", "\n"};

	(void)state;
	assert_interface("eth0", NULL);
	assert_interface("enp129s0f0np0v1", NULL);
	assert_interface("enp129s0f0np0v12", "is longer than 15 bytes");
	assert_interface("a.b-c_d@e", NULL);
	assert_interface("\xc3\xa4", NULL);
	assert_interface(".", "is no name");
	assert_interface("..", "is no name");
	assert_interface("...", NULL);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_interface(refused[i], "may not contain a blank, /, : or %");
}

static void assert_annotation_key(const char *key, const char *problem)
{
	const char *found = cdi_annotation_key_problem(key, strlen(key));

	if (problem)
		assert_string_equal(found, problem);
	else
		assert_null(found);
}

static void test_annotation_keys(void **state)
{
	static const char *const good[] = {
		"a", "A_b-c.9", "x.io/a", "Nvidia.com/GPU", "a-b.c-d.e/f_g", "0.1/2"};
	static const char *const no_dns[] = {"/a",   ".x/a",   "x./a",   "x..y/a", "x-/a",
					     "-x/a", "x.-y/a", "x-.y/a", "x_y/a",  "x y/a"};
	static const char long_name[] =
		"0123456789012345678901234567890123456789012345678901234567890123";
	char key[400];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_annotation_key(good[i], NULL);
	for (size_t i = 0; i < sizeof(no_dns) / sizeof(no_dns[0]); i++)
		assert_annotation_key(no_dns[i], "must have a DNS name in front of its /");
	assert_annotation_key("", "is empty");
	assert_annotation_key("x/", "is empty");
	assert_annotation_key("x/y/z", "may only contain letters, digits, _, - and .");
	assert_annotation_key("a$", "may only contain letters, digits, _, - and .");
	assert_annotation_key("_a", "must start with a letter or digit");
	assert_annotation_key("a_", "must end with a letter or digit");
	assert_annotation_key(long_name, "is longer than 63 bytes");
	assert_annotation_key(long_name + 1, NULL);
	memset(key, 'x', sizeof(key));
	strcpy(key + 253, "/a");
	assert_annotation_key(key, NULL);
	memset(key, 'x', sizeof(key));
	strcpy(key + 254, "/a");
	assert_annotation_key(key, "must have a DNS name in front of its /");
}

static void test_no_memory(void **state)
{
	struct cdi_name name;
	struct error err = {0};
	struct arena arena;

	(void)state;
	for (size_t limit = 0; limit < 64; limit += 16) {
		arena_init(&arena, limit);
		assert_true(cdi_name_parse(&arena, "v/c=d", &name, &err) < 0);
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_names),
		cmocka_unit_test(test_no_bound_on_the_length),
		cmocka_unit_test(test_not_qualified),
		cmocka_unit_test(test_empty_parts),
		cmocka_unit_test(test_first_and_last_byte),
		cmocka_unit_test(test_bytes_inside),
		cmocka_unit_test(test_parts_alone),
		cmocka_unit_test(test_interfaces),
		cmocka_unit_test(test_annotation_keys),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
