/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image may bring CUDA libraries that are newer than the host's driver and made to work with it. They must then be
 * found before those that were mounted. Where they are newer is decided in common/cuda-compat.c, from the file's name
 * and a note in it; here the one file is found that counts. Whatever the image has wrong leaves the host's libraries in
 * use, and is said.
 */
#include "builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "cuda-compat.h"
#include "rootfs-file.h"

/*
 * The name of the only such file in the directory. Links to one, of which there are some, do not count, and a FIFO that
 * has the name is not opened. Positive: there is none, or more than one.
 */
static int find_library(struct arena *arena, struct rootfs *rootfs, const char *root,
			const char **ret_name, struct notes *notes, struct error *err)
{
	_cleanup_fd_ int dir_fd = rootfs_open_image(rootfs, root, err);
	struct string_list names = {0};
	struct stat st;
	int r = dir_fd < 0 ? dir_fd
			   : rootfs_list(rootfs, arena, root, LIMIT_LDCONF_NAMES, &names, err);

	if (r < 0)
		return r;
	*ret_name = NULL;
	for (size_t i = 0; i < names.n; i++) {
		if (!cuda_compat_version(names.items[i]) ||
		    fstatat(dir_fd, names.items[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (*ret_name) {
			note_add(notes, NOTE_WARNING,
				 "%s of the image has both %s and %s: none of them is used",
				 SHOW(root), SHOW(*ret_name), SHOW(names.items[i]));
			return 1;
		}
		*ret_name = names.items[i];
	}
	return !*ret_name;
}

/* Where the directory really is, as seen in the container: a library cache names no links. */
static int real_path(struct rootfs *rootfs, const char *path, const char **ret_path,
		     struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open_image(rootfs, path, err);
	char link[32], root[PATH_MAX], directory[PATH_MAX];
	ssize_t root_len, len;

	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "self/fd/%d", rootfs->fd);
	root_len = readlinkat(rootfs->proc_fd, link, root, sizeof(root));
	snprintf(link, sizeof(link), "self/fd/%d", fd);
	len = readlinkat(rootfs->proc_fd, link, directory, sizeof(directory));
	if (root_len < 0 || len < 0)
		return error_set(err, errno, "look where %s is", SHOW(path));
	if (root_len == 1)
		root_len = 0; /* "/" */
	if (len >= PATH_MAX || len <= root_len || memcmp(root, directory, (size_t)root_len) != 0 ||
	    directory[root_len] != '/')
		return error_set(err, 0, "%s is not below the container's root", SHOW(path));
	*ret_path = arena_strndup(rootfs->arena, directory + root_len, (size_t)(len - root_len));
	return *ret_path ? 0 : error_memory(err);
}

/* A line of ld.so.conf ends at these, and an image's directory may be called anything. */
static int check_name(const char *path, struct error *err)
{
	if (strcspn(path, " \t\n\r\f\v#=:,") == strlen(path))
		return 0;
	return error_set(err, 0, "directory %s cannot be named in a library configuration",
			 SHOW(path));
}

static int is_wanted(struct arena *arena, struct rootfs *rootfs, const struct vendor_hook *hook,
		     const char *name, struct notes *notes, struct error *err)
{
	const char *path = arena_printf(arena, "%s/%s", hook->compat_root, name);
	struct cuda_compat compat;
	int r;

	if (!path)
		return error_memory(err);
	_cleanup_fd_ int fd = rootfs_open_file(rootfs, path, err);
	if (fd < 0)
		return fd;
	r = cuda_compat_read(arena, fd, path, notes, &compat, err);
	if (r < 0)
		return r;
	return cuda_compat_is_wanted(&compat, cuda_compat_version(name), hook->host_driver_version,
				     hook->host_cuda_version, notes);
}

static int add_front(struct arena *arena, struct rootfs *rootfs, const struct vendor_hook *hook,
		     struct string_list *front, struct notes *notes, struct error *err)
{
	const char *name, *path, **slot;
	int r = find_library(arena, rootfs, hook->compat_root, &name, notes, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = is_wanted(arena, rootfs, hook, name, notes, err);
	if (r <= 0)
		return r;
	r = real_path(rootfs, hook->compat_root, &path, err);
	if (r == 0)
		r = check_name(path, err);
	if (r < 0)
		return r;
	slot = array_add(arena, front);
	if (!slot)
		return error_memory(err);
	*slot = path;
	note_add(notes, NOTE_INFO, "the image's %s/%s is used instead of the host's CUDA library",
		 SHOW(path), SHOW(name));
	return 0;
}

/* Runs in: the container's mount namespace. Trusts: the root fd. Hostile: the image's directory and library. */
int builtin_cuda_compat(struct arena *arena, struct rootfs *rootfs, const struct vendor_hook *hook,
			struct string_list *ret_front, struct notes *notes, struct error *err)
{
	char text[ERROR_TEXT_MAX];
	int r = add_front(arena, rootfs, hook, ret_front, notes, err);

	if (r == 0 || err->errnum == ENOMEM)
		return r;
	note_add(notes, err->errnum == ENOENT ? NOTE_INFO : NOTE_WARNING,
		 "%s: the host's CUDA library is used", error_text(err, text));
	*err = (struct error){0};
	return 0;
}
