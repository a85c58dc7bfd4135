/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec files are YAML, also those called .json: that is how the reference reads them, so files
 * exist that are only half JSON. One reader for both therefore, on libyaml's events rather than its
 * document API: events carry the place of everything, leave anchors and merge keys (and so the
 * bounds on what they expand to) to us, and stop a file of a million brackets at the 65th.
 *
 * The tree is built without recursion, on a stack of the lists and maps that are still open.
 */
#include "spec-reader.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "bounds.h"
#include "spec-scalar.h"
#include "spec-text.h"
#include "yaml-problem.h"

#define CORE_TAG "tag:yaml.org,2002:"
/* Bytes of a JSON path; longer ones are cut. */
#define PATH_ROOM 512

/*
 * What an anchor names. The value of an unfinished one is still open: an alias to it would make a
 * tree without end.
 */
struct anchor {
	const char *name;
	const struct value *value;
	bool finished;
};

/* A list or map that is still open. */
struct level {
	struct value *value;
	struct anchor *anchor;
	const struct value *key;      /* of a map: the key whose value comes next */
	const struct value *last_key; /* of the entry before */
	struct value_list merges;     /* of a map: what its merge keys name */
	const struct value *merge_key;
	size_t count_before;
};

struct reader {
	struct arena *arena;
	const struct cdi_report *report;
	struct spec_text text;

	yaml_parser_t parser;
	void *anchors; /* tree of struct anchor, for tsearch(3) */
	struct value *root;
	size_t count; /* values so far, aliases with all they stand for */
	struct level levels[LIMIT_DEPTH];
	unsigned n_levels;
};

/*
 * Sentences
 */

/* libyaml counts from 0. */
static unsigned from_one(size_t n)
{
	return (unsigned)n + 1;
}

/* "[3]" or ".key"; a key that is not a plain word as ["it is"]. */
static size_t write_step(const struct level *level, bool innermost, char *out, size_t size)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const struct value *key = innermost ? level->key : level->last_key;
	int n = 0;

	if (level->value->kind == VALUE_LIST)
		n = snprintf(out, size, "[%zu]", level->value->list.n - !innermost);
	else if (key && key->len && strspn(key->text, plain) == key->len)
		n = snprintf(out, size, ".%s", SHOW(key->text));
	else if (key)
		n = snprintf(out, size, "[\"%s\"]", SHOW(key->text));
	return (size_t)n < size ? (size_t)n : size - 1;
}

/* The JSON path of the value that comes next; "" for the outermost. */
static const char *write_path(const struct reader *r, char buffer[static PATH_ROOM])
{
	size_t used = 0;

	for (unsigned i = 0; i < r->n_levels; i++)
		used += write_step(&r->levels[i], i + 1 == r->n_levels, buffer + used,
				   PATH_ROOM - used);
	return buffer[0] == '.' ? buffer + 1 : buffer;
}
#define SHOW_PATH(r) write_path((r), (char[PATH_ROOM]){0})

