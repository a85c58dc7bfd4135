/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands at a path of the host. The plan needs it before anything is done: numbers and modes
 * that a spec leaves out, and whether a mount source may be given to a container at all. The host's
 * own links are followed, since the names that udev makes (/dev/disk/by-id, /dev/dri/by-path) are
 * nothing but links.
 */
#include "host-node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "id-map.h"

/*
 * Whether the regular file `st` at `path` begins as ELF files do: 1, 0 or -errno. One that we may
 * not read counts as one, so that the stricter rule applies.
 */
static int has_elf_magic(int root_fd, const char *path, const struct stat *st)
{
	_cleanup_fd_ int fd = openat(root_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char magic[4] = {0};
	struct stat opened;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? 1 : -errno;
	if (fstat(fd, &opened) < 0)
		return -errno;
	if (opened.st_dev != st->st_dev || opened.st_ino != st->st_ino)
		return -ESTALE;
	if (read(fd, magic, sizeof(magic)) < 0)
		return -errno;
	return memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

/* The path as openat() wants it below the root fd. */
static const char *below_root(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

int host_node_look_up(void *data, const char *path, struct host_node *ret_node)
{
	int root_fd = *(const int *)data;
	struct stat st;

	if (path[0] != '/')
		return -EINVAL;
	path = below_root(path);
	/* O_PATH opens the name alone: no driver is asked, no FIFO waits for a writer. */
	_cleanup_fd_ int fd = openat(root_fd, path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;

	int loadable = 0;
	if (S_ISREG(st.st_mode))
		loadable = st.st_mode & 0111 ? 1 : has_elf_magic(root_fd, path, &st);
	if (loadable < 0)
		return loadable;
	*ret_node = (struct host_node){
		.mode = st.st_mode,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.loadable = loadable,
	};
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
		ret_node->major = major(st.st_rdev);
		ret_node->minor = minor(st.st_rdev);
	}
	return 0;
}

static bool is_trusted(const struct host_view *host, const struct host_node *node)
{
	struct host_node root;

	return node->uid == 0 || node->uid == host->owner ||
	       (node->uid == OVERFLOW_ID && host->look_up(host->data, "/", &root) == 0 &&
		root.uid == OVERFLOW_ID);
}

int host_node_check_loadable(const struct host_view *host, const char *path,
			     const struct host_node *node, struct error *err)
{
	if (!node->loadable)
		return 0;
	if (!is_trusted(host, node))
		return error_say(err, EXIT_CODE_HOST,
				 "mount source %s can be loaded or executed and belongs to user "
				 "%u, not to root",
				 SHOW(path), node->uid);
	if (node->mode & (S_IWGRP | S_IWOTH))
		return error_say(err, EXIT_CODE_HOST,
				 "mount source %s can be loaded or executed and is writable by "
				 "others (mode %04o): chmod go-w %s",
				 SHOW(path), node->mode & 07777, SHOW(path));
	return 0;
}

/* Opens a regular file for reading, and nothing else. ELF_NOT_A_LIBRARY for other things. */
static int open_regular(int root_fd, const char *path, int *ret_fd, struct error *err)
{
	_cleanup_fd_ int fd = openat(root_fd, path, O_PATH | O_CLOEXEC);
	struct stat named, opened;

	if (fd < 0 || fstat(fd, &named) < 0)
		return error_set(err, errno, "open");
	if (!S_ISREG(named.st_mode))
		return ELF_NOT_A_LIBRARY;
	close_fd(&fd);
	fd = openat(root_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &opened) < 0)
		return error_set(err, errno, "open");
	if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino)
		return error_set(err, ESTALE, "open");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int read_library(void *data, struct arena *arena, const char *path,
			struct elf_library *ret_library, struct error *err)
{
	_cleanup_fd_ int fd = -1;
	int r = open_regular(*(const int *)data, below_root(path), &fd, err);

	return r == 0 ? elf_library_read(arena, fd, ret_library, err) : r;
}

static int read_file(void *data, struct arena *arena, const char *path, size_t limit,
		     char **ret_data, size_t *ret_size, struct error *err)
{
	return fdio_read_at(arena, *(const int *)data, below_root(path), limit, ret_data, ret_size,
			    err);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_names(struct arena *arena, DIR *dir, struct string_list *names, struct error *err)
{
	struct dirent *entry;

	while (errno = 0, names->n < LIMIT_LIBRARY_DIR_ENTRIES && (entry = readdir(dir))) {
		const char **slot = array_add(arena, names);
		if (!slot || !(*slot = arena_strdup(arena, entry->d_name)))
			return error_memory(err);
	}
	return errno ? error_set(err, errno, "list") : 0;
}

static int list_directory(void *data, struct arena *arena, const char *path,
			  struct string_list *ret_names, struct error *err)
{
	_cleanup_fd_ int fd =
		openat(*(const int *)data, below_root(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int r;

	if (!dir)
		return error_set(err, errno, "open");
	(void)TAKE_FD(fd); /* the stream's now */
	r = read_names(arena, dir, ret_names, err);
	closedir(dir);
	if (r == 0 && ret_names->n > 1)
		qsort(ret_names->items, ret_names->n, sizeof(*ret_names->items), compare_names);
	return r;
}

struct host_view host_view_real(int *root_fd, uid_t owner)
{
	return (struct host_view){
		.look_up = host_node_look_up,
		.library = read_library,
		.read = read_file,
		.list = list_directory,
		.data = root_fd,
		.owner = owner,
	};
}
