/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* SELinux's label of what we create in a container: the container's own, as if its runtime had made it. */
#include <stdbool.h>

#include "error.h"

/* Whether SELinux is on. Asked in the host's mount namespace, where its file system is. */
bool label_is_used(void);

/*
 * From here on every file, directory, link and node that this process creates has this label from its first moment; with
 * NULL the kernel decides again. `proc_fd` is our own procfs. On a mount with a label of its own (`context=`) that one
 * stays, which is how a runtime mounts the container's /dev. What exists is never changed.
 */
int label_new_files(int proc_fd, const char *label, struct error *err)
	__attribute__((nonnull(3), warn_unused_result));
