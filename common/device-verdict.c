/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter for the few instructions that device programs consist of. They read the question (what kind of access to
 * which device), compare, and answer; jumps lead forward, so each program ends. What only a kernel could know (a map, the
 * result of a call, memory) has no value here, and a program whose answer depends on that is not judged.
 */
#include "device-verdict.h"

#include <string.h>

#define N_REGISTERS 11

enum value_kind { VALUE_NONE, VALUE_NUMBER, VALUE_QUESTION };

struct value {
	enum value_kind kind;
	uint64_t number;
};

struct machine {
	struct bpf_cgroup_dev_ctx question;
	struct value registers[N_REGISTERS];
};

static int cannot_follow(const struct device_filter *filter, size_t i, struct error *err)
{
	return error_set(err, 0, "its instruction %zu (0x%02x) cannot be followed", i,
			 filter->insns[i].code);
}

/* The second operand: a register, or the constant, which is extended with its sign. */
static struct value operand(const struct machine *machine, const struct bpf_insn *in)
{
	if (BPF_SRC(in->code) == BPF_X)
		return machine->registers[in->src_reg];
	return (struct value){VALUE_NUMBER, (uint64_t)(int64_t)in->imm};
}

/* ---- Loads ---- */

static bool do_load(struct machine *machine, const struct bpf_insn *in)
{
	static const size_t sizes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8};
	const size_t size = sizes[BPF_SIZE(in->code) >> 3];
	const char *from = (const char *)&machine->question;
	uint8_t byte;
	uint16_t half;
	uint32_t word;

	if (BPF_MODE(in->code) != BPF_MEM ||
	    machine->registers[in->src_reg].kind != VALUE_QUESTION || in->off < 0 || size == 8 ||
	    (size_t)in->off + size > sizeof(machine->question))
		return false;
	struct value *to = &machine->registers[in->dst_reg];
	from += in->off;
	to->kind = VALUE_NUMBER;
	if (size == 1) {
		memcpy(&byte, from, size);
		to->number = byte;
	} else if (size == 2) {
		memcpy(&half, from, size);
		to->number = half;
	} else {
		memcpy(&word, from, size);
		to->number = word;
	}
	return true;
}

/* ---- Arithmetic ---- */

/* What dividing by zero gives is the kernel's rule: nothing, or the number itself. */
static bool compute(unsigned op, bool wide, uint64_t a, uint64_t b, uint64_t *ret)
{
	const unsigned shift = (unsigned)(b & (wide ? 63 : 31));

	switch (op) {
	case BPF_ADD:
		*ret = a + b;
		return true;
	case BPF_SUB:
		*ret = a - b;
		return true;
	case BPF_MUL:
		*ret = a * b;
		return true;
	case BPF_DIV:
		*ret = b ? a / b : 0;
		return true;
	case BPF_MOD:
		*ret = b ? a % b : a;
		return true;
	case BPF_OR:
		*ret = a | b;
		return true;
	case BPF_AND:
		*ret = a & b;
		return true;
	case BPF_XOR:
		*ret = a ^ b;
		return true;
	case BPF_LSH:
		*ret = a << shift;
		return true;
	case BPF_RSH:
		*ret = a >> shift;
		return true;
	case BPF_ARSH:
		*ret = wide ? (uint64_t)((int64_t)a >> shift)
			    : (uint64_t)((int32_t)(uint32_t)a >> shift);
		return true;
	case BPF_NEG:
		*ret = 0 - a;
		return true;
	default:
		return false;
	}
}

static bool do_arithmetic(struct machine *machine, const struct bpf_insn *in)
{
	const bool wide = BPF_CLASS(in->code) == BPF_ALU64;
	struct value *to = &machine->registers[in->dst_reg];
	struct value other = operand(machine, in);
	uint64_t a = to->number, b = other.number;

	/* Newer kernels have signed forms, which say so here. */
	if (in->off)
		return false;
	if (BPF_OP(in->code) == BPF_MOV) {
		*to = other;
		to->number &= wide ? UINT64_MAX : UINT32_MAX;
		/* An address fits into no half. */
		return wide || other.kind == VALUE_NUMBER;
	}
	/* What the kernel makes of "= 0". */
	if (BPF_OP(in->code) == BPF_XOR && BPF_SRC(in->code) == BPF_X && in->src_reg == in->dst_reg)
		*to = other = (struct value){.kind = VALUE_NUMBER}, a = b = 0;
	if (to->kind != VALUE_NUMBER || other.kind != VALUE_NUMBER) {
		/* An unknown number stays one; it matters only if the answer depends on it. */
		to->kind = VALUE_NONE;
		return true;
	}
	if (!wide) {
		a &= UINT32_MAX;
		b &= UINT32_MAX;
	}
	if (!compute(BPF_OP(in->code), wide, a, b, &to->number))
		return false;
	if (!wide)
		to->number &= UINT32_MAX;
	return true;
}

