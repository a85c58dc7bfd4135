/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device program is said to decide, compared with what the interpreter of run-device-filter.h finds:
 * over programs as device_filter_build() makes them of random lists, with rules in front, and hand-made ones.
 */
#include "unit.h"

#include <stdlib.h>

#include "device-verdict.h"
#include "run-device-filter.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define INSN(code_, dst_, src_, off_, imm_)                                                        \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (unsigned)(dst_)&15,                                         \
			   .src_reg = (unsigned)(src_)&15,                                         \
			   .off = (off_),                                                          \
			   .imm = (imm_)})
#define LDX(size, dst, src, off) INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define MOV(dst, imm) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define FILTER(array) ((struct device_filter){.insns = (array), .n = COUNT(array)})

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, LIMIT_MEMORY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static const struct device_rule fuse = {
	.type = 'c', .major = 10, .minor = 229, .access = DEVICE_READ | DEVICE_WRITE};

static bool allows(const struct device_filter *filter, char type, uint32_t major, uint32_t minor,
		   unsigned access)
{
	const struct device_rule rule = {
		.type = type, .major = major, .minor = minor, .access = access};

	return device_verdict_allows(filter, &rule);
}

/* All kinds of access of a rule, by the other interpreter. */
static bool expected(const struct device_filter *filter, const struct device_rule *rule)
{
	static const unsigned kernel[] = {BPF_DEVCG_ACC_READ, BPF_DEVCG_ACC_WRITE,
					  BPF_DEVCG_ACC_MKNOD};
	static const unsigned ours[] = {DEVICE_READ, DEVICE_WRITE, DEVICE_MKNOD};

	for (unsigned set = 1; set < 8; set++) {
		struct access access = {
			.type = rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR,
			.major = rule->major,
			.minor = rule->minor,
		};
		bool of_rule = true;

		for (unsigned bit = 0; bit < 3; bit++) {
			access.bits |= set & 1u << bit ? kernel[bit] : 0;
			of_rule = of_rule && (!(set & 1u << bit) || rule->access & ours[bit]);
		}
		if (of_rule && !run(filter, &access))
			return false;
	}
	return true;
}

/* Numbers from a small set, so that rules meet. */
static struct device_rule random_rule(void)
{
	return (struct device_rule){
		.type = rand() % 3 ? 'c' : 'b',
		.major = (uint32_t)(rand() % 4),
		.minor = (uint32_t)(rand() % 4),
		.access = 1u + (unsigned)rand() % 7,
	};
}

static void random_device(struct oci_device_rule *ret)
{
	*ret = (struct oci_device_rule){
		.allow = rand() % 3 > 0,
		.type = rand() % 3 ? 'c' : 'b',
		.major = rand() % 5 - 1,
		.minor = rand() % 5 - 1,
		.access = 1u + (unsigned)rand() % 7,
	};
}

static void test_random_lists(void **state)
{
	size_t yes = 0, no = 0;

	(void)state;
	srand(1);
	for (size_t i = 0; i < 2000; i++) {
		struct oci_device_rule items[6] = {
			{.allow = false, .type = 'a', .major = -1, .minor = -1, .access = 7}};
		struct oci_devices devices = {0};
		struct device_filter base, filter;
		struct error err = {0};

		for (size_t k = 1; k < COUNT(items); k++)
			random_device(&items[k]);
		devices.rules.items = items;
		devices.rules.n = COUNT(items);
		if (device_filter_build(&arena, &devices, &base, &err) < 0)
			continue;
		filter = base;
		const struct device_rule front = random_rule();
		if (i % 2)
			assert_int_equal(
				device_filter_allow(&arena, &base, &front, 1, &filter, &err), 0);
		for (size_t k = 0; k < 20; k++) {
			const struct device_rule rule = random_rule();
			const bool want = expected(&filter, &rule);
			assert_int_equal(device_verdict_allows(&filter, &rule), want);
			want ? yes++ : no++;
		}
	}
	assert_true(yes > 1000 && no > 1000);
}

static void test_access(void **state)
{
	/* Only what asks for reading or for writing, never for both at once. */
	static const struct bpf_insn one_at_a_time[] = {
		LDX(BPF_W, 2, 1, 0),
		INSN(BPF_ALU | BPF_RSH | BPF_K, 2, 0, 0, 16),
		MOV(0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 1, BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE),
		MOV(0, 0),
		EXIT(),
	};
	const struct device_filter filter = FILTER(one_at_a_time);

	(void)state;
	assert_true(allows(&filter, 'c', 10, 229, DEVICE_READ));
	assert_true(allows(&filter, 'c', 10, 229, DEVICE_WRITE));
	assert_false(allows(&filter, 'c', 10, 229, DEVICE_READ | DEVICE_WRITE));
	assert_false(allows(&filter, 'c', 10, 229, 0));
}

static void test_forms(void **state)
{
	/* Half a word, a byte, the question's address in another register, comparisons of 32 bits. */
	static const struct bpf_insn forms[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
		LDX(BPF_H, 2, 6, 0),
		LDX(BPF_B, 3, 6, 8),
		INSN(BPF_ALU64 | BPF_XOR | BPF_X, 0, 0, 0, 0),
		INSN(BPF_JMP32 | BPF_JNE | BPF_K, 2, 0, 2, BPF_DEVCG_DEV_CHAR),
		INSN(BPF_JMP32 | BPF_JGT | BPF_K, 3, 0, 1, 229),
		MOV(0, 1),
		EXIT(),
	};
	const struct device_filter filter = FILTER(forms);

	(void)state;
	assert_true(allows(&filter, 'c', 10, 229, DEVICE_READ));
	assert_false(allows(&filter, 'c', 10, 230, DEVICE_READ));
	assert_false(allows(&filter, 'b', 10, 229, DEVICE_READ));
}

/* Each of them says yes in the kernel, if the verifier takes it; we are to say that we do not know. */
static void test_no_answer(void **state)
{
	static const struct bpf_insn unset[] = {EXIT()};
	static const struct bpf_insn address[] = {INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 0, 0),
						  EXIT()};
	static const struct bpf_insn stack[] = {
		MOV(0, 1), INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), EXIT()};
	static const struct bpf_insn beyond[] = {MOV(0, 1), LDX(BPF_W, 2, 1, 12), EXIT()};
	static const struct bpf_insn before[] = {MOV(0, 1), LDX(BPF_W, 2, 1, -4), EXIT()};
	static const struct bpf_insn of_unset[] = {
		MOV(0, 1), INSN(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 0, 0), EXIT()};
	static const struct bpf_insn division[] = {
		MOV(0, 4), INSN(BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 0, 2), EXIT()};
	static const struct bpf_insn far_shift[] = {
		MOV(0, 4), INSN(BPF_ALU | BPF_LSH | BPF_K, 0, 0, 0, 32), EXIT()};
	static const struct bpf_insn no_end[] = {MOV(0, 1)};
	static const struct bpf_insn narrow[] = {INSN(BPF_ALU | BPF_MOV | BPF_X, 2, 1, 0, 0),
						 MOV(0, 1), EXIT()};
	const struct device_filter filters[] = {
		FILTER(unset),  FILTER(address),  FILTER(stack),    FILTER(beyond),
		FILTER(before), FILTER(of_unset), FILTER(division), FILTER(far_shift),
		FILTER(no_end), FILTER(narrow),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(filters); i++)
		assert_false(device_verdict_allows(&filters[i], &fuse));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_lists),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
