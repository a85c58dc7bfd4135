/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"
#include "spec-reader.h"

struct fixture {
	struct arena arena;
	struct notes notes;
	struct error err;
	const struct value *root;
	char text[4096]; /* the tree as text, see write_value() */
	size_t len;
};

static void say(struct fixture *f, const char *s)
{
	f->len += (size_t)snprintf(f->text + f->len, sizeof(f->text) - f->len, "%s", s);
	assert_true(f->len < sizeof(f->text));
}

/* {key:[plain,'quoted']}, with tags in front. */
static void write_value(struct fixture *f, const struct value *value)
{
	if (value->tag) {
		say(f, value->tag);
		say(f, " ");
	}
	if (value->kind == VALUE_SCALAR) {
		assert_int_equal(strlen(value->text), value->len);
		say(f, value->plain ? "" : "'");
		say(f, value->text);
		say(f, value->plain ? "" : "'");
		return;
	}
	say(f, value->kind == VALUE_LIST ? "[" : "{");
	size_t n = value->kind == VALUE_LIST ? value->list.n : value->map.n;
	for (size_t i = 0; i < n; i++) {
		say(f, i ? "," : "");
		if (value->kind == VALUE_MAP) {
			write_value(f, value->map.items[i].key);
			say(f, ":");
		}
		write_value(f, value->kind == VALUE_LIST ? value->list.items[i]
							 : value->map.items[i].value);
	}
	say(f, value->kind == VALUE_LIST ? "]" : "}");
}

/* Reads from a buffer without a byte to spare, so that reading beyond it shows. */
static int read_bytes(struct fixture *f, const char *bytes, size_t size)
{
	char *exact = malloc(size + !size);

	memset(f, 0, sizeof(*f));
	arena_init(&f->arena, LIMIT_MEMORY);
	f->notes.arena = &f->arena;
	assert_non_null(exact);
	memcpy(exact, bytes, size);
	const struct cdi_report report = {.file = "x.yaml", .notes = &f->notes, .err = &f->err};
	int r = spec_read(&f->arena, &report, exact, size, &f->root);
	free(exact);
	return r;
}

static void done(struct fixture *f)
{
	arena_done(&f->arena);
}

static void assert_tree_of(const char *bytes, size_t size, const char *tree)
{
	struct fixture f;
	int r = read_bytes(&f, bytes, size);

	assert_string_equal(f.err.text, "");
	assert_int_equal(r, 0);
	write_value(&f, f.root);
	assert_string_equal(f.text, tree);
	assert_int_equal(f.notes.list.n, 0);
	done(&f);
}

static void assert_tree(const char *text, const char *tree)
{
	assert_tree_of(text, strlen(text), tree);
}

static void assert_tree_and_note(const char *text, const char *tree, const char *note)
{
	struct fixture f;

	assert_int_equal(read_bytes(&f, text, strlen(text)), 0);
	write_value(&f, f.root);
	assert_string_equal(f.text, tree);
	assert_int_equal(f.notes.list.n, 1);
	assert_string_equal(f.notes.list.items[0].text, note);
	assert_int_equal(f.notes.list.items[0].level, NOTE_WARNING);
	done(&f);
}

static void assert_refused_of(const char *bytes, size_t size, const char *sentence)
{
	struct fixture f;

	assert_int_equal(read_bytes(&f, bytes, size), -EINVAL);
	assert_error(&f.err, EXIT_CODE_SPEC, sentence);
	done(&f);
}

static void assert_refused(const char *text, const char *sentence)
{
	assert_refused_of(text, strlen(text), sentence);
}

static void test_json_and_yaml_are_one(void **state)
{
	(void)state;
	assert_tree("{\"a\": [1, \"x\", true, null], \"b\": {}}", "{'a':[1,'x',true,null],'b':{}}");
	assert_tree("{\"a\":1,\n\t\"b\":[\n\t\t2\n\t]\n}\n", "{'a':1,'b':[2]}");
	assert_tree("a: [1, x, true, null]\nb: {}\n", "{a:[1,x,true,null],b:{}}");
	assert_tree("a:\n- 1\n- 'x'\nb:\n  c: |\n    two\n    lines\n",
		    "{a:[1,'x'],b:{c:'two\nlines\n'}}");
	/* JSON that is only YAML: comments, single quotes, trailing commas, bare keys. */
	assert_tree("{ # why\n 'a': 1, b: 2,}\n", "{'a':1,b:2}");
	assert_tree("a: 1\r\nb: 2\r\n", "{a:1,b:2}");
	assert_tree("a: 1\rb: 2\r", "{a:1,b:2}");
	assert_tree("%YAML 1.1\n---\na: 1\n", "{a:1}");
	assert_tree("plain\n", "plain");
	assert_tree("[]", "[]");
}

