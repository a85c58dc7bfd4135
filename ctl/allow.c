/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl allow: the file in which an administrator says which devices containers may ask for by
 * annotation. The hook's refusal ends with this command, so it has to do what an editor would do,
 * and no less carefully: every line that is there stays, a pattern that can never match is refused,
 * and at any moment the file is either the old or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allow.h"
#include "bounds.h"
#include "cleanup.h"
#include "ctl.h"
#include "fdio.h"
#include "trusted.h"
#include "usage.h"

/* What a new file begins with. */
#define FIRST_LINE                                                                                 \
	"# Devices that containers may ask for by annotation: one pattern a line, such as "        \
	"vendor.com/class=*\n"

/* The file while it is changed. */
struct edit {
	const char *file;       /* as the person named it, for sentences */
	const char *dir, *name; /* where it really is */
	const char *new_name;   /* the temporary file beside it */
	const char *data;       /* the old content */
	size_t size;
	struct allow_list patterns; /* of the old content */
	struct string_list missing;
};

/* ---- Patterns ---- */

static int check_pattern(const char *pattern, struct error *err)
{
	size_t len = strlen(pattern);

	if (pattern[strspn(pattern, " \t")] == '\0')
		return error_say(err, EXIT_CODE_USAGE, "pattern \"%s\": is empty", SHOW(pattern));
	if (len > LIMIT_PATTERN)
		return error_say(err, EXIT_CODE_USAGE, "pattern \"%s\": is longer than %d bytes",
				 SHOW(pattern), LIMIT_PATTERN);
	for (size_t i = 0; i < len; i++) {
		if (pattern[i] <= ' ' || pattern[i] > '~')
			return error_say(
				err, EXIT_CODE_USAGE,
				"pattern \"%s\": contains \"%s\", which no device's name does",
				SHOW(pattern), SHOW(((char[]){pattern[i], '\0'})));
	}
	if (pattern[0] == '#')
		return error_say(err, EXIT_CODE_USAGE, "pattern \"%s\": a line with # is a comment",
				 SHOW(pattern));
	if (strchr(pattern, '*') || (strchr(pattern, '/') && strchr(pattern, '=')))
		return 0;
	if (strchr(pattern, '/'))
		return error_say(err, EXIT_CODE_USAGE,
				 "pattern \"%s\": allows nothing, since a device is named "
				 "vendor.com/class=name; "
				 "for all devices of a kind: '%s=*'",
				 SHOW(pattern), SHOW(pattern));
	return error_say(
		err, EXIT_CODE_USAGE,
		"pattern \"%s\": allows nothing, since a device is named vendor.com/class=name",
		SHOW(pattern));
}

static bool is_listed(const struct edit *edit, const char *pattern)
{
	for (size_t i = 0; i < edit->patterns.n; i++) {
		if (strcmp(edit->patterns.items[i].pattern, pattern) == 0)
			return true;
	}
	for (size_t i = 0; i < edit->missing.n; i++) {
		if (strcmp(edit->missing.items[i], pattern) == 0)
			return true;
	}
	return false;
}

/* ---- Reading ---- */

/*
 * Whoever can write the file can have written any of its lines; to add one more and leave the file root's would make all
 * of them root's word.
 */
static int check_writers(const char *file, const struct stat *st, struct error *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return error_say(err, EXIT_CODE_REFUSED,
				 "%s: not trusted: it belongs to user %u, who can have written any "
				 "of its lines: read them, then chown root %s",
				 SHOW(file), st->st_uid, SHOW(file));
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_say(
			err, EXIT_CODE_REFUSED,
			"%s: not trusted: writable by %s (mode %04o), who can have written "
			"any of its lines: read them, then chmod go-w %s",
			SHOW(file), st->st_mode & S_IWOTH ? "others" : "its group",
			st->st_mode & 07777, SHOW(file));
	return 0;
}

/* `file` is for sentences. -ENOENT (with the error set) when it is not there. */
static int read_file(struct arena *arena, int dir_fd, const char *name, const char *file,
		     char **ret_data, size_t *ret_size, struct error *err)
{
	_cleanup_fd_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "open %s", SHOW(file));
	if (!S_ISREG(st.st_mode))
		return error_set(err, S_ISDIR(st.st_mode) ? EISDIR : 0, "read %s%s", SHOW(file),
				 S_ISDIR(st.st_mode) ? "" : ": not a regular file");
	r = check_writers(file, &st, err);
	return r < 0 ? r : fdio_read(arena, fd, LIMIT_ALLOW_SIZE, file, ret_data, ret_size, err);
}

