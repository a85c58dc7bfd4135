/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device program decides about each open and mknod in its cgroup. All programs of a cgroup and of
 * its ancestors must agree, so one more program can only take away: to allow a device, the
 * runtime's own program has to be changed. We put our rules in front of its instructions. A device
 * that a rule names, with access within the rule's, is allowed there; everything else falls through
 * to the instructions of the runtime, which find register 1 as they expect it.
 *
 *	r2 = type of device        r4 = major
 *	r3 = access asked for      r5 = minor
 *	rule:   if r2 != TYPE goto next rule with another type
 *	        if r4 != MAJOR goto next rule with another major
 *	        if r5 != MINOR goto next rule
 *	        if r3 has more bits than ACCESS goto old program
 *	        r0 = 1
 *	        exit
 *	        ... one block for each rule, sorted, no device twice; where there is no next rule:
 *	old program
 *
 * All blocks have one size, so our rules can be found again in a program that carries them. The
 * order and the jumps are for the kernel's verifier, which follows every path: with jumps to the
 * next block only it gives up at a thousand rules of different majors.
 */
#include "device-filter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"

#define HEAD_SIZE 6
#define BLOCK_SIZE 6
#define FRONT_SIZE(n_blocks) (HEAD_SIZE + (n_blocks)*BLOCK_SIZE)
/* Where in a block the jump to the old program stands. */
#define TEST_ACCESS 3
/* A jump's distance has 16 bits, and the first block has to reach the old program. */
#define MAX_BLOCKS (INT16_MAX / BLOCK_SIZE)

/* A rule in the kernel's terms. */
struct block {
	unsigned type; /* BPF_DEVCG_DEV_* */
	uint32_t major, minor;
	unsigned access; /* BPF_DEVCG_ACC_* */
};

struct block_list {
	struct block *items;
	size_t n, cap;
};

/* By device: two blocks that compare equal are about the same one. */
static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	return 0;
}

/* ---- Writing ---- */

static struct bpf_insn insn(unsigned code, unsigned dst, unsigned src, int off, uint32_t imm)
{
	return (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = dst & 15,
		.src_reg = src & 15,
		.off = (int16_t)off,
		.imm = (int32_t)imm,
	};
}

static struct bpf_insn load(unsigned dst, size_t offset)
{
	return insn(BPF_LDX | BPF_MEM | BPF_W, dst, BPF_REG_1, (int)offset, 0);
}

static struct bpf_insn jump_if(unsigned op, unsigned reg, uint32_t imm, size_t distance)
{
	return insn(BPF_JMP | op | BPF_K, reg, 0, (int)distance, imm);
}

static void write_head(struct bpf_insn *out)
{
	out[0] = load(BPF_REG_2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
	out[1] = insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_2, 0, 0);
	out[2] = insn(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff);
	out[3] = insn(BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_3, 0, 0, 16);
	out[4] = load(BPF_REG_4, offsetof(struct bpf_cgroup_dev_ctx, major));
	out[5] = load(BPF_REG_5, offsetof(struct bpf_cgroup_dev_ctx, minor));
}

/* Blocks that one block jumps to; their number stands for the old program. */
struct targets {
	size_t type, major, minor, old;
};

