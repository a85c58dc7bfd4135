/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices may want different things of the one process that they share. As in the reference the
 * later value of a variable takes the place of the earlier one, and the last intelRdt counts; but
 * what one device loses by that is never lost in silence, and what cannot both be had is refused:
 * two cache classes, two names for one interface.
 */
#include "plan-process.h"

#include <string.h>

#include "bounds.h"
#include "cdi-name.h"

/* "device vendor.com/gpu=0 (/etc/cdi/vendor.yaml:7:5)" */
static const char *origin_text(struct arena *arena, const struct origin *origin)
{
	const char *text =
		arena_printf(arena, "%s %s (%s:%u:%u)", origin->device ? "device" : "kind",
			     SHOW(origin->device ? origin->device : origin->kind),
			     SHOW(origin->file), origin->place.line, origin->place.column);

	return text ? text : "another device";
}

/* Whether `later` may change without a word what `earlier` wants: a spec's own edits are defaults. */
static bool is_default_of(const struct origin *earlier, const struct origin *later)
{
	return !earlier->device && later->device && strcmp(earlier->file, later->file) == 0;
}

/*
 * Environment
 */

/* Bytes of the name with its "=", by which two entries are the same variable. */
static size_t name_len(const char *entry)
{
	return strcspn(entry, "=") + 1;
}

static bool is_same_variable(const char *a, const char *b)
{
	return strncmp(a, b, name_len(a)) == 0;
}

static void note_replaced(struct plan_process *process, const struct plan_env *earlier,
			  const char *entry, const struct origin *origin)
{
	if (strcmp(earlier->entry, entry) == 0 || is_default_of(&earlier->origin, origin))
		return;
	note_add(process->notes, NOTE_WARNING, "%s: env %s takes the place of %s of %s",
		 origin_text(process->arena, origin), SHOW(entry), SHOW(earlier->entry),
		 origin_text(process->arena, &earlier->origin));
}

static int add_env(struct plan_process *process, const char *entry, const struct origin *origin,
		   struct error *err)
{
	for (size_t i = 0; i < process->env.n; i++) {
		struct plan_env *earlier = &process->env.items[i];

		if (!is_same_variable(earlier->entry, entry))
			continue;
		note_replaced(process, earlier, entry, origin);
		*earlier = (struct plan_env){entry, *origin};
		return 0;
	}
	if (process->env.n == LIMIT_ENV) {
		error_say(err, EXIT_CODE_SPEC, "more than %d env entries for one container",
			  LIMIT_ENV);
		return plan_prefix_origin(origin, err);
	}
	struct plan_env *env = array_add(process->arena, &process->env);
	if (!env)
		return error_memory(err);
	*env = (struct plan_env){entry, *origin};
	return 0;
}

/* What the container has for this variable, or NULL; of several entries the last. */
static const char *own_env(const struct oci_config *config, const char *entry)
{
	for (size_t i = config->env.n; i > 0; i--)
		if (is_same_variable(entry, config->env.items[i - 1]))
			return config->env.items[i - 1];
	return NULL;
}

/* Variables that decide which programs and libraries are found: the user's own are not a detail. */
static bool is_search_path(const char *entry)
{
	return is_same_variable("PATH=", entry) || is_same_variable("LD_PRELOAD=", entry) ||
	       is_same_variable("LD_LIBRARY_PATH=", entry);
}

/* `edit` may be NULL where arena_printf had no memory. */
static int add_unsupported(struct plan_process *process, struct plan *plan, const char *edit,
			   const struct origin *origin, struct error *err)
{
	struct plan_unsupported *unsupported =
		edit ? array_add(process->arena, &plan->unsupported) : NULL;

	if (!unsupported)
		return error_memory(err);
	*unsupported = (struct plan_unsupported){.edit = edit, .origin = *origin};
	return 0;
}

static int put_env(struct plan_process *process, struct plan *plan, const struct plan_env *env,
		   struct error *err)
{
	struct plan_env *slot;

	if (!stage_edits_config(process->stage))
		return add_unsupported(process, plan,
				       arena_printf(process->arena, "env %s", env->entry),
				       &env->origin, err);
	slot = array_add(process->arena, &plan->env);
	if (!slot)
		return error_memory(err);
	*slot = *env;
	return 0;
}

static int finish_env(struct plan_process *process, struct plan *plan, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < process->env.n; i++) {
		const struct plan_env *env = &process->env.items[i];
		const char *own = own_env(process->config, env->entry);

		if (own && strcmp(own, env->entry) == 0)
			continue;
		if (own && is_search_path(own))
			note_add(process->notes, NOTE_WARNING,
				 "%s: env %s is not what the container has: %s",
				 origin_text(process->arena, &env->origin), SHOW(env->entry),
				 SHOW(own));
		r = put_env(process, plan, env, err);
	}
	return r;
}

