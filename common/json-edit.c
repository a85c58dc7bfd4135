/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config.json belongs to its engine. Whoever decodes one into a structure and writes it anew loses what the
 * structure does not know, rounds numbers and forgets the order. So nothing is written anew: each edit names the bytes in
 * whose place it comes, and all others are copied.
 *
 * Bytes between two items belong to the one behind them, so that a new item looks like its neighbours and an item that
 * moves brings its line along.
 */
#include "json-edit.h"

#include <string.h>

#include "text.h"

/* ---- Where things stand ---- */

/* The members or items of the value that begins at `start`; the document has been scanned before. */
static int find_children(struct json_edit *edit, size_t start, struct json_edit_children *children,
			 struct error *err)
{
	struct json_edit_child *child = NULL;
	size_t lead = start + 1;
	struct json_scan scan;
	bool in_value = false; /* of the last child: its key is read, or its value is open */
	int token;

	json_scan_init(&scan, edit->what, edit->data + start, edit->size - start);
	token = json_scan_next(&scan, err);
	while (token > 0 && (token = json_scan_next(&scan, err)) > 0 && scan.depth > 0) {
		bool opens = token == JSON_TOKEN_OBJECT || token == JSON_TOKEN_ARRAY;
		bool closes = token == JSON_TOKEN_OBJECT_END || token == JSON_TOKEN_ARRAY_END;

		if (scan.depth > 1 + (unsigned)opens)
			continue;
		if (!in_value) {
			child = array_add(edit->arena, children);
			if (!child)
				return error_memory(err);
			*child = (struct json_edit_child){.lead = lead,
							  .lead_end = start + scan.start};
		}
		if (token == JSON_TOKEN_KEY) {
			child->key_end = start + scan.end;
			child->key = json_scan_text(edit->arena, &scan);
			if (!child->key)
				return error_memory(err);
		} else if (!closes) {
			child->start = start + scan.start;
		}
		child->end = lead = start + scan.end;
		in_value = token == JSON_TOKEN_KEY || opens;
	}
	return token < 0 ? token : 0;
}

static const struct json_edit_child *find_member(const struct json_edit_object *object,
						 const char *key)
{
	for (size_t i = 0; i < object->members.n; i++)
		if (strcmp(object->members.items[i].key, key) == 0)
			return &object->members.items[i];
	return NULL;
}

static int splice(struct json_edit *edit, size_t start, size_t end, const char *text,
		  struct error *err)
{
	struct json_splice *splice = array_add(edit->arena, &edit->splices);

	if (!splice)
		return error_memory(err);
	*splice = (struct json_splice){start, end, text};
	return 0;
}

/* The document's bytes. */
static void put_bytes(struct text *text, const struct json_edit *edit, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		text_put_byte(text, edit->data[i]);
}

/* What stands between a comma, or the opening bracket, and the child. */
static size_t behind_comma(const struct json_edit *edit, const struct json_edit_child *child)
{
	const char *comma = memchr(edit->data + child->lead, ',', child->lead_end - child->lead);

	return comma ? (size_t)(comma - edit->data) + 1 : child->lead;
}

/* ---- The document ---- */

int json_edit_open(struct arena *arena, struct json_edit *edit, const char *what, const char *data,
		   size_t size, struct error *err)
{
	struct json_edit_children members = {0};
	int r;

	*edit = (struct json_edit){.arena = arena, .what = what, .data = data, .size = size};
	r = json_parse(arena, what, data, size, &edit->tree, err);
	if (r < 0)
		return r;
	const struct json_at root = json_root(what, edit->tree);
	r = json_get_object(&root, JSON_REQUIRED, err);
	if (r < 0)
		return r;
	r = find_children(edit, (size_t)((const char *)memchr(data, '{', size) - data), &members,
			  err);
	edit->comma = ",";
	edit->colon = ":";
	if (members.n > 0 && members.items[0].start > members.items[0].key_end + 1) {
		edit->comma = ", ";
		edit->colon = ": ";
	}
	return r;
}

void json_edit_close(struct json_edit *edit)
{
	json_put(&edit->tree);
}