static void test_json_escapes(void **state)
{
	struct fixture f;
	const char *text = "{\"a\": \"\\ud83d\\uDE00\", \"b\": 7}\n";

	(void)state;
	assert_tree("{\"a\": \"\\/dev\\/x\", \"\\u0061b\": \"\\\"\\\\ud83d\"}",
		    "{'a':'/dev/x','ab':'\"\\ud83d'}");
	/* A pair of escapes for one character, which libyaml alone refuses. */
	assert_tree("{\"a\": \"<\\uD83D\\uDE00>\", \"b\": \"\\ud800\\udc00\"}",
		    "{'a':'<\xf0\x9f\x98\x80>','b':'\xf0\x90\x80\x80'}");
	assert_tree("{\"\\uD83D\\uDE00\": {\"\\uDBFF\\uDFFF\" : 1}}",
		    "{'\xf0\x9f\x98\x80':{'\xf4\x8f\xbf\xbf':1}}");
	assert_tree(" \r\n{\"a\\tb\": \"\\ud83d\\ude00\"}", "{'a\tb':'\xf0\x9f\x98\x80'}");
	/* What stands behind is where it was. */
	assert_int_equal(read_bytes(&f, text, strlen(text)), 0);
	assert_int_equal(f.root->map.items[1].value->column,
			 (unsigned)(strchr(text, '7') - text) + 1);
	done(&f);
	assert_refused("{\"a\": \"\\ud83d\"}", "x.yaml:1:10: this escape stands for no character");
	assert_refused("{\"a\": \"\\ud83d\\u0041\"}",
		       "x.yaml:1:10: this escape stands for no character");
	assert_refused("{\"a\": \"\\ud83d\\ude0",
		       "x.yaml:1:10: this escape stands for no character");
}

/* JSON that YAML has not, or has otherwise. */
static void test_json_beyond_yaml(void **state)
{
	char text[2048];

	(void)state;
	assert_tree("\t{\"a\"\t\n:\n\t1}\t", "{'a':1}");
	assert_tree("{\"a\": \"\x7f\", \"b\": \"\xc2\x80\"}", "{'a':'\x7f','b':'\xc2\x80'}");
	/* To YAML the line separator would be a line break, and the blanks around it nothing. */
	assert_tree("{\"a\": \"x \xe2\x80\xa8 y\"}", "{'a':'x \xe2\x80\xa8 y'}");
	memset(text, 'k', sizeof(text));
	memcpy(text, "{\"", 2);
	strcpy(text + sizeof(text) - 10, "\": 1}");
	struct fixture f;
	assert_int_equal(read_bytes(&f, text, strlen(text)), 0);
	assert_int_equal(f.root->map.items[0].key->len, sizeof(text) - 12);
	done(&f);
	assert_refused("null", "x.yaml:1:1: the first document holds no data");
	assert_refused("{\"a\": 1, \"b\": {\"c\": 1,\n\"c\": 2}}",
		       "x.yaml:2:1: b: key \"c\" a second time: the first is on line 1");
	/* One byte that is no JSON, and it is YAML. */
	assert_refused("\t{\"a\"\t\n:\n\t1,}",
		       "x.yaml:1:1: a tab, where YAML takes only blanks to indent");
}

static void test_places_in_json(void **state)
{
	struct fixture f;
	const char *text = "\xef\xbb\xbf{\r\n \"a\": [1,\r\"\xc3\xa9\", true],\n\t\"b\": {}}";

	(void)state;
	assert_int_equal(read_bytes(&f, text, strlen(text)), 0);
	const struct value *a = f.root->map.items[0].value, *b = f.root->map.items[1].value;
	assert_int_equal(f.root->line, 1);
	assert_int_equal(f.root->column, 1);
	assert_int_equal(f.root->map.items[0].key->line, 2);
	assert_int_equal(f.root->map.items[0].key->column, 2);
	assert_int_equal(a->column, 7);
	assert_int_equal(a->list.items[0]->column, 8);
	assert_int_equal(a->list.items[1]->line, 3);
	assert_int_equal(a->list.items[2]->column, 6);
	assert_int_equal(b->line, 4);
	assert_int_equal(b->column, 7);
	assert_int_equal(f.root->count, 8);
	assert_int_equal(f.root->height, 2);
	done(&f);
}

