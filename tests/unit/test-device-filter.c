/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs are judged by what they do: the interpreter of run-device-filter.h runs them over every
 * kind of access to a set of devices. The blinder below does to a program what the kernel does with
 * net.core.bpf_jit_harden=2. Programs made anew have a test of their own, test-device-filter-build.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device-filter.h"
#include "run-device-filter.h"
#include "write-device-filter.h"

#define RWM (DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD)

/* ---- Programs ---- */

/* clang-format off */

static const struct bpf_insn deny_all[] = {ALU64(BPF_MOV, 0, 0), EXIT()};
static const struct bpf_insn allow_all[] = {ALU64(BPF_MOV, 0, 1), EXIT()};

/*
 * Other forms of the same work: half words, 32-bit jumps, the stack, a register that callees keep.
 */
static const struct bpf_insn odd_forms[] = {
	ALU64X(BPF_MOV, 6, 1), LDXH(2, 6, 0), LDXW(3, 6, 4),
	INSN(BPF_STX | BPF_MEM | BPF_W, 10, 3, -4, 0),
	INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 42),
	LDXW(4, 10, -4), INSN(BPF_LDX | BPF_MEM | BPF_DW, 5, 10, -16, 0),
	JMPW(BPF_JEQ, 2, BPF_DEVCG_DEV_BLOCK, 3), JMP(BPF_JNE, 5, 42, 2),
	JMPW(BPF_JGE, 4, 11, 1), JA(2),
	ALU32(BPF_MOV, 0, 1), EXIT(), ALU32X(BPF_XOR, 3, 3), ALU32(BPF_MOV, 0, 0), EXIT(),
};

/* clang-format on */

/* ---- The kernel's blinding ---- */

