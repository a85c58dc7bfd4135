/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks that are built in, as the plan shows them: on hosts with and without a driver, for containers with and without a wish. */
#include "plan-fixture.h"

#include "plan-json.h"

#define HOOK(args) HOOK_AT("createContainer", args)
#define HOOK_AT(stage, args)                                                                       \
	"cdiVersion: 0.6.0\n"                                                                      \
	"kind: v/c\n"                                                                              \
	"devices: [{name: d, containerEdits: {hooks: [{hookName: " stage                           \
	", path: /usr/bin/nvidia-cdi-hook, args: [nvidia-cdi-hook, " args "]}]}}]\n"
#define ORIGIN "  # v/c=d /a.yaml:3:46\n"
#define NOTE "device v/c=d (/a.yaml:3:46): hook "

static void assert_planned(const char *spec, const char *host, const char *config, const char *text,
			   const char *note)
{
	const struct plan_input input = {
		.specs = {spec}, .devices = "v/c=d", .host = host, .config = config};

	assert_plan(&input, text, note);
}

static void test_shown(void **state)
{
	(void)state;
	assert_planned(HOOK("create-symlinks, --link, 'a b::/x', --link, /t::/y"), NULL, NULL,
		       "link a\\x20b /x" ORIGIN "link /t /y" ORIGIN, NULL);
	assert_planned(HOOK("chmod, --mode, '755', --path, '/dev/dri,/x'"), NULL, NULL,
		       "chmod 0755 /dev/dri /x" ORIGIN, NULL);
	assert_planned(HOOK("enable-cuda-compat, --host-driver-version=550.54.15"), NULL, NULL,
		       "cuda-compat /usr/local/cuda/compat driver 550.54.15 cuda -" ORIGIN, NULL);
	assert_planned(HOOK("enable-cuda-compat, --host-cuda-version=12.4"), NULL, NULL,
		       "cuda-compat /usr/local/cuda/compat driver - cuda 12.4" ORIGIN, NULL);
	assert_planned(HOOK("update-application-profile"), NULL, NULL,
		       "application-profile "
		       "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf" ORIGIN,
		       NULL);
	assert_planned(HOOK("update-ldcache, --folder, /a"), NULL, NULL, "ldcache /a" ORIGIN, NULL);
	assert_planned(HOOK("create-symlinks"), NULL, NULL, "", NULL);
}

static void test_nothing(void **state)
{
	(void)state;
	assert_planned(HOOK("noop"), NULL, NULL, "", NULL);
	assert_planned(HOOK("frobnicate"), NULL, NULL, "",
		       NOTE "frobnicate: the command is not known: nothing is done, as the "
			    "vendor's own programs do nothing");
	assert_planned(HOOK_AT("poststop", "noop"), NULL, NULL,
		       "unsupported hook poststop\\x20/usr/bin/nvidia-cdi-hook" ORIGIN, NULL);
}

static void test_params(void **state)
{
	static const char *const spec = HOOK("disable-device-node-modification");

	(void)state;
	assert_planned(spec, "/proc/driver/nvidia/params f text=A: 1|ModifyDeviceFiles: 1|", NULL,
		       "driver-params /proc/driver/nvidia/params" ORIGIN, NULL);
	assert_planned(spec, "/proc/driver/nvidia/params f text=ModifyDeviceFiles: 0|", NULL, "",
		       NOTE "disable-device-node-modification: the driver makes no device nodes");
	assert_planned(
		spec, NULL, NULL, "",
		NOTE
		"disable-device-node-modification: the host has no /proc/driver/nvidia/params");
}

static void test_memory_limits(void **state)
{
	static const char *const spec =
		HOOK_AT("createRuntime", "apply-cuda-memory-limits, --gpu-id, GPU-1");

	(void)state;
	assert_planned(spec, NULL, NULL, "",
		       "device v/c=d (/a.yaml:3:46): hook apply-cuda-memory-limits: the container "
		       "asks for no limit of GPU memory");
	assert_planned(spec, NULL,
		       "{\"root\":{\"path\":\"r\"},\"process\":{\"env\":[\"NVIDIA_GPU_MEMORY_LIMIT="
		       "5\"]}}",
		       "hook createRuntime /usr/bin/nvidia-cdi-hook nvidia-cdi-hook "
		       "apply-cuda-memory-limits --gpu-id GPU-1" ORIGIN,
		       NULL);
}

