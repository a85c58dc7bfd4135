/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a list of mounted libraries to a cache that a loader believes. Each part is elsewhere: what the image's
 * configuration says (common/ldconf.c), the sandbox (ldconfig.c), the cache's format (common/ldcache.c), files of the
 * image (rootfs-file.c). Here is only the order.
 *
 * ldconfig writes DIRECTORY/SONAME as a library's path and makes a link of that name. We let it make no links, since
 * they would be files in the image that no spec asked for; instead its entries are pointed at the mounted files
 * themselves, which also makes the host's driver win over a library of the same name in the image.
 */
#include "library-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bounds.h"
#include "cleanup.h"
#include "elf-abi.h"
#include "interrupt.h"
#include "ldcache.h"
#include "ldconf.h"
#include "ldconfig.h"
#include "path.h"
#include "rootfs-file.h"

static const char cache_path[] = "/etc/ld.so.cache";
static const char own_conf[] = LDCONF_OWN_DIR "/" LDCONF_OWN_NAME;

/*
 * The host's ldconfig knows the directories that its own distribution has built in; the image's may have others.
 */
static const char *const built_in[] = {"/lib64", "/usr/lib64"};

struct refresh {
	struct rootfs *rootfs;
	const struct library_cache *cache;
	struct notes *notes;
	struct ldconf conf;
	struct string_list dirs; /* of our libraries, and those that hooks ask for */
	struct string_list
		unknown; /* those of them that an ldconfig in the container would not look at */
};

/*
 * Is there anything to do?
 */

/* 1, 0 or a failure. What cannot be reached inside the root is not there. */
static int exists(struct rootfs *rootfs, const char *path, struct error *err)
{
	_cleanup_fd_ int fd = path ? rootfs_open(rootfs, path, false, err) : -ENOENT;

	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP)
		return fd;
	if (fd < 0)
		*err = (struct error){0};
	return fd >= 0;
}

/* Whether programs in the container can load any of the libraries through a cache: 1, 0 or a failure. */
static int has_loader(struct refresh *refresh, struct error *err)
{
	const struct plan *plan = refresh->cache->plan;
	bool musl = false;
	int r;

	for (size_t i = 0; i < plan->libraries.n; i++) {
		const struct elf_abi *abi = elf_abi_of(&plan->libraries.items[i].elf);
		r = abi ? exists(refresh->rootfs, abi->loader, err) : 0;
		if (r != 0)
			return r;
		r = abi ? exists(refresh->rootfs, abi->musl_loader, err) : 0;
		if (r < 0)
			return r;
		musl = musl || r;
	}
	/* A spec's hook may want other directories in the cache, whatever we brought. */
	if (plan->libraries.n == 0)
		return exists(refresh->rootfs, cache_path, err);
	note_add(refresh->notes, musl ? NOTE_WARNING : NOTE_INFO,
		 musl ? "the image has musl's loader, whose search path this version leaves alone: "
			"programs find the "
			"mounted libraries by their paths only"
		      : "the image has no loader for the mounted libraries: no library cache is "
			"needed");
	return 0;
}

/*
 * Which directories
 */

static bool has_dir(const struct string_list *dirs, const char *dir)
{
	for (size_t i = 0; i < dirs->n; i++)
		if (strcmp(dirs->items[i], dir) == 0)
			return true;
	return false;
}

/* A line of ld.so.conf ends at a blank, "#" or "=", and there is no way to quote them. */
static int check_dir(const char *dir, struct error *err)
{
	if (dir[0] == '/' && strcspn(dir, " \t\n\r\f\v#=:,") == strlen(dir))
		return 0;
	return error_say(err, EXIT_CODE_LDCACHE,
			 "directory %s cannot be named in a library configuration", SHOW(dir));
}

static int add_dir(struct refresh *refresh, const char *dir, struct error *err)
{
	struct arena *arena = refresh->rootfs->arena;
	const char **slot;

	if (has_dir(&refresh->dirs, dir))
		return 0;
	if (check_dir(dir, err) < 0)
		return error_result(err);
	slot = array_add(arena, &refresh->dirs);
	if (!slot)
		return error_memory(err);
	*slot = dir;
	if (ldconf_is_default(dir) || has_dir(&refresh->conf.dirs, dir))
		return 0;
	slot = array_add(arena, &refresh->unknown);
	if (!slot)
		return error_memory(err);
	*slot = dir;
	return 0;
}