static bool is_jump(const struct bpf_insn *in)
{
	unsigned class = BPF_CLASS(in->code), op = BPF_OP(in->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_EXIT && op != BPF_CALL;
}

static bool is_blinded_kind(const struct bpf_insn *in)
{
	unsigned op = BPF_OP(in->code);

	if (BPF_CLASS(in->code) == BPF_ST)
		return true;
	if (is_jump(in))
		return op != BPF_JA && BPF_SRC(in->code) == BPF_K;
	if (BPF_CLASS(in->code) != BPF_ALU && BPF_CLASS(in->code) != BPF_ALU64)
		return false;
	return BPF_SRC(in->code) == BPF_K && op != BPF_LSH && op != BPF_RSH && op != BPF_ARSH &&
	       op != BPF_NEG;
}

static size_t blind_one(const struct bpf_insn *in, struct bpf_insn *out)
{
	int32_t random = (int32_t)((unsigned)rand() * 2654435761u);
	unsigned class = BPF_CLASS(in->code) == BPF_ALU || BPF_CLASS(in->code) == BPF_JMP32
				 ? BPF_ALU
				 : BPF_ALU64;

	if (BPF_OP(in->code) == BPF_MOV && class == BPF_CLASS(in->code) &&
	    BPF_SRC(in->code) == BPF_K && !in->imm) {
		out[0] = ALU64X(BPF_XOR, in->dst_reg, in->dst_reg);
		return 1;
	}
	out[0] = *in;
	if (!is_blinded_kind(in))
		return 1;
	out[0] = INSN((uint8_t)(class | BPF_MOV | BPF_K), 11, 0, 0, random ^ in->imm);
	out[1] = INSN((uint8_t)(class | BPF_XOR | BPF_K), 11, 0, 0, random);
	out[2] = INSN((uint8_t)(in->code | BPF_X), in->dst_reg, 11, in->off, 0);
	if (BPF_CLASS(in->code) == BPF_ST)
		out[2].code = (uint8_t)(BPF_STX | BPF_MEM | BPF_SIZE(in->code));
	return 3;
}

static struct device_filter blind(struct arena *arena, const struct device_filter *filter)
{
	struct bpf_insn *out = arena_alloc_array(arena, 3 * filter->n, sizeof(*out));
	size_t *to = arena_alloc_array(arena, filter->n + 1, sizeof(*to)), n = 0;

	for (size_t i = 0; i < filter->n; i++) {
		to[i] = n;
		n += blind_one(&filter->insns[i], &out[n]);
	}
	to[filter->n] = n;
	for (size_t i = 0; i < filter->n; i++)
		if (is_jump(&filter->insns[i])) {
			size_t last = to[i + 1] - 1;
			out[last].off =
				(int16_t)(to[i + 1 + (size_t)filter->insns[i].off] - last - 1);
		}
	return (struct device_filter){.insns = out, .n = n};
}

/* ---- Questions to ask of programs ---- */

static struct device_filter allow(struct arena *arena, const struct device_filter *old,
				  const struct device_rule *rules, size_t n_rules)
{
	struct device_filter filter = {0};
	struct error err = {0};

	assert_int_equal(device_filter_check(old, &err), 0);
	assert_int_equal(device_filter_allow(arena, old, rules, n_rules, &filter, &err), 0);
	assert_int_equal(device_filter_check(&filter, &err), 0);
	return filter;
}

static unsigned rule_bits(const struct device_rule *rule)
{
	return (rule->access & DEVICE_READ ? BPF_DEVCG_ACC_READ : 0u) |
	       (rule->access & DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
	       (rule->access & DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u);
}

/* All bits that the rules give to a device, or -1 where none names it. */
static int granted(const struct device_rule *rules, size_t n_rules, const struct access *access)
{
	int bits = -1;

	for (size_t i = 0; i < n_rules; i++)
		if (rules[i].major == access->major && rules[i].minor == access->minor &&
		    (rules[i].type == 'b') == (access->type == BPF_DEVCG_DEV_BLOCK))
			bits = (bits < 0 ? 0 : bits) | (int)rule_bits(&rules[i]);
	return bits;
}

/*
 * `with` allows what the rules allow and what `without` allows, and nothing else, for all of a set
 * of accesses.
 */
static void assert_behaviour(const struct device_filter *with, const struct device_filter *without,
			     const struct device_rule *rules, size_t n_rules)
{
	static const uint32_t majors[] = {0, 1, 10, 11, 136, 195, 234, 235, 508, 4095};
	static const uint32_t minors[] = {0, 1, 3, 4, 11, 136, 229, 237, 254, 255, 1048575};

	for (unsigned type = BPF_DEVCG_DEV_BLOCK; type <= BPF_DEVCG_DEV_CHAR; type++)
		for (size_t i = 0; i < COUNT(majors); i++)
			for (size_t j = 0; j < COUNT(minors); j++)
				for (unsigned bits = 0; bits < 16; bits++) {
					struct access access = {type, bits, majors[i], minors[j]};
					int ours = granted(rules, n_rules, &access);
					bool expected = (ours >= 0 && !(bits & ~(unsigned)ours)) ||
							run(without, &access);
					assert_int_equal(run(with, &access), expected);
				}
}

static const struct device_filter olds[] = {
	{runc_like, COUNT(runc_like)},
	{deny_all, COUNT(deny_all)},
	{allow_all, COUNT(allow_all)},
	{odd_forms, COUNT(odd_forms)},
};

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	srand(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

/* ---- Rules in front ---- */

static void test_the_interpreter_itself(void **state)
{
	(void)state;
	assert_true(run(&olds[0], &(struct access){BPF_DEVCG_DEV_CHAR, 6, 136, 9}));
	assert_false(run(&olds[0], &(struct access){BPF_DEVCG_DEV_CHAR, 7, 136, 9}));
	assert_true(run(&olds[0], &(struct access){BPF_DEVCG_DEV_CHAR, 1, 99, 9}));
	assert_true(run(&olds[0], &(struct access){BPF_DEVCG_DEV_CHAR, 7, 1, 3}));
	assert_false(run(&olds[0], &(struct access){BPF_DEVCG_DEV_BLOCK, 7, 1, 3}));
	assert_true(run(&olds[3], &(struct access){BPF_DEVCG_DEV_BLOCK, 7, 1, 3}));
	assert_false(run(&olds[3], &(struct access){BPF_DEVCG_DEV_CHAR, 7, 1, 3}));
	assert_true(run(&olds[3], &(struct access){BPF_DEVCG_DEV_CHAR, 7, 11, 3}));
}

static void test_one_rule_with_each_access(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++)
		for (unsigned access = 1; access < 8; access++)
			for (unsigned type = 0; type < 2; type++) {
				struct device_rule rule = {.type = type ? 'c' : 'b',
							   .major = 10,
							   .minor = 229,
							   .access = access};
				struct device_filter with = allow(&arena, &olds[i], &rule, 1);
				assert_int_equal(with.n, olds[i].n + 12);
				assert_behaviour(&with, &olds[i], &rule, 1);
			}
}

static const struct device_rule several[] = {
	{.type = 'c', .major = 195, .minor = 255, .access = RWM},
	{.type = 'c', .major = 195, .minor = 0, .access = DEVICE_READ | DEVICE_WRITE},
	{.type = 'b', .major = 195, .minor = 0, .access = DEVICE_READ},
	{.type = 'c', .major = 10, .minor = 229, .access = DEVICE_MKNOD},
	{.type = 'c', .major = 4095, .minor = 1048575, .access = RWM},
	{.type = 'c', .major = 0, .minor = 0, .access = DEVICE_WRITE},
	/* The same device again: the bits add up, as in the device list of cgroup v1. */
	{.type = 'c', .major = 10, .minor = 229, .access = DEVICE_READ},
	{.type = 'c', .major = 195, .minor = 255, .access = RWM},
};

static void test_several_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++) {
		struct device_filter with = allow(&arena, &olds[i], several, COUNT(several));
		assert_int_equal(with.n, olds[i].n + 6 + 6 * 6);
		assert_behaviour(&with, &olds[i], several, COUNT(several));
	}
}

