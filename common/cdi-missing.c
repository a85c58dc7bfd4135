/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Unresolvable CDI device" is the complaint heard most about CDI, because it hides its cause: a
 * typing error, a file that was rejected, a directory that is not searched. So the sentence says
 * what there is instead, where it was looked for and what was set aside. Each part has its own
 * room: a long list is cut before it can push out the next part.
 */
#include "cdi-missing.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"

/* Bytes and items of each part; together they stay below ERROR_TEXT_MAX. */
#define DEVICES_ROOM 2000
#define DEVICES_MOST 12
#define NAMES_ROOM 320
#define NAMES_MOST 16
#define FILES_ROOM 320
#define FILES_MOST 3
#define KINDS_ROOM 320
#define KINDS_MOST 12
#define DIRS_ROOM 500
#define DIRS_MOST 8
#define SET_ASIDE_ROOM 1000
#define SET_ASIDE_MOST 8

/* A list in a buffer that counts what it has no room for. */
struct list {
	char *text;
	size_t size, used;
	const char *separator;
	size_t shown, most, left;
};

#define LIST(room, sep, limit)                                                                     \
	{                                                                                          \
		.text = (char[room]){0}, .size = (room), .separator = (sep), .most = (limit)       \
	}
/* Room that an item leaves for list_end(). */
#define LIST_END_ROOM 48

/*
 * An item is there as a whole or not at all, but for the first one, which is cut: better than
 * nothing.
 */
__attribute__((format(printf, 2, 3))) static void list_add(struct list *list, const char *fmt, ...)
{
	const char *separator = list->shown ? list->separator : "";
	size_t room = list->size - LIST_END_ROOM - list->used;
	char *at = list->text + list->used;
	va_list args;

	if (list->left || list->shown == list->most) {
		list->left++;
		return;
	}
	size_t len = (size_t)snprintf(at, room, "%s", separator);
	if (len < room) {
		va_start(args, fmt);
		int n = vsnprintf(at + len, room - len, fmt, args);
		va_end(args);
		len += n > 0 ? (size_t)n : 0;
	}
	if (len < room) {
		list->used += len;
		list->shown++;
	} else if (list->shown == 0) {
		list->used += room - 1;
		list->shown++;
		memcpy(list->text + list->used - 3, "...", 3);
	} else {
		*at = '\0';
		list->left++;
	}
}

/* The text, with the number of items that had no room: "a, b and 37 more". */
static const char *list_end(struct list *list, const char *before, const char *after)
{
	if (list->left)
		snprintf(list->text + list->used, list->size - list->used, "%s%zu more%s", before,
			 list->left, after);
	return list->text;
}

/* Words without repetition, in an order that people expect: 2 before 10. */
struct words {
	const char **items;
	size_t n;
};

