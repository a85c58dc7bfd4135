/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What belongs to a library's class and machine: its dynamic loader, and its mark in library caches. */
#include <stdbool.h>
#include <stdint.h>

#include "elf-library.h"

struct elf_abi {
	unsigned char class;
	uint16_t machine;
	uint32_t ldcache_flags; /* as glibc's ldconfig writes them */
	const char *loader;     /* glibc's, where every program of this kind looks for it */
	const char *musl_loader;
};

/* Whether programs of this host's own can be of this kind: its ldconfig knows no others. */
bool elf_abi_is_native(const struct elf_abi *abi) __attribute__((nonnull));

/* NULL for a machine that is not in the table. */
const struct elf_abi *elf_abi_of(const struct elf_library *library) __attribute__((nonnull));
