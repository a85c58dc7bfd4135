/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The bytes of a library cache, as ldcache.c describes them: for the module's own two files. */
#include <stdint.h>

#define OLD_MAGIC "ld.so-1.7.0"
#define MAGIC "glibc-ld.so.cache1.1"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define EXTENSION_MAGIC 0xeaa42174
/* Tags of sections. */
#define EXTENSION_WRITER 0
#define EXTENSION_HWCAPS 1

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_ENDIAN 2
#else
#define NATIVE_ENDIAN 3
#endif
#define ENDIAN_MASK 3

/* Bit 62 and no other of the high half, which also has 10 bits for levels of the instruction set.
 */
#define HWCAP_NAMED_MASK 0xfffffc0000000000
#define HWCAP_NAMED 0x4000000000000000

#define FLAG_ELF 1
#define FLAG_ELF_LIBC6 3
#define FLAG_MACHINE_MASK 0xff00
#define FLAG_MACHINE_SHIFT 8

struct old_head {
	char magic[sizeof(OLD_MAGIC) - 1];
	uint32_t n;
};

struct old_entry {
	uint32_t flags, soname, path;
};

struct head {
	char magic[MAGIC_LEN];
	uint32_t n, strings_size;
	uint8_t endian, unused[3];
	uint32_t extensions_at;
	uint32_t unused_too[3];
};

struct entry {
	uint32_t flags, soname, path, kernel;
	uint64_t hwcap;
};

struct extensions {
	uint32_t magic, n;
};

struct section {
	uint32_t tag, flags, offset, size;
};

_Static_assert(sizeof(struct old_head) == 16 && sizeof(struct old_entry) == 12, "as in the file");
_Static_assert(sizeof(struct head) == 48 && sizeof(struct entry) == 24, "as in the file");
_Static_assert(sizeof(struct extensions) == 8 && sizeof(struct section) == 16, "as in the file");
