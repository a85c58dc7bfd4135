/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way the library cache is refreshed. The image's own cache says what its loader finds today:
 * where it is whole, ours are added to it, which needs no look at any library of the image and takes
 * a fraction of a millisecond. The host's ldconfig is run where that is not enough:
 *
 *   - the image has no cache, or one that is damaged, of glibc 2.1, not sorted, of a newer form, or
 *     without its own C library
 *   - a directory that is new to the cache has libraries of the image beside the mounted ones
 *   - libraries of the image are to be found before ours (a newer CUDA)
 *   - --ldconfig=PATH says so, or a hook wants the cache refreshed and no library was mounted
 *
 * Where it would be needed and the host has none (or knows nothing of the libraries' machine), the
 * cache names the mounted libraries alone: all others are found where a loader looks without a
 * cache, as before.
 *
 * What a merge does not do, and ldconfig would: find libraries that the image got after its cache was
 * made, and forget those that were removed (a loader passes over what is not there).
 */
#include "library-refresh.h"

#include <errno.h>
#include <string.h>

#include "bounds.h"
#include "elf-abi.h"
#include "musl-path.h"
#include "path.h"
#include "plan-library.h"
#include "text.h"

#define HWCAPS_DIR "/glibc-hwcaps/"

struct chooser {
	struct arena *arena;
	const struct image_view *view;
	const struct plan *plan;
	const struct library_refresh_options *options;
	struct notes *notes;
	struct library_refresh *refresh;
	struct error *err;
	bool foreign; /* there are libraries of a machine that the host's ldconfig does not know */
};

static bool list_has(const struct string_list *list, const char *string)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], string) == 0)
			return true;
	return false;
}

static int list_add(struct chooser *chooser, struct string_list *list, const char *string)
{
	const char **slot = array_add(chooser->arena, list);

	if (!slot)
		return error_memory(chooser->err);
	*slot = string;
	return 0;
}

static int exists(struct chooser *chooser, const char *path)
{
	return path ? chooser->view->exists(chooser->view->data, path, chooser->err) : 0;
}

/*
 * Directories
 */

