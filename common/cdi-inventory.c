/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hook asks for one device and hears of nothing else. People ask what there is: which file a
 * device comes from, which one it hides, and why a file that lies there does nothing.
 */
#include "cdi-inventory.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const struct cdi_definition *a, const struct cdi_definition *b)
{
	int order = strverscmp(a->spec->kind, b->spec->kind);

	return order ? order : strverscmp(a->device->name, b->device->name);
}

static int compare_definitions(const void *a, const void *b)
{
	const struct cdi_definition *x = a, *y = b;
	int order = compare_names(x, y);

	if (order)
		return order;
	if (x->priority != y->priority)
		return x->priority < y->priority ? 1 : -1;
	return strcmp(x->spec->file, y->spec->file);
}

/* The first of those of one device: `n` in all, by priority. */
static void judge(struct cdi_definition *first, size_t n)
{
	size_t n_last = 1;

	while (n_last < n && first[n_last].priority == first->priority)
		n_last++;
	for (size_t i = 0; i < n; i++) {
		if (i >= n_last) {
			first[i].standing = CDI_SHADOWED;
			first[i].other = first;
		} else if (n_last > 1) {
			first[i].standing = CDI_CONFLICT;
			first[i].other = &first[i ? 0 : 1];
		}
	}
}

int cdi_inventory_make(struct arena *arena, const struct cdi_registry *registry,
		       struct cdi_inventory *ret_inventory, struct error *err)
{
	struct cdi_inventory all = {0};
	size_t n = 0;

	for (size_t i = 0; i < registry->specs.n; i++)
		n += registry->specs.items[i].spec->devices.n;
	all.items = arena_alloc_array(arena, n, sizeof(*all.items));
	if (!all.items)
		return error_memory(err);
	for (size_t i = 0; i < registry->specs.n; i++) {
		const struct cdi_registry_spec *from = &registry->specs.items[i];

		for (size_t j = 0; j < from->spec->devices.n; j++) {
			const struct cdi_device *device = &from->spec->devices.items[j];
			const char *name =
				arena_printf(arena, "%s=%s", from->spec->kind, device->name);

			if (!name)
				return error_memory(err);
			all.items[all.n++] = (struct cdi_definition){
				.name = name,
				.spec = from->spec,
				.device = device,
				.priority = from->priority,
			};
		}
	}
	if (all.n)
		qsort(all.items, all.n, sizeof(*all.items), compare_definitions);
	for (size_t i = 0, same; i < all.n; i += same) {
		for (same = 1; i + same < all.n; same++)
			if (compare_names(&all.items[i], &all.items[i + same]) != 0)
				break;
		judge(&all.items[i], same);
	}
	*ret_inventory = all;
	return 0;
}

static int add_conflict(struct arena *arena, struct cdi_file_list *files,
			const struct cdi_definition *definition, struct error *err)
{
	const struct cdi_definition *other = definition->other;
	const struct cdi_device *first = definition->spec->devices.items;
	struct cdi_problem problem = {
		.severity = CDI_ERROR,
		.line = definition->device->place.line,
		.column = definition->device->place.column,
	};

	problem.path = arena_printf(arena, "devices[%zu]", (size_t)(definition->device - first));
	problem.text = arena_printf(
		arena, "%s is defined at %s:%u:%u too, in the same directory: neither is used",
		SHOW(definition->name), SHOW(other->spec->file), other->device->place.line,
		other->device->place.column);
	if (!problem.path || !problem.text)
		return error_memory(err);
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->items[i].file, definition->spec->file) == 0)
			cdi_problem_add(arena, &files->items[i].problems, &problem);
	return 0;
}

int cdi_inventory_check(struct arena *arena, const struct cdi_registry_options *options,
			struct cdi_checked *ret_checked, struct error *err)
{
	struct cdi_registry_options all = *options;
	struct cdi_file_list *files = &ret_checked->files;
	struct cdi_inventory inventory;
	size_t kept = 0;

	all.wanted = NULL;
	all.files = files;
	int r = cdi_registry_load(arena, &all, NULL, &ret_checked->registry, err);
	if (r >= 0)
		r = cdi_inventory_make(arena, &ret_checked->registry, &inventory, err);
	for (size_t i = 0; r >= 0 && i < inventory.n; i++)
		if (inventory.items[i].standing == CDI_CONFLICT)
			r = add_conflict(arena, files, &inventory.items[i], err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < files->n; i++) {
		cdi_problem_sort(&files->items[i].problems);
		if (files->items[i].problems.n)
			files->items[kept++] = files->items[i];
	}
	files->n = kept;
	return 0;
}
