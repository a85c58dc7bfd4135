/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

#define HEAD(version)                                                                              \
	"cdiVersion: " version "\nkind: v.com/d\ndevices:\n- name: a\n  containerEdits:\n"
/* One device, a, with these edits from line 6 on. */
#define EDITS(edits) HEAD("1.1.0") "    " edits "\n"
#define INPUT(edits, ...)                                                                          \
	&(const struct plan_input)                                                                 \
	{                                                                                          \
		.specs = {EDITS(edits)}, .devices = "v.com/d=a", __VA_ARGS__                       \
	}
#define AT(place) "device v.com/d=a (/a.yaml:" place "): "

static void test_nothing(void **state)
{
	const struct plan_input input = {.devices = ""};

	(void)state;
	assert_plan(&input, "", NULL);
}

static void test_complete_nodes(void **state)
{
	(void)state;
	/* Not on the host: made from the spec's numbers. */
	assert_plan(INPUT("deviceNodes: [{path: /dev//x/, type: c, major: 240, minor: 7}]"),
		    "allow c 240:7 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/x c 240:7 0666 0:0  # v.com/d=a /a.yaml:6:19\n",
		    NULL);
	/* The host's mode, and never its owner. */
	assert_plan(INPUT("deviceNodes: [{path: /dev/x, type: b, major: 240, minor: 7}]",
			  .host = "/dev/x b 240:7 0640 5:6\n"),
		    "allow b 240:7 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/x b 240:7 0640 0:0  # v.com/d=a /a.yaml:6:19\n",
		    NULL);
	/* Something else of that name says nothing. */
	assert_plan(INPUT("deviceNodes: [{path: /dev/x, type: c, major: 240, minor: 7}]",
			  .host = "/dev/x f 0600\n"),
		    "allow c 240:7 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/x c 240:7 0666 0:0  # v.com/d=a /a.yaml:6:19\n",
		    NULL);
	assert_plan(INPUT("deviceNodes: [{path: /dev/x, type: p}]"),
		    "node /dev/x p 0666 0:0  # v.com/d=a /a.yaml:6:19\n", NULL);
}

static void test_stale_numbers(void **state)
{
	static const char note[] =
		AT("6:19") "the spec says c 240:7, but /dev/x of the host is c 240:8";

	(void)state;
	assert_no_plan(INPUT("deviceNodes: [{path: /dev/x, type: c, major: 240, minor: 7}]",
			     .host = "/dev/x c 240:8\n"),
		       EXIT_CODE_HOST, note);
	assert_plan(INPUT("deviceNodes: [{path: /dev/x, type: c, major: 240, minor: 7}]",
			  .host = "/dev/x c 240:8\n", .lenient = true),
		    "allow c 240:7 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/x c 240:7 0666 0:0  # v.com/d=a /a.yaml:6:19\n",
		    note);
	assert_no_plan(INPUT("deviceNodes: [{path: /dev/x, type: p}]", .host = "/dev/x b 8:0\n"),
		       EXIT_CODE_HOST,
		       AT("6:19") "the spec says p 0:0, but /dev/x of the host is b 8:0");
	/* The type that is given counts, also where the number is the host's. */
	assert_no_plan(INPUT("deviceNodes: [{path: /dev/x, type: b}]", .host = "/dev/x c 240:8\n"),
		       EXIT_CODE_HOST,
		       AT("6:19") "the spec says b 240:8, but /dev/x of the host is c 240:8");
}

static void test_nodes_completed_from_the_host(void **state)
{
	(void)state;
	assert_plan(INPUT("deviceNodes: [{path: /dev/x}, {path: /dev/y, hostPath: /dev/by-id/y}]",
			  .host = "/dev/x c 240:8 0600\n/dev/by-id/y b 8:1 0660\n/dev/y c 1:1\n"),
		    "allow c 240:8 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "allow b 8:1 rwm  # v.com/d=a /a.yaml:6:35\n"
		    "node /dev/x c 240:8 0600 0:0  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/y b 8:1 0660 0:0  # v.com/d=a /a.yaml:6:35\n",
		    NULL);
	/* "" is absent. Major 0: both numbers are the host's. A FIFO has none. */
	assert_plan(INPUT("deviceNodes: [{path: /dev/x, hostPath: '', type: '', minor: 3}, "
			  "{path: /dev/p}]",
			  .host = "/dev/x c 240:8 0600\n/dev/p p 0622\n"),
		    "allow c 240:8 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/x c 240:8 0600 0:0  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/p p 0622 0:0  # v.com/d=a /a.yaml:6:69\n",
		    NULL);
	assert_plan(INPUT("deviceNodes: [{path: /dev/x, type: u, fileMode: 0440, uid: 1, gid: 2}]",
			  .host = "/dev/x c 240:8 0600\n"),
		    "allow c 240:8 rwm  # v.com/d=a /a.yaml:6:19\n"
		    "node /dev/x c 240:8 0440 1:2  # v.com/d=a /a.yaml:6:19\n",
		    NULL);
}

