/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree is built without recursion, on a stack of the lists and maps that are still open, and
 * every value is counted with all that aliases stand for: a file of a million brackets ends at the
 * 65th, and one whose aliases multiply before they have.
 */
#include "spec-tree.h"

#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec-scalar.h"

#define CORE_TAG "tag:yaml.org,2002:"
/* Bytes of a JSON path; longer ones are cut. */
#define PATH_ROOM 512

/*
 * What an anchor names. The value of an unfinished one is still open: an alias to it would make a
 * tree without end.
 */
struct spec_anchor {
	const char *name;
	const struct value *value;
	bool finished;
};

/*
 * Sentences
 */

const char *value_noun(const struct value *value)
{
	if (value->kind == VALUE_LIST)
		return "a list";
	if (value->kind == VALUE_MAP)
		return "a map";
	return spec_scalar_is_null(value) ? "null" : "text";
}

/* "[3]" or ".key"; a key that is not a plain word as ["it is"]. */
static size_t write_step(const struct spec_level *level, bool innermost, char *out, size_t size)
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
static const char *write_path(const struct spec_tree *tree, char buffer[static PATH_ROOM])
{
	size_t used = 0;

	for (unsigned i = 0; i < tree->n_levels; i++)
		used += write_step(&tree->levels[i], i + 1 == tree->n_levels, buffer + used,
				   PATH_ROOM - used);
	return buffer[0] == '.' ? buffer + 1 : buffer;
}

int spec_tree_fail(const struct spec_tree *tree, unsigned line, unsigned column, const char *fmt,
		   ...)
{
	char text[ERROR_TEXT_MAX], path[PATH_ROOM] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return cdi_report_error(tree->report, line, column, write_path(tree, path), "%s", text);
}

