/* SPDX-License-Identifier: Apache-2.0 */
#include "run-ldconfig.h"

#include "bounds.h"
#include "fdio.h"
#include "ldconf.h"
#include "path.h"

/* A file of an image. Without a text it cannot be read, for the reason given. */
struct file {
	const char *path;
	const char *text;
	int errnum;
	const char *why;
};

struct fixture {
	struct tree tree;
	struct arena arena;
	struct notes notes;
	struct ldconf conf;
	struct error err;
	const struct file *files; /* the last one has no path */
	unsigned reads, lists;
	size_t text_size; /* of the first, where it has NULs or is cut */
	char *copies[LIMIT_LDCONF_FILES];
	size_t n_copies;
};

/* Exactly as large as it is, so that sanitizers see a byte too much. Lives until the next one is read. */
static char *copy_text(struct fixture *f, const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, text, size);
	assert_true(f->n_copies < sizeof(f->copies) / sizeof(f->copies[0]));
	f->copies[f->n_copies++] = copy;
	return copy;
}

static void drop_copies(struct fixture *f)
{
	while (f->n_copies)
		free(f->copies[--f->n_copies]);
}

static int view_read(void *data, struct arena *arena, const char *path, size_t limit,
		     char **ret_text, size_t *ret_size, struct error *err)
{
	struct fixture *f = data;

	(void)arena;
	f->reads++;
	for (const struct file *file = f->files; file->path; file++) {
		if (strcmp(file->path, path) != 0)
			continue;
		if (!file->text)
			return error_set(err, file->errnum, "open %s%s", path,
					 file->why ? file->why : "");
		bool cut = file == f->files && f->text_size;
		size_t size = cut ? f->text_size : strlen(file->text);
		if (size > limit)
			return error_set(err, EFBIG, "read %s: more than %zu bytes", path, limit);
		*ret_text = copy_text(f, file->text, size);
		*ret_size = size;
		return 0;
	}
	return error_set(err, ENOENT, "open %s", path);
}

static int view_list(void *data, struct arena *arena, const char *path,
		     struct string_list *ret_names, struct error *err)
{
	struct fixture *f = data;
	size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);

	f->lists++;
	*ret_names = (struct string_list){0};
	/* The test has them sorted. */
	for (const struct file *file = f->files; file->path; file++) {
		if (strncmp(file->path, path, len) != 0 || file->path[len] != '/' ||
		    strchr(file->path + len + 1, '/'))
			continue;
		const char **slot = array_add(arena, ret_names);
		if (!slot)
			return error_memory(err);
		*slot = file->path + len + 1;
	}
	return ret_names->n ? 0 : error_set(err, ENOENT, "open %s", path);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tree_init(&f->tree);
	arena_init(&f->arena, LIMIT_MEMORY);
	f->notes.arena = &f->arena;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	drop_copies(f);
	arena_done(&f->arena);
	tree_done(&f->tree);
	free(f);
	return 0;
}

static int read_files(struct fixture *f, const struct file *files)
{
	struct image_view view = {.read = view_read, .list = view_list, .data = f};

	drop_copies(f);
	f->files = files;
	f->reads = f->lists = 0;
	f->notes = (struct notes){.arena = &f->arena};
	f->err = (struct error){0};
	return ldconf_read(&f->arena, &view, &f->notes, &f->conf, &f->err);
}

/* The directories, joined by blanks. */
static void assert_dirs(struct fixture *f, const struct file *files, const char *dirs)
{
	char text[4096] = "";
	size_t used = 0;

	assert_int_equal(read_files(f, files), 0);
	for (size_t i = 0; i < f->conf.dirs.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 f->conf.dirs.items[i]);
	assert_string_equal(text, dirs);
}

static void assert_main(struct fixture *f, const char *text, const char *dirs)
{
	const struct file files[] = {{.path = "/etc/ld.so.conf", .text = text}, {0}};

	assert_dirs(f, files, dirs);
}

static void assert_notes(struct fixture *f, size_t n, const char *first)
{
	assert_int_equal(f->notes.list.n, n);
	if (n)
		assert_string_equal(f->notes.list.items[0].text, first);
}

