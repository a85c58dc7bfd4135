/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A plan as text, a line an operation, in the order in which they are done: --dry-run and the
 * golden files. */
#include "plan.h"

/*
 * Words are separated by one blank; bytes in them that are not printable, blanks, `\` and `#` show
 * as \xHH. Behind "  # " stand the device (or the kind, for an edit that all devices of a spec
 * share) and the place in the spec file.
 *
 *   allow c 10:229 rw
 *   label system_u:object_r:container_file_t:s0:c1,c2  # linux.mountLabel, where SELinux is on
 *                                               of all that is created; absent where config.json has none
 *   mount /usr/lib/libx.so.1 /usr/lib/libx.so.1 bind,ro,private
 *   mount tmpfs /run/x nosuid,private,size=64k
 *   mount overlay:none /x lowerdir=/a           of another type; by config.json only
 *   node /dev/x c 10:229 0660 0:44
 *   library libx.so.1 /usr/lib/libx.so.1.2      found by this name, once the cache is refreshed
 *   ldcache /usr/lib                            a hook of the spec asks for the refresh
 *   refresh merge /etc/ld.so.cache  # WHY       merge, ldconfig, new, musl-path or nothing; absent where there
 *                                               is no root to look at
 *   hook createContainer /usr/bin/vendor-hook ARGUMENT...
 *   env NAME=value                              this and the next by config.json only
 *   additionalGid 44
 *   netDevice eth1 net1
 *   intelRdt gold
 *   unsupported env NAME=value
 */
const char *plan_text(struct arena *arena, const struct plan *plan, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* The options of a mount with commas between. NULL: no memory. */
const char *plan_mount_options(struct arena *arena, const struct plan_mount *mount)
	__attribute__((nonnull, warn_unused_result));

/* The letters of access bits: "rw". `buffer` is returned. */
const char *device_access_text(unsigned access, char buffer[static 4]) __attribute__((nonnull));

const char *refresh_way_name(enum refresh_way way);