static void test_encodings(void **state)
{
	static const char le[] = "\xff\xfe"
				 "a\0:\0 \0\xe9\0\n\0";
	static const char be[] = "\xfe\xff"
				 "\0a\0:\0 \0\xe9\0\n";

	(void)state;
	assert_tree("\xef\xbb\xbf{\"a\": 1}", "{'a':1}");
	assert_tree("\xef\xbb\xbf"
		    "a: \xc3\xa9\n",
		    "{a:\xc3\xa9}");
	assert_tree_of(le, sizeof(le) - 1, "{a:\xc3\xa9}");
	assert_tree_of(be, sizeof(be) - 1, "{a:\xc3\xa9}");
	assert_refused("a: 1\nb: \xc3\xa9 \xff\n", "x.yaml:2:6: the file is not UTF-8 here");
	assert_refused("a: \xc3", "x.yaml:1:4: the file is not UTF-8 here");
	assert_refused("a: 1\xc2\x85"
		       "b: \xc3\x85\x01\n",
		       "x.yaml:2:5: a control character");
	assert_refused_of("a: \0b\n", 6, "x.yaml:1:4: a control character");
	assert_refused_of("\xff\xfe"
			  "a",
			  3, "x.yaml:1:1: incomplete UTF-16 character");
}

static void test_places(void **state)
{
	struct fixture f;
	const char *text = "# first\n"
			   "kind: v/c\n"
			   "devices:\n"
			   "  - name: \xc3\xa9 \n"
			   "    \xc3\xa9: {x: [1,\n"
			   "     2]}\n";

	(void)state;
	assert_int_equal(read_bytes(&f, text, strlen(text)), 0);
	assert_int_equal(f.root->line, 2);
	assert_int_equal(f.root->column, 1);
	assert_int_equal(f.root->map.items[0].value->column, 7);
	const struct value *list = f.root->map.items[1].value;
	assert_int_equal(list->line, 4);
	assert_int_equal(list->column, 3);
	const struct value *device = list->list.items[0];
	assert_int_equal(device->column, 5);
	const struct value *map = device->map.items[1].value;
	assert_int_equal(map->line, 5);
	assert_int_equal(map->column, 8); /* characters, not bytes */
	const struct value *two = map->map.items[0].value->list.items[1];
	assert_string_equal(two->text, "2");
	assert_int_equal(two->line, 6);
	assert_int_equal(two->column, 6);
	assert_int_equal(f.root->height, 5);
	assert_int_equal(map->height, 2);
	assert_int_equal(map->count, 5);
	assert_int_equal(f.root->count, 14);
	done(&f);
}

/* Whatever is wrong, the sentence says in which value. */
static void test_json_paths(void **state)
{
	(void)state;
	assert_refused("a: {b: [x, {c: 1, c: 2}]}\n",
		       "x.yaml:1:19: a.b[1]: key \"c\" a second time: the first is on line 1");
	assert_refused("{\"a b\": {\"\": [*x]}}\n",
		       "x.yaml:1:15: [\"a b\"][\"\"][0]: alias *x has no anchor &x before it");
	assert_refused("- [1, 2]\n- x: {<<: [a]}\n",
		       "x.yaml:2:12: [1].x: << needs a map or a list of maps, not text");
	assert_tree_and_note("a: [1, {~: 2}]\n", "{a:[1,{}]}",
			     "x.yaml:1:9: a[1]: a null key and its value are ignored");
}

/* A path is cut where it has no room: the sentence behind it is not. */
static void test_long_json_path(void **state)
{
	char text[4096] = "";
	struct fixture f;

	(void)state;
	for (int i = 0; i < 10; i++)
		strcat(text,
		       "{key-of-more-than-a-few-letters-and-no-plain-word-because-of-these: ");
	strcat(text, "*x");
	assert_int_equal(read_bytes(&f, text, strlen(text)), -EINVAL);
	assert_non_null(strstr(f.err.text, ": alias *x has no anchor &x before it"));
	assert_true(strlen(f.err.text) < 600);
	done(&f);
}