static void test_lines(void **state)
{
	struct fixture *f = *state;

	assert_main(f, "", "");
	assert_main(f, "/a\n/b", "/a /b");
	assert_main(f, "\n \t\n# /x\n  /a  # b\n\t/b\t\r\n/c#/d\n", "/a /b /c");
	assert_main(f, "/a b\n", "/a b");
	assert_main(f, "//a///b/./c//\n/a/b/c\n/a/b/c/\n", "/a/b/c");
	assert_main(f, "/a=libc6\n/b =libc5\n/c=what=ever\n/a\n=libc6\n", "/a /b /c");
	assert_main(f, "/\n///\n/.\n", "");
	assert_main(f, "hwcap 1 nosegneg\nHWCAP\t1\n/a\n", "/a");
	assert_notes(f, 0, NULL);
}

static void test_lines_left_out(void **state)
{
	struct fixture *f = *state;

	assert_main(f, "/a\nlib\n/b\n", "/a /b");
	assert_notes(f, 1, "/etc/ld.so.conf:2: left out, it is not absolute");
	/* No blank behind the word, so it is the name of a directory. */
	assert_main(f, "include\nhwcap\nincluded /x\n", "");
	assert_notes(f, 3, "/etc/ld.so.conf:1: left out, it is not absolute");
	assert_main(f, "Include /x\n", "");
	assert_notes(f, 1, "/etc/ld.so.conf:1: left out, it is not absolute");
	assert_main(f, "/a/../b\n", "");
	assert_notes(f, 1, "/etc/ld.so.conf:1: left out, it contains ..");
	/* What is shown is printable. */
	assert_main(f, "\033[2J\n", "");
	assert_notes(f, 1, "/etc/ld.so.conf:1: left out, it is not absolute");
}

static void test_nul_ends_a_line(void **state)
{
	static const char text[] = "/a\0b\n\0/x\n \0\n/c\0";
	const struct file files[] = {{.path = "/etc/ld.so.conf", .text = text}, {0}};
	struct fixture *f = *state;

	f->text_size = sizeof(text) - 1;
	assert_dirs(f, files, "/a /c");
	assert_notes(f, 0, NULL);
}

static void test_missing(void **state)
{
	static const struct file files[] = {{0}};
	struct fixture *f = *state;

	assert_dirs(f, files, "");
	assert_notes(f, 0, NULL);
	assert_false(f->conf.includes_conf_d);
}

/* As Debian has it. */
static void test_include(void **state)
{
	static const struct file files[] = {
		{.path = "/etc/ld.so.conf",
		 .text = "/first\ninclude /etc/ld.so.conf.d/*.conf\n\n/last\n/a\n"},
		{.path = "/etc/ld.so.conf.d/.hidden.conf", .text = "/hidden\n"},
		{.path = "/etc/ld.so.conf.d/a.conf", .text = "/a\n"},
		{.path = "/etc/ld.so.conf.d/b.conf", .text = "/b\n/first"},
		{.path = "/etc/ld.so.conf.d/b.conf.dpkg-old", .text = "/old\n"},
		{.path = "/etc/ld.so.conf.d/sub/c.conf", .text = "/sub\n"},
		{0},
	};
	struct fixture *f = *state;

	assert_dirs(f, files, "/first /a /b /last");
	assert_true(f->conf.includes_conf_d);
	assert_notes(f, 0, NULL);
}

static void test_include_forms(void **state)
{
	static const struct file files[] = {
		{.path = "/etc/ld.so.conf",
		 .text = "include  more/b.conf\t[n]one*  more/a.conf\ninclude\t/opt/x.conf\n"},
		{.path = "/etc/more/a.conf", .text = "/a\n"},
		/* Relative to this file. */
		{.path = "/etc/more/b.conf", .text = "/b\ninclude deep/*.conf\n/b2\n"},
		{.path = "/etc/more/deep/1.conf", .text = "/one\n"},
		{.path = "/etc/more/deep/2.conf", .text = "/two\n"},
		{.path = "/opt/x.conf",
		 .text = "include /r?[o]t.conf /missing.conf /missing/*\n/opt\n"},
		{.path = "/root.conf", .text = "/root\n"},
		{0},
	};
	struct fixture *f = *state;

	assert_dirs(f, files, "/b /one /two /b2 /a /root /opt");
	assert_false(f->conf.includes_conf_d);
	assert_notes(f, 0, NULL);
}

static void test_include_left_out(void **state)
{
	struct fixture *f = *state;

	assert_main(f, "include /etc/*/x.conf\n/a\n", "/a");
	assert_notes(f, 1, "/etc/ld.so.conf:1: left out, it has wildcards in a directory");
	assert_main(f, "include ../x.conf\n/a\n", "/a");
	assert_notes(f, 1, "/etc/ld.so.conf:1: left out, it contains ..");
}

