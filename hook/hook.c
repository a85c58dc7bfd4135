/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole of it, top to bottom: read what the container asks for, ask whether it may, find the
 * devices, plan, act. Up to the last step nothing is changed, and most of what can go wrong goes
 * wrong before it.
 */
#include "hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allow.h"
#include "apply.h"
#include "bounds.h"
#include "cdi-registry.h"
#include "cleanup.h"
#include "config-edit.h"
#include "container.h"
#include "fdio.h"
#include "hook-runner.h"
#include "interrupt.h"
#include "ldconfig.h"
#include "library-cache.h"
#include "log.h"
#include "notes.h"
#include "oci-config.h"
#include "oci-state.h"
#include "output.h"
#include "plan-text.h"
#include "plan.h"
#include "request.h"
#include "startup.h"
#include "supervisor.h"
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

static int read_request(struct run *run, struct error *err)
{
	const struct options *options = run->options;
	char *data;
	size_t size;
	int r = fdio_read(run->arena, STDIN_FILENO, LIMIT_STATE_SIZE, "the state on stdin", &data,
			  &size, err);

	if (r == 0)
		r = oci_state_parse(run->arena, data, size, &run->state, err);
	run->state_text = data;
	run->state_size = size;
	if (r == 0)
		r = request_collect(run->arena, &run->state, &options->annotation_prefixes,
				    &options->devices, &run->requests, err);
	return r < 0 ? error_class(err, EXIT_CODE_REQUEST) : 0;
}

/*
 * podman has no name for the container in its config. What identifies it there is the end of the
 * cgroup's path: ".../libpod-ID", "machine.slice:libpod:ID".
 */
static const char *name_in_config(const struct oci_config *config)
{
	const char *path = config->cgroups_path ? config->cgroups_path : "", *name = path;

	for (; *path; path++)
		if (*path == '/' || *path == ':')
			name = path + 1;
	return name;
}

/* At stage precreate there is no container and no state: the config that it will have says all. */
static int read_request_of_config(struct run *run, struct error *err)
{
	const struct options *options = run->options;
	int r = fdio_read(run->arena, STDIN_FILENO, LIMIT_CONFIG_SIZE, "the config on stdin",
			  &run->input, &run->input_size, err);

	if (r == 0)
		r = oci_config_parse(run->arena, run->input, run->input_size, &run->config, err);
	if (r < 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	run->state.id = name_in_config(&run->config);
	run->state.annotations = run->config.annotations;
	r = request_collect(run->arena, &run->state, &options->annotation_prefixes,
			    &options->devices, &run->requests, err);
	return r < 0 ? error_class(err, EXIT_CODE_REQUEST) : 0;
}

static const struct trust *host_trust(const struct run *run, struct trust *trust)
{
	*trust = (struct trust){.root_fd = run->host_root_fd, .owner = getuid()};
	return trust;
}

/* A missing allow file allows nothing: that is how it is delivered. */
static int read_allow_file(struct run *run, struct allow_list *list, struct error *err)
{
	const char *file = run->options->allow_file;
	struct trust trust;
	_cleanup_fd_ int fd = trusted_open(host_trust(run, &trust), file, TRUSTED_FILE, err);
	char *data;
	size_t size;
	int r;

	if (fd == -ENOENT) {
		*err = (struct error){0};
		return 0;
	}
	if (fd < 0)
		return fd;
	r = fdio_read(run->arena, fd, LIMIT_ALLOW_SIZE, file, &data, &size, err);
	if (r < 0)
		return r;
	return allow_add_file(run->arena, list, file, data, size, err);
}

static int check_allowed(struct run *run, struct error *err)
{
	struct allow_list list = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->options->allow.n; i++)
		r = allow_add(run->arena, &list, run->options->allow.items[i], err);
	if (r == 0)
		r = read_allow_file(run, &list, err);
	if (r == 0)
		r = allow_check(&list, run->options->allow_file, &run->requests, err);
	return r < 0 ? error_class(err, EXIT_CODE_REFUSED) : 0;
}

static int find_devices(struct run *run, struct error *err)
{
	struct cdi_registry_options options = {.dirs = &run->options->spec_dirs,
					       .lenient = run->options->lenient};
	struct cdi_registry registry = {0};
	int r;

	host_trust(run, &options.trust);
	r = cdi_registry_look_up(run->arena, &options, &run->requests, &run->notes, &registry,
				 &run->found, err);
	if (r == 0)
		cdi_registry_note_set_aside(&registry, &run->found, &run->notes);
	return r < 0 ? error_class(err, EXIT_CODE_REQUEST) : 0;
}

/*
 * Reads config.json from the state's bundle, or from the working directory for those crun releases
 * that send "/" as the bundle of a host stage.
 */