static void test_syntax_errors(void **state)
{
	(void)state;
	assert_refused(
		"a: [1, 2\nb: 3\n",
		"x.yaml:2:2: a[2]: a comma or ] is missing in the list that begins on line 1");
	assert_refused("a: \"x\nb: 1\n",
		       "x.yaml:3:1: a: the file ends inside the quotes that open on line 1");
	assert_refused("a: 1\n  b: 2\n", "x.yaml:2:4: a \": \" cannot stand here: the line is "
					 "indented too far, or the value needs quotes");
	assert_refused("a: @x\n",
		       "x.yaml:1:4: a: no value can begin with @ unless it is in quotes");
	assert_refused("a:\n\tb: 1\n",
		       "x.yaml:2:1: a: a tab, where YAML takes only blanks to indent");
	assert_refused("{\n// why\n\"a\": 1}",
		       "x.yaml:3:4: a comma or } is missing in the map that begins on line 1");
}

static void test_no_data(void **state)
{
	(void)state;
	assert_refused("", "x.yaml:1:1: the file is empty");
	assert_refused(" \n\t\r\n", "x.yaml:1:1: the file is empty");
	assert_refused("\xef\xbb\xbf\n", "x.yaml:1:1: the file is empty");
	assert_refused("# nothing\n", "x.yaml:1:1: the file holds no data");
	assert_refused("null\n", "x.yaml:1:1: the first document holds no data");
	assert_refused("---\n", "x.yaml:2:1: the first document holds no data");
	assert_refused("---\n---\na: 1\n", "x.yaml:2:1: the first document holds no data");
}

static void test_later_documents(void **state)
{
	const char *note =
		"x.yaml:2:1: only the first document of a file is used: what follows is ignored";

	(void)state;
	assert_tree("a: 1\n...\n", "{a:1}");
	assert_tree_and_note("a: 1\n---\nb: 2\n", "{a:1}", note);
	assert_tree_and_note("a: 1\n---\nb: [\n", "{a:1}", note);
	assert_tree_and_note("{\"a\": 1}\n}\n", "{'a':1}", note);
	assert_tree_and_note("{\"a\": 1}\ntrailing\n", "{'a':1}", note);
	assert_tree_and_note(
		"a: 1\n...\n\nb: @\n", "{a:1}",
		"x.yaml:4:1: only the first document of a file is used: what follows is ignored");
}

/* libyaml looks far ahead; what is beyond that is found bad only when it gets there. */
static void test_bad_bytes_far_behind(void **state)
{
	static char text[100000];
	const size_t start = strlen("a: 1\n...\n#");

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "a: 1\n...\n#", start);
	memcpy(text + sizeof(text) - 4, "\n\xff\n", 3);
	assert_tree_and_note(
		text, "{a:1}",
		"x.yaml:4:1: only the first document of a file is used: what follows is ignored");
}

static void test_keys(void **state)
{
	(void)state;
	assert_refused("a: 1\nb: 2\na: 3\n",
		       "x.yaml:3:1: key \"a\" a second time: the first is on line 1");
	assert_refused("{\"a\": 1,\n\"\\u0061\": 2}",
		       "x.yaml:2:1: key \"a\" a second time: the first is on line 1");
	assert_refused("'a': 1\na: 2\n",
		       "x.yaml:2:1: key \"a\" a second time: the first is on line 1");
	/* The first that is in the file twice, not the first of the alphabet. */
	assert_refused("b: 1\na: 1\nb: 2\na: 2\nb: 3\n",
		       "x.yaml:3:1: key \"b\" a second time: the first is on line 1");
	assert_tree("a: {x: 1}\nb: {x: 2}\nA: 3\n", "{a:{x:1},b:{x:2},A:3}");
	assert_refused("? [a]\n: 1\n", "x.yaml:1:3: a key must be text, not a list");
	assert_refused(
		"{{a: 1}: 2}",
		"x.yaml:1:2: a key must be text, not a map: a template that was not filled in?");
	assert_tree_and_note("a: 1\n~: 2\n", "{a:1}",
			     "x.yaml:2:1: a null key and its value are ignored");
	assert_tree_and_note("a: 1\n?\n: [2]\nb: 3\n", "{a:1,b:3}",
			     "x.yaml:2:2: a null key and its value are ignored");
	assert_tree("\"\": 1\n'null': 2\n", "{'':1,'null':2}");
	assert_tree("a: &k b\n*k : 1\n", "{a:b,b:1}");
}