/* A link for each soname that is no file's name, in the folders alone, and to the newest. */
static void test_sonames(void **state)
{
	static const char *const spec =
		"cdiVersion: 0.6.0\n"
		"kind: v/c\n"
		"devices: [{name: d, containerEdits: {hooks: [{hookName: createContainer, path: "
		"/usr/bin/nvidia-cdi-hook, args: [h, create-soname-symlinks, --folder, /l/]}],\n"
		"  mounts: [{hostPath: /h/libx.so.1.2, containerPath: /l/libx.so.1.2},\n"
		"    {hostPath: /h/libx.so.1.10, containerPath: /l/libx.so.1.10},\n"
		"    {hostPath: /h/liby.so.1, containerPath: /l/liby.so.1},\n"
		"    {hostPath: /h/libx.so.1.2, containerPath: /m/libx.so.1.2}]}}]\n";
	static const char *const host = "/h/libx.so.1.2 x soname=libx.so.1\n"
					"/h/libx.so.1.10 x soname=libx.so.1\n"
					"/h/liby.so.1 x soname=liby.so.1\n";
	const struct plan_input input = {
		.specs = {spec}, .devices = "v/c=d", .host = host, .no_ldcache = true};
	struct planned planned;
	const char *text;

	(void)state;
	assert_int_equal(planned_init(&planned, &input), 0);
	text = plan_text(&planned.arena, &planned.plan, &planned.err);
	assert_non_null(strstr(text, "\nlink libx.so.1.10 /l/libx.so.1" ORIGIN));
	assert_null(strstr(text, "library"));
	assert_ptr_equal(strstr(text, "link "),
			 strrchr(text, '\n') - strlen("link libx.so.1.10 /l/libx.so.1" ORIGIN) + 1);
	planned_done(&planned);
	assert_memory_is_minded(&input);
}

#define LINKS_SPEC                                                                                 \
	"cdiVersion: 0.6.0\n"                                                                      \
	"kind: v/c\n"                                                                              \
	"devices: [{name: d, containerEdits: {hooks: [{hookName: createContainer, path: "          \
	"/usr/bin/nvidia-cdi-hook, args: [h, create-symlinks, --link, '"

#define LINKS_MOUNTS                                                                               \
	"']}],\n"                                                                                  \
	"  mounts: [{hostPath: /h/libx.so.1.2, containerPath: /l/libx.so.1.2}]}}]\n"

