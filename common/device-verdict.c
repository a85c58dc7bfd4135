/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a device program on one question, as the kernel's interpreter would. It knows what the
 * programs of runc, crun, youki and systemd are made of: they read the three words of the question,
 * calculate with constants, compare and jump. Whatever else there is ends it without an answer:
 * nothing is lost then but that our rules are put in front of a program that had no need of them.
 */
#include "device-verdict.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/types.h>

enum content { UNSET, NUMBER, QUESTION };

struct reg {
	enum content content;
	uint64_t value;
};

struct machine {
	struct reg regs[MAX_BPF_REG];
	struct bpf_cgroup_dev_ctx question;
};

/* The right side of a calculation or comparison: a register or the instruction's constant. */
static bool operand(const struct machine *m, const struct bpf_insn *in, struct reg *ret)
{
	if (BPF_SRC(in->code) == BPF_X)
		*ret = m->regs[in->src_reg];
	else
		*ret = (struct reg){NUMBER, (uint64_t)(int64_t)in->imm};
	return ret->content != UNSET;
}

static bool load(struct machine *m, const struct bpf_insn *in)
{
	const size_t size = BPF_SIZE(in->code) == BPF_W   ? 4
			    : BPF_SIZE(in->code) == BPF_H ? 2
			    : BPF_SIZE(in->code) == BPF_B ? 1
							  : 0;
	uint16_t half = 0;
	uint32_t word = 0;

	if (BPF_MODE(in->code) != BPF_MEM || m->regs[in->src_reg].content != QUESTION ||
	    size == 0 || in->off < 0 || (size_t)in->off + size > sizeof(m->question))
		return false;
	const unsigned char *at = (const unsigned char *)&m->question + in->off;
	memcpy(&half, at, size == 2 ? 2 : 0);
	memcpy(&word, at, size == 4 ? 4 : 0);
	m->regs[in->dst_reg] = (struct reg){NUMBER, size == 4 ? word : size == 2 ? half : *at};
	return true;
}

static bool calculate(struct machine *m, const struct bpf_insn *in)
{
	const bool wide = BPF_CLASS(in->code) == BPF_ALU64;
	struct reg *left = &m->regs[in->dst_reg];
	struct reg right;

	/* What the kernel makes of "= 0". */
	if (BPF_OP(in->code) == BPF_XOR && BPF_SRC(in->code) == BPF_X && in->src_reg == in->dst_reg)
		*left = (struct reg){.content = NUMBER};
	if (!operand(m, in, &right))
		return false;
	if (BPF_OP(in->code) == BPF_MOV && in->off == 0) {
		*left = right;
		/* An address fits into no half. */
		if (!wide && right.content != NUMBER)
			return false;
	} else if (left->content != NUMBER || right.content != NUMBER || in->off != 0) {
		return false;
	} else if (BPF_OP(in->code) == BPF_AND) {
		left->value &= right.value;
	} else if (BPF_OP(in->code) == BPF_OR) {
		left->value |= right.value;
	} else if (BPF_OP(in->code) == BPF_XOR) {
		left->value ^= right.value;
	} else if (BPF_OP(in->code) == BPF_RSH && right.value < (wide ? 64 : 32)) {
		left->value = (wide ? left->value : (uint32_t)left->value) >> right.value;
	} else if (BPF_OP(in->code) == BPF_LSH && right.value < (wide ? 64 : 32)) {
		left->value <<= right.value;
	} else {
		return false;
	}
	if (!wide)
		left->value = (uint32_t)left->value;
	return true;
}

/* Whether the jump is taken, in `*ret`. */
static bool compare(const struct machine *m, const struct bpf_insn *in, bool *ret)
{
	const bool wide = BPF_CLASS(in->code) == BPF_JMP;
	const struct reg *left = &m->regs[in->dst_reg];
	struct reg right;

	if (BPF_OP(in->code) == BPF_JA) {
		*ret = true;
		return wide;
	}
	if (!operand(m, in, &right) || left->content != NUMBER || right.content != NUMBER)
		return false;
	const uint64_t a = wide ? left->value : (uint32_t)left->value;
	const uint64_t b = wide ? right.value : (uint32_t)right.value;
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		*ret = a == b;
		return true;
	case BPF_JNE:
		*ret = a != b;
		return true;
	case BPF_JGT:
		*ret = a > b;
		return true;
	case BPF_JGE:
		*ret = a >= b;
		return true;
	case BPF_JLT:
		*ret = a < b;
		return true;
	case BPF_JLE:
		*ret = a <= b;
		return true;
	case BPF_JSET:
		*ret = a & b;
		return true;
	default:
		return false;
	}
}

/* One instruction that is no exit. `*pc` is behind it already. */
static bool step(struct machine *m, const struct bpf_insn *in, size_t *pc)
{
	bool taken = false;

	if (in->dst_reg >= MAX_BPF_REG || in->src_reg >= MAX_BPF_REG)
		return false;
	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
		return load(m, in);
	case BPF_ALU:
	case BPF_ALU64:
		return calculate(m, in);
	case BPF_JMP:
	case BPF_JMP32:
		if (!compare(m, in, &taken))
			return false;
		if (taken)
			*pc += (size_t)(ssize_t)in->off;
		return true;
	default:
		return false;
	}
}

/* What the kernel would be told: whether the program's result is not 0. False without an answer. */
static bool says_yes(const struct device_filter *filter, const struct device_rule *rule,
		     unsigned access)
{
	const unsigned type = rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
	struct machine m = {
		.regs[BPF_REG_1] = {.content = QUESTION},
		.question = {access << 16 | type, rule->major, rule->minor},
	};
	size_t pc = 0;

	/* It ends: every step, a jump too, goes forward. */
	while (pc < filter->n) {
		const struct bpf_insn *in = &filter->insns[pc++];

		if (in->code == (BPF_JMP | BPF_EXIT))
			return m.regs[BPF_REG_0].content == NUMBER && m.regs[BPF_REG_0].value != 0;
		if (!step(&m, in, &pc))
			return false;
	}
	return false;
}

bool device_verdict_allows(const struct device_filter *filter, const struct device_rule *rule)
{
	const unsigned all = (rule->access & DEVICE_READ ? BPF_DEVCG_ACC_READ : 0u) |
			     (rule->access & DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
			     (rule->access & DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u);

	for (unsigned access = 1; access <= all; access++)
		if (!(access & ~all) && !says_yes(filter, rule, access))
			return false;
	return all != 0;
}