/* Few splices come in any order; those of one place stay in theirs. */
static void sort_splices(struct json_edit *edit)
{
	struct json_splice *items = edit->splices.items;

	for (size_t i = 1; i < edit->splices.n; i++) {
		struct json_splice moved = items[i];
		size_t at = i;
		for (; at > 0 && items[at - 1].start > moved.start; at--)
			items[at] = items[at - 1];
		items[at] = moved;
	}
}

int json_edit_finish(struct json_edit *edit, const char **ret_data, size_t *ret_size,
		     struct error *err)
{
	size_t size = edit->size, from = 0, used = 0;
	char *data;

	*ret_data = edit->data;
	*ret_size = edit->size;
	if (edit->splices.n == 0)
		return 0;
	sort_splices(edit);
	for (size_t i = 0; i < edit->splices.n; i++)
		size += strlen(edit->splices.items[i].text);
	data = arena_alloc(edit->arena, size + 1);
	if (!data)
		return error_memory(err);
	for (size_t i = 0; i < edit->splices.n; i++) {
		const struct json_splice *item = &edit->splices.items[i];
		size_t len = strlen(item->text);

		memcpy(data + used, edit->data + from, item->start - from);
		used += item->start - from;
		memcpy(data + used, item->text, len);
		used += len;
		from = item->end;
	}
	memcpy(data + used, edit->data + from, edit->size - from);
	*ret_size = used + edit->size - from;
	*ret_data = data;
	/* Nobody gets a document that is none. */
	return json_check(edit->what, *ret_data, *ret_size, err);
}

/* ---- Objects ---- */

int json_edit_enter(struct json_edit *edit, struct json_edit_object *parent, const char *key,
		    struct json_edit_object *ret_object, struct error *err)
{
	const struct json_edit_child *child = parent && key ? find_member(parent, key) : NULL;
	int r;

	*ret_object = (struct json_edit_object){.edit = edit, .parent = parent};
	ret_object->at =
		parent && key ? json_member(&parent->at, key) : json_root(edit->what, edit->tree);
	r = json_get_object(&ret_object->at, JSON_OPTIONAL, err);
	if (r <= 0)
		return r;
	ret_object->start =
		child ? child->start
		      : (size_t)((const char *)memchr(edit->data, '{', edit->size) - edit->data);
	return find_children(edit, ret_object->start, &ret_object->members, err);
}

/* A member behind those that are there. */
static int add_member(struct json_edit_object *object, const char *key, const char *value,
		      struct error *err)
{
	const struct json_edit *edit = object->edit;
	const struct json_edit_children *members = &object->members;
	const struct json_edit_child *last =
		members->n > 0 ? &members->items[members->n - 1] : NULL;
	struct text text = {.arena = edit->arena};

	if (object->added)
		text_put(&text, object->added);
	if (last) {
		text_put_byte(&text, ',');
		put_bytes(&text, edit, behind_comma(edit, last), last->lead_end);
	} else if (object->added) {
		text_put(&text, edit->comma);
	}
	text_put_json(&text, key);
	if (last)
		put_bytes(&text, edit, last->key_end, last->start);
	else
		text_put(&text, edit->colon);
	text_put(&text, value);
	object->added = text_end(&text, err);
	return object->added ? 0 : error_result(err);
}

/* Whether a value is what some JSON says. */
static int is_value(struct json_edit *edit, struct json_object *value, const char *json,
		    struct error *err)
{
	_cleanup_json_ struct json_object *other = NULL;
	int r = json_parse(edit->arena, "value", json, strlen(json), &other, err);

	return r < 0 ? r : json_object_equal(value, other);
}

int json_edit_set(struct json_edit_object *object, const char *key, const char *value,
		  struct error *err)
{
	const struct json_edit_child *child = find_member(object, key);
	const struct json_at at = json_member(&object->at, key);
	int same;

	if (!child)
		return add_member(object, key, value, err);
	same = is_value(object->edit, at.value, value, err);
	if (same != 0)
		return same < 0 ? same : 0;
	return splice(object->edit, child->start, child->end, value, err);
}