static int collect_dirs(struct refresh *refresh, struct error *err)
{
	const struct plan *plan = refresh->cache->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < refresh->cache->front->n; i++)
		r = add_dir(refresh, refresh->cache->front->items[i], err);
	for (size_t i = 0; r == 0 && i < plan->ldcache.n; i++)
		for (size_t j = 0; r == 0 && j < plan->ldcache.items[i].folders.n; j++)
			r = add_dir(refresh, plan->ldcache.items[i].folders.items[j], err);
	for (size_t i = 0; r == 0 && i < plan->libraries.n; i++) {
		const char *path = plan->libraries.items[i].path;
		const char *slash = strrchr(path, '/');
		const char *dir = slash == path ? "/"
						: arena_strndup(refresh->rootfs->arena, path,
								(size_t)(slash - path));
		r = dir ? add_dir(refresh, dir, err) : error_memory(err);
	}
	return r;
}

/* Behind all others, and after it was decided which of ours an ldconfig in the container would not look at. */
static int add_built_in(struct refresh *refresh, struct error *err)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		const char **slot = array_add(refresh->rootfs->arena, &refresh->conf.dirs);
		if (!slot)
			return error_memory(err);
		*slot = built_in[i];
	}
	return 0;
}

/* One directory a line. */
static int conf_text(struct arena *arena, const char *head, const struct string_list *first,
		     const struct string_list *second, const char **ret_text, struct error *err)
{
	size_t size = strlen(head) + 1;
	char *text, *end;

	for (size_t i = 0; i < first->n; i++)
		size += strlen(first->items[i]) + 1;
	for (size_t i = 0; second && i < second->n; i++)
		size += strlen(second->items[i]) + 1;
	text = arena_alloc(arena, size);
	if (!text)
		return error_memory(err);
	end = stpcpy(text, head);
	for (size_t i = 0; i < first->n; i++)
		end = stpcpy(stpcpy(end, first->items[i]), "\n");
	for (size_t i = 0; second && i < second->n; i++)
		end = stpcpy(stpcpy(end, second->items[i]), "\n");
	*ret_text = text;
	return 0;
}

/*
 * The cache
 */

/* Our own file of an earlier start is no configuration of the image's: it is written anew, or not needed any more. */
static int view_read(void *data, struct arena *arena, const char *path, size_t limit,
		     char **ret_text, size_t *ret_size, struct error *err)
{
	if (strcmp(path, own_conf) == 0)
		return error_set(err, ENOENT, "%s is ours", path);
	int r = interrupted(err);

	if (r < 0)
		return r;
	return rootfs_read(data, arena, path, limit, ret_text, ret_size, err);
}

static int view_list(void *data, struct arena *arena, const char *path,
		     struct string_list *ret_names, struct error *err)
{
	int r = interrupted(err);

	if (r < 0)
		return r;
	return rootfs_list(data, arena, path, LIMIT_LDCONF_NAMES, ret_names, err);
}

/* The last component. */
static const char *leaf_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/*
 * Which of two files with one soname programs get: `a` came first. Of different directories that is the first; of one
 * directory the file that the soname itself names, usually a link made by the vendor, else the newest, for which
 * ldconfig would make that link.
 */
static bool is_better(const struct ldcache_library *b, const struct ldcache_library *a)
{
	size_t len = (size_t)(leaf_of(a->path) - a->path);

	if (len != (size_t)(leaf_of(b->path) - b->path) || strncmp(a->path, b->path, len) != 0 ||
	    strcmp(leaf_of(a->path), a->soname) == 0)
		return false;
	return strcmp(leaf_of(b->path), b->soname) == 0 || strverscmp(b->path, a->path) > 0;
}

static struct ldcache_library *find_soname(struct ldcache_library *libraries, size_t n,
					   const struct ldcache_library *library)
{
	for (size_t i = 0; i < n; i++)
		if (libraries[i].flags == library->flags &&
		    strcmp(libraries[i].soname, library->soname) == 0)
			return &libraries[i];
	return NULL;
}

/* Whether the cache has the library in one of the directories in front. */
static bool is_in_front(const struct refresh *refresh, const struct ldcache *made,
			const struct ldcache_library *library)
{
	const struct string_list *front = refresh->cache->front;

	for (size_t i = 0; front->n > 0 && i < made->n; i++)
		if (made->items[i].flags == library->flags &&
		    strcmp(made->items[i].soname, library->soname) == 0)
			for (size_t j = 0; j < front->n; j++)
				if (path_is_below(made->items[i].path, front->items[j]))
					return true;
	return false;
}

