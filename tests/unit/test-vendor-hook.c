/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as specs have them, one word after the other, and what is made of them. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "vendor-hook.h"

#define ARGS_MAX 16

struct command_line {
	const char *path;
	const char *args[ARGS_MAX];
	const char *expected; /* as show() writes it; a sentence where the arguments are refused */
};

/* The first word of `args` is the program's own, as in a spec; a path of NULL: nvidia-cdi-hook. */
static int recognise(struct arena *arena, const struct command_line *line, const char *stage,
		     struct vendor_hook *ret_hook, struct error *err)
{
	struct cdi_hook hook = {.hook_name = stage,
				.path = line->path ? line->path : "/usr/bin/nvidia-cdi-hook"};

	hook.args.items = (const char **)(uintptr_t)line->args;
	while (hook.args.n < ARGS_MAX && line->args[hook.args.n])
		hook.args.n++;
	return vendor_hook_recognise(arena, &hook, ret_hook, err);
}

static void show_list(struct text *text, const char *name, const struct string_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		text_printf(text, " %s(%s)", name, list->items[i]);
}

static const char *show(struct arena *arena, const struct vendor_hook *hook)
{
	static const char *const names[] = {
		[VENDOR_HOOK_OTHER] = "other",
		[VENDOR_HOOK_NOTHING] = "nothing",
		[VENDOR_HOOK_UPDATE_LDCACHE] = "ldcache",
		[VENDOR_HOOK_CREATE_SYMLINKS] = "links",
		[VENDOR_HOOK_CREATE_SONAME_SYMLINKS] = "sonames",
		[VENDOR_HOOK_CHMOD] = "chmod",
		[VENDOR_HOOK_CUDA_COMPAT] = "compat",
		[VENDOR_HOOK_DRIVER_PARAMS] = "params",
		[VENDOR_HOOK_APPLICATION_PROFILE] = "profile",
		[VENDOR_HOOK_MEMORY_LIMITS] = "memory",
	};
	struct text text = {.arena = arena};
	struct error err = {0};

	text_put(&text, names[hook->kind]);
	for (size_t i = 0; i < hook->links.n; i++)
		text_printf(&text, " %s(%s)", hook->links.items[i].path,
			    hook->links.items[i].target);
	show_list(&text, "folder", &hook->folders);
	show_list(&text, "path", &hook->paths);
	if (hook->kind == VENDOR_HOOK_CHMOD)
		text_printf(&text, " mode(%o)", hook->mode);
	if (hook->host_driver_version)
		text_printf(&text, " driver(%s)", hook->host_driver_version);
	if (hook->host_cuda_version)
		text_printf(&text, " cuda(%s)", hook->host_cuda_version);
	if (hook->kind == VENDOR_HOOK_CUDA_COMPAT)
		text_printf(&text, " root(%s)", hook->compat_root);
	if (hook->note)
		text_printf(&text, " note(%s)", hook->note);
	return text_end(&text, &err);
}

static void assert_shown(const struct command_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct vendor_hook hook;
		struct error err = {0};
		struct arena arena;

		arena_init(&arena, 1 << 20);
		if (recognise(&arena, &lines[i], "createContainer", &hook, &err) == 0) {
			assert_string_equal(show(&arena, &hook), lines[i].expected);
		} else {
			assert_error(&err, EXIT_CODE_VENDOR_HOOK, lines[i].expected);
		}
		arena_done(&arena);
	}
}

#define SHOWN(lines) assert_shown(lines, sizeof(lines) / sizeof((lines)[0]))

#define UNKNOWN                                                                                    \
	"nothing note(the command is not known: nothing is done, as the vendor's own programs do " \
	"nothing)"
#define NO_COMMAND "nothing note(no command is given: nothing is done)"