static void write_block(struct bpf_insn *out, const struct block *block, size_t index,
			const struct targets *targets)
{
	const size_t from = index * BLOCK_SIZE + 1;

	out[0] = jump_if(BPF_JNE, BPF_REG_2, block->type, targets->type * BLOCK_SIZE - from);
	out[1] = jump_if(BPF_JNE, BPF_REG_4, block->major, targets->major * BLOCK_SIZE - from - 1);
	out[2] = jump_if(BPF_JNE, BPF_REG_5, block->minor, targets->minor * BLOCK_SIZE - from - 2);
	out[TEST_ACCESS] = jump_if(BPF_JSET, BPF_REG_3, ~block->access,
				   targets->old * BLOCK_SIZE - from - TEST_ACCESS);
	out[4] = insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
	out[5] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/*
 * All that stands before the old program: FRONT_SIZE(blocks->n) instructions. Last block first:
 * jumps lead forward.
 */
static void write_front(struct bpf_insn *out, const struct block_list *blocks)
{
	const size_t n = blocks->n;
	struct targets targets = {.old = n};

	write_head(out);
	for (size_t i = n; i-- > 0;) {
		const struct block *block = &blocks->items[i], *next = i + 1 < n ? block + 1 : NULL;
		bool same_type = next && next->type == block->type;
		bool same_major = same_type && next->major == block->major;
		if (!same_type)
			targets.type = i + 1;
		if (!same_major)
			targets.major = same_type ? i + 1 : n;
		targets.minor = same_major ? i + 1 : n;
		write_block(out + HEAD_SIZE + i * BLOCK_SIZE, block, i, &targets);
	}
}

/* ---- Finding our rules again ---- */

/*
 * Number of blocks that a program begins with if it carries our rules: its first jump to the old
 * program tells.
 */
static size_t count_blocks(const struct device_filter *filter)
{
	const size_t behind = HEAD_SIZE + TEST_ACCESS + 1;

	if (filter->n < FRONT_SIZE(1))
		return 0;
	int distance = filter->insns[behind - 1].off;
	if (distance < 0 || behind + (size_t)distance > filter->n)
		return 0;
	return (behind + (size_t)distance - HEAD_SIZE) / BLOCK_SIZE;
}

/*
 * The rules that `filter` begins with, if that is exactly what we write for these rules. `*ret_end`
 * is where the old program begins behind them: 0 where it doesn't carry any.
 */
static int read_front(struct arena *arena, const struct device_filter *filter,
		      struct block_list *ret_blocks, size_t *ret_end, struct error *err)
{
	size_t n = count_blocks(filter);

	*ret_blocks = (struct block_list){0};
	*ret_end = 0;
	if (!n)
		return 0;
	struct bpf_insn *expected = arena_alloc_array(arena, FRONT_SIZE(n), sizeof(*expected));
	if (!expected)
		return error_memory(err);
	bool sorted = true;
	for (size_t i = 0; i < n; i++) {
		const struct bpf_insn *in = filter->insns + HEAD_SIZE + i * BLOCK_SIZE;
		struct block *block = array_add(arena, ret_blocks);
		if (!block)
			return error_memory(err);
		*block = (struct block){
			.type = (unsigned)in[0].imm,
			.major = (uint32_t)in[1].imm,
			.minor = (uint32_t)in[2].imm,
			.access = ~(unsigned)in[TEST_ACCESS].imm,
		};
		sorted = sorted && (i == 0 || compare_blocks(block - 1, block) < 0);
	}
	write_front(expected, ret_blocks);
	if (sorted && memcmp(filter->insns, expected, FRONT_SIZE(n) * sizeof(*expected)) == 0)
		*ret_end = FRONT_SIZE(n);
	else
		ret_blocks->n = 0;
	return 0;
}

/* ---- Merging ---- */

static bool covers(const struct block_list *blocks, const struct block *wanted)
{
	for (size_t i = 0; i < blocks->n; i++)
		if (compare_blocks(&blocks->items[i], wanted) == 0)
			return !(wanted->access & ~blocks->items[i].access);
	return false;
}

static unsigned kernel_access(unsigned access)
{
	return (access & DEVICE_READ ? BPF_DEVCG_ACC_READ : 0u) |
	       (access & DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
	       (access & DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u);
}

static int block_from_rule(const struct device_rule *rule, struct block *ret_block,
			   struct error *err)
{
	/*
	 * Comparisons extend the sign of their constant, so a number of 32 bits would never match.
	 */
	if (rule->major > DEVICE_MAJOR_MAX || rule->minor > DEVICE_MINOR_MAX)
		return error_set(err, 0, "device %c %u:%u: the kernel has no such number",
				 rule->type, rule->major, rule->minor);
	*ret_block = (struct block){
		.type = rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR,
		.major = rule->major,
		.minor = rule->minor,
		.access = kernel_access(rule->access),
	};
	return 0;
}

/* Sorts and joins what stands for one device. */
static void merge_blocks(struct block_list *blocks)
{
	size_t n = 0;

	qsort(blocks->items, blocks->n, sizeof(*blocks->items), compare_blocks);
	for (size_t i = 0; i < blocks->n; i++) {
		if (n && compare_blocks(&blocks->items[n - 1], &blocks->items[i]) == 0)
			blocks->items[n - 1].access |= blocks->items[i].access;
		else
			blocks->items[n++] = blocks->items[i];
	}
	blocks->n = n;
}

static int assemble(struct arena *arena, const struct block_list *blocks,
		    const struct device_filter *old, struct device_filter *ret_filter,
		    struct error *err)
{
	size_t front = FRONT_SIZE(blocks->n);

	if (blocks->n > MAX_BLOCKS || old->n > LIMIT_BPF_INSNS - front)
		return error_set(err, 0,
				 "%zu device rules and a program of %zu instructions are too many",
				 blocks->n, old->n);
	struct bpf_insn *insns = arena_alloc_array(arena, front + old->n, sizeof(*insns));
	if (!insns)
		return error_memory(err);
	write_front(insns, blocks);
	memcpy(insns + front, old->insns, old->n * sizeof(*insns));
	*ret_filter = (struct device_filter){.insns = insns, .n = front + old->n};
	return 0;
}

int device_filter_allow(struct arena *arena, const struct device_filter *old,
			const struct device_rule *rules, size_t n_rules,
			struct device_filter *ret_filter, struct error *err)
{
	struct block_list blocks;
	bool all_there = true;
	size_t end;

	int r = read_front(arena, old, &blocks, &end, err);
	if (r < 0)
		return r;
	const struct block_list there = blocks;
	for (size_t i = 0; i < n_rules; i++) {
		struct block wanted;
		r = block_from_rule(&rules[i], &wanted, err);
		if (r < 0)
			return r;
		if (covers(&there, &wanted))
			continue;
		all_there = false;
		struct block *block = array_add(arena, &blocks);
		if (!block)
			return error_memory(err);
		*block = wanted;
	}
	if (all_there)
		return DEVICE_FILTER_UNCHANGED;
	merge_blocks(&blocks);
	const struct device_filter rest = {.insns = old->insns + end, .n = old->n - end};
	return assemble(arena, &blocks, &rest, ret_filter, err);
}

/* ---- Can it be loaded again? ---- */

/* A conditional or plain jump whose distance is in `off`. */
static bool is_jump(const struct bpf_insn *in)
{
	unsigned op = BPF_OP(in->code);

	switch (BPF_CLASS(in->code)) {
	case BPF_JMP:
		return op != BPF_CALL && op != BPF_EXIT;
	case BPF_JMP32:
		return op != BPF_CALL && op != BPF_EXIT && op != BPF_JA;
	default:
		return false;
	}
}

/* Why instruction `i` cannot be loaded again behind others, or NULL. */
static const char *problem_of(const struct device_filter *filter, size_t i)
{
	const struct bpf_insn *in = &filter->insns[i];

	if (in->dst_reg > BPF_REG_10 || in->src_reg > BPF_REG_10)
		return "uses a register of the kernel's own";
	switch (BPF_CLASS(in->code)) {
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return BPF_MODE(in->code) == BPF_MEM
			       ? NULL
			       : "accesses memory in a way that we don't know";
	case BPF_ALU:
	case BPF_ALU64:
		return NULL;
	case BPF_LD:
		return "refers to a map or another object of the kernel";
	default:
		break;
	}
	if (in->code == (BPF_JMP | BPF_EXIT))
		return NULL;
	if (BPF_OP(in->code) == BPF_CALL)
		return "calls a function";
	if (!is_jump(in))
		return "jumps in a way that we don't know";
	if (in->off < 0)
		return "jumps backwards";
	return i + 1 + (size_t)in->off < filter->n ? NULL : "jumps out of the program";
}

int device_filter_check(const struct device_filter *filter, struct error *err)
{
	if (!filter->n)
		return error_set(err, 0, "it is empty");
	for (size_t i = 0; i < filter->n; i++) {
		const char *problem = problem_of(filter, i);
		if (problem)
			return error_set(err, 0, "its instruction %zu (0x%02x) %s", i,
					 filter->insns[i].code, problem);
	}
	return 0;
}

/* ---- Constant blinding ---- */

/*
 * With net.core.bpf_jit_harden=2 the kernel hides each constant of a program from whoever might use
 * it as machine code:
 *
 *	dst OP= CONSTANT    becomes    r11 = CONSTANT ^ RANDOM; r11 ^= RANDOM; dst OP= r11
 *
 * and r = 0 becomes r ^= r. Register 11 exists inside the kernel only, so a program that shows it
 * cannot be loaded before this is undone.
 */
#define REG_BLIND 11

/* `in` sets register 11 by a constant with `op`, in arithmetic of class `class`. */
static bool sets_blind(const struct bpf_insn *in, unsigned op, unsigned class)
{
	return in->code == (class | op | BPF_K) && in->dst_reg == REG_BLIND && in->src_reg == 0;
}

/* The instruction with a constant that three blinded ones stand for. */
static bool unblind_three(const struct bpf_insn *in, struct bpf_insn *ret_insn)
{
	unsigned class = BPF_CLASS(in[0].code);
	const struct bpf_insn *use = &in[2];

	if ((class != BPF_ALU && class != BPF_ALU64) || !sets_blind(&in[0], BPF_MOV, class) ||
	    !sets_blind(&in[1], BPF_XOR, class) || use->src_reg != REG_BLIND ||
	    use->dst_reg == REG_BLIND)
		return false;
	*ret_insn = *use;
	ret_insn->src_reg = 0;
	ret_insn->imm = in[0].imm ^ in[1].imm;
	switch (BPF_CLASS(use->code)) {
	case BPF_ALU:
	case BPF_ALU64:
	case BPF_JMP:
	case BPF_JMP32:
		ret_insn->code = (uint8_t)((use->code & ~BPF_X) | BPF_K);
		return BPF_SRC(use->code) == BPF_X;
	case BPF_STX:
		ret_insn->code = (uint8_t)(BPF_ST | BPF_MEM | BPF_SIZE(use->code));
		return BPF_MODE(use->code) == BPF_MEM;
	default:
		return false;
	}
}

/*
 * r = r in 32 bits with a mark: not ours to write, the kernel adds it again where the architecture
 * needs it.
 */
static bool is_zero_extension(const struct bpf_insn *in)
{
	return in->code == (BPF_ALU | BPF_MOV | BPF_X) && in->dst_reg == in->src_reg &&
	       in->imm == 1;
}

/*
 * Writes what `in` (with `left` instructions) stands for to `out`; returns how many it takes, 0 for
 * unknown.
 */
static size_t unblind_one(const struct bpf_insn *in, size_t left, struct bpf_insn *out)
{
	if (in->dst_reg == REG_BLIND || in->src_reg == REG_BLIND)
		return left >= 3 && unblind_three(in, out) ? 3 : 0;
	*out = *in;
	if (in->code == (BPF_ALU64 | BPF_XOR | BPF_X) && in->dst_reg == in->src_reg)
		*out = insn(BPF_ALU64 | BPF_MOV | BPF_K, in->dst_reg, 0, 0, 0);
	return 1;
}

/*
 * For unblinding: where each instruction shown went (MOVED_INSIDE: second or third of a blinded
 * three), and where each one written stood (of three, the last: distances count from there).
 */
struct moves {
	size_t *to, *from;
};

#define MOVED_INSIDE SIZE_MAX

static int fix_jumps(struct bpf_insn *insns, size_t n, const struct moves *moves, size_t n_shown,
		     struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_jump(&insns[i]))
			continue;
		long target = (long)moves->from[i] + 1 + insns[i].off;
		if (target < 0 || (size_t)target >= n_shown || moves->to[target] == MOVED_INSIDE)
			return error_set(err, 0,
					 "its instruction %zu jumps to where no instruction begins",
					 moves->from[i]);
		insns[i].off = (int16_t)((long)moves->to[target] - (long)i - 1);
	}
	return 0;
}

