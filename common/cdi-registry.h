/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* All spec files of the spec directories, and which definition of a device is in effect. */
#include "arena.h"
#include "cdi-name.h"
#include "cdi-problem.h"
#include "cdi-spec.h"
#include "error.h"
#include "notes.h"
#include "request.h"
#include "trusted.h"

/* Where specs are looked for when nobody says otherwise; later directories win. */
#define CDI_DEFAULT_DIRS "/etc/cdi", "/var/run/cdi"

/* A file or directory that was not used, and why. */
struct cdi_set_aside {
	const char *file;
	const char *kind;         /* the kind it declares, or NULL where that could not be read */
	const char *reason;       /* a sentence that begins with the file's name */
	enum exit_code exit_code; /* EXIT_CODE_SPEC or EXIT_CODE_REFUSED */
};

struct cdi_registry_spec {
	struct cdi_spec *spec;
	unsigned priority; /* index of its directory: later ones win */
};

struct cdi_registry {
	struct string_list dirs;    /* as searched; missing ones included */
	struct string_list missing; /* those of them that are not there */
	ARRAY(struct cdi_registry_spec) specs;
	ARRAY(struct cdi_set_aside) set_aside;
	size_t passed_over; /* files that were not parsed, as `wanted` allows */
};

/* A device of a spec, as found. */
struct cdi_found {
	const char *name; /* the qualified name */
	const struct cdi_spec *spec;
	const struct cdi_device *device;
};

struct cdi_found_list {
	struct cdi_found *items;
	size_t n, cap;
};

/* All that is wrong or strange in one file, or with a file or directory as a whole. */
struct cdi_file_problems {
	const char *file;
	struct cdi_problem_list problems;
};

struct cdi_file_list {
	struct cdi_file_problems *items; /* in the order of reading */
	size_t n, cap;
	size_t n_specs; /* those that are spec files */
};

struct cdi_registry_options {
	struct trust trust;
	const struct string_list *dirs; /* highest priority last */
	bool lenient;
	/* Not NULL: files that cannot hold a kind asked for here need not be parsed. */
	const struct request_list *wanted;
	/* Not NULL: every problem of every file is put here, instead of into notes. */
	struct cdi_file_list *files;
};

/*
 * Reads all specs. Files that cannot be used are set aside and never stop the rest; only running out of memory or of
 * LIMIT_SPEC_TOTAL fails. Missing directories are fine.
 */
int cdi_registry_load(struct arena *arena, const struct cdi_registry_options *options,
		      struct notes *notes, struct cdi_registry *ret_registry, struct error *err)
	__attribute__((nonnull(1, 2, 4, 5), warn_unused_result));

/*
 * Finds every requested device, in order. A name defined twice in one directory is unusable from there; a definition in a later
 * directory still wins, and one in an earlier directory is then NOT used (it is what the later ones meant to replace).
 * A bare name from the command line is enough where only one kind has it.
 *
 * All that is missing is reported together: for each device whether the kind is unknown or what it contains, which
 * directories were searched, which files were set aside and why. EXIT_CODE_REQUEST; but EXIT_CODE_SPEC or
 * EXIT_CODE_REFUSED for a device of a file that was set aside (its kind is the device's, or could not be read).
 */
int cdi_registry_find(struct arena *arena, const struct cdi_registry *registry,
		      const struct request_list *requests, struct cdi_found_list *ret_found,
		      struct error *err) __attribute__((nonnull, warn_unused_result));

/*
 * Both in one, as a hook wants it: parses only what may define a requested device, and all of it
 * where something is missing, so that the sentence is complete. Notes about the files that were
 * not parsed are all that differs from loading everything.
 */
int cdi_registry_look_up(struct arena *arena, const struct cdi_registry_options *options,
			 const struct request_list *requests, struct notes *notes,
			 struct cdi_registry *ret_registry, struct cdi_found_list *ret_found,
			 struct error *err)
	__attribute__((nonnull(1, 2, 3, 5, 6, 7), warn_unused_result));

/*
 * For a run that found its devices: notes the files that were set aside. A warning for those that may hold another
 * definition of a device in `found` (the kind is its kind, or could not be read), else only information.
 */
void cdi_registry_note_set_aside(const struct cdi_registry *registry,
				 const struct cdi_found_list *found, struct notes *notes)
	__attribute__((nonnull(1, 2)));
