/* SPDX-License-Identifier: Apache-2.0 */
/* device_verdict() against the interpreter that the tests of device-filter.c use, which was written without a look at it. */
#include "unit.h"

#include <string.h>

#include "device-verdict.h"
#include "run-device-filter.h"
#include "write-device-filter.h"

#define RWM (DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD)
#define RULE(type_, major_, minor_, access_)                                                       \
	(&(const struct device_rule){                                                              \
		.type = (type_), .major = (major_), .minor = (minor_), .access = (access_)})

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

static unsigned refused(const struct device_filter *filter, const struct device_rule *rule)
{
	struct error err = {0};
	unsigned bits = 99;

	assert_int_equal(device_verdict(filter, rule, &bits, &err), 0);
	return bits;
}

static void test_a_runtimes_program(void **state)
{
	const struct device_filter filter = FILTER(runc_like);

	(void)state;
	assert_int_equal(refused(&filter, RULE('c', 1, 3, RWM)), 0);
	assert_int_equal(refused(&filter, RULE('c', 136, 9, DEVICE_READ | DEVICE_WRITE)), 0);
	/* "c *:* m" is all that any device has. */
	assert_int_equal(refused(&filter, RULE('c', 10, 229, RWM)), DEVICE_READ | DEVICE_WRITE);
	assert_int_equal(refused(&filter, RULE('c', 10, 229, DEVICE_MKNOD)), 0);
	assert_int_equal(refused(&filter, RULE('b', 1, 3, RWM)), RWM);
}

/* Reading and writing one by one, and refusing both at once, as opening a node asks for them. */
static void test_both_at_once(void **state)
{
	static const struct bpf_insn insns[] = {
		LDXW(2, 1, 0),        ALU32(BPF_RSH, 2, 16),
		ALU64(BPF_MOV, 0, 1), JMP(BPF_JNE, 2, BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE, 1),
		ALU64(BPF_MOV, 0, 0), EXIT(),
	};
	const struct device_filter filter = FILTER(insns);

	(void)state;
	assert_int_equal(refused(&filter, RULE('c', 1, 3, DEVICE_READ | DEVICE_WRITE)),
			 DEVICE_READ | DEVICE_WRITE);
	assert_int_equal(refused(&filter, RULE('c', 1, 3, DEVICE_READ)), 0);
	assert_int_equal(refused(&filter, RULE('c', 1, 3, DEVICE_WRITE)), 0);
}

static void test_ours(void **state)
{
	static const struct device_rule rule = {
		.type = 'c', .major = 10, .minor = 229, .access = DEVICE_READ | DEVICE_WRITE};
	const struct device_filter old = FILTER(runc_like);
	struct device_filter with;
	struct error err = {0};

	(void)state;
	assert_int_equal(device_filter_allow(&arena, &old, &rule, 1, &with, &err), 0);
	assert_int_equal(refused(&with, RULE('c', 10, 229, RWM)), 0);
	assert_int_equal(refused(&with, RULE('c', 10, 230, RWM)), DEVICE_READ | DEVICE_WRITE);
}

static void assert_not_followed(const struct bpf_insn *insns, size_t n, const char *sentence)
{
	const struct device_filter filter = {.insns = insns, .n = n};
	struct error err = {0};
	char text[ERROR_TEXT_MAX];
	unsigned bits;

	assert_true(device_verdict(&filter, RULE('c', 1, 3, RWM), &bits, &err) < 0);
	assert_string_equal(error_text(&err, text), sentence);
}

static void test_what_cannot_be_followed(void **state)
{
	static const struct bpf_insn call[] = {INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 6), EXIT()};
	static const struct bpf_insn map[] = {INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 1, 0, 3), EXIT()};
	static const struct bpf_insn stack[] = {LDXW(0, 10, -4), EXIT()};
	static const struct bpf_insn outside[] = {LDXW(0, 1, 12), EXIT()};
	static const struct bpf_insn before[] = {LDXW(0, 1, -4), EXIT()};
	static const struct bpf_insn back[] = {ALU64(BPF_MOV, 0, 1), JMP(BPF_JEQ, 0, 1, -2),
					       EXIT()};
	static const struct bpf_insn far[] = {JA(32767), EXIT()};
	static const struct bpf_insn endless[] = {ALU64(BPF_MOV, 0, 1)};
	static const struct bpf_insn none[] = {EXIT()};
	static const struct bpf_insn pointer[] = {ALU64X(BPF_MOV, 0, 1), EXIT()};
	static const struct bpf_insn half_pointer[] = {ALU32X(BPF_MOV, 0, 1), EXIT()};
	static const struct bpf_insn compared[] = {JMP(BPF_JEQ, 1, 0, 0), EXIT()};
	static const struct bpf_insn by_pointer[] = {ALU64(BPF_ADD, 1, 4), LDXW(0, 1, 0), EXIT()};
	static const struct bpf_insn kernels[] = {INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, 11, 0, 0),
						  EXIT()};
	static const struct bpf_insn signed_division[] = {
		ALU64(BPF_MOV, 0, 1), INSN(BPF_ALU64 | BPF_DIV | BPF_K, 0, 0, 1, 2), EXIT()};

	(void)state;
