/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs made anew from config.json. What they do is compared with models of three runtimes, written
 * from their sources: of no list of entries may ours allow what one of them forbids.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device-filter.h"
#include "run-device-filter.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RWM (DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD)

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

/* ---- Entries and questions as text ---- */

static int64_t number_or_any(const char *text)
{
	return strcmp(text, "*") == 0 ? -1 : strtoll(text, NULL, 10);
}

static unsigned access_bits(const char *letters)
{
	return (strchr(letters, 'r') ? DEVICE_READ : 0u) |
	       (strchr(letters, 'w') ? DEVICE_WRITE : 0u) |
	       (strchr(letters, 'm') ? DEVICE_MKNOD : 0u);
}

/* "+c 10:229 rw" allows, "-a *:* rwm" denies; no access at all is "". */
static struct oci_device_rule rule_from(const char *text)
{
	char sign, type, major[16], minor[16], access[8] = "";

	if (sscanf(text, "%c%c %15[^:]:%15s %7s", &sign, &type, major, minor, access) < 4)
		fail_msg("no entry: %s", text);
	return (struct oci_device_rule){
		.allow = sign == '+',
		.type = type,
		.major = number_or_any(major),
		.minor = number_or_any(minor),
		.access = access_bits(access),
	};
}

#define MAX_ENTRIES 6

static struct oci_devices devices_from(const char *const entries[MAX_ENTRIES])
{
	struct oci_devices devices = {0};

	for (size_t i = 0; i < MAX_ENTRIES && entries[i]; i++) {
		struct oci_device_rule *rule = array_add(&arena, &devices.rules);
		assert_non_null(rule);
		*rule = rule_from(entries[i]);
	}
	return devices;
}

static unsigned kernel_bits(unsigned access)
{
	return (access & DEVICE_READ ? BPF_DEVCG_ACC_READ : 0u) |
	       (access & DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0u) |
	       (access & DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0u);
}

static struct access access_from(const struct device_rule *rule)
{
	return (struct access){
		.type = rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR,
		.bits = kernel_bits(rule->access),
		.major = rule->major,
		.minor = rule->minor,
	};
}

static struct device_filter build(const struct oci_devices *devices)
{
	struct device_filter filter = {0};
	struct error err = {0};

