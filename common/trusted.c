/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening files that may decide what a root program does. A path is walked one component at a time
 * with O_PATH and O_NOFOLLOW, and each component is judged by the very descriptor that the next
 * step starts from: what was checked is what is used. Links are followed by hand, since the kernel
 * would pass through directories that nobody looked at; ".." in a link goes back along our own
 * descriptors and never asks the file system.
 */
#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "cleanup.h"
#include "id-map.h"

/* Times that a file may be replaced between our look at it and its opening. */
#define OPEN_TRIES 3

struct walk {
	const struct trust *trust;
	int dirs[LIMIT_PATH_DEPTH]; /* O_PATH; the first is borrowed */
	size_t n_dirs;
	bool from_root; /* else links are not followed: nothing is known above the first directory
			 */
	bool at_file;   /* `at` is a regular file in the last directory, whose stat is `file` */
	struct stat file;
	unsigned links;
	char at[PATH_MAX];   /* where we are, links resolved; "" for the root */
	char rest[PATH_MAX]; /* what is left to walk */
};

static void walk_pop_to(struct walk *walk, size_t n)
{
	while (walk->n_dirs > n)
		close_fd(&walk->dirs[--walk->n_dirs]);
}

static void walk_done(struct walk *walk)
{
	walk_pop_to(walk, 1);
}

#define _cleanup_walk_ __attribute__((cleanup(walk_done)))

static const char *walk_at(const struct walk *walk)
{
	return walk->at[0] ? walk->at : "/";
}

static void walk_cut_name(struct walk *walk)
{
	char *slash = strrchr(walk->at, '/');

	if (slash)
		*slash = '\0';
}

#define SHELL_WORD_MAX (2 * ERROR_SHOW_MAX + 8)

/* `path` as one word of a shell, so that the remedy can be typed as it stands. */
static const char *shell_word(char buffer[static SHELL_WORD_MAX], const char *path)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-";
	const char *shown = SHOW(path);
	size_t used = 0;

	if (shown[strspn(shown, plain)] == '\0')
		return memcpy(buffer, shown, strlen(shown) + 1);
	/* SHOW wrote odd bytes as \xHH, which is what $'...' reads. */
	if (strpbrk(shown, "'\\"))
		buffer[used++] = '$';
	buffer[used++] = '\'';
	for (const char *c = shown; *c; c++) {
		if (*c == '\'')
			buffer[used++] = '\\';
		buffer[used++] = *c;
	}
	buffer[used++] = '\'';
	buffer[used] = '\0';
	return buffer;
}

#define SHELL_WORD(path) shell_word((char[SHELL_WORD_MAX]){0}, (path))

static bool is_trusted_owner(const struct trust *trust, uid_t uid)
{
	struct stat root;

	if (uid == 0 || uid == trust->owner)
		return true;
	/* Where root is not mapped, its files show the overflow id, and so does "/". */
	return uid == OVERFLOW_ID && fstat(trust->root_fd, &root) == 0 &&
	       root.st_uid == OVERFLOW_ID;
}

static int check_owner(const struct trust *trust, const struct stat *st, const char *path,
		       struct error *err)
{
	char or_user[32] = "";

	if (is_trusted_owner(trust, st->st_uid))
		return 0;
	if (trust->owner != 0)
		snprintf(or_user, sizeof(or_user), " or user %u", trust->owner);
	return error_say(err, EXIT_CODE_REFUSED,
			 "%s: not trusted: owned by user %u, not by root%s: chown %sroot %s",
			 SHOW(path), st->st_uid, or_user, S_ISLNK(st->st_mode) ? "-h " : "",
			 SHELL_WORD(path));
}

static int check(const struct trust *trust, const struct stat *st, const char *path,
		 struct error *err)
{
	static const char *const writers[] = {"others", "its group", "its group and others"};
	mode_t writable = st->st_mode & (S_IWGRP | S_IWOTH);

	if (trust->everybody)
		return 0;
	int r = check_owner(trust, st, path, err);
	if (r < 0)
		return r;
	/* The bits of a link mean nothing: its directory, which was checked, says who may write. */
	if (S_ISLNK(st->st_mode) || !writable)
		return 0;
	const char *who =
		writers[(writable & S_IWGRP ? 1 : 0) + (writable == (S_IWGRP | S_IWOTH) ? 1 : 0)];
	return error_say(err, EXIT_CODE_REFUSED,
			 "%s: not trusted: writable by %s (mode %04o): chmod go-w %s", SHOW(path),
			 who, st->st_mode & 07777, SHELL_WORD(path));
}

