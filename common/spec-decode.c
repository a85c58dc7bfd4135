/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder behind the tables of cdi-spec.c. Whoever writes a spec by hand or by a generator of
 * their own learns from these sentences what is wrong, so every one has the place in the file and
 * the JSON path.
 *
 * Keys are matched whatever the case of their letters, with a warning: the reference did so up
 * to 1.1.0, and files that rely on it are in use. Both spellings in one map are a mistake, since
 * readers choose differently.
 *
 * Functions call each other as the tables nest (a spec, its devices, their edits, the nodes in
 * them), never as the input does.
 */
#include "spec-decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "near.h"
#include "spec-scalar.h"

/*
 * Sentences
 */

int decode_fail(struct decoder *d, const struct value *value, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	d->faults++;
	return cdi_report_error(d->report, value->line, value->column, d->path, "%s", text);
}

void decode_note(struct decoder *d, const struct value *value, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cdi_report_warning(d->report, value->line, value->column, d->path, "%s", text);
}

int decode_go_on(const struct decoder *d, int r)
{
	return r == -EINVAL && d->report->problems ? 0 : r;
}

size_t decode_push(struct decoder *d, const char *fmt, ...)
{
	size_t before = d->path_len;
	va_list args;

	va_start(args, fmt);
	vsnprintf(d->path + before, sizeof(d->path) - before, fmt, args);
	va_end(args);
	d->path_len += strlen(d->path + before);
	return before;
}

void decode_pop(struct decoder *d, size_t path_len)
{
	d->path_len = path_len;
	d->path[path_len] = '\0';
}

/* .key, or key at the beginning of a path */
static size_t push_key(struct decoder *d, const char *key)
{
	return decode_push(d, "%s%s", d->path_len ? "." : "", key);
}

/* ": write KEY: VALUE", or "" where a field has no example. */
#define SHOW_FORM(field) show_form((char[256]){0}, (field))
static const char *show_form(char buffer[static 256], const struct field *field)
{
	if (field && field->form)
		snprintf(buffer, 256, ": write %s", field->form);
	return buffer;
}

/* "!!int" of the full form; other tags as they are. */
static const char *short_tag(const char *tag)
{
	static const char core[] = "tag:yaml.org,2002:";

	return strncmp(tag, core, strlen(core)) == 0 ? tag + strlen(core) : tag;
}

/* Any reader would stumble over a tag that is not true. */
static int check_tag(struct decoder *d, const struct value *value)
{
	if (spec_scalar_fits_tag(value))
		return 0;
	return decode_fail(d, value, "\"%s\" does not fit its tag !!%s: remove the tag",
			   SHOW(value->text), SHOW(short_tag(value->tag)));
}

int decode_expect(struct decoder *d, const struct field *field, const struct value *value,
		  enum value_kind kind)
{
	static const char *const nouns[] = {
		[VALUE_SCALAR] = "text",
		[VALUE_LIST] = "a list",
		[VALUE_MAP] = "a map",
	};

	if (value->kind == kind)
		return kind == VALUE_SCALAR ? check_tag(d, value) : 0;
	return decode_fail(d, value, "expected %s, not %s%s", nouns[kind], value_noun(value),
			   SHOW_FORM(field));
}

/*
 * Keys
 */

const struct value *decode_get(const struct value *map, const char *key)
{
	for (size_t i = 0; i < map->map.n; i++) {
		const struct value_entry *entry = &map->map.items[i];

		if (strcasecmp(entry->key->text, key) == 0 && !spec_scalar_is_null(entry->value))
			return entry->value;
	}
	return NULL;
}

/* Index of the field, or n_fields. No two keys of a table differ only by case. */
static size_t find_field(const struct object *object, const char *key)
{
	size_t i;

	for (i = 0; i < object->n_fields; i++)
		if (strcasecmp(object->fields[i].key, key) == 0)
			break;
	return i;
}

/* What somebody who writes this key should do, or NULL. */
static const char *stray_remedy(const struct object *object, const char *key)
{
	for (const struct stray *stray = object->strays; stray && stray->key; stray++)
		if (strcasecmp(stray->key, key) == 0)
			return stray->remedy;
	return NULL;
}