#define FAIL_AT(r, line, column, fmt, ...)                                                         \
	cdi_report_error((r)->report, (line), (column), SHOW_PATH(r), fmt, ##__VA_ARGS__)
#define FAIL(r, value, fmt, ...) FAIL_AT(r, (value)->line, (value)->column, fmt, ##__VA_ARGS__)
#define FAIL_EVENT(r, event, fmt, ...)                                                             \
	FAIL_AT(r, from_one((event)->start_mark.line), from_one((event)->start_mark.column), fmt,  \
		##__VA_ARGS__)

/* What a fault that leaves the rest readable comes to: the end, unless all of them are wanted. */
static int go_on(const struct reader *r, int ret)
{
	return ret == -EINVAL && r->report->problems ? 0 : ret;
}

const char *value_noun(const struct value *value)
{
	if (value->kind == VALUE_LIST)
		return "a list";
	if (value->kind == VALUE_MAP)
		return "a map";
	return spec_scalar_is_null(value) ? "null" : "text";
}

/*
 * Events
 */

static int parser_problem(struct reader *r)
{
	const yaml_parser_t *parser = &r->parser;
	char buffer[YAML_PROBLEM_MAX];
	struct yaml_problem problem = {
		.problem = parser->problem,
		.context = parser->context,
		.line = from_one(parser->problem_mark.line),
		.context_line = from_one(parser->context_mark.line),
	};
	unsigned column = from_one(parser->problem_mark.column);

	if (parser->error == YAML_MEMORY_ERROR)
		return error_memory(r->report->err);
	if (parser->error == YAML_READER_ERROR)
		spec_text_place(&r->text, parser->problem_offset, &problem.line, &column);
	problem.found = spec_text_at(&r->text, problem.line, column);
	return FAIL_AT(r, problem.line, column, "%s", yaml_problem_text(buffer, &problem));
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? 0 : parser_problem(r);
}

#define _cleanup_event_ __attribute__((cleanup(yaml_event_delete)))

/*
 * Values
 */

static int add_count(struct reader *r, const yaml_event_t *event, size_t n)
{
	/* Both are at most LIMIT_VALUES, so the sum cannot overflow. */
	r->count += n;
	if (r->count > LIMIT_VALUES)
		return FAIL_EVENT(r, event,
				  "more than %d values, aliases counted with all they stand for",
				  LIMIT_VALUES);
	return 0;
}

static int new_value(struct reader *r, const yaml_event_t *event, enum value_kind kind,
		     const yaml_char_t *tag, struct value **ret_value)
{
	struct value *value = arena_new(r->arena, struct value);

	if (!value)
		return error_memory(r->report->err);
	value->kind = kind;
	value->line = from_one(event->start_mark.line);
	value->column = from_one(event->start_mark.column);
	value->count = 1;
	value->height = kind == VALUE_SCALAR ? 0 : 1;
	/* libyaml itself drops a lone "!", but not where nothing stands behind it. */
	if (tag && strcmp((const char *)tag, "!") != 0) {
		value->tag = arena_strdup(r->arena, (const char *)tag);
		if (!value->tag)
			return error_memory(r->report->err);
	}
	*ret_value = value;
	return add_count(r, event, 1);
}

static int compare_anchors(const void *a, const void *b)
{
	return strcmp(((const struct anchor *)a)->name, ((const struct anchor *)b)->name);
}

/* Names `value`. A name may be given again: aliases mean the last one. */
static int set_anchor(struct reader *r, const yaml_char_t *name, const struct value *value,
		      bool finished, struct anchor **ret_anchor)
{
	*ret_anchor = NULL;
	if (!name)
		return 0;
	struct anchor *anchor = arena_new(r->arena, struct anchor);
	const char *copy = arena_strdup(r->arena, (const char *)name);
	if (!anchor || !copy)
		return error_memory(r->report->err);
	*anchor = (struct anchor){.name = copy, .value = value, .finished = finished};
	struct anchor **node = tsearch(anchor, &r->anchors, compare_anchors);
	if (!node)
		return error_memory(r->report->err);
	/*
	 * An older one of that name may still be open: whoever holds it keeps it, the name goes to
	 * the new one.
	 */
	*node = anchor;
	*ret_anchor = anchor;
	return 0;
}

static bool is_merge_key(const struct value *key)
{
	if (key->tag ? strcmp(key->tag, CORE_TAG "merge") != 0 : !key->plain)
		return false;
	return strcmp(key->text, "<<") == 0;
}

static int take_key(struct reader *r, struct level *level, const struct value *value)
{
	if (value->kind != VALUE_SCALAR)
		return FAIL(r, value, "a key must be text, not %s%s", value_noun(value),
			    value->kind == VALUE_MAP ? ": a template that was not filled in?" : "");
	if (!is_merge_key(value)) {
		level->key = value;
		return 0;
	}
	if (level->merge_key)
		return FAIL(r, value, "a second << in one map: the first is on line %u",
			    level->merge_key->line);
	level->merge_key = value;
	level->key = value;
	return 0;
}

static int take_entry(struct reader *r, struct level *level, const struct value *value)
{
	const struct value *key = level->key;

	level->key = NULL;
	level->last_key = key;
	if (key == level->merge_key) {
		const struct value **merge = array_add(r->arena, &level->merges);
		if (!merge)
			return error_memory(r->report->err);
		*merge = value;
		return 0;
	}
	if (spec_scalar_is_null(key)) {
		cdi_report_warning(r->report, key->line, key->column, SHOW_PATH(r),
				   "a null key and its value are ignored");
		return 0;
	}
	struct value_entry *entry = array_add(r->arena, &level->value->map);
	if (!entry)
		return error_memory(r->report->err);
	*entry = (struct value_entry){key, value};
	return 0;
}

/* Puts a value, which may be a list or map just opened, where it belongs. */
static int place_value(struct reader *r, struct value *value)
{
	struct level *level = r->n_levels ? &r->levels[r->n_levels - 1] : NULL;

	if (!level) {
		r->root = value;
		return 0;
	}
	if (level->value->kind == VALUE_MAP)
		return level->key ? take_entry(r, level, value) : take_key(r, level, value);

	const struct value **item = array_add(r->arena, &level->value->list);
	if (!item)
		return error_memory(r->report->err);
	*item = value;
	return 0;
}

/*
 * Maps: no key twice, and merge keys
 */

/*
 * An entry that a map may get. The order is its own entries, then those of each merged map: the
 * first of a key wins.
 */
struct candidate {
	struct value_entry entry;
	size_t order;
};

static int compare_keys(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	int r = strcmp(left->entry.key->text, right->entry.key->text);

	return r ? r : (left->order > right->order) - (left->order < right->order);
}

static int compare_order(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	return (left->order > right->order) - (left->order < right->order);
}

static size_t add_candidates(struct candidate *candidates, size_t n, const struct value_map *map)
{
	for (size_t i = 0; i < map->n; i++, n++)
		candidates[n] = (struct candidate){map->items[i], n};
	return n;
}

static bool same_key(const struct candidate *a, const struct candidate *b)
{
	return strcmp(a->entry.key->text, b->entry.key->text) == 0;
}

static int fail_double(struct reader *r, const struct candidate *twice,
		       const struct candidate *first)
{
	return FAIL(r, twice->entry.key, "key \"%s\" a second time: the first is on line %u",
		    SHOW(twice->entry.key->text), first->entry.key->line);
}

/*
 * Of `n` sorted candidates, keeps the first of each key. Two own ones of a map, which are the first
 * `n_own`, fail: of several the first in the file.
 */
static int drop_doubles(struct reader *r, struct candidate *candidates, size_t *n, size_t n_own)
{
	const struct candidate *twice = NULL, *first_of_twice = NULL, *first = candidates;
	size_t kept = 0;

	/* Own entries stand in front of merged ones of the same key. */
	for (size_t i = 0; i < *n; i++) {
		const struct candidate *next = &candidates[i];

		if (i == 0 || !same_key(first, next)) {
			first = next;
			continue;
		}
		if (next->order >= n_own)
			continue;
		if (r->report->problems)
			fail_double(r, next, first);
		else if (!twice || next->order < twice->order) {
			twice = next;
			first_of_twice = first;
		}
	}
	if (twice)
		return fail_double(r, twice, first_of_twice);

	for (size_t i = 0; i < *n; i++)
		if (i == 0 || !same_key(&candidates[kept - 1], &candidates[i]))
			candidates[kept++] = candidates[i];
	*n = kept;
	return 0;
}

/* Makes the merge key's value a list of maps. */
static int collect_merges(struct reader *r, struct level *level)
{
	if (!level->merges.n)
		return 0;
	const struct value *merge = level->merges.items[0];
	if (merge->kind == VALUE_LIST)
		level->merges = merge->list;
	for (size_t i = 0; i < level->merges.n; i++) {
		const struct value *item = level->merges.items[i];

		if (item->kind != VALUE_MAP)
			return FAIL(r, item, "<< needs a map or a list of maps, not %s",
				    value_noun(item));
	}
	return 0;
}

static int finish_map(struct reader *r, struct level *level)
{
	struct value_map *map = &level->value->map;
	size_t n_own = map->n, total = map->n, n = 0;
	int ret = collect_merges(r, level);

	if (ret < 0)
		return ret;
	/*
	 * Each entry was counted where it stood or where an alias led to it: the sum is within
	 * LIMIT_VALUES.
	 */
	for (size_t i = 0; i < level->merges.n; i++)
		total += level->merges.items[i]->map.n;
	if (total < 2 && !level->merges.n)
		return 0;

	struct candidate *candidates = arena_alloc_array(r->arena, total, sizeof(*candidates));
	if (!candidates)
		return error_memory(r->report->err);
	n = add_candidates(candidates, n, map);
	for (size_t i = 0; i < level->merges.n; i++)
		n = add_candidates(candidates, n, &level->merges.items[i]->map);
	qsort(candidates, n, sizeof(*candidates), compare_keys);
	ret = drop_doubles(r, candidates, &n, n_own);
	if (ret < 0 || (n == n_own && !level->merges.n))
		return ret;

	qsort(candidates, n, sizeof(*candidates), compare_order);
	map->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct value_entry *entry = array_add(r->arena, map);
		if (!entry)
			return error_memory(r->report->err);
		*entry = candidates[i].entry;
	}
	return 0;
}

/*
 * Nodes of the document
 */

static int take_binary(struct reader *r, struct value *value, const char *text, size_t len)
{
	char *decoded = arena_alloc(r->arena, len + 1);

	if (!decoded)
		return error_memory(r->report->err);
	long n = spec_scalar_base64(text, len, decoded);
	value->text = decoded;
	value->len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? go_on(r, FAIL(r, value, "!!binary text is not base64")) : 0;
}

static int take_scalar(struct reader *r, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	struct anchor *anchor;
	struct value *value;
	int ret;

	if (len > LIMIT_STRING) {
		ret = go_on(r, FAIL_EVENT(r, event, "text of more than %d bytes", LIMIT_STRING));
		if (ret < 0)
			return ret;
		len = 0;
	}
	ret = new_value(r, event, VALUE_SCALAR, event->data.scalar.tag, &value);
	if (ret < 0)
		return ret;
	value->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (value->tag && strcmp(value->tag, CORE_TAG "binary") == 0) {
		ret = take_binary(r, value, text, len);
		if (ret < 0)
			return ret;
	} else {
		value->text = arena_strndup(r->arena, text, len);
		value->len = len;
		if (!value->text)
			return error_memory(r->report->err);
	}
	if (memchr(value->text, '\0', value->len)) {
		ret = go_on(r, FAIL(r, value, "text with a NUL byte in it"));
		if (ret < 0)
			return ret;
		value->len = strlen(value->text);
	}
	ret = set_anchor(r, event->data.scalar.anchor, value, true, &anchor);
	return ret < 0 ? ret : place_value(r, value);
}

static int open_level(struct reader *r, const yaml_event_t *event, enum value_kind kind,
		      const yaml_char_t *tag, const yaml_char_t *name)
{
	size_t count_before = r->count;
	struct anchor *anchor;
	struct value *value;
	int ret;

	if (r->n_levels == LIMIT_DEPTH)
		return FAIL_EVENT(r, event, "nested deeper than %d levels", LIMIT_DEPTH);
	ret = new_value(r, event, kind, tag, &value);
	if (ret < 0)
		return ret;
	ret = set_anchor(r, name, value, false, &anchor);
	if (ret < 0)
		return ret;
	ret = place_value(r, value);
	if (ret < 0)
		return ret;
	r->levels[r->n_levels++] =
		(struct level){.value = value, .anchor = anchor, .count_before = count_before};
	return 0;
}

/* Tells the list or map that `height` levels begin in it. */
static int grow_parent(struct reader *r, const yaml_event_t *event, unsigned height)
{
	struct value *parent = r->n_levels ? r->levels[r->n_levels - 1].value : NULL;

	if (r->n_levels + height > LIMIT_DEPTH)
		return FAIL_EVENT(r, event, "nested deeper than %d levels", LIMIT_DEPTH);
	if (parent && parent->height < height + 1)
		parent->height = height + 1;
	return 0;
}

static int close_level(struct reader *r, const yaml_event_t *event)
{
	struct level *level = &r->levels[r->n_levels - 1];
	int ret;

	if (level->value->kind == VALUE_MAP) {
		ret = finish_map(r, level);
		if (ret < 0)
			return ret;
	}
	level->value->count = r->count - level->count_before;
	if (level->anchor)
		level->anchor->finished = true;
	r->n_levels--;
	return grow_parent(r, event, level->value->height);
}

static int take_alias(struct reader *r, const yaml_event_t *event)
{
	struct anchor wanted = {.name = (const char *)event->data.alias.anchor};
	struct anchor **node = tfind(&wanted, &r->anchors, compare_anchors);
	int ret;

	if (!node)
		return FAIL_EVENT(r, event, "alias *%s has no anchor &%s before it",
				  SHOW(wanted.name), SHOW(wanted.name));
	if (!(*node)->finished)
		return FAIL_EVENT(r, event, "alias *%s stands inside the value that it names",
				  SHOW(wanted.name));
	ret = add_count(r, event, (*node)->value->count);
	if (ret < 0)
		return ret;
	ret = grow_parent(r, event, (*node)->value->height);
	/* Only values that are open are ever changed, and this one is finished. */
	return ret < 0 ? ret : place_value(r, (struct value *)(*node)->value);
}

static int take_event(struct reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return take_scalar(r, event);
	case YAML_ALIAS_EVENT:
		return take_alias(r, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_level(r, event, VALUE_LIST, event->data.sequence_start.tag,
				  event->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT:
		return open_level(r, event, VALUE_MAP, event->data.mapping_start.tag,
				  event->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_level(r, event);
	default:
		return 0;
	}
}

/*
 * The file
 */

/*
 * Whatever follows the first document is never used, as in the reference, and never passed over in
 * silence.
 */
static int look_behind(struct reader *r)
{
	const struct cdi_report *report = r->report;
	_cleanup_event_ yaml_event_t event = {0};
	struct error unused = {0};
	const struct cdi_report silent = {.file = report->file, .err = &unused};

	r->report = &silent;
	int ret = next_event(r, &event);
	r->report = report;
	if (ret < 0 && r->parser.error == YAML_MEMORY_ERROR)
		return error_memory(report->err);
	if (ret >= 0 && event.type == YAML_STREAM_END_EVENT)
		return 0;
	yaml_mark_t mark = r->parser.problem_mark;
	if (ret >= 0)
		mark = event.start_mark;
	else if (r->parser.error == YAML_READER_ERROR)
		mark = r->parser.mark;
	cdi_report_warning(report, from_one(mark.line), from_one(mark.column), "",
			   "only the first document of a file is used: what follows is ignored");
	return 0;
}

static int read_document(struct reader *r)
{
	int ret;

	for (;;) {
		_cleanup_event_ yaml_event_t event = {0};

		ret = next_event(r, &event);
		if (ret < 0)
			return ret;
		if (event.type == YAML_STREAM_END_EVENT)
			return FAIL_AT(r, 1u, 1u, "the file holds no data");
		if (event.type == YAML_DOCUMENT_END_EVENT)
			break;
		ret = take_event(r, &event);
		if (ret < 0)
			return ret;
	}
	if (spec_scalar_is_null(r->root))
		return FAIL(r, r->root, "the first document holds no data");
	return look_behind(r);
}

/* What libyaml is not to see, or would not understand. */
static int prepare_text(struct reader *r)
{
	unsigned line = spec_text_directive(&r->text, LIMIT_YAML_DIRECTIVES);

	if (spec_text_is_blank(&r->text))
		return FAIL_AT(r, 1u, 1u, "the file is empty");
	if (line)
		return FAIL_AT(r, line, 1u, "more than %d lines begin with %%",
			       LIMIT_YAML_DIRECTIVES);
	if (!spec_text_has_pairs(&r->text))
		return 0;
	char *copy = arena_alloc(r->arena, r->text.size);
	if (!copy)
		return error_memory(r->report->err);
	spec_text_rewrite_pairs(&r->text, copy);
	r->text.data = copy;
	return 0;
}

static void keep_node(void *node)
{
	(void)node; /* anchors live in the arena */
}

int spec_read(struct arena *arena, const struct cdi_report *report, const char *data, size_t size,
	      const struct value **ret_root)
{
	struct reader r = {
		.arena = arena,
		.report = report,
	};
	int ret;

	*ret_root = NULL;
	spec_text_init(&r.text, data, size);
	ret = prepare_text(&r);
	if (ret < 0)
		return ret;
	if (!yaml_parser_initialize(&r.parser))
		return error_memory(report->err);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.text.data, r.text.size);
	ret = read_document(&r);
	yaml_parser_delete(&r.parser);
	tdestroy(r.anchors, keep_node);
	*ret_root = r.root;
	return ret;
}
