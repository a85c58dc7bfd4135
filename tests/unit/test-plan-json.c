/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

#include "json.h"
#include "plan-json.h"

static const struct plan_input everything = {
	.specs = {"cdiVersion: 1.1.0\nkind: v.com/d\n"
		  "containerEdits: {deviceNodes: [{path: /dev/p, type: p}]}\n"
		  "devices:\n- name: a\n  containerEdits:\n"
		  "    deviceNodes:\n"
		  "    - {path: /dev/x, type: b, major: 8, minor: 1, permissions: w}\n"
		  "    - {path: /dev/y, type: c, major: 9, minor: 1, permissions: none}\n"
		  "    mounts:\n"
		  "    - {hostPath: /libx.so, containerPath: /libx.so}\n"
		  "    - {hostPath: t, containerPath: /t, type: tmpfs}\n"
		  "    hooks:\n"
		  "    - {hookName: prestart, path: /h, args: [h, ''], env: [A=1, B=2], timeout: "
		  "5}\n"
		  "    - {hookName: prestart, path: /i}\n"
		  "    - {hookName: createContainer, path: /nvidia-ctk, args: [nvidia-ctk, hook, "
		  "update-ldcache]}\n"
		  "    env: ['A=b c']\n"
		  "    intelRdt: {}\n"},
	.devices = "v.com/d=a",
	.host = "/libx.so f 0644 0:0 soname=libx.so.1\n",
};

#define ORIGIN(line, column)                                                                       \
	",\"origin\":{\"device\":\"v.com/d=a\",\"kind\":\"v.com/d\",\"file\":\"/a.yaml\","         \
	"\"line\":" #line ",\"column\":" #column "}}"

static void test_everything(void **state)
{
	struct planned planned;
	const char *text;

	(void)state;
	assert_int_equal(planned_init(&planned, &everything), 0);
	text = plan_json(&planned.arena, &planned.plan, &planned.err);
	assert_string_equal(
		text,
		"[\n"
		"{\"operation\":\"allow\",\"type\":\"b\",\"major\":8,\"minor\":1,\"access\":"
		"\"w\"" ORIGIN(
			8,
			7) ",\n"
			   "{\"operation\":\"mount\",\"type\":\"bind\",\"source\":\"/libx.so\","
			   "\"destination\":\"/libx.so\",\"options\":\"private\"" ORIGIN(
				   11,
				   7) ",\n"
				      "{\"operation\":\"mount\",\"type\":\"tmpfs\",\"source\":null,"
				      "\"destination\":\"/t\",\"options\":\"private\"" ORIGIN(
					      12,
					      7) ",\n"
						 "{\"operation\":\"node\",\"path\":\"/dev/"
						 "p\",\"type\":\"p\",\"major\":null,"
						 "\"minor\":null,\"mode\":\"0666\",\"uid\":0,"
						 "\"gid\":0,\"origin\":{\"device\":null,"
						 "\"kind\":\"v.com/d\",\"file\":\"/"
						 "a.yaml\",\"line\":3,\"column\":32}},\n"
						 "{\"operation\":\"node\",\"path\":\"/dev/"
						 "x\",\"type\":\"b\",\"major\":8,\"minor\":1,"
						 "\"mode\":\"0666\",\"uid\":0,\"gid\":0" ORIGIN(
							 8,
							 7) ",\n"
							    "{\"operation\":\"node\",\"path\":\"/"
							    "dev/"
							    "y\",\"type\":\"c\",\"major\":9,"
							    "\"minor\":1,"
							    "\"mode\":\"0666\",\"uid\":0,\"gid\":"
							    "0" ORIGIN(
								    9,
								    7) ",\n"
								       "{\"operation\":\"library\","
								       "\"soname\":\"libx.so.1\","
								       "\"path\":\"/"
								       "libx.so\"" ORIGIN(
									       11,
									       7) ",\n"
										  "{\"operation\":"
										  "\"ldcache\","
										  "\"folders\":["
										  "]" ORIGIN(
											  16,
											  7) ",\n"
											     "{\"op"
											     "erati"
											     "on\":"
											     "\"hoo"
											     "k\","
											     "\"sta"
											     "ge\":"
											     "\"pre"
											     "start"
											     "\","
											     "\"pat"
											     "h\":"
											     "\"/"
											     "h\","
											     "\"arg"
											     "s\":["
											     "\"h\""
											     ","
											     "\"\"]"
											     ",\"en"
											     "v\":["
											     "\"A="
											     "1\","
											     "\"B="
											     "2\"],"
											     "\"tim"
											     "eout"
											     "\":"
											     "5" ORIGIN(
												     14,
												     7) ",\n"
													"{\"operation\":\"hook\",\"stage\":\"prestart\",\"path\":\"/i\",\"args\":[],"
													"\"env\":[],\"timeout\":null" ORIGIN(
														15,
														7) ",\n"
														   "{\"operation\":\"unsupported\",\"edit\":\"env\",\"value\":\"A=b c\"" ORIGIN(
															   5,
															   3) ",\n"
															      "{\"operation\":\"unsupported\",\"edit\":\"intelRdt\",\"value\":\"without closID\"" ORIGIN(
																      18,
																      15) "\n]\n");
	assert_int_equal(json_check("plan", text, strlen(text), &planned.err), 0);
	planned_done(&planned);
}

