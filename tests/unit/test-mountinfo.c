/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifdef HAVE_LIBMOUNT
#include <libmount.h>
#endif

#include "fdio.h"
#include "mountinfo.h"

/* Every form that matters, as kernels print it. */
static const char table_text[] =
	"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
	"37 36 0:5 / /dev rw,nosuid shared:2 master:7 - devtmpfs udev rw\n"
	"38 36 0:44 / /a\\040b\\011c\\012d\\134e\\043f ro unbindable propagate_from:3 - tmpfs "
	"/x\\040y rw\n"
	"39 36 0:45 /v\\303\\266 /plain rw - tmpfs  rw,mode=755\n"
	"40 36 0:46 / /odd\\9\\04 rw future:1 tag - fuse.sshfs user@host:/with:colon rw,name=a "
	"b,c\n"
	"41 36 259:1048575 / / rw shared:1 - ext4 /dev/nvme0n1 rw\n";

/* What libmount 2.38 and later do not agree with us on stands in the first test alone. */
static const char common_text[] =
	"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
	"37 36 0:5 / /dev rw,nosuid shared:2 master:7 - devtmpfs udev rw\n"
	"38 36 0:44 / /a\\040b\\011c\\012d\\134e\\043f ro unbindable - tmpfs /x\\040y rw\n"
	"41 36 259:1048575 / / rw shared:1 - ext4 /dev/nvme0n1 rw\n";

static void test_fields(void **state)
{
	struct mountinfo table;
	struct error err = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(mountinfo_parse(&arena, table_text, strlen(table_text), &table, &err), 0);
	assert_int_equal(table.n, 6);

	const struct mountinfo_entry *entry = &table.items[0];
	assert_int_equal(entry->id, 36);
	assert_int_equal(entry->parent, 35);
	assert_int_equal(entry->major, 98);
	assert_int_equal(entry->minor, 0);
	assert_string_equal(entry->root, "/mnt1");
	assert_string_equal(entry->mount_point, "/mnt2");
	assert_string_equal(entry->options, "rw,noatime");
	assert_int_equal(entry->shared, 0);
	assert_int_equal(entry->master, 1);
	assert_false(entry->unbindable);
	assert_string_equal(entry->fs_type, "ext3");
	assert_string_equal(entry->source, "/dev/root");
	assert_string_equal(entry->super_options, "rw,errors=continue");

	entry = &table.items[1];
	assert_int_equal(entry->shared, 2);
	assert_int_equal(entry->master, 7);

	entry = &table.items[2];
	assert_string_equal(entry->mount_point, "/a b\tc\nd\\e#f");
	assert_true(entry->unbindable);
	assert_int_equal(entry->shared, 0);
	assert_string_equal(entry->source, "/x y");

	entry = &table.items[3];
	assert_string_equal(entry->root, "/v\303\266");
	assert_string_equal(entry->source, "");
	assert_string_equal(entry->super_options, "rw,mode=755");

	entry = &table.items[4];
	assert_string_equal(entry->mount_point, "/odd\\9\\04");
	assert_string_equal(entry->fs_type, "fuse.sshfs");
	assert_string_equal(entry->super_options, "rw,name=a b,c");
	arena_done(&arena);
}

static void test_questions(void **state)
{
	struct mountinfo table;
	struct error err = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(mountinfo_parse(&arena, table_text, strlen(table_text), &table, &err), 0);
	assert_ptr_equal(mountinfo_find(&table, 41), &table.items[5]);
	assert_null(mountinfo_find(&table, 35));
	assert_true(mountinfo_has_device(&table, 259, 1048575));
	assert_true(mountinfo_has_device(&table, 0, 5));
	assert_false(mountinfo_has_device(&table, 5, 0));
	/* Nothing at all is a table too. */
	assert_int_equal(mountinfo_parse(&arena, "", 0, &table, &err), 0);
	assert_int_equal(table.n, 0);
	assert_null(mountinfo_find(&table, 41));
	arena_done(&arena);
}