/*
 * Groups
 */

static int add_gid(struct plan_process *process, uint32_t gid, const struct origin *origin,
		   struct error *err)
{
	if (gid == 0) /* as in the reference: 0 is skipped */
		return 0;
	for (size_t i = 0; i < process->gids.n; i++)
		if (process->gids.items[i].gid == gid)
			return 0;
	if (process->gids.n == LIMIT_ENV) {
		error_say(err, EXIT_CODE_SPEC, "more than %d additionalGids for one container",
			  LIMIT_ENV);
		return plan_prefix_origin(origin, err);
	}
	struct plan_gid *slot = array_add(process->arena, &process->gids);
	if (!slot)
		return error_memory(err);
	*slot = (struct plan_gid){gid, *origin};
	return 0;
}

static bool has_gid(const struct oci_config *config, uint32_t gid)
{
	for (size_t i = 0; i < config->additional_gids.n; i++)
		if (config->additional_gids.items[i] == gid)
			return true;
	return false;
}

static int put_gid(struct plan_process *process, struct plan *plan, const struct plan_gid *gid,
		   struct error *err)
{
	struct plan_gid *slot;

	if (!stage_edits_config(process->stage))
		return add_unsupported(process, plan,
				       arena_printf(process->arena, "additionalGids %u", gid->gid),
				       &gid->origin, err);
	slot = array_add(process->arena, &plan->gids);
	if (!slot)
		return error_memory(err);
	*slot = *gid;
	return 0;
}

static int finish_gids(struct plan_process *process, struct plan *plan, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < process->gids.n; i++) {
		const struct plan_gid *gid = &process->gids.items[i];

		if (!has_gid(process->config, gid->gid))
			r = put_gid(process, plan, gid, err);
	}
	return r;
}

/*
 * Network interfaces
 */

static int refuse_name(const char *key, const char *name, const char *problem,
		       const struct origin *origin, struct error *err)
{
	error_say(err, EXIT_CODE_SPEC, "netDevices %s \"%s\" %s", key, SHOW(name), problem);
	return plan_prefix_origin(origin, err);
}

static int check_names(const struct cdi_net_device *device, const struct origin *origin,
		       struct error *err)
{
	const char *host = device->host_interface_name, *name = device->name;
	const char *problem = cdi_interface_problem(host, strlen(host));

	if (problem)
		return refuse_name("hostInterfaceName", host, problem, origin, err);
	problem = cdi_interface_problem(name, strlen(name));
	return problem ? refuse_name("name", name, problem, origin, err) : 0;
}

/* Two devices may share an interface only if they give it the same name. */
static int check_pair(struct plan_process *process, const struct plan_net_device *earlier,
		      const struct cdi_net_device *device, const struct origin *origin,
		      struct error *err)
{
	const struct cdi_net_device *other = earlier->device;

	error_say(err, EXIT_CODE_SPEC, "netDevices: %s is to become %s, but by %s %s becomes %s",
		  SHOW(device->host_interface_name), SHOW(device->name),
		  origin_text(process->arena, &earlier->origin), SHOW(other->host_interface_name),
		  SHOW(other->name));
	return plan_prefix_origin(origin, err);
}

static int add_net_device(struct plan_process *process, const struct cdi_net_device *device,
			  const struct origin *origin, struct error *err)
{
	int r = check_names(device, origin, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < process->net_devices.n; i++) {
		const struct plan_net_device *earlier = &process->net_devices.items[i];
		bool same_host = strcmp(earlier->device->host_interface_name,
					device->host_interface_name) == 0;
		bool same_name = strcmp(earlier->device->name, device->name) == 0;

		if (same_host && same_name)
			return 0;
		if (same_host || same_name)
			return check_pair(process, earlier, device, origin, err);
	}
	if (process->net_devices.n == LIMIT_ENV) {
		error_say(err, EXIT_CODE_SPEC, "more than %d netDevices for one container",
			  LIMIT_ENV);
		return plan_prefix_origin(origin, err);
	}
	struct plan_net_device *slot = array_add(process->arena, &process->net_devices);
	if (!slot)
		return error_memory(err);
	*slot = (struct plan_net_device){device, *origin};
	return 0;
}

/*
 * Cache classes
 */

