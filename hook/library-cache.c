/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a list of mounted libraries to a cache that a loader believes. Each part is elsewhere: which way it is made and
 * what stands in it (common/library-refresh.c, common/ldcache.c), the sandbox (ldconfig.c), files of the image (rootfs-file.c).
 * Here is only the order.
 *
 * ldconfig writes DIRECTORY/SONAME as a library's path and makes a link of that name. We let it make no links, since
 * they would be files in the image that no spec asked for; instead our libraries are merged into what it wrote, as into
 * the image's own cache: with the paths of the mounted files themselves, and before a library of the same name in
 * the image.
 */
#include "library-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "bounds.h"
#include "cleanup.h"
#include "interrupt.h"
#include "ldcache.h"
#include "ldconf.h"
#include "ldconfig.h"
#include "library-refresh.h"
#include "log.h"
#include "musl-path.h"
#include "path.h"
#include "plan-text.h"
#include "rootfs-file.h"

static const char cache_path[] = LDCACHE_PATH;
static const char own_conf[] = LDCONF_OWN_DIR "/" LDCONF_OWN_NAME;

/*
 * The host's ldconfig knows the directories that its own distribution has built in; the image's may have others.
 */
static const char *const built_in[] = {"/lib64", "/usr/lib64"};

struct refresh {
	struct rootfs *rootfs;
	const struct library_cache *cache;
	struct notes *notes;
	struct library_refresh what;
};

/*
 * The image, as common/ may look at it
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

/* What the image, and not the kernel's trouble, can make of a path. */
static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV || r == -EACCES ||
	       r == -ENAMETOOLONG;
}

/* What cannot be reached inside the root is not there. A loader may lie on a volume. */
static int view_exists(void *data, const char *path, struct error *err)
{
	/* A cache of the image may have us ask for half a million paths. */
	int r = interrupted(err);

	if (r < 0)
		return r;
	_cleanup_fd_ int fd = rootfs_open(data, path, false, err);

	if (fd < 0 && !is_absent(fd))
		return fd;
	if (fd < 0)
		*err = (struct error){0};
	return fd >= 0;
}

static int choose(struct rootfs *rootfs, const struct library_cache *cache, struct notes *notes,
		  struct library_refresh *ret_what, struct error *err)
{
	const struct image_view view = {
		.read = view_read, .list = view_list, .exists = view_exists, .data = rootfs};
	const struct library_refresh_options options = {
		.ldconfig_named = cache->ldconfig_named,
		.has_ldconfig = cache->has_ldconfig,
		.front = cache->front,
	};

	return library_refresh_choose(rootfs->arena, &view, cache->plan, &options, notes, ret_what,
				      err);
}

int library_cache_plan(struct rootfs *rootfs, const struct library_cache *cache, struct plan *plan,
		       struct notes *notes, struct error *err)
{
	struct library_refresh what;
	int r = choose(rootfs, cache, notes, &what, err);

	return r < 0 ? r : library_refresh_show(rootfs->arena, &what, plan, err);
}

/*
 * The cache
 */

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
	/* As above. */
	int r = interrupted(err);

	if (r < 0)
		return r;
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
static int check_nothing_lost(struct refresh *refresh, struct error *err)
{
	struct rootfs *rootfs = refresh->rootfs;
	struct error ignored = {0};
	struct ldcache before;
	char *old_data;
	size_t old_size;
	int r = rootfs_read(rootfs, rootfs->arena, cache_path, LIMIT_LDCACHE_SIZE, &old_data,
			    &old_size, &ignored);
	/* Without an old cache, or with one that no loader would use, there is nothing to lose. */
	if (r < 0 || ldcache_parse(rootfs->arena, old_data, old_size, &before, &ignored) < 0)
		return ignored.errnum == EIO || ignored.errnum == ENOMEM
			       ? (*err = ignored, error_result(err))
			       : 0;
	return ldcache_check_lost(&before, &refresh->what.image, lost_file_exists, rootfs, err);
}

/* Behind all others: a directory that the image names too keeps its place. */
static int add_built_in(struct refresh *refresh, struct error *err)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		const char **slot = array_add(refresh->rootfs->arena, &refresh->what.conf.dirs);
		if (!slot)
			return error_memory(err);
		*slot = built_in[i];
	}
	return 0;
}

