/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "trusted.h"

#define OVERFLOW_UID 65534

struct fixture {
	struct tree tree;
	struct trust trust;
	size_t fds;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	tree_init(&fixture->tree);
	fixture->trust = (struct trust){.root_fd = fixture->tree.fd, .owner = geteuid()};
	tree_dir(&fixture->tree, "/etc/cdi");
	tree_file(&fixture->tree, "/etc/cdi/x.yaml", "text");
	fixture->fds = count_fds();
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(count_fds(), fixture->fds);
	tree_done(&fixture->tree);
	free(fixture);
	return 0;
}

static void assert_opens(const struct fixture *fixture, const char *path, enum trusted_kind kind)
{
	struct error err = {0};
	char text[8] = "";
	int fd = trusted_open(&fixture->trust, path, kind, &err);

	if (fd < 0)
		fail_msg("%s: %s", path, err.text);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	if (kind == TRUSTED_FILE) {
		assert_int_equal(read(fd, text, sizeof(text)), 4);
		assert_string_equal(text, "text");
	} else {
		assert_true(fcntl(fd, F_GETFL) & O_DIRECTORY);
	}
	close(fd);
}

static void assert_fails(const struct fixture *fixture, const char *path, enum trusted_kind kind,
			 int r, enum exit_code exit_code, const char *sentence)
{
	struct error err = {0};

	assert_int_equal(trusted_open(&fixture->trust, path, kind, &err), r);
	assert_error(&err, exit_code, sentence);
}

static void assert_refused(const struct fixture *fixture, const char *sentence)
{
	assert_fails(fixture, "/etc/cdi/x.yaml", TRUSTED_FILE, -EINVAL, EXIT_CODE_REFUSED,
		     sentence);
}

