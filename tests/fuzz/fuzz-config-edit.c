/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config.json of any bytes, and a plan of everything: what comes out is JSON, is taken by the reader again, and a second
 * edit finds nothing to do.
 */
#include "fuzz.h"

#include "config-edit.h"
#include "host-list.h"
#include "json.h"

static const char spec_text[] =
	"cdiVersion: 1.1.0\nkind: v.com/d\ndevices:\n- name: a\n  containerEdits:\n"
	"    env: [A=1, 'B=x \"y']\n"
	"    deviceNodes: [{path: /dev/x, permissions: r}, {path: /dev/n, type: b, major: 9, uid: "
	"0}]\n"
	"    mounts: [{hostPath: /opt, containerPath: /opt/a}, {hostPath: t, containerPath: /t, "
	"type: tmpfs}]\n"
	"    hooks: [{hookName: prestart, path: /opt, args: [a, '']}, {hookName: poststop, path: "
	"/opt}]\n"
	"    additionalGids: [44]\n"
	"    netDevices: [{hostInterfaceName: e0, name: n0}]\n"
	"    intelRdt: {closID: c}\n";
static const char host_text[] = "/dev/x c 10:229 0660 0:44\n/opt d\n";

static int edit(struct arena *arena, const struct cdi_found_list *found,
		const struct host_list *host, const char *data, size_t size, const char **ret_data,
		size_t *ret_size, struct error *err)
{
	struct host_list list = *host;
	const struct host_view view = host_list_view(&list);
	const struct plan_options options = {.stage = STAGE_PRECREATE,
					     .vendor_hooks = PLAN_VENDOR_HOOKS_EXEC};
	struct oci_config config;
	struct plan plan = {0};
	int r = oci_config_parse(arena, data, size, &config, err);

	if (r == 0)
		r = plan_build(arena, found, &config, &view, &options, NULL, &plan, err);
	return r < 0 ? r : config_edit(arena, data, size, &plan, ret_data, ret_size, err);
}

static void check(struct arena *arena, const struct cdi_found_list *found,
		  const struct host_list *host, const char *data, size_t size)
{
	const char *edited, *again;
	size_t edited_size, again_size;
	struct error err = {0};
	int r = edit(arena, found, host, data, size, &edited, &edited_size, &err);

	fuzz_check_error(r, &err);
	if (r < 0)
		return;
	assert(json_check("edited", edited, edited_size, &err) == 0);
	/* A document near a bound may be beyond it now. */
	r = edit(arena, found, host, edited, edited_size, &again, &again_size, &err);
	assert(r < 0 || again == edited);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cdi_found_list found = {0};
	struct cdi_spec *spec = NULL;
	struct host_list host = {0};
	struct error err = {0};
	struct arena arena;
	const char *kind;

	if (size > 100000)
		return 0;
	arena_init(&arena, FUZZ_MEMORY);
	int r = cdi_spec_parse(&arena, "/x.yaml", spec_text, sizeof(spec_text) - 1, false, NULL,
			       &spec, &kind, &err);
	assert(r == 0);
	r = host_list_parse(&arena, host_text, sizeof(host_text) - 1, &host, &err);
	assert(r == 0);
	struct cdi_found *item = array_add(&arena, &found);
	assert(item);
	*item = (struct cdi_found){"v.com/d=a", spec, &spec->devices.items[0]};
	check(&arena, &found, &host, (const char *)data, size);
	arena_done(&arena);
	return 0;
}