int json_edit_leave(struct json_edit_object *object, struct error *err)
{
	const struct json_edit_children *members = &object->members;
	const char *text;

	if (!object->added)
		return 0;
	if (object->at.value)
		return splice(
			object->edit,
			members->n > 0 ? members->items[members->n - 1].end : object->start + 1,
			members->n > 0 ? members->items[members->n - 1].end : object->start + 1,
			object->added, err);
	text = arena_printf(object->edit->arena, "{%s}", object->added);
	return text ? json_edit_set(object->parent, object->at.name, text, err) : error_memory(err);
}

/* ---- Arrays ---- */

int json_edit_enter_array(struct json_edit_object *parent, const char *key,
			  struct json_edit_array *ret_array, struct error *err)
{
	struct json_edit *edit = parent->edit;
	const struct json_edit_child *child = find_member(parent, key);
	size_t count = 0;
	int r;

	*ret_array =
		(struct json_edit_array){.parent = parent, .at = json_member(&parent->at, key)};
	r = json_get_array(&ret_array->at, JSON_OPTIONAL, &count, err);
	if (r <= 0 || !child)
		return r < 0 ? r : 0;
	ret_array->start = child->start;
	r = find_children(edit, child->start, &ret_array->children, err);
	for (size_t i = 0; r == 0 && i < ret_array->children.n; i++) {
		struct json_edit_item *item = array_add(edit->arena, &ret_array->items);

		if (!item)
			return error_memory(err);
		*item = (struct json_edit_item){.child = &ret_array->children.items[i],
						.at = json_item(&ret_array->at, i)};
	}
	return r;
}

int json_edit_append(struct json_edit_array *array, const char *value, struct error *err)
{
	struct json_edit_item *item = array_add(array->parent->edit->arena, &array->items);

	if (!item)
		return error_memory(err);
	*item = (struct json_edit_item){.text = value};
	array->changed = true;
	return 0;
}

void json_edit_replace(struct json_edit_array *array, size_t item, const char *value)
{
	array->items.items[item].text = value;
	array->changed = true;
}

void json_edit_remove(struct json_edit_array *array, size_t item)
{
	struct json_edit_item *items = array->items.items;

	array->items.n--;
	memmove(items + item, items + item + 1, (array->items.n - item) * sizeof(*items));
	array->changed = true;
}

void json_edit_sort(struct json_edit_array *array)
{
	struct json_edit_item *items = array->items.items;

	for (size_t i = 1; i < array->items.n; i++) {
		struct json_edit_item moved = items[i];
		size_t at = i;
		for (; at > 0 && items[at - 1].rank > moved.rank; at--)
			items[at] = items[at - 1];
		array->changed = array->changed || at != i;
		items[at] = moved;
	}
}

/* The bytes in front of an item that belong to it, with the comma unless it is the first one now. */
static void put_lead(struct text *text, const struct json_edit_array *array, size_t at)
{
	const struct json_edit *edit = array->parent->edit;
	const struct json_edit_child *child = array->items.items[at].child;
	size_t n = array->children.n;

	if (child && at > 0 && behind_comma(edit, child) > child->lead)
		put_bytes(text, edit, child->lead, behind_comma(edit, child) - 1);
	if (at > 0)
		text_put_byte(text, ',');
	/* A new one looks like the last of the old ones. */
	if (!child && n > 0)
		child = &array->children.items[n - 1];
	if (child)
		put_bytes(text, edit, behind_comma(edit, child), child->lead_end);
	else if (at > 0 && edit->comma[1])
		text_put_byte(text, ' ');
}

int json_edit_leave_array(struct json_edit_array *array, struct error *err)
{
	struct json_edit *edit = array->parent->edit;
	struct text text = {.arena = edit->arena};
	const char *items;
	size_t end = array->start + 1;

	if (!array->changed)
		return 0;
	for (size_t i = 0; i < array->items.n; i++) {
		const struct json_edit_item *item = &array->items.items[i];

		put_lead(&text, array, i);
		if (item->text)
			text_put(&text, item->text);
		else
			put_bytes(&text, edit, item->child->start, item->child->end);
	}
	items = text_end(&text, err);
	if (!items)
		return error_result(err);
	if (array->children.n > 0)
		end = array->children.items[array->children.n - 1].end;
	if (array->at.value)
		return splice(edit, array->start + 1, end, items, err);
	items = arena_printf(edit->arena, "[%s]", items);
	return items ? json_edit_set(array->parent, array->at.name, items, err) : error_memory(err);
}
