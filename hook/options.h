/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The command line. Configuration is nothing but this (it stands in the hooks.d file's args) and
 * the allow file. */
#include <stdbool.h>

#include "arena.h"
#include "error.h"
#include "log.h"
#include "plan.h"
#include "stage.h"

struct options {
	enum stage stage;
	struct string_list spec_dirs;
	struct string_list annotation_prefixes;
	struct string_list devices;
	struct string_list allow;
	const char *allow_file;
	const char *ldconfig; /* path of the host's; NULL: where it usually is */
	bool ldconfig_none;   /* the library cache is left alone */
	const char *log_file; /* NULL: none */
	enum log_level log_level;
	unsigned timeout; /* seconds */
	bool cgroup;
	enum plan_vendor_hooks vendor_hooks;
	struct string_list disabled_hooks;
	bool unsupported_fails;
	bool lenient;
	bool dry_run;
	bool help, version;
};

/* Strings point into argv, lists live in the arena. Failures are EXIT_CODE_USAGE. */
int options_parse(struct arena *arena, int argc, char **argv, struct options *ret_options,
		  struct error *err) __attribute__((nonnull, warn_unused_result));

extern const char options_help[];
