/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "json-edit.h"

struct fixture {
	struct arena arena;
	struct error err;
	struct json_edit edit;
	struct json_edit_object root;
};

static void begin(struct fixture *f, const char *document)
{
	*f = (struct fixture){0};
	arena_init(&f->arena, LIMIT_MEMORY);
	if (json_edit_open(&f->arena, &f->edit, "doc", document, strlen(document), &f->err) < 0 ||
	    json_edit_enter(&f->edit, NULL, NULL, &f->root, &f->err) < 0)
		fail_msg("%s", f->err.text);
}

/* Ends it; the document is `text` now. */
static void assert_document(struct fixture *f, const char *text)
{
	const char *data;
	size_t size;

	assert_int_equal(json_edit_leave(&f->root, &f->err), 0);
	if (json_edit_finish(&f->edit, &data, &size, &f->err) < 0)
		fail_msg("%s", f->err.text);
	assert_int_equal(size, strlen(text));
	assert_memory_equal(data, text, size);
	json_edit_close(&f->edit);
	arena_done(&f->arena);
}

#define MUST(call) assert_int_equal((call), 0)

static void set(struct fixture *f, const char *key, const char *value)
{
	MUST(json_edit_set(&f->root, key, value, &f->err));
}

static void test_nothing(void **state)
{
	struct fixture f;
	struct json_edit_object object;
	struct json_edit_array array;
	const char *document = " {\"a\" :1}\t";
	const char *data;
	size_t size;

	(void)state;
	begin(&f, document);
	/* What is only looked at does not come to be. */
	MUST(json_edit_enter(&f.edit, &f.root, "o", &object, &f.err));
	MUST(json_edit_enter_array(&object, "l", &array, &f.err));
	MUST(json_edit_leave_array(&array, &f.err));
	MUST(json_edit_leave(&object, &f.err));
	MUST(json_edit_finish(&f.edit, &data, &size, &f.err));
	assert_ptr_equal(data, document);
	assert_int_equal(size, strlen(document));
	json_edit_close(&f.edit);
	arena_done(&f.arena);
}

static void test_members(void **state)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{"{}", "{\"k\":7}"},
		{" { } ", " {\"k\":7 } "},
		{"{\"a\":1}", "{\"a\":1,\"k\":7}"},
		{"{\"a\": 1}", "{\"a\": 1,\"k\": 7}"},
		{"{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 2, \"k\": 7}"},
		{"{\n  \"a\" : {\"x\":[]}\n}\n", "{\n  \"a\" : {\"x\":[]},\n  \"k\" : 7\n}\n"},
		{"{\n\t\"a\":1 ,\n\t\"b\":2}", "{\n\t\"a\":1 ,\n\t\"b\":2,\n\t\"k\":7}"},
		/* A value takes the place of another, null is one. */
		{"{\"k\":8}", "{\"k\":7}"},
		{"{\"b\" : [ 1,2 ],\"k\":null , \"a\":{}}", "{\"b\" : [ 1,2 ],\"k\":7 , \"a\":{}}"},
		{"{\"\\u006b\":{\"k\":1}}", "{\"\\u006b\":7}"},
		/* The same value stays as it is written. */
		{"{\"k\" : 7 }", "{\"k\" : 7 }"},
		/* What is below is not this. */
		{"{\"a\":{\"k\":1}}", "{\"a\":{\"k\":1},\"k\":7}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;

		begin(&f, cases[i].before);
		set(&f, "k", "7");
		assert_document(&f, cases[i].after);
	}
}

static void test_several_members(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "{}");
	set(&f, "a", "1");
	set(&f, "b\"\n", "[2]");
	assert_document(&f, "{\"a\":1,\"b\\\"\\u000a\":[2]}");
	begin(&f, "{\"a\": 0, \"z\": null}");
	set(&f, "b", "2");
	set(&f, "z", "{}");
	set(&f, "c", "3");
	assert_document(&f, "{\"a\": 0, \"z\": {}, \"b\": 2, \"c\": 3}");
}

static void test_new_objects(void **state)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{"{}", "{\"o\":{\"p\":{\"k\":1},\"l\":[2,3]}}"},
		{"{\"a\": 1}", "{\"a\": 1,\"o\": {\"p\": {\"k\": 1}, \"l\": [2, 3]}}"},
		{"{\"o\":null}", "{\"o\":{\"p\":{\"k\":1},\"l\":[2,3]}}"},
		{"{\"o\":{\"x\":[ ]}}", "{\"o\":{\"x\":[ ],\"p\":{\"k\":1},\"l\":[2,3]}}"},
		{"{\"o\":{\"p\":{}}}", "{\"o\":{\"p\":{\"k\":1},\"l\":[2,3]}}"},
		{"{\"o\":{\"l\":[ 9 ],\"p\":null}}", "{\"o\":{\"l\":[ 9, 2, 3 ],\"p\":{\"k\":1}}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		struct json_edit_object o, p;
		struct json_edit_array l;

		begin(&f, cases[i].before);
		MUST(json_edit_enter(&f.edit, &f.root, "o", &o, &f.err));
		MUST(json_edit_enter(&f.edit, &o, "p", &p, &f.err));
		MUST(json_edit_set(&p, "k", "1", &f.err));
		MUST(json_edit_leave(&p, &f.err));
		MUST(json_edit_enter_array(&o, "l", &l, &f.err));
		MUST(json_edit_append(&l, "2", &f.err));
		MUST(json_edit_append(&l, "3", &f.err));
		MUST(json_edit_leave_array(&l, &f.err));
		MUST(json_edit_leave(&o, &f.err));
		assert_document(&f, cases[i].after);
	}
}