int device_filter_unblind(struct arena *arena, const struct device_filter *shown,
			  struct device_filter *ret_filter, struct error *err)
{
	struct bpf_insn *insns = arena_alloc_array(arena, shown->n, sizeof(*insns));
	struct moves moves = {
		.to = arena_alloc_array(arena, shown->n, sizeof(*moves.to)),
		.from = arena_alloc_array(arena, shown->n, sizeof(*moves.from)),
	};
	size_t n = 0;

	if (!insns || !moves.to || !moves.from)
		return error_memory(err);
	for (size_t i = 0; i < shown->n;) {
		moves.to[i] = n;
		if (is_zero_extension(&shown->insns[i])) {
			i++;
			continue;
		}
		size_t taken = unblind_one(&shown->insns[i], shown->n - i, &insns[n]);
		if (!taken)
			return error_set(err, 0,
					 "its instruction %zu is blinded in an unknown way "
					 "(net.core.bpf_jit_harden=2)",
					 i);
		for (size_t j = 1; j < taken; j++)
			moves.to[i + j] = MOVED_INSIDE;
		i += taken;
		moves.from[n++] = i - 1;
	}
	int r = fix_jumps(insns, n, &moves, shown->n, err);
	if (r < 0)
		return r;
	*ret_filter = (struct device_filter){.insns = insns, .n = n};
	return 0;
}

