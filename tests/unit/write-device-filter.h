/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Device programs to test with: instructions by name, one like a runtime's, and some by chance. Included behind unit.h. */
#include <stdlib.h>

#include "device-filter.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Writing programs ---- */

#define INSN(code_, dst_, src_, off_, imm_)                                                        \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (unsigned)(dst_)&15,                                         \
			   .src_reg = (unsigned)(src_)&15,                                         \
			   .off = (off_),                                                          \
			   .imm = (imm_)})
#define LDXW(dst, src, off) INSN(BPF_LDX | BPF_MEM | BPF_W, dst, src, off, 0)
#define LDXH(dst, src, off) INSN(BPF_LDX | BPF_MEM | BPF_H, dst, src, off, 0)
#define ALU32(op, dst, imm) INSN(BPF_ALU | (op) | BPF_K, dst, 0, 0, imm)
#define ALU64(op, dst, imm) INSN(BPF_ALU64 | (op) | BPF_K, dst, 0, 0, imm)
#define ALU32X(op, dst, src) INSN(BPF_ALU | (op) | BPF_X, dst, src, 0, 0)
#define ALU64X(op, dst, src) INSN(BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)
#define JMP(op, dst, imm, off) INSN(BPF_JMP | (op) | BPF_K, dst, 0, off, imm)
#define JMPX(op, dst, src, off) INSN(BPF_JMP | (op) | BPF_X, dst, src, off, 0)
#define JMPW(op, dst, imm, off) INSN(BPF_JMP32 | (op) | BPF_K, dst, 0, off, imm)
#define JA(off) INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define FILTER(array) ((struct device_filter){.insns = (array), .n = COUNT(array)})

/* clang-format off */

/* What runc makes of "c 1:3 rwm", "c 136:* rw", "c *:* m", and deny for the rest. */
static const struct bpf_insn runc_like[] = {
	LDXW(2, 1, 0), ALU32(BPF_AND, 2, 0xffff), LDXW(3, 1, 0), ALU32(BPF_RSH, 3, 16),
	LDXW(4, 1, 4), LDXW(5, 1, 8),
	/* c 136:* rw */
	JMP(BPF_JNE, 2, BPF_DEVCG_DEV_CHAR, 6), ALU32X(BPF_MOV, 1, 3),
	ALU32(BPF_AND, 1, BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE), JMPX(BPF_JNE, 1, 3, 3),
	JMP(BPF_JNE, 4, 136, 2), ALU64(BPF_MOV, 0, 1), EXIT(),
	/* c 1:3 rwm */
	JMP(BPF_JNE, 2, BPF_DEVCG_DEV_CHAR, 4), JMP(BPF_JNE, 4, 1, 3), JMP(BPF_JNE, 5, 3, 2),
	ALU64(BPF_MOV, 0, 1), EXIT(),
	/* c *:* m */
	JMP(BPF_JNE, 2, BPF_DEVCG_DEV_CHAR, 5), ALU32X(BPF_MOV, 1, 3),
	ALU32(BPF_AND, 1, BPF_DEVCG_ACC_MKNOD),
	JMPX(BPF_JNE, 1, 3, 2), ALU64(BPF_MOV, 0, 1), EXIT(),
	ALU64(BPF_MOV, 0, 0), EXIT(),
};

/* clang-format on */

/* ---- Programs by chance ---- */

static struct bpf_insn random_insn(size_t left)
{
	static const unsigned ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR, BPF_AND,
				       BPF_LSH, BPF_RSH, BPF_XOR, BPF_MOV};
	static const unsigned tests[] = {BPF_JEQ, BPF_JNE, BPF_JGT,  BPF_JGE,
					 BPF_JLT, BPF_JLE, BPF_JSET, BPF_JA};
	static const int32_t numbers[] = {0, 1, 2, 3, 10, 136, 195, 229, 0xffff, -1, -8};
	unsigned dst = (unsigned)rand() % 6, src = (unsigned)rand() % 6;
	int32_t imm = numbers[(size_t)rand() % COUNT(numbers)];
	unsigned wide = rand() % 2 ? BPF_ALU64 : BPF_ALU, jmp = rand() % 2 ? BPF_JMP : BPF_JMP32;

	dst = dst == 1 ? 6 : dst;
	src = src == 1 ? 6 : src;
	if (rand() % 3 && left > 4) {
		unsigned op = tests[(size_t)rand() % COUNT(tests)];
		int16_t off = (int16_t)((size_t)rand() % (left - 3));
		if (op == BPF_JA)
			return JA(off);
		return rand() % 2 ? INSN((uint8_t)(jmp | op | BPF_K), dst, 0, off, imm)
				  : INSN((uint8_t)(jmp | op | BPF_X), dst, src, off, 0);
	}
	unsigned op = ops[(size_t)rand() % COUNT(ops)];
	if (op == BPF_LSH || op == BPF_RSH)
		return INSN((uint8_t)(wide | op | BPF_K), dst, 0, 0, imm & 31);
	return rand() % 2 ? INSN((uint8_t)(wide | op | BPF_K), dst, 0, 0, imm)
			  : INSN((uint8_t)(wide | op | BPF_X), dst, src, 0, 0);
}

/* All registers known, then anything, then an answer. */
static struct device_filter random_program(struct arena *arena)
{
	size_t n = 8 + (size_t)rand() % 40;
	struct bpf_insn *insns = arena_alloc_array(arena, n, sizeof(*insns));

	insns[0] = LDXW(2, 1, 0);
	insns[1] = LDXW(3, 1, 4);
	insns[2] = LDXW(4, 1, 8);
	insns[3] = ALU64(BPF_MOV, 0, 0);
	insns[4] = ALU64(BPF_MOV, 5, 1);
	insns[5] = ALU32(BPF_MOV, 6, 0);
	for (size_t i = 6; i < n - 2; i++)
		insns[i] = random_insn(n - i);
	insns[n - 2] = ALU64(BPF_AND, 0, 1);
	insns[n - 1] = EXIT();
	return (struct device_filter){.insns = insns, .n = n};
}