/* The key of the table that it most likely is, or NULL. */
static const char *near_key(const struct object *object, const char *key)
{
	const char *words[DECODE_FIELDS_MAX];

	for (size_t i = 0; i < object->n_fields; i++)
		words[i] = object->fields[i].key;
	return near_word(key, words, object->n_fields);
}

static int unknown_key(struct decoder *d, const struct object *object, const struct value *key)
{
	const char *remedy = stray_remedy(object, key->text);
	char list[256] = "";
	size_t used = 0;

	if (d->lenient) {
		decode_note(d, key, "unknown key \"%s\" is ignored", SHOW(key->text));
		return 0;
	}
	if (remedy)
		return decode_fail(d, key, "unknown key \"%s\": %s", SHOW(key->text), remedy);
	const char *near = near_key(object, key->text);
	if (near)
		return decode_fail(d, key, "unknown key \"%s\", did you mean \"%s\"?",
				   SHOW(key->text), near);

	for (size_t i = 0; i < object->n_fields && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 object->fields[i].key);
	return decode_fail(d, key, "unknown key \"%s\", known here are %s", SHOW(key->text), list);
}

/* Whether the user has just been told to write `field` instead of this key. */
static bool is_meant(const struct object *object, const struct field *field, const char *key)
{
	const char *remedy = stray_remedy(object, key);
	size_t len = strlen(field->key);

	if (remedy)
		return strncmp(remedy, "write ", 6) == 0 &&
		       strncmp(remedy + 6, field->key, len) == 0 && strchr(": ", remedy[6 + len]);
	return near_key(object, key) == field->key;
}

/* The same of any key of the map: then a field that is missing need not be mentioned. */
static bool is_misspelt(const struct decoder *d, const struct object *object,
			const struct field *field, const struct value *map)
{
	for (size_t i = 0; i < map->map.n && !d->lenient; i++) {
		const char *key = map->map.items[i].key->text;

		if (find_field(object, key) == object->n_fields && is_meant(object, field, key))
			return true;
	}
	return false;
}

/* Whether the entry may be that of field `at`. */
static int check_key(struct decoder *d, const struct object *object, size_t at,
		     const struct value *key, const struct value_entry *before)
{
	int r = check_tag(d, key);

	if (r < 0)
		return r;
	if (at == object->n_fields)
		return unknown_key(d, object, key);
	if (before)
		return decode_fail(d, key, "key \"%s\" is the same as \"%s\" on line %u",
				   SHOW(key->text), SHOW(before->key->text), before->key->line);
	if (strcmp(object->fields[at].key, key->text) != 0)
		decode_note(d, key, "key \"%s\" should be spelt \"%s\"", SHOW(key->text),
			    object->fields[at].key);
	return 0;
}