static void test_tags(void **state)
{
	(void)state;
	assert_tree("a: !!str 5\nb: !foo [1]\nc: !!python/object {}\n",
		    "{a:tag:yaml.org,2002:str 5,b:!foo [1],c:tag:yaml.org,2002:python/object {}}");
	assert_tree("a: !!binary L2Rl\n", "{a:tag:yaml.org,2002:binary /de}");
	assert_tree("a: !!binary |\n  L2Rldi9u\n  dWxsMA==\n",
		    "{a:tag:yaml.org,2002:binary '/dev/null0'}");
	assert_tree("a: !\nb: ! 5\nc: ! {}\n", "{a:,b:5,c:{}}");
	assert_refused("a: !!binary L2R\n", "x.yaml:1:4: a: !!binary text is not base64");
	assert_refused("a: !!binary AAAA\n", "x.yaml:1:4: a: text with a NUL byte in it");
	assert_refused("a: !!binary é\n", "x.yaml:1:4: a: !!binary text is not base64");
	assert_refused("a: !b!x 1\n",
		       "x.yaml:1:4: a: found undefined tag handle while parsing a node");
}

static void test_strings(void **state)
{
	static const char nul[] = "{\"a\": \"x\\u0000y\"}";
	char *text = malloc(LIMIT_STRING + 16);
	struct fixture f;

	(void)state;
	assert_refused(nul, "x.yaml:1:7: a: text with a NUL byte in it");
	assert_refused("\"a\\0\": 1\n", "x.yaml:1:1: text with a NUL byte in it");

	assert_non_null(text);
	memcpy(text, "a: ", 3);
	memset(text + 3, 'x', LIMIT_STRING + 1);
	assert_int_equal(read_bytes(&f, text, 3 + LIMIT_STRING), 0);
	assert_int_equal(f.root->map.items[0].value->len, LIMIT_STRING);
	done(&f);
	assert_refused_of(text, 3 + LIMIT_STRING + 1,
			  "x.yaml:1:4: a: text of more than 131071 bytes");
	free(text);
}

static void test_aliases(void **state)
{
	struct fixture f;
	const char *text = "a: &x [1, 2]\nb: *x\nc: {d: *x}\n";

	(void)state;
	assert_int_equal(read_bytes(&f, text, strlen(text)), 0);
	write_value(&f, f.root);
	assert_string_equal(f.text, "{a:[1,2],b:[1,2],c:{d:[1,2]}}");
	assert_ptr_equal(f.root->map.items[0].value, f.root->map.items[1].value);
	assert_int_equal(f.root->map.items[2].value->count, 5);
	assert_int_equal(f.root->count, 15);
	done(&f);

	/* The last of a name counts, also where it stands inside an older one. */
	assert_tree("[&a 1, *a, &a 2, *a]", "[1,1,2,2]");
	assert_tree("[&a [&a x, *a], *a]", "[[x,x],x]");
	assert_refused("a: *b\n", "x.yaml:1:4: a: alias *b has no anchor &b before it");
	assert_refused("a: &b\n  c: [*b]\n",
		       "x.yaml:2:7: a.c[0]: alias *b stands inside the value that it names");
	assert_refused("&a [*a]",
		       "x.yaml:1:5: [0]: alias *a stands inside the value that it names");
}

static void test_alias_bombs(void **state)
{
	char text[4096];
	size_t len;

	(void)state;
	/* Each line stands for ten times the one before: the sixth is one too many. */
	len = (size_t)sprintf(text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 9; i++) {
		len += (size_t)sprintf(text + len, "a%d: &a%d [*a%d", i, i, i - 1);
		for (int j = 1; j < 10; j++)
			len += (size_t)sprintf(text + len, ",*a%d", i - 1);
		len += (size_t)sprintf(text + len, "]\n");
	}
	assert_refused(text, "x.yaml:6:22: a5[3]: more than 500000 values, aliases counted with "
			     "all they stand for");

	/* The same by merge keys. */
	len = (size_t)sprintf(text, "a0: &a0 {k: [x,x,x,x,x,x,x,x,x,x]}\n");
	for (int i = 1; i < 40; i++)
		len += (size_t)sprintf(text + len, "a%d: &a%d {<<: *a%d, k%d: *a%d}\n", i, i, i - 1,
				       i, i - 1);
	assert_refused(text, "x.yaml:15:27: a14.k14: more than 500000 values, aliases counted with "
			     "all they stand for");

	/* Depth, ten levels a line. */
	len = (size_t)sprintf(text, "a0: &a0 x\n");
	for (int i = 1; i < 9; i++)
		len += (size_t)sprintf(text + len, "a%d: &a%d [[[[[[[[[[*a%d]]]]]]]]]]\n", i, i,
				       i - 1);
	assert_refused(
		text,
		"x.yaml:8:19: a7[0][0][0][0][0][0][0][0][0][0]: nested deeper than 64 levels");
}