static void test_what_is_missing_is_said_together(void **state)
{
	static const char *const sentences[] = {
		AT("6:19") "device node /dev/x of the host: No such file or directory; ",
		AT("6:35") "/dev/f of the host is not a device node; ",
		AT("6:51") "device node /dev/[ab] of the host: no such file; CDI takes it for a "
			   "name, not for a pattern: name every node; ",
		AT("6:72") "/dev/zero of the host has the number 0:0, which no driver has: the "
			   "node "
			   "was made wrongly; ",
		AT("7:14") "mount source /s: No such file or directory",
	};
	char sentence[1024] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		strcat(sentence, sentences[i]);
	assert_no_plan(INPUT("deviceNodes: [{path: /dev/x}, {path: /dev/f}, {path: '/dev/[ab]'}, "
			     "{path: /dev/zero}]\n    mounts: [{hostPath: /s, containerPath: /d}]",
			     .host = "/dev/f f\n/dev/zero c 0:0\n"),
		       EXIT_CODE_HOST, sentence);
}

static void test_node_paths(void **state)
{
	(void)state;
#define PATH(path) INPUT("deviceNodes: [{path: " path ", type: c, major: 240}]")
	assert_no_plan(PATH("/"), EXIT_CODE_SPEC,
		       AT("6:19") "deviceNodes path / is the container's whole root");
	assert_no_plan(PATH("/sys/x"), EXIT_CODE_SPEC,
		       AT("6:19") "deviceNodes path /sys/x lies in the container's /sys, where "
				  "nothing is ever put");
	assert_no_plan(PATH("/proc/x"), EXIT_CODE_SPEC,
		       AT("6:19") "deviceNodes path /proc/x lies in the container's /proc");
	assert_no_plan(PATH("/dev/../x"), EXIT_CODE_SPEC,
		       AT("6:19") "deviceNodes path /dev/../x contains ..");
	assert_no_plan(INPUT("deviceNodes: [{path: /x, type: c, major: 4096}]"), EXIT_CODE_SPEC,
		       AT("6:19") "device number 4096:0 of /x is beyond 4095:1048575");
	assert_no_plan(INPUT("deviceNodes: [{path: /x, type: c, major: 1, minor: 1048576}]"),
		       EXIT_CODE_SPEC,
		       AT("6:19") "device number 1:1048576 of /x is beyond 4095:1048575");
}

static void test_access(void **state)
{
	(void)state;
	/* Each number once; "none" is no rule. */
	assert_plan(INPUT("deviceNodes:\n"
			  "    - {path: /dev/a, type: c, major: 1, minor: 1, permissions: r}\n"
			  "    - {path: /dev/b, type: c, major: 1, minor: 1, permissions: wm}\n"
			  "    - {path: /dev/c, type: b, major: 1, minor: 1, permissions: m}\n"
			  "    - {path: /dev/d, type: c, major: 1, minor: 2, permissions: none}\n"
			  "    - {path: /dev/e, type: c, major: 1, minor: 3, permissions: ''}"),
		    "allow c 1:1 rwm  # v.com/d=a /a.yaml:7:7\n"
		    "allow b 1:1 m  # v.com/d=a /a.yaml:9:7\n"
		    "allow c 1:3 rwm  # v.com/d=a /a.yaml:11:7\n"
		    "node /dev/a c 1:1 0666 0:0  # v.com/d=a /a.yaml:7:7\n"
		    "node /dev/b c 1:1 0666 0:0  # v.com/d=a /a.yaml:8:7\n"
		    "node /dev/c b 1:1 0666 0:0  # v.com/d=a /a.yaml:9:7\n"
		    "node /dev/d c 1:2 0666 0:0  # v.com/d=a /a.yaml:10:7\n"
		    "node /dev/e c 1:3 0666 0:0  # v.com/d=a /a.yaml:11:7\n",
		    NULL);
}