/* Finds the entry of each field; `found` has one element a field, NULL where the key is absent. */
static int match_keys(struct decoder *d, const struct object *object, const struct value *map,
		      const struct value_entry *found[static DECODE_FIELDS_MAX + 1])
{
	for (size_t i = 0; i < map->map.n; i++) {
		const struct value_entry *entry = &map->map.items[i];
		size_t at = find_field(object, entry->key->text);
		int r = check_key(d, object, at, entry->key, found[at]);

		if (r >= 0 && at < object->n_fields)
			found[at] = entry;
		r = decode_go_on(d, r);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_field(struct decoder *d, const struct object *object, const struct field *field,
		      const struct value *map, const struct value_entry *entry, char *out)
{
	size_t path_len;
	int r = 0;

	if (!entry && (!field->required || is_misspelt(d, object, field, map)))
		return 0;
	path_len = push_key(d, field->key);
	if (entry && !spec_scalar_is_null(entry->value)) {
		r = field->read(d, field, entry->value, out + field->offset);
		if (r >= 0 && field->has)
			*(bool *)(out + field->has) = true;
	} else if (field->required) {
		r = decode_fail(d, entry ? entry->value : map, "is missing%s", SHOW_FORM(field));
	}
	decode_pop(d, path_len);
	return r;
}

int decode_object(struct decoder *d, const struct object *object, const struct value *map,
		  void *out)
{
	/* One more, for unknown keys: it stays NULL. */
	const struct value_entry *found[DECODE_FIELDS_MAX + 1] = {NULL};
	size_t faults = d->faults;
	int r = decode_expect(d, NULL, map, VALUE_MAP);

	if (r < 0)
		return r;
	if (object->has_place)
		*(struct cdi_place *)out = (struct cdi_place){map->line, map->column};
	r = match_keys(d, object, map, found);
	for (size_t i = 0; r >= 0 && i < object->n_fields; i++)
		r = decode_go_on(d, read_field(d, object, &object->fields[i], map, found[i], out));
	/* What is wrong with a member must not look like something wrong with all of them. */
	if (r >= 0 && object->check && d->faults == faults)
		r = object->check(d, map, out);
	return r;
}

/*
 * Versions
 */

/* "1.1.0" of SPEC_VERSION(1, 1, 0) */
#define SHOW_VERSION(version) show_version((char[16]){0}, (version))
static const char *show_version(char buffer[static 16], unsigned version)
{
	snprintf(buffer, 16, "%u.%u.%u", version >> 16 & 0xff, version >> 8 & 0xff, version & 0xff);
	return buffer;
}

static int check_version(struct decoder *d, const struct field *field, const struct value *value)
{
	if (field->until && d->version > field->until)
		return decode_fail(
			d, value, "only exists up to cdiVersion %s, and this file says %s%s",
			SHOW_VERSION(field->until), SHOW_VERSION(d->version), SHOW_FORM(field));
	if (d->version >= field->since || !d->version)
		return 0;
	if (!field->overlooked || !d->overlooked)
		return decode_fail(d, value, "needs cdiVersion %s, and this file says %s",
				   SHOW_VERSION(field->since), SHOW_VERSION(d->version));
	decode_note(d, value, "needs cdiVersion %s, and this file says %s",
		    SHOW_VERSION(field->since), SHOW_VERSION(d->version));
	return 0;
}

int decode_needs(struct decoder *d, const struct field *field, const struct value *value)
{
	return decode_go_on(d, check_version(d, field, value));
}

/*
 * Scalars
 */

const char *decode_copy(struct decoder *d, const struct value *value)
{
	return arena_strndup(d->arena, value->text, value->len);
}

static int check_text(struct decoder *d, const struct field *field, const struct value *value)
{
	const char *problem = field->problem ? field->problem(value->text, value->len) : NULL;

	if (problem)
		return decode_fail(d, value, "\"%s\" %s", SHOW(value->text), problem);
	problem = field->doubt ? field->doubt(value->text, value->len) : NULL;
	if (problem)
		decode_note(d, value, "\"%s\" %s", SHOW(value->text), problem);
	return 0;
}

int decode_text(struct decoder *d, const struct field *field, const struct value *value, void *out)
{
	const char **text = out;
	int r = decode_expect(d, field, value, VALUE_SCALAR);

	if (r < 0)
		return r;
	if (value->len) {
		r = decode_needs(d, field, value);
		if (r >= 0)
			r = check_text(d, field, value);
	} else if (field->required) {
		r = decode_fail(d, value, "is empty%s", SHOW_FORM(field));
	}
	if (r < 0)
		return r;
	*text = decode_copy(d, value);
	return *text ? 0 : error_memory(d->report->err);
}

int decode_bool(struct decoder *d, const struct field *field, const struct value *value, void *out)
{
	bool *truth = out;

	if (value->kind != VALUE_SCALAR)
		return decode_fail(d, value, "expected true or false, not %s", value_noun(value));
	int r = check_tag(d, value);
	if (r < 0)
		return r;
	if (!spec_scalar_bool(value, truth))
		return decode_fail(d, value, "expected true or false, not \"%s\"%s",
				   SHOW(value->text), value->plain ? "" : " in quotes");
	/* A key that is gone is gone whatever it says. */
	return *truth || field->until ? decode_needs(d, field, value) : 0;
}

int decode_number(struct decoder *d, const struct value *value, int64_t min, int64_t max,
		  int64_t *ret_number)
{
	if (value->kind != VALUE_SCALAR)
		return decode_fail(d, value, "expected a number, not %s", value_noun(value));
	int r = check_tag(d, value);
	if (r < 0)
		return r;

	switch (spec_scalar_number(value, ret_number)) {
	case SPEC_NUMBER_NONE:
		return decode_fail(d, value, "expected a number, not \"%s\"", SHOW(value->text));
	case SPEC_NUMBER_QUOTED:
		return decode_fail(d, value,
				   "expected a number, not text: remove the quotes around %s",
				   SHOW(value->text));
	case SPEC_NUMBER_FRACTION:
		return decode_fail(d, value, "%s is not a whole number", SHOW(value->text));
	case SPEC_NUMBER_RANGE:
		return decode_fail(d, value, "%s is out of range", SHOW(value->text));
	case SPEC_NUMBER_OK_NOT_OCTAL:
		decode_note(d, value, "%s is not octal and counts as decimal", SHOW(value->text));
		break;
	case SPEC_NUMBER_OK:
		break;
	}
	if (*ret_number < 0 && min == 0)
		return decode_fail(d, value, "%s is negative", SHOW(value->text));
	if (*ret_number < min || *ret_number > max)
		return decode_fail(d, value, "%s is out of range", SHOW(value->text));
	return 0;
}

int decode_int64(struct decoder *d, const struct field *field, const struct value *value, void *out)
{
	(void)field;
	return decode_number(d, value, INT64_MIN, INT64_MAX, out);
}

int decode_uint32(struct decoder *d, const struct field *field, const struct value *value,
		  void *out)
{
	int64_t number = 0;
	int r = decode_number(d, value, 0, UINT32_MAX, &number);

	(void)field;
	if (r >= 0)
		*(uint32_t *)out = (uint32_t)number;
	return r;
}

/*
 * Lists
 */

/* Items that are not null. Tells of those that are. */
static int count_items(struct decoder *d, const struct field *field, const struct value *list,
		       size_t *ret_n)
{
	int r = decode_expect(d, field, list, VALUE_LIST);

	*ret_n = 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < list->list.n; i++) {
		const struct value *item = list->list.items[i];

		if (!spec_scalar_is_null(item)) {
			(*ret_n)++;
			continue;
		}
		size_t path_len = decode_push(d, "[%zu]", i);
		if (field->drop_null)
			decode_note(d, item, "is null and ignored");
		else
			r = decode_go_on(d, decode_fail(d, item, "is null: remove it"));
		decode_pop(d, path_len);
		if (r < 0)
			return r;
	}
	if (!*ret_n && field->required)
		return decode_fail(d, list, "is empty%s", SHOW_FORM(field));
	return *ret_n || field->since_if_empty ? decode_needs(d, field, list) : 0;
}

int decode_texts(struct decoder *d, const struct field *field, const struct value *value, void *out)
{
	struct string_list *list = out;
	size_t n;
	int r = count_items(d, field, value, &n);

	if (r < 0 || !n)
		return r;
	*list = (struct string_list){.items = arena_alloc_array(d->arena, n, sizeof(*list->items)),
				     .cap = n};
	if (!list->items)
		return error_memory(d->report->err);

	for (size_t i = 0; i < value->list.n; i++) {
		const struct value *item = value->list.items[i];

		if (spec_scalar_is_null(item))
			continue;
		size_t path_len = decode_push(d, "[%zu]", i);
		r = decode_expect(d, field, item, VALUE_SCALAR);
		if (r >= 0)
			r = check_text(d, field, item);
		decode_pop(d, path_len);
		if (decode_go_on(d, r) < 0)
			return r;
		list->items[list->n] = r < 0 ? "" : decode_copy(d, item);
		if (!list->items[list->n++])
			return error_memory(d->report->err);
	}
	return 0;
}

int decode_uint32s(struct decoder *d, const struct field *field, const struct value *value,
		   void *out)
{
	struct cdi_gid_list *list = out;
	size_t n;
	int r = count_items(d, field, value, &n);

	if (r < 0 || !n)
		return r;
	*list = (struct cdi_gid_list){.items = arena_alloc_array(d->arena, n, sizeof(*list->items)),
				      .cap = n};
	if (!list->items)
		return error_memory(d->report->err);

	for (size_t i = 0; i < value->list.n; i++) {
		const struct value *item = value->list.items[i];

		if (spec_scalar_is_null(item))
			continue;
		size_t path_len = decode_push(d, "[%zu]", i);
		r = decode_go_on(d, decode_uint32(d, field, item, &list->items[list->n++]));
		decode_pop(d, path_len);
		if (r < 0)
			return r;
	}
	return 0;
}

/* One object's text of a unique field. */
struct word {
	const struct value *value;
	size_t index;
};

static int compare_words(const void *a, const void *b)
{
	const struct word *left = a, *right = b;
	int r = strcmp(left->value->text, right->value->text);

	return r ? r : (left->index > right->index) - (left->index < right->index);
}

/* What an item has under the key of a unique field, or NULL. */
static const struct value *unique_value(const struct field *field, const struct value *item)
{
	const struct value *value = item->kind == VALUE_MAP ? decode_get(item, field->key) : NULL;

	return value && value->kind == VALUE_SCALAR ? value : NULL;
}

static int fail_twice(struct decoder *d, const struct field *field, const struct word *twice,
		      const struct word *first)
{
	size_t path_len = decode_push(d, "[%zu].%s", twice->index, field->key);
	int r = decode_fail(d, twice->value, "\"%s\" a second time: the first is on line %u",
			    SHOW(twice->value->text), first->value->line);

	decode_pop(d, path_len);
	return r;
}

/* The items have all been read. Of several faults, the first in the file is reported, or all. */
static int check_unique(struct decoder *d, const struct field *field, const struct value *list)
{
	struct word *words = arena_alloc_array(d->scratch, list->list.n, sizeof(*words));
	const struct word *first = words, *twice = NULL, *first_of_twice = NULL;
	size_t n = 0;

	if (!words)
		return error_memory(d->report->err);
	for (size_t i = 0; i < list->list.n; i++) {
		const struct value *value = unique_value(field, list->list.items[i]);

		if (value)
			words[n++] = (struct word){value, i};
	}
	qsort(words, n, sizeof(*words), compare_words);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(first->value->text, words[i].value->text) != 0) {
			first = &words[i];
		} else if (d->report->problems) {
			fail_twice(d, field, &words[i], first);
		} else if (!twice || words[i].index < twice->index) {
			twice = &words[i];
			first_of_twice = first;
		}
	}
	return twice ? fail_twice(d, field, twice, first_of_twice) : 0;
}