static void test_depth(void **state)
{
	char text[2 * LIMIT_DEPTH + 3];

	(void)state;
	memset(text, '[', LIMIT_DEPTH);
	memset(text + LIMIT_DEPTH, ']', LIMIT_DEPTH);
	text[2 * (size_t)LIMIT_DEPTH] = '\0';
	assert_tree(text, text);
	memset(text, '[', LIMIT_DEPTH + 1);
	assert_refused(text,
		       "x.yaml:1:65: "
		       "[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
		       "[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"
		       "[0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested deeper than 64 levels");
	/* Nothing closes: the 65th is met before the end. */
	memset(text, '{', sizeof(text) - 1);
	assert_refused_of(
		text, sizeof(text) - 1,
		"x.yaml:1:2: a key must be text, not a map: a template that was not filled in?");
	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "- ", 2);
	assert_refused_of(
		text, sizeof(text) - 1,
		"x.yaml:1:129: "
		"[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]["
		"0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]["
		"0][0][0][0][0][0][0][0][0][0]: nested deeper than 64 levels");
}

static void test_many_values(void **state)
{
	size_t size = 2 * LIMIT_VALUES + 16;
	char *text = malloc(size);
	struct fixture f;

	(void)state;
	assert_non_null(text);
	text[0] = '[';
	for (size_t i = 1; i < size; i += 2)
		memcpy(text + i, "1,", i + 2 <= size ? 2 : 1);
	text[2 * LIMIT_VALUES - 1] = ']'; /* the list and 499,999 items */
	assert_int_equal(read_bytes(&f, text, 2 * LIMIT_VALUES), 0);
	assert_int_equal(f.root->count, LIMIT_VALUES);
	done(&f);
	text[2 * LIMIT_VALUES - 1] = '1';
	assert_refused_of(text, size,
			  "x.yaml:1:1000000: [499999]: more than 500000 values, aliases counted "
			  "with all they stand for");
	free(text);
}

static void test_merge_keys(void **state)
{
	(void)state;
	assert_tree("a: &a {x: 1, y: 2}\nb: {<<: *a, z: 3}\n", "{a:{x:1,y:2},b:{z:3,x:1,y:2}}");
	/* The map's own key wins, wherever it stands. */
	assert_tree("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: {y: 4, <<: *a}\n",
		    "{a:{x:1,y:2},b:{x:3,y:2},c:{y:4,x:1}}");
	/* Of a list the earlier map wins. */
	assert_tree("- &a {x: 1, y: 2}\n- &b {y: 3, z: 4}\n- <<: [*a, *b]\n- <<: [*b, *a]\n",
		    "[{x:1,y:2},{y:3,z:4},{x:1,y:2,z:4},{y:3,z:4,x:1}]");
	assert_tree("<<: {a: 1, b: 2}\nb: 3\n", "{b:3,a:1}");
	assert_tree("<<: [{a: 1}, {a: 2, b: 2}]\n", "{a:1,b:2}");
	/* Merged maps may have merged themselves. */
	assert_tree("- &a {x: 1}\n- &b {<<: *a, y: 2}\n- {<<: *b, z: 3}\n",
		    "[{x:1},{y:2,x:1},{z:3,y:2,x:1}]");
	assert_tree("<<: {}\n", "{}");
	assert_tree("<<: []\na: 1\n", "{a:1}");
	assert_tree("\"<<\": 1\n", "{'<<':1}");
	assert_tree("a: &a {x: 1}\nb: {!!merge '<<': *a}\n", "{a:{x:1},b:{x:1}}");
	assert_tree("!!merge b: 2\n", "{tag:yaml.org,2002:merge b:2}");
	assert_refused("<<: 1\n", "x.yaml:1:5: << needs a map or a list of maps, not text");
	assert_refused("<<:\n", "x.yaml:1:4: << needs a map or a list of maps, not null");
	assert_refused("<<: [{}, [{}]]\n",
		       "x.yaml:1:10: << needs a map or a list of maps, not a list");
	assert_refused("<<: {}\n<<: {}\n",
		       "x.yaml:2:1: a second << in one map: the first is on line 1");
	assert_refused("a: 1\n<<: {b: 1}\na: 2\n",
		       "x.yaml:3:1: key \"a\" a second time: the first is on line 1");
	assert_refused("&a {<<: *a}",
		       "x.yaml:1:9: [\"<<\"]: alias *a stands inside the value that it names");
}

