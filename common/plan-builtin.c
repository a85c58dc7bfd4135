/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook that is built in is planned to the end: what it would do only under a condition is looked at here, so that the
 * plan shows what will happen and hook/ has nothing to decide.
 */
#include "plan-builtin.h"

#include <errno.h>
#include <string.h>

#include "bounds.h"
#include "driver-params.h"
#include "path.h"
#include "plan-library.h"

static int nothing(struct vendor_hook *hook, const char *why)
{
	hook->kind = VENDOR_HOOK_NOTHING;
	hook->note = why;
	hook->note_level = NOTE_INFO;
	return 0;
}

/* No driver of NVIDIA's, no file. */
static int settle_params(struct arena *arena, const struct host_view *host,
			 struct vendor_hook *hook, struct error *err)
{
	struct error missing = {0};
	char *text;
	size_t size;
	int r = host->read(host->data, arena, VENDOR_HOOK_PARAMS_PATH, LIMIT_PARAMS_SIZE, &text,
			   &size, &missing);

	if (r < 0 && missing.errnum == ENOMEM)
		return error_memory(err);
	if (r < 0)
		return nothing(hook, "the host has no " VENDOR_HOOK_PARAMS_PATH);
	r = driver_params_mask(arena, text, size, &hook->text, err);
	return r == 0 ? nothing(hook, "the driver makes no device nodes") : r < 0 ? r : 0;
}

static bool wants_memory_limits(const struct oci_config *config)
{
	static const char *const names[] = {"NVIDIA_GPU_MEMORY_LIMIT=",
					    "NVIDIA_GPU_MEMORY_REQUEST="};

	for (size_t i = 0; i < config->env.n; i++)
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			if (strncmp(config->env.items[i], names[j], strlen(names[j])) == 0)
				return true;
	return false;
}

int plan_builtin_settle(struct arena *arena, const struct oci_config *config,
			const struct host_view *host, struct vendor_hook *hook, struct error *err)
{
	switch (hook->kind) {
	case VENDOR_HOOK_DRIVER_PARAMS:
		return settle_params(arena, host, hook, err);
	case VENDOR_HOOK_MEMORY_LIMITS:
		/* Limits are set through the driver's own library. */
		if (wants_memory_limits(config))
			hook->kind = VENDOR_HOOK_OTHER;
		else
			return nothing(hook, "the container asks for no limit of GPU memory");
		return 0;
	default:
		return 0;
	}
}

/*
 * Links to libraries
 */

struct links {
	struct arena *arena;
	struct plan *plan;
	const struct plan *libraries; /* the plan itself, or another that has them alone */
};

/* Whether `path` lies directly in one of the folders. */
static bool is_in_folder(struct arena *arena, const struct string_list *folders, const char *path)
{
	size_t len = (size_t)(strrchr(path, '/') - path);

	for (size_t i = 0; i < folders->n; i++) {
		const char *folder = path_clean_in_root(arena, folders->items[i]);
		if (folder && strlen(folder) == len && memcmp(folder, path, len) == 0)
			return true;
	}
	return false;
}

/* The path that has the library's soname, beside its file. NULL: no memory. */
static const char *soname_path(struct arena *arena, const struct plan_library *library)
{
	const char *name = strrchr(library->path, '/') + 1;

	return arena_printf(arena, "%.*s%s", (int)(name - library->path), library->path,
			    library->elf.soname);
}

/* Of two libraries with one soname in one folder the newer is linked to, as ldconfig does. */
static int add_soname_link(struct arena *arena, struct vendor_hook *hook,
			   const struct plan_library *library, struct error *err)
{
	const char *name = strrchr(library->path, '/') + 1;
	const char *path = soname_path(arena, library);
	struct vendor_hook_link *link = NULL;

	if (!path)
		return error_memory(err);
	if (strcmp(path, library->path) == 0)
		return 0;
	for (size_t i = 0; !link && i < hook->links.n; i++)
		if (strcmp(hook->links.items[i].path, path) == 0)
			link = &hook->links.items[i];
	if (link && (!link->implied || strverscmp(link->target, name) >= 0))
		return 0;
	if (!link)
		link = array_add(arena, &hook->links);
	if (!link)
		return error_memory(err);
	*link = (struct vendor_hook_link){.target = name, .path = path, .implied = true};
	return 0;
}

static int link_folders(const struct links *links, struct vendor_hook *hook, struct error *err)
{
	int r = 0;

	hook->kind = VENDOR_HOOK_CREATE_SYMLINKS;
	for (size_t i = 0; r == 0 && i < links->libraries->libraries.n; i++) {
		const struct plan_library *library = &links->libraries->libraries.items[i];
		if (is_in_folder(links->arena, &hook->folders, library->path))
			r = add_soname_link(links->arena, hook, library, err);
	}
	return r;
}

/* Where the link leads by its text alone: the plan knows no links of the image. NULL: no memory. */
static const char *target_path(struct arena *arena, const struct vendor_hook_link *link)
{
	const char *name = strrchr(link->path, '/') + 1;
	const char *joined = link->target[0] == '/'
				     ? link->target
				     : arena_printf(arena, "%.*s%s", (int)(name - link->path),
						    link->path, link->target);

	return joined ? path_clean_in_root(arena, joined) : NULL;
}