/* An ARRAY of any type, as it lies in memory. */
struct any_array {
	void *items;
	size_t n, cap;
};

int decode_list(struct decoder *d, const struct field *field, const struct value *value, void *out)
{
	const struct object *object = field->object;
	struct any_array array = {0};
	size_t n;
	int r = count_items(d, field, value, &n);

	if (r < 0 || !n)
		return r;
	array.items = arena_alloc_array(d->arena, n, object->size);
	if (!array.items)
		return error_memory(d->report->err);
	array.cap = n;

	for (size_t i = 0; i < value->list.n; i++) {
		const struct value *item = value->list.items[i];

		if (spec_scalar_is_null(item))
			continue;
		size_t path_len = decode_push(d, "[%zu]", i);
		if (field->last_counts)
			d->overlooked = array.n + 1 < n;
		r = decode_expect(d, field, item, VALUE_MAP);
		if (r >= 0)
			r = decode_object(d, object, item,
					  (char *)array.items + array.n * object->size);
		decode_pop(d, path_len);
		if (decode_go_on(d, r) < 0)
			return r;
		array.n++;
	}
	for (size_t i = 0; n > 1 && i < object->n_fields; i++) {
		if (!object->fields[i].unique)
			continue;
		r = check_unique(d, &object->fields[i], value);
		if (r < 0)
			return r;
	}
	memcpy(out, &array, sizeof(array));
	return 0;
}

int decode_member(struct decoder *d, const struct field *field, const struct value *value,
		  void *out)
{
	int r = decode_expect(d, field, value, VALUE_MAP);

	return r < 0 ? r : decode_object(d, field->object, value, out);
}

int decode_pointer(struct decoder *d, const struct field *field, const struct value *value,
		   void *out)
{
	void *object;
	int r = decode_expect(d, field, value, VALUE_MAP);

	if (r >= 0)
		r = decode_needs(d, field, value);
	if (r < 0)
		return r;
	object = arena_alloc(d->arena, field->object->size);
	if (!object)
		return error_memory(d->report->err);
	memcpy(out, &object, sizeof(object));
	return decode_object(d, field->object, value, object);
}
