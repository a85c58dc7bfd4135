/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Containers in a user namespace, and hooks in one (user_namespaces(7)). */
#include "arena.h"
#include "container.h"
#include "error.h"

/*
 * Fills in who the container's root is, after its namespaces were compared with ours: `user_namespace` says whether it
 * has one of its own.
 */
int user_namespace_look(struct arena *arena, struct container *container, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * For a hook that a plain user's runtime runs, without any capability: enters the container's user and mount namespaces
 * now, as their root, where it has them. The host's tree is in view there until the runtime pivots. Does nothing otherwise.
 */
int user_namespace_join(struct container *container, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether a file's owner, who shows as `seen` now, is the `planned` one of the time when the plan was made: in a user namespace
 * that was entered since then its own users have other numbers, and all others are hidden.
 */
bool user_namespace_is_owner(const struct container *container, uid_t seen, uid_t planned)
	__attribute__((nonnull));

/*
 * From here on what is made belongs to the container's root: files of the host's root would be nobody's in
 * a user namespace, and on its own file systems the kernel refuses them (EOVERFLOW). Nothing changes where that is who we are.
 */
int user_namespace_act_as_root(const struct container *container, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* Takes that back, for what is to be done on the host's side. */
int user_namespace_act_as_host(const struct container *container, struct error *err)
	__attribute__((nonnull, warn_unused_result));