static bool includes(struct fixture *f, const char *text)
{
	const struct file files[] = {{.path = "/etc/ld.so.conf", .text = text}, {0}};

	assert_int_equal(read_files(f, files), 0);
	return f->conf.includes_conf_d;
}

static void test_includes_conf_d(void **state)
{
	struct fixture *f = *state;

	/* Whether the directory exists or not: it can be made. */
	assert_true(includes(f, "include ld.so.conf.d/*.conf\n"));
	assert_true(includes(f, "include /etc//ld.so.conf.d/*\n"));
	assert_true(includes(f, "include " LDCONF_OWN_DIR "/" LDCONF_OWN_NAME));
	assert_false(includes(f, "include ld.so.conf.d/nvidia*.conf\n"));
	assert_false(includes(f, "include ld.so.conf.d/x.conf\n"));
	assert_false(includes(f, "# include ld.so.conf.d/*.conf\n"));
	assert_false(includes(f, "include conf.d/*.conf\n"));
	assert_false(includes(f, "/etc/ld.so.conf.d\n"));
}

/* Of itself, of each other, of one file by two. */
static void test_circles(void **state)
{
	static const struct file files[] = {
		{.path = "/etc/ld.so.conf", .text = "include /etc/ld.so.conf /etc/*.conf\n/main\n"},
		{.path = "/etc/a.conf", .text = "/a\ninclude b.conf c.conf\n"},
		{.path = "/etc/b.conf", .text = "/b\ninclude /etc/./a.conf d.conf\n"},
		{.path = "/etc/c.conf", .text = "/c\ninclude d.conf *.conf\n"},
		{.path = "/etc/d.conf", .text = "/d\n"},
		{0},
	};
	struct fixture *f = *state;

	assert_dirs(f, files, "/a /b /d /c /main");
	assert_int_equal(f->reads, 5);
	assert_notes(f, 0, NULL);
}

static void test_unreadable(void **state)
{
	static const struct file fifo[] = {
		{.path = "/etc/ld.so.conf", .why = ": not a regular file"}, {0}};
	static const struct file files[] = {
		{.path = "/etc/ld.so.conf", .text = "include *.conf\n/last\n"},
		{.path = "/etc/1.conf", .errnum = EACCES},
		{.path = "/etc/2.conf", .text = "/two"},
		{.path = "/etc/3.conf", .why = ": not a regular file"},
		{0},
	};
	struct fixture *f = *state;

	assert_dirs(f, fifo, "");
	assert_notes(f, 1, "/etc/ld.so.conf is left out: open /etc/ld.so.conf: not a regular file");
	assert_dirs(f, files, "/two /last");
	assert_notes(f, 2, "/etc/1.conf is left out: open /etc/1.conf: Permission denied");
	assert_int_equal(f->notes.list.items[0].level, NOTE_WARNING);
}

/* The deadline, and the end of memory, are not the image's. */
static void test_what_ends_the_run(void **state)
{
	static const struct file deadline[] = {{.path = "/etc/ld.so.conf", .errnum = EINTR}, {0}};
	static const struct file memory[] = {{.path = "/etc/ld.so.conf", .text = "include x\n"},
					     {.path = "/etc/x", .errnum = ENOMEM},
					     {0}};
	struct fixture *f = *state;

	assert_int_equal(read_files(f, deadline), -EINTR);
	assert_error(&f->err, EXIT_CODE_DONE, "open /etc/ld.so.conf: Interrupted system call");
	assert_int_equal(read_files(f, memory), -ENOMEM);
}

static void test_depth(void **state)
{
	struct file files[LIMIT_LDCONF_DEPTH + 2] = {0};
	char paths[LIMIT_LDCONF_DEPTH + 1][32], texts[LIMIT_LDCONF_DEPTH + 1][64];
	struct fixture *f = *state;

	for (int i = 0; i <= LIMIT_LDCONF_DEPTH; i++) {
		snprintf(paths[i], sizeof(paths[i]), i ? "/etc/%d" : "/etc/ld.so.conf", i);
		snprintf(texts[i], sizeof(texts[i]), "include %d\n/dir%d\n", i + 1, i);
		files[i] = (struct file){.path = paths[i], .text = texts[i]};
	}
	assert_dirs(f, files, "/dir7 /dir6 /dir5 /dir4 /dir3 /dir2 /dir1 /dir0");
	assert_notes(f, 1, "/etc/7:1: left out, it is nested too deep");
}

