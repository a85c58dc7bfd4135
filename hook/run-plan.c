/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bundle's config.json and the devices to a finished plan.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "ldconfig.h"
#include "library-cache.h"
#include "log.h"

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
	/* Its own user is not mapped, as with podman's --userns=nomap. */
	if (r == -EACCES && run->options->stage == STAGE_CREATE_CONTAINER)
		error_prefix(err,
			     "the container's user may not look there, so register the hook at "
			     "createRuntime instead of createContainer");
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

int run_read_config(struct run *run, struct error *err)
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

int run_make_plan(struct run *run, struct error *err)
{
	const struct host_view host = host_view_real(&run->host_root_fd, getuid());
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
int run_plan_refresh(struct run *run, struct error *err)
{
	const char *path = find_root(run);
	struct error ignored = {0};
	struct trust trust;

	if (!path || (run->plan.libraries.n == 0 && run->plan.ldcache.n == 0))
		return 0;
	_cleanup_fd_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int ldconfig_fd =
		ldconfig_find(run_trust(run, &trust), run->options->ldconfig, &ignored);
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

/* What no hook at this stage can do: said by name, and by --unsupported=fail refused. */
int run_check_unsupported(const struct run *run, struct error *err)
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
