/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ld.so.conf as ldconfig reads it, with bounds. ldconfig itself waits for ever on a FIFO in place
 * of the file, opens a file that includes itself until it has no descriptors left, and follows a
 * tree of includes for as long as it grows; the image decides all that. So it gets the list that is
 * made here, and no file of the image.
 *
 * What a line means, as in glibc 2.36 (the test compares with the ldconfig that is installed):
 * everything from '#' on is left out, then blanks around the rest.
 *
 *   include PATTERN...  glob patterns, separated by blanks; relative ones belong to the including
 *                       file's directory. The files take the place of the line, sorted by bytes
 *   hwcap ...           ignored
 *   DIR or DIR=TYPE     a directory; "/" alone is ignored
 *
 * Differences, each with a note: relative directories (ldconfig would take them from wherever it
 * was started), paths with "..", wildcards before the last slash of a pattern, and what goes beyond
 * the bounds.
 */
#include "ldconf.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "bounds.h"
#include "path.h"

#define MAIN_FILE "/etc/ld.so.conf"
#define BLANKS " \t\n\v\f\r"

/* A file while it is read: those below wait for the one on top. */
struct level {
	const char *path;
	const char *at; /* the rest of its text, which ends with a NUL at `end` */
	const char *end;
	unsigned line;
	struct string_list files; /* what the last include line stands for */
	size_t next_file;
};

struct reader {
	struct arena *arena;
	const struct image_view *view;
	struct notes *notes;
	struct ldconf *conf;
	struct error *err;
	struct string_list seen; /* files that were read, or tried */
	size_t bytes;            /* of all of them */
	size_t matching;
	unsigned dirs, patterns;
	bool told_files, told_dirs, told_patterns, told_matching;
	struct level levels[LIMIT_LDCONF_DEPTH];
	unsigned depth;
};

/* Once for each bound: a hostile file would fill the log. */
static void note_bound(struct reader *reader, bool *told, unsigned limit, const char *what)
{
	if (!*told)
		note_add(reader->notes, NOTE_WARNING, "%s: more than %u %s: the rest is left out",
			 MAIN_FILE, limit, what);
	*told = true;
}

/* The line's text stays out: a link of the image can make any file of the container's be read. */
static void note_line(struct reader *reader, const struct level *level, const char *problem)
{
	note_add(reader->notes, NOTE_WARNING, "%s:%u: left out, it %s", SHOW(level->path),
		 level->line, problem);
}

/*
 * What is not there, or is no file, is left out, as ldconfig does it: that is the image's own doing.
 * Anything else would make a cache that lacks what the image has.
 */
static bool is_left_out(const struct error *why)
{
	switch (why->errnum) {
	case 0: /* a sentence of ours: no regular file, and the like */
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case EXDEV:
	case EACCES:
	case EFBIG:
	case ENAMETOOLONG:
		return true;
	default:
		return false;
	}
}

static int view_failed(struct reader *reader, const char *path, int r, const struct error *why)
{
	char text[ERROR_TEXT_MAX];

	if (!is_left_out(why)) {
		*reader->err = *why;
		return r;
	}
	if (r != -ENOENT)
		note_add(reader->notes, NOTE_WARNING, "%s is left out: %s", SHOW(path),
			 error_text(why, text));
	return 0;
}

static bool list_has(const struct string_list *list, const char *string)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], string) == 0)
			return true;
	return false;
}

static int list_add(struct reader *reader, struct string_list *list, const char *string)
{
	const char **slot = array_add(reader->arena, list);

	if (!slot)
		return error_memory(reader->err);
	*slot = string;
	return 0;
}

/* Puts a file on top of the levels, unless it was there before or cannot be read. */
static int file_open(struct reader *reader, const char *path)
{
	struct error why = {0};
	char *text;
	size_t size;

	if (list_has(&reader->seen, path))
		return 0;
	if (reader->seen.n >= LIMIT_LDCONF_FILES) {
		note_bound(reader, &reader->told_files, LIMIT_LDCONF_FILES, "files");
		return 0;
	}
	if (list_add(reader, &reader->seen, path) < 0)
		return -ENOMEM;
	int r = reader->view->read(reader->view->data, reader->arena, path,
				   LIMIT_LDCONF_SIZE - reader->bytes, &text, &size, &why);
	if (r < 0)
		return view_failed(reader, path, r, &why);
	reader->bytes += size;
	reader->levels[reader->depth++] =
		(struct level){.path = path, .at = text, .end = text + size};
	return 0;
}

static int dir_add(struct reader *reader, const struct level *level, char *line)
{
	const char *problem;

	line[strcspn(line, "=")] = '\0';
	for (size_t len = strlen(line); len && strchr(BLANKS, line[len - 1]); len--)
		line[len - 1] = '\0';
	if (line[0] == '\0')
		return 0;
	/* Also those that are named again: each is compared with all others. */
	if (reader->dirs >= LIMIT_LDCONF_DIRS) {
		note_bound(reader, &reader->told_dirs, LIMIT_LDCONF_DIRS, "directories");
		return 0;
	}
	reader->dirs++;
	const char *dir = path_clean(reader->arena, line, &problem);
	if (!dir && !problem)
		return error_memory(reader->err);
	if (!dir)
		note_line(reader, level, problem);
	else if (strcmp(dir, "/") != 0 && !list_has(&reader->conf->dirs, dir))
		return list_add(reader, &reader->conf->dirs, dir);
	return 0;
}

/* fnmatch(3) takes as many steps as the two are long together at best, and the product of both at
 * worst. */
