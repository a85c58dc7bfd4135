/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of libraries that container hosts have. Flags are FLAG_ELF_LIBC6 (3) with the
 * architecture's bits of glibc's sysdeps/generic/ldconfig.h; loaders are the fixed names of each
 * ABI. 32-bit ARM has two ABIs under one machine number: hard float is what all current
 * distributions use.
 */
#include "elf-abi.h"

#include <elf.h>
#include <stddef.h>

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

#if defined(__x86_64__) || defined(__i386__)
#define IS_NATIVE(machine) ((machine) == EM_X86_64 || (machine) == EM_386)
#elif defined(__aarch64__) || defined(__arm__)
#define IS_NATIVE(machine) ((machine) == EM_AARCH64 || (machine) == EM_ARM)
#elif defined(__powerpc64__)
#define IS_NATIVE(machine) ((machine) == EM_PPC64)
#elif defined(__s390x__)
#define IS_NATIVE(machine) ((machine) == EM_S390)
#elif defined(__riscv)
#define IS_NATIVE(machine) ((machine) == EM_RISCV)
#elif defined(__loongarch__)
#define IS_NATIVE(machine) ((machine) == EM_LOONGARCH)
#else
#define IS_NATIVE(machine) true
#endif

static const struct elf_abi abis[] = {
	{ELFCLASS64, EM_X86_64, 0x0303, "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"},
	{ELFCLASS32, EM_X86_64, 0x0803, "/libx32/ld-linux-x32.so.2", NULL},
	{ELFCLASS32, EM_386, 0x0003, "/lib/ld-linux.so.2", "/lib/ld-musl-i386.so.1"},
	{ELFCLASS64, EM_AARCH64, 0x0a03, "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"},
	{ELFCLASS32, EM_ARM, 0x0903, "/lib/ld-linux-armhf.so.3", "/lib/ld-musl-armhf.so.1"},
	{ELFCLASS64, EM_PPC64, 0x0503, "/lib64/ld64.so.2", "/lib/ld-musl-powerpc64le.so.1"},
	{ELFCLASS64, EM_S390, 0x0403, "/lib/ld64.so.1", "/lib/ld-musl-s390x.so.1"},
	{ELFCLASS64, EM_RISCV, 0x1003, "/lib/ld-linux-riscv64-lp64d.so.1",
	 "/lib/ld-musl-riscv64.so.1"},
	{ELFCLASS64, EM_LOONGARCH, 0x1203, "/lib64/ld-linux-loongarch-lp64d.so.1", NULL},
};

const struct elf_abi *elf_abi_of(const struct elf_library *library)
{
	for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++)
		if (abis[i].class == library->class && abis[i].machine == library->machine)
			return &abis[i];
	return NULL;
}

bool elf_abi_is_native(const struct elf_abi *abi)
{
	return IS_NATIVE(abi->machine);
}
