/* SPDX-License-Identifier: Apache-2.0 */
/* The texts here have the peculiarities of what runc, crun and youki send, one each. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "oci-state.h"

static int setup(void **state)
{
	static struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_done(*state);
	return 0;
}

static struct oci_state parse(struct arena *arena, const char *text)
{
	struct oci_state found;
	struct error err = {0};

	if (oci_state_parse(arena, text, strlen(text), &found, &err) < 0)
		fail_msg("%s", err.text);
	return found;
}

static void assert_refused(struct arena *arena, const char *text, const char *sentence)
{
	struct oci_state found;
	struct error err = {0};

	assert_true(oci_state_parse(arena, text, strlen(text), &found, &err) < 0);
	assert_error(&err, EXIT_CODE_REQUEST, sentence);
}

static void assert_annotation(const struct oci_state *found, size_t index, const char *key,
			      const char *value)
{
	assert_true(index < found->annotations.n);
	assert_string_equal(found->annotations.items[index].key, key);
	assert_string_equal(found->annotations.items[index].value, value);
}

static void test_compact_with_escaped_html(void **state)
{
	struct oci_state found = parse(
		*state,
		"{\"ociVersion\":\"1.2.1\",\"id\":\"c1\",\"status\":\"creating\",\"pid\":4242,"
		"\"bundle\":\"/run/bundles/c1\",\"annotations\":{\"org.example.html\":"
		"\"\\u003ca\\u0026b\\u003e\",\"cdi.k8s.io/test\":\"vendor.com/class=dev0\"}}");

	assert_string_equal(found.id, "c1");
	assert_string_equal(found.bundle, "/run/bundles/c1");
	assert_int_equal(found.pid, 4242);
	assert_int_equal(found.annotations.n, 2);
	assert_annotation(&found, 0, "cdi.k8s.io/test", "vendor.com/class=dev0");
	assert_annotation(&found, 1, "org.example.html", "<a&b>");
}

static void test_pretty_with_escaped_slashes_and_a_member_of_its_own(void **state)
{
	struct oci_state found =
		parse(*state, "{\n  \"ociVersion\": \"1.0\",\n  \"id\": \"c1\",\n  \"pid\": 0,\n"
			      "  \"root\": \"rootfs\",\n  \"bundle\": \"\\/run\\/c1\",\n"
			      "  \"status\": \"created\",\n  \"annotations\": {\n"
			      "    \"cdi.k8s.io\\/test\": \"vendor.com\\/class=dev0\",\n"
			      "    \"unicode\": \"\xc3\xa4\"\n  }\n}");

	assert_string_equal(found.bundle, "/run/c1");
	assert_int_equal(found.pid, 0);
	assert_annotation(&found, 0, "cdi.k8s.io/test", "vendor.com/class=dev0");
	assert_annotation(&found, 1, "unicode", "\xc3\xa4");
}

static void test_without_annotations_pid_and_bundle(void **state)
{
	struct oci_state found =
		parse(*state, "{\"ociVersion\":\"1.1.0\",\"id\":\"c1\",\"status\":\"created\"}");

	assert_int_equal(found.pid, 0);
	assert_null(found.bundle);
	assert_int_equal(found.annotations.n, 0);

	found = parse(*state, "{\"id\":\"\",\"pid\":null,\"bundle\":null,\"annotations\":null}\n");
	assert_string_equal(found.id, "");
	assert_int_equal(found.annotations.n, 0);
	found = parse(*state, "{\"id\":\"c\",\"annotations\":{},\"bundle\":\"relative\"}");
	assert_int_equal(found.annotations.n, 0);
	assert_string_equal(found.bundle, "relative");
}

static void test_annotations_are_sorted_by_bytes(void **state)
{
	struct oci_state found =
		parse(*state, "{\"id\":\"c\",\"annotations\":{\"b\":\"1\",\"\xc3\xa4\":\"2\",\"B\":"
			      "\"3\",\"a/b\":\"4\","
			      "\"a\":\"5\",\"\":\"6\",\"a.b\":\"7\",\"skipped\":null}}");

	assert_int_equal(found.annotations.n, 7);
	assert_annotation(&found, 0, "", "6");
	assert_annotation(&found, 1, "B", "3");
	assert_annotation(&found, 2, "a", "5");
	assert_annotation(&found, 3, "a.b", "7");
	assert_annotation(&found, 4, "a/b", "4");
	assert_annotation(&found, 5, "b", "1");
	assert_annotation(&found, 6, "\xc3\xa4", "2");
}

static void test_pids(void **state)
{
	static const char range[] = "state: pid: expected a whole number from 0 to 4194304";

	assert_int_equal(parse(*state, "{\"id\":\"c\",\"pid\":4194304}").pid, 4194304);
	assert_int_equal(parse(*state, "{\"id\":\"c\",\"pid\":-0}").pid, 0);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":4194305}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":-1}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":1.0}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":1e3}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":4294967297}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":18446744073709551617}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":-99999999999999999999}", range);
	assert_refused(*state, "{\"id\":\"c\",\"pid\":\"1\"}", "state: pid: expected a number");
	assert_refused(*state, "{\"id\":\"c\",\"pid\":true}", "state: pid: expected a number");
	assert_refused(*state, "{\"id\":\"c\",\"pid\":01}",
		       "state:1:17: a number that begins with 0");
	assert_refused(*state, "{\"id\":\"c\",\"pid\":0x10}",
		       "state:1:18: expected ',' or '}', found 'x'");
	assert_refused(*state, "{\"id\":\"c\",\"pid\":+1}",
		       "state:1:17: expected a value, found '+'");
}

/* Where a length of 16 bits would wrap. */
static void test_sizes_around_64_kib(void **state)
{
	static const char *const texts[] = {
		"{\"id\":\"@\",\"pid\":1}",
		"{\"id\":\"c\",\"bundle\":\"@\"}",
		"{\"id\":\"c\",\"annotations\":{\"k\":\"@\"}}",
		"{\"id\":\"c\",\"annotations\":{\"@\":\"v\"}}",
	};
	static char value[65538], text[sizeof(value) + 1024];

	for (size_t size = 65535; size <= 65537; size++) {
		memset(value, 'x', size);
		value[size] = '\0';
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			put_in(text, texts[i], value);
			struct oci_state found = parse(*state, text);
			const char *got = i == 0   ? found.id
					  : i == 1 ? found.bundle
					  : i == 2 ? found.annotations.items[0].value
						   : found.annotations.items[0].key;
			assert_int_equal(strlen(got), size);
		}
	}
}

