/* SPDX-License-Identifier: Apache-2.0 */
/* The directory with config.json, from which plan and check learn what the container is like. */
#include "bundle.h"

#include <errno.h>
#include <fcntl.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"

static int open_dir(const char *dir, struct error *err)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "open the directory") : fd;
}

static int fail(const char *dir, struct error *err)
{
	error_prefix(err, "bundle %s", SHOW(dir));
	return error_class(err, EXIT_CODE_CONTAINER);
}

int bundle_read(struct arena *arena, const char *dir, struct oci_config *ret_config,
		struct error *err)
{
	_cleanup_fd_ int fd = open_dir(dir, err);
	char *data;
	size_t size;
	int r = fd;

	if (fd >= 0)
		r = fdio_read_at(arena, fd, "config.json", LIMIT_CONFIG_SIZE, &data, &size, err);
	if (r == 0)
		r = oci_config_parse(arena, data, size, ret_config, err);
	return r < 0 ? fail(dir, err) : 0;
}

int bundle_open_root(const char *dir, const struct oci_config *config, struct error *err)
{
	_cleanup_fd_ int fd = open_dir(dir, err);
	int root_fd = -1;

	if (fd >= 0)
		root_fd = openat(fd, config->root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && root_fd < 0)
		error_set(err, errno, "open its root %s", SHOW(config->root_path));
	return root_fd < 0 ? fail(dir, err) : root_fd;
}
