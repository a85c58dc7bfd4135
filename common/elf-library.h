/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a shared library says of itself, read from the host's side: its soname, and for which machine it is. */
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"

struct elf_library {
	const char *soname;  /* NULL: it has none, and no loader finds it by name */
	unsigned char class; /* ELFCLASS32 or ELFCLASS64 */
	uint16_t machine;    /* EM_X86_64, ... */
};

/*
 * Reads `fd` (a regular file, open for reading). 0 with the library filled in; positive (ELF_NOT_A_LIBRARY) when it is
 * no ELF shared object of a class and byte order that loaders here know; negative when it cannot be read or is damaged
 * in a way that a loader would refuse too. Reads only what it needs, with pread; every offset and size is checked.
 */
enum { ELF_NOT_A_LIBRARY = 1 };
int elf_library_read(struct arena *arena, int fd, struct elf_library *ret_library,
		     struct error *err) __attribute__((nonnull, warn_unused_result));

/* Whether `fd` is a program of this machine's byte order that needs no loader. False too when it cannot be read. */
bool elf_is_static_program(int fd);
