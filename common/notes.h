/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Things worth saying that do not stop the work. common/ never prints: it notes, and the program
 * that called it decides where the notes go.
 */
#include "arena.h"

enum note_level { NOTE_WARNING, NOTE_INFO, NOTE_DEBUG };

struct note {
	enum note_level level;
	const char *text;
};

struct notes {
	struct arena *arena;
	size_t dropped; /* notes beyond LIMIT_LOG_LINES, or for which there was no memory */
	ARRAY(struct note) list;
};

/* Strings from outside go through SHOW(), as in errors. `notes` may be NULL: then nothing is kept.
 */
void note_add(struct notes *notes, enum note_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
