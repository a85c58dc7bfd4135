/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What kind of program a file is, by its first bytes, as the kernel's exec judges it. */
#include "arena.h"
#include "error.h"

/* Bytes that decide: the kernel reads no more of a first line. */
#define SCRIPT_HEAD 256

enum script_kind {
	SCRIPT_ELF,         /* a program of its own */
	SCRIPT_INTERPRETED, /* "#!": run by another program */
	SCRIPT_OTHER,       /* whatever else the kernel may know */
};

/*
 * `head` are the first bytes of the file. For SCRIPT_INTERPRETED `*ret_interpreter` is its program's path, which may be
 * relative or empty; NULL without memory.
 */
enum script_kind script_look(struct arena *arena, const char *head, size_t size,
			     const char **ret_interpreter) __attribute__((nonnull));