static void test_later_nodes_replace(void **state)
{
	(void)state;
	assert_plan(INPUT("deviceNodes:\n"
			  "    - {path: /dev/a, type: c, major: 1, minor: 1}\n"
			  "    - {path: /dev/b, type: c, major: 1, minor: 2}\n"
			  "    - {path: /dev//a, type: c, major: 1, minor: 3, permissions: r}"),
		    "allow c 1:2 rwm  # v.com/d=a /a.yaml:8:7\n"
		    "allow c 1:3 r  # v.com/d=a /a.yaml:9:7\n"
		    "node /dev/b c 1:2 0666 0:0  # v.com/d=a /a.yaml:8:7\n"
		    "node /dev/a c 1:3 0666 0:0  # v.com/d=a /a.yaml:9:7\n",
		    NULL);
}

static void test_owner(void **state)
{
	(void)state;
	assert_plan(INPUT("deviceNodes: [{path: /x, type: p}, {path: /y, type: p, uid: 0}]",
			  .config = "{\"root\": {\"path\": \"r\"}, \"process\": {\"user\": "
				    "{\"uid\": 1000, \"gid\": 100}}}"),
		    "node /x p 0666 1000:100  # v.com/d=a /a.yaml:6:19\n"
		    "node /y p 0666 0:100  # v.com/d=a /a.yaml:6:40\n",
		    NULL);
}

static void test_mounts(void **state)
{
	(void)state;
	/* Parents first; of one depth as they stand; a later one of the same place replaces. */
	assert_plan(INPUT("mounts:\n"
			  "    - {hostPath: /s, containerPath: /x/y/z}\n"
			  "    - {hostPath: /s, containerPath: /d, options: [rbind, ro]}\n"
			  "    - {hostPath: /s/, containerPath: /b//, type: none}\n"
			  "    - {hostPath: /s, containerPath: /x/y}\n"
			  "    - {hostPath: tmpfs, containerPath: /t, type: tmpfs, options: "
			  "[size=1k]}\n"
			  "    - {hostPath: /s, containerPath: /d/, type: weird, options: [bind]}",
			  .host = "/s d\n"),
		    "mount /s /b private  # v.com/d=a /a.yaml:9:7\n"
		    "mount tmpfs /t private,size=1k  # v.com/d=a /a.yaml:11:7\n"
		    "mount /s /d bind,private  # v.com/d=a /a.yaml:12:7\n"
		    "mount /s /x/y private  # v.com/d=a /a.yaml:10:7\n"
		    "mount /s /x/y/z private  # v.com/d=a /a.yaml:7:7\n",
		    NULL);
	assert_no_plan(
		INPUT("mounts: [{hostPath: /s, containerPath: /d, type: ext4}]"), EXIT_CODE_OTHER,
		AT("6:14") "mount of type \"ext4\" on /d: a hook makes bind and tmpfs mounts "
			   "only");
	assert_no_plan(
		INPUT("mounts: [{hostPath: /s, containerPath: /d, options: [rr]}]"), EXIT_CODE_SPEC,
		AT("6:14") "mounts containerPath /d: mount option \"rr\" is unknown; did you "
			   "mean \"ro\"?");
	assert_no_plan(INPUT("mounts: [{hostPath: s, containerPath: /d}]"), EXIT_CODE_SPEC,
		       AT("6:14") "mounts hostPath s is not absolute");
}

static void test_mounts_in_proc(void **state)
{
	static const char *const refused[] = {"/proc",         "/proc/x",
					      "/proc/1/x",     "/proc/self/x",
					      "/proc/sys/x",   "/proc/thread-self/x",
					      "/proc/123/a/b", "/proc/cmdline"};
	char edits[512], sentence[512];
	struct plan_input input = {.specs = {edits}, .devices = "v.com/d=a"};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		snprintf(edits, sizeof(edits), EDITS("mounts: [{hostPath: /s, containerPath: %s}]"),
			 refused[i]);
		snprintf(
			sentence, sizeof(sentence),
			AT("6:14") "mounts containerPath %s lies in the container's /proc, where a "
				   "spec may only cover entries of drivers such as "
				   "/proc/driver/NAME",
			refused[i]);
		assert_no_plan(&input, EXIT_CODE_SPEC, sentence);
	}
	assert_plan(
		INPUT("mounts: [{hostPath: /s, containerPath: /proc/driver/x}]", .host = "/s d\n"),
		"mount /s /proc/driver/x private  # v.com/d=a /a.yaml:6:14\n", NULL);
	assert_plan(INPUT("mounts: [{hostPath: /s, containerPath: /process}]", .host = "/s d\n"),
		    "mount /s /process private  # v.com/d=a /a.yaml:6:14\n", NULL);
}