static void test_programs(void **state)
{
	static const struct command_line lines[] = {
		{NULL, {"nvidia-cdi-hook", "create-symlinks", "--link", "t::/l"}, "links /l(t)"},
		{"/opt/toolkit/nvidia-cdi-hook", {"x", "chmod", "--mode=7"}, "chmod mode(7)"},
		{"/usr/bin/nvidia-ctk",
		 {"nvidia-ctk", "hook", "create-symlinks", "--link", "t::/l"},
		 "links /l(t)"},
		{"/usr/bin/nvidia-ctk",
		 {"nvidia-ctk", "--quiet", "--config", "/x", "hook", "-d", "create-symlinks",
		  "--link=t::/l"},
		 "links /l(t)"},
		{"nvidia-ctk-hook",
		 {"nvidia-ctk-hook", "create-symlinks", "--link=t::/l"},
		 "links /l(t)"},
		{"/usr/bin/rbln-cdi-hook",
		 {"rbln-cdi-hook", "update-ldcache", "--folder", "/a"},
		 "ldcache folder(/a)"},
		{"/usr/bin/hcu-cdi-hook",
		 {"hcu-cdi-hook", "chmod", "--mode", "755", "--path", "/d"},
		 "chmod path(/d) mode(755)"},
		{"/usr/bin/hcu-ctk",
		 {"hcu-ctk", "hook", "create-symlinks", "--link", "t::/l"},
		 "links /l(t)"},
		/* Known by its first word where the path is a wrapper's. */
		{"/opt/wrapper",
		 {"nvidia-cdi-hook", "create-symlinks", "--link", "t::/l"},
		 "links /l(t)"},
		{"/opt/wrapper", {"/usr/bin/nvidia-cdi-hook", "noop"}, "nothing"},
		{NULL, {"nvidia-cdi-hook"}, NO_COMMAND},
		{NULL, {NULL}, NO_COMMAND},
		{NULL, {"nvidia-cdi-hook", "--version"}, NO_COMMAND},
		{NULL, {"nvidia-cdi-hook", "--config"}, NO_COMMAND},
		{"/usr/bin/nvidia-ctk", {"nvidia-ctk", "hook"}, NO_COMMAND},
		/* Other things. */
		{"/usr/bin/nvidia-ctk", {"nvidia-ctk", "cdi", "generate"}, "other"},
		{"/usr/bin/nvidia-ctk", {"nvidia-ctk"}, "other"},
		{"/usr/bin/nvidia-ctk", {"nvidia-ctk", "update-ldcache"}, "other"},
		{"/usr/bin/vendor-hook", {"vendor-hook", "update-ldcache"}, "other"},
		{"/usr/bin/vendor-hook", {NULL}, "other"},
		{"/usr/bin/my-nvidia-cdi-hook", {"x", "noop"}, "other"},
		{"/usr/bin/nvidia-cdi-hook.real", {"x", "noop"}, "other"},
		{"/nvidia-cdi-hook/x", {"x", "noop"}, "other"},
	};

	(void)state;
	SHOWN(lines);
}

static void test_commands(void **state)
{
	static const struct command_line lines[] = {
		{NULL, {"h", "noop"}, "nothing"},
		{NULL, {"h", "frobnicate", "--x", "\n"}, UNKNOWN},
		{NULL, {"h", "hook", "noop"}, UNKNOWN},
		{NULL, {"h", "--x", "create-symlinks", "--link", "t::/l"}, "links /l(t)"},
		{NULL, {"h", "--container-spec", "chmod", "noop"}, "nothing"},
		{NULL, {"h", "disable-device-node-modification"}, "params"},
		{NULL, {"h", "update-application-profile", "stray", "--debug=true"}, "profile"},
		{NULL,
		 {"h", "apply-cuda-memory-limits", "--gpu-id", "GPU-1", "--driver-root", "/"},
		 "memory"},
		{NULL,
		 {"h", "apply-cuda-memory-limits"},
		 "apply-cuda-memory-limits: option --gpu-id is missing"},
		{NULL,
		 {"h", "apply-cuda-memory-limits", "--gpu-id", " "},
		 "apply-cuda-memory-limits: option --gpu-id is empty"},
		{NULL,
		 {"h", "noop", "--x"},
		 "noop: option --x is not known; --vendor-hooks=exec runs the vendor's own "
		 "program"},
		{NULL,
		 {"h", "chmod", "--link", "x"},
		 "chmod: option --link is not known; --vendor-hooks=exec runs the vendor's own "
		 "program"},
		{NULL,
		 {"h", "create-symlinks", "--links=a::/b"},
		 "create-symlinks: option --links=a::/b is not known; --vendor-hooks=exec runs the "
		 "vendor's own program"},
		{NULL,
		 {"h", "create-symlinks", "--link"},
		 "create-symlinks: option --link has no value"},
		{NULL,
		 {"h", "create-symlinks", "--link", "a::/b\nc"},
		 "create-symlinks: argument a::/b\\x0ac has a control character"},
	};

	(void)state;
	SHOWN(lines);
}

static void test_ldcache(void **state)
{
	static const struct command_line lines[] = {
		{NULL,
		 {"h", "update-ldcache", "--folder", "/a", "--folder=/b", "-folder", "/c"},
		 "ldcache folder(/a) folder(/b) folder(/c)"},
		{NULL,
		 {"h", "update-ldcache", "--folder", "/a,/b", "stray", "-folder=/c"},
		 "ldcache folder(/a) folder(/b) folder(/c)"},
		{NULL,
		 {"h", "update-ldcache", "--ldconfig-path", "/x", "--folder", "/a"},
		 "ldcache folder(/a)"},
		{NULL, {"h", "update-ldcache"}, "ldcache"},
		{NULL,
		 {"h", "update-ldcache", "--folder", "/a", "--", "--folder", "/b"},
		 "ldcache folder(/a)"},
		{NULL, {"h", "update-ldcache", "-", "--folder", "/a"}, "ldcache folder(/a)"},
		{NULL, {"h", "create-soname-symlinks", "--folder=/a"}, "sonames folder(/a)"},
	};

	(void)state;
	SHOWN(lines);
}