static int compare_words(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static void words_sort(struct words *words)
{
	size_t kept = 0;

	if (words->n)
		qsort(words->items, words->n, sizeof(words->items[0]), compare_words);
	for (size_t i = 0; i < words->n; i++)
		if (!kept || strcmp(words->items[kept - 1], words->items[i]) != 0)
			words->items[kept++] = words->items[i];
	words->n = kept;
}

struct sentence {
	struct arena *arena;
	const struct cdi_registry *registry;
	struct words kinds;
	const char *kind; /* whose devices `names` are; NULL: not yet read, "" for every kind */
	struct words names;
	bool kind_unknown; /* a device's kind is in no file: say which kinds there are */
	struct list devices;
};

static bool is_of_kind(const struct cdi_registry_spec *from, const char *kind)
{
	return !kind || strcmp(from->spec->kind, kind) == 0;
}

static int read_kinds(struct sentence *sentence, struct error *err)
{
	const struct cdi_registry *registry = sentence->registry;
	struct words *kinds = &sentence->kinds;

	kinds->items =
		arena_alloc_array(sentence->arena, registry->specs.n, sizeof(kinds->items[0]));
	if (!kinds->items)
		return error_memory(err);
	for (size_t i = 0; i < registry->specs.n; i++)
		kinds->items[kinds->n++] = registry->specs.items[i].spec->kind;
	words_sort(kinds);
	return 0;
}

/* The device names of `kind`, or of all kinds for NULL. */
static int read_names(struct sentence *sentence, const char *kind, struct error *err)
{
	const struct cdi_registry *registry = sentence->registry;
	struct words *names = &sentence->names;
	size_t n = 0;

	for (size_t i = 0; i < registry->specs.n; i++)
		if (is_of_kind(&registry->specs.items[i], kind))
			n += registry->specs.items[i].spec->devices.n;
	*names = (struct words){
		.items = arena_alloc_array(sentence->arena, n, sizeof(names->items[0]))};
	if (!names->items)
		return error_memory(err);
	for (size_t i = 0; i < registry->specs.n; i++) {
		const struct cdi_spec *spec = registry->specs.items[i].spec;
		if (!is_of_kind(&registry->specs.items[i], kind))
			continue;
		for (size_t j = 0; j < spec->devices.n; j++)
			names->items[names->n++] = spec->devices.items[j].name;
	}
	words_sort(names);
	sentence->kind = kind ? kind : "";
	return 0;
}

static bool has_letter(const char *word)
{
	for (; *word; word++)
		if (isalpha((unsigned char)*word))
			return true;
	return false;
}

/* " (did you mean X?)" or "". Numbers have no near misses: 9 is not a slip for 0. */
static const char *hint(struct arena *arena, const char *word, const struct words *words)
{
	const char *near = has_letter(word) ? near_word(word, words->items, words->n) : NULL;

	if (!near || near_distance(word, near, strlen(word)) >= strlen(word))
		return "";
	const char *text = arena_printf(arena, " (did you mean %s?)", SHOW(near));
	return text ? text : "";
}

/* "0, 1, all (/etc/cdi/vendor.yaml)" */
static void say_contents(struct sentence *sentence, const struct cdi_missing *missing,
			 const char *did_you_mean)
{
	struct list names = LIST(NAMES_ROOM, ", ", NAMES_MOST);
	struct list files = LIST(FILES_ROOM, ", ", FILES_MOST);

	for (size_t i = 0; i < sentence->names.n; i++)
		list_add(&names, "%s", SHOW(sentence->names.items[i]));
	for (size_t i = 0; i < sentence->registry->specs.n; i++)
		if (is_of_kind(&sentence->registry->specs.items[i], missing->kind))
			list_add(&files, "%s", SHOW(sentence->registry->specs.items[i].spec->file));
	list_add(&sentence->devices, "device %s: not found%s: %s has %s (%s)", SHOW(missing->text),
		 did_you_mean, SHOW(missing->kind), list_end(&names, " and ", ""),
		 list_end(&files, " and ", ""));
}

static int say_absent(struct sentence *sentence, const struct cdi_missing *missing,
		      struct error *err)
{
	const struct words *kinds = &sentence->kinds;
	const char *kind = missing->kind ? missing->kind : "";
	bool first = !sentence->kind || strcmp(sentence->kind, kind) != 0;

	if (first && read_names(sentence, missing->kind, err) < 0)
		return -ENOMEM;
	if (missing->kind && sentence->names.n == 0) {
		sentence->kind_unknown = true;
		list_add(&sentence->devices, "device %s: no spec file has the kind %s%s",
			 SHOW(missing->text), SHOW(kind), hint(sentence->arena, kind, kinds));
		return 0;
	}
	const char *did_you_mean = hint(sentence->arena, missing->name, &sentence->names);
	if (!missing->kind)
		list_add(&sentence->devices, "device %s: no spec file has it%s",
			 SHOW(missing->text), did_you_mean);
	else if (first)
		say_contents(sentence, missing, did_you_mean);
	else
		list_add(&sentence->devices, "device %s: not found%s", SHOW(missing->text),
			 did_you_mean);
	return 0;
}

static bool defines(const struct cdi_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->devices.n; i++)
		if (strcmp(spec->devices.items[i].name, name) == 0)
			return true;
	return false;
}