/* ---- Made anew ---- */

/*
 * What a runtime makes of linux.resources.devices, and how ours stays within all of them:
 *
 *	crun	tests its defaults, then the entries from the last to the first. One decides when it has all of the
 *		access asked for, so that "deny w" does not decide about read and write together.
 *	youki	the same, from the last entry of type a on.
 *	runc	replays cgroup v1: an entry of type a starts a list of exceptions anew, the others add to that list or
 *		take from it. Its defaults come last. It leaves out a default whose node linux.devices has.
 *
 * Ours are tests in crun's order, from the last entry of type a on, where denying takes but one bit of the access asked
 * for. Behind "allow a" all is allowed but exceptions, and nothing takes an exception back: neither an entry that allows
 * a group with an exception in it, which runc would not heed, nor a default.
 */
#define ACCESS_ALL (DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD)
/* Instructions of one test at most. */
#define TEST_SIZE_MAX 7

/* The defaults that all these runtimes have. /dev/console and /dev/net/tun are not in all of them. */
static const struct default_test {
	struct oci_device_rule rule;
	const char *node;
} default_tests[] = {
	{{true, 'c', -1, -1, DEVICE_MKNOD}, NULL},
	{{true, 'b', -1, -1, DEVICE_MKNOD}, NULL},
	{{true, 'c', 1, 3, ACCESS_ALL}, "/dev/null"},
	{{true, 'c', 1, 5, ACCESS_ALL}, "/dev/zero"},
	{{true, 'c', 1, 7, ACCESS_ALL}, "/dev/full"},
	{{true, 'c', 1, 8, ACCESS_ALL}, "/dev/random"},
	{{true, 'c', 1, 9, ACCESS_ALL}, "/dev/urandom"},
	{{true, 'c', 5, 0, ACCESS_ALL}, "/dev/tty"},
	{{true, 'c', 5, 2, ACCESS_ALL}, NULL}, /* /dev/ptmx and what it makes */
	{{true, 'c', 136, -1, ACCESS_ALL}, NULL},
};
#define N_DEFAULT_TESTS (sizeof(default_tests) / sizeof(*default_tests))