/* Whether the cache has the library in one of the directories in front. */
static bool is_in_front(const struct refresh *refresh, const struct ldcache_library *library)
{
	const struct ldcache *made = &refresh->what.image;
	const struct string_list *front = refresh->cache->front;

	for (size_t i = 0; i < made->n; i++)
		if (made->items[i].flags == library->flags &&
		    strcmp(made->items[i].soname, library->soname) == 0)
			for (size_t j = 0; j < front->n; j++)
				if (path_is_below(made->items[i].path, front->items[j]))
					return true;
	return false;
}

/* The image's own stay where they are in front of ours. */
static void leave_front(struct refresh *refresh)
{
	struct library_refresh *what = &refresh->what;
	size_t n = 0;

	if (!refresh->cache->front || refresh->cache->front->n == 0)
		return;
	for (size_t i = 0; i < what->n_libraries; i++)
		if (!is_in_front(refresh, &what->libraries[i]))
			what->libraries[n++] = what->libraries[i];
	what->n_libraries = n;
}

/* The host's ldconfig over the image. What it wrote is the base in place of the image's cache. */
static int run_ldconfig(struct refresh *refresh, struct error *err)
{
	__attribute__((cleanup(close_mounts))) struct shown_mounts mounts = {0};
	struct library_refresh *what = &refresh->what;
	struct arena *arena = refresh->rootfs->arena;
	const char *conf;
	char *data;
	size_t size;

	if (refresh->cache->ldconfig_fd < 0) {
		*err = *refresh->cache->ldconfig_problem;
		return error_result(err);
	}
	int r = open_mounts(refresh, &mounts, err);
	if (r == 0)
		r = add_built_in(refresh, err);
	if (r == 0)
		r = library_refresh_conf(arena, "", &what->dirs, &what->conf.dirs, &conf, err);
	if (r == 0)
		r = ldconfig_run(arena, refresh->cache->ldconfig_fd, refresh->rootfs->fd,
				 mounts.items, mounts.n, conf, &data, &size, err);
	log_step("run ldconfig");
	if (r == 0)
		r = ldcache_parse(arena, data, size, &what->image, err);
	if (r == 0)
		r = check_nothing_lost(refresh, err);
	if (r == 0)
		r = ldcache_check_found(&what->image, what->libraries, what->n_sonames, err);
	const char *problem = r == 0 ? ldcache_merge_problem(&what->image) : NULL;
	if (problem)
		return error_say(err, EXIT_CODE_LDCACHE,
				 "the library cache that ldconfig wrote: %s", problem);
	if (r == 0)
		leave_front(refresh);
	return r;
}