static bool name_matches(struct reader *reader, const char *pattern, const char *name)
{
	reader->matching += (strlen(pattern) + 1) * (strlen(name) + 1);
	if (reader->matching > LIMIT_LDCONF_MATCHING) {
		note_bound(reader, &reader->told_matching, LIMIT_LDCONF_MATCHING,
			   "steps to match names");
		return false;
	}
	return fnmatch(pattern, name, FNM_PERIOD) == 0;
}

/* The names in `dir` that match: listed in an arena of their own, which may be large. */
static int pattern_expand(struct reader *reader, struct level *level, const char *dir,
			  const char *pattern)
{
	struct arena scratch;
	struct string_list names = {0};
	struct error why = {0};

	arena_init(&scratch, reader->arena->limit - reader->arena->used);
	int r = reader->view->list(reader->view->data, &scratch, dir, &names, &why);
	if (r < 0)
		r = view_failed(reader, dir, r, &why);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		if (!name_matches(reader, pattern, names.items[i]))
			continue;
		if (level->files.n >= LIMIT_LDCONF_FILES) {
			note_bound(reader, &reader->told_files, LIMIT_LDCONF_FILES, "files");
			break;
		}
		const char *path = arena_printf(reader->arena, "%s/%s",
						strcmp(dir, "/") == 0 ? "" : dir, names.items[i]);
		r = path ? list_add(reader, &level->files, path) : error_memory(reader->err);
	}
	arena_done(&scratch);
	return r;
}

/* One word of an include line. */
static int pattern_add(struct reader *reader, struct level *level, const char *word)
{
	const char *problem, *pattern = word;

	if (reader->patterns >= LIMIT_LDCONF_FILES) {
		note_bound(reader, &reader->told_patterns, LIMIT_LDCONF_FILES, "includes");
		return 0;
	}
	reader->patterns++;
	if (word[0] != '/')
		pattern = arena_printf(reader->arena, "%.*s/%s",
				       (int)(strrchr(level->path, '/') - level->path), level->path,
				       word);
	const char *path = pattern ? path_clean(reader->arena, pattern, &problem) : NULL;
	if (!pattern || (!path && !problem))
		return error_memory(reader->err);
	if (!path) {
		note_line(reader, level, problem);
		return 0;
	}
	const char *slash = strrchr(path, '/');
	const char *name = slash + 1;
	const char *dir =
		arena_strndup(reader->arena, path, slash == path ? 1 : (size_t)(slash - path));
	if (!dir)
		return error_memory(reader->err);
	if (strpbrk(dir, "*?[\\")) {
		note_line(reader, level, "has wildcards in a directory");
		return 0;
	}
	if (strcmp(dir, LDCONF_OWN_DIR) == 0 && fnmatch(name, LDCONF_OWN_NAME, FNM_PERIOD) == 0)
		reader->conf->includes_conf_d = true;
	if (strpbrk(name, "*?[\\"))
		return pattern_expand(reader, level, dir, name);
	return list_add(reader, &level->files, path);
}

static int include_read(struct reader *reader, struct level *level, char *words)
{
	char *word, *rest = words;

	level->files.n = 0;
	level->next_file = 0;
	if (reader->depth == LIMIT_LDCONF_DEPTH) {
		note_line(reader, level, "is nested too deep");
		return 0;
	}
	while ((word = strsep(&rest, " \t"))) {
		int r = word[0] == '\0' ? 0 : pattern_add(reader, level, word);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_directive(const char *line, const char *name)
{
	size_t len = strlen(name);

	return strncasecmp(line, name, len) == 0 && (line[len] == ' ' || line[len] == '\t');
}

static int line_read(struct reader *reader, struct level *level)
{
	const char *newline = memchr(level->at, '\n', (size_t)(level->end - level->at));
	const char *start = level->at, *end = newline ? newline : level->end;

	level->at = newline ? newline + 1 : level->end;
	level->line++;
	while (start < end && *start && strchr(BLANKS, *start))
		start++;
	/* Most lines of a file that is meant to be expensive are empty: no copies of those. */
	if (start == end || *start == '#')
		return 0;
	char *line = arena_strndup(reader->arena, start, (size_t)(end - start));
	if (!line)
		return error_memory(reader->err);
	/* ldconfig too takes a NUL for the end of its line. */
	line[strcspn(line, "#")] = '\0';
	if (line[0] == '\0' || is_directive(line, "hwcap"))
		return 0;
	if (is_directive(line, "include") && strncmp(line, "include", 7) == 0)
		return include_read(reader, level, line + 8);
	return dir_add(reader, level, line);
}

int ldconf_read(struct arena *arena, const struct image_view *view, struct notes *notes,
		struct ldconf *ret_conf, struct error *err)
{
	struct reader reader = {
		.arena = arena, .view = view, .notes = notes, .conf = ret_conf, .err = err};
	int r;

	*ret_conf = (struct ldconf){0};
	r = file_open(&reader, MAIN_FILE);
	while (r == 0 && reader.depth > 0) {
		struct level *top = &reader.levels[reader.depth - 1];

		if (top->next_file < top->files.n)
			r = file_open(&reader, top->files.items[top->next_file++]);
		else if (top->at < top->end)
			r = line_read(&reader, top);
		else
			reader.depth--;
	}
	return r;
}

bool ldconf_is_default(const char *dir)
{
	return strcmp(dir, "/lib") == 0 || strcmp(dir, "/usr/lib") == 0;
}