static void say_twice(struct sentence *sentence, const struct cdi_missing *missing)
{
	struct list files = LIST(FILES_ROOM, " and ", FILES_MOST);
	size_t n = 0;

	for (size_t i = 0; i < sentence->registry->specs.n; i++) {
		const struct cdi_registry_spec *from = &sentence->registry->specs.items[i];
		if (from->priority != missing->priority || !is_of_kind(from, missing->kind) ||
		    !defines(from->spec, missing->name))
			continue;
		list_add(&files, "%s", SHOW(from->spec->file));
		n++;
	}
	if (n == 2)
		list_add(&sentence->devices, "device %s: defined twice, in %s", SHOW(missing->text),
			 list_end(&files, " and ", ""));
	else
		list_add(&sentence->devices, "device %s: defined %zu times, in %s",
			 SHOW(missing->text), n, list_end(&files, " and ", ""));
}

static int say_ambiguous(struct sentence *sentence, const struct cdi_missing *missing,
			 struct error *err)
{
	struct list names = LIST(NAMES_ROOM, " or ", KINDS_MOST);
	const struct cdi_registry *registry = sentence->registry;
	struct words kinds = {.items = arena_alloc_array(sentence->arena, registry->specs.n,
							 sizeof(kinds.items[0]))};

	if (!kinds.items)
		return error_memory(err);
	for (size_t i = 0; i < registry->specs.n; i++)
		if (defines(registry->specs.items[i].spec, missing->name))
			kinds.items[kinds.n++] = registry->specs.items[i].spec->kind;
	words_sort(&kinds);
	for (size_t i = 0; i < kinds.n; i++)
		list_add(&names, "%s=%s", SHOW(kinds.items[i]), SHOW(missing->name));
	list_add(&sentence->devices, "device %s: more than one kind has it: write %s",
		 SHOW(missing->text), list_end(&names, " or ", ""));
	return 0;
}

static int say_device(struct sentence *sentence, const struct cdi_missing *missing,
		      struct error *err)
{
	/* Nothing is looked up for a device that has no room in the sentence. */
	if (sentence->devices.shown == sentence->devices.most || sentence->devices.left) {
		sentence->devices.left++;
		return 0;
	}
	switch (missing->why) {
	case CDI_MISSING_TWICE:
		say_twice(sentence, missing);
		return 0;
	case CDI_MISSING_AMBIGUOUS:
		return say_ambiguous(sentence, missing, err);
	case CDI_MISSING_ABSENT:
	default:
		return say_absent(sentence, missing, err);
	}
}

/* How much a file that was set aside has to do with what is missing. */
enum relevance { SAME_KIND, KIND_UNKNOWN, OTHER_KIND, RELEVANCES };

/*
 * A kind that something is missing of, and the code of the files of that kind that were set aside
 * (0: none).
 */
struct missing_kind {
	const char *kind;
	enum exit_code code;
};

static int compare_missing_kinds(const void *a, const void *b)
{
	return strcmp(((const struct missing_kind *)a)->kind,
		      ((const struct missing_kind *)b)->kind);
}

struct causes {
	struct missing_kind *kinds; /* sorted, distinct */
	size_t n;
	enum exit_code unknown; /* code of files whose kind could not be read (0: none) */
	enum exit_code any;     /* code of any file (0: none) */
};

static struct missing_kind *causes_find(const struct causes *causes, const char *kind)
{
	struct missing_kind key = {.kind = kind};

	if (!causes->n)
		return NULL;
	return bsearch(&key, causes->kinds, causes->n, sizeof(key), compare_missing_kinds);
}

static void first_code(enum exit_code *code, enum exit_code other)
{
	if (!*code || other < *code)
		*code = other;
}

static int causes_init(struct arena *arena, const struct cdi_registry *registry,
		       const struct cdi_missing_list *missing, struct causes *causes,
		       struct error *err)
{
	size_t kept = 0;

	causes->kinds = arena_alloc_array(arena, missing->n, sizeof(causes->kinds[0]));
	if (!causes->kinds)
		return error_memory(err);
	for (size_t i = 0; i < missing->n; i++)
		if (missing->items[i].why == CDI_MISSING_ABSENT && missing->items[i].kind)
			causes->kinds[causes->n++].kind = missing->items[i].kind;
	if (causes->n)
		qsort(causes->kinds, causes->n, sizeof(causes->kinds[0]), compare_missing_kinds);
	for (size_t i = 0; i < causes->n; i++)
		if (!kept || strcmp(causes->kinds[kept - 1].kind, causes->kinds[i].kind) != 0)
			causes->kinds[kept++] = causes->kinds[i];
	causes->n = kept;

