/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function does what a hook asks for. What the vendor's programs do by paths below the container's root is done by
 * descriptors here: an image can lead such a path to the host, or make a program wait for ever.
 */
#include "builtin.h"

#include <errno.h>

static int make_links(struct rootfs *rootfs, const struct vendor_hook *hook, struct notes *notes,
		      struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < hook->links.n; i++)
		r = builtin_link(rootfs, &hook->links.items[i], notes, err);
	return r;
}

static int set_modes(struct rootfs *rootfs, const struct vendor_hook *hook, struct notes *notes,
		     struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < hook->paths.n; i++)
		r = builtin_chmod(rootfs, hook->paths.items[i], hook->mode, notes, err);
	return r;
}

static int apply_kind(struct arena *arena, struct rootfs *rootfs, const struct vendor_hook *hook,
		      struct string_list *ret_front, struct notes *notes, struct error *err)
{
	switch (hook->kind) {
	case VENDOR_HOOK_CREATE_SYMLINKS:
		return make_links(rootfs, hook, notes, err);
	case VENDOR_HOOK_CHMOD:
		return set_modes(rootfs, hook, notes, err);
	case VENDOR_HOOK_CUDA_COMPAT:
		return builtin_cuda_compat(arena, rootfs, hook, ret_front, notes, err);
	case VENDOR_HOOK_DRIVER_PARAMS:
		return builtin_driver_params(rootfs, hook->text, notes, err);
	case VENDOR_HOOK_APPLICATION_PROFILE:
		return builtin_application_profile(rootfs, notes, err);
	default:
		return 0;
	}
}

int builtin_apply(struct arena *arena, struct rootfs *rootfs, const struct plan_hook *hook,
		  struct string_list *ret_front, struct notes *notes, struct error *err)
{
	int r = apply_kind(arena, rootfs, &hook->builtin, ret_front, notes, err);

	if (r == 0)
		return 0;
	/* Memory is no failure of the hook. */
	if (err->errnum != ENOMEM)
		err->exit_code = EXIT_CODE_VENDOR_HOOK;
	return error_prefix(err, "hook %s", hook->builtin.command);
}