/* The letters are items of the document, the digit is a new one; its place is that in the new order. */
static void test_arrays(void **state)
{
	static const struct {
		const char *before, *order, *after;
	} cases[] = {
		{"[]", "1", "[1]"},
		{"[ ]", "1", "[1 ]"},
		{"[\"A\"]", "A1", "[\"A\",1]"},
		{"[\"A\"]", "1A", "[1,\"A\"]"},
		{"[ \"A\" , \"B\" ]", "AB1", "[ \"A\" , \"B\", 1 ]"},
		{"[\"A\", \"B\"]", "A1B", "[\"A\", 1, \"B\"]"},
		{"[\n\t\"A\",\n\t\"B\"\n]", "B1", "[\n\t\"B\",\n\t1\n]"},
		{"[\n  \"A\",\n  \"B\",\n  \"C\"\n]", "CA", "[\n  \"C\",\n  \"A\"\n]"},
		{"[\"A\"]", "", "[]"},
		{"[ \"A\" ]", "1", "[ 1 ]"},
		{"[\"A\" ,\"B\"]", "BA", "[\"B\",\"A\"]"},
		{"[\"A\" ,\"B\",\t\"C\"]", "ACB", "[\"A\",\t\"C\" ,\"B\"]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char document[128], after[128];
		struct json_edit_array l;
		struct fixture f;

		snprintf(document, sizeof(document), "{\"l\":%s}", cases[i].before);
		snprintf(after, sizeof(after), "{\"l\":%s}", cases[i].after);
		begin(&f, document);
		MUST(json_edit_enter_array(&f.root, "l", &l, &f.err));
		for (size_t j = l.items.n; j > 0; j--) {
			const char *name = json_object_get_string(l.items.items[j - 1].at.value);
			const char *place = strchr(cases[i].order, name[0]);
			l.items.items[j - 1].rank = place ? (unsigned)(place - cases[i].order) : 0;
			if (!place)
				json_edit_remove(&l, j - 1);
		}
		if (strchr(cases[i].order, '1')) {
			MUST(json_edit_append(&l, "1", &f.err));
			l.items.items[l.items.n - 1].rank = (unsigned)strcspn(cases[i].order, "1");
		}
		json_edit_sort(&l);
		MUST(json_edit_leave_array(&l, &f.err));
		assert_document(&f, after);
	}
}

static void test_replaced_item(void **state)
{
	struct json_edit_array l;
	struct fixture f;

	(void)state;
	begin(&f, "{\"l\":[ {\"x\":[1,{}]} ,\t[],\n 3e5 ]}");
	MUST(json_edit_enter_array(&f.root, "l", &l, &f.err));
	assert_int_equal(l.items.n, 3);
	json_edit_replace(&l, 1, "true");
	MUST(json_edit_leave_array(&l, &f.err));
	assert_document(&f, "{\"l\":[ {\"x\":[1,{}]} ,\ttrue,\n 3e5 ]}");
}

/* Equal ranks stay in their order, and an order that is right changes nothing. */
static void test_stable(void **state)
{
	struct json_edit_array l;
	struct fixture f;

	(void)state;
	begin(&f, "{\"l\":[1, 2,3]}");
	MUST(json_edit_enter_array(&f.root, "l", &l, &f.err));
	json_edit_sort(&l);
	assert_false(l.changed);
	l.items.items[0].rank = 1;
	json_edit_sort(&l);
	MUST(json_edit_leave_array(&l, &f.err));
	assert_document(&f, "{\"l\":[ 2,3,1]}");
}

static void assert_refused(const char *document, const char *sentence)
{
	struct json_edit edit;
	struct error err = {0};
	struct arena arena;

	arena_init(&arena, LIMIT_MEMORY);
	assert_true(json_edit_open(&arena, &edit, "doc", document, strlen(document), &err) < 0);
	assert_error(&err, EXIT_CODE_DONE, sentence);
	json_edit_close(&edit);
	arena_done(&arena);
}

static void test_refused(void **state)
{
	struct json_edit_object object;
	struct json_edit_array array;
	struct fixture f;

	(void)state;
	assert_refused("", "doc:1:1: expected a value, found the end");
	assert_refused("[]", "doc: expected an object");
	assert_refused("null", "doc: expected an object");
	assert_refused("{\"a\":1,\"a\":1}", "doc:1:8: the member \"a\" stands twice in one object");
	begin(&f, "{\"o\":[],\"p\":{\"l\":{}}}");
	assert_true(json_edit_enter(&f.edit, &f.root, "o", &object, &f.err) < 0);
	assert_error(&f.err, EXIT_CODE_DONE, "doc: o: expected an object");
	f.err = (struct error){0};
	MUST(json_edit_enter(&f.edit, &f.root, "p", &object, &f.err));
	assert_true(json_edit_enter_array(&object, "l", &array, &f.err) < 0);
	assert_error(&f.err, EXIT_CODE_DONE, "doc: p.l: expected an array");
	json_edit_close(&f.edit);
	arena_done(&f.arena);
}

/* A value that is none never gets out. */
static void test_bad_value(void **state)
{
	struct fixture f;
	const char *data;
	size_t size;

	(void)state;
	begin(&f, "{}");
	set(&f, "a", "\"\xff\"");
	MUST(json_edit_leave(&f.root, &f.err));
	assert_true(json_edit_finish(&f.edit, &data, &size, &f.err) < 0);
	assert_error(&f.err, EXIT_CODE_DONE, "doc:1:7: invalid UTF-8 in a string");
	json_edit_close(&f.edit);
	arena_done(&f.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),         cmocka_unit_test(test_members),
		cmocka_unit_test(test_several_members), cmocka_unit_test(test_new_objects),
		cmocka_unit_test(test_arrays),          cmocka_unit_test(test_replaced_item),
		cmocka_unit_test(test_stable),          cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bad_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