/* What trusted_open_at says about one entry of /etc/cdi; -1 for the fd when it opens. */
static int open_entry(const struct fixture *fixture, const char *name, struct error *err)
{
	int dir = trusted_open(&fixture->trust, "/etc/cdi", TRUSTED_DIR, err);

	assert_true(dir >= 0);
	int fd = trusted_open_at(&fixture->trust, dir, "/etc/cdi", name, err);
	close(dir);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void test_opens(void **state)
{
	struct fixture *fixture = *state;

	assert_opens(fixture, "/", TRUSTED_DIR);
	assert_opens(fixture, "/etc/cdi", TRUSTED_DIR);
	assert_opens(fixture, "//etc/./cdi/", TRUSTED_DIR);
	assert_opens(fixture, "/etc/cdi/x.yaml", TRUSTED_FILE);
	assert_opens(fixture, "/etc/cdi/../../../etc/cdi/x.yaml", TRUSTED_FILE);
}

static void test_missing(void **state)
{
	struct fixture *fixture = *state;

	assert_fails(fixture, "/run/cdi", TRUSTED_DIR, -ENOENT, EXIT_CODE_DONE,
		     "open /run: No such file or directory");
	assert_fails(fixture, "/etc/cdi/y.yaml", TRUSTED_FILE, -ENOENT, EXIT_CODE_DONE,
		     "open /etc/cdi/y.yaml: No such file or directory");
	assert_fails(fixture, "/etc/cdi/x.yaml/y", TRUSTED_FILE, -ENOTDIR, EXIT_CODE_DONE,
		     "open /etc/cdi/x.yaml: Not a directory");
	assert_fails(fixture, "etc/cdi", TRUSTED_DIR, -EINVAL, EXIT_CODE_DONE,
		     "etc/cdi: not an absolute path");
}

static void test_kind(void **state)
{
	struct fixture *fixture = *state;

	assert_fails(fixture, "/etc/cdi", TRUSTED_FILE, -EISDIR, EXIT_CODE_DONE,
		     "open /etc/cdi: Is a directory");
	assert_fails(fixture, "/etc/cdi/x.yaml", TRUSTED_DIR, -ENOTDIR, EXIT_CODE_DONE,
		     "open /etc/cdi/x.yaml: Not a directory");
}

static void test_writable_file(void **state)
{
	struct fixture *fixture = *state;

	tree_mode(&fixture->tree, "/etc/cdi/x.yaml", 0664);
	assert_refused(fixture, "/etc/cdi/x.yaml: not trusted: writable by its group (mode 0664): "
				"chmod go-w /etc/cdi/x.yaml");
	tree_mode(&fixture->tree, "/etc/cdi/x.yaml", 0646);
	assert_refused(fixture, "/etc/cdi/x.yaml: not trusted: writable by others (mode 0646): "
				"chmod go-w /etc/cdi/x.yaml");
	tree_mode(&fixture->tree, "/etc/cdi/x.yaml", 0666);
	assert_refused(
		fixture,
		"/etc/cdi/x.yaml: not trusted: writable by its group and others (mode 0666): "
		"chmod go-w /etc/cdi/x.yaml");
}

static void test_writable_directory_on_the_way(void **state)
{
	struct fixture *fixture = *state;

	tree_mode(&fixture->tree, "/etc/cdi", 0775);
	assert_refused(
		fixture,
		"/etc/cdi: not trusted: writable by its group (mode 0775): chmod go-w /etc/cdi");
	tree_mode(&fixture->tree, "/etc", 01777);
	assert_refused(
		fixture,
		"/etc: not trusted: writable by its group and others (mode 1777): chmod go-w /etc");
	assert_int_equal(chmod(fixture->tree.path, 0777), 0);
	assert_refused(
		fixture,
		"/: not trusted: writable by its group and others (mode 0777): chmod go-w /");
}

static void test_owner(void **state)
{
	struct fixture *fixture = *state;

	if (geteuid() != 0) {
		/* Without privilege nothing can be given away; but everything is somebody else's
		 * than root's. */
		char sentence[200];
		snprintf(sentence, sizeof(sentence),
			 "/: not trusted: owned by user %u, not by root: chown root /", geteuid());
		fixture->trust.owner = 0;
		assert_refused(fixture, sentence);
		return;
	}
	tree_owner(&fixture->tree, "/etc/cdi/x.yaml", 1000);
	assert_refused(fixture, "/etc/cdi/x.yaml: not trusted: owned by user 1000, not by root: "
				"chown root /etc/cdi/x.yaml");
	fixture->trust.owner = 1000;
	assert_opens(fixture, "/etc/cdi/x.yaml", TRUSTED_FILE);
	tree_owner(&fixture->tree, "/etc/cdi", 1001);
	assert_refused(fixture,
		       "/etc/cdi: not trusted: owned by user 1001, not by root or user 1000: "
		       "chown root /etc/cdi");
}

/* Who only looks may look at everything, but not at something of another kind. */
static void test_everybody(void **state)
{
	struct fixture *fixture = *state;

	fixture->trust.everybody = true;
	tree_mode(&fixture->tree, "/etc", 01777);
	tree_mode(&fixture->tree, "/etc/cdi/x.yaml", 0666);
	if (geteuid() == 0)
		tree_owner(&fixture->tree, "/etc/cdi/x.yaml", 1000);
	assert_opens(fixture, "/etc/cdi/x.yaml", TRUSTED_FILE);
	assert_opens(fixture, "/etc/cdi", TRUSTED_DIR);
	assert_fails(fixture, "/etc/cdi", TRUSTED_FILE, -EISDIR, EXIT_CODE_DONE,
		     "open /etc/cdi: Is a directory");
}

/* In a user namespace that does not map root, "/" and root's files show the overflow id. */
static void test_overflow_owner(void **state)
{
	struct fixture *fixture = *state;

	if (geteuid() != 0)
		return;
	tree_owner(&fixture->tree, "/etc", OVERFLOW_UID);
	tree_owner(&fixture->tree, "/etc/cdi/x.yaml", OVERFLOW_UID);
	assert_refused(fixture,
		       "/etc: not trusted: owned by user 65534, not by root: chown root /etc");
	assert_int_equal(chown(fixture->tree.path, OVERFLOW_UID, (gid_t)-1), 0);
	assert_opens(fixture, "/etc/cdi/x.yaml", TRUSTED_FILE);
	tree_mode(&fixture->tree, "/etc/cdi/x.yaml", 0664);
	assert_refused(fixture, "/etc/cdi/x.yaml: not trusted: writable by its group (mode 0664): "
				"chmod go-w /etc/cdi/x.yaml");
}

static void test_remedy_can_be_typed(void **state)
{
	struct fixture *fixture = *state;

	tree_file(&fixture->tree, "/etc/a b", "text");
	tree_mode(&fixture->tree, "/etc/a b", 0666);
	assert_fails(fixture, "/etc/a b", TRUSTED_FILE, -EINVAL, EXIT_CODE_REFUSED,
		     "/etc/a b: not trusted: writable by its group and others (mode 0666): chmod "
		     "go-w '/etc/a b'");
	tree_file(&fixture->tree, "/etc/a\n'b", "text");
	tree_mode(&fixture->tree, "/etc/a\n'b", 0666);
	assert_fails(fixture, "/etc/a\n'b", TRUSTED_FILE, -EINVAL, EXIT_CODE_REFUSED,
		     "/etc/a\\x0a'b: not trusted: writable by its group and others (mode 0666): "
		     "chmod go-w $'/etc/a\\x0a\\'b'");
}

static void test_links(void **state)
{
	struct fixture *fixture = *state;

	tree_dir(&fixture->tree, "/var");
	tree_link(&fixture->tree, "/etc", "/var/run");
	assert_opens(fixture, "/var/run/cdi", TRUSTED_DIR);
	tree_link(&fixture->tree, "x.yaml", "/etc/cdi/same-dir");
	assert_opens(fixture, "/etc/cdi/same-dir", TRUSTED_FILE);
	tree_link(&fixture->tree, "../cdi/../cdi/same-dir", "/etc/cdi/up");
	assert_opens(fixture, "/var/run/cdi/up", TRUSTED_FILE);
	/* ".." never leaves the root. */
	tree_link(&fixture->tree, "../../../../etc/cdi/x.yaml", "/etc/cdi/far-up");
	assert_opens(fixture, "/etc/cdi/far-up", TRUSTED_FILE);
	tree_link(&fixture->tree, "/", "/etc/root");
	assert_opens(fixture, "/etc/root/etc/root", TRUSTED_DIR);
}

/* The component that is at fault is named by its real path, wherever the links began. */
static void test_untrusted_behind_links(void **state)
{
	struct fixture *fixture = *state;

	tree_dir(&fixture->tree, "/home/open");
	tree_file(&fixture->tree, "/home/open/y.yaml", "text");
	tree_mode(&fixture->tree, "/home/open", 01777);
	tree_link(&fixture->tree, "../../home/open/y.yaml", "/etc/cdi/y.yaml");
	assert_fails(fixture, "/etc/cdi/y.yaml", TRUSTED_FILE, -EINVAL, EXIT_CODE_REFUSED,
		     "/home/open: not trusted: writable by its group and others (mode 1777): chmod "
		     "go-w /home/open");
	if (geteuid() != 0)
		return;
	tree_mode(&fixture->tree, "/home/open", 0755);
	assert_opens(fixture, "/etc/cdi/y.yaml", TRUSTED_FILE);
	tree_owner(&fixture->tree, "/etc/cdi/y.yaml", 1000);
	assert_fails(fixture, "/etc/cdi/y.yaml", TRUSTED_FILE, -EINVAL, EXIT_CODE_REFUSED,
		     "/etc/cdi/y.yaml: not trusted: owned by user 1000, not by root: chown -h root "
		     "/etc/cdi/y.yaml");
}

static void test_links_that_lead_nowhere(void **state)
{
	struct fixture *fixture = *state;

	tree_link(&fixture->tree, "/nowhere/z", "/etc/cdi/dangling");
	assert_fails(fixture, "/etc/cdi/dangling", TRUSTED_FILE, -ENOENT, EXIT_CODE_DONE,
		     "open /nowhere: No such file or directory");
	tree_link(&fixture->tree, "loop", "/etc/cdi/loop");
	assert_fails(fixture, "/etc/cdi/loop", TRUSTED_FILE, -ELOOP, EXIT_CODE_DONE,
		     "open /etc/cdi/loop: Too many levels of symbolic links");
	tree_link(&fixture->tree, "grow/grow", "/etc/cdi/grow");
	assert_fails(fixture, "/etc/cdi/grow", TRUSTED_FILE, -ELOOP, EXIT_CODE_DONE,
		     "open /etc/cdi/grow: Too many levels of symbolic links");
}

static void test_link_count(void **state)
{
	struct fixture *fixture = *state;
	char path[32], target[32] = "x.yaml";

	for (int i = 1; i <= LIMIT_SYMLINKS + 1; i++) {
		snprintf(path, sizeof(path), "/etc/cdi/%d", i);
		tree_link(&fixture->tree, target, path);
		snprintf(target, sizeof(target), "%d", i);
	}
	assert_opens(fixture, "/etc/cdi/40", TRUSTED_FILE);
	assert_fails(fixture, "/etc/cdi/41", TRUSTED_FILE, -ELOOP, EXIT_CODE_DONE,
		     "open /etc/cdi/1: Too many levels of symbolic links");
}

static void test_depth(void **state)
{
	struct fixture *fixture = *state;
	char path[1024] = "";

	for (int i = 0; i < LIMIT_PATH_DEPTH - 1; i++)
		strcat(path, "/d");
	tree_dir(&fixture->tree, path);
	assert_opens(fixture, path, TRUSTED_DIR);
	strcat(path, "/d");
	tree_dir(&fixture->tree, path);
	struct error err = {0};
	assert_int_equal(trusted_open(&fixture->trust, path, TRUSTED_DIR, &err), -EINVAL);
	assert_non_null(strstr(err.text, ": more than 128 directories deep"));
}

static void test_names_that_are_too_long(void **state)
{
	struct fixture *fixture = *state;
	static char path[PATH_MAX + 10];
	struct error err = {0};

	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	assert_int_equal(trusted_open(&fixture->trust, path, TRUSTED_DIR, &err), -ENAMETOOLONG);
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(trusted_open(&fixture->trust, path, TRUSTED_DIR, &err), -ENAMETOOLONG);
	for (size_t i = 0; i + 2 < PATH_MAX; i += 2)
		memcpy(path + i, "/.", 3);
	assert_opens(fixture, path, TRUSTED_DIR);
	/* Nor may a link make more than a path of what is left. */
	tree_link(&fixture->tree, "././././././././././././././././././././etc", "/link");
	memcpy(path, "/link/", 6);
	assert_int_equal(trusted_open(&fixture->trust, path, TRUSTED_DIR, &err), -ENAMETOOLONG);
	assert_error(&err, EXIT_CODE_DONE, "readlink /link: File name too long");
}

/* None of them is opened: a FIFO would wait for a writer, a device could do anything. */
static void test_what_is_not_a_file(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	tree_fifo(&fixture->tree, "/etc/cdi/fifo");
	assert_fails(fixture, "/etc/cdi/fifo", TRUSTED_FILE, -EINVAL, EXIT_CODE_DONE,
		     "/etc/cdi/fifo: is a FIFO, not a regular file");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/etc/cdi/socket", fixture->tree.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
	assert_fails(fixture, "/etc/cdi/socket", TRUSTED_FILE, -EINVAL, EXIT_CODE_DONE,
		     "/etc/cdi/socket: is a socket, not a regular file");
	if (mknodat(fixture->tree.fd, "etc/cdi/null", S_IFCHR | 0666, makedev(1, 3)) < 0 ||
	    mknodat(fixture->tree.fd, "etc/cdi/disk", S_IFBLK | 0666, makedev(7, 0)) < 0)
		return;
	assert_fails(fixture, "/etc/cdi/disk", TRUSTED_FILE, -EINVAL, EXIT_CODE_DONE,
		     "/etc/cdi/disk: is a block device, not a regular file");
	assert_fails(fixture, "/etc/cdi/null", TRUSTED_FILE, -EINVAL, EXIT_CODE_DONE,
		     "/etc/cdi/null: is a character device, not a regular file");
}

static void test_entry(void **state)
{
	struct fixture *fixture = *state;
	struct error err = {0};

	assert_int_equal(open_entry(fixture, "x.yaml", &err), 0);
	assert_int_equal(open_entry(fixture, "y.yaml", &err), -ENOENT);
	assert_error(&err, EXIT_CODE_DONE, "open /etc/cdi/y.yaml: No such file or directory");
	tree_dir(&fixture->tree, "/etc/cdi/d.yaml");
	assert_int_equal(open_entry(fixture, "d.yaml", &err), -EISDIR);
	tree_fifo(&fixture->tree, "/etc/cdi/fifo");
	assert_int_equal(open_entry(fixture, "fifo", &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, "/etc/cdi/fifo: is a FIFO, not a regular file");
	tree_mode(&fixture->tree, "/etc/cdi/x.yaml", 0666);
	assert_int_equal(open_entry(fixture, "x.yaml", &err), -EINVAL);
	assert_error(&err, EXIT_CODE_REFUSED,
		     "/etc/cdi/x.yaml: not trusted: writable by its group and others (mode 0666): "
		     "chmod go-w /etc/cdi/x.yaml");
}

static void test_entry_that_is_a_link(void **state)
{
	struct fixture *fixture = *state;
	struct error err = {0};

	tree_file(&fixture->tree, "/etc/real.yaml", "text");
	tree_link(&fixture->tree, "../real.yaml", "/etc/cdi/up.yaml");
	assert_int_equal(open_entry(fixture, "up.yaml", &err), 0);
	tree_link(&fixture->tree, "/etc/real.yaml", "/etc/cdi/absolute.yaml");
	assert_int_equal(open_entry(fixture, "absolute.yaml", &err), 0);
	tree_mode(&fixture->tree, "/etc/real.yaml", 0646);
	assert_int_equal(open_entry(fixture, "up.yaml", &err), -EINVAL);
	assert_error(&err, EXIT_CODE_REFUSED,
		     "/etc/real.yaml: not trusted: writable by others (mode 0646): chmod go-w "
		     "/etc/real.yaml");
	tree_link(&fixture->tree, "/dev/fifo", "/etc/cdi/fifo.yaml");
	tree_dir(&fixture->tree, "/dev");
	tree_fifo(&fixture->tree, "/dev/fifo");
	assert_int_equal(open_entry(fixture, "fifo.yaml", &err), -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, "/dev/fifo: is a FIFO, not a regular file");
}

/*
 * The directory that is read and the one that its path names now must be the same, or ".." would
 * lead elsewhere.
 */
static void test_entry_of_a_directory_that_was_replaced(void **state)
{
	struct fixture *fixture = *state;
	struct error err = {0};

	tree_link(&fixture->tree, "x.yaml", "/etc/cdi/link.yaml");
	int dir = trusted_open(&fixture->trust, "/etc/cdi", TRUSTED_DIR, &err);
	assert_true(dir >= 0);
	assert_int_equal(renameat(fixture->tree.fd, "etc/cdi", fixture->tree.fd, "etc/old"), 0);
	assert_int_equal(trusted_open_at(&fixture->trust, dir, "/etc/cdi", "link.yaml", &err),
			 -ENOENT);
	assert_error(&err, EXIT_CODE_DONE, "open /etc/cdi: No such file or directory");
	tree_dir(&fixture->tree, "/etc/cdi");
	assert_int_equal(trusted_open_at(&fixture->trust, dir, "/etc/cdi", "link.yaml", &err),
			 -EINVAL);
	assert_error(&err, EXIT_CODE_DONE, "/etc/cdi: replaced while it was read");
	close(dir);
}

/* Puts a good file, a writable one and a link to one in turn in the place of /etc/cdi/x.yaml. */
static void swap_for_ever(const struct fixture *fixture, pid_t parent)
{
	const int fd = fixture->tree.fd;

	while (getppid() == parent) {
		renameat2(fd, "etc/cdi/x.yaml", fd, "etc/cdi/evil", RENAME_EXCHANGE);
		renameat2(fd, "etc/cdi/x.yaml", fd, "etc/cdi/link", RENAME_EXCHANGE);
	}
	_exit(0);
}

/* What is opened is what was checked, however the names change meanwhile. */
static void test_race(void **state)
{
	struct fixture *fixture = *state;
	size_t opened = 0;

	tree_file(&fixture->tree, "/etc/evil", "evil");
	tree_mode(&fixture->tree, "/etc/evil", 0666);
	tree_file(&fixture->tree, "/etc/cdi/evil", "evil");
	tree_mode(&fixture->tree, "/etc/cdi/evil", 0666);
	tree_link(&fixture->tree, "../evil", "/etc/cdi/link");
	pid_t parent = getpid(), child = fork();
	assert_true(child >= 0);
	if (child == 0)
		swap_for_ever(fixture, parent);
	for (int i = 0; i < 20000; i++) {
		struct error err = {0};
		char text[5] = "";
		int fd = trusted_open(&fixture->trust, "/etc/cdi/x.yaml", TRUSTED_FILE, &err);

		if (fd < 0) {
			assert_true(error_is_set(&err));
			continue;
		}
		opened++;
		assert_int_equal(read(fd, text, 4), 4);
		assert_string_equal(text, "text");
		close(fd);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(opened > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_opens),
		TEST(test_missing),
		TEST(test_kind),
		TEST(test_writable_file),
		TEST(test_writable_directory_on_the_way),
		TEST(test_owner),
		TEST(test_everybody),
		TEST(test_overflow_owner),
		TEST(test_remedy_can_be_typed),
		TEST(test_links),
		TEST(test_untrusted_behind_links),
		TEST(test_links_that_lead_nowhere),
		TEST(test_link_count),
		TEST(test_depth),
		TEST(test_names_that_are_too_long),
		TEST(test_what_is_not_a_file),
		TEST(test_entry),
		TEST(test_entry_that_is_a_link),
		TEST(test_entry_of_a_directory_that_was_replaced),
		TEST(test_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