static int make_cache(struct refresh *refresh, char **ret_data, size_t *ret_size, struct error *err)
{
	const struct library_refresh *what = &refresh->what;
	int r = what->way == REFRESH_LDCONFIG ? run_ldconfig(refresh, err) : 0;

	if (r == 0)
		r = ldcache_merge(refresh->rootfs->arena, &what->image, what->libraries,
				  what->n_libraries, ret_data, ret_size, err);
	log_step("merge %zu libraries into a cache of %zu", what->n_libraries, what->image.n);
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

/* Whole, in one step, wherever it can be replaced; else as a mount. */
static int install_file(struct refresh *refresh, const char *path, const char *data, size_t size,
			bool *ret_writable, struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(refresh->rootfs, path, true, &leaf, err);

	if (dir_fd < 0)
		return dir_fd;
	int writable = is_writable(refresh, dir_fd, path, err);
	if (writable < 0)
		return writable;
	*ret_writable = writable;
	if (rootfs_has_content(refresh->rootfs, dir_fd, leaf, data, size))
		return 0;
	int mount_point = is_mount_point(dir_fd, leaf, err);
	if (mount_point < 0)
		return mount_point;
	if (writable && !mount_point)
		return rootfs_replace(refresh->rootfs, dir_fd, leaf, path, data, size, 0644, err);
	return rootfs_cover(refresh->rootfs, dir_fd, leaf, path, data, size, 0644, err);
}

/* For an ldconfig that is run in the container later, by a package manager for example. */
static int write_conf(struct refresh *refresh, struct error *err)
{
	const char *leaf, *text;
	int r = library_refresh_conf(
		refresh->rootfs->arena,
		"# Written by oci-cdi-hook: directories of mounted libraries.\n",
		&refresh->what.unknown, NULL, &text, err);

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

/* Programs find the libraries without it: that a later ldconfig forgets them is worth a warning, and no failure. */
static int install_conf(struct refresh *refresh, struct error *err)
{
	struct undo *undo = refresh->rootfs->undo;
	const size_t before = undo->steps.n;
	char text[ERROR_TEXT_MAX];

	if (refresh->what.unknown.n == 0)
		return 0;
	if (!refresh->what.conf.includes_conf_d) {
		note_add(refresh->notes, NOTE_INFO,
			 "the image's ld.so.conf does not include " LDCONF_OWN_DIR
			 ": ldconfig run in the container will forget "
			 "the mounted libraries");
		return 0;
	}
	int r = write_conf(refresh, err);
	if (r == 0 || interrupted(err) < 0)
		return r;
	if (!undo_to(undo, before, err) || err->errnum == ENOMEM)
		return error_result(err);
	note_add(refresh->notes, NOTE_WARNING,
		 "%s; ldconfig run in the container will forget the mounted libraries",
		 error_text(err, text));
	*err = (struct error){0};
	return 0;
}

static int refresh_cache(struct refresh *refresh, struct error *err)
{
	bool writable = false;
	char *data;
	size_t size;
	int r = make_cache(refresh, &data, &size, err);

	if (r == 0)
		r = install_file(refresh, cache_path, data, size, &writable, err);
	if (r == 0 && writable)
		r = install_conf(refresh, err);
	log_step("install the library cache");
	return r;
}

/*
 * Where the file is missing and will be mounted over, what it is mounted on stays in the image: an empty one would take
 * musl's own directories from it, so it gets those.
 */
static int make_musl_default(struct refresh *refresh, const char *path, struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(refresh->rootfs, path, true, &leaf, err);

	if (dir_fd < 0)
		return dir_fd;
	int r = is_writable(refresh, dir_fd, path, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = rootfs_check_writable(refresh->rootfs, dir_fd, path, err);
	return r < 0 ? r
		     : rootfs_replace(refresh->rootfs, dir_fd, leaf, path, MUSL_PATH_DEFAULT,
				      strlen(MUSL_PATH_DEFAULT), 0644, err);
}

static int refresh_musl(struct refresh *refresh, const struct musl_path *musl, struct error *err)
{
	bool writable;
	int r = 0;

	log_line(LOG_LEVEL_INFO, "%s: %s", musl->path,
		 musl->text ? "the directories of the mounted libraries are added"
			    : "it has the directories of the mounted libraries");
	if (!musl->text)
		return 0;
	if (!musl->was_there)
		r = make_musl_default(refresh, musl->path, err);
	if (r == 0)
		r = install_file(refresh, musl->path, musl->text, strlen(musl->text), &writable,
				 err);
	log_step("write musl's search path");
	return r;
}

int library_cache_refresh(struct rootfs *rootfs, const struct library_cache *cache,
			  struct notes *notes, struct error *err)
{
	struct refresh refresh = {.rootfs = rootfs, .cache = cache, .notes = notes};
	const struct library_refresh *what = &refresh.what;
	int r = choose(rootfs, cache, notes, &refresh.what, err);

	log_step("choose how the library cache is refreshed");
	if (r == 0)
		log_line(LOG_LEVEL_INFO, "library cache: %s, since %s", refresh_way_name(what->way),
			 what->why);
	if (r == 0 && what->way != REFRESH_NOTHING)
		r = refresh_cache(&refresh, err);
	for (size_t i = 0; r == 0 && i < what->musl.n; i++)
		r = refresh_musl(&refresh, &what->musl.items[i], err);
	if (r < 0) {
		err->exit_code = EXIT_CODE_LDCACHE;
		return error_prefix(err, "library cache");
	}
	return 0;
}