/* ---- Jumps ---- */

/* 1 or 0, or -1 for a comparison that is unknown. */
static int compare(unsigned op, uint64_t a, uint64_t b, int64_t signed_a, int64_t signed_b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return (a & b) != 0;
	case BPF_JSGT:
		return signed_a > signed_b;
	case BPF_JSGE:
		return signed_a >= signed_b;
	case BPF_JSLT:
		return signed_a < signed_b;
	case BPF_JSLE:
		return signed_a <= signed_b;
	default:
		return -1;
	}
}

/* As compare(): whether the jump is taken. */
static int takes_jump(const struct machine *machine, const struct bpf_insn *in)
{
	const bool wide = BPF_CLASS(in->code) == BPF_JMP;
	const struct value a = machine->registers[in->dst_reg], b = operand(machine, in);

	if (in->code == (BPF_JMP | BPF_JA))
		return 1;
	if (a.kind != VALUE_NUMBER || b.kind != VALUE_NUMBER)
		return -1;
	if (wide)
		return compare(BPF_OP(in->code), a.number, b.number, (int64_t)a.number,
			       (int64_t)b.number);
	return compare(BPF_OP(in->code), (uint32_t)a.number, (uint32_t)b.number,
		       (int32_t)(uint32_t)a.number, (int32_t)(uint32_t)b.number);
}

/* ---- Running ---- */

/* 1: it allows that; 0: it refuses. */
static int answer(const struct device_filter *filter, struct machine *machine, struct error *err)
{
	machine->registers[BPF_REG_1].kind = VALUE_QUESTION;
	for (size_t i = 0; i < filter->n; i++) {
		const struct bpf_insn *in = &filter->insns[i];
		bool known = in->dst_reg < N_REGISTERS && in->src_reg < N_REGISTERS;
		int jumps = 0;
		if (known && in->code == (BPF_JMP | BPF_EXIT)) {
			if (machine->registers[BPF_REG_0].kind != VALUE_NUMBER)
				return cannot_follow(filter, i, err);
			return (int)(machine->registers[BPF_REG_0].number & 1);
		}
		switch (BPF_CLASS(in->code)) {
		case BPF_LDX:
			known = known && do_load(machine, in);
			break;
		case BPF_ALU:
		case BPF_ALU64:
			known = known && do_arithmetic(machine, in);
			break;
		case BPF_JMP:
		case BPF_JMP32:
			jumps = known ? takes_jump(machine, in) : -1;
			known = jumps >= 0 && in->off >= 0;
			break;
		default:
			known = false;
		}
		if (!known)
			return cannot_follow(filter, i, err);
		if (jumps)
			i += (size_t)in->off;
	}
	return error_set(err, 0, "it ends without an answer");
}

static int ask(const struct device_filter *filter, const struct device_rule *rule, unsigned access,
	       struct error *err)
{
	const unsigned kernels = (access & DEVICE_READ ? BPF_DEVCG_ACC_READ : 0u) |
				 (access & DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
				 (access & DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u);
	const unsigned type = rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
	struct machine machine = {
		.question = {.access_type = kernels << 16 | type,
			     .major = rule->major,
			     .minor = rule->minor},
	};

	return answer(filter, &machine, err);
}

int device_verdict(const struct device_filter *filter, const struct device_rule *rule,
		   unsigned *ret_refused, struct error *err)
{
	static const unsigned questions[] = {DEVICE_READ, DEVICE_WRITE, DEVICE_READ | DEVICE_WRITE,
					     DEVICE_MKNOD};

	*ret_refused = 0;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		if (questions[i] & ~rule->access)
			continue;
		int r = ask(filter, rule, questions[i], err);
		if (r < 0)
			return r;
		if (r == 0)
			*ret_refused |= questions[i];
	}
	return 0;
}

bool device_verdict_allows(const struct device_filter *filter, const struct device_rule *rule)
{
	struct error ignored = {0};

	for (unsigned access = 1; access <= rule->access; access++)
		if (!(access & ~rule->access) && ask(filter, rule, access, &ignored) <= 0)
			return false;
	return rule->access != 0;
}