static const char *clos_id(const struct cdi_intel_rdt *rdt)
{
	return rdt->clos_id ? rdt->clos_id : "";
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_rdt(const struct cdi_intel_rdt *a, const struct cdi_intel_rdt *b)
{
	bool same = same_text(a->clos_id, b->clos_id) &&
		    same_text(a->l3_cache_schema, b->l3_cache_schema) &&
		    same_text(a->mem_bw_schema, b->mem_bw_schema) &&
		    a->has_schemata == b->has_schemata && a->schemata.n == b->schemata.n &&
		    a->enable_monitoring == b->enable_monitoring &&
		    a->enable_cmt == b->enable_cmt && a->enable_mbm == b->enable_mbm;

	for (size_t i = 0; same && i < a->schemata.n; i++)
		same = same_text(a->schemata.items[i], b->schemata.items[i]);
	return same;
}

static int add_rdt(struct plan_process *process, const struct cdi_intel_rdt *rdt,
		   const struct origin *origin, struct error *err)
{
	const struct cdi_intel_rdt *earlier = process->intel_rdt.rdt;

	if (earlier && *clos_id(earlier) && *clos_id(rdt) &&
	    strcmp(clos_id(earlier), clos_id(rdt)) != 0) {
		error_say(err, EXIT_CODE_SPEC,
			  "intelRdt closID %s, but %s wants %s: a container has one class",
			  SHOW(clos_id(rdt)),
			  origin_text(process->arena, &process->intel_rdt.origin),
			  SHOW(clos_id(earlier)));
		return plan_prefix_origin(origin, err);
	}
	if (earlier && !same_rdt(earlier, rdt) &&
	    !is_default_of(&process->intel_rdt.origin, origin))
		note_add(process->notes, NOTE_WARNING,
			 "%s: intelRdt takes the place of that of %s, as a whole",
			 origin_text(process->arena, origin),
			 origin_text(process->arena, &process->intel_rdt.origin));
	process->intel_rdt.rdt = rdt;
	process->intel_rdt.origin = *origin;
	return 0;
}

/*
 * All of it
 */

int plan_process_add(struct plan_process *process, const struct cdi_edits *edits,
		     const struct origin *origin, struct error *err)
{
	struct origin at = *origin;
	int r = 0;

	for (size_t i = 0; r == 0 && i < edits->env.n; i++)
		r = add_env(process, edits->env.items[i], origin, err);
	for (size_t i = 0; r == 0 && i < edits->additional_gids.n; i++)
		r = add_gid(process, edits->additional_gids.items[i], origin, err);
	for (size_t i = 0; r == 0 && i < edits->net_devices.n; i++) {
		at.place = edits->net_devices.items[i].place;
		r = add_net_device(process, &edits->net_devices.items[i], &at, err);
	}
	if (r == 0 && edits->intel_rdt) {
		at.place = edits->intel_rdt->place;
		r = add_rdt(process, edits->intel_rdt, &at, err);
	}
	return r;
}

/* From inside the container neither the host's interfaces nor its classes can be reached. */
static bool reaches_host(const struct plan_process *process)
{
	return process->stage != STAGE_CREATE_CONTAINER;
}

static int finish_net_devices(struct plan_process *process, struct plan *plan, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < process->net_devices.n; i++) {
		const struct plan_net_device *net = &process->net_devices.items[i];
		const struct cdi_net_device *device = net->device;

		if (reaches_host(process)) {
			struct plan_net_device *slot =
				array_add(process->arena, &plan->net_devices);
			if (!slot)
				return error_memory(err);
			*slot = *net;
			continue;
		}
		r = add_unsupported(process, plan,
				    arena_printf(process->arena, "netDevices %s:%s",
						 device->host_interface_name, device->name),
				    &net->origin, err);
	}
	return r;
}

/*
 * A hook can put a process into a class that is there. A group of the container's own, which a
 * runtime makes for monitoring or where no class is named, it could not remove again.
 */
static int finish_rdt(struct plan_process *process, struct plan *plan, struct error *err)
{
	const struct plan_intel_rdt *wanted = &process->intel_rdt;
	const struct cdi_intel_rdt *rdt = wanted->rdt;

	if (!rdt)
		return 0;
	if (stage_edits_config(process->stage)) {
		plan->intel_rdt = *wanted;
		return 0;
	}
	if (!reaches_host(process) || !*clos_id(rdt))
		return add_unsupported(
			process, plan,
			arena_printf(process->arena, "intelRdt %s",
				     *clos_id(rdt) ? clos_id(rdt) : "without closID"),
			&wanted->origin, err);
	plan->intel_rdt = *wanted;
	if (rdt->enable_monitoring || rdt->enable_cmt || rdt->enable_mbm)
		return add_unsupported(process, plan, "intelRdt enableMonitoring", &wanted->origin,
				       err);
	return 0;
}

int plan_process_finish(struct plan_process *process, struct plan *plan, struct error *err)
{
	int r = finish_env(process, plan, err);

	if (r == 0)
		r = finish_gids(process, plan, err);
	if (r == 0)
		r = finish_net_devices(process, plan, err);
	if (r == 0)
		r = finish_rdt(process, plan, err);
	return r;
}