static void test_types(void **state)
{
	assert_refused(*state, "[]", "state: expected an object");
	assert_refused(*state, "null", "state: expected an object");
	assert_refused(*state, "7", "state: expected an object");
	assert_refused(*state, "{}", "state: id: is missing");
	assert_refused(*state, "{\"id\":1}", "state: id: expected a string");
	assert_refused(*state, "{\"id\":\"c\",\"bundle\":[]}", "state: bundle: expected a string");
	assert_refused(*state, "{\"id\":\"c\",\"annotations\":[]}",
		       "state: annotations: expected an object");
	assert_refused(*state, "{\"id\":\"c\",\"annotations\":{\"a/\\n\":1}}",
		       "state: annotations[\"a/\\x0a\"]: expected a string");
	assert_refused(*state, "{\"id\":\"c\",\"annotations\":{\"plain\":{}}}",
		       "state: annotations.plain: expected a string");
}

static void test_no_json(void **state)
{
	assert_refused(*state, "", "state:1:1: expected a value, found the end");
	assert_refused(*state, "{\"id\":\"c\"} x", "state:1:12: expected the end, found 'x'");
	assert_refused(*state, "{\"id\":\"c\",\n \"pid\":1,}",
		       "state:2:10: expected a key in double quotes, found '}'");
	assert_refused(*state, "{\"id\":\"c\",\"annotations\":{\"a\":\"1\",\"\\u0061\":\"2\"}}",
		       "state:1:34: the member \"a\" stands twice in one object");
	assert_refused(*state, "{\"id\":\"c\",\"annotations\":{\"a\":\"b\\u0000c\"}}",
		       "state:1:32: \\u0000 in a string");
}

static void test_a_nul_byte_is_no_end(void **state)
{
	static const char text[] = "{\"id\":\"c\"}\0{}";
	struct oci_state found;
	struct error err = {0};

	assert_true(oci_state_parse(*state, text, sizeof(text) - 1, &found, &err) < 0);
	assert_error(&err, EXIT_CODE_REQUEST, "state:1:11: expected the end, found a NUL byte");
}