/* `n` times `unit`, in which %u is the number. */
static char *many(const char *unit, unsigned n)
{
	char *text = malloc((strlen(unit) + 8) * n + 1);
	size_t used = 0;

	assert_non_null(text);
	text[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		const char *number = strstr(unit, "%u");
		if (number)
			used += (size_t)sprintf(text + used, "%.*s%u%s", (int)(number - unit), unit,
						i, number + 2);
		else
			used += (size_t)sprintf(text + used, "%s", unit);
	}
	return text;
}

static void read_many(struct fixture *f, const char *unit, unsigned n, const char *note)
{
	char *text = many(unit, n);
	const struct file files[] = {{.path = "/etc/ld.so.conf", .text = text}, {0}};

	assert_int_equal(read_files(f, files), 0);
	free(text);
	for (size_t i = 0; i < f->notes.list.n; i++)
		if (strcmp(f->notes.list.items[i].text, note) == 0)
			return;
	fail_msg("no note \"%s\"", note);
}

static void test_bounds(void **state)
{
	struct fixture *f = *state;

	read_many(f, "/d%u\n", 100000,
		  "/etc/ld.so.conf: more than 4096 directories: the rest is left out");
	assert_int_equal(f->conf.dirs.n, LIMIT_LDCONF_DIRS);
	assert_int_equal(f->notes.list.n, 1);
	read_many(f, "/d\n", 300000,
		  "/etc/ld.so.conf: more than 4096 directories: the rest is left out");
	assert_int_equal(f->conf.dirs.n, 1);
	read_many(f, "include x%u\n", 50000,
		  "/etc/ld.so.conf: more than 256 includes: the rest is left out");
	assert_int_equal(f->notes.list.n, 2);
	assert_int_equal(f->reads, LIMIT_LDCONF_FILES);
	read_many(f, "include x%u y*\n", 40000,
		  "/etc/ld.so.conf: more than 256 includes: the rest is left out");
	assert_true(f->lists <= LIMIT_LDCONF_FILES);
	/* A hostile file says no more than the log takes. */
	read_many(f, "x\n", 400000, "/etc/ld.so.conf:1: left out, it is not absolute");
	assert_int_equal(f->notes.list.n, LIMIT_LOG_LINES);
	read_many(f, "\n", LIMIT_LDCONF_SIZE + 1,
		  "/etc/ld.so.conf is left out: read /etc/ld.so.conf: more than 1048576 bytes: "
		  "File too large");
}

/* More files than are read; what they hold counts together. */
static void test_many_files(void **state)
{
	enum { N = LIMIT_LDCONF_FILES * 2 };
	static struct file files[N + 2];
	static char paths[N][32];
	struct fixture *f = *state;
	char *text = many("#\n", 2000);

	files[0] = (struct file){.path = "/etc/ld.so.conf", .text = "include d/*\n"};
	for (unsigned i = 0; i < N; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/etc/d/%04u", i);
		files[i + 1] = (struct file){.path = paths[i], .text = "/x\n"};
	}
	assert_int_equal(read_files(f, files), 0);
	assert_int_equal(f->reads, LIMIT_LDCONF_FILES);
	assert_notes(f, 1, "/etc/ld.so.conf: more than 256 files: the rest is left out");

	for (unsigned i = 0; i < N; i++)
		files[i + 1].text = text;
	files[250].text = "/x\n";
	assert_int_equal(read_files(f, files), 0);
	assert_int_equal(f->reads, LIMIT_LDCONF_FILES);
	/* 4,000 bytes each fit; four times that do not, and a small one behind them still does. */
	assert_notes(f, 1, "/etc/ld.so.conf: more than 256 files: the rest is left out");
	free(text);
	text = many("#\n", 8000);
	for (unsigned i = 0; i < N; i++)
		files[i + 1].text = text;
	files[250].text = "/x\n";
	assert_int_equal(read_files(f, files), 0);
	assert_int_equal(f->notes.list.n, LIMIT_LOG_LINES);
	assert_non_null(strstr(f->notes.list.items[1].text, "File too large"));
	assert_int_equal(f->conf.dirs.n, 1);
	free(text);
}

