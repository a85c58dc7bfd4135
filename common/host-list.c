/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests say in a few lines what a host has, and a plan is then made for that host on any machine.
 */
#include "host-list.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SONAME_WORD " soname="
#define TEXT_WORD " text="

static int look_up(void *data, const char *path, struct host_node *ret_node)
{
	const struct host_list *list = data;

	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->items[i].path, path) == 0) {
			*ret_node = list->items[i].node;
			return 0;
		}
	}
	return -ENOENT;
}

/* A library of x86_64, whatever machine the test runs on: plans must come out the same. */
static int read_library(void *data, struct arena *arena, const char *path,
			struct elf_library *ret_library, struct error *err)
{
	const struct host_list *list = data;

	(void)arena;
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->items[i].path, path) != 0)
			continue;
		*ret_library = (struct elf_library){
			.soname = list->items[i].soname,
			.class = ELFCLASS64,
			.machine = EM_X86_64,
		};
		return list->items[i].soname ? 0 : ELF_NOT_A_LIBRARY;
	}
	return error_set(err, ENOENT, "open");
}

static int read_file(void *data, struct arena *arena, const char *path, size_t limit,
		     char **ret_data, size_t *ret_size, struct error *err)
{
	const struct host_list *list = data;

	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->items[i].text;
		if (strcmp(list->items[i].path, path) != 0 || !text)
			continue;
		*ret_size = strlen(text);
		if (*ret_size > limit)
			return error_set(err, EFBIG, "read %s", SHOW(path));
		*ret_data = arena_strdup(arena, text);
		return *ret_data ? 0 : error_memory(err);
	}
	return error_set(err, ENOENT, "open %s", SHOW(path));
}

/* In the order of the list: who writes one sorts it. */
static int list_directory(void *data, struct arena *arena, const char *path,
			  struct string_list *ret_names, struct error *err)
{
	const struct host_list *list = data;
	size_t len = strlen(path);

	for (size_t i = 0; i < list->n; i++) {
		const char *below = list->items[i].path;
		if (strncmp(below, path, len) != 0 || below[len] != '/' ||
		    strchr(below + len + 1, '/'))
			continue;
		const char **slot = array_add(arena, ret_names);
		if (!slot)
			return error_memory(err);
		*slot = below + len + 1;
	}
	return 0;
}

struct host_view host_list_view(struct host_list *list)
{
	return (struct host_view){
		.look_up = look_up,
		.library = read_library,
		.read = read_file,
		.list = list_directory,
		.data = list,
	};
}

/* The next word of a line; false at its end. */
static bool next_word(const char **at, const char *end, const char **ret_word, size_t *ret_len)
{
	const char *from = *at;

	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	const char *to = from;
	while (to < end && *to != ' ' && *to != '\t')
		to++;
	*at = to;
	*ret_word = from;
	*ret_len = (size_t)(to - from);
	return to > from;
}

/* A number that fills the text from `*at` to `stop` or `end`; `*at` is then behind it. */
static bool take_number(const char **at, const char *end, char stop, unsigned base,
			uint32_t *ret_number)
{
	const char *from = *at;
	uint64_t number = 0;
	const char *c;

	for (c = from; c < end && *c != stop; c++) {
		unsigned digit = (unsigned)(*c - '0');
		if (*c < '0' || digit >= base)
			return false;
		number = number * base + digit;
		if (number > UINT32_MAX)
			return false;
	}
	if (c == from || (stop && c == end))
		return false;
	*at = stop ? c + 1 : c;
	*ret_number = (uint32_t)number;
	return true;
}

/* "A:B" */
static bool take_pair(const char *word, size_t len, uint32_t *ret_a, uint32_t *ret_b)
{
	const char *at = word, *end = word + len;

	return take_number(&at, end, ':', 10, ret_a) && take_number(&at, end, '\0', 10, ret_b);
}

/*
 * The TYPE word: file type, default permissions and whether it is loadable; false for anything
 * else.
 */
static bool type_of(const char *word, size_t len, struct host_node *node)
{
	static const struct {
		char letter;
		mode_t mode;
	} types[] = {
		{'c', S_IFCHR | 0666}, {'b', S_IFBLK | 0660}, {'p', S_IFIFO | 0644},
		{'d', S_IFDIR | 0755}, {'f', S_IFREG | 0644}, {'s', S_IFSOCK | 0755},
		{'x', S_IFREG | 0755},
	};

	if (len != 1)
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].letter == word[0]) {
			node->mode = types[i].mode;
			node->loadable = word[0] == 'x';
			return true;
		}
	}
	return false;
}

/* What stands behind PATH; NULL, or what was expected instead. */
static const char *node_parse(const char *at, const char *end, struct host_node *node)
{
	const char *word;
	uint32_t mode;
	size_t len;

	if (!next_word(&at, end, &word, &len) || !type_of(word, len, node))
		return "a type, one of c b p d f s x";
	if (S_ISCHR(node->mode) || S_ISBLK(node->mode))
		if (!next_word(&at, end, &word, &len) ||
		    !take_pair(word, len, &node->major, &node->minor))
			return "the numbers MAJOR:MINOR";
	if (!next_word(&at, end, &word, &len))
		return NULL;
	if (!take_number(&word, word + len, '\0', 8, &mode) || mode > 07777)
		return "an octal mode";
	node->mode = (node->mode & S_IFMT) | mode;
	if (!next_word(&at, end, &word, &len))
		return NULL;
	if (!take_pair(word, len, &node->uid, &node->gid))
		return "the owner UID:GID";
	return next_word(&at, end, &word, &len) ? "nothing more" : NULL;
}

/*
 * Takes the value of " soname=" or " text=", which goes to the end of the line, and takes it off the line. NULL where
 * there is none; false: no memory.
 */
static bool take_last(struct arena *arena, const char *at, const char **end, const char *word,
		      char **ret_value)
{
	const char *found = memmem(at, (size_t)(*end - at), word, strlen(word));

	*ret_value = NULL;
	if (!found)
		return true;
	const char *value = found + strlen(word);
	*ret_value = arena_strndup(arena, value, (size_t)(*end - value));
	*end = found;
	return *ret_value;
}

static int line_parse(struct arena *arena, const char *line, const char *end, unsigned number,
		      struct host_list *list, struct error *err)
{
	const char *at = line, *word, *wanted;
	char *text, *soname;
	size_t len;

	if (!next_word(&at, end, &word, &len) || word[0] == '#')
		return 0;
	struct host_list_entry *entry = array_add(arena, list);
	char *path = arena_strndup(arena, word, len);
	if (!entry || !path)
		return error_memory(err);
	entry->path = path;
	if (!take_last(arena, at, &end, TEXT_WORD, &text) ||
	    !take_last(arena, at, &end, SONAME_WORD, &soname))
		return error_memory(err);
	entry->soname = soname;
	for (char *c = text; c && *c; c++)
		*c = *c == '|' ? '\n' : *c;
	entry->text = text;
	wanted = path[0] == '/' ? node_parse(at, end, &entry->node) : "an absolute path";
	if (wanted)
		return error_set(err, 0, "host nodes:%u: expected %s", number, wanted);
	return 0;
}

int host_list_parse(struct arena *arena, const char *data, size_t size, struct host_list *ret_list,
		    struct error *err)
{
	const char *end = data + size;
	unsigned number = 0;

	*ret_list = (struct host_list){0};
	for (const char *line = data; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline ? newline : end;
		int r = line_parse(arena, line, stop, ++number, ret_list, err);

		if (r < 0)
			return r;
		line = newline ? newline + 1 : end;
	}
	return 0;
}