	if (device_filter_build(&arena, devices, &filter, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(device_filter_check(&filter, &err), 0);
	return filter;
}

/* ---- The runtimes ---- */

/* A default of at least one of them. `console` and `tun`: not all have it; `path`: runc leaves it out for such a node. */
static const struct {
	const char *entry, *path;
	bool console, tun;
} defaults[] = {
	{"+c *:* m", NULL, false, false},          {"+b *:* m", NULL, false, false},
	{"+c 1:3 rwm", "/dev/null", false, false}, {"+c 1:8 rwm", "/dev/random", false, false},
	{"+c 1:7 rwm", "/dev/full", false, false}, {"+c 5:0 rwm", "/dev/tty", false, false},
	{"+c 1:5 rwm", "/dev/zero", false, false}, {"+c 1:9 rwm", "/dev/urandom", false, false},
	{"+c 5:1 rwm", NULL, true, false},         {"+c 136:* rwm", NULL, false, false},
	{"+c 5:2 rwm", NULL, false, false},        {"+c 10:200 rwm", NULL, false, true},
};

static struct oci_device_rule default_rules[COUNT(defaults)];

/* What a runtime works on: its defaults and the entries of config.json. */
struct model {
	const char *name;
	bool console, tun, minds_nodes;
	/* -1: the runtime would not start such a container. */
	int (*allows)(const struct model *model, const struct oci_devices *devices,
		      const struct device_rule *asked);
};

static bool numbers_match(const struct oci_device_rule *rule, const struct device_rule *asked)
{
	return (rule->major < 0 || rule->major == asked->major) &&
	       (rule->minor < 0 || rule->minor == asked->minor);
}

static bool has_default(const struct model *model, const struct oci_devices *devices, size_t i)
{
	for (size_t j = 0; model->minds_nodes && defaults[i].path && j < devices->nodes.n; j++)
		if (strcmp(devices->nodes.items[j], defaults[i].path) == 0)
			return false;
	return (!defaults[i].console || model->console) && (!defaults[i].tun || model->tun);
}

/* crun, src/libcrun/cgroup-resources.c and ebpf.c: one decides when it has all that is asked for. */
static bool crun_decides(const struct oci_device_rule *rule, const struct device_rule *asked)
{
	return (rule->type == 'a' || rule->type == asked->type) && numbers_match(rule, asked) &&
	       !(asked->access & ~rule->access);
}

static bool default_allows(const struct model *model, const struct oci_devices *devices,
			   const struct device_rule *asked)
{
	for (size_t i = 0; i < COUNT(defaults); i++) {
		if (has_default(model, devices, i) && crun_decides(&default_rules[i], asked))
			return true;
	}
	return false;
}

static int crun_allows(const struct model *model, const struct oci_devices *devices,
		       const struct device_rule *asked)
{
	if (default_allows(model, devices, asked))
		return true;
	for (size_t i = devices->rules.n; i-- > 0;)
		if (crun_decides(&devices->rules.items[i], asked))
			return devices->rules.items[i].allow;
	return false;
}

/* youki, crates/libcgroups/src/v2/devices: the same from the last 'a' on, whatever else that entry says. */
static int youki_allows(const struct model *model, const struct oci_devices *devices,
			const struct device_rule *asked)
{
	if (default_allows(model, devices, asked))
		return true;
	for (size_t i = devices->rules.n; i-- > 0;) {
		const struct oci_device_rule *rule = &devices->rules.items[i];
		if (rule->type == 'a')
			return rule->allow;
		if (rule->access && crun_decides(rule, asked))
			return rule->allow;
	}
	return false;
}

/* runc, libcontainer/cgroups/devices: a list of exceptions, as cgroup v1 has one. */
struct emulator {
	bool allow;
	struct oci_device_rule items[MAX_ENTRIES + COUNT(defaults)];
	size_t n;
};

static bool same_key(const struct oci_device_rule *a, char type, int64_t major, int64_t minor)
{
	return a->type == type && a->major == major && a->minor == minor;
}

static unsigned *exception(struct emulator *emulator, char type, int64_t major, int64_t minor)
{
	for (size_t i = 0; i < emulator->n; i++)
		if (same_key(&emulator->items[i], type, major, minor))
			return &emulator->items[i].access;
	return NULL;
}

/* A hole in a wildcard is refused. */
static int emulator_remove(struct emulator *emulator, const struct oci_device_rule *rule)
{
	const int64_t partial[][2] = {{-1, rule->minor}, {rule->major, -1}, {-1, -1}};
	unsigned *access;

	for (size_t i = 0; i < COUNT(partial); i++) {
		if (partial[i][0] == rule->major && partial[i][1] == rule->minor)
			continue;
		access = exception(emulator, rule->type, partial[i][0], partial[i][1]);
		if (access && *access & rule->access)
			return -1;
	}
	access = exception(emulator, rule->type, rule->major, rule->minor);
	if (access)
		*access &= ~rule->access;
	return 0;
}

static int emulator_apply(struct emulator *emulator, const struct oci_device_rule *rule)
{
	if (rule->type == 'a') {
		*emulator = (struct emulator){.allow = rule->allow};
		return 0;
	}
	if (rule->allow == emulator->allow)
		return emulator_remove(emulator, rule);
	unsigned *access = exception(emulator, rule->type, rule->major, rule->minor);
	if (access)
		*access |= rule->access;
	else
		emulator->items[emulator->n++] = *rule;
	return 0;
}

static int runc_allows(const struct model *model, const struct oci_devices *devices,
		       const struct device_rule *asked)
{
	struct emulator emulator = {0};

	for (size_t i = 0; i < devices->rules.n; i++)
		if (!devices->rules.items[i].access ||
		    emulator_apply(&emulator, &devices->rules.items[i]) < 0)
			return -1;
	for (size_t i = 0; i < COUNT(defaults); i++) {
		if (has_default(model, devices, i) &&
		    emulator_apply(&emulator, &default_rules[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < emulator.n; i++)
		if (emulator.items[i].access && crun_decides(&emulator.items[i], asked))
			return !emulator.allow;
	return emulator.allow;
}

static const struct model models[] = {
	{"runc 1.1", false, true, true, runc_allows},
	{"runc 1.2.0", false, false, true, runc_allows},
	{"crun 1.8", true, true, false, crun_allows},
	{"crun without tun", true, false, false, crun_allows},
	{"youki 0.7", true, true, false, youki_allows},
};

/* ---- Lists and what they mean ---- */

static const struct {
	const char *entries[MAX_ENTRIES];
	const char *yes[6], *no[10];
} lists[] = {
	/* Nothing but the defaults. */
	{{NULL},
	 {"c 1:3 rwm", "c 136:7 rw", "c 5:2 rw", "c 77:7 m", "b 8:0 m"},
	 {"c 10:229 r", "c 77:7 rm", "c 77:7 r", "b 8:0 r", "b 1:3 r", "c 5:1 r", "c 10:200 r"}},
	{{"-a *:* rwm"}, {"c 1:9 rwm", "c 77:7 m"}, {"c 10:229 r", "b 8:0 r"}},
	/* What podman and docker write. */
	{{"-a *:* rwm", "+c 10:229 rwm", "+b 8:* r"},
	 {"c 10:229 rwm", "c 10:229 r", "b 8:0 r", "b 8:255 r", "b 8:0 m", "c 1:3 rwm"},
	 {"c 10:230 r", "c 229:10 r", "b 10:229 r", "b 8:0 w", "b 8:0 rw", "b 9:0 r"}},
	/* Privileged. */
	{{"+a *:* rwm"}, {"c 10:229 rwm", "b 8:0 rwm", "c 4095:1048575 rwm"}, {NULL}},
	{{"-a *:* rwm", "+a *:* rwm"}, {"c 10:229 rwm"}, {NULL}},
	{{"+a *:* rwm", "-a *:* rwm"}, {"c 1:3 rwm"}, {"c 10:229 r"}},
	{{"+a *:* rwm", "-a *:*"}, {"c 1:3 rwm"}, {"c 10:229 r"}},
	/* Wildcards. */
	{{"+c *:* rw"}, {"c 10:229 rw", "c 0:0 r", "c 10:229 m"}, {"b 8:0 r", "c 10:229 rwm"}},
	{{"+c *:5 r"}, {"c 10:5 r", "c 0:5 r"}, {"c 10:6 r", "c 10:5 w"}},
	{{"+b 8:* rwm"}, {"b 8:17 rwm"}, {"b 9:17 r", "c 8:17 r"}},
	{{"+b *:* rwm"}, {"b 0:0 rwm", "b 259:7 rw"}, {"c 259:7 r"}},
	/* The last one wins. */
	{{"+c 10:229 rwm", "-c 10:229 rwm"}, {"c 10:229 m"}, {"c 10:229 r", "c 10:229 rw"}},
	{{"-c 10:229 rwm", "+c 10:229 rw"}, {"c 10:229 rw"}, {"c 10:229 rwm", "c 10:230 r"}},
	{{"+c 10:229 rwm", "-a *:* rwm"}, {"c 1:3 r"}, {"c 10:229 r"}},
	{{"+c 10:* rwm", "-c 10:229 r"},
	 {"c 10:230 rwm", "c 10:229 w"},
	 {"c 10:229 r", "c 10:229 rw"}},
	/* Access that only two entries together have is not given to one question, as in the kernel's own list. */
	{{"+c 10:229 r", "+c 10:229 w"}, {"c 10:229 r", "c 10:229 w"}, {"c 10:229 rw"}},
	/* Denying one bit denies whatever has it; the defaults stay. */
	{{"+c 10:229 rwm", "-c 10:229 w"},
	 {"c 10:229 r", "c 10:229 m"},
	 {"c 10:229 w", "c 10:229 rw"}},
	{{"-c 1:3 rwm"}, {"c 1:3 rwm"}, {"c 10:229 r"}},
	/* Everything but: no allowing entry and no default takes an exception back. */
	{{"+a *:* rwm", "-c 10:229 rw"},
	 {"c 10:229 m", "c 10:230 rwm"},
	 {"c 10:229 r", "c 10:229 rwm"}},
	{{"+a *:* rwm", "-c 10:229 rw", "+c 10:* rwm"},
	 {"c 10:230 rwm"},
	 {"c 10:229 r", "c 10:229 w"}},
	{{"+a *:* rwm", "-c 10:* m"}, {"c 10:229 rw"}, {"c 10:229 m", "c 10:229 rm"}},
	/* Without access, and numbers that no device has. */
	{{"+c 10:229"}, {"c 1:3 r"}, {"c 10:229 r"}},
	{{"+c 10:* rwm", "-c 10:229"}, {"c 10:230 r"}, {"c 10:229 r"}},
	{{"+c 4096:0 rwm", "+c 4294967295:4294967295 rwm", "+c 10:1048576 rwm"},
	 {"c 1:3 r"},
	 {"c 0:0 r"}},
};

static struct device_rule question(const char *text)
{
	struct device_rule rule = {0};
	char access[8];

	if (sscanf(text, "%c %u:%u %7s", &rule.type, &rule.major, &rule.minor, access) != 4)
		fail_msg("no question: %s", text);
	rule.access = access_bits(access);
	return rule;
}

static void assert_answer(const struct oci_devices *devices, const char *text, bool expected)
{
	const struct device_filter filter = build(devices);
	const struct device_rule asked = question(text);
	const struct access access = access_from(&asked);
	struct error err = {0};

	if (run(&filter, &access) != expected)
		fail_msg("%s is %s by %s and %zu more", text, expected ? "forbidden" : "allowed",
			 devices->rules.n ? "an entry" : "none", devices->rules.n);
	assert_int_equal(device_filter_grants(&arena, devices, &asked, 1, &err),
			 expected ? DEVICE_FILTER_GRANTS : 0);
}

static void test_lists(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++) {
		struct oci_devices devices = devices_from(lists[i].entries);
		for (size_t j = 0; j < COUNT(lists[i].yes) && lists[i].yes[j]; j++)
			assert_answer(&devices, lists[i].yes[j], true);
		for (size_t j = 0; j < COUNT(lists[i].no) && lists[i].no[j]; j++)
			assert_answer(&devices, lists[i].no[j], false);
	}
}

static void test_nodes_that_replace_a_default(void **state)
{
	static const char *paths[] = {"/dev/null", "/dev/fuse", "/dev/pts/0"};
	struct oci_devices devices = {.nodes = {.items = paths, .n = COUNT(paths)}};

	(void)state;
	assert_answer(&devices, "c 1:3 r", false);
	assert_answer(&devices, "c 1:3 m", true);
	assert_answer(&devices, "c 1:5 rwm", true);
	assert_answer(&devices, "c 136:0 rwm", true);
	assert_answer(&devices, "c 10:229 r", false);
}

static void test_grants_several(void **state)
{
	static const char *const entries[MAX_ENTRIES] = {"+c 10:229 rw"};
	struct oci_devices devices = devices_from(entries);
	const struct device_rule asked[] = {question("c 10:229 rw"), question("c 1:3 rwm"),
					    question("c 10:230 r")};
	struct error err = {0};

	(void)state;
	assert_int_equal(device_filter_grants(&arena, &devices, asked, 2, &err),
			 DEVICE_FILTER_GRANTS);
	assert_int_equal(device_filter_grants(&arena, &devices, asked, 3, &err), 0);
	assert_int_equal(device_filter_grants(&arena, &devices, asked, 0, &err),
			 DEVICE_FILTER_GRANTS);
}

/* ---- Behind our rules ---- */

static void test_with_rules_in_front(void **state)
{
	static const char *const entries[MAX_ENTRIES] = {"-a *:* rwm", "+c 10:229 r"};
	struct oci_devices devices = devices_from(entries);
	struct device_filter base = build(&devices), with;
	const struct device_rule rules[] = {question("c 10:229 rw"), question("b 8:0 r")};
	struct access access;
	struct error err = {0};

	(void)state;
	assert_int_equal(device_filter_allow(&arena, &base, rules, COUNT(rules), &with, &err), 0);
	access = access_from(&rules[0]);
	assert_false(run(&base, &access));
	assert_true(run(&with, &access));
	access = access_from(&rules[1]);
	assert_false(run(&base, &access));
	assert_true(run(&with, &access));
	access.bits |= BPF_DEVCG_ACC_WRITE;
	assert_false(run(&with, &access));
	/* And twice is once. */
	assert_int_equal(device_filter_allow(&arena, &with, rules, COUNT(rules), &base, &err),
			 DEVICE_FILTER_UNCHANGED);
}

/* ---- What cannot be built ---- */

static void assert_refused(const struct oci_devices *devices, const char *sentence)
{
	struct device_filter filter;
	struct device_rule asked = question("c 1:3 r");
	struct error err = {0};

	assert_int_equal(device_filter_build(&arena, devices, &filter, &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, sentence);
	err = (struct error){0};
	assert_int_equal(device_filter_grants(&arena, devices, &asked, 1, &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, sentence);
}

static void test_refused(void **state)
{
	static const char *const odd[] = {"+a 1:* rwm", "+a *:3 rwm", "-a 1:3 rwm", "+a *:* rw",
					  "+a *:*",     "-a *:* r",   "-a *:5"};
	struct oci_devices devices = {.problem =
					      "config.json: linux.resources: expected an object"};

	(void)state;
	assert_refused(&devices, "config.json: linux.resources: expected an object");
	for (size_t i = 0; i < COUNT(odd); i++) {
		const char *const entries[MAX_ENTRIES] = {"-c 1:3 rwm", odd[i], "+c 1:3 rwm"};
		devices = devices_from(entries);
		assert_refused(
			&devices,
			"config.json: linux.resources.devices[1]: type a with numbers or with "
			"less access than rwm means another thing to each runtime");
	}
}

static void test_most_entries(void **state)
{
	const size_t most = (LIMIT_BPF_INSNS - 8) / 7 - 10;
	struct oci_devices devices = {0};
	struct device_filter filter;
	struct error err = {0};

	(void)state;
	for (size_t i = 0; i < most; i++)
		*array_add(&arena, &devices.rules) = (struct oci_device_rule){.allow = true,
									      .type = 'c',
									      .major = 200,
									      .minor = (int64_t)i,
									      .access = RWM};
	build(&devices);
	assert_answer(&devices, "c 200:0 rw", true);
	assert_answer(&devices, "c 200:9342 rw", true);
	*array_add(&arena, &devices.rules) = devices.rules.items[0];
	assert_int_equal(device_filter_build(&arena, &devices, &filter, &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE,
		     "config.json: 9352 entries in linux.resources.devices are too many");
}

/* ---- Lists by chance ---- */

static int64_t pick(const int64_t *from, size_t n)
{
	return from[(size_t)rand() % n];
}

/* Few numbers, so that entries meet. */
static struct oci_devices random_devices(void)
{
	static const int64_t majors[] = {-1, -1, 1, 5, 10, 136},
			     minors[] = {-1, -1, 0, 1, 2, 3, 200};
	static const char *const paths[] = {"/dev/null", "/dev/tty", "/dev/urandom"};
	struct oci_devices devices = {0};
	size_t n = (size_t)rand() % (MAX_ENTRIES + 1);

	for (size_t i = 0; i < n; i++) {
		bool all = rand() % 5 == 0;
		*array_add(&arena, &devices.rules) = (struct oci_device_rule){
			.allow = rand() % 2,
			.type = all          ? 'a'
				: rand() % 3 ? 'c'
					     : 'b',
			.major = all ? -1 : pick(majors, COUNT(majors)),
			.minor = all ? -1 : pick(minors, COUNT(minors)),
			.access = all || rand() % 2 ? RWM : (unsigned)rand() % 8,
		};
	}
	for (size_t i = 0; i < COUNT(paths); i++)
		if (rand() % 4 == 0)
			*array_add(&arena, &devices.nodes) = paths[i];
	return devices;
}

/*
 * Entries as engines write them: what ours allows is then all that all the runtimes allow, not only
 * less. (runc would make "rw" of "r" and "w" in two entries.)
 */
static bool is_plain(const struct oci_devices *devices)
{
	for (size_t i = 0; i < devices->rules.n; i++) {
		const struct oci_device_rule *rule = &devices->rules.items[i];
		bool first = i == 0 && rule->type == 'a' && !rule->allow;
		if (!first && (rule->type == 'a' || !rule->allow || rule->access != RWM))
			return false;
	}
	return true;
}

static unsigned compared[COUNT(models)], plain;

static void compare_one(const struct oci_devices *devices, const struct device_filter *filter,
			const struct device_rule *asked)
{
	const struct access access = access_from(asked);
	bool ours = run(filter, &access), all = true;

	for (size_t i = 0; i < COUNT(models); i++) {
		int theirs = models[i].allows(&models[i], devices, asked);
		if (ours && theirs == 0)
			fail_msg("%c %u:%u %x is allowed, and %s forbids it", asked->type,
				 asked->major, asked->minor, asked->access, models[i].name);
		all = all && theirs != 0;
		compared[i] += theirs >= 0;
	}
	if (is_plain(devices)) {
		if (all && !ours)
			fail_msg("%c %u:%u %x is forbidden, and all of them allow it", asked->type,
				 asked->major, asked->minor, asked->access);
		plain++;
	}
	struct error err = {0};
	if (asked->access)
		assert_int_equal(device_filter_grants(&arena, devices, asked, 1, &err), ours);
}

static void compare_all(const struct oci_devices *devices)
{
	static const uint32_t majors[] = {1, 5, 10, 136, 8}, minors[] = {0, 1, 2, 3, 200, 77};
	const struct device_filter filter = build(devices);

	for (size_t i = 0; i < 2 * COUNT(majors) * COUNT(minors) * (RWM + 1); i++) {
		size_t rest = i;
		struct device_rule asked = {.type = rest % 2 ? 'c' : 'b'};
		asked.access = (unsigned)((rest /= 2) % (RWM + 1));
		asked.major = majors[(rest /= RWM + 1) % COUNT(majors)];
		asked.minor = minors[rest / COUNT(majors)];
		compare_one(devices, &filter, &asked);
	}
}

static void test_never_more_than_a_runtime(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(defaults); i++)
		default_rules[i] = rule_from(defaults[i].entry);
	for (size_t i = 0; i < COUNT(lists); i++) {
		const struct oci_devices devices = devices_from(lists[i].entries);
		compare_all(&devices);
	}
	for (int i = 0; i < 1500; i++) {
		arena_done(&arena);
		const struct oci_devices devices = random_devices();
		compare_all(&devices);
	}
	/* The comparison compared something. */
	for (size_t i = 0; i < COUNT(models); i++)
		assert_true(compared[i] > 100000);
	assert_true(plain > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_nodes_that_replace_a_default),
		cmocka_unit_test(test_grants_several),
		cmocka_unit_test(test_with_rules_in_front),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_most_entries),
		cmocka_unit_test(test_never_more_than_a_runtime),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
