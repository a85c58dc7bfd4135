/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where sentences go: stderr (runc and youki show it), journald or else syslog (crun and podman's
 * precreate drop stderr) and, when asked for, a file. All three are opened in the host's namespaces
 * and stay what they are when the container's are entered.
 */
#include "error.h"
#include "notes.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* A field of an entry for journald: see journal-entry.h. */
struct log_field {
	const char *name, *value;
};

/* Opens `file` unless it is NULL. */
int log_open(enum log_level level, const char *file, struct error *err)
	__attribute__((nonnull(3), warn_unused_result));
/*
 * The container that every line for syslog and journald names from now on; `id` must stay. To be called before its namespaces
 * are entered: journald or syslog is connected to now, or never.
 */
void log_container(const char *id);
/* One line; strings from outside must have gone through SHOW(). Warnings and errors always reach
 * stderr and syslog. */
void log_line(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));
/* A line that is always written to journald or syslog (and the file), whatever the level: what was
 * granted to whom. journald gets the `n` fields besides. */
void log_notice(const struct log_field *fields, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), nonnull(3)));
/* At level debug: what was done since the last call, and how long it took. */
void log_step(const char *fmt, ...) __attribute__((format(printf, 1, 2), nonnull(1)));
/* Writes out notes of the pure part that came since the last call; `seen` counts them. */
void log_notes(const struct notes *notes, size_t *seen) __attribute__((nonnull));
void log_close(void);
