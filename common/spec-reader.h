/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* From the bytes of a spec file to a tree of values. It knows JSON and YAML, and nothing of CDI. */
#include "spec-tree.h"

/*
 * Reads the first document of a .json or .yaml file. The tree has at most LIMIT_VALUES values,
 * counted with aliases expanded, and LIMIT_DEPTH levels. Null keys, and text behind the first
 * document, are left out with a warning.
 *
 * A file without data fails too. On failure `*ret_root` is what was read of the outermost value, or
 * NULL: enough to tell whose file it is. Where all problems are wanted, what leaves the rest
 * readable does not fail: a key that stands there twice, a text that nothing can use.
 */
int spec_read(struct arena *arena, const struct cdi_report *report, const char *data, size_t size,
	      const struct value **ret_root) __attribute__((nonnull(1, 2, 5), warn_unused_result));