static void test_refuses(void **state)
{
	static const char *const cases[][2] = {
		{"\n", "mountinfo:1: expected a mount id"},
		{"1 2 0:5 / / rw - t s o\n\n", "mountinfo:2: expected a mount id"},
		{"x 35 98:0 / / rw - t s o\n", "mountinfo:1: expected a mount id"},
		{"-1 35 98:0 / / rw - t s o\n", "mountinfo:1: expected a mount id"},
		{"18446744073709551616 35 98:0 / / rw - t s o\n",
		 "mountinfo:1: expected a mount id"},
		{"36\n", "mountinfo:1: expected the id of the parent mount"},
		{"36 +5 98:0 / / rw - t s o\n", "mountinfo:1: expected the id of the parent mount"},
		{"36 35 98 / / rw - t s o\n",
		 "mountinfo:1: expected the file system's major:minor"},
		{"36 35 98: / / rw - t s o\n",
		 "mountinfo:1: expected the file system's major:minor"},
		{"36 35 4294967296:0 / / rw - t s o\n",
		 "mountinfo:1: expected the file system's major:minor"},
		{"36 35 98:0\n", "mountinfo:1: expected a root"},
		{"36 35 98:0 /\n", "mountinfo:1: expected a mount point"},
		{"36 35 98:0 / /\n", "mountinfo:1: expected mount options"},
		{"36 35 98:0 / / rw\n",
		 "mountinfo:1: expected a single - before the file system type"},
		{"36 35 98:0 / / rw shared:1 t s o\n",
		 "mountinfo:1: expected a single - before the file system type"},
		{"36 35 98:0 / / rw -\n", "mountinfo:1: expected a file system type"},
		{"36 35 98:0 / / rw - t\n", "mountinfo:1: expected a source"},
		{"36 35 98:0 / / rw - t s\n", "mountinfo:1: expected the file system's options"},
	};
	struct mountinfo table;
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = {0};
		assert_int_equal(
			mountinfo_parse(&arena, cases[i][0], strlen(cases[i][0]), &table, &err),
			-EINVAL);
		assert_error(&err, EXIT_CODE_DONE, cases[i][1]);
	}
	struct error err = {0};
	assert_int_equal(mountinfo_parse(&arena, "1 2 0:5 / /\0 rw - t s o\n", 25, &table, &err),
			 -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, "mountinfo:1: expected text without NUL");
	arena_done(&arena);
}

/*
 * However a table is cut, nothing outside it is read (sanitizers watch) and the answer is a table
 * or a sentence.
 */
static void test_every_prefix(void **state)
{
	(void)state;
	for (size_t size = 0; size <= strlen(table_text); size++) {
		struct mountinfo table;
		struct error err = {0};
		struct arena arena;
		char *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, table_text, size);
		arena_init(&arena, 1 << 20);
		if (mountinfo_parse(&arena, copy, size, &table, &err) < 0)
			assert_non_null(strstr(err.text, "expected"));
		arena_done(&arena);
		free(copy);
	}
}

static void test_no_memory(void **state)
{
	struct mountinfo table;
	struct arena arena;
	struct error err = {0};

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(mountinfo_parse(&arena, table_text, strlen(table_text), &table, &err), 0);
	size_t enough = arena.used;
	arena_done(&arena);
	for (size_t limit = 0; limit < enough; limit += 16) {
		arena_init(&arena, limit);
		assert_int_equal(
			mountinfo_parse(&arena, table_text, strlen(table_text), &table, &err),
			-ENOMEM);
		assert_error(&err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
		arena_done(&arena);
	}
}

#ifdef HAVE_LIBMOUNT
static void compare_with_libmount(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct libmnt_table *theirs = mnt_new_table();
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	struct mountinfo ours;
	struct error err = {0};
	struct arena arena;
	size_t i = 0;

	assert_int_equal(mnt_table_parse_stream(theirs, file, "mountinfo"), 0);
	fclose(file);
	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(mountinfo_parse(&arena, text, strlen(text), &ours, &err), 0);
	assert_int_equal(mnt_table_get_nents(theirs), ours.n);
	for (; mnt_table_next_fs(theirs, iter, &fs) == 0; i++) {
		const struct mountinfo_entry *entry = &ours.items[i];
		unsigned long flags = 0;

		assert_int_equal(mnt_fs_get_id(fs), entry->id);
		assert_int_equal(mnt_fs_get_parent_id(fs), entry->parent);
		assert_int_equal(mnt_fs_get_devno(fs), makedev(entry->major, entry->minor));
		assert_string_equal(mnt_fs_get_root(fs), entry->root);
		assert_string_equal(mnt_fs_get_target(fs), entry->mount_point);
		assert_string_equal(mnt_fs_get_vfs_options(fs), entry->options);
		assert_string_equal(mnt_fs_get_fstype(fs), entry->fs_type);
		assert_string_equal(mnt_fs_get_source(fs), entry->source);
		assert_string_equal(mnt_fs_get_fs_options(fs), entry->super_options);
		assert_int_equal(mnt_fs_get_propagation(fs, &flags), 0);
		assert_int_equal((flags & MS_SHARED) != 0, entry->shared != 0);
		assert_int_equal((flags & MS_SLAVE) != 0, entry->master != 0);
		assert_int_equal((flags & MS_UNBINDABLE) != 0, entry->unbindable);
	}
	mnt_free_iter(iter);
	mnt_unref_table(theirs);
	arena_done(&arena);
}

static void test_as_libmount_reads_it(void **state)
{
	struct error err = {0};
	struct arena arena;
	char *text;
	size_t size;

	(void)state;
	compare_with_libmount(common_text);
	arena_init(&arena, LIMIT_MEMORY);
	assert_int_equal(fdio_read_at(&arena, AT_FDCWD, "/proc/self/mountinfo", LIMIT_PROC_SIZE,
				      &text, &size, &err),
			 0);
	compare_with_libmount(text);
	arena_done(&arena);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_no_memory),
#ifdef HAVE_LIBMOUNT
		cmocka_unit_test(test_as_libmount_reads_it),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
