/* SPDX-License-Identifier: Apache-2.0 */
/* Written beside the old file and renamed over it: a full disk or a power cut leaves the old one whole. */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cleanup.h"

/* What an attribute and the list of their names may have: the kernel's own bounds. */
#define XATTR_BYTES 65536

/* Finds the file behind symbolic links. */
static int find(struct arena *arena, struct replace *replace, struct error *err)
{
	char *real = realpath(replace->file, NULL);
	char *slash;

	if (!real)
		return error_set(err, errno, "open %s", SHOW(replace->file));
	slash = strrchr(real, '/');
	replace->name = arena_strdup(arena, slash + 1);
	slash[slash == real] = '\0'; /* the directory of /x is the root */
	replace->dir = arena_strdup(arena, real);
	free(real);
	if (replace->name)
		replace->new_name = arena_printf(arena, "%s.cdictl-new", replace->name);
	return replace->dir && replace->new_name ? 0 : error_memory(err);
}

int replace_begin(struct arena *arena, struct replace *replace, const char *file, struct error *err)
{
	int r;

	*replace = (struct replace)REPLACE_NULL;
	replace->file = file;
	r = find(arena, replace, err);
	if (r < 0)
		return r;
	replace->dir_fd = open(replace->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (replace->dir_fd < 0)
		return error_set(err, errno, "open %s", SHOW(replace->dir));
	/* A fixed name keeps a second cdictl away until this one is done. */
	replace->new_fd = openat(replace->dir_fd, replace->new_name,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (replace->new_fd < 0 && errno == EEXIST)
		return error_say(err, EXIT_CODE_OTHER,
				 "%s/%s is there: another cdictl is at work, or one was killed; "
				 "remove it then",
				 SHOW(replace->dir), SHOW(replace->new_name));
	if (replace->new_fd < 0)
		return error_set(err, errno, "make %s/%s", SHOW(replace->dir),
				 SHOW(replace->new_name));
	replace->old_fd = openat(replace->dir_fd, replace->name,
				 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (replace->old_fd < 0)
		return error_set(err, errno, "open %s", SHOW(file));
	return 0;
}

/* What only root may set, such as a label, is the directory's to give where we are not root. */
static bool is_privileged(const char *name)
{
	return strncmp(name, "security.", 9) == 0 || strncmp(name, "trusted.", 8) == 0;
}

static int keep_attributes(const struct replace *replace, struct error *err)
{
	static char names[XATTR_BYTES], value[XATTR_BYTES];
	ssize_t size = flistxattr(replace->old_fd, names, sizeof(names)), n;

	if (size < 0 && errno != ENOTSUP)
		return error_set(err, errno, "list the attributes of %s", SHOW(replace->file));
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		n = fgetxattr(replace->old_fd, name, value, sizeof(value));
		if (n >= 0 && fsetxattr(replace->new_fd, name, value, (size_t)n, 0) == 0)
			continue;
		if (!is_privileged(name))
			return error_set(err, errno, "keep the attribute %s of %s", SHOW(name),
					 SHOW(replace->file));
	}
	return 0;
}

static int keep_owner(const struct replace *replace, struct error *err)
{
	struct stat st, mine;

	if (fstat(replace->old_fd, &st) < 0 || fstat(replace->new_fd, &mine) < 0)
		return error_set(err, errno, "stat %s", SHOW(replace->file));
	if ((st.st_uid != mine.st_uid || st.st_gid != mine.st_gid) &&
	    fchown(replace->new_fd, st.st_uid, st.st_gid) < 0)
		return error_set(err, errno, "keep the owner of %s", SHOW(replace->file));
	if (fchmod(replace->new_fd, st.st_mode & 07777) < 0)
		return error_set(err, errno, "keep the mode of %s", SHOW(replace->file));
	return 0;
}

int replace_commit(struct replace *replace, const char *data, size_t size, struct error *err)
{
	int r = keep_owner(replace, err);

	if (r == 0)
		r = keep_attributes(replace, err);
	if (r < 0)
		return r;
	while (size > 0) {
		ssize_t n = write(replace->new_fd, data, size);
		if (n < 0)
			return error_set(err, errno, "write %s", SHOW(replace->file));
		data += n;
		size -= (size_t)n;
	}
	if (fsync(replace->new_fd) < 0)
		return error_set(err, errno, "write %s", SHOW(replace->file));
	if (renameat(replace->dir_fd, replace->new_name, replace->dir_fd, replace->name) < 0)
		return error_set(err, errno, "replace %s", SHOW(replace->file));
	close_fd(&replace->new_fd);
	if (fsync(replace->dir_fd) < 0)
		return error_set(err, errno, "sync %s", SHOW(replace->dir));
	return 0;
}

void replace_end(struct replace *replace)
{
	/* It is still there unless it became the file. */
	if (replace->new_fd >= 0)
		unlinkat(replace->dir_fd, replace->new_name, 0);
	close_fd(&replace->new_fd);
	close_fd(&replace->old_fd);
	close_fd(&replace->dir_fd);
}