static void test_hooks(void **state)
{
	(void)state;
	assert_plan(INPUT("hooks: [{hookName: prestart, path: /h, args: [h, 'a b']}]"),
		    "hook prestart /h h a\\x20b  # v.com/d=a /a.yaml:6:13\n", NULL);
	assert_plan(INPUT("hooks: [{hookName: prestart, path: /h}]", .no_vendor_hooks = true), "",
		    AT("6:13") "hook prestart /h left out, as --vendor-hooks=none says");
#define LDCACHE                                                                                    \
	"hooks: [{hookName: createContainer, path: /bin/nvidia-ctk, args: [nvidia-ctk, hook, "     \
	"update-ldcache, --folder, /l]}]"
	assert_plan(INPUT(LDCACHE), "ldcache /l  # v.com/d=a /a.yaml:6:13\n", NULL);
	assert_plan(INPUT(LDCACHE, .no_ldcache = true), "",
		    AT("6:13") "hook createContainer asks for the library cache, which "
			       "--ldconfig=none leaves alone");
}

/* A spec's own edits come once, before those of its first device; devices in request order. */
static void test_order_of_devices(void **state)
{
	const struct plan_input input = {
		.specs =
			{"cdiVersion: 1.1.0\nkind: v.com/d\n"
			 "containerEdits: {deviceNodes: [{path: /dev/all, type: p}]}\n"
			 "devices:\n"
			 "- {name: a, containerEdits: {deviceNodes: [{path: /dev/a, type: p}]}}\n"
			 "- {name: b, containerEdits: {deviceNodes: [{path: /dev/b, type: p}]}}\n",
			 "cdiVersion: 1.1.0\nkind: w.com/d\n"
			 "containerEdits: {deviceNodes: [{path: /dev/w, type: p}]}\n"
			 "devices:\n"
			 "- {name: a, containerEdits: {deviceNodes: [{path: /dev/a, type: p}]}}\n"},
		.devices = "v.com/d=a v.com/d=b w.com/d=a",
	};

	(void)state;
	assert_plan(&input,
		    "node /dev/all p 0666 0:0  # v.com/d /a.yaml:3:32\n"
		    "node /dev/b p 0666 0:0  # v.com/d=b /a.yaml:6:44\n"
		    "node /dev/w p 0666 0:0  # w.com/d /b.yaml:3:32\n"
		    "node /dev/a p 0666 0:0  # w.com/d=a /b.yaml:5:44\n",
		    NULL);
}