/* The first test that matches decides; none has type 'a', and all can match something. */
struct tests {
	struct oci_device_rules list;
	bool otherwise;
};

static int add_test(struct arena *arena, struct tests *tests, const struct oci_device_rule *rule,
		    struct error *err)
{
	struct oci_device_rule *test;

	/* Numbers that no device has: of 32 bits, which a comparison would take for negative ones. */
	if (rule->major > DEVICE_MAJOR_MAX || rule->minor > DEVICE_MINOR_MAX)
		return 0;
	/* Without any access it means nothing, or everything: allow nothing, deny everything. */
	if (rule->allow && !rule->access)
		return 0;
	test = array_add(arena, &tests->list);
	if (!test)
		return error_memory(err);
	*test = *rule;
	if (!test->access)
		test->access = ACCESS_ALL;
	return 0;
}

static bool has_node(const struct oci_devices *devices, const char *path)
{
	for (size_t i = 0; path && i < devices->nodes.n; i++)
		if (strcmp(devices->nodes.items[i], path) == 0)
			return true;
	return false;
}

static int add_default_tests(struct arena *arena, const struct oci_devices *devices,
			     struct tests *tests, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_DEFAULT_TESTS; i++)
		if (!has_node(devices, default_tests[i].node))
			r = add_test(arena, tests, &default_tests[i].rule, err);
	return r;
}

/* `*ret_from` is the entry behind the last one of type a, which says what happens to devices that no entry names. */
static int find_start(const struct oci_devices *devices, size_t *ret_from, bool *ret_otherwise,
		      struct error *err)
{
	size_t i = devices->rules.n;

	while (i > 0 && devices->rules.items[i - 1].type != 'a')
		i--;
	*ret_from = i;
	*ret_otherwise = i > 0 && devices->rules.items[i - 1].allow;
	if (i == 0)
		return 0;
	const struct oci_device_rule *all = &devices->rules.items[i - 1];
	if (all->major < 0 && all->minor < 0 &&
	    (all->access == ACCESS_ALL || (!all->allow && !all->access)))
		return 0;
	return error_set(
		err, 0,
		"config.json: linux.resources.devices[%zu]: type a with numbers or with less "
		"access than rwm means another thing to each runtime",
		i - 1);
}

