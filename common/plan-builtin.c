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

/* Of two libraries with one soname in one folder the newer is linked to, as ldconfig does. */
static int add_link(struct arena *arena, struct vendor_hook *hook,
		    const struct plan_library *library, struct error *err)
{
	const char *name = strrchr(library->path, '/') + 1;
	const char *path = arena_printf(arena, "%.*s%s", (int)(name - library->path), library->path,
					library->elf.soname);
	struct vendor_hook_link *link = NULL;

	if (!path)
		return error_memory(err);
	if (strcmp(path, library->path) == 0)
		return 0;
	for (size_t i = 0; !link && i < hook->links.n; i++)
		if (strcmp(hook->links.items[i].path, path) == 0)
			link = &hook->links.items[i];
	if (link && strverscmp(link->target, name) >= 0)
		return 0;
	if (!link)
		link = array_add(arena, &hook->links);
	if (!link)
		return error_memory(err);
	*link = (struct vendor_hook_link){.target = name, .path = path};
	return 0;
}

static int make_links(struct arena *arena, struct vendor_hook *hook, const struct plan *libraries,
		      struct error *err)
{
	int r = 0;

	hook->kind = VENDOR_HOOK_CREATE_SYMLINKS;
	for (size_t i = 0; r == 0 && i < libraries->libraries.n; i++)
		if (is_in_folder(arena, &hook->folders, libraries->libraries.items[i].path))
			r = add_link(arena, hook, &libraries->libraries.items[i], err);
	return r;
}

int plan_builtin_soname_links(struct arena *arena, struct plan *plan, const struct host_view *host,
			      struct error *err)
{
	/* The libraries are looked up apart from the plan's own, which --ldconfig=none leaves out. */
	struct plan libraries = {.mounts = plan->mounts};
	bool known = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->hooks.n; i++) {
		if (plan->hooks.items[i].builtin.kind != VENDOR_HOOK_CREATE_SONAME_SYMLINKS)
			continue;
		if (!known)
			r = plan_libraries(arena, &libraries, host, NULL, err);
		known = true;
		if (r == 0)
			r = make_links(arena, &plan->hooks.items[i].builtin, &libraries, err);
	}
	return r;
}