static void test_no_rules(void **state)
{
	struct device_filter filter;
	struct error err = {0};

	(void)state;
	assert_int_equal(device_filter_allow(&arena, &olds[0], NULL, 0, &filter, &err),
			 DEVICE_FILTER_UNCHANGED);
}

/* As many as a plan may hold. */
static void test_most_rules(void **state)
{
	struct device_rule *rules = arena_alloc_array(&arena, LIMIT_EDITS, sizeof(*rules));

	(void)state;
	for (uint32_t i = 0; i < LIMIT_EDITS; i++)
		rules[i] = (struct device_rule){.type = i % 2 ? 'c' : 'b',
						.major = i % 400,
						.minor = i,
						.access = 1 + i % 7};
	struct device_filter with = allow(&arena, &olds[1], rules, LIMIT_EDITS);
	assert_behaviour(&with, &olds[1], rules, LIMIT_EDITS);
	for (size_t i = 0; i < LIMIT_EDITS; i += 7)
		for (unsigned bits = 0; bits < 8; bits++) {
			struct access access = {rules[i].type == 'c' ? BPF_DEVCG_DEV_CHAR
								     : BPF_DEVCG_DEV_BLOCK,
						bits, rules[i].major, rules[i].minor};
			assert_int_equal(run(&with, &access), !(bits & ~rule_bits(&rules[i])));
		}
	struct device_filter again;
	struct error err = {0};
	assert_int_equal(device_filter_allow(&arena, &with, rules, LIMIT_EDITS, &again, &err),
			 DEVICE_FILTER_UNCHANGED);
}

static void test_too_many(void **state)
{
	struct device_rule *rules = arena_alloc_array(&arena, 5462, sizeof(*rules));
	struct bpf_insn *insns = arena_alloc_array(&arena, LIMIT_BPF_INSNS, sizeof(*insns));
	struct device_filter filter;
	struct error err = {0};

	(void)state;
	for (uint32_t i = 0; i < 5462; i++)
		rules[i] = (struct device_rule){.type = 'c', .major = 1, .minor = i, .access = RWM};
	assert_int_equal(device_filter_allow(&arena, &olds[1], rules, 5461, &filter, &err), 0);
	assert_behaviour(&filter, &olds[1], rules, 5461);
	assert_int_equal(device_filter_allow(&arena, &olds[1], rules, 5462, &filter, &err),
			 -EINVAL);
	assert_error(&err, EXIT_CODE_DONE,
		     "5462 device rules and a program of 2 instructions are too many");

	for (size_t i = 0; i < LIMIT_BPF_INSNS; i++)
		insns[i] = i % 2 ? deny_all[1] : deny_all[0];
	struct device_filter old = {.insns = insns, .n = LIMIT_BPF_INSNS - 12};
	assert_int_equal(device_filter_allow(&arena, &old, rules, 1, &filter, &err), 0);
	old.n++;
	assert_int_equal(device_filter_allow(&arena, &old, rules, 1, &filter, &err), -EINVAL);
}

