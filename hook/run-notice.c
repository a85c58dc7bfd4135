/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one line that a changed container leaves in the system's log, in words for people and in fields for programs.
 */
#include "run.h"

#include "log.h"

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* By this journald's readers find all notices, whatever their words: README.md tells it. */
#define NOTICE_ID "05ffc8fa4c164eeea299f79fa3609d38"

static struct log_field number_field(const struct run *run, const char *name, size_t number)
{
	const char *text = arena_printf(run->arena, "%zu", number);

	return (struct log_field){name, text ? text : ""};
}

/* What the notice says, for programs. Returns how many fields there are: none without memory. */
static size_t notice_fields(const struct run *run, struct log_field **ret_fields)
{
	const struct request_list *requests = &run->requests;
	struct log_field *fields =
		arena_alloc_array(run->arena, 2 * requests->n + 8, sizeof(*fields));
	size_t n = 0;

	*ret_fields = fields;
	if (!fields)
		return 0;
	fields[n++] = (struct log_field){"MESSAGE_ID", NOTICE_ID};
	fields[n++] = (struct log_field){"CDI_STAGE", stage_name(run->options->stage)};
	fields[n++] = number_field(run, "CDI_HOOKS", run->plan.hooks.n);
	if (!run->hooks_only) {
		fields[n++] = number_field(run, "CDI_NODES", run->plan.nodes.n);
		fields[n++] = number_field(run, "CDI_MOUNTS", run->plan.mounts.n);
		fields[n++] = number_field(run, "CDI_DEVICE_RULES", run->plan.rules.n);
		fields[n++] = number_field(run, "CDI_NET_DEVICES", run->plan.net_devices.n);
	}
	for (size_t i = 0; i < requests->n; i++) {
		const struct request *request = &requests->items[i];
		fields[n++] = (struct log_field){"CDI_DEVICE", request->device};
		if (request->annotation)
			fields[n++] = (struct log_field){"CDI_ALLOWED_BY", request->pattern};
	}
	return n;
}

/* Grants leave a trace: which container got what, and which pattern let it. */
void run_write_notice(const struct run *run)
{
	const struct plan *plan = &run->plan;
	const char *devices = "", *interfaces = "";
	struct log_field *fields;
	size_t n = notice_fields(run, &fields);

	for (size_t i = 0; devices && i < run->requests.n; i++) {
		const struct request *request = &run->requests.items[i];
		devices = arena_printf(run->arena, "%s%s%s (%s%s)", devices, i ? ", " : "",
				       SHOW(request->device),
				       request->annotation ? "allowed by " : "command line",
				       request->annotation ? SHOW(request->pattern) : "");
	}
	if (plan->net_devices.n > 0)
		interfaces = arena_printf(run->arena, ", %zu network interface%s",
					  plan->net_devices.n, plural(plan->net_devices.n));
	if (run->hooks_only)
		log_notice(fields, n, "ran %zu hook%s of %s at %s", plan->hooks.n,
			   plural(plan->hooks.n), devices ? devices : "devices",
			   stage_name(run->options->stage));
	else
		log_notice(fields, n, "gave %s: %zu node%s, %zu mount%s, %zu device rule%s%s",
			   devices ? devices : "devices", plan->nodes.n, plural(plan->nodes.n),
			   plan->mounts.n, plural(plan->mounts.n), plan->rules.n,
			   plural(plan->rules.n), interfaces ? interfaces : "");
}
