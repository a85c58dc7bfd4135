/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A host made of a list, for tests and fuzzers: what a plan would find there. */
#include "host-node.h"

struct host_list_entry {
	const char *path;
	struct host_node node;
	const char *soname; /* of a library, else NULL; it is then one of this machine */
	const char *text;   /* what is in a file, or NULL */
};

struct host_list {
	struct host_list_entry *items;
	size_t n, cap;
};

/* A view of the list, which must outlive it. */
struct host_view host_list_view(struct host_list *list) __attribute__((nonnull));

/*
 * Reads a fixture: PATH TYPE [MAJOR:MINOR] [MODE [UID:GID]] [soname=NAME] [text=TEXT], one a line, TYPE one of
 * c b p d f s, or x for a file that can be loaded or executed; # starts a comment line.
 * TEXT goes to the end of the line, "|" in it is the end of a line of the file.
 */
int host_list_parse(struct arena *arena, const char *data, size_t size, struct host_list *ret_list,
		    struct error *err) __attribute__((nonnull, warn_unused_result));
