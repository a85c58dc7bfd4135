/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * /etc/ld.so.conf of an image: which directories its ldconfig looks at, include files and all. The image may put
 * anything there (a FIFO, includes of itself, a file without end), so it is read by us with bounds, and ldconfig gets the flat list.
 */
#include <stdbool.h>

#include "arena.h"
#include "error.h"
#include "image-view.h"
#include "notes.h"

/* The one file that we may leave in an image, so that its ldconfig finds what we brought: early, since the first wins. */
#define LDCONF_OWN_DIR "/etc/ld.so.conf.d"
#define LDCONF_OWN_NAME "00-oci-cdi-hook.conf"

struct ldconf {
	struct string_list dirs; /* cleaned, in order, each once */
	bool includes_conf_d; /* LDCONF_OWN_DIR/LDCONF_OWN_NAME would be read by an ldconfig run in the container */
};

/*
 * Reads /etc/ld.so.conf and what it includes: depth 8, LIMIT_LDCONF_FILES files, LIMIT_LDCONF_DIRS directories. What goes
 * beyond, cannot be read or is no regular file is left out with a note, as ldconfig would warn and go on. A missing ld.so.conf is an empty list.
 * Patterns of includes may have wildcards in their last component only (others are noted and left out); "DIR=TYPE" loses its type; hwcap lines are skipped.
 */
int ldconf_read(struct arena *arena, const struct image_view *view, struct notes *notes,
		struct ldconf *ret_conf, struct error *err)
	__attribute__((nonnull(1, 2, 4, 5), warn_unused_result));

/*
 * The directories that every glibc's ldconfig looks at without being told, whatever the image: /lib and /usr/lib. Others
 * are built in too, but differ: /lib64 and /usr/lib64 of Fedora are not in Debian's, whose multiarch ones Fedora lacks.
 */
bool ldconf_is_default(const char *dir) __attribute__((nonnull));
