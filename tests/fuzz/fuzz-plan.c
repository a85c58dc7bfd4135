/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec file to the plan: all its devices, on a host that has a few things. */
#include "fuzz.h"

#include "host-list.h"
#include "json.h"
#include "plan-json.h"
#include "plan-text.h"
#include "plan.h"

static const char host_text[] = "/dev/x c 10:229 0660 0:44\n"
				"/dev/y b 8:1\n"
				"/usr/lib/libx.so.1 x 0644 0:0 soname=libx.so.1\n"
				"/opt d\n"
				"/opt/liby.so f 0644 0:0 soname=liby.so\n";

static int build(struct arena *arena, struct cdi_spec *spec, struct host_list *host,
		 struct plan *plan, struct error *err)
{
	const struct host_view view = host_list_view(host);
	const struct plan_options options = {.stage = STAGE_CREATE_RUNTIME,
					     .vendor_hooks = PLAN_VENDOR_HOOKS_BUILTIN,
					     .ldcache = true};
	const struct oci_config config = {0};
	struct notes notes = {.arena = arena};
	struct cdi_found_list found = {0};

	for (size_t i = 0; i < spec->devices.n && i < 8; i++) {
		struct cdi_found *item = array_add(arena, &found);
		if (!item)
			return error_memory(err);
		*item = (struct cdi_found){spec->devices.items[i].name, spec,
					   &spec->devices.items[i]};
	}
	return plan_build(arena, &found, &config, &view, &options, &notes, plan, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cdi_spec *spec = NULL;
	struct host_list host = {0};
	struct error err = {0};
	struct plan plan = {0};
	struct arena arena;
	const char *kind, *json;

	arena_init(&arena, FUZZ_MEMORY);
	int r = cdi_spec_parse(&arena, "/x.yaml", (const char *)data, size, true, NULL, &spec,
			       &kind, &err);
	if (r == 0)
		r = host_list_parse(&arena, host_text, sizeof(host_text) - 1, &host, &err);
	if (r == 0)
		r = build(&arena, spec, &host, &plan, &err);
	fuzz_check_error(r, &err);
	if (r == 0 && plan_text(&arena, &plan, &err) && (json = plan_json(&arena, &plan, &err)) &&
	    strlen(json) < 100000)
		assert(json_check("plan", json, strlen(json), &err) == 0);
	arena_done(&arena);
	return 0;
}