static void test_one_annotation_with_all_of_a_pod(void **state)
{
	static const char before[] = "{\"id\":\"c\",\"annotations\":{\"all\":\"", after[] = "\"}}";
	const size_t size = 600 * 1024;
	char *text = malloc(sizeof(before) + size + sizeof(after));

	memcpy(text, before, sizeof(before));
	memset(text + sizeof(before) - 1, 'x', size);
	memcpy(text + sizeof(before) - 1 + size, after, sizeof(after));
	struct oci_state found = parse(*state, text);
	assert_int_equal(strlen(found.annotations.items[0].value), size);
	free(text);
}

static void test_no_memory(void **state)
{
	static const char text[] =
		"{\"id\":\"c1\",\"bundle\":\"/b\",\"annotations\":{\"a\":\"b\"}}";
	struct oci_state found;
	struct arena arena;
	size_t limit;

	(void)state;
	for (limit = 0;; limit += 16) {
		struct error err = {0};

		arena_init(&arena, limit);
		if (oci_state_parse(&arena, text, strlen(text), &found, &err) == 0)
			break;
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
	assert_true(limit >= 64);
	arena_done(&arena);
}

static void assert_adapted(const char *text, pid_t pid, const char *bundle, const char *expected)
{
	struct error err = {0};
	struct arena arena;
	const char *found;
	size_t size;

	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(
		oci_state_adapt(&arena, text, strlen(text), pid, bundle, &found, &size, &err), 0);
	assert_string_equal(found, expected);
	assert_int_equal(size, strlen(expected));
	(void)parse(&arena, found);
	arena_done(&arena);
}

static void test_adapted(void **state)
{
	static const char state_text[] =
		" {\n \"id\": \"c\", \"annotations\": {\"pid\": \"x\", \"bundle\": \"\\/\"},\n"
		" \"pid\": 4242, \"own\": [1.50, {\"pid\": 1}], \"bundle\": \"/b\\u003c\" }\n";

	(void)state;
	/* Not a byte of it, unless asked for. */
	assert_adapted(state_text, 0, NULL, state_text);
	assert_adapted(
		state_text, 1, NULL,
		" {\n \"id\": \"c\", \"annotations\": {\"pid\": \"x\", \"bundle\": \"\\/\"},\n"
		" \"pid\": 1, \"own\": [1.50, {\"pid\": 1}], \"bundle\": \"/b\\u003c\" }\n");
	assert_adapted(
		state_text, 12, "/x/\"y\\",
		" {\n \"id\": \"c\", \"annotations\": {\"pid\": \"x\", \"bundle\": \"\\/\"},\n"
		" \"pid\": 12, \"own\": [1.50, {\"pid\": 1}], \"bundle\": \"/x/\\\"y\\\\\" }\n");
	assert_adapted("{\"bundle\":\"/\",\"id\":\"c\",\"pid\":0}", 7, "/b",
		       "{\"bundle\":\"/b\",\"id\":\"c\",\"pid\":7}");
	assert_adapted("{\"id\":\"c\"}", 7, NULL, "{\"pid\":7,\"id\":\"c\"}");
	assert_adapted("{\"id\":\"c\"}", 7, "/b", "{\"bundle\":\"/b\",\"pid\":7,\"id\":\"c\"}");
	assert_adapted("{\"id\":\"c\",\"pid\":5}", 7, "/b",
		       "{\"bundle\":\"/b\",\"id\":\"c\",\"pid\":7}");
	assert_adapted("{\"id\":\"c\",\"bundle\":null}", 7, "/b",
		       "{\"pid\":7,\"id\":\"c\",\"bundle\":\"/b\"}");
}

static void test_adapted_without_memory(void **state)
{
	static const char text[] = "{\"id\":\"c1\",\"bundle\":\"/b\"}";
	const char *found;
	struct arena arena;
	size_t limit, size;

	(void)state;
	for (limit = 0;; limit += 16) {
		struct error err = {0};

		arena_init(&arena, limit);
		if (oci_state_adapt(&arena, text, strlen(text), 1, "/c", &found, &size, &err) == 0)
			break;
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
	assert_true(limit >= 64);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_compact_with_escaped_html, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_pretty_with_escaped_slashes_and_a_member_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_annotations_pid_and_bundle, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_annotations_are_sorted_by_bytes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_pids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sizes_around_64_kib, setup, teardown),
		cmocka_unit_test_setup_teardown(test_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_nul_byte_is_no_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_annotation_with_all_of_a_pod, setup,
						teardown),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_adapted),
		cmocka_unit_test(test_adapted_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
