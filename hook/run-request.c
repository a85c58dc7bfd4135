/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stdin to the devices in the vendors' files: who asks, for what, whether it may, and where it is defined. Where there
 * is nothing to ask for, the program ends after the first of these, so that one touches no file.
 */
#include "run.h"

#include <unistd.h>

#include "allow.h"
#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"

int run_read_state(struct run *run, struct error *err)
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
int run_read_input_config(struct run *run, struct error *err)
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

const struct trust *run_trust(const struct run *run, struct trust *trust)
{
	*trust = (struct trust){.root_fd = run->host_root_fd, .owner = getuid()};
	return trust;
}

/* A missing allow file allows nothing: that is how it is delivered. */
static int read_allow_file(struct run *run, struct allow_list *list, struct error *err)
{
	const char *file = run->options->allow_file;
	struct trust trust;
	_cleanup_fd_ int fd = trusted_open(run_trust(run, &trust), file, TRUSTED_FILE, err);
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

int run_check_allowed(struct run *run, struct error *err)
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

int run_find_devices(struct run *run, struct error *err)
{
	struct cdi_registry_options options = {.dirs = &run->options->spec_dirs,
					       .lenient = run->options->lenient};
	struct cdi_registry registry = {0};
	int r;

	run_trust(run, &options.trust);
	r = cdi_registry_look_up(run->arena, &options, &run->requests, &run->notes, &registry,
				 &run->found, err);
	if (r == 0)
		cdi_registry_note_set_aside(&registry, &run->found, &run->notes);
	return r < 0 ? error_class(err, EXIT_CODE_REQUEST) : 0;
}
