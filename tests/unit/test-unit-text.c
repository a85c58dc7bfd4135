/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "unit-text.h"

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

static void parse(const char *text, struct unit_devices *devices)
{
	struct error err = {0};

	assert_int_equal(unit_text_parse(&arena, text, strlen(text), devices, &err), 0);
	assert_false(error_is_set(&err));
}

static const struct device_rule rule = {
	.type = 'c', .major = 10, .minor = 229, .access = DEVICE_READ | DEVICE_WRITE};

static void test_what_a_runtime_writes(void **state)
{
	struct unit_devices devices = {0};

	(void)state;
	parse("# This is a transient unit file, created programmatically.\n"
	      "[Unit]\nDescription=libcontainer container x\nDeviceAllow=/dev/char/10:229 rw\n"
	      "[Scope]\nDevicePolicy=strict\nDeviceAllow=char-pts rwm\nDeviceAllow=/dev/char/1:3 "
	      "rwm\n"
	      "BPFProgram=ingress:/a\nBPFProgram=device:/sys/fs/bpf/crun/x_scope\n",
	      &devices);
	assert_true(devices.policy_closed);
	assert_int_equal(devices.list.n, 2);
	assert_string_equal(devices.list.items[0].device, "char-pts");
	assert_string_equal(devices.list.items[1].access, "rwm");
	assert_string_equal(devices.pin, "/sys/fs/bpf/crun/x_scope");
	assert_true(unit_text_has_list(&devices));
	assert_false(unit_text_allows(&devices, &rule));
}

/* What is read later counts, and an empty value clears. */
static void test_drop_ins(void **state)
{
	struct unit_devices devices = {0};

	(void)state;
	parse("[Scope]\nDevicePolicy=strict\nDeviceAllow=/dev/char/1:3 rwm\nBPFProgram=device:/x\n",
	      &devices);
	parse("[Scope]\nDevicePolicy=auto\nDeviceAllow=\n\n; a comment\nBPFProgram=\n", &devices);
	assert_false(unit_text_has_list(&devices));
	assert_null(devices.pin);
	parse("[Scope]\r\n DeviceAllow = /dev/char/10:229   rwm \r\n", &devices);
	assert_int_equal(devices.list.n, 1);
	assert_true(unit_text_allows(&devices, &rule));
	parse("[Scope]\nDeviceAllow=\nDeviceAllow=/dev/char/10:229 r\n", &devices);
	assert_false(unit_text_allows(&devices, &rule));
	parse("[Scope]\nDeviceAllow=/dev/char/10:229", &devices);
	assert_string_equal(devices.list.items[1].access, "rwm");
	parse("[Scope]\nDevicePolicy=closed\nDeviceAllow=\n", &devices);
	assert_true(unit_text_has_list(&devices));
}

static void test_continued_lines(void **state)
{
	struct unit_devices devices = {0};

	(void)state;
	parse("[Scope]\nDescription=a \\\nDevicePolicy=strict \\\nDevicePolicy=closed\n"
	      "DeviceAllow=/dev/null rw\n",
	      &devices);
	assert_false(devices.policy_closed);
	assert_int_equal(devices.list.n, 1);
}

static void test_no_unit_file(void **state)
{
	struct unit_devices devices = {0};
	struct error err = {0};

	(void)state;
	assert_true(unit_text_parse(&arena, "[Scope]\nwhat is this\n", 21, &devices, &err) < 0);
	assert_error(&err, 0, "line 2: no setting of a unit file");
	err = (struct error){0};
	assert_true(unit_text_parse(&arena, "[Scope]\n\0=\n", 11, &devices, &err) < 0);
	assert_error(&err, 0, "a NUL byte is in it");
}

static void test_rules_as_entries(void **state)
{
	const struct device_rule block = {
		.type = 'b', .major = 4294967295u, .minor = 4294967295u, .access = 7};
	char device[UNIT_TEXT_DEVICE_MAX], access[UNIT_TEXT_ACCESS_MAX];

	(void)state;
	assert_string_equal(unit_text_device(device, &rule), "/dev/char/10:229");
	assert_string_equal(unit_text_access(access, &rule), "rw");
	assert_string_equal(unit_text_device(device, &block), "/dev/block/4294967295:4294967295");
	assert_string_equal(unit_text_access(access, &block), "rwm");
}