/* Points the entries at the mounted files; a library that ldconfig did not find fails. */
static int redirect(struct refresh *refresh, char **data, size_t *size, struct error *err)
{
	const struct plan *plan = refresh->cache->plan;
	struct arena *arena = refresh->rootfs->arena;
	struct ldcache_library *libraries =
		arena_alloc_array(arena, plan->libraries.n, sizeof(*libraries));
	struct ldcache made;
	size_t n = 0;
	int parsed;

	if (!libraries)
		return error_memory(err);
	parsed = ldcache_parse(arena, *data, *size, &made, err);
	if (parsed < 0)
		return parsed;
	for (size_t i = 0; i < plan->libraries.n; i++) {
		const struct plan_library *library = &plan->libraries.items[i];
		const struct elf_abi *abi = elf_abi_of(&library->elf);
		int r = abi ? exists(refresh->rootfs, abi->loader, err) : 0;
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		const struct ldcache_library next = {
			.soname = library->elf.soname,
			.path = library->path,
			.flags = abi->ldcache_flags,
		};
		if (is_in_front(refresh, &made, &next))
			continue;
		struct ldcache_library *same = find_soname(libraries, n, &next);
		if (!same)
			libraries[n++] = next;
		else if (is_better(&next, same))
			*same = next;
	}
	return ldcache_redirect(arena, *data, *size, libraries, n, data, size, err);
}

/* The mounts that hold our libraries, as they are in the container now. */
struct shown_mounts {
	struct ldconfig_library *items;
	size_t n;
};

static void close_mounts(struct shown_mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++)
		close_fd(&mounts->items[i].mount_fd);
}

static bool holds_library(const struct plan *plan, const struct plan_mount *mount)
{
	for (size_t i = 0; i < plan->libraries.n; i++)
		if (path_is_below(plan->libraries.items[i].path, mount->destination))
			return true;
	return false;
}

static int open_mounts(struct refresh *refresh, struct shown_mounts *mounts, struct error *err)
{
	const struct plan *plan = refresh->cache->plan;

	mounts->items =
		arena_alloc_array(refresh->rootfs->arena, plan->mounts.n, sizeof(*mounts->items));
	if (!mounts->items)
		return error_memory(err);
	for (size_t i = 0; i < plan->mounts.n; i++) {
		const char *path = plan->mounts.items[i].destination;
		if (!holds_library(plan, &plan->mounts.items[i]))
			continue;
		int fd = rootfs_open(refresh->rootfs, path, false, err);
		if (fd < 0)
			return fd;
		mounts->items[mounts->n++] =
			(struct ldconfig_library){.mount_fd = fd, .path = path};
	}
	return 0;
}

/* Whether the image has the file in its own root; volumes are not looked into. */
static int lost_file_exists(void *data, const char *path, struct error *err)
{
	_cleanup_fd_ int fd = rootfs_open_image(data, path, err);

	if (fd >= 0)
		return 1;
	*err = (struct error){0};
	return 0;
}

/*
 * ldconfig leaves out in silence what it cannot read. What the image's own cache has and what is
 * still there must be in the new one too, or programs of the image would break.
 */
static int check_nothing_lost(struct refresh *refresh, const char *data, size_t size,
			      struct error *err)
{
	struct rootfs *rootfs = refresh->rootfs;
	struct error ignored = {0};
	struct ldcache before, after;
	char *old_data;
	size_t old_size;
	int r = ldcache_parse(rootfs->arena, data, size, &after, err);

	if (r < 0)
		return r;
	r = rootfs_read(rootfs, rootfs->arena, cache_path, LIMIT_LDCACHE_SIZE, &old_data, &old_size,
			&ignored);
	/* Without an old cache, or with one that no loader would use, there is nothing to lose. */
	if (r < 0 || ldcache_parse(rootfs->arena, old_data, old_size, &before, &ignored) < 0)
		return ignored.errnum == EIO || ignored.errnum == ENOMEM
			       ? (*err = ignored, error_result(err))
			       : 0;
	return ldcache_check_lost(&before, &after, lost_file_exists, rootfs, err);
}

static int make_cache(struct refresh *refresh, char **ret_data, size_t *ret_size, struct error *err)
{
	__attribute__((cleanup(close_mounts))) struct shown_mounts mounts = {0};
	struct rootfs *rootfs = refresh->rootfs;
	const char *conf;
	int r = open_mounts(refresh, &mounts, err);

	if (r == 0)
		r = conf_text(rootfs->arena, "", &refresh->dirs, &refresh->conf.dirs, &conf, err);
	if (r == 0)
		r = ldconfig_run(rootfs->arena, refresh->cache->ldconfig_fd, rootfs->fd,
				 mounts.items, mounts.n, conf, ret_data, ret_size, err);
	if (r == 0)
		r = check_nothing_lost(refresh, *ret_data, *ret_size, err);
	if (r == 0)
		r = redirect(refresh, ret_data, ret_size, err);
	return r;
}

