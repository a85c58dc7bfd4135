/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A small interpreter of device programs: would the kernel allow this access? Included behind unit.h. */
#include <stdbool.h>
#include <string.h>

#include "device-filter.h"

struct access {
	unsigned type, bits;
	uint32_t major, minor;
};

/* clang-format off */
static uint64_t alu(unsigned op, uint64_t a, uint64_t b, bool wide)
{
	const unsigned mask = wide ? 63 : 31;

	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_LSH: return a << (b & mask);
	case BPF_RSH: return (wide ? a : (uint32_t)a) >> (b & mask);
	case BPF_XOR: return a ^ b;
	case BPF_MOV: return b;
	case BPF_NEG: return -a;
	default: fail_msg("arithmetic 0x%x", op); return 0;
	}
}

static bool jumps(unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case BPF_JA: return true;
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSET: return a & b;
	case BPF_JSGT: return (int64_t)a > (int64_t)b;
	default: fail_msg("jump 0x%x", op); return false;
	}
}

static size_t width(unsigned code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B: return 1;
	case BPF_H: return 2;
	case BPF_W: return 4;
	default: return 8;
	}
}

/* clang-format on */

struct machine {
	uint64_t reg[12]; /* with the kernel's own */
	bool set[12];     /* the verifier refuses to read what was never written; so do we */
	struct bpf_cgroup_dev_ctx ctx;
	unsigned char stack[64];
};

static uint64_t get(const struct machine *m, unsigned reg)
{
	assert_true(m->set[reg]);
	return m->reg[reg];
}

static void put(struct machine *m, unsigned reg, uint64_t value)
{
	m->reg[reg] = value;
	m->set[reg] = true;
}

/* Memory that `size` bytes at register + offset lie in; only the context and the stack exist. */
static unsigned char *memory(struct machine *m, unsigned reg, int off, size_t size)
{
	uintptr_t at = (uintptr_t)get(m, reg) + (uintptr_t)(intptr_t)off;
	uintptr_t ctx = (uintptr_t)&m->ctx, stack = (uintptr_t)m->stack;

	assert_true((at >= ctx && at + size <= ctx + sizeof(m->ctx)) ||
		    (at >= stack && at + size <= stack + sizeof(m->stack)));
	return (unsigned char *)at;
}

static void step_memory(struct machine *m, const struct bpf_insn *in)
{
	uint64_t value = 0;
	size_t size = width(in->code);

	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
		memcpy(&value, memory(m, in->src_reg, in->off, size), size);
		put(m, in->dst_reg, value);
		break;
	case BPF_STX:
		value = get(m, in->src_reg);
		memcpy(memory(m, in->dst_reg, in->off, size), &value, size);
		break;
	default:
		value = (uint64_t)(int64_t)in->imm;
		memcpy(memory(m, in->dst_reg, in->off, size), &value, size);
	}
}

static void step_alu(struct machine *m, const struct bpf_insn *in)
{
	bool wide = BPF_CLASS(in->code) == BPF_ALU64;
	uint64_t b = BPF_SRC(in->code) == BPF_X ? get(m, in->src_reg) : (uint64_t)(int64_t)in->imm;
	uint64_t a = BPF_OP(in->code) == BPF_MOV ? 0 : get(m, in->dst_reg);
	uint64_t value = alu(BPF_OP(in->code), a, b, wide);

	put(m, in->dst_reg, wide ? value : (uint32_t)value);
}

static bool step_jump(const struct machine *m, const struct bpf_insn *in)
{
	if (in->code == (BPF_JMP | BPF_JA))
		return true;
	uint64_t a = get(m, in->dst_reg);
	uint64_t b = BPF_SRC(in->code) == BPF_X ? get(m, in->src_reg) : (uint64_t)(int64_t)in->imm;
	if (BPF_CLASS(in->code) == BPF_JMP32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	return jumps(BPF_OP(in->code), a, b);
}

static bool run(const struct device_filter *filter, const struct access *access)
{
	struct machine m = {
		.ctx = {access->bits << 16 | access->type, access->major, access->minor}};
	size_t pc = 0;

	put(&m, 1, (uintptr_t)&m.ctx);
	put(&m, 10, (uintptr_t)m.stack + sizeof(m.stack));
	for (;;) {
		assert_true(pc < filter->n);
		const struct bpf_insn *in = &filter->insns[pc++];
		if (in->code == (BPF_JMP | BPF_EXIT))
			return get(&m, 0);
		switch (BPF_CLASS(in->code)) {
		case BPF_ALU:
		case BPF_ALU64:
			step_alu(&m, in);
			break;
		case BPF_JMP:
		case BPF_JMP32:
			if (step_jump(&m, in))
				pc += (size_t)(ssize_t)in->off;
			break;
		default:
			step_memory(&m, in);
		}
	}
}
