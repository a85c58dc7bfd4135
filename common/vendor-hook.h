/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Hooks of specs that this program does itself instead of running them: the NVIDIA family's command lines
 * (nvidia-cdi-hook, nvidia-ctk hook, rbln-cdi-hook, hcu-cdi-hook, hcu-ctk hook), recognised by their words. The vendor's
 * program need not be on the host.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "arena.h"
#include "cdi-spec.h"
#include "error.h"
#include "notes.h"

enum vendor_hook_kind {
	VENDOR_HOOK_OTHER,           /* not of the family: a program to run */
	VENDOR_HOOK_NOTHING,         /* of the family, and there is nothing to do */
	VENDOR_HOOK_UPDATE_LDCACHE,  /* refresh the library cache */
	VENDOR_HOOK_CREATE_SYMLINKS, /* links */
	VENDOR_HOOK_CREATE_SONAME_SYMLINKS, /* a link for each soname, in the folders; plan.c makes links of it */
	VENDOR_HOOK_CHMOD,                  /* mode of paths */
	VENDOR_HOOK_CUDA_COMPAT,         /* the image's newer libcuda in front of the host's */
	VENDOR_HOOK_DRIVER_PARAMS,       /* text over the driver's params file */
	VENDOR_HOOK_APPLICATION_PROFILE, /* a file that names the container's GPUs */
	VENDOR_HOOK_MEMORY_LIMITS, /* the vendor's own program does it, if the container asks for it; plan.c decides */
};

/* Paths are of the container, absolute and clean, and never its root, its /proc or its /sys. */
struct vendor_hook_link {
	const char *target; /* the link's text: data, never looked up */
	const char *path;
	bool implied; /* another link leads to it: a file that is there already stays */
};

struct vendor_hook {
	enum vendor_hook_kind kind;
	const char *command; /* the sub-command, for sentences; NULL for VENDOR_HOOK_OTHER */
	const char *note;    /* why there is nothing to do, or NULL */
	enum note_level note_level;
	ARRAY(struct vendor_hook_link) links;
	struct string_list
		folders; /* --folder of update-ldcache and create-soname-symlinks, as they stand there */
	struct string_list paths;                            /* of chmod */
	mode_t mode;                                         /* of chmod: permission bits */
	const char *host_driver_version, *host_cuda_version; /* of enable-cuda-compat, or NULL */
	const char *compat_root; /* of enable-cuda-compat: where the image's libraries are */
	const char *text;        /* of the params file; plan.c fills it in */
};

/* The driver's file of settings, the same path on the host and in a container. */
#define VENDOR_HOOK_PARAMS_PATH "/proc/driver/nvidia/params"
/* Where the driver's libraries look for profiles of applications. */
#define VENDOR_HOOK_PROFILE_PATH "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf"

/*
 * Only hooks of the stages up to createContainer are recognised: later ones are not this program's to do. Arguments
 * that cannot be right fail with EXIT_CODE_VENDOR_HOOK; the sentence names the sub-command.
 */
int vendor_hook_recognise(struct arena *arena, const struct cdi_hook *hook,
			  struct vendor_hook *ret_hook, struct error *err)
	__attribute__((nonnull, warn_unused_result));