/* Patterns that make a matcher try for ever. */
static void test_costly_patterns(void **state)
{
	enum { N = 2000 };
	static struct file files[N + 2];
	static char names[N][256], stars[600], text[40 * 600];
	struct fixture *f = *state;

	for (size_t i = 0; i < 500; i += 2)
		memcpy(stars + i, "*a", 2);
	memcpy(stars + 500, "b", 2);
	text[0] = '\0';
	for (size_t i = 0; i < 40; i++)
		sprintf(text + strlen(text), "include n/%s\n", stars);
	files[0] = (struct file){.path = "/etc/ld.so.conf", .text = text};
	for (size_t i = 0; i < N; i++) {
		memset(names[i], 'a', sizeof(names[i]) - 1);
		memcpy(names[i], "/etc/n/", 7);
		files[i + 1] = (struct file){.path = names[i], .text = "/x\n"};
	}
	assert_int_equal(read_files(f, files), 0);
	assert_notes(
		f, 1,
		"/etc/ld.so.conf: more than 16777216 steps to match names: the rest is left out");
	assert_int_equal(f->conf.dirs.n, 0);
}

static void test_long_paths(void **state)
{
	struct fixture *f = *state;
	char *name = many("x", PATH_MAX);
	char *text = malloc(2 * PATH_MAX + 32);

	assert_non_null(text);
	sprintf(text, "/%s\ninclude %s\n", name, name);
	assert_main(f, text, "");
	assert_int_equal(f->notes.list.n, 2);
	assert_non_null(
		strstr(f->notes.list.items[0].text, "/etc/ld.so.conf:1: left out, it is too long"));
	assert_non_null(
		strstr(f->notes.list.items[1].text, "/etc/ld.so.conf:2: left out, it is too long"));
	free(text);
	free(name);
}

static const struct file every_form[] = {
	{.path = "/etc/ld.so.conf",
	 .text = "include c.d/*.conf\n /a # x\n/b=libc6\nhwcap 1 x\ninclude\tc.d/[!x].conf "
		 "/abs/?.conf\n\n/c/\r\n/d"},
	{.path = "/abs/1.conf", .text = "/e/.\n"},
	{.path = "/etc/c.d/a.conf", .text = "//f\ninclude d.d/* ../ld.so.conf\n"},
	{.path = "/etc/c.d/d.d/x", .text = "/g"},
	{0},
};