/* DIR/glibc-hwcaps/NAME belongs to DIR: ldconfig looks into it by itself. */
static const char *directory_of(struct arena *arena, const char *path, const char **ret_hwcap)
{
	const char *slash = strrchr(path, '/');
	const char *hwcaps = strstr(path, HWCAPS_DIR), *hwcap;

	*ret_hwcap = NULL;
	if (hwcaps && hwcaps < slash) {
		hwcap = hwcaps + strlen(HWCAPS_DIR);
		if (hwcap < slash && !memchr(hwcap, '/', (size_t)(slash - hwcap))) {
			*ret_hwcap = arena_strndup(arena, hwcap, (size_t)(slash - hwcap));
			if (!*ret_hwcap)
				return NULL;
			slash = hwcaps;
		}
	}
	return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

/* A line of ld.so.conf ends at a blank, "#" or "=", and there is no way to quote them. */
static int add_dir(struct chooser *chooser, const char *name)
{
	struct library_refresh *refresh = chooser->refresh;
	const char *problem;
	const char *dir = path_clean(chooser->arena, name, &problem);

	if (!dir && !problem)
		return error_memory(chooser->err);
	if (!dir || strcspn(dir, " \t\n\r\f\v#=:,") != strlen(dir))
		return error_say(chooser->err, EXIT_CODE_LDCACHE,
				 "directory %s cannot be named in a library configuration",
				 SHOW(name));
	if (list_has(&refresh->dirs, dir))
		return 0;
	int r = list_add(chooser, &refresh->dirs, dir);
	if (r == 0 && !ldconf_is_default(dir) && !list_has(&refresh->conf.dirs, dir))
		r = list_add(chooser, &refresh->unknown, dir);
	return r;
}

static int collect_dirs(struct chooser *chooser)
{
	const struct plan *plan = chooser->plan;
	const struct string_list *front = chooser->options->front;
	const char *hwcap;
	int r = 0;

	for (size_t i = 0; r == 0 && front && i < front->n; i++)
		r = add_dir(chooser, front->items[i]);
	for (size_t i = 0; r == 0 && i < plan->ldcache.n; i++)
		for (size_t j = 0; r == 0 && j < plan->ldcache.items[i].folders.n; j++)
			r = add_dir(chooser, plan->ldcache.items[i].folders.items[j]);
	for (size_t i = 0; r == 0 && i < plan->libraries.n; i++) {
		const char *dir =
			directory_of(chooser->arena, plan->libraries.items[i].path, &hwcap);
		r = dir ? add_dir(chooser, dir) : error_memory(chooser->err);
	}
	return r;
}

/*
 * Libraries
 */

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

static bool is_same(const struct ldcache_library *a, const struct ldcache_library *b)
{
	return a->flags == b->flags && ldcache_compare_names(a->soname, b->soname) == 0 &&
	       (a->hwcap && b->hwcap ? strcmp(a->hwcap, b->hwcap) == 0 : a->hwcap == b->hwcap);
}

static void keep_library(struct library_refresh *refresh, const struct ldcache_library *library)
{
	for (size_t i = 0; i < refresh->n_libraries; i++) {
		if (!is_same(&refresh->libraries[i], library))
			continue;
		if (is_better(library, &refresh->libraries[i]))
			refresh->libraries[i] = *library;
		return;
	}
	refresh->libraries[refresh->n_libraries++] = *library;
}

/* A library under the name of its link libx.so is found by that name too, as ldconfig has it. */
static bool is_link_name(const struct ldcache_library *library)
{
	size_t len = strlen(library->path);

	return strcmp(library->path + len - 3, ".so") == 0 &&
	       strcmp(leaf_of(library->path), library->soname) != 0;
}

/* 1 with `*ret_library` filled in when some loader of the image can load it, 0, or a failure. */
static int find_loader(struct chooser *chooser, const struct plan_library *library,
		       struct ldcache_library *ret_library)
{
	const struct elf_abi *abi = elf_abi_of(&library->elf);
	int r = abi ? exists(chooser, abi->loader) : 0;

	if (r <= 0)
		return r;
	*ret_library = (struct ldcache_library){
		.soname = library->elf.soname, .path = library->path, .flags = abi->ldcache_flags};
	if (!directory_of(chooser->arena, library->path, &ret_library->hwcap))
		return error_memory(chooser->err);
	chooser->foreign |= !elf_abi_is_native(abi);
	return 1;
}

static int collect_libraries(struct chooser *chooser)
{
	struct library_refresh *refresh = chooser->refresh;
	const size_t n = chooser->plan->libraries.n;
	struct ldcache_library *links = arena_alloc_array(chooser->arena, n, sizeof(*links));
	size_t n_links = 0;

	refresh->libraries = arena_alloc_array(chooser->arena, 2 * n, sizeof(*refresh->libraries));
	if (!refresh->libraries || !links)
		return error_memory(chooser->err);
	for (size_t i = 0; i < n; i++) {
		struct ldcache_library library;
		int r = find_loader(chooser, &chooser->plan->libraries.items[i], &library);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		keep_library(refresh, &library);
		if (is_link_name(&library)) {
			links[n_links] = library;
			links[n_links++].soname = leaf_of(library.path);
		}
	}
	refresh->n_sonames = refresh->n_libraries;
	for (size_t i = 0; i < n_links; i++)
		keep_library(refresh, &links[i]);
	return 0;
}

/*
 * musl
 */

static int add_musl(struct chooser *chooser, const char *path)
{
	struct library_refresh *refresh = chooser->refresh;
	struct error why = {0};
	const char *text;
	char *old = NULL;
	size_t size = 0;
	int r = chooser->view->read(chooser->view->data, chooser->arena, path, LIMIT_MUSL_PATH,
				    &old, &size, &why);

	if (r < 0 && r != -ENOENT) {
		*chooser->err = why;
		return r;
	}
	r = musl_path_merge(chooser->arena, old, size, &refresh->dirs, &text, chooser->err);
	if (r < 0)
		return r;
	struct musl_path *musl = array_add(chooser->arena, &refresh->musl);
	if (!musl)
		return error_memory(chooser->err);
	*musl = (struct musl_path){.path = path, .text = text, .was_there = old != NULL};
	return 0;
}

static int collect_musl(struct chooser *chooser)
{
	const struct plan *plan = chooser->plan;
	struct string_list seen = {0};

	for (size_t i = 0; i < plan->libraries.n; i++) {
		const struct elf_abi *abi = elf_abi_of(&plan->libraries.items[i].elf);
		const char *loader = abi ? abi->musl_loader : NULL;
		if (!loader || list_has(&seen, loader))
			continue;
		int r = list_add(chooser, &seen, loader);
		if (r == 0)
			r = exists(chooser, loader);
		if (r == 0)
			continue;
		const char *path = r > 0 ? musl_path_file(chooser->arena, loader) : NULL;
		if (r > 0)
			r = path ? add_musl(chooser, path) : error_memory(chooser->err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The image's cache
 */

/* Whether the cache has a library directly in `dir`: then it was looked at when the cache was made. */
static bool cache_knows_dir(const struct ldcache *cache, const char *dir)
{
	size_t len = strlen(dir);

	for (size_t i = 0; i < cache->n; i++) {
		const char *path = cache->items[i].path;
		if (strncmp(path, dir, len) == 0 && path[len] == '/' &&
		    !strchr(path + len + 1, '/'))
			return true;
	}
	return false;
}

static bool is_mounted(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->mounts.n; i++)
		if (path_is_below(path, plan->mounts.items[i].destination))
			return true;
	return false;
}

/* Whether the image has libraries of its own there: 1, 0 or a failure. Their names are enough to know. */
static int has_own_libraries(struct chooser *chooser, const char *dir)
{
	struct string_list names = {0};
	struct error why = {0};
	int r = chooser->view->list(chooser->view->data, chooser->arena, dir, &names, &why);

	/* Not there, or mounted: what is on it is ours or the container's, and no sandbox shows it. */
	if (r < 0 && why.errnum != ENOMEM && why.errnum != EIO && why.errnum != EINTR)
		return why.exit_code == EXIT_CODE_DEADLINE ? (*chooser->err = why, r) : 0;
	if (r < 0) {
		*chooser->err = why;
		return r;
	}
	if (names.n >= LIMIT_LDCONF_NAMES)
		return 1;
	for (size_t i = 0; i < names.n; i++) {
		if (!plan_is_library_name(names.items[i]))
			continue;
		const char *path = arena_printf(chooser->arena, "%s/%s",
						strcmp(dir, "/") == 0 ? "" : dir, names.items[i]);
		if (!path)
			return error_memory(chooser->err);
		if (!is_mounted(chooser->plan, path))
			return 1;
	}
	return 0;
}

/* A cache that does not have the C library of those programs that are to find ours was not made for this image. */
static int has_c_library(struct chooser *chooser, const struct ldcache *cache, uint32_t flags)
{
	for (size_t i = 0; i < cache->n; i++) {
		const struct ldcache_entry *entry = &cache->items[i];
		if (entry->flags != flags || strcmp(entry->soname, "libc.so.6") != 0)
			continue;
		int r = exists(chooser, entry->path);
		if (r != 0)
			return r;
	}
	return 0;
}

/* `*ret_why` is what keeps us from relying on the image's cache, NULL for nothing. */
static int read_cache(struct chooser *chooser, const char **ret_why)
{
	struct library_refresh *refresh = chooser->refresh;
	struct error why = {0};
	char *data, text[ERROR_TEXT_MAX];
	size_t size;
	int r = chooser->view->read(chooser->view->data, chooser->arena, LDCACHE_PATH,
				    LIMIT_LDCACHE_SIZE, &data, &size, &why);

	*ret_why = "the image has no library cache";
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = ldcache_parse(chooser->arena, data, size, &refresh->image, &why);
	if (r < 0 &&
	    (why.errnum == ENOMEM || why.errnum == EIO || why.exit_code == EXIT_CODE_DEADLINE)) {
		*chooser->err = why;
		return r;
	}
	const char *problem =
		r < 0 ? error_text(&why, text) : ldcache_merge_problem(&refresh->image);
	*ret_why = NULL;
	if (!problem)
		return 0;
	*ret_why = arena_printf(chooser->arena, "the image's cache is no base: %s", SHOW(problem));
	return *ret_why ? 0 : error_memory(chooser->err);
}

static int check_cache(struct chooser *chooser, const char **ret_why)
{
	const struct library_refresh *refresh = chooser->refresh;
	int r = read_cache(chooser, ret_why);

	if (r < 0 || *ret_why)
		return r;
	for (size_t i = 0; i < refresh->n_libraries; i++) {
		/* Most are of one machine. */
		if (i > 0 && refresh->libraries[i].flags == refresh->libraries[i - 1].flags)
			continue;
		r = has_c_library(chooser, &refresh->image, refresh->libraries[i].flags);
		if (r < 0)
			return r;
		if (r == 0)
			*ret_why = "the image's cache does not have its C library";
	}
	for (size_t i = 0; !*ret_why && i < refresh->unknown.n; i++) {
		const char *dir = refresh->unknown.items[i];
		r = cache_knows_dir(&refresh->image, dir) ? 0 : has_own_libraries(chooser, dir);
		if (r < 0)
			return r;
		if (r > 0 && !(*ret_why = arena_printf(chooser->arena,
						       "%s has libraries of the image, which its "
						       "cache does not know",
						       SHOW(dir))))
			return error_memory(chooser->err);
	}
	return 0;
}

/*
 * Choosing
 */

static void set_way(struct library_refresh *refresh, enum refresh_way way, const char *why)
{
	refresh->way = way;
	refresh->why = why;
	if (way != REFRESH_MERGE)
		refresh->image = (struct ldcache){0};
}

/* The image's cache is no base, or not wanted as one, for the reason `why`. */
static int choose_other(struct chooser *chooser, const char *why)
{
	struct library_refresh *refresh = chooser->refresh;

	if (chooser->options->ldconfig_named ||
	    (chooser->options->has_ldconfig && !chooser->foreign)) {
		set_way(refresh, REFRESH_LDCONFIG, why);
		return 0;
	}
	/* A cache that a loader can read knows directories of the image that it would not find without. */
	const bool is_base = refresh->image.n > 0 && !ldcache_merge_problem(&refresh->image);
	const char *text = arena_printf(
		chooser->arena, "%s, and %s", why,
		chooser->foreign ? "the host's ldconfig does not know the machine of its libraries"
				 : "the host has no ldconfig that could be used");
	if (!text)
		return error_memory(chooser->err);
	set_way(refresh, is_base ? REFRESH_MERGE : REFRESH_NEW, text);
	return 0;
}

/* No library came: some hook wants directories in the cache all the same. */
static int choose_without_libraries(struct chooser *chooser)
{
	int r = exists(chooser, LDCACHE_PATH);

	if (r > 0)
		set_way(chooser->refresh, REFRESH_LDCONFIG,
			"a hook asks for it and no library is mounted");
	else if (r == 0)
		set_way(chooser->refresh, REFRESH_NOTHING,
			"no library is mounted, and the image has no library cache");
	return r < 0 ? r : 0;
}

static int choose(struct chooser *chooser)
{
	struct library_refresh *refresh = chooser->refresh;
	const char *why;
	int r;

	if (chooser->plan->libraries.n == 0)
		return choose_without_libraries(chooser);
	if (refresh->n_libraries == 0) {
		set_way(refresh, REFRESH_NOTHING,
			refresh->musl.n > 0 ? "the image has musl's loader, which has no cache"
					    : "the image has no loader for the mounted libraries");
		return 0;
	}
	/* Nothing else can tell which libraries those are; so there is no other way without an ldconfig, either. */
	if (chooser->options->front && chooser->options->front->n > 0) {
		set_way(refresh, REFRESH_LDCONFIG,
			"libraries of the image go before the mounted ones");
		return 0;
	}
	if (chooser->options->ldconfig_named)
		return choose_other(chooser, "--ldconfig names a program");
	r = check_cache(chooser, &why);
	if (r < 0)
		return r;
	if (why)
		return choose_other(chooser, why);
	set_way(refresh, REFRESH_MERGE, "the image's cache is whole and sorted");
	return 0;
}

int library_refresh_choose(struct arena *arena, const struct image_view *view,
			   const struct plan *plan, const struct library_refresh_options *options,
			   struct notes *notes, struct library_refresh *ret_refresh,
			   struct error *err)
{
	struct chooser chooser = {
		.arena = arena,
		.view = view,
		.plan = plan,
		.options = options,
		.notes = notes,
		.refresh = ret_refresh,
		.err = err,
	};

	*ret_refresh = (struct library_refresh){0};
	int r = collect_libraries(&chooser);
	if (r == 0 && (ret_refresh->n_libraries > 0 || plan->libraries.n == 0))
		r = ldconf_read(arena, view, notes, &ret_refresh->conf, err);
	if (r == 0)
		r = collect_dirs(&chooser);
	if (r == 0)
		r = collect_musl(&chooser);
	return r == 0 ? choose(&chooser) : r;
}

/*
 * Texts
 */

static int show(struct arena *arena, struct plan *plan, enum refresh_way way, const char *path,
		const char *why, struct error *err)
{
	struct plan_refresh *line = array_add(arena, &plan->refresh);

	if (!line)
		return error_memory(err);
	*line = (struct plan_refresh){.way = way, .path = path, .why = why};
	return 0;
}

int library_refresh_show(struct arena *arena, const struct library_refresh *refresh,
			 struct plan *plan, struct error *err)
{
	int r = 0;

	if (refresh->way != REFRESH_NOTHING || refresh->musl.n == 0)
		r = show(arena, plan, refresh->way, LDCACHE_PATH, refresh->why, err);
	for (size_t i = 0; r == 0 && i < refresh->musl.n; i++) {
		const struct musl_path *musl = &refresh->musl.items[i];
		r = show(arena, plan, musl->text ? REFRESH_MUSL_PATH : REFRESH_NOTHING, musl->path,
			 musl->text ? "the image has musl's loader"
				    : "musl looks into all these directories already",
			 err);
	}
	return r;
}

static void put_line(struct text *text, const char *line)
{
	text_put(text, line);
	text_put_byte(text, '\n');
}

int library_refresh_conf(struct arena *arena, const char *head, const struct string_list *first,
			 const struct string_list *second, const char **ret_text, struct error *err)
{
	struct text text = {.arena = arena};

	text_put(&text, head);
	for (size_t i = 0; i < first->n; i++)
		put_line(&text, first->items[i]);
	for (size_t i = 0; second && i < second->n; i++)
		put_line(&text, second->items[i]);
	*ret_text = text_end(&text, err);
	return *ret_text ? 0 : -ENOMEM;
}