static void test_scope_of_a_cgroup(void **state)
{
	static const struct {
		const char *path, *name, *cgroup;
	} cases[] = {
		{"/system.slice/runc-x.scope", "runc-x.scope", "/system.slice/runc-x.scope"},
		{"/machine.slice/libpod-1.scope/container", "libpod-1.scope",
		 "/machine.slice/libpod-1.scope"},
		{"/a.scope/b.scope/c", "b.scope", "/a.scope/b.scope"},
		{"/a.slice/_cpu.x.scope", "cpu.x.scope", "/a.slice/_cpu.x.scope"},
		{"/a.slice/_cpu.scope", "cpu.scope", "/a.slice/_cpu.scope"},
		{"/a.slice/__x.scope", "_x.scope", "/a.slice/__x.scope"},
		{"/a.slice/_cgroup.x.scope", "cgroup.x.scope", "/a.slice/_cgroup.x.scope"},
		/* systemd has not put that "_" there: the unit without it is another one. */
		{"/a.slice/_crio-1.scope", NULL, NULL},
		{"/a.slice/_cpux.scope", NULL, NULL},
		{"/a.slice/_.scope", NULL, NULL},
		{"/a.scope/_crio-1.scope/c", "a.scope", "/a.scope"},
		{"/a.slice/x y:z.scope", "x y:z.scope", "/a.slice/x y:z.scope"},
		{"/:youki:x", NULL, NULL},
		{"/.scope", NULL, NULL},
		{"/a.scopes/b", NULL, NULL},
		{"/", NULL, NULL},
		{"", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *cgroup, *name = unit_text_scope(&arena, cases[i].path, &cgroup);
		if (!cases[i].name) {
			assert_null(name);
			assert_null(cgroup);
			continue;
		}
		assert_string_equal(name, cases[i].name);
		assert_string_equal(cgroup, cases[i].cgroup);
	}
}

static void test_slice_or_service_of_a_cgroup(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{"/machine.slice", "machine.slice"},
		{"/kubepods.slice/kubepods-burstable.slice", "kubepods-burstable.slice"},
		{"/_cpu.slice", "cpu.slice"},
		{"/__x.slice", "_x.slice"},
		/* Whatever made it: it is called a slice. */
		{"/_x.slice", "_x.slice"},
		{"x.slice", "x.slice"},
		{"/system.slice/job.service", "job.service"},
		{"/_cpu.service", "cpu.service"},
		{"/job.service/libpod-1", NULL},
		{"/.service", NULL},
		{"/machine.slice/libpod-1.scope", NULL},
		{"/machine.slice/libpod_parent", NULL},
		{"/x.slices", NULL},
		{"/.slice", NULL},
		{"/", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *name = unit_text_slice_or_service(cases[i].path);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
}

/* The longest name of a unit, with room for one byte more. */
static char longest[257];

static const struct {
	const char *unit;
	struct unit_limit limit;
	const char *advice, *not ;
} advices[] = {
	{"machine.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM},
	 "systemctl set-property 'machine.slice' 'DeviceAllow=/dev/char/10:229 rw' would "
	 "allow it to all that is in there",
	 NULL},
	{"system-my\\x2dapp@1:_.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM},
	 "set-property 'system-my\\x2dapp@1:_.slice' 'D",
	 NULL},
	{"system-my\\x2dapp.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM, .escaped_later = true},
	 "an entry DeviceAllow=/dev/char/10:229 rw of system-my\\x2dapp.slice would allow "
	 "it",
	 "systemctl"},
	{longest, {.program = 7, .name = UNIT_TEXT_PROGRAM}, "set-property 'aaa", NULL},
	{"a'; reboot; '.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM},
	 "an entry DeviceAllow=/dev/char/10:229 rw of a'; reboot; '.slice would allow it",
	 "systemctl"},
	{"a\nb.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM},
	 "rw of a\\x0ab.slice would",
	 "systemctl"},
	{"-Hhost.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM},
	 "rw of -Hhost.slice would",
	 "systemctl"},
	{"machine.slice",
	 {.program = 7, .name = "their"},
	 "device program 7 (their) is not systemd's, and whoever attached it has to allow",
	 "DeviceAllow"},
	{"machine.slice",
	 {.program = 7, .name = ""},
	 "7 has no name, as those of systemd before release 251, and whoever attached it "
	 "has "
	 "to allow the device there (DeviceAllow=/dev/char/10:229 rw where the unit has "
	 "such",
	 "systemctl"},
	{"machine.slice",
	 {.program = 7, .name = UNIT_TEXT_PROGRAM, .problem = "why"},
	 "device program 7 cannot be read (why), and the devices open only if it allows",
	 "DeviceAllow"},
	{"machine.slice",
	 {.name = "", .problem = "why"},
	 "its device programs cannot be read (why), and",
	 "DeviceAllow"},
	{"machine.slice", {.name = ""}, "whoever has set its list has to allow", "DeviceAllow"},
};

/* What stands in quotes is pasted into a shell of root's. */
static void test_advice(void **state)
{
	static const char left[] = "units that are not the container's are left as they are: ";
	const struct unit_limit systemds = {.program = 7, .name = UNIT_TEXT_PROGRAM};

	(void)state;
	memset(longest, 'a', 255);
	memcpy(longest + 249, ".slice", 7);
	for (size_t i = 0; i < sizeof(advices) / sizeof(*advices); i++) {
		const char *advice =
			unit_text_advice(&arena, advices[i].unit, &rule, &advices[i].limit);
		assert_memory_equal(advice, left, strlen(left));
		assert_non_null(strstr(advice, advices[i].advice));
		if (advices[i].not )
			assert_null(strstr(advice, advices[i].not ));
	}
	memcpy(longest + 249, "a.slice", 8);
	assert_null(strstr(unit_text_advice(&arena, longest, &rule, &systemds), "systemctl"));
}

static void test_cgroup_of_a_unit(void **state)
{
	static const struct {
		const char *settings, *cgroup;
	} cases[] = {
		{"", "/system.slice/x.scope"},
		{"Slice=machine.slice\n", "/machine.slice/x.scope"},
		{"Slice=a-b-c.slice\n", "/a.slice/a-b.slice/a-b-c.slice/x.scope"},
		{"Slice=-.slice\n", "/x.scope"},
		{"Slice=.slice\n", "/x.scope"},
		{"Slice=a.slice\nSlice=\n", "/system.slice/x.scope"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct unit_devices devices = {0};

		parse(arena_printf(&arena, "[Scope]\n%s", cases[i].settings), &devices);
		assert_string_equal(unit_text_cgroup(&arena, &devices, "x.scope"), cases[i].cgroup);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_a_runtime_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drop_ins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_continued_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_unit_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rules_as_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scope_of_a_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slice_or_service_of_a_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_advice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cgroup_of_a_unit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
