/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A small file tree of a test's own. Its root is handed to the code under test as "/", so that
 * chains of trusted directories start there and the tests pass wherever they run: as root below
 * /run, else below /tmp.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

struct tree {
	char path[64];
	int fd;
};

static inline void tree_init(struct tree *tree)
{
	umask(022);
	snprintf(tree->path, sizeof(tree->path), "%s/oci-cdi-hook-test.XXXXXX",
		 geteuid() == 0 ? "/run" : "/tmp");
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tree_done(struct tree *tree)
{
	assert_int_equal(nftw(tree->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	close(tree->fd);
}

/* Paths are those of the tree: "/etc/cdi". */
static inline void tree_dir(const struct tree *tree, const char *path)
{
	char part[PATH_MAX];

	/* Also everything above it. */
	for (const char *slash = path; slash;) {
		slash = strchr(slash + 1, '/');
		snprintf(part, sizeof(part), "%.*s",
			 slash ? (int)(slash - path) : (int)strlen(path), path);
		assert_true(mkdirat(tree->fd, part + 1, 0755) == 0 || errno == EEXIST);
	}
}

static inline void tree_file(const struct tree *tree, const char *path, const char *text)
{
	int fd = openat(tree->fd, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline void tree_link(const struct tree *tree, const char *target, const char *path)
{
	assert_int_equal(symlinkat(target, tree->fd, path + 1), 0);
}

static inline void tree_fifo(const struct tree *tree, const char *path)
{
	assert_int_equal(mkfifoat(tree->fd, path + 1, 0644), 0);
}

static inline void tree_mode(const struct tree *tree, const char *path, mode_t mode)
{
	assert_int_equal(fchmodat(tree->fd, path + 1, mode, 0), 0);
}

/* For root only. */
static inline void tree_owner(const struct tree *tree, const char *path, uid_t uid)
{
	assert_int_equal(fchownat(tree->fd, path + 1, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW), 0);
}

static inline size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}