/*
 * Starts at `dir`, whose path is `at` and which was checked before; `rest` is what to walk from
 * there.
 */
static int walk_init(struct walk *walk, const struct trust *trust, int dir, const char *at,
		     const char *rest, struct error *err)
{
	walk->trust = trust;
	walk->dirs[0] = dir;
	walk->n_dirs = 1;
	walk->from_root = dir == trust->root_fd;
	walk->at_file = false;
	walk->links = 0;
	if (strlen(rest) >= sizeof(walk->rest) || strlen(at) >= sizeof(walk->at))
		return error_set(err, ENAMETOOLONG, "open %s", SHOW(rest));
	memcpy(walk->at, at, strlen(at) + 1);
	memcpy(walk->rest, rest, strlen(rest) + 1);
	return 0;
}

/* Starts at the root, which is checked. */
static int walk_init_root(struct walk *walk, const struct trust *trust, const char *path,
			  struct error *err)
{
	struct stat st;

	int r = walk_init(walk, trust, trust->root_fd, "", path, err);
	if (r < 0)
		return r;
	if (path[0] != '/')
		return error_set(err, 0, "%s: not an absolute path", SHOW(path));
	if (fstat(trust->root_fd, &st) < 0)
		return error_set(err, errno, "stat /");
	return check(trust, &st, "/", err);
}

/* Moves the next component from `rest` to the end of `at`. Returns 1, or 0 when nothing is left. */
static int walk_take_name(struct walk *walk, struct error *err)
{
	size_t skip = 0, len, used = strlen(walk->at);

	for (;;) {
		skip += strspn(walk->rest + skip, "/");
		len = strcspn(walk->rest + skip, "/");
		if (len != 1 || walk->rest[skip] != '.')
			break;
		skip++;
	}
	if (len == 0)
		return 0;
	if (walk->at_file)
		return error_set(err, ENOTDIR, "open %s", SHOW(walk->at));
	if (used + 1 + len >= sizeof(walk->at))
		return error_set(err, ENAMETOOLONG, "open %s/%s", SHOW(walk->at),
				 SHOW(walk->rest + skip));
	walk->at[used] = '/';
	memcpy(walk->at + used + 1, walk->rest + skip, len);
	walk->at[used + 1 + len] = '\0';
	memmove(walk->rest, walk->rest + skip + len, strlen(walk->rest + skip + len) + 1);
	return 1;
}

/* The link `fd` at `at`: its target takes its place in front of `rest`. */
static int walk_follow(struct walk *walk, int fd, struct error *err)
{
	char target[PATH_MAX];
	size_t left = strlen(walk->rest);

	if (!walk->from_root)
		return error_set(err, 0, "%s: replaced while it was opened", SHOW(walk->at));
	if (++walk->links > LIMIT_SYMLINKS)
		return error_set(err, ELOOP, "open %s", SHOW(walk->at));
	ssize_t n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		return error_set(err, errno, "readlink %s", SHOW(walk->at));
	size_t len = (size_t)n;
	if (len + 1 + left >= sizeof(walk->rest))
		return error_set(err, ENAMETOOLONG, "readlink %s", SHOW(walk->at));
	memmove(walk->rest + len + 1, walk->rest, left + 1);
	memcpy(walk->rest, target, len);
	walk->rest[len] = '/';
	walk_cut_name(walk);
	if (target[0] == '/') {
		walk_pop_to(walk, 1);
		walk->at[0] = '\0';
	}
	return 0;
}

static const char *odd_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
		return NULL;
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	default:
		return "file of unknown type";
	}
}

