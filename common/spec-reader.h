/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A spec file as a tree of values, each with its place in the file. It knows YAML and nothing of
 * CDI.
 */
#include <stdbool.h>

#include "arena.h"
#include "cdi-problem.h"

enum value_kind { VALUE_SCALAR, VALUE_LIST, VALUE_MAP };

struct value;

struct value_entry {
	const struct value *key; /* always a scalar that is not null */
	const struct value *value;
};

struct value_list {
	const struct value **items;
	size_t n, cap;
};

struct value_map {
	struct value_entry *items; /* no key twice; merged entries behind the map's own */
	size_t n, cap;
};

/*
 * What an alias stands for is the same struct value, so a tree may be walked into it from several
 * places.
 */
struct value {
	enum value_kind kind;
	unsigned line, column; /* from 1; those of the anchor where an alias led here */
	unsigned height; /* levels of lists and maps in it: 0 for a scalar, at most LIMIT_DEPTH */
	bool plain;      /* scalar written without quotes and not as a block */
	size_t count;    /* values in it, itself and what aliases stand for included */
	const char *tag; /* in full ("tag:yaml.org,2002:int", "!foo"), or NULL */
	union {
		struct {
			const char *text; /* as written, NUL behind it and none inside */
			size_t len;
		};
		struct value_list list;
		struct value_map map;
	};
};

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

/* "text", "a list", "a map" or "null", for sentences. */
const char *value_noun(const struct value *value) __attribute__((nonnull));