static int read_config_file(struct run *run, char **ret_data, size_t *ret_size, struct error *err)
{
	const char *bundle =
		run->state.bundle && run->state.bundle[0] == '/' ? run->state.bundle : NULL;
	_cleanup_fd_ int bundle_fd = bundle ? open(bundle, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct error ignored = {0};
	char path[64], target[4096];
	int r;

	if (bundle_fd >= 0)
		r = fdio_read_at(run->arena, bundle_fd, "config.json", LIMIT_CONFIG_SIZE, ret_data,
				 ret_size, err);
	else
		r = error_set(err, bundle ? errno : ENOENT, "open the directory");
	run->bundle = bundle;
	/* At createContainer the working directory may be the image's. */
	if (r != -ENOENT || run->options->stage == STAGE_CREATE_CONTAINER ||
	    fdio_read_at(run->arena, run->cwd_fd, "config.json", LIMIT_CONFIG_SIZE, ret_data,
			 ret_size, &ignored) < 0)
		return r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", run->cwd_fd);
	ssize_t n = readlink(path, target, sizeof(target));
	if (n <= 0 || (size_t)n >= sizeof(target))
		return error_set(err, n < 0 ? errno : ENAMETOOLONG,
				 "read where the working directory is");
	run->bundle = arena_strndup(run->arena, target, (size_t)n);
	if (!run->bundle)
		return error_memory(err);
	/* Nor would a vendor's hook find anything under the other path. */
	return oci_state_adapt(run->arena, run->state_text, run->state_size, 0, run->bundle,
			       &run->state_text, &run->state_size, err);
}

static int read_config(struct run *run, struct error *err)
{
	char *data, text[ERROR_TEXT_MAX];
	size_t size;
	int r = read_config_file(run, &data, &size, err);

	/* A person who tries a request out may have no bundle: it only tells whom nodes will belong
	 * to. */
	if (r == -ENOENT && run->options->stage == STAGE_POSTSTOP) {
		*err = (struct error){0};
		return 0;
	}
	if (r == -ENOENT && run->options->dry_run) {
		log_line(LOG_LEVEL_WARNING, "bundle %s: %s; nodes are shown as root's",
			 SHOW(run->state.bundle), error_text(err, text));
		*err = (struct error){0};
		return 0;
	}
	if (r == 0)
		r = oci_config_parse(run->arena, data, size, &run->config, err);
	if (r < 0) {
		error_prefix(err, "bundle %s", SHOW(run->state.bundle));
		return error_class(err, EXIT_CODE_CONTAINER);
	}
	return 0;
}

/*
 * The stages at which config.json has us called. An entry is ours when its program is the file that
 * we run from.
 */
static stage_set registered_stages(const struct run *run)
{
	struct stat ours, other;
	stage_set stages = STAGE_BIT(run->options->stage);

	if (stat("/proc/self/exe", &ours) < 0)
		return stages;
	for (size_t i = 0; i < run->config.hooks.n; i++) {
		const struct oci_hook *hook = &run->config.hooks.items[i];
		if (stat(hook->path, &other) == 0 && other.st_dev == ours.st_dev &&
		    other.st_ino == ours.st_ino)
			stages |= STAGE_BIT(hook_schedule_entry_stage(hook));
	}
	return stages;
}

static int make_plan(struct run *run, struct error *err)
{
	const struct host_view host = host_view_real(&run->host_root_fd);
	const struct plan_options options = {
		.stage = run->options->stage,
		.registered = registered_stages(run),
		.lenient = run->options->lenient,
		.vendor_hooks = run->options->vendor_hooks,
		.disabled_hooks = &run->options->disabled_hooks,
		.ldcache = !run->options->ldconfig_none,
	};
	int r = plan_build(run->arena, &run->found, &run->config, &host, &options, &run->notes,
			   &run->plan, err);

	run->hooks_only = plan_is_hooks_only(&options);
	return r < 0 ? error_class(err, EXIT_CODE_SPEC) : 0;
}

/* NULL where config.json was not found, or says nothing of it. */
static const char *find_root(const struct run *run)
{
	const char *path = run->config.root_path;

	if (!path || !path[0] || path[0] == '/')
		return path && path[0] ? path : NULL;
	return run->bundle ? arena_printf(run->arena, "%s/%s", run->bundle, path) : NULL;
}

/*
 * For a person who wants to know: how the library cache would be refreshed. A run that acts decides that when the mounts are there.
 * Runs in: the host's mount namespace. Trusts: nothing below the root. Hostile: the root.
 */
static int plan_refresh(struct run *run, struct error *err)
{
	const char *path = find_root(run);
	struct error ignored = {0};
	struct trust trust;

	if (!path || (run->plan.libraries.n == 0 && run->plan.ldcache.n == 0))
		return 0;
	_cleanup_fd_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int ldconfig_fd =
		ldconfig_find(host_trust(run, &trust), run->options->ldconfig, &ignored);
	struct rootfs rootfs = {.arena = run->arena, .fd = root_fd, .proc_fd = proc_fd};
	const struct library_cache cache = {
		.plan = &run->plan,
		.ldconfig_named = run->options->ldconfig != NULL,
		.has_ldconfig = ldconfig_fd >= 0,
	};

	if (root_fd < 0 || proc_fd < 0)
		return 0;
	int r = library_cache_plan(&rootfs, &cache, &run->plan, &run->notes, err);
	return r < 0 ? error_class(err, EXIT_CODE_LDCACHE) : 0;
}

static int print_plan(struct run *run, struct error *err)
{
	const char *text = plan_text(run->arena, &run->plan, err);

	return text ? output_write("the plan", text, strlen(text), err) : -ENOMEM;
}

/* What no hook at this stage can do: said by name, and by --unsupported=fail refused. */
static int check_unsupported(const struct run *run, struct error *err)
{
	const char *stage = stage_name(run->options->stage);

	for (size_t i = 0; i < run->plan.unsupported.n; i++) {
		const struct plan_unsupported *unsupported = &run->plan.unsupported.items[i];
		if (unsupported->problem)
			error_say(err, EXIT_CODE_OTHER, "%s %s", SHOW(unsupported->edit),
				  unsupported->problem);
		else
			error_say(err, EXIT_CODE_OTHER, "%s cannot be set at %s",
				  SHOW(unsupported->edit), stage);
		plan_prefix_origin(&unsupported->origin, err);
		if (run->options->unsupported_fails)
			return -EINVAL;
		log_line(LOG_LEVEL_WARNING, "%s", err->text);
		*err = (struct error){0};
	}
	return 0;
}

/* Where only hooks of the host's namespaces are left, there is none to open. */
static int open_container(struct run *run, struct container *container, struct error *err)
{
	const bool inside = run->options->stage == STAGE_CREATE_CONTAINER;
	int r = 0;

	if (inside && run->hooks_only)
		r = container_check_inside(run->arena, container, run->bundle, &run->config, err);
	else if (inside)
		r = container_open_inside(run->arena, container, run->bundle, &run->config, err);
	else if (!run->hooks_only)
		r = container_open(run->arena, container, run->state.pid, run->bundle, &run->config,
				   err);
	if (r < 0)
		return error_class(err, EXIT_CODE_CONTAINER);
	log_step("find the container");
	return 0;
}

/* crun's annotation, which podman sets for --group-add keep-groups. */
static bool keeps_groups(const struct run *run)
{
	for (size_t i = 0; i < run->state.annotations.n; i++) {
		const struct oci_annotation *annotation = &run->state.annotations.items[i];
		if (strcmp(annotation->key, "run.oci.keep_original_groups") == 0)
			return strcmp(annotation->value, "1") == 0;
	}
	return false;
}

/* A descriptor of the namespace that we have left is of no use for mounts in the one that we joined. */
static int look_at_host_anew(struct run *run, const struct container *container,
			     struct trust *trust, struct error *err)
{
	if (!container->inside || run->options->stage == STAGE_CREATE_CONTAINER)
		return 0;
	close_fd(&run->host_root_fd);
	run->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->host_root_fd < 0)
		return error_set(err, errno, "open /");
	trust->root_fd = run->host_root_fd;
	return 0;
}