static void test_nothing(void **state)
{
	const struct plan plan = {0};
	struct error err = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	assert_string_equal(plan_json(&arena, &plan, &err), "[]\n");
	arena_done(&arena);
}

/* How a path comes out, as JSON; whatever bytes it has. */
static void assert_path(const char *path, const char *json)
{
	struct plan_node node = {
		.path = path, .type = S_IFIFO, .origin = {.kind = "k", .file = "/f"}};
	const struct plan plan = {.nodes = {.items = &node, .n = 1}};
	struct error err = {0};
	struct arena arena;
	char expected[256];

	arena_init(&arena, LIMIT_MEMORY);
	const char *text = plan_json(&arena, &plan, &err);
	snprintf(expected, sizeof(expected),
		 "[\n{\"operation\":\"node\",\"path\":%s,\"type\":\"p\",\"major\":null,", json);
	assert_memory_equal(text, expected, strlen(expected));
	assert_int_equal(json_check("plan", text, strlen(text), &err), 0);
	arena_done(&arena);
}

static void test_escapes(void **state)
{
	(void)state;
	assert_path("/a \"b\"\\c", "\"/a \\\"b\\\"\\\\c\"");
	assert_path("/\x01\n\x1f\x7f", "\"/\\u0001\\u000a\\u001f\\u007f\"");
	/* UTF-8 of every length, at its edges. */
	assert_path("\xc2\xa0\xdf\xbf", "\"\xc2\xa0\xdf\xbf\"");
	assert_path("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80",
		    "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\"");
	assert_path("\xf0\x90\x80\x80\xf1\x80\x80\x80\xf4\x8f\xbf\xbf",
		    "\"\xf0\x90\x80\x80\xf1\x80\x80\x80\xf4\x8f\xbf\xbf\"");
	/* Controls beyond ASCII, which terminals obey, and marks that turn text around. */
	assert_path("\xc2\x9b"
		    "31m\xc2\x80\xc2\x9f\xc2\xa0",
		    "\"\\u009b31m\\u0080\\u009f\xc2\xa0\"");
	assert_path("\xe2\x80\xae\xe2\x80\xa8\xe2\x80\x8b\xe2\x81\xa6\xef\xbb\xbf",
		    "\"\\u202e\\u2028\\u200b\\u2066\\ufeff\"");
	assert_path("\xe2\x80\x90\xe2\x80\xaf", "\"\xe2\x80\x90\xe2\x80\xaf\"");
	/* And what is none: too long, surrogates, beyond the end, cut off, alone. */
	assert_path("\xc0\x80", "\"\\u00c0\\u0080\"");
	assert_path("\xe0\x9f\xbf", "\"\\u00e0\\u009f\\u00bf\"");
	assert_path("\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"");
	assert_path("\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\"");
	assert_path("\xf8\x88", "\"\\u00f8\\u0088\"");
	assert_path("\xe2\x82", "\"\\u00e2\\u0082\"");
	assert_path("\xe2\x82x", "\"\\u00e2\\u0082x\"");
	assert_path("\xf0\x9f\x98", "\"\\u00f0\\u009f\\u0098\"");
	assert_path("x\xff", "\"x\\u00ff\"");
}

/* Whatever a name consists of, readers of JSON take it. */
static void test_any_bytes(void **state)
{
	char path[9] = "";

	(void)state;
	srand(20261130);
	for (int i = 0; i < 20000; i++) {
		struct plan_node node = {.path = path,
					 .type = S_IFIFO,
					 .origin = {.device = path, .kind = path, .file = path}};
		const struct plan plan = {.nodes = {.items = &node, .n = 1}};
		struct error err = {0};
		struct arena arena;

		for (size_t j = 0; j < 8; j++)
			path[j] = (char)(rand() % 3 ? 0x80 + rand() % 128 : 1 + rand() % 255);
		arena_init(&arena, LIMIT_MEMORY);
		const char *text = plan_json(&arena, &plan, &err);
		if (json_check("plan", text, strlen(text), &err) < 0)
			fail_msg("%s: %s", err.text, text);
		arena_done(&arena);
	}
}

static void test_memory(void **state)
{
	struct planned planned;
	const char *text = NULL;

	(void)state;
	assert_int_equal(planned_init(&planned, &everything), 0);
	for (size_t limit = 0; !text; limit += 64) {
		struct arena arena;
		struct error err = {0};

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		text = plan_json(&arena, &planned.plan, &err);
		if (!text)
			assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
	planned_done(&planned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_escapes),    cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