static int collect_tests(struct arena *arena, const struct oci_devices *devices,
			 struct tests *tests, struct error *err)
{
	size_t from;

	*tests = (struct tests){0};
	if (devices->problem)
		return error_set(err, 0, "%s", devices->problem);
	int r = find_start(devices, &from, &tests->otherwise, err);
	if (r == 0 && !tests->otherwise)
		r = add_default_tests(arena, devices, tests, err);
	for (size_t i = devices->rules.n; r == 0 && i-- > from;) {
		const struct oci_device_rule *rule = &devices->rules.items[i];
		if (!tests->otherwise || !rule->allow)
			r = add_test(arena, tests, rule, err);
	}
	return r;
}

/* Writes one test, and returns its size: whatever does not match goes on behind it. */
static size_t write_test(struct bpf_insn *out, const struct oci_device_rule *test)
{
	const unsigned access = kernel_access(test->access);
	const unsigned type = test->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;
	size_t n = 0;

	out[n++] = jump_if(BPF_JNE, BPF_REG_2, type, 0);
	if (test->major >= 0)
		out[n++] = jump_if(BPF_JNE, BPF_REG_4, (uint32_t)test->major, 0);
	if (test->minor >= 0)
		out[n++] = jump_if(BPF_JNE, BPF_REG_5, (uint32_t)test->minor, 0);
	if (test->allow) {
		out[n++] = jump_if(BPF_JSET, BPF_REG_3, ~access, 0);
	} else if (test->access != ACCESS_ALL) {
		out[n++] = jump_if(BPF_JSET, BPF_REG_3, access, 1);
		/* Asking for nothing at all is part of every access. */
		out[n++] = jump_if(BPF_JNE, BPF_REG_3, 0, 0);
	}
	out[n++] = insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, test->allow);
	out[n++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	for (size_t i = 0; i < n; i++)
		if (is_jump(&out[i]) && !out[i].off)
			out[i].off = (int16_t)(n - i - 1);
	return n;
}

int device_filter_build(struct arena *arena, const struct oci_devices *devices,
			struct device_filter *ret_filter, struct error *err)
{
	struct tests tests;
	size_t n = HEAD_SIZE;

	int r = collect_tests(arena, devices, &tests, err);
	if (r < 0)
		return r;
	if (tests.list.n > (LIMIT_BPF_INSNS - HEAD_SIZE - 2) / TEST_SIZE_MAX)
		return error_set(err, 0,
				 "config.json: %zu entries in linux.resources.devices are too many",
				 devices->rules.n);
	struct bpf_insn *insns = arena_alloc_array(
		arena, HEAD_SIZE + tests.list.n * TEST_SIZE_MAX + 2, sizeof(*insns));
	if (!insns)
		return error_memory(err);
	write_head(insns);
	for (size_t i = 0; i < tests.list.n; i++)
		n += write_test(insns + n, &tests.list.items[i]);
	insns[n++] = insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, tests.otherwise);
	insns[n++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	*ret_filter = (struct device_filter){.insns = insns, .n = n};
	return 0;
}

static bool test_matches(const struct oci_device_rule *test, const struct device_rule *rule)
{
	return test->type == rule->type && (test->major < 0 || test->major == rule->major) &&
	       (test->minor < 0 || test->minor == rule->minor) &&
	       (test->allow ? !(rule->access & ~test->access) : rule->access & test->access);
}

/* Whoever may have all bits of an access at once may have each part of it: allowing takes all, denying takes one. */
static bool tests_allow(const struct tests *tests, const struct device_rule *rule)
{
	for (size_t i = 0; i < tests->list.n; i++)
		if (test_matches(&tests->list.items[i], rule))
			return tests->list.items[i].allow;
	return tests->otherwise;
}

int device_filter_grants(struct arena *arena, const struct oci_devices *devices,
			 const struct device_rule *rules, size_t n_rules, struct error *err)
{
	struct tests tests;

	int r = collect_tests(arena, devices, &tests, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_rules; i++)
		if (!tests_allow(&tests, &rules[i]))
			return 0;
	return DEVICE_FILTER_GRANTS;
}