#define NOT_FOLLOWED(insns, sentence) assert_not_followed(insns, COUNT(insns), sentence)
	NOT_FOLLOWED(call, "its instruction 0 (0x85) cannot be followed");
	NOT_FOLLOWED(map, "its instruction 0 (0x18) cannot be followed");
	NOT_FOLLOWED(stack, "its instruction 0 (0x61) cannot be followed");
	NOT_FOLLOWED(outside, "its instruction 0 (0x61) cannot be followed");
	NOT_FOLLOWED(before, "its instruction 0 (0x61) cannot be followed");
	NOT_FOLLOWED(back, "its instruction 1 (0x15) cannot be followed");
	NOT_FOLLOWED(far, "it ends without an answer");
	NOT_FOLLOWED(endless, "it ends without an answer");
	NOT_FOLLOWED(none, "its instruction 0 (0x95) cannot be followed");
	NOT_FOLLOWED(pointer, "its instruction 1 (0x95) cannot be followed");
	NOT_FOLLOWED(half_pointer, "its instruction 0 (0xbc) cannot be followed");
	NOT_FOLLOWED(compared, "its instruction 0 (0x15) cannot be followed");
	NOT_FOLLOWED(by_pointer, "its instruction 1 (0x61) cannot be followed");
	NOT_FOLLOWED(kernels, "its instruction 0 (0xbf) cannot be followed");
	NOT_FOLLOWED(signed_division, "its instruction 1 (0x37) cannot be followed");
}

static bool kernel_allows(const struct device_filter *filter, const struct device_rule *rule,
			  unsigned access)
{
	const struct access question = {
		.type = rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR,
		.bits = (access & DEVICE_READ ? BPF_DEVCG_ACC_READ : 0u) |
			(access & DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
			(access & DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u),
		.major = rule->major,
		.minor = rule->minor,
	};

	return run(filter, &question);
}

static void test_random_programs(void **state)
{
	static const unsigned questions[] = {DEVICE_READ, DEVICE_WRITE, DEVICE_READ | DEVICE_WRITE,
					     DEVICE_MKNOD};
	static const uint32_t majors[] = {0, 1, 2, 3, 10, 136, 195, 229};
	unsigned answers[2] = {0};

	(void)state;
	for (int i = 0; i < 3000; i++) {
		arena_done(&arena);
		const struct device_filter filter = random_program(&arena);
		for (int j = 0; j < 16; j++) {
			const struct device_rule *rule = RULE(
				rand() % 2 ? 'b' : 'c', majors[(size_t)rand() % COUNT(majors)],
				majors[(size_t)rand() % COUNT(majors)], 1 + (unsigned)rand() % RWM);
			unsigned expected = 0;
			for (size_t k = 0; k < COUNT(questions); k++)
				if (!(questions[k] & ~rule->access) &&
				    !kernel_allows(&filter, rule, questions[k]))
					expected |= questions[k];
			assert_int_equal(refused(&filter, rule), expected);
			answers[expected != 0]++;
		}
	}
	/* Both answers were given often enough to mean something. */
	assert_true(answers[0] > 1000);
	assert_true(answers[1] > 1000);
}

/* ---- Whether it allows a rule whole ---- */

#define LDX(size, dst, src, off) INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define MOV(dst, imm) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)

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

static void random_entry(struct oci_device_rule *ret)
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
			random_entry(&items[k]);
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
		cmocka_unit_test(test_a_runtimes_program),
		cmocka_unit_test(test_both_at_once),
		cmocka_unit_test(test_ours),
		cmocka_unit_test(test_what_cannot_be_followed),
		cmocka_unit_test(test_random_programs),
		cmocka_unit_test(test_random_lists),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
