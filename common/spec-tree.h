/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A spec file as a tree of values, each with its place in the file, and how it is built from one
 * value after the other. It knows what YAML allows (anchors, aliases, merge keys) and nothing of how
 * it is written, nor of CDI.
 */
#include <stdbool.h>

#include "arena.h"
#include "bounds.h"
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

/* "text", "a list", "a map" or "null", for sentences. */
const char *value_noun(const struct value *value) __attribute__((nonnull));

/* ---- Building one ---- */

/* What is known of a value when it begins. */
struct spec_start {
	unsigned line, column; /* from 1 */
	const char *tag;       /* in full, or NULL */
	const char *anchor;    /* the name that it is given, or that an alias says; or NULL */
};

/* A list or map that is still open. */
struct spec_level {
	struct value *value;
	struct spec_anchor *anchor;
	const struct value *key;      /* of a map: the key whose value comes next */
	const struct value *last_key; /* of the entry before */
	struct value_list merges;     /* of a map: what its merge keys name */
	const struct value *merge_key;
	size_t count_before;
};

struct spec_tree {
	struct arena *arena;
	const struct cdi_report *report;
	void *anchors; /* tree of struct spec_anchor, for tsearch(3) */
	struct value *root;
	size_t count; /* values so far, aliases with all they stand for */
	struct spec_level levels[LIMIT_DEPTH];
	unsigned n_levels;
};

/* What begins with one is ended by spec_tree_done(); the values stay, they are the arena's. */
void spec_tree_init(struct spec_tree *tree, struct arena *arena, const struct cdi_report *report)
	__attribute__((nonnull));
void spec_tree_done(struct spec_tree *tree) __attribute__((nonnull));

/*
 * The next value: a scalar, whose text is copied; a list or map, which ends at spec_tree_close(); or
 * the one that an alias names. Keys are values too. Each fails with the sentence for the user where
 * YAML or a bound does not allow it; but where all problems are wanted only for what leaves nothing
 * to go on with.
 */
int spec_tree_scalar(struct spec_tree *tree, const struct spec_start *start, const char *text,
		     size_t len, bool plain) __attribute__((nonnull, warn_unused_result));
int spec_tree_open(struct spec_tree *tree, const struct spec_start *start, enum value_kind kind)
	__attribute__((nonnull, warn_unused_result));
int spec_tree_close(struct spec_tree *tree, const struct spec_start *end)
	__attribute__((nonnull, warn_unused_result));
int spec_tree_alias(struct spec_tree *tree, const struct spec_start *start)
	__attribute__((nonnull, warn_unused_result));

/* Reports an error at a place, with the JSON path of the value that comes next. Returns -EINVAL. */
int spec_tree_fail(const struct spec_tree *tree, unsigned line, unsigned column, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5), nonnull(1, 4)));
