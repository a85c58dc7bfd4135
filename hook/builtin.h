/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Hooks of specs that are done here instead of by the vendor's program: links, modes and small files in the container's
 * root. What is to be done stands in the plan; how, in one file each.
 */
#include "arena.h"
#include "error.h"
#include "notes.h"
#include "plan.h"
#include "rootfs.h"

/*
 * Does what `hook` asks for; its kind must not be VENDOR_HOOK_OTHER. Called for each such hook in the order of the
 * specs, behind all mounts and nodes, and before the library cache is refreshed: directories that the cache must have in
 * front of all others are added to `ret_front`. What is done is written down in rootfs->undo. Failures are
 * EXIT_CODE_VENDOR_HOOK, without the origin in front; a comfort that cannot be had is a note.
 *
 * Runs in: the container's mount namespace. Trusts: the plan, the root fd. Hostile: the container's root.
 */
int builtin_apply(struct arena *arena, struct rootfs *rootfs, const struct plan_hook *hook,
		  struct string_list *ret_front, struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 3, 4, 6), warn_unused_result));

/*
 * The single operations, one file each. Their sentences begin with the path.
 */

/* A link with this text; what stood there, but for a directory, is replaced. */
int builtin_link(struct rootfs *rootfs, const struct vendor_hook_link *link, struct notes *notes,
		 struct error *err) __attribute__((nonnull(1, 2, 4), warn_unused_result));
/* Sets the mode of what is at `path`, if it is there. */
int builtin_chmod(struct rootfs *rootfs, const char *path, mode_t mode, struct notes *notes,
		  struct error *err) __attribute__((nonnull(1, 2, 5), warn_unused_result));
/* Adds the directory of the image's CUDA libraries to `ret_front`, where they are newer than the host's. */
int builtin_cuda_compat(struct arena *arena, struct rootfs *rootfs, const struct vendor_hook *hook,
			struct string_list *ret_front, struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 2, 3, 4, 6), warn_unused_result));
/* Covers the driver's params file with `text`. */
int builtin_driver_params(struct rootfs *rootfs, const char *text, struct notes *notes,
			  struct error *err) __attribute__((nonnull(1, 2, 4), warn_unused_result));
/* Writes the profile that names the GPUs that the container has. */
int builtin_application_profile(struct rootfs *rootfs, struct notes *notes, struct error *err)
	__attribute__((nonnull(1, 3), warn_unused_result));