static const struct vendor_hook_link *find_link(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->hooks.n; i++) {
		const struct vendor_hook *hook = &plan->hooks.items[i].builtin;
		for (size_t j = 0; j < hook->links.n; j++)
			if (strcmp(hook->links.items[j].path, path) == 0)
				return &hook->links.items[j];
	}
	return NULL;
}

static const struct plan_library *find_library(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->libraries.n; i++)
		if (strcmp(plan->libraries.items[i].path, path) == 0)
			return &plan->libraries.items[i];
	return NULL;
}

/* A library that has this path by its soname only: nobody makes such a name. */
static int link_soname(const struct links *links, struct vendor_hook *hook, const char *path,
		       struct error *err)
{
	for (size_t i = 0; i < links->libraries->libraries.n; i++) {
		const struct plan_library *library = &links->libraries->libraries.items[i];
		const char *by_soname = soname_path(links->arena, library);
		int r = 0;

		if (!by_soname)
			return error_memory(err);
		if (strcmp(by_soname, path) == 0)
			r = add_soname_link(links->arena, hook, library, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Specs link names to a soname (libcuda.so to libcuda.so.1), and rely on the vendor's ldconfig to make the soname a link
 * to the file. Ours makes none; so those that something leads to are made here, and no others.
 */
static int complete_links(const struct links *links, struct vendor_hook *hook, struct error *err)
{
	const size_t n = hook->links.n;

	for (size_t i = 0; i < n; i++) {
		const char *path = target_path(links->arena, &hook->links.items[i]);
		int r = 0;

		if (!path)
			return error_memory(err);
		if (!find_library(links->libraries, path) && !find_link(links->plan, path))
			r = link_soname(links, hook, path, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_links(const struct links *links, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < links->plan->hooks.n; i++) {
		struct vendor_hook *hook = &links->plan->hooks.items[i].builtin;
		if (hook->kind == VENDOR_HOOK_CREATE_SONAME_SYMLINKS)
			r = link_folders(links, hook, err);
		else if (hook->kind == VENDOR_HOOK_CREATE_SYMLINKS)
			r = complete_links(links, hook, err);
	}
	return r;
}

/* The library that a link of the plan leads to, through others if need be; NULL where it is none. */
static int follow(const struct links *links, const struct vendor_hook_link *link,
		  const struct plan_library **ret_library, struct error *err)
{
	*ret_library = NULL;
	for (unsigned i = 0; link && !*ret_library && i < LIMIT_SYMLINKS; i++) {
		const char *path = target_path(links->arena, link);
		if (!path)
			return error_memory(err);
		*ret_library = find_library(links->libraries, path);
		link = find_link(links->plan, path);
	}
	return 0;
}

/* ldconfig's rule for the name of a link: libx.so is one to find libx.so.1 by, and other names of it are not. */
static bool is_name_of(const char *name, const char *soname)
{
	size_t len = strlen(name);

	return len > strlen(".so") && strcmp(name + len - strlen(".so"), ".so") == 0 &&
	       strlen(soname) > len && strncmp(name, soname, len) == 0;
}

/* Such a link is in the cache beside its library. */
static int add_name(const struct links *links, const struct plan_hook *hook,
		    const struct vendor_hook_link *link, struct error *err)
{
	const char *name = strrchr(link->path, '/') + 1;
	const struct plan_library *library;
	int r = plan_is_library_name(link->path) ? follow(links, link, &library, err) : 1;

	if (r < 0)
		return r;
	if (r > 0 || !library || !is_name_of(name, library->elf.soname))
		return 0;
	const struct elf_library elf = {
		.soname = name, .class = library->elf.class, .machine = library->elf.machine};
	struct plan_library *slot = array_add(links->arena, &links->plan->libraries);
	if (!slot)
		return error_memory(err);
	*slot = (struct plan_library){.path = link->path, .elf = elf, .origin = hook->origin};
	return 0;
}

static int add_names(const struct links *links, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < links->plan->hooks.n; i++) {
		const struct plan_hook *hook = &links->plan->hooks.items[i];
		for (size_t j = 0; r == 0 && j < hook->builtin.links.n; j++)
			r = add_name(links, hook, &hook->builtin.links.items[j], err);
	}
	return r;
}

static bool has_links(const struct plan *plan)
{
	for (size_t i = 0; i < plan->hooks.n; i++)
		if (plan->hooks.items[i].builtin.kind == VENDOR_HOOK_CREATE_SYMLINKS ||
		    plan->hooks.items[i].builtin.kind == VENDOR_HOOK_CREATE_SONAME_SYMLINKS)
			return true;
	return false;
}

int plan_builtin_links(struct arena *arena, struct plan *plan, bool has_libraries,
		       const struct host_view *host, struct error *err)
{
	/* With --ldconfig=none the plan has no libraries, and still links to them. */
	struct plan others = {.mounts = plan->mounts};
	const struct links links = {
		.arena = arena, .plan = plan, .libraries = has_libraries ? plan : &others};
	int r = 0;

	if (!has_links(plan))
		return 0;
	if (!has_libraries)
		r = plan_libraries(arena, &others, host, NULL, err);
	if (r == 0)
		r = make_links(&links, err);
	if (r == 0 && has_libraries)
		r = add_names(&links, err);
	return r;
}
