/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* All that the spec directories hold, for people: every definition, and everything that is wrong. */
#include "cdi-registry.h"

/* What a definition is good for. */
enum cdi_standing {
	CDI_IN_EFFECT,
	CDI_SHADOWED, /* a later directory defines the device too */
	CDI_CONFLICT, /* so does another file of the same directory, the last that has it: unusable */
};

/* One definition of a device. */
struct cdi_definition {
	const char *name; /* the qualified name */
	const struct cdi_spec *spec;
	const struct cdi_device *device;
	unsigned priority; /* index of its directory */
	enum cdi_standing standing;
	/* Shadowed: what is used instead, or one of a conflict. Conflict: another of them. */
	const struct cdi_definition *other;
};

struct cdi_inventory {
	struct cdi_definition *items;
	size_t n;
};

/*
 * Every definition of every device, sorted by kind and name (2 before 10). Of one device those of
 * the last directory come first, and those of one directory are in the order of reading.
 */
int cdi_inventory_make(struct arena *arena, const struct cdi_registry *registry,
		       struct cdi_inventory *ret_inventory, struct error *err)
	__attribute__((nonnull, warn_unused_result));

struct cdi_checked {
	struct cdi_registry registry; /* as cdi_registry_load() makes it */
	struct cdi_file_list files;   /* those of which there is something to tell */
};

/*
 * Looks through all spec files of the directories (`options->wanted` and `options->files` are not
 * used) and adds to the problems of each file the devices that another one of its directory defines
 * too. Fails as cdi_registry_load() does, never because of what it finds.
 */
int cdi_inventory_check(struct arena *arena, const struct cdi_registry_options *options,
			struct cdi_checked *ret_checked, struct error *err)
	__attribute__((nonnull, warn_unused_result));