static void test_links(void **state)
{
	static const struct command_line lines[] = {
		{NULL, {"h", "create-symlinks"}, "links"},
		{NULL,
		 {"h", "create-symlinks", "--link", "a::/x", "--link=b::/y", "-link", "c::/z"},
		 "links /x(a) /y(b) /z(c)"},
		{NULL, {"h", "create-symlinks", "--link", "a::/x,b::/y"}, "links /x(a) /y(b)"},
		/* The text is data; the path is the container's. */
		{NULL,
		 {"h", "create-symlinks", "--link", "../../etc/shadow::/l"},
		 "links /l(../../etc/shadow)"},
		{NULL, {"h", "create-symlinks", "--link", "/abs/::/l"}, "links /l(/abs/)"},
		{NULL, {"h", "create-symlinks", "--link", "a:b::/l"}, "links /l(a:b)"},
		{NULL, {"h", "create-symlinks", "--link", "a:::/l"}, "links /:/l(a)"},
		{NULL, {"h", "create-symlinks", "--link", "t::rel/./l"}, "links /rel/l(t)"},
		{NULL, {"h", "create-symlinks", "--link", "t::/x/../../../y//l"}, "links /y/l(t)"},
		{NULL, {"h", "create-symlinks", "--link", " a :: /l "}, "links / /l ( a )"},
		{NULL,
		 {"h", "create-symlinks", "--link", "a"},
		 "create-symlinks: link a is not TARGET::PATH"},
		{NULL,
		 {"h", "create-symlinks", "--link", ""},
		 "create-symlinks: link  is not TARGET::PATH"},
		{NULL,
		 {"h", "create-symlinks", "--link", "a::b::c"},
		 "create-symlinks: link a::b::c is not TARGET::PATH"},
		{NULL,
		 {"h", "create-symlinks", "--link", "a,b::/l"},
		 "create-symlinks: link a is not TARGET::PATH"},
		{NULL,
		 {"h", "create-symlinks", "--link", "::/l"},
		 "create-symlinks: link ::/l has no target"},
		{NULL,
		 {"h", "create-symlinks", "--link", "t::"},
		 "create-symlinks: path  is empty"},
		{NULL,
		 {"h", "create-symlinks", "--link", "t::/a/.."},
		 "create-symlinks: path /a/.. is the container's whole root"},
		{NULL,
		 {"h", "create-symlinks", "--link", "t::/a/"},
		 "create-symlinks: link t::/a/ ends in /: only a directory's name can"},
		{NULL,
		 {"h", "create-symlinks", "--link", "t::/a/../proc/x"},
		 "create-symlinks: path /a/../proc/x lies in the container's /proc or /sys"},
		{NULL,
		 {"h", "create-symlinks", "--link", "t::/sys"},
		 "create-symlinks: path /sys lies in the container's /proc or /sys"},
	};

	(void)state;
	SHOWN(lines);
}

static void test_chmod(void **state)
{
	static const struct command_line lines[] = {
		{NULL,
		 {"h", "chmod", "--mode", "755", "--path", "/d", "--path=/e,f"},
		 "chmod path(/d) path(/e) path(/f) mode(755)"},
		{NULL,
		 {"h", "chmod", "--mode=0644", "--path", "/../../d/./e"},
		 "chmod path(/d/e) mode(644)"},
		{NULL,
		 {"h", "chmod", "--mode", "1777", "--path", "/d"},
		 "chmod path(/d) mode(777)"},
		{NULL, {"h", "chmod", "--mode", "0", "--path", "/d"}, "chmod path(/d) mode(0)"},
		{NULL, {"h", "chmod", "--mode", "7", "--mode", "755"}, "chmod mode(755)"},
		{NULL, {"h", "chmod", "--path", "/d"}, "chmod: option --mode is missing"},
		{NULL, {"h", "chmod", "--mode", ""}, "chmod: option --mode is missing"},
		{NULL, {"h", "chmod", "--mode", "u+x"}, "chmod: mode u+x is not an octal number"},
		{NULL, {"h", "chmod", "--mode", "789"}, "chmod: mode 789 is not an octal number"},
		{NULL,
		 {"h", "chmod", "--mode", "77777777"},
		 "chmod: mode 77777777 is not an octal number"},
		{NULL, {"h", "chmod", "--mode", "755", "--path", ""}, "chmod: path  is empty"},
		{NULL,
		 {"h", "chmod", "--mode", "755", "--path", "/"},
		 "chmod: path / is the container's whole root"},
		{NULL,
		 {"h", "chmod", "--mode", "755", "--path", "/sys/x"},
		 "chmod: path /sys/x lies in the container's /proc or /sys"},
	};

	(void)state;
	SHOWN(lines);
}