/* A file that is fine in itself may still lie where the hook trusts nothing. */
static void warn_untrusted(struct arena *arena, const char *file)
{
	_cleanup_fd_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct trust trust = {.root_fd = root_fd, .owner = geteuid()};
	char *real = realpath(file, NULL), text[ERROR_TEXT_MAX];
	const char *path = real ? arena_strdup(arena, real) : NULL;
	struct error why = {0};

	free(real);
	_cleanup_fd_ int fd = path ? trusted_open(&trust, path, TRUSTED_FILE, &why) : -1;
	fflush(stdout);
	if (path && fd < 0 && why.exit_code == EXIT_CODE_REFUSED)
		fprintf(stderr, "cdictl: warning: the hook does not read this file: %s\n",
			error_text(&why, text));
}

/* ---- Listing ---- */

static int list_patterns(struct arena *arena, const char *file, struct error *err)
{
	struct allow_list list = {0};
	char *data;
	size_t size;
	int r;

	r = read_file(arena, AT_FDCWD, file, file, &data, &size, err);
	if (r == -ENOENT) {
		fprintf(stderr, "cdictl: %s does not exist: nothing is allowed\n", SHOW(file));
		return 0;
	}
	if (r < 0)
		return r;
	r = allow_add_file(arena, &list, file, data, size, err);
	if (r < 0)
		return r;
	warn_untrusted(arena, file);
	if (list.n == 0)
		fprintf(stderr, "cdictl: %s has no patterns: nothing is allowed\n", SHOW(file));
	for (size_t i = 0; i < list.n; i++)
		puts(list.items[i].pattern);
	return 0;
}

/* ---- Adding ---- */

/* Finds the file behind symbolic links: they stay what they are, and what they lead to is changed.
 */
static int edit_find(struct arena *arena, const char *file, struct edit *ret_edit,
		     struct error *err)
{
	char *real = realpath(file, NULL);
	const char *slash;

	*ret_edit = (struct edit){.file = file};
	if (!real && errno != ENOENT)
		return error_set(err, errno, "open %s", SHOW(file));
	ret_edit->name = arena_strdup(arena, real ? real : file);
	free(real);
	if (!ret_edit->name)
		return error_memory(err);
	slash = strrchr(ret_edit->name, '/');
	if (slash) {
		/* One byte at least: the directory of /allow is the root. */
		size_t len = (size_t)(slash - ret_edit->name);
		ret_edit->dir = arena_strndup(arena, ret_edit->name, len ? len : 1);
		ret_edit->name = slash + 1;
	} else {
		ret_edit->dir = ".";
	}
	ret_edit->new_name = arena_printf(arena, "%s.cdictl-new", ret_edit->name);
	if (!ret_edit->dir || !ret_edit->new_name)
		return error_memory(err);
	if (!*ret_edit->name)
		return error_set(err, EISDIR, "open %s", SHOW(file));
	return 0;
}

/* Opens the directory, which is made when only it is missing. */
static int open_dir(const char *dir, struct error *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno != ENOENT)
		return error_set(err, errno, "open %s", SHOW(dir));
	if (mkdir(dir, 0755) < 0)
		return error_set(err, errno, "make the directory %s", SHOW(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "open %s", SHOW(dir));
	/* Whatever the umask is: the hook reads it as root, people may read it, too. */
	if (fchmod(fd, 0755) < 0) {
		error_set(err, errno, "chmod %s", SHOW(dir));
		close_fd(&fd);
		return -1;
	}
	return fd;
}

/* The temporary file has a fixed name, so that it keeps a second cdictl away until this one is
 * done. */
