/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The edits of a spec for people and for programs, each with what this host has of it. Part of show. */
#include "cdi-spec.h"
#include "host-device.h"
#include "json-out.h"
#include "table.h"

/* How a node of a spec and the host's node at its path go together. */
enum node_state {
	NODE_FOUND,     /* the spec leaves the numbers to the host, which has the node */
	NODE_AGREES,    /* both have the same numbers */
	NODE_DIFFERS,   /* the spec would open another device: the hook refuses it */
	NODE_MISSING,   /* not on this host, and the spec needs it */
	NODE_MADE,      /* not on this host, but complete in the spec: made from that */
	NODE_NO_DEVICE, /* something else is at its path */
};

struct node_on_host {
	enum node_state state;
	struct host_device device;
};

struct show {
	struct arena *arena;
	const struct host_devices *devices;
};

/* The columns of the table below. */
#define SHOW_COLUMNS                                                                               \
	{                                                                                          \
		{"EDIT", TABLE_WHOLE}, {"WHAT", TABLE_WRAP}, {"ON THIS HOST", TABLE_WRAP},         \
		{                                                                                  \
			"LINE", TABLE_WHOLE                                                        \
		}                                                                                  \
	}

/* Adds a row an edit. */
int show_edits_table(const struct show *show, const struct cdi_edits *edits, struct table *table,
		     struct error *err) __attribute__((nonnull, warn_unused_result));

/* Puts an object an edit into the array that `out` is in; cdictl(1) has their keys. `shared`: the edits are the spec's. */
int show_edits_json(const struct show *show, const struct cdi_edits *edits, bool shared,
		    struct json_out *out, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* For both. */
int show_node_on_host(const struct show *show, const struct cdi_device_node *node,
		      struct node_on_host *ret_node, struct error *err)
	__attribute__((nonnull, warn_unused_result));
/* The letter of a node of the host: 'b', 'c', 'p', or '?' for something else. */
char show_type_letter(mode_t mode);
/* Whether the host has this path: 0 or the errno. */
int show_path_missing(const struct show *show, const char *path) __attribute__((nonnull));
