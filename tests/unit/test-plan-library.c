/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-fixture.h"

#include "plan-library.h"

#define INPUT(mounts, ...)                                                                         \
	&(const struct plan_input)                                                                 \
	{                                                                                          \
		.specs = {"cdiVersion: 1.1.0\nkind: v.com/d\ndevices:\n- name: a\n"                \
			  "  containerEdits: {mounts: [" mounts "]}\n"},                           \
		.devices = "v.com/d=a", __VA_ARGS__                                                \
	}
#define AT "  # v.com/d=a /a.yaml:5:29\n"

static void test_files(void **state)
{
	(void)state;
	/* The name in the container decides whether a loader would ever look at it. */
	assert_plan(INPUT("{hostPath: /x, containerPath: /lib/libx.so.1.2}",
			  .host = "/x f 0644 0:0 soname=libx.so.1\n"),
		    "mount /x /lib/libx.so.1.2 private" AT "library libx.so.1 /lib/libx.so.1.2" AT,
		    NULL);
	assert_plan(INPUT("{hostPath: /x, containerPath: /lib/ld-x.so}",
			  .host = "/x f 0644 0:0 soname=ld.so\n"),
		    "mount /x /lib/ld-x.so private" AT "library ld.so /lib/ld-x.so" AT, NULL);
	assert_plan(INPUT("{hostPath: /libx.so, containerPath: /lib/plugin.so}",
			  .host = "/libx.so f 0644 0:0 soname=libx.so\n"),
		    "mount /libx.so /lib/plugin.so private" AT, NULL);
	assert_plan(INPUT("{hostPath: /libx.so, containerPath: /lib/libx}",
			  .host = "/libx.so f 0644 0:0 soname=libx.so\n"),
		    "mount /libx.so /lib/libx private" AT, NULL);
	/* No library, whatever it is called. */
	assert_plan(INPUT("{hostPath: /libx.so, containerPath: /libx.so}", .host = "/libx.so f\n"),
		    "mount /libx.so /libx.so private" AT, NULL);
	assert_plan(INPUT("{hostPath: /libx.so, containerPath: /libx.so}", .host = "/libx.so s\n"),
		    "mount /libx.so /libx.so private" AT, NULL);
	assert_plan(INPUT("{hostPath: tmpfs, containerPath: /libx.so, type: tmpfs}"),
		    "mount tmpfs /libx.so private" AT, NULL);
	assert_plan(INPUT("{hostPath: /x, containerPath: /lib/libx.so.1.2}",
			  .host = "/x f 0644 0:0 soname=libx.so.1\n", .no_ldcache = true),
		    "mount /x /lib/libx.so.1.2 private" AT, NULL);
}

static void test_directories(void **state)
{
	(void)state;
	assert_plan(INPUT("{hostPath: /d, containerPath: /lib}",
			  .host = "/d d\n"
				  "/d/libb.so f 0644 0:0 soname=libb.so.0\n"
				  "/d/liba.so f 0644 0:0 soname=liba.so.0\n"
				  "/d/plugin.so f 0644 0:0 soname=plugin.so\n"
				  "/d/sub/libc.so f 0644 0:0 soname=libc.so\n"),
		    "mount /d /lib private" AT "library libb.so.0 /lib/libb.so" AT
		    "library liba.so.0 /lib/liba.so" AT,
		    NULL);
	/* Not root's: it is mounted with its directory, and gets no help in being loaded. */
	assert_plan(INPUT("{hostPath: /d, containerPath: /lib}",
			  .host = "/d d\n/d/libx.so x 0666 0:0 soname=libx.so\n"),
		    "mount /d /lib private" AT,
		    "/d/libx.so: mount source /d/libx.so can be loaded or executed and is writable "
		    "by others (mode 0666): chmod go-w /d/libx.so: left out of the "
		    "libraries to find by name");
}

/* A host on which one thing goes wrong. */
static struct {
	int look_up, library, list;
} wrong;

static int look_up(void *data, const char *path, struct host_node *ret_node)
{
	(void)data;
	(void)path;
	*ret_node = (struct host_node){.mode = 0100644};
	return wrong.look_up;
}

static int library(void *data, struct arena *arena, const char *path,
		   struct elf_library *ret_library, struct error *err)
{
	(void)data;
	(void)arena;
	(void)path;
	(void)ret_library;
	return error_set(err, wrong.library, "read");
}

static int list(void *data, struct arena *arena, const char *path, struct string_list *ret_names,
		struct error *err)
{
	static const char *names[] = {"liba.so"};

	(void)data;
	(void)arena;
	(void)path;
	*ret_names = (struct string_list){.items = names, .n = 1};
	return wrong.list ? error_set(err, wrong.list, "list") : 0;
}

/* A hook of the spec wants the library cache to be refreshed. */
static bool is_asked_for;

static int libraries_of(mode_t type, struct planned *planned)
{
	const struct host_view host = {.look_up = look_up, .library = library, .list = list};
	struct plan_mount mount = {
		.source = "/libs.so",
		.destination = "/libs.so",
		.source_node = {.mode = type},
		.origin = {.device = "v.com/c=d", .file = "/s.json", .place = {1, 2}},
	};
	struct plan_ldcache hook = {0};
	struct plan plan = {.mounts = {.items = &mount, .n = 1},
			    .ldcache = {.items = &hook, .n = is_asked_for}};
	const struct plan_input nothing = {.devices = ""};

	planned_read(planned, &nothing);
	return plan_libraries(&planned->arena, &plan, &host, &planned->notes, &planned->err);
}

static void test_failures(void **state)
{
	struct planned planned;

	(void)state;
	/* What cannot be read or is damaged is noted; only memory ends the planning. */
	wrong.library = EIO;
	assert_int_equal(libraries_of(S_IFREG, &planned), 0);
	assert_string_equal(planned.notes.list.items[0].text,
			    "/libs.so: read: Input/output error: no program will find it by name");
	planned_done(&planned);
	is_asked_for = true;
	assert_int_equal(libraries_of(S_IFREG, &planned), -EIO);
	assert_error(&planned.err, EXIT_CODE_HOST,
		     "device v.com/c=d (/s.json:1:2): /libs.so: read: Input/output error");
	planned_done(&planned);
	is_asked_for = false;
	wrong.library = ENOMEM;
	assert_int_equal(libraries_of(S_IFREG, &planned), -ENOMEM);
	planned_done(&planned);
	assert_int_equal(libraries_of(S_IFDIR, &planned), -ENOMEM);
	planned_done(&planned);
	/* Gone since it was listed. */
	wrong.look_up = -ENOENT;
	assert_int_equal(libraries_of(S_IFDIR, &planned), 0);
	assert_int_equal(planned.notes.list.n, 0);
	planned_done(&planned);
	wrong.list = EACCES;
	assert_int_equal(libraries_of(S_IFDIR, &planned), -EACCES);
	assert_error(&planned.err, EXIT_CODE_DONE,
		     "mount source /libs.so: list: Permission denied");
	planned_done(&planned);
}

static void test_memory(void **state)
{
	(void)state;
	assert_memory_is_minded(INPUT(
		"{hostPath: /d, containerPath: /lib}, {hostPath: /x, containerPath: /libx.so}",
		.host = "/d d\n/d/libb.so f 0644 0:0 soname=libb.so.0\n"
			"/x f 0644 0:0 soname=libx.so.1\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