static void test_compat(void **state)
{
	static const struct command_line lines[] = {
		{NULL, {"h", "enable-cuda-compat"}, "nothing"},
		{NULL, {"h", "enable-cuda-compat", "--host-driver-version="}, "nothing"},
		{NULL,
		 {"h", "enable-cuda-compat", "--host-driver-version=550.54.15"},
		 "compat driver(550.54.15) root(/usr/local/cuda/compat)"},
		{NULL,
		 {"h", "enable-cuda-compat", "--host-cuda-version", "12.4",
		  "--cuda-compat-container-root=/opt/c/"},
		 "compat cuda(12.4) root(/opt/c)"},
		{NULL,
		 {"h", "enable-cuda-compat", "--host-cuda-version=1",
		  "--cuda-compat-container-root="},
		 "enable-cuda-compat: path  is empty"},
	};

	(void)state;
	SHOWN(lines);
}

/* The stages of which a hook at createRuntime can do nothing are the program's own. */
static void test_stages(void **state)
{
	static const struct command_line line = {NULL, {"h", "noop"}, NULL};
	static const struct {
		const char *stage;
		enum vendor_hook_kind kind;
	} cases[] = {
		{"prestart", VENDOR_HOOK_NOTHING},        {"createRuntime", VENDOR_HOOK_NOTHING},
		{"createContainer", VENDOR_HOOK_NOTHING}, {"startContainer", VENDOR_HOOK_OTHER},
		{"poststart", VENDOR_HOOK_OTHER},         {"poststop", VENDOR_HOOK_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vendor_hook hook;
		struct error err = {0};
		struct arena arena;

		arena_init(&arena, 1 << 20);
		assert_int_equal(recognise(&arena, &line, cases[i].stage, &hook, &err), 0);
		assert_int_equal(hook.kind, cases[i].kind);
		arena_done(&arena);
	}
}

static void test_bounds(void **state)
{
	struct error err = {0};
	struct arena arena;
	struct vendor_hook hook;
	char *text;

	(void)state;
	arena_init(&arena, 16 << 20);
	text = arena_alloc(&arena, 20000);
	for (size_t i = 0; i < 5000; i++)
		memcpy(text + 2 * i, "/,", 2);
	const struct command_line folders = {NULL, {"h", "update-ldcache", "--folder", text}, NULL};
	assert_true(recognise(&arena, &folders, "createContainer", &hook, &err) < 0);
	assert_error(&err, EXIT_CODE_VENDOR_HOOK, "update-ldcache: more than 4096 values");

	memset(text, 'a', 4096);
	strcpy(text + 4096, "::/l");
	const struct command_line target = {NULL, {"h", "create-symlinks", "--link", text}, NULL};
	err = (struct error){0};
	assert_true(recognise(&arena, &target, "createContainer", &hook, &err) < 0);
	assert_non_null(strstr(err.text, "a::/l is too long"));

	memcpy(text, "a::", 3);
	text[4000] = text[4096] = 'a';
	text[4097] = text[4098] = 'a';
	const struct command_line path = {NULL, {"h", "create-symlinks", "--link", text}, NULL};
	err = (struct error){0};
	assert_true(recognise(&arena, &path, "createContainer", &hook, &err) < 0);
	assert_non_null(strstr(err.text, " is too long"));
	arena_done(&arena);
}

static void test_memory(void **state)
{
	static const struct command_line line = {
		NULL, {"h", "create-symlinks", "--link", "a::/x,b::/y", "--link", "c::/z"}, NULL};
	int r = -ENOMEM;

	(void)state;
	for (size_t limit = 0; r < 0; limit += 8) {
		struct vendor_hook hook;
		struct error err = {0};
		struct arena arena;

		assert_true(limit < 100000);
		arena_init(&arena, limit);
		r = recognise(&arena, &line, "createContainer", &hook, &err);
		if (r < 0)
			assert_int_equal(err.errnum, ENOMEM);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs), cmocka_unit_test(test_commands),
		cmocka_unit_test(test_ldcache),  cmocka_unit_test(test_links),
		cmocka_unit_test(test_chmod),    cmocka_unit_test(test_compat),
		cmocka_unit_test(test_stages),   cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