static int act(struct run *run, struct error *err)
{
	_cleanup_container_ struct container container = CONTAINER_NULL;
	struct trust trust;
	__attribute__((cleanup(hook_runner_close))) struct hook_runner runner = {
		.arena = run->arena,
		.plan = &run->plan,
		.trust = host_trust(run, &trust),
		.cwd_fd = run->cwd_fd,
		.bundle = run->bundle,
		.state = run->state_text,
		.state_size = run->state_size,
		HOOK_RUNNER_NULL,
	};
	const struct apply_options options = {
		.config = &run->config,
		.keeps_groups = keeps_groups(run),
		.cgroup = run->options->cgroup,
		.ldconfig = run->options->ldconfig,
		.trust = &trust,
		.root_readonly = run->config.root_readonly,
		.devices = &run->config.devices,
		.hook_runner = &runner,
	};
	int r = open_container(run, &container, err);

	if (r < 0)
		return r;
	if (!run->hooks_only && !container.inside)
		runner.container = &container;
	r = look_at_host_anew(run, &container, &trust, err);
	if (r == 0)
		r = hook_runner_open(&runner, err);
	if (r == 0)
		r = run->hooks_only ? hook_runner_run(&runner, err)
				    : apply_plan(run->arena, &run->plan, &container, &options,
						 &run->notes, err);
	log_notes(&run->notes, &run->notes_seen);
	return r;
}

