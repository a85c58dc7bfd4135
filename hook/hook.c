/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole of it, top to bottom: read what the container asks for, ask whether it may, find the
 * devices, plan, act. Up to the last step nothing is changed, and most of what can go wrong goes
 * wrong before it.
 */
#include "hook.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apply.h"
#include "cleanup.h"
#include "config-edit.h"
#include "container.h"
#include "hook-runner.h"
#include "interrupt.h"
#include "log.h"
#include "output.h"
#include "plan-text.h"
#include "privilege.h"
#include "run.h"
#include "startup.h"
#include "supervisor.h"

static int print_plan(struct run *run, struct error *err)
{
	const char *text = plan_text(run->arena, &run->plan, err);

	return text ? output_write("the plan", text, strlen(text), err) : -ENOMEM;
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

/*
 * A descriptor of the namespace that we have left is of no use for mounts in the one that we joined. Sources and programs are
 * looked up below it, so it must not be the image's.
 */
static int look_at_host_anew(struct run *run, const struct container *container,
			     struct trust *trust, struct error *err)
{
	struct stat st;

	if (!container->inside || run->options->stage == STAGE_CREATE_CONTAINER)
		return 0;
	close_fd(&run->host_root_fd);
	run->host_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->host_root_fd < 0 || fstat(run->host_root_fd, &st) < 0)
		return error_set(err, errno, "open /");
	if (st.st_dev != container->host_root_dev || st.st_ino != container->host_root_ino)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "the container's mount namespace does not show the host's tree: "
				 "register the hook at createContainer");
	trust->root_fd = run->host_root_fd;
	return 0;
}

/*
 * Without root's rights there is no way back from a container's pid namespace, so its hooks are run from inside alone. And after a
 * plain user's hook has joined the container it is neither where a hook of the host's stages runs nor where one of
 * createContainer does.
 */
static int check_programs(const struct run *run, const struct container *container,
			  struct error *err)
{
	if (!container->rootless || run->options->stage == STAGE_CREATE_CONTAINER)
		return 0;
	for (size_t i = 0; i < run->plan.hooks.n; i++) {
		const struct plan_hook *hook = &run->plan.hooks.items[i];
		if (hook->builtin.kind != VENDOR_HOOK_OTHER ||
		    (!container->inside && hook->stage != STAGE_CREATE_CONTAINER))
			continue;
		error_say(err, EXIT_CODE_VENDOR_HOOK,
			  "hook %s %s cannot be run from %s by an engine without root: register "
			  "oci-cdi-hook at createContainer",
			  SHOW(hook->hook->hook_name), SHOW(hook->hook->path),
			  stage_name(run->options->stage));
		return plan_prefix_origin(&hook->origin, err);
	}
	return 0;
}

static int act(struct run *run, struct error *err)
{
	_cleanup_container_ struct container container = CONTAINER_NULL;
	struct trust trust;
	__attribute__((cleanup(hook_runner_close))) struct hook_runner runner = {
		.arena = run->arena,
		.plan = &run->plan,
		.trust = run_trust(run, &trust),
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
	int r = privilege_take(PRIVILEGE_FIND, PRIVILEGE_ANY, err);

	if (r == 0)
		r = open_container(run, &container, err);
	if (r < 0)
		return r;
	if (container.inside)
		runner.around = &container;
	else if (!run->hooks_only)
		runner.container = &container;
	r = check_programs(run, &container, err);
	if (r == 0)
		r = look_at_host_anew(run, &container, &trust, err);
	if (r == 0)
		r = hook_runner_open(&runner, err);
	if (r == 0)
		r = run->hooks_only ? hook_runner_run(&runner, 0, err)
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
		run_write_notice(run);
	return r;
}

/* Up to the plan: nothing is changed. */
static int prepare(struct run *run, struct error *err)
{
	int r = run_check_allowed(run, err);

	if (r == 0)
		r = run_find_devices(run, err);
	log_step("find the devices");
	if (r == 0 && !stage_edits_config(run->options->stage))
		r = run_read_config(run, err);
	if (r == 0)
		r = run_make_plan(run, err);
	if (r == 0 && run->options->dry_run)
		r = run_plan_refresh(run, err);
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
		r = run_check_unsupported(run, err);
	if (r == 0 && run->hooks_only && run->plan.hooks.n == 0)
		log_line(LOG_LEVEL_INFO, "nothing is left to do at stage %s",
			 stage_name(run->options->stage));
	if (r < 0 || (run->hooks_only && run->plan.hooks.n == 0))
		return r;
	r = act(run, err);
	privilege_give_up();
	if (r < 0)
		name_better_stage(run, err);
	else
		run_write_notice(run);
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
	int r = edits_config ? run_read_input_config(run, err) : run_read_state(run, err);

	if (r < 0)
		return r;
	if (run->requests.n == 0)
		return hand_back(run, err);
	log_container(run->state.id);
	/* A config is edited, and a plan printed, by whoever may read the files. */
	r = privilege_take(PRIVILEGE_READ,
			   edits_config || run->options->dry_run ? 0 : PRIVILEGE_ANY, err);
	if (r < 0)
		return r;
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
	r = supervise(serve, run, SUPERVISOR_GRACE_MS, err);
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
