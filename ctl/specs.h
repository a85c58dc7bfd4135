/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The spec directories of this host as a sub-command sees them, read by the same code as in the hook. */
#include "arena.h"
#include "cdi-registry.h"
#include "error.h"
#include "notes.h"
#include "plan.h"
#include "usage.h"

struct specs {
	struct arena *arena;
	int root_fd;             /* of "/" */
	struct string_list dirs; /* highest priority last; absolute */
	struct notes notes;
	struct cdi_registry registry;
	struct cdi_found_list found;
};

#define SPECS_NULL                                                                                 \
	{                                                                                          \
		.root_fd = -1                                                                      \
	}

/* The row of --spec-dir in the options of every sub-command that reads specs. */
#define SPECS_OPTION(list)                                                                         \
	{                                                                                          \
		"spec-dir", 0, "DIR", USAGE_LIST, (list),                                          \
			"Read specs from DIR, later ones win (repeatable;\n"                       \
			"default: /etc/cdi and /var/run/cdi)"                                      \
	}

/* The row of -o for two forms, of which `*choice` says which one. */
enum output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_NAME };
#define OUTPUT_OPTION(choice)                                                                      \
	{                                                                                          \
		"output", 'o', "table|json", USAGE_CHOICE, (choice),                               \
			"What is printed (default: table)"                                         \
	}

/* Opens the root and settles the directories: `dirs` or, where it is empty, the default ones. Nothing is read yet. */
int specs_open(struct arena *arena, struct specs *specs, const struct string_list *dirs,
	       struct error *err) __attribute__((nonnull, warn_unused_result));

/* How the registry is to be read: with the trust of whoever calls, as the hook would do it for them. */
struct cdi_registry_options specs_options(const struct specs *specs) __attribute__((nonnull));

/*
 * Looks up the devices that a person typed, `names` up to NULL: qualified, or a bare name that only one kind has; one that is
 * given twice counts once. Warnings are printed. Fills in `registry` and `found`; fails as the hook does.
 */
int specs_find(struct specs *specs, char **names, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* What the hook would do with the devices found, for a container of `config`. */
int specs_plan(struct specs *specs, const struct oci_config *config,
	       const struct plan_options *options, struct plan *ret_plan, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Warnings that came up since the last call, to standard error. */
void specs_warn(struct specs *specs) __attribute__((nonnull));

void specs_close(struct specs *specs) __attribute__((nonnull));
#define _cleanup_specs_ __attribute__((cleanup(specs_close)))