/*
 * From inside not everything can be reached: crun before 1.26 has made the root read-only by then,
 * and a cgroup may lie beyond our namespace.
 */
static void name_better_stage(const struct run *run, struct error *err)
{
	struct error advice = {0};

	if (run->options->stage != STAGE_CREATE_CONTAINER ||
	    (err->errnum != EROFS && err->exit_code != EXIT_CODE_CGROUP))
		return;
	error_say(&advice, err->exit_code,
		  "register the hook at createRuntime instead of createContainer");
	error_join(err, &advice);
}

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
static void write_notice(const struct run *run)
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

/* The plan in config.json. An engine that has put all of it in already gets its own bytes back. */
static int edit_config(struct run *run, struct error *err)
{
	const char *data;
	size_t size;
	int r;

	if (!run->options->cgroup)
		run->plan.rules.n = 0;
	r = config_edit(run->arena, run->input, run->input_size, &run->plan, &data, &size, err);
	if (r < 0 || data == run->input)
		return r;
	r = output_keep(run->output_fd, data, size, err);
	if (r == 0)
		write_notice(run);
	return r;
}

/* Up to the plan: nothing is changed. */
static int prepare(struct run *run, struct error *err)
{
	int r = check_allowed(run, err);

	if (r == 0)
		r = find_devices(run, err);
	log_step("find the devices");
	if (r == 0 && !stage_edits_config(run->options->stage))
		r = read_config(run, err);
	if (r == 0)
		r = make_plan(run, err);
	if (r == 0 && run->options->dry_run)
		r = plan_refresh(run, err);
	log_step("plan");
	log_notes(&run->notes, &run->notes_seen);
	return r;
}

/*
 * The container is gone, and perhaps its device's spec with it: then no hook of it is known any
 * more, and there is nothing that a failure could stop.
 */
static int accept_missing(struct error *err)
{
	char text[ERROR_TEXT_MAX];

	log_line(LOG_LEVEL_WARNING, "%s; no hooks are run at poststop", error_text(err, text));
	*err = (struct error){0};
	return 0;
}

/* All that is done for a container that asks: from the question whether it may to the changed container. */
static int serve(void *data, struct error *err)
{
	struct run *run = data;
	int r = prepare(run, err);

	if (r < 0 && run->options->stage == STAGE_POSTSTOP && interrupted(&(struct error){0}) == 0)
		return accept_missing(err);
	if (r == 0 && run->options->dry_run)
		return print_plan(run, err);
	if (r == 0 && stage_edits_config(run->options->stage))
		return edit_config(run, err);
	if (r == 0)
		r = check_unsupported(run, err);
	if (r == 0 && run->hooks_only && run->plan.hooks.n == 0)
		log_line(LOG_LEVEL_INFO, "nothing is left to do at stage %s",
			 stage_name(run->options->stage));
	if (r < 0 || (run->hooks_only && run->plan.hooks.n == 0))
		return r;
	r = act(run, err);
	if (r < 0)
		name_better_stage(run, err);
	else
		write_notice(run);
	return r;
}

/* A config on stdin is answered with one on stdout, always. */
static int hand_back(struct run *run, struct error *err)
{
	if (!stage_edits_config(run->options->stage) || run->options->dry_run)
		return 0;
	if (run->output_fd < 0)
		return output_write("the config", run->input, run->input_size, err);
	return output_hand_over(run->output_fd, run->input, run->input_size, err);
}

static int run_stage(struct run *run, struct error *err)
{
	bool edits_config = stage_edits_config(run->options->stage);
	int r = edits_config ? read_request_of_config(run, err) : read_request(run, err);

	if (r < 0)
		return r;
	if (run->requests.n == 0)
		return hand_back(run, err);
	log_container(run->state.id);
	run->cwd_fd = startup_leave_directory(err);
	if (run->cwd_fd < 0)
		return run->cwd_fd;
	run->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->host_root_fd < 0)
		return error_set(err, errno, "open /");
	log_step("read the request");
	if (run->options->dry_run)
		return serve(run, err);
	if (edits_config) {
		run->output_fd = output_open(err);
		if (run->output_fd < 0)
			return run->output_fd;
	}
	/* In a child of its own: a file system that does not answer may hold it for ever, but not us. */
	r = supervise(serve, run, err);
	return r < 0 ? r : hand_back(run, err);
}

int hook_run(struct arena *arena, const struct options *options, struct error *err)
{
	struct run run = {
		.arena = arena,
		.options = options,
		.cwd_fd = -1,
		.host_root_fd = -1,
		.output_fd = -1,
		.notes = {.arena = arena},
	};
	int r = run_stage(&run, err);

	close_fd(&run.output_fd);
	close_fd(&run.host_root_fd);
	close_fd(&run.cwd_fd);
	return r;
}