#define FAIL(tree, at, fmt, ...)                                                                   \
	spec_tree_fail((tree), (at)->line, (at)->column, fmt, ##__VA_ARGS__)

/* What a fault that leaves the rest readable comes to: the end, unless all of them are wanted. */
static int go_on(const struct spec_tree *tree, int ret)
{
	return ret == -EINVAL && tree->report->problems ? 0 : ret;
}

/*
 * Values
 */

static int add_count(struct spec_tree *tree, const struct spec_start *start, size_t n)
{
	/* Both are at most LIMIT_VALUES, so the sum cannot overflow. */
	tree->count += n;
	if (tree->count > LIMIT_VALUES)
		return FAIL(tree, start,
			    "more than %d values, aliases counted with all they stand for",
			    LIMIT_VALUES);
	return 0;
}

static int new_value(struct spec_tree *tree, const struct spec_start *start, enum value_kind kind,
		     struct value **ret_value)
{
	struct value *value = arena_new(tree->arena, struct value);

	if (!value)
		return error_memory(tree->report->err);
	value->kind = kind;
	value->line = start->line;
	value->column = start->column;
	value->count = 1;
	value->height = kind == VALUE_SCALAR ? 0 : 1;
	if (start->tag) {
		value->tag = arena_strdup(tree->arena, start->tag);
		if (!value->tag)
			return error_memory(tree->report->err);
	}
	*ret_value = value;
	return add_count(tree, start, 1);
}

static int compare_anchors(const void *a, const void *b)
{
	return strcmp(((const struct spec_anchor *)a)->name, ((const struct spec_anchor *)b)->name);
}

/* Names `value`. A name may be given again: aliases mean the last one. */
static int set_anchor(struct spec_tree *tree, const char *name, const struct value *value,
		      bool finished, struct spec_anchor **ret_anchor)
{
	*ret_anchor = NULL;
	if (!name)
		return 0;
	struct spec_anchor *anchor = arena_new(tree->arena, struct spec_anchor);
	const char *copy = arena_strdup(tree->arena, name);
	if (!anchor || !copy)
		return error_memory(tree->report->err);
	*anchor = (struct spec_anchor){.name = copy, .value = value, .finished = finished};
	struct spec_anchor **node = tsearch(anchor, &tree->anchors, compare_anchors);
	if (!node)
		return error_memory(tree->report->err);
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

static int take_key(struct spec_tree *tree, struct spec_level *level, const struct value *value)
{
	if (value->kind != VALUE_SCALAR)
		return FAIL(tree, value, "a key must be text, not %s%s", value_noun(value),
			    value->kind == VALUE_MAP ? ": a template that was not filled in?" : "");
	if (!is_merge_key(value)) {
		level->key = value;
		return 0;
	}
	if (level->merge_key)
		return FAIL(tree, value, "a second << in one map: the first is on line %u",
			    level->merge_key->line);
	level->merge_key = value;
	level->key = value;
	return 0;
}

static int take_entry(struct spec_tree *tree, struct spec_level *level, const struct value *value)
{
	const struct value *key = level->key;

	level->key = NULL;
	level->last_key = key;
	if (key == level->merge_key) {
		const struct value **merge = array_add(tree->arena, &level->merges);
		if (!merge)
			return error_memory(tree->report->err);
		*merge = value;
		return 0;
	}
	if (spec_scalar_is_null(key)) {
		cdi_report_warning(tree->report, key->line, key->column,
				   write_path(tree, (char[PATH_ROOM]){0}),
				   "a null key and its value are ignored");
		return 0;
	}
	struct value_entry *entry = array_add(tree->arena, &level->value->map);
	if (!entry)
		return error_memory(tree->report->err);
	*entry = (struct value_entry){key, value};
	return 0;
}

/* Puts a value, which may be a list or map just opened, where it belongs. */
static int place_value(struct spec_tree *tree, struct value *value)
{
	struct spec_level *level = tree->n_levels ? &tree->levels[tree->n_levels - 1] : NULL;

	if (!level) {
		tree->root = value;
		return 0;
	}
	if (level->value->kind == VALUE_MAP)
		return level->key ? take_entry(tree, level, value) : take_key(tree, level, value);

	const struct value **item = array_add(tree->arena, &level->value->list);
	if (!item)
		return error_memory(tree->report->err);
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

static int fail_double(struct spec_tree *tree, const struct candidate *twice,
		       const struct candidate *first)
{
	return FAIL(tree, twice->entry.key, "key \"%s\" a second time: the first is on line %u",
		    SHOW(twice->entry.key->text), first->entry.key->line);
}

/*
 * Of `n` sorted candidates, keeps the first of each key. Two own ones of a map, which are the first
 * `n_own`, fail: of several the first in the file.
 */
static int drop_doubles(struct spec_tree *tree, struct candidate *candidates, size_t *n,
			size_t n_own)
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
		if (tree->report->problems)
			fail_double(tree, next, first);
		else if (!twice || next->order < twice->order) {
			twice = next;
			first_of_twice = first;
		}
	}
	if (twice)
		return fail_double(tree, twice, first_of_twice);

	for (size_t i = 0; i < *n; i++)
		if (i == 0 || !same_key(&candidates[kept - 1], &candidates[i]))
			candidates[kept++] = candidates[i];
	*n = kept;
	return 0;
}

/* Makes the merge key's value a list of maps. */
static int collect_merges(struct spec_tree *tree, struct spec_level *level)
{
	if (!level->merges.n)
		return 0;
	const struct value *merge = level->merges.items[0];
	if (merge->kind == VALUE_LIST)
		level->merges = merge->list;
	for (size_t i = 0; i < level->merges.n; i++) {
		const struct value *item = level->merges.items[i];

		if (item->kind != VALUE_MAP)
			return FAIL(tree, item, "<< needs a map or a list of maps, not %s",
				    value_noun(item));
	}
	return 0;
}

static int finish_map(struct spec_tree *tree, struct spec_level *level)
{
	struct value_map *map = &level->value->map;
	size_t n_own = map->n, total = map->n, n = 0;
	int ret = collect_merges(tree, level);

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

	struct candidate *candidates = arena_alloc_array(tree->arena, total, sizeof(*candidates));
	if (!candidates)
		return error_memory(tree->report->err);
	n = add_candidates(candidates, n, map);
	for (size_t i = 0; i < level->merges.n; i++)
		n = add_candidates(candidates, n, &level->merges.items[i]->map);
	qsort(candidates, n, sizeof(*candidates), compare_keys);
	ret = drop_doubles(tree, candidates, &n, n_own);
	if (ret < 0 || (n == n_own && !level->merges.n))
		return ret;

	qsort(candidates, n, sizeof(*candidates), compare_order);
	map->n = 0;
	for (size_t i = 0; i < n; i++) {
		struct value_entry *entry = array_add(tree->arena, map);
		if (!entry)
			return error_memory(tree->report->err);
		*entry = candidates[i].entry;
	}
	return 0;
}

/*
 * Nodes of the document
 */

static int take_binary(struct spec_tree *tree, struct value *value, const char *text, size_t len)
{
	char *decoded = arena_alloc(tree->arena, len + 1);

	if (!decoded)
		return error_memory(tree->report->err);
	long n = spec_scalar_base64(text, len, decoded);
	value->text = decoded;
	value->len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? go_on(tree, FAIL(tree, value, "!!binary text is not base64")) : 0;
}

int spec_tree_scalar(struct spec_tree *tree, const struct spec_start *start, const char *text,
		     size_t len, bool plain)
{
	struct spec_anchor *anchor;
	struct value *value;
	int ret;

	if (len > LIMIT_STRING) {
		ret = go_on(tree, FAIL(tree, start, "text of more than %d bytes", LIMIT_STRING));
		if (ret < 0)
			return ret;
		len = 0;
	}
	ret = new_value(tree, start, VALUE_SCALAR, &value);
	if (ret < 0)
		return ret;
	value->plain = plain;
	if (value->tag && strcmp(value->tag, CORE_TAG "binary") == 0) {
		ret = take_binary(tree, value, text, len);
		if (ret < 0)
			return ret;
	} else {
		value->text = arena_strndup(tree->arena, text, len);
		value->len = len;
		if (!value->text)
			return error_memory(tree->report->err);
	}
	if (memchr(value->text, '\0', value->len)) {
		ret = go_on(tree, FAIL(tree, value, "text with a NUL byte in it"));
		if (ret < 0)
			return ret;
		value->len = strlen(value->text);
	}
	ret = set_anchor(tree, start->anchor, value, true, &anchor);
	return ret < 0 ? ret : place_value(tree, value);
}

int spec_tree_open(struct spec_tree *tree, const struct spec_start *start, enum value_kind kind)
{
	size_t count_before = tree->count;
	struct spec_anchor *anchor;
	struct value *value;
	int ret;

	if (tree->n_levels == LIMIT_DEPTH)
		return FAIL(tree, start, "nested deeper than %d levels", LIMIT_DEPTH);
	ret = new_value(tree, start, kind, &value);
	if (ret < 0)
		return ret;
	ret = set_anchor(tree, start->anchor, value, false, &anchor);
	if (ret < 0)
		return ret;
	ret = place_value(tree, value);
	if (ret < 0)
		return ret;
	tree->levels[tree->n_levels++] =
		(struct spec_level){.value = value, .anchor = anchor, .count_before = count_before};
	return 0;
}

/* Tells the list or map that `height` levels begin in it. */
static int grow_parent(struct spec_tree *tree, const struct spec_start *start, unsigned height)
{
	struct value *parent = tree->n_levels ? tree->levels[tree->n_levels - 1].value : NULL;

	if (tree->n_levels + height > LIMIT_DEPTH)
		return FAIL(tree, start, "nested deeper than %d levels", LIMIT_DEPTH);
	if (parent && parent->height < height + 1)
		parent->height = height + 1;
	return 0;
}

int spec_tree_close(struct spec_tree *tree, const struct spec_start *end)
{
	struct spec_level *level = &tree->levels[tree->n_levels - 1];
	int ret;

	if (level->value->kind == VALUE_MAP) {
		ret = finish_map(tree, level);
		if (ret < 0)
			return ret;
	}
	level->value->count = tree->count - level->count_before;
	if (level->anchor)
		level->anchor->finished = true;
	tree->n_levels--;
	return grow_parent(tree, end, level->value->height);
}

int spec_tree_alias(struct spec_tree *tree, const struct spec_start *start)
{
	struct spec_anchor wanted = {.name = start->anchor};
	struct spec_anchor **node = tfind(&wanted, &tree->anchors, compare_anchors);
	int ret;

	if (!node)
		return FAIL(tree, start, "alias *%s has no anchor &%s before it", SHOW(wanted.name),
			    SHOW(wanted.name));
	if (!(*node)->finished)
		return FAIL(tree, start, "alias *%s stands inside the value that it names",
			    SHOW(wanted.name));
	ret = add_count(tree, start, (*node)->value->count);
	if (ret < 0)
		return ret;
	ret = grow_parent(tree, start, (*node)->value->height);
	/* Only values that are open are ever changed, and this one is finished. */
	return ret < 0 ? ret : place_value(tree, (struct value *)(*node)->value);
}

static void keep_node(void *node)
{
	(void)node; /* anchors live in the arena */
}

void spec_tree_init(struct spec_tree *tree, struct arena *arena, const struct cdi_report *report)
{
	*tree = (struct spec_tree){.arena = arena, .report = report};
}

void spec_tree_done(struct spec_tree *tree)
{
	tdestroy(tree->anchors, keep_node);
}