	for (size_t i = 0; i < registry->set_aside.n; i++) {
		const struct cdi_set_aside *aside = &registry->set_aside.items[i];
		struct missing_kind *kind = aside->kind ? causes_find(causes, aside->kind) : NULL;

		first_code(&causes->any, aside->exit_code);
		if (kind)
			first_code(&kind->code, aside->exit_code);
		else if (!aside->kind)
			first_code(&causes->unknown, aside->exit_code);
	}
	return 0;
}

/* A device that a file which was set aside may have had fails with that file's code. */
static enum exit_code code_of(const struct causes *causes, const struct cdi_missing *missing)
{
	enum exit_code code = EXIT_CODE_DONE;

	if (missing->why != CDI_MISSING_ABSENT)
		return EXIT_CODE_REQUEST;
	if (missing->kind)
		code = causes_find(causes, missing->kind)->code;
	else
		code = causes->any;
	if (!code)
		code = causes->unknown;
	return code ? code : EXIT_CODE_REQUEST;
}

static enum relevance relevance_of(const struct causes *causes, const struct cdi_set_aside *aside)
{
	if (!aside->kind)
		return KIND_UNKNOWN;
	return causes_find(causes, aside->kind) ? SAME_KIND : OTHER_KIND;
}

static bool is_missing_dir(const struct cdi_registry *registry, const char *dir)
{
	for (size_t i = 0; i < registry->missing.n; i++)
		if (strcmp(registry->missing.items[i], dir) == 0)
			return true;
	return false;
}

/*
 * What is said once for all absent devices: other kinds, where it was looked for, what was set
 * aside.
 */
static const char *say_search(const struct sentence *sentence, const struct causes *causes)
{
	const struct cdi_registry *registry = sentence->registry;
	struct list kinds = LIST(KINDS_ROOM, ", ", KINDS_MOST);
	struct list dirs = LIST(DIRS_ROOM, ", ", DIRS_MOST);
	struct list aside = LIST(SET_ASIDE_ROOM, "; ", SET_ASIDE_MOST);

	for (size_t i = 0; i < sentence->kinds.n && sentence->kind_unknown; i++)
		list_add(&kinds, "%s", SHOW(sentence->kinds.items[i]));
	for (size_t i = 0; i < registry->dirs.n; i++)
		list_add(&dirs, "%s%s", SHOW(registry->dirs.items[i]),
			 is_missing_dir(registry, registry->dirs.items[i]) ? " (missing)" : "");
	for (int relevance = SAME_KIND; relevance < RELEVANCES; relevance++)
		for (size_t i = 0; i < registry->set_aside.n; i++)
			if ((int)relevance_of(causes, &registry->set_aside.items[i]) == relevance)
				list_add(&aside, "%s", registry->set_aside.items[i].reason);
	return arena_printf(sentence->arena, "%s%s; searched %s%s%s",
			    kinds.shown ? "; kinds found: " : "", list_end(&kinds, " and ", ""),
			    dirs.shown ? list_end(&dirs, " and ", "") : "nothing",
			    aside.shown ? "; set aside: " : "", list_end(&aside, "; and ", ""));
}

int cdi_missing_say(struct arena *arena, const struct cdi_registry *registry,
		    const struct cdi_missing_list *missing, struct error *err)
{
	struct sentence sentence = {
		.arena = arena,
		.registry = registry,
		.devices = LIST(DEVICES_ROOM, "; ", DEVICES_MOST),
	};
	enum exit_code code = EXIT_CODE_DONE;
	struct causes causes = {0};
	const char *search = "";
	bool absent = false;

	if (read_kinds(&sentence, err) < 0 ||
	    causes_init(arena, registry, missing, &causes, err) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < missing->n; i++) {
		if (say_device(&sentence, &missing->items[i], err) < 0)
			return -ENOMEM;
		first_code(&code, code_of(&causes, &missing->items[i]));
		absent = absent || missing->items[i].why == CDI_MISSING_ABSENT;
	}
	if (absent)
		search = say_search(&sentence, &causes);
	if (!search)
		return error_memory(err);
	return error_say(err, code, "%s%s", list_end(&sentence.devices, "; ", " devices"), search);
}