/* Links to libraries: what they rely on, and what they add to the names that a loader knows. */
static void test_links_to_libraries(void **state)
{
	static const struct {
		const char *spec, *links, *libraries;
	} cases[] = {
		/* The soname is only a name until somebody makes it. */
		{LINKS_SPEC "libx.so.1::/l/libx.so" LINKS_MOUNTS,
		 "link libx.so.1 /l/libx.so" ORIGIN "link libx.so.1.2 /l/libx.so.1" ORIGIN,
		 "library libx.so /l/libx.so" ORIGIN},
		{LINKS_SPEC "../l/libx.so.1::/m/y,/l/libx.so.1::/z" LINKS_MOUNTS,
		 "link ../l/libx.so.1 /m/y" ORIGIN "link /l/libx.so.1 /z" ORIGIN
		 "link libx.so.1.2 /l/libx.so.1" ORIGIN,
		 ""},
		/* Somebody does. */
		{LINKS_SPEC "libx.so.1::/l/libx.so,libx.so.1.2::/l/libx.so.1" LINKS_MOUNTS,
		 "link libx.so.1 /l/libx.so" ORIGIN "link libx.so.1.2 /l/libx.so.1" ORIGIN,
		 "library libx.so /l/libx.so" ORIGIN},
		/* Straight to the file, by another name. */
		{LINKS_SPEC "../l/libx.so.1.2::/m/libnew.so.0" LINKS_MOUNTS,
		 "link ../l/libx.so.1.2 /m/libnew.so.0" ORIGIN, ""},
		{LINKS_SPEC "../l/libx.so.1.2::/m/libx.so" LINKS_MOUNTS,
		 "link ../l/libx.so.1.2 /m/libx.so" ORIGIN, "library libx.so /m/libx.so" ORIGIN},
		/* To nothing that is known, and to themselves. */
		{LINKS_SPEC "libx.so.2::/l/libx.so,b::/l/liba.so,liba.so::/l/b" LINKS_MOUNTS,
		 "link libx.so.2 /l/libx.so" ORIGIN "link b /l/liba.so" ORIGIN
		 "link liba.so /l/b" ORIGIN,
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan_input input = {.specs = {cases[i].spec},
					   .devices = "v/c=d",
					   .host = "/h/libx.so.1.2 x soname=libx.so.1\n"};
		struct planned planned;
		const char *text, *links, *library;

		assert_int_equal(planned_init(&planned, &input), 0);
		text = plan_text(&planned.arena, &planned.plan, &planned.err);
		links = strstr(text, "link ");
		assert_string_equal(links, cases[i].links);
		library = strchr(strstr(text, "library libx.so.1 "), '\n') + 1;
		assert_int_equal(links - library, strlen(cases[i].libraries));
		assert_memory_equal(library, cases[i].libraries, (size_t)(links - library));
		planned_done(&planned);
		assert_memory_is_minded(&input);

		/* The same links where the library cache is left alone. */
		input.no_ldcache = true;
		assert_int_equal(planned_init(&planned, &input), 0);
		text = plan_text(&planned.arena, &planned.plan, &planned.err);
		assert_string_equal(strstr(text, "link "), cases[i].links);
		assert_null(strstr(text, "library "));
		planned_done(&planned);
	}
}

static void test_refused(void **state)
{
	const struct plan_input input = {.specs = {HOOK("chmod, --path, /x")}, .devices = "v/c=d"};

	(void)state;
	assert_no_plan(&input, EXIT_CODE_VENDOR_HOOK,
		       NOTE "createContainer: chmod: option --mode is missing");
}

static void test_json(void **state)
{
	static const char *const spec =
		"cdiVersion: 0.6.0\n"
		"kind: v/c\n"
		"devices: [{name: d, containerEdits: {hooks: [\n"
		"  {hookName: createContainer, path: /nvidia-cdi-hook, args: [h, create-symlinks, "
		"--link, a::/b]},\n"
		"  {hookName: createContainer, path: /nvidia-cdi-hook, args: [h, chmod, --mode, "
		"'7', --path, /b]},\n"
		"  {hookName: createContainer, path: /nvidia-cdi-hook, args: [h, "
		"enable-cuda-compat, --host-cuda-version, '12']},\n"
		"  {hookName: createContainer, path: /nvidia-cdi-hook, args: [h, "
		"disable-device-node-modification]},\n"
		"  {hookName: createContainer, path: /nvidia-cdi-hook, args: [h, "
		"update-application-profile]}]}}]\n";
	const struct plan_input input = {
		.specs = {spec},
		.devices = "v/c=d",
		.host = "/proc/driver/nvidia/params f text=ModifyDeviceFiles: 1|",
	};
	static const char *const expected =
		"[\n"
		"{\"operation\":\"link\",\"target\":\"a\",\"path\":\"/"
		"b\",\"origin\":{\"device\":\"v/c=d\",\"kind\":\"v/c\",\"file\":\"/"
		"a.yaml\",\"line\":4,\"column\":3}},\n"
		"{\"operation\":\"chmod\",\"path\":\"/"
		"b\",\"mode\":\"0007\",\"origin\":{\"device\":\"v/c=d\",\"kind\":\"v/"
		"c\",\"file\":\"/a.yaml\",\"line\":5,\"column\":3}},\n"
		"{\"operation\":\"cuda-compat\",\"path\":\"/usr/local/cuda/"
		"compat\",\"driver\":null,\"cuda\":\"12\",\"origin\":{\"device\":\"v/"
		"c=d\",\"kind\":\"v/c\",\"file\":\"/a.yaml\",\"line\":6,\"column\":3}},\n"
		"{\"operation\":\"driver-params\",\"path\":\"/proc/driver/nvidia/"
		"params\",\"origin\":{\"device\":\"v/c=d\",\"kind\":\"v/c\",\"file\":\"/"
		"a.yaml\",\"line\":7,\"column\":3}},\n"
		"{\"operation\":\"application-profile\",\"path\":\"/etc/nvidia/"
		"nvidia-application-profiles-rc.d/10-container.conf\",\"origin\":{\"device\":\"v/"
		"c=d\",\"kind\":\"v/c\",\"file\":\"/a.yaml\",\"line\":8,\"column\":3}}\n"
		"]\n";
	struct planned planned;

	(void)state;
	assert_int_equal(planned_init(&planned, &input), 0);
	assert_string_equal(plan_json(&planned.arena, &planned.plan, &planned.err), expected);
	planned_done(&planned);
	assert_memory_is_minded(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_memory_limits),
		cmocka_unit_test(test_sonames),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_links_to_libraries),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