static void test_numbers_that_no_device_has(void **state)
{
	struct device_rule rule = {.type = 'c', .major = 4096, .minor = 0, .access = RWM};
	struct device_filter filter;
	struct error err = {0};

	(void)state;
	assert_int_equal(device_filter_allow(&arena, &olds[0], &rule, 1, &filter, &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, "device c 4096:0: the kernel has no such number");
	rule = (struct device_rule){.type = 'b', .major = 4095, .minor = 1048576, .access = RWM};
	assert_int_equal(device_filter_allow(&arena, &olds[0], &rule, 1, &filter, &err), -EINVAL);
}

/* ---- A second time ---- */

static void test_twice_changes_nothing(void **state)
{
	struct device_filter again;
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++) {
		struct device_filter with = allow(&arena, &olds[i], several, COUNT(several));
		/* All of them, some, and less access than before. */
		assert_int_equal(
			device_filter_allow(&arena, &with, several, COUNT(several), &again, &err),
			DEVICE_FILTER_UNCHANGED);
		assert_int_equal(device_filter_allow(&arena, &with, several + 2, 3, &again, &err),
				 DEVICE_FILTER_UNCHANGED);
		struct device_rule less = {
			.type = 'c', .major = 195, .minor = 0, .access = DEVICE_READ};
		assert_int_equal(device_filter_allow(&arena, &with, &less, 1, &again, &err),
				 DEVICE_FILTER_UNCHANGED);
	}
}

static void test_other_rules_join_those_there(void **state)
{
	const struct device_rule both[] = {
		{.type = 'c', .major = 10, .minor = 229, .access = DEVICE_READ},
		{.type = 'b', .major = 1, .minor = 1, .access = DEVICE_WRITE},
		{.type = 'c', .major = 10, .minor = 229, .access = DEVICE_WRITE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++) {
		struct device_filter one = allow(&arena, &olds[i], both, 1);
		struct device_filter two = allow(&arena, &one, both + 1, 2);
		/* One front with two rules, not two fronts. */
		assert_int_equal(two.n, olds[i].n + 18);
		assert_behaviour(&two, &olds[i], both, 3);
		struct device_filter at_once = allow(&arena, &olds[i], both, 3);
		assert_int_equal(two.n, at_once.n);
		assert_memory_equal(two.insns, at_once.insns, two.n * sizeof(*two.insns));
	}
}

/*
 * A program that looks like ours in all but one place is somebody else's: nothing of it is taken
 * apart.
 */
static void test_almost_ours(void **state)
{
	struct device_filter with = allow(&arena, &olds[0], several, 3);
	struct bpf_insn *copy = arena_alloc_array(&arena, with.n, sizeof(*copy));
	struct device_filter almost = {.insns = copy, .n = with.n};

	(void)state;
	for (size_t i = 0; i < 6 + 3 * 6; i++) {
		memcpy(copy, with.insns, with.n * sizeof(*copy));
		copy[i].code ^= BPF_X;
		struct device_filter filter;
		struct error err = {0};
		assert_int_equal(device_filter_allow(&arena, &almost, several, 3, &filter, &err),
				 0);
		assert_int_equal(filter.n, with.n + 6 + 3 * 6);
		assert_memory_equal(filter.insns + 6 + 3 * 6, copy, with.n * sizeof(*copy));
	}
	/* Distances that lead out of the program, or to an odd place. */
	for (int off = -3; off < 60; off++) {
		memcpy(copy, with.insns, with.n * sizeof(*copy));
		/* The right one; and one rule before a program that begins like a rule. */
		if (off == copy[9].off || off == 2)
			continue;
		copy[9].off = (int16_t)off;
		struct device_filter filter;
		struct error err = {0};
		assert_int_equal(device_filter_allow(&arena, &almost, several, 3, &filter, &err),
				 0);
		assert_int_equal(filter.n, with.n + 6 + 3 * 6);
	}
	/* In another order. */
	memcpy(copy, with.insns, with.n * sizeof(*copy));
	copy[6 + 6 + 2].imm = 256;
	struct device_filter other;
	struct error none = {0};
	assert_int_equal(device_filter_allow(&arena, &almost, several, 3, &other, &none), 0);
	assert_int_equal(other.n, with.n + 6 + 3 * 6);
	/* Cut short anywhere. */
	for (size_t n = 1; n <= with.n; n++) {
		struct device_filter cut = {.insns = with.insns, .n = n}, filter;
		struct error err = {0};
		assert_true(device_filter_allow(&arena, &cut, several, 3, &filter, &err) >= 0);
	}
}

/* ---- What can be loaded again ---- */

static void assert_refused(const struct bpf_insn *insns, size_t n, const char *sentence)
{
	struct device_filter filter = {.insns = insns, .n = n};
	struct error err = {0};

	assert_int_equal(device_filter_check(&filter, &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, sentence);
}

#define ASSERT_REFUSED(sentence, ...)                                                              \
	do {                                                                                       \
		const struct bpf_insn insns_[] = {__VA_ARGS__};                                    \
		assert_refused(insns_, COUNT(insns_), sentence);                                   \
	} while (0)

static void test_check(void **state)
{
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++)
		assert_int_equal(device_filter_check(&olds[i], &err), 0);
	assert_refused(NULL, 0, "it is empty");
	ASSERT_REFUSED("its instruction 0 (0x85) calls a function",
		       INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 5), EXIT());
	ASSERT_REFUSED("its instruction 0 (0x18) refers to a map or another object of the kernel",
		       INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, 7),
		       INSN(0, 0, 0, 0, 0), EXIT());
	ASSERT_REFUSED("its instruction 1 (0x05) jumps backwards", ALU64(BPF_MOV, 0, 0), JA(-2),
		       EXIT());
	ASSERT_REFUSED("its instruction 1 (0x55) jumps backwards", ALU64(BPF_MOV, 0, 0),
		       JMP(BPF_JNE, 0, 1, -1), EXIT());
	ASSERT_REFUSED("its instruction 0 (0x05) jumps out of the program", JA(1), EXIT());
	ASSERT_REFUSED("its instruction 0 (0x06) jumps in a way that we don't know",
		       INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 1), EXIT(), EXIT());
	ASSERT_REFUSED("its instruction 0 (0xdb) accesses memory in a way that we don't know",
		       INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 1, -8, BPF_ADD), EXIT());
	ASSERT_REFUSED("its instruction 0 (0xb7) uses a register of the kernel's own",
		       ALU64(BPF_MOV, 11, 1), EXIT());
	ASSERT_REFUSED("its instruction 0 (0xbf) uses a register of the kernel's own",
		       ALU64X(BPF_MOV, 1, 12), EXIT());
}