static int open_new(const struct edit *edit, int dir_fd, struct error *err)
{
	int fd = openat(dir_fd, edit->new_name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return error_say(err, EXIT_CODE_OTHER,
				 "%s/%s is there: another cdictl is at work, or one was killed; "
				 "remove it then",
				 SHOW(edit->dir), SHOW(edit->new_name));
	if (fd < 0)
		return error_set(err, errno, "make %s/%s", SHOW(edit->dir), SHOW(edit->new_name));
	return fd;
}

static int read_old(struct arena *arena, struct edit *edit, int dir_fd, struct error *err)
{
	char *data;
	int r = read_file(arena, dir_fd, edit->name, edit->file, &data, &edit->size, err);

	if (r == -ENOENT) {
		*err = (struct error){0};
		edit->data = FIRST_LINE;
		edit->size = strlen(FIRST_LINE);
		return 0;
	}
	if (r < 0)
		return r;
	edit->data = data;
	return allow_add_file(arena, &edit->patterns, edit->file, data, edit->size, err);
}

static int write_new(const struct edit *edit, int new_fd, struct error *err)
{
	_cleanup_fd_ int fd = fcntl(new_fd, F_DUPFD_CLOEXEC, 3);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
	bool good;

	if (!stream)
		return error_set(err, errno, "write %s", SHOW(edit->file));
	TAKE_FD(fd);
	good = fwrite(edit->data, 1, edit->size, stream) == edit->size;
	if (edit->size > 0 && edit->data[edit->size - 1] != '\n')
		good = putc('\n', stream) != EOF && good;
	for (size_t i = 0; i < edit->missing.n; i++)
		good = fprintf(stream, "%s\n", edit->missing.items[i]) > 0 && good;
	good = fclose(stream) == 0 && good;
	/* Root's, even in a directory that hands on its group: the hook trusts no other. */
	good = good && fchmod(new_fd, 0644) == 0 && (geteuid() != 0 || fchown(new_fd, 0, 0) == 0);
	if (!good || fsync(new_fd) < 0)
		return error_set(err, errno, "write %s", SHOW(edit->file));
	return 0;
}

/* Between open_new() and the rename or removal of the new file. */
static int change(struct arena *arena, struct edit *edit, char **patterns, int dir_fd, int new_fd,
		  struct error *err)
{
	size_t size;
	int r = read_old(arena, edit, dir_fd, err);

	if (r < 0)
		return r;
	size = edit->size + 1;
	for (; *patterns; patterns++) {
		const char **added;

		if (is_listed(edit, *patterns))
			continue;
		added = array_add(arena, &edit->missing);
		if (!added)
			return error_memory(err);
		*added = *patterns;
		size += strlen(*patterns) + 1;
	}
	if (size > LIMIT_ALLOW_SIZE)
		return error_say(err, EXIT_CODE_OTHER, "%s would be larger than %d bytes",
				 SHOW(edit->file), LIMIT_ALLOW_SIZE);
	if (edit->missing.n == 0)
		return 0;
	r = write_new(edit, new_fd, err);
	if (r < 0)
		return r;
	if (renameat(dir_fd, edit->new_name, dir_fd, edit->name) < 0)
		return error_set(err, errno, "replace %s", SHOW(edit->file));
	if (fsync(dir_fd) < 0)
		return error_set(err, errno, "sync %s", SHOW(edit->dir));
	return 0;
}

static void report(const struct edit *edit, char **patterns)
{
	for (; *patterns; patterns++) {
		bool added = false;

		for (size_t i = 0; i < edit->missing.n; i++)
			added = added || strcmp(edit->missing.items[i], *patterns) == 0;
		printf(added ? "%s: %s added\n" : "%s: %s is there already\n", edit->file,
		       *patterns);
	}
}

static int add_patterns(struct arena *arena, const char *file, char **patterns, struct error *err)
{
	struct edit edit;
	int r;

	for (char **pattern = patterns; *pattern; pattern++) {
		r = check_pattern(*pattern, err);
		if (r < 0)
			return r;
	}
	r = edit_find(arena, file, &edit, err);
	if (r < 0)
		return r;
	_cleanup_fd_ int dir_fd = open_dir(edit.dir, err);
	if (dir_fd < 0)
		return dir_fd;
	_cleanup_fd_ int new_fd = open_new(&edit, dir_fd, err);
	if (new_fd < 0)
		return new_fd;
	r = change(arena, &edit, patterns, dir_fd, new_fd, err);
	/* It is still there unless it became the file. */
	if (r < 0 || edit.missing.n == 0)
		unlinkat(dir_fd, edit.new_name, 0);
	if (r < 0)
		return r;
	report(&edit, patterns);
	warn_untrusted(arena, file);
	return 0;
}

int ctl_allow(struct arena *arena, int argc, char **argv, struct error *err)
{
	const char *file = ALLOW_FILE_DEFAULT;
	const struct usage_option options[] = {
		{"allow-file", 0, "FILE", USAGE_TEXT, &file, "Instead of " ALLOW_FILE_DEFAULT},
	};
	const struct usage usage = {
		.command = "allow",
		.arguments = "[PATTERN]...",
		.about = "Adds patterns to the file of devices that containers may ask for by "
			 "annotation,\n"
			 "or lists them. A pattern is compared with the whole name of a device; * "
			 "stands\n"
			 "for anything:\n"
			 "\n"
			 "  cdictl allow 'vendor.com/gpu=*'",
		.options = options,
		.n_options = 1,
	};
	int first = usage_parse(arena, &usage, argc, argv, err);

	if (first <= 0)
		return first;
	if (first == argc)
		return list_patterns(arena, file, err);
	return add_patterns(arena, file, argv + first, err);
}
