/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One run of the hook: what it knows so far, and the steps that hook.c takes in order. Up to the plan none of them
 * changes anything. */
#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "cdi-registry.h"
#include "error.h"
#include "notes.h"
#include "oci-config.h"
#include "oci-state.h"
#include "options.h"
#include "plan.h"
#include "request.h"
#include "trusted.h"

struct run {
	struct arena *arena;
	const struct options *options;
	int cwd_fd;
	int host_root_fd;
	struct notes notes;
	size_t notes_seen;
	char *input; /* stage precreate: the config on stdin */
	size_t input_size;
	int output_fd;          /* and the edited one */
	const char *state_text; /* as the runtime sent it */
	size_t state_size;
	struct oci_state state;
	struct request_list requests;
	const char *bundle; /* where config.json was found; a relative root.path starts there */
	struct oci_config config;
	struct cdi_found_list found;
	struct plan plan;
	bool hooks_only; /* the rest was done at an earlier stage */
};

/* Who may own files that decide what we do. `*trust` is filled in and returned; it borrows run->host_root_fd. */
const struct trust *run_trust(const struct run *run, struct trust *trust) __attribute__((nonnull));

/* run-request.c: who asks for what, and may it. */
int run_read_state(struct run *run, struct error *err) __attribute__((nonnull, warn_unused_result));
/* At stage precreate there is no container and no state: the config that it will have says all. */
int run_read_input_config(struct run *run, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int run_check_allowed(struct run *run, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int run_find_devices(struct run *run, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* run-plan.c: whose container it is, and what will be done. */
int run_read_config(struct run *run, struct error *err)
	__attribute__((nonnull, warn_unused_result));
int run_make_plan(struct run *run, struct error *err) __attribute__((nonnull, warn_unused_result));
/* For --dry-run: how the library cache would be refreshed. */
int run_plan_refresh(struct run *run, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* What no hook at this stage can do: said by name, and by --unsupported=fail refused. */
int run_check_unsupported(const struct run *run, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* run-notice.c: grants leave a trace: which container got what, and which pattern let it. */
void run_write_notice(const struct run *run) __attribute__((nonnull));