/* ---- Blinding ---- */

static void assert_same(const struct device_filter *a, const struct device_filter *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->insns, b->insns, a->n * sizeof(*a->insns));
}

static void test_unblind(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++) {
		struct device_filter with = allow(&arena, &olds[i], several, COUNT(several));
		struct device_filter blinded = blind(&arena, &with), back;
		struct error err = {0};
		assert_true(blinded.n > with.n);
		assert_true(device_filter_check(&blinded, &err) < 0);
		assert_int_equal(device_filter_unblind(&arena, &blinded, &back, &err), 0);
		assert_int_equal(device_filter_check(&back, &err), 0);
		assert_behaviour(&back, &olds[i], several, COUNT(several));
	}
	/* Without r ^= r of its own the original comes back byte by byte. */
	struct device_filter blinded = blind(&arena, &olds[0]), back;
	struct error err = {0};
	assert_int_equal(device_filter_unblind(&arena, &blinded, &back, &err), 0);
	assert_same(&back, &olds[0]);
}

static void test_unblind_leaves_others_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(olds); i++) {
		struct device_filter back;
		struct error err = {0};
		assert_int_equal(device_filter_unblind(&arena, &olds[i], &back, &err), 0);
		assert_same(&back, &olds[i]);
	}
}

static void test_unblind_drops_zero_extensions(void **state)
{
	const struct bpf_insn shown[] = {
		LDXW(2, 1, 4),
		INSN(BPF_ALU | BPF_MOV | BPF_X, 2, 2, 0, 1),
		JMP(BPF_JNE, 2, 7, 2),
		ALU64(BPF_MOV, 0, 1),
		EXIT(),
		INSN(BPF_ALU | BPF_MOV | BPF_X, 2, 2, 0, 1),
		ALU64(BPF_MOV, 0, 0),
		EXIT(),
	};
	const struct bpf_insn meant[] = {
		LDXW(2, 1, 4), JMP(BPF_JNE, 2, 7, 2), ALU64(BPF_MOV, 0, 1),
		EXIT(),        ALU64(BPF_MOV, 0, 0),  EXIT(),
	};
	struct device_filter in = FILTER(shown), out = FILTER(meant), back;
	struct error err = {0};

	(void)state;
	assert_int_equal(device_filter_unblind(&arena, &in, &back, &err), 0);
	assert_same(&back, &out);
}