/* However it is cut and whatever byte is changed: an answer, and nothing outside is read (sanitizers watch). */
static void test_damaged(void **state)
{
	struct fixture *f = *state;
	struct file files[sizeof(every_form) / sizeof(every_form[0])];
	char text[256];

	memcpy(files, every_form, sizeof(files));
	files[0].text = text;
	size_t len = strlen(every_form[0].text);
	for (f->text_size = 0; f->text_size <= len; f->text_size++) {
		memcpy(text, every_form[0].text, len + 1);
		text[f->text_size] = '\0';
		assert_int_equal(read_files(f, files), 0);
	}
	f->text_size = 0;
	for (size_t at = 0; at < len; at++) {
		for (int byte = 0; byte < 256; byte++) {
			memcpy(text, every_form[0].text, len + 1);
			text[at] = (char)byte;
			assert_int_equal(read_files(f, files), 0);
			arena_done(&f->arena);
		}
	}
	f->notes = (struct notes){.arena = &f->arena};
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	size_t limit = 0;
	int r;

	for (; limit < 1 << 20; limit += 16) {
		arena_done(&f->arena);
		arena_init(&f->arena, limit);
		r = read_files(f, every_form);
		if (r == 0)
			break;
		assert_int_equal(r, -ENOMEM);
		assert_error(&f->err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
	}
	assert_int_equal(r, 0);
	assert_true(limit > 100);
}

static void test_default(void **state)
{
	(void)state;
	assert_true(ldconf_is_default("/lib"));
	assert_true(ldconf_is_default("/usr/lib"));
	assert_false(ldconf_is_default("/"));
	assert_false(ldconf_is_default("/lib/"));
	assert_false(ldconf_is_default("/usr/lib/x"));
	assert_false(ldconf_is_default("/usr/lib64"));
	assert_false(ldconf_is_default("/usr/local/lib"));
}

/* The comparison with ldconfig: /etc of the image is that of the tree, everything else has its full path. */

static const char *real_path(struct fixture *f, struct arena *arena, const char *path)
{
	return strncmp(path, "/etc/", 5) == 0 ? arena_printf(arena, "%s%s", f->tree.path, path)
					      : path;
}

static int real_read(void *data, struct arena *arena, const char *path, size_t limit,
		     char **ret_text, size_t *ret_size, struct error *err)
{
	return fdio_read_at(arena, AT_FDCWD, real_path(data, arena, path), limit, ret_text,
			    ret_size, err);
}

static int real_list(void *data, struct arena *arena, const char *path,
		     struct string_list *ret_names, struct error *err)
{
	struct dirent **found;
	int n = scandir(real_path(data, arena, path), &found, NULL, alphasort);

	*ret_names = (struct string_list){0};
	if (n < 0)
		return error_set(err, errno, "open %s", path);
	for (int i = 0; i < n; i++) {
		const char **slot = array_add(arena, ret_names);
		assert_non_null(slot);
		*slot = arena_strdup(arena, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return 0;
}

/* `text` with the tree's path in place of each @. */
static void write_conf(struct fixture *f, const char *path, const char *text)
{
	char full[4096];
	size_t used = 0;

	for (; *text; text++)
		used += (size_t)snprintf(full + used, sizeof(full) - used, "%.*s",
					 *text == '@' ? 64 : 1, *text == '@' ? f->tree.path : text);
	tree_file(&f->tree, path, full);
}

static void make_real(struct fixture *f)
{
	static const char *const dirs[] = {"/d/1", "/d/2", "/d/3", "/d/4",
					   "/d/5", "/d/6", "/d/7", "/d/b c"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		tree_dir(&f->tree, dirs[i]);
	tree_dir(&f->tree, "/etc/ld.so.conf.d");
	tree_dir(&f->tree, "/etc/more");
	write_conf(f, "/etc/ld.so.conf",
		   "\t@/d/7 # a remark\ninclude ld.so.conf.d/*.conf more/[a-b]*\tmissing\nhwcap 0 "
		   "nosegneg\n"
		   "@/d/b c \n@//d//1/\r\nlib\n#include more/never\n/\ninclude "
		   "@/etc/more/z\n@/missing\n");
	write_conf(f, "/etc/ld.so.conf.d/2.conf", "@/d/2=libc6\n  @/d/3");
	write_conf(f, "/etc/ld.so.conf.d/10.conf", "@/d/1\n@/d/7\n");
	write_conf(f, "/etc/ld.so.conf.d/.x.conf", "@/d/never\n");
	write_conf(f, "/etc/more/a", "include b\n@/d/4\n");
	write_conf(f, "/etc/more/b", "@/d/5\n");
	write_conf(f, "/etc/more/never", "@/d\n");
	write_conf(f, "/etc/more/z", "\n@/d/6=libc5\n");
}

/* ldconfig says of each directory "PATH: (from FILE:LINE)", its own built-in ones last. */
static void test_as_ldconfig_reads_it(void **state)
{
	struct fixture *f = *state;
	struct image_view view = {.read = real_read, .list = real_list, .data = f};
	char conf[PATH_MAX], *text, *line;
	size_t size, i = 0;

	if (!have_ldconfig())
		skip();
	make_real(f);
	snprintf(conf, sizeof(conf), "%s/etc/ld.so.conf", f->tree.path);
	const char *argv[] = {"ldconfig", "-N", "-X", "-v", "-f", conf, NULL};
	run_ldconfig(&f->tree, "/out", argv);
	assert_int_equal(fdio_read_at(&f->arena, f->tree.fd, "out", 1 << 20, &text, &size, &f->err),
			 0);
	assert_int_equal(ldconf_read(&f->arena, &view, &f->notes, &f->conf, &f->err), 0);
	while ((line = strsep(&text, "\n"))) {
		char *from = strstr(line, ":");
		if (line[0] != '/' || !from || strstr(from, "(from <builtin>"))
			continue;
		*from = '\0';
		assert_true(i < f->conf.dirs.n);
		/* It keeps double slashes. */
		const char *problem, *clean = path_clean(&f->arena, line, &problem);
		assert_string_equal(f->conf.dirs.items[i++], clean);
	}
	assert_int_equal(i, 8);
	/* It looks whether they exist. */
	assert_int_equal(f->conf.dirs.n, 9);
	assert_non_null(strstr(f->conf.dirs.items[8], "/missing"));
	assert_true(f->conf.includes_conf_d);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines),
		TEST(test_lines_left_out),
		TEST(test_nul_ends_a_line),
		TEST(test_missing),
		TEST(test_include),
		TEST(test_include_forms),
		TEST(test_include_left_out),
		TEST(test_includes_conf_d),
		TEST(test_circles),
		TEST(test_unreadable),
		TEST(test_what_ends_the_run),
		TEST(test_depth),
		TEST(test_bounds),
		TEST(test_many_files),
		TEST(test_costly_patterns),
		TEST(test_long_paths),
		TEST(test_damaged),
		TEST(test_no_memory),
		TEST(test_default),
		TEST(test_as_ldconfig_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