static void test_directives(void **state)
{
	char text[1024] = "";

	(void)state;
	for (int i = 0; i < LIMIT_YAML_DIRECTIVES; i++)
		sprintf(text + strlen(text), "%%TAG !t%d! tag:x,%d:\n", i, i);
	strcat(text, "---\na: !t3!x 100%\n");
	assert_tree(text, "{a:tag:x,3:x 100%}");
	memmove(text + 13, text, strlen(text) + 1);
	memcpy(text, "%TAG !x! x:\r\n", 13);
	assert_refused(text, "x.yaml:17:1: more than 16 lines begin with %");
}

static void test_directives_after_any_break(void **state)
{
	static const char *const breaks[] = {"\n",       "\r",           "\r\n",
					     "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
	static const char line_le[] = "%\0\x28\x20", line_be[] = "\0%\x20\x28";
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		text[0] = '\0';
		for (int j = 0; j <= LIMIT_YAML_DIRECTIVES; j++)
			strcat(strcat(text, "%"), breaks[i]);
		assert_refused(text, "x.yaml:17:1: more than 16 lines begin with %");
	}
	for (int big = 0; big < 2; big++) {
		memcpy(text, big ? "\xfe\xff" : "\xff\xfe", 2);
		for (size_t j = 0; j <= LIMIT_YAML_DIRECTIVES; j++)
			memcpy(text + 2 + 4 * j, big ? line_be : line_le, 4);
		assert_refused_of(text, 2 + 4 * (LIMIT_YAML_DIRECTIVES + 1),
				  "x.yaml:17:1: more than 16 lines begin with %");
	}
}

static void test_root_survives_failure(void **state)
{
	struct fixture f;
	const char *text = "kind: v/c\ndevices:\n- [\n";

	(void)state;
	assert_int_equal(read_bytes(&f, text, strlen(text)), -EINVAL);
	assert_non_null(f.root);
	assert_int_equal(f.root->kind, VALUE_MAP);
	assert_string_equal(f.root->map.items[0].value->text, "v/c");
	done(&f);
	assert_int_equal(read_bytes(&f, "", 0), -EINVAL);
	assert_null(f.root);
	done(&f);
}

static void test_names_are_made_printable(void **state)
{
	(void)state;
	assert_refused("\"a\\n\": 1\n\"a\\n\": 1\n",
		       "x.yaml:2:1: key \"a\\x0a\" a second time: the first is on line 1");
}

/* However little memory there is, running out of it is an error and nothing else. */
static void read_with_little(const char *text)
{
	int r = -ENOMEM;

	for (size_t limit = 0; r < 0; limit += 8) {
		struct arena arena;
		struct error err = {0};
		const struct cdi_report report = {.file = "x.yaml", .err = &err};
		const struct value *root;

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		r = spec_read(&arena, &report, text, strlen(text), &root);
		if (r < 0)
			assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		assert_true(r == 0 || r == -ENOMEM);
		arena_done(&arena);
	}
}

static void test_memory(void **state)
{
	(void)state;
	read_with_little("a: &a {x: [1, 2], y: !t z}\nb: {<<: *a, c: 3}\nd: !!binary L2Rl\n");
	read_with_little("{\"a\": [1, true, \"x\"], \"b\": {}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_and_yaml_are_one),
		cmocka_unit_test(test_json_escapes),
		cmocka_unit_test(test_json_beyond_yaml),
		cmocka_unit_test(test_places_in_json),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_json_paths),
		cmocka_unit_test(test_long_json_path),
		cmocka_unit_test(test_syntax_errors),
		cmocka_unit_test(test_no_data),
		cmocka_unit_test(test_later_documents),
		cmocka_unit_test(test_bad_bytes_far_behind),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_alias_bombs),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_merge_keys),
		cmocka_unit_test(test_directives),
		cmocka_unit_test(test_directives_after_any_break),
		cmocka_unit_test(test_root_survives_failure),
		cmocka_unit_test(test_names_are_made_printable),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