#define ASSERT_STAYS_BLIND(sentence, ...)                                                          \
	do {                                                                                       \
		const struct bpf_insn insns_[] = {__VA_ARGS__};                                    \
		struct device_filter in_ = FILTER(insns_), out_;                                   \
		struct error err_ = {0};                                                           \
		assert_int_equal(device_filter_unblind(&arena, &in_, &out_, &err_), -EINVAL);      \
		assert_error(&err_, EXIT_CODE_DONE, sentence);                                     \
	} while (0)

#define UNKNOWN_BLINDING(i)                                                                        \
	"its instruction " i " is blinded in an unknown way (net.core.bpf_jit_harden=2)"

static void test_unblind_refuses(void **state)
{
	const struct bpf_insn set = ALU64(BPF_MOV, 11, 5), mix = ALU64(BPF_XOR, 11, 6);

	(void)state;
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set);
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set, mix);
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set, EXIT(), EXIT());
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set, mix, ALU64(BPF_MOV, 0, 0));
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set, ALU32(BPF_XOR, 11, 6),
			   ALU64X(BPF_MOV, 0, 11));
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set, mix, ALU64X(BPF_MOV, 11, 11));
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("0"), set, mix, LDXW(0, 11, 0));
	ASSERT_STAYS_BLIND(UNKNOWN_BLINDING("1"), ALU64(BPF_MOV, 0, 0), ALU64X(BPF_MOV, 0, 11),
			   EXIT());
	ASSERT_STAYS_BLIND("its instruction 0 jumps to where no instruction begins", JA(1), set,
			   mix, ALU64X(BPF_MOV, 0, 11), EXIT());
	ASSERT_STAYS_BLIND("its instruction 0 jumps to where no instruction begins", JA(1), EXIT());
	ASSERT_STAYS_BLIND("its instruction 0 jumps to where no instruction begins", JA(-2),
			   EXIT());
}

/* ---- Programs by chance ---- */

static void test_random_programs(void **state)
{
	static const struct device_rule rules[] = {
		{.type = 'c', .major = 195, .minor = 0, .access = DEVICE_READ},
		{.type = 'b', .major = 10, .minor = 229, .access = RWM},
	};

	(void)state;
	for (int i = 0; i < 300; i++) {
		arena_done(&arena);
		struct device_filter old = random_program(&arena),
				     with = allow(&arena, &old, rules, COUNT(rules));
		struct device_filter blinded = blind(&arena, &with), back, again;
		struct error err = {0};
		assert_behaviour(&with, &old, rules, COUNT(rules));
		assert_int_equal(device_filter_unblind(&arena, &blinded, &back, &err), 0);
		assert_behaviour(&back, &old, rules, COUNT(rules));
		assert_int_equal(
			device_filter_allow(&arena, &back, rules, COUNT(rules), &again, &err),
			DEVICE_FILTER_UNCHANGED);
	}
}

/* Bytes by chance: nothing to prove but that nobody reads or writes where there is nothing. */
static void test_random_bytes(void **state)
{
	static const uint8_t codes[] = {0xb7, 0xa7, 0xbf, 0xaf, 0x15, 0x55, 0x05,
					0x45, 0x95, 0x63, 0xb4, 0xa4, 0xbc, 0x1d};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct bpf_insn insns[32];
		struct device_filter in = {.insns = insns, .n = (size_t)rand() % 33}, plain, out;
		struct error err = {0};
		arena_done(&arena);
		for (size_t j = 0; j < in.n; j++)
			insns[j] =
				INSN(codes[(size_t)rand() % COUNT(codes)], rand() % 2 ? 11 : rand(),
				     rand() % 2 ? 11 : 0, (int16_t)(rand() % 70 - 8), rand());
		if (device_filter_unblind(&arena, &in, &plain, &err) == 0 &&
		    device_filter_check(&plain, &err) == 0)
			assert_true(device_filter_allow(&arena, &plain, several, 2, &out, &err) >=
				    0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_interpreter_itself),
		cmocka_unit_test(test_one_rule_with_each_access),
		cmocka_unit_test(test_several_rules),
		cmocka_unit_test(test_no_rules),
		cmocka_unit_test(test_most_rules),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_numbers_that_no_device_has),
		cmocka_unit_test(test_twice_changes_nothing),
		cmocka_unit_test(test_other_rules_join_those_there),
		cmocka_unit_test(test_almost_ours),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_unblind),
		cmocka_unit_test(test_unblind_leaves_others_alone),
		cmocka_unit_test(test_unblind_drops_zero_extensions),
		cmocka_unit_test(test_unblind_refuses),
		cmocka_unit_test(test_random_programs),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