/*
 * Installing it
 */

/* Whether a file in the directory can be replaced, now and by the container later: 1, 0 or a failure. */
static int is_writable(struct refresh *refresh, int dir_fd, const char *path, struct error *err)
{
	struct statvfs statvfs;
	int r;

	if (fstatvfs(dir_fd, &statvfs) < 0)
		return error_set(err, errno, "look at the file system of %s", path);
	if (statvfs.f_flag & ST_RDONLY)
		return 0;
	r = rootfs_is_own_mount(refresh->rootfs, dir_fd, path, err);
	if (r != 0)
		return r < 0 ? r : !refresh->cache->root_readonly;
	return rootfs_is_writable(refresh->rootfs, dir_fd, path, err);
}

/* A mount on the very name, such as a volume of one file, cannot be replaced by a rename. */
static int is_mount_point(int dir_fd, const char *leaf, struct error *err)
{
	struct statx stx;

	if (statx(dir_fd, leaf, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) == 0)
		return (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	return errno == ENOENT ? 0 : error_set(err, errno, "look at %s", leaf);
}

static int install_cache(struct refresh *refresh, const char *data, size_t size, bool *ret_writable,
			 struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(refresh->rootfs, cache_path, true, &leaf, err);

	if (dir_fd < 0)
		return dir_fd;
	int writable = is_writable(refresh, dir_fd, cache_path, err);
	if (writable < 0)
		return writable;
	*ret_writable = writable;
	if (rootfs_has_content(refresh->rootfs, dir_fd, leaf, data, size))
		return 0;
	int mount_point = is_mount_point(dir_fd, leaf, err);
	if (mount_point < 0)
		return mount_point;
	if (writable && !mount_point)
		return rootfs_replace(refresh->rootfs, dir_fd, leaf, cache_path, data, size, 0644,
				      err);
	return rootfs_cover(refresh->rootfs, dir_fd, leaf, cache_path, data, size, 0644, err);
}

/* For an ldconfig that is run in the container later, by a package manager for example. */
static int install_conf(struct refresh *refresh, struct error *err)
{
	const char *leaf, *text;
	int r;

	if (refresh->unknown.n == 0)
		return 0;
	if (!refresh->conf.includes_conf_d) {
		note_add(refresh->notes, NOTE_INFO,
			 "the image's ld.so.conf does not include " LDCONF_OWN_DIR
			 ": ldconfig run in the container will forget "
			 "the mounted libraries");
		return 0;
	}
	r = conf_text(refresh->rootfs->arena,
		      "# Written by oci-cdi-hook: directories of mounted libraries.\n",
		      &refresh->unknown, NULL, &text, err);
	if (r < 0)
		return r;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(refresh->rootfs, own_conf, true, &leaf, err);
	if (dir_fd < 0)
		return dir_fd;
	if (rootfs_has_content(refresh->rootfs, dir_fd, leaf, text, strlen(text)))
		return 0;
	r = rootfs_check_writable(refresh->rootfs, dir_fd, own_conf, err);
	if (r < 0)
		return r;
	return rootfs_replace(refresh->rootfs, dir_fd, leaf, own_conf, text, strlen(text), 0644,
			      err);
}

int library_cache_refresh(struct rootfs *rootfs, const struct library_cache *cache,
			  struct notes *notes, struct error *err)
{
	struct refresh refresh = {.rootfs = rootfs, .cache = cache, .notes = notes};
	const struct ldconf_view view = {.read = view_read, .list = view_list, .data = rootfs};
	bool writable = false;
	char *data;
	size_t size;
	int r;

	r = has_loader(&refresh, err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = ldconf_read(rootfs->arena, &view, notes, &refresh.conf, err);
	if (r == 0)
		r = collect_dirs(&refresh, err);
	if (r == 0)
		r = add_built_in(&refresh, err);
	if (r == 0)
		r = make_cache(&refresh, &data, &size, err);
	if (r == 0)
		r = install_cache(&refresh, data, size, &writable, err);
	if (r == 0 && writable)
		r = install_conf(&refresh, err);
	if (r < 0) {
		err->exit_code = EXIT_CODE_LDCACHE;
		return error_prefix(err, "library cache");
	}
	return 0;
}
