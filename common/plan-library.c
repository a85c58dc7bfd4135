/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which libraries a container will have that its library cache does not know of. ldconfig decides
 * by the file's name whether it looks at it at all, and by the soname inside under which name a
 * program finds it; so do we, before anything is mounted, so that the plan can say which names will work.
 */
#include "plan-library.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool plan_is_library_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return (strncmp(name, "lib", 3) == 0 || strncmp(name, "ld-", 3) == 0) &&
	       strstr(name, ".so");
}

/* A library that is not promised to be found by its name, and why: said, and no more. */
static void leave_out(const char *source, const char *what_follows, struct notes *notes,
		      struct error *err)
{
	char text[ERROR_TEXT_MAX];

	note_add(notes, NOTE_WARNING, "%s: %s: %s", SHOW(source), error_text(err, text),
		 what_follows);
	*err = (struct error){0};
}

/* A file that is damaged is the vendor's to mend, and no loader would take it. */
static int add_library(struct arena *arena, struct plan *plan, const struct host_view *host,
		       const struct plan_mount *mount, const char *source, const char *destination,
		       struct notes *notes, struct error *err)
{
	struct elf_library elf = {0};
	int r;

	if (!plan_is_library_name(destination))
		return 0;
	r = host->library(host->data, arena, source, &elf, err);
	if (r < 0) {
		if (err->errnum == ENOMEM)
			return r;
		/* It may be as good as any, and a hook of the spec wants it found. */
		if (err->errnum != 0 && plan->ldcache.n > 0) {
			error_class(err, EXIT_CODE_HOST);
			error_prefix(err, "%s", SHOW(source));
			return plan_prefix_origin(&mount->origin, err);
		}
		leave_out(source, "no program will find it by name", notes, err);
		return 0;
	}
	if (r > 0 || !elf.soname)
		return 0;
	struct plan_library *library = array_add(arena, &plan->libraries);
	if (!library)
		return error_memory(err);
	*library = (struct plan_library){
		.path = destination,
		.elf = elf,
		.origin = mount->origin,
	};
	return 0;
}

/*
 * One entry of a mounted directory. The directory is the vendor's to fill, but a library in it that
 * is not root's gets no help in being loaded.
 */
static int add_entry(struct arena *arena, struct plan *plan, const struct host_view *host,
		     const struct plan_mount *mount, const char *name, struct notes *notes,
		     struct error *err)
{
	const char *source = arena_printf(arena, "%s/%s", mount->source, name);
	const char *destination = arena_printf(arena, "%s/%s", mount->destination, name);
	struct host_node node;

	if (!source || !destination)
		return error_memory(err);
	if (host->look_up(host->data, source, &node) < 0)
		return 0;
	if (host_node_check_loadable(host, source, &node, err) < 0) {
		leave_out(source, "left out of the libraries to find by name", notes, err);
		return 0;
	}
	return add_library(arena, plan, host, mount, source, destination, notes, err);
}

/* The libraries directly in a mounted directory, as vendors mount whole directories of them. */
static int add_directory(struct arena *arena, struct plan *plan, const struct host_view *host,
			 const struct plan_mount *mount, struct notes *notes, struct error *err)
{
	struct string_list names = {0};
	int r = host->list(host->data, arena, mount->source, &names, err);

	if (r < 0)
		return error_prefix(err, "mount source %s", SHOW(mount->source));
	for (size_t i = 0; r == 0 && i < names.n; i++)
		if (plan_is_library_name(names.items[i]))
			r = add_entry(arena, plan, host, mount, names.items[i], notes, err);
	return r;
}

int plan_libraries(struct arena *arena, struct plan *plan, const struct host_view *host,
		   struct notes *notes, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->mounts.n; i++) {
		const struct plan_mount *mount = &plan->mounts.items[i];
		if (mount->kind != PLAN_MOUNT_BIND)
			continue;
		if (S_ISDIR(mount->source_node.mode))
			r = add_directory(arena, plan, host, mount, notes, err);
		else if (S_ISREG(mount->source_node.mode))
			r = add_library(arena, plan, host, mount, mount->source, mount->destination,
					notes, err);
	}
	return r;
}