/* More of a kind of edit than any container needs is refused, and soon. */
/* A mount that the runtime makes from config.json is known by what stands there. */
static void test_mounts_of_config(void **state)
{
#define ENTRY(source, destination, options)                                                        \
	"{\"root\":{\"path\":\"r\"},\"mounts\":[{\"destination\":\"/"                              \
	"x\"},7,{\"destination\":\"" destination "\",\"source\":\"" source                         \
	"\",\"options\":[" options "]}]}"
	static const struct {
		const char *config;
		bool same;
	} cases[] = {
		{ENTRY("/s", "/d", "\"ro\",\"bind\""), true},
		{ENTRY("/s/", "//d", "\"ro\",\"bind\",\"nodev\",\"rprivate\""), true},
		{ENTRY("/t", "/d", "\"ro\""), false},
		{ENTRY("/s", "/e", "\"ro\""), false},
		{ENTRY("/s", "/d", ""), false},
		{ENTRY("/s", "/d", "\"ro\",\"nosuid\""), false},
		{ENTRY("/s", "/d", "\"ro\",\"no such word\""), false},
		{ENTRY("s", "/d", "\"ro\""), false},
		{ENTRY("/s", "d", "\"ro\""), false},
		{ENTRY("", "/d", "\"ro\""), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct planned planned;

		assert_int_equal(
			planned_init(&planned,
				     INPUT("mounts: [{hostPath: /s, containerPath: /d, options: "
					   "[ro, suid]}]",
					   .host = "/s d\n", .config = cases[i].config)),
			0);
		assert_int_equal(planned.plan.mounts.items[0].in_config, cases[i].same);
		planned_done(&planned);
	}
	assert_memory_is_minded(INPUT("mounts: [{hostPath: /s, containerPath: /d, options: [ro]}]",
				      .host = "/s d\n", .config = cases[0].config));
}

/*
 * For config.json the runtime does the work: any type of mount, the spec's own words, and all hooks.
 */

static void test_mounts_for_config(void **state)
{
	(void)state;
	assert_plan(
		INPUT("mounts:\n"
		      "    - {hostPath: /s, containerPath: /a, options: [ro]}\n"
		      "    - {hostPath: /s, containerPath: /b, type: bind, options: [rro, "
		      "idmap=x]}\n"
		      "    - {hostPath: /s, containerPath: /c, type: none, options: [rbind]}\n"
		      "    - {hostPath: o, containerPath: /d, type: overlay, options: "
		      "[lowerdir=/x]}\n"
		      "    - {hostPath: t, containerPath: /e, type: tmpfs, options: [tmpcopyup]}",
		      .host = "/s d\n", .in_config = true),
		"mount /s /a ro,bind  # v.com/d=a /a.yaml:7:7\n"
		"mount /s /b rro,idmap=x  # v.com/d=a /a.yaml:8:7\n"
		"mount /s /c rbind  # v.com/d=a /a.yaml:9:7\n"
		"mount overlay:o /d lowerdir=/x  # v.com/d=a /a.yaml:10:7\n"
		"mount tmpfs /e tmpcopyup  # v.com/d=a /a.yaml:11:7\n",
		NULL);
	/* A bind mount that is writable because a word was misspelt is refused here too. */
	assert_no_plan(INPUT("mounts: [{hostPath: /s, containerPath: /d, options: [readonly]}]",
			     .host = "/s d\n", .in_config = true),
		       EXIT_CODE_SPEC,
		       AT("6:14") "mounts containerPath /d: mount option \"readonly\" is unknown");
	assert_no_plan(INPUT("mounts: [{hostPath: /s, containerPath: /d, options: [idmap]}]",
			     .host = "/s d\n"),
		       EXIT_CODE_SPEC,
		       AT("6:14") "mounts containerPath /d: mount option \"idmap\" is unknown");
}

static void test_id_mapped_mounts(void **state)
{
	static const char config[] =
		"{\"root\":{\"path\":\"r\"},\"linux\":{\"namespaces\":[{\"type\":\"user\"}],"
		"\"uidMappings\":[{}],\"gidMappings\":[{}]}}";

	(void)state;
	assert_plan(INPUT("mounts:\n"
			  "    - {hostPath: /s, containerPath: /a}\n"
			  "    - {hostPath: /s, containerPath: /b, options: [bind, rbind]}\n"
			  "    - {hostPath: /s, containerPath: /c, type: bind, options: [ridmap]}\n"
			  "    - {hostPath: t, containerPath: /d, type: tmpfs}",
			  .host = "/s d\n", .in_config = true, .config = config),
		    "mount /s /a bind,idmap  # v.com/d=a /a.yaml:7:7\n"
		    "mount /s /b bind,rbind,ridmap  # v.com/d=a /a.yaml:8:7\n"
		    "mount /s /c ridmap  # v.com/d=a /a.yaml:9:7\n"
		    "mount tmpfs /d \"\"  # v.com/d=a /a.yaml:10:7\n",
		    NULL);
}

static void test_hooks_for_config(void **state)
{
	(void)state;
	assert_plan(
		INPUT("hooks:\n"
		      "    - {hookName: createContainer, path: /bin/nvidia-ctk, args: [x, "
		      "update-ldcache]}\n"
		      "    - {hookName: startContainer, path: /not/there}",
		      .host = "/bin/nvidia-ctk x 0755\n", .in_config = true),
		"hook createContainer /bin/nvidia-ctk x update-ldcache  # v.com/d=a /a.yaml:7:7\n"
		"hook startContainer /not/there  # v.com/d=a /a.yaml:8:7\n",
		NULL);
	assert_no_plan(INPUT("hooks: [{hookName: prestart, path: /not/there}]", .in_config = true),
		       EXIT_CODE_HOST,
		       AT("6:13") "hook prestart /not/there: No such file or directory");
}

/* What an engine put into config.json is run by the runtime. */
static void test_hooks_of_config(void **state)
{
#define CONFIG_HOOKS(hooks) "{\"root\":{\"path\":\"r\"},\"hooks\":{" hooks "}}"
	(void)state;
	assert_plan(INPUT("hooks: [{hookName: prestart, path: /h, args: [h, a]}, "
			  "{hookName: prestart, path: /h, args: [h, b]}]",
			  .config = CONFIG_HOOKS("\"prestart\":[{\"path\":\"/h\",\"args\":"
						 "[\"h\",\"b\"]}]")),
		    "hook prestart /h h a  # v.com/d=a /a.yaml:6:13\n",
		    AT("6:59") "hook prestart /h stands in config.json: the runtime runs it");
	assert_plan(INPUT("hooks: [{hookName: startContainer, path: /h}]",
			  .config = CONFIG_HOOKS("\"prestart\":[{\"path\":\"/h\"}],"
						 "\"startContainer\":[{\"path\":\"/g\"}]")),
		    "unsupported hook startContainer\\x20/h  # v.com/d=a /a.yaml:6:13\n", NULL);
	/* Wanted twice, there once. */
	assert_plan(INPUT("hooks: [{hookName: prestart, path: /h}, {hookName: prestart, path: /h}]",
			  .config = CONFIG_HOOKS("\"prestart\":[{\"path\":\"/h\"}]")),
		    "hook prestart /h  # v.com/d=a /a.yaml:6:45\n",
		    AT("6:13") "hook prestart /h stands in config.json: the runtime runs it");
	/* The library cache is the vendor's hook's then. */
	assert_plan(
		INPUT("hooks: [{hookName: createContainer, path: /bin/nvidia-ctk, args: [x, "
		      "update-ldcache]}]",
		      .config = CONFIG_HOOKS("\"createContainer\":[{\"path\":\"/bin/nvidia-ctk\","
					     "\"args\":[\"x\",\"update-ldcache\"]}]")),
		"",
		AT("6:13") "hook createContainer /bin/nvidia-ctk stands in config.json: the "
			   "runtime runs it");
}

static void assert_too_many(const char *list, const char *before, const char *after,
			    const char *what)
{
	char sentence[256], *text = malloc(LIMIT_SPEC_SIZE);
	struct plan_input input = {.specs = {text}, .devices = "v.com/d=a", .host = "/s d\n"};
	struct planned planned;
	size_t used;

	assert_non_null(text);
	used = (size_t)snprintf(text, LIMIT_SPEC_SIZE, HEAD("1.1.0") "    %s:\n", list);
	for (int i = 0; i <= LIMIT_EDITS + 1000; i++)
		used += (size_t)snprintf(text + used, LIMIT_SPEC_SIZE - used, "    - {%s%d%s}\n",
					 before, i, after);
	snprintf(sentence, sizeof(sentence), AT("%d:7") "more than %d %s for one container",
		 7 + LIMIT_EDITS, LIMIT_EDITS, what);
	assert_true(planned_init(&planned, &input) < 0);
	assert_error(&planned.err, EXIT_CODE_SPEC, sentence);
	planned_done(&planned);
	free(text);
}

static void test_bounds(void **state)
{
	(void)state;
	assert_too_many("deviceNodes", "path: /dev/", ", type: p", "deviceNodes");
	assert_too_many("mounts", "hostPath: /s, containerPath: /d", "", "mounts");
	assert_too_many("hooks", "hookName: prestart, path: /h", "", "hooks");
}

static void test_memory(void **state)
{
	(void)state;
	assert_memory_is_minded(INPUT(
		"deviceNodes: [{path: /dev/x}, {path: /dev/x, type: c, major: 1}]\n"
		"    mounts: [{hostPath: /s, containerPath: /d}, {hostPath: /s, "
		"containerPath: /e, options: [ro]}]\n"
		"    hooks: [{hookName: prestart, path: /h}, {hookName: createContainer, path: "
		"/nvidia-ctk, args: [nvidia-ctk, hook, update-ldcache, --folder, /l]}]\n"
		"    env: [A=1]\n"
		"    additionalGids: [5]",
		.host = "/dev/x c 1:0\n/s d\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_complete_nodes),
		cmocka_unit_test(test_stale_numbers),
		cmocka_unit_test(test_nodes_completed_from_the_host),
		cmocka_unit_test(test_what_is_missing_is_said_together),
		cmocka_unit_test(test_node_paths),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_later_nodes_replace),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_mounts_in_proc),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_mounts_of_config),
		cmocka_unit_test(test_mounts_for_config),
		cmocka_unit_test(test_id_mapped_mounts),
		cmocka_unit_test(test_hooks_for_config),
		cmocka_unit_test(test_hooks_of_config),
		cmocka_unit_test(test_order_of_devices),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