/* Steps into the last component of `at`. */
static int walk_step(struct walk *walk, struct error *err)
{
	const char *name = strrchr(walk->at, '/') + 1;
	struct stat st;

	if (strcmp(name, "..") == 0) {
		walk_cut_name(walk);
		walk_cut_name(walk);
		walk_pop_to(walk, walk->n_dirs > 1 ? walk->n_dirs - 1 : 1);
		return 0;
	}
	_cleanup_fd_ int fd =
		openat(walk->dirs[walk->n_dirs - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "open %s", SHOW(walk->at));
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat %s", SHOW(walk->at));
	/* Before any check: nobody is to be told to chmod /dev/null, which masks a spec. */
	if (odd_type(st.st_mode))
		return error_set(err, 0, "%s: is a %s, not a regular file", SHOW(walk->at),
				 odd_type(st.st_mode));
	int r = check(walk->trust, &st, walk->at, err);
	if (r < 0)
		return r;
	if (S_ISLNK(st.st_mode))
		return walk_follow(walk, fd, err);
	if (S_ISREG(st.st_mode)) {
		walk->at_file = true;
		walk->file = st;
		return 0;
	}
	if (walk->n_dirs == LIMIT_PATH_DEPTH)
		return error_set(err, 0, "%s: more than %d directories deep", SHOW(walk->at),
				 LIMIT_PATH_DEPTH);
	walk->dirs[walk->n_dirs++] = TAKE_FD(fd);
	return 0;
}

static int walk_to_end(struct walk *walk, struct error *err)
{
	for (;;) {
		int r = walk_take_name(walk, err);
		if (r <= 0)
			return r;
		r = walk_step(walk, err);
		if (r < 0)
			return r;
	}
}

/*
 * Opens the file at which the walk ended; -ESTALE without a sentence when it is no longer the file
 * that was checked.
 */
static int walk_open_file(struct walk *walk, struct error *err)
{
	const char *name = strrchr(walk->at, '/') + 1;
	struct stat st;

	_cleanup_fd_ int fd = openat(walk->dirs[walk->n_dirs - 1], name,
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ELOOP)
		return -ESTALE;
	if (fd < 0)
		return error_set(err, errno, "open %s", SHOW(walk->at));
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat %s", SHOW(walk->at));
	if (st.st_dev != walk->file.st_dev || st.st_ino != walk->file.st_ino)
		return -ESTALE;
	int r = check(walk->trust, &st, walk->at, err);
	return r < 0 ? r : TAKE_FD(fd);
}

static int walk_open_dir(struct walk *walk, struct error *err)
{
	int fd = openat(walk->dirs[walk->n_dirs - 1], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "open %s", SHOW(walk_at(walk))) : fd;
}

/*
 * Walks `rest` and opens what is there. A file that is replaced meanwhile (by rename, as is
 * proper) is looked at again.
 */
static int walk_open(struct walk *walk, enum trusted_kind kind, struct error *err)
{
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		int r = walk_to_end(walk, err);
		if (r < 0)
			return r;
		if (walk->at_file != (kind == TRUSTED_FILE))
			return error_set(err, walk->at_file ? ENOTDIR : EISDIR, "open %s",
					 SHOW(walk_at(walk)));
		if (!walk->at_file)
			return walk_open_dir(walk, err);
		int fd = walk_open_file(walk, err);
		if (fd != -ESTALE)
			return fd;
		const char *name = strrchr(walk->at, '/') + 1;
		memcpy(walk->rest, name, strlen(name) + 1);
		walk_cut_name(walk);
		walk->at_file = false;
	}
	return error_set(err, 0, "%s: replaced again and again while it was opened",
			 SHOW(walk->rest));
}

int trusted_open(const struct trust *trust, const char *path, enum trusted_kind kind,
		 struct error *err)
{
	_cleanup_walk_ struct walk walk;

	int r = walk_init_root(&walk, trust, path, err);
	return r < 0 ? r : walk_open(&walk, kind, err);
}

/*
 * A link may lead anywhere, also up: its directory is walked again from the root, to have the way
 * back.
 */
static int open_link(const struct trust *trust, int dirfd, const char *dir, const char *name,
		     struct error *err)
{
	_cleanup_walk_ struct walk walk;
	struct stat handed, walked;

	int r = walk_init_root(&walk, trust, dir, err);
	if (r < 0)
		return r;
	r = walk_to_end(&walk, err);
	if (r < 0)
		return r;
	if (fstat(dirfd, &handed) < 0 || fstat(walk.dirs[walk.n_dirs - 1], &walked) < 0)
		return error_set(err, errno, "stat %s", SHOW(dir));
	if (handed.st_dev != walked.st_dev || handed.st_ino != walked.st_ino)
		return error_set(err, 0, "%s: replaced while it was read", SHOW(dir));
	memcpy(walk.rest, name, strlen(name) + 1);
	return walk_open(&walk, TRUSTED_FILE, err);
}

int trusted_open_at(const struct trust *trust, int dirfd, const char *dir, const char *name,
		    struct error *err)
{
	_cleanup_walk_ struct walk walk;
	struct stat st;

	int r = walk_init(&walk, trust, dirfd, strcmp(dir, "/") == 0 ? "" : dir, name, err);
	if (r < 0)
		return r;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "open %s/%s", SHOW(walk.at), SHOW(name));
	if (S_ISLNK(st.st_mode))
		return open_link(trust, dirfd, dir, name, err);
	return walk_open(&walk, TRUSTED_FILE, err);
}
