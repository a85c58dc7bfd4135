/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a path of the host is. The plan asks this through a function pointer, so that tests can answer from a list. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arena.h"
#include "elf-library.h"
#include "error.h"

struct host_node {
	mode_t mode;           /* type and permission bits, as in struct stat */
	uint32_t major, minor; /* of a device */
	dev_t dev; /* of its file system; with ino it tells whether it is still the same */
	ino_t ino;
	uid_t uid;
	gid_t gid;
	bool loadable; /* a regular file with ELF magic or an x bit: what gets loaded or executed must be root's */
};

/*
 * look_up: what is at `path`, following links (by-id and by-path names are such). 0 with `*ret_node` filled in, or
 * -errno; -ENOENT when it is not there. Never opens a device, never blocks.
 * library: as elf_library_read(), for the regular file at `path`; ELF_NOT_A_LIBRARY for anything else.
 * read: the whole of a regular file or a file of procfs, at most `limit` bytes. -ENOENT when it is not there.
 * list: the names in a directory, sorted bytewise, at most LIMIT_LIBRARY_DIR_ENTRIES of them.
 */
struct host_view {
	int (*look_up)(void *data, const char *path, struct host_node *ret_node);
	int (*library)(void *data, struct arena *arena, const char *path,
		       struct elf_library *ret_library, struct error *err);
	int (*read)(void *data, struct arena *arena, const char *path, size_t limit,
		    char **ret_data, size_t *ret_size, struct error *err);
	int (*list)(void *data, struct arena *arena, const char *path,
		    struct string_list *ret_names, struct error *err);
	void *data;
	uid_t owner; /* who beside root may own what a container loads */
};

/*
 * The real thing below the host's "/", of which `*root_fd` is an O_PATH fd that must outlive the view. `owner` is the
 * caller: what a plain user's own container loads may be that user's.
 */
struct host_view host_view_real(int *root_fd, uid_t owner) __attribute__((nonnull));

/* As host_view's look_up; `data` points to the root fd. */
int host_node_look_up(void *data, const char *path, struct host_node *ret_node)
	__attribute__((nonnull, warn_unused_result));

/*
 * What a container loads or runs must be the host administrator's: root's (or the view's owner's), and not
 * writable by others. (Seen from a user namespace that does not have root, "/" tells who root is.) Fails with EXIT_CODE_HOST and the remedy; other things only have to be there.
 */
int host_node_check_loadable(const struct host_view *host, const char *path,
			     const struct host_node *node, struct error *err)
	__attribute__((nonnull, warn_unused_result));
