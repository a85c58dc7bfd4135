/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built-in hooks on a root file system of our own making that is as hostile as an image can be. Each case runs in a
 * process and a mount namespace of its own: the root is bound onto itself, its /dev is a tmpfs, "vol" is a directory of
 * the host. After each case all is taken back, and the tree must be what it was; "host" must never change at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounds.h"
#include "builtin.h"
#include "checks.h"
#include "cleanup.h"
#include "fdio.h"
#include "rootfs-file.h"

static char top[] = "/run/oci-cdi-hook-builtin-XXXXXX";
static const char *at(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *at(const char *fmt, ...)
{
	static char paths[8][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 8];
	va_list args;
	int n = snprintf(path, PATH_MAX, "%s/", top);

	va_start(args, fmt);
	vsnprintf(path + n, (size_t)(PATH_MAX - n), fmt, args);
	va_end(args);
	return path;
}

static void make_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd, path);
	must(write(fd, text, strlen(text)), path);
}

static void make_dir(const char *path)
{
	must(mkdir(path, 0755), path);
}

static void make_link(const char *target, const char *path)
{
	must(symlink(target, path), path);
}

/*
 * What a tree looks like: names, types, modes, link texts, contents of small files
 */

static char listing[65536];
static size_t listing_used;

static int list_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char text[256] = "";
	ssize_t n = 0;

	(void)type;
	(void)ftw;
	if (S_ISLNK(st->st_mode)) {
		n = readlink(path, text, sizeof(text) - 1);
	} else if (S_ISREG(st->st_mode) && st->st_size < 200) {
		_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	}
	text[n > 0 ? n : 0] = '\0';
	listing_used += (size_t)snprintf(listing + listing_used, sizeof(listing) - listing_used,
					 "%s %o %u:%u %s\n", path, st->st_mode, major(st->st_rdev),
					 minor(st->st_rdev), text);
	return 0;
}

/* "proc" is left out: it changes by itself. */
static char *list_tree(const char *path)
{
	listing_used = 0;
	listing[0] = '\0';
	nftw(path, list_entry, 16, FTW_PHYS | FTW_MOUNT);
	return strdup(listing);
}

static bool is_link(const char *path, const char *target)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strcmp(text, target) == 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static bool file_has(const char *path, const char *text)
{
	char data[512] = "";
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && read(fd, data, sizeof(data) - 1) >= 0 && strcmp(data, text) == 0;
}

/*
 * Between the code and the kernel
 */

/* What the kernel says to a new mode, where that is not 0. */
static int mode_error;

int __wrap_rootfs_set_mode(struct rootfs *rootfs, int fd, mode_t mode, struct error *err);
int __real_rootfs_set_mode(struct rootfs *rootfs, int fd, mode_t mode, struct error *err);

int __wrap_rootfs_set_mode(struct rootfs *rootfs, int fd, mode_t mode, struct error *err)
{
	return mode_error ? error_set(err, mode_error, "set its mode")
			  : __real_rootfs_set_mode(rootfs, fd, mode, err);
}

/* Whether a name of our own beside another cannot be looked at. */
static bool spare_fails;

int __wrap_fstatat(int dir_fd, const char *path, struct stat *st, int flags);
int __real_fstatat(int dir_fd, const char *path, struct stat *st, int flags);

int __wrap_fstatat(int dir_fd, const char *path, struct stat *st, int flags)
{
	if (!spare_fails || path[0] != '.')
		return __real_fstatat(dir_fd, path, st, flags);
	errno = EIO;
	return -1;
}

/* Its name where files may be large: the same structure on a machine of 64 bits. */
int __wrap_fstatat64(int dir_fd, const char *path, struct stat *st, int flags);
int __wrap_fstatat64(int dir_fd, const char *path, struct stat *st, int flags)
{
	return __wrap_fstatat(dir_fd, path, st, flags);
}

/*
 * The container
 */

struct fixture {
	struct arena arena;
	struct mountinfo host_mounts;
	struct undo undo;
	struct notes notes;
	struct rootfs rootfs;
	struct string_list front;
	struct error err;
};

static void set_up_trees(void)
{
	make_dir(at("host"));
	make_dir(at("host/dir"));
	make_file(at("host/file"), "of the host");
	make_dir(at("root"));
	for (const char *const *dir = (const char *const[]){"dev", "etc", "proc", "sys", "vol",
							    "usr", "usr/lib", NULL};
	     *dir; dir++)
		make_dir(at("root/%s", *dir));
	make_link("usr/lib", at("root/lib"));
	make_link("../../../../../../etc", at("root/climb"));
	make_link(at("host"), at("root/to-host"));
	make_link("/nowhere", at("root/dangling"));
	make_link("loop", at("root/loop"));
	make_link("/proc/self/root", at("root/magic"));
	make_link("/proc/sys", at("root/to-proc"));
	make_file(at("root/usr/lib/file"), "of the image");
	make_dir(at("root/usr/lib/dir"));
	make_link("other", at("root/usr/lib/other-link"));
	must(mkfifo(at("root/usr/lib/fifo"), 0644), "fifo");
	must(mknod(at("root/usr/lib/node"), S_IFCHR | 0644, makedev(1, 3)), "node");
}

static void enter(struct fixture *fixture)
{
	const char *root = at("root");
	char *data;
	size_t size;

	*fixture = (struct fixture){0};
	arena_init(&fixture->arena, LIMIT_MEMORY);
	fixture->undo.arena = fixture->notes.arena = &fixture->arena;
	/* As hook/container.c does it, before the namespace is entered. */
	must(fdio_read_at(&fixture->arena, AT_FDCWD, "/proc/self/mountinfo", LIMIT_PROC_SIZE, &data,
			  &size, &fixture->err),
	     "mountinfo");
	must(mountinfo_parse(&fixture->arena, data, size, &fixture->host_mounts, &fixture->err),
	     "mountinfo");
	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
	must(mount(root, root, NULL, MS_BIND, NULL), "bind the root");
	must(mount("tmpfs", at("root/dev"), "tmpfs", MS_NOSUID, "mode=755"), "/dev");
	must(mount("proc", at("root/proc"), "proc", 0, NULL), "/proc");
	must(mount("sysfs", at("root/sys"), "sysfs", MS_RDONLY, NULL), "/sys");
	must(mount(at("host/dir"), at("root/vol"), NULL, MS_BIND, NULL), "/vol");
	umask(0);
	fixture->rootfs = (struct rootfs){
		.arena = &fixture->arena,
		.fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.host_mounts = &fixture->host_mounts,
		.undo = &fixture->undo,
	};
	must(fixture->rootfs.fd, "open the root");
	must(rootfs_init(&fixture->rootfs, &fixture->err), "rootfs_init");
}

static int apply(struct fixture *fixture, const struct vendor_hook *hook)
{
	struct plan_hook plan = {.builtin = *hook};

	plan.builtin.command = "name";
	fixture->err = (struct error){0};
	return builtin_apply(&fixture->arena, &fixture->rootfs, &plan, &fixture->front,
			     &fixture->notes, &fixture->err);
}

static int link_at(struct fixture *fixture, const char *target, const char *path)
{
	struct vendor_hook_link link = {.target = target, .path = path};
	const struct vendor_hook hook = {.kind = VENDOR_HOOK_CREATE_SYMLINKS,
					 .links = {.items = &link, .n = 1}};

	return apply(fixture, &hook);
}

static int chmod_at(struct fixture *fixture, mode_t mode, const char *path)
{
	const struct vendor_hook hook = {
		.kind = VENDOR_HOOK_CHMOD, .mode = mode, .paths = {.items = &path, .n = 1}};

	return apply(fixture, &hook);
}

static void expect(struct fixture *fixture, int r, const char *sentence)
{
	char text[ERROR_TEXT_MAX];

	if (!sentence) {
		check(r == 0, "failed: %s", error_text(&fixture->err, text));
		return;
	}
	check(r < 0 && strcmp(error_text(&fixture->err, text), sentence) == 0,
	      "expected: %s, got: %s", sentence, error_text(&fixture->err, text));
	check(r == 0 || fixture->err.exit_code == EXIT_CODE_VENDOR_HOOK, "exit code %d",
	      fixture->err.exit_code);
}

/* Whether a note has these words. */
static void expect_note(struct fixture *fixture, const char *words)
{
	for (size_t i = 0; i < fixture->notes.list.n; i++)
		if (strstr(fixture->notes.list.items[i].text, words))
			return;
	check(false, "no note says: %s", words);
}

/* All must be as it was; whatever there is to keep is tested by the case itself. */
static void expect_undone(struct fixture *fixture, const char *before, const char *dev_before)
{
	struct error err = {0};
	char *after, *dev_after;

	check(undo_to(&fixture->undo, 0, &err), "undo: %s", err.text);
	after = list_tree(at("root"));
	dev_after = list_tree(at("root/dev"));
	check(strcmp(before, after) == 0, "left behind: before\n%s# after\n%s", before, after);
	check(strcmp(dev_before, dev_after) == 0, "left behind in /dev: %s", dev_after);
	free(after);
	free(dev_after);
}

/*
 * Links
 */

static void case_link_created(struct fixture *fixture)
{
	expect(fixture, link_at(fixture, "libx.so.1", "/lib/libx.so"), NULL);
	check(is_link(at("root/usr/lib/libx.so"), "libx.so.1"), "no link");
	expect(fixture, link_at(fixture, "../card0", "/dev/dri/by-path/pci-0000:01:00.0-card"),
	       NULL);
	check(is_link(at("root/dev/dri/by-path/pci-0000:01:00.0-card"), "../card0"), "no link");
	check(mode_of(at("root/dev/dri")) == 0755, "mode of a new directory");
	/* The text is data, whatever it is. */
	expect(fixture, link_at(fixture, "../../../../etc/shadow", "/x"), NULL);
	check(is_link(at("root/x"), "../../../../etc/shadow"), "no link");
	expect(fixture, link_at(fixture, at("host/file"), "/y"), NULL);
	check(is_link(at("root/y"), at("host/file")), "no link");
	expect(fixture, link_at(fixture, "/ends/in/", "/z"), NULL);
	check(is_link(at("root/z"), "/ends/in/"), "no link");
}

static void case_link_of_the_image(struct fixture *fixture)
{
	/* Where a process with that root would come to. */
	expect(fixture, link_at(fixture, "t", "/climb/l"), NULL);
	check(is_link(at("root/etc/l"), "t"), "not below the root's etc");
	expect(fixture, link_at(fixture, "t", "/to-host/l"),
	       "hook name: link /to-host/l: /to-host in the container is a symbolic link that "
	       "leads "
	       "nowhere, or appeared just now");
}

static void case_link_refused(struct fixture *fixture)
{
	static const struct {
		const char *path, *sentence;
	} cases[] = {
		{"/usr/lib/dir", "a directory is there"},
		{"/vol", "a directory is there"},
		{"/loop/l", "open /loop in the container: Too many levels of symbolic links"},
		{"/magic/l", "open /magic in the container: Too many levels of symbolic links"},
		{"/usr/lib/file/l", "open /usr/lib/file in the container: Not a directory"},
		{"/to-proc/l", "it leads into procfs"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char sentence[512];
		snprintf(sentence, sizeof(sentence), "hook name: link %s: %s", cases[i].path,
			 cases[i].sentence);
		expect(fixture, link_at(fixture, "t", cases[i].path), sentence);
	}
}

static void case_link_in_a_directory_of_the_host(struct fixture *fixture)
{
	char sentence[PATH_MAX + 256];

	snprintf(sentence, sizeof(sentence),
		 "hook name: link /vol/l: /vol/l is missing in the container and would have to be "
		 "created in %s, which is a directory of the host: create it there, or do not "
		 "mount that directory",
		 at("root/vol"));
	expect(fixture, link_at(fixture, "t", "/vol/l"), sentence);
	/* One that is there and right is used. */
	make_link("t", at("host/dir/l"));
	expect(fixture, link_at(fixture, "t", "/vol/l"), NULL);
	check(unlink(at("host/dir/l")) == 0, "the host's link is gone");
}

static void case_link_replaces(struct fixture *fixture)
{
	static const char *const names[] = {"file", "other-link", "fifo", "node"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/usr/lib/%s", names[i]);
		expect(fixture, link_at(fixture, "t", path), NULL);
		check(is_link(at("root%s", path), "t"), "%s was not replaced", path);
	}
	/* The last one wins, and a second time changes nothing. */
	expect(fixture, link_at(fixture, "u", "/usr/lib/file"), NULL);
	const size_t steps = fixture->undo.steps.n;
	expect(fixture, link_at(fixture, "u", "/usr/lib/file"), NULL);
	check(fixture->undo.steps.n == steps, "something was done again");
	expect_note(fixture, "link /usr/lib/file is in the container already");
}

/* What it is called beside the old one nobody knows but us, so nobody else would remove it. */
static void case_link_beside_is_removed(struct fixture *fixture)
{
	char *before = list_tree(at("root/usr/lib"));

	spare_fails = true;
	expect(fixture, link_at(fixture, "t", "/usr/lib/file"),
	       "hook name: link /usr/lib/file: replace /usr/lib/file in the container: look at the "
	       "new link: Input/output error");
	spare_fails = false;
	char *after = list_tree(at("root/usr/lib"));
	check(strcmp(before, after) == 0, "left behind. Before:\n%s\nafter:\n%s", before, after);
	free(before);
	free(after);
}

static void case_link_kept(struct fixture *fixture)
{
	struct error err = {0};
	char *tree;

	expect(fixture, link_at(fixture, "t", "/usr/lib/file"), NULL);
	expect(fixture, link_at(fixture, "t", "/a/b"), NULL);
	undo_keep(&fixture->undo, &err);
	check(!error_is_set(&err), "keep: %s", err.text);
	tree = list_tree(at("root"));
	check(!strstr(tree, "/.file."), "a spare name is left: %s", tree);
	free(tree);
	check(is_link(at("root/usr/lib/file"), "t") && is_link(at("root/a/b"), "t"), "not kept");
	must(unlink(at("root/usr/lib/file")), "file");
	make_file(at("root/usr/lib/file"), "of the image");
	must(unlink(at("root/a/b")), "b");
	must(rmdir(at("root/a")), "a");
}

/* A link that another one relies on does not take a file's place. */
static void case_link_implied(struct fixture *fixture)
{
	struct vendor_hook_link links[] = {
		{.target = "t", .path = "/usr/lib/file", .implied = true},
		{.target = "t", .path = "/usr/lib/dir", .implied = true},
		{.target = "t", .path = "/usr/lib/other-link", .implied = true},
		{.target = "t", .path = "/usr/lib/new", .implied = true},
	};
	const struct vendor_hook hook = {.kind = VENDOR_HOOK_CREATE_SYMLINKS,
					 .links = {.items = links, .n = 4}};

	expect(fixture, apply(fixture, &hook), NULL);
	check(file_has(at("root/usr/lib/file"), "of the image"), "a file was replaced");
	check(is_link(at("root/usr/lib/other-link"), "t"), "an older link stays");
	check(is_link(at("root/usr/lib/new"), "t"), "no link");
}

static void case_link_names(struct fixture *fixture)
{
	char path[300], name[256];

	memset(name, 'n', 255);
	name[255] = '\0';
	snprintf(path, sizeof(path), "/%s", name);
	expect(fixture, link_at(fixture, "t", path), NULL);
	expect(fixture, link_at(fixture, "u", path), NULL);
	check(is_link(at("root%s", path), "u"), "a long name");
}

static void case_link_mount_point(struct fixture *fixture)
{
	must(mount(at("host/file"), at("root/usr/lib/file"), NULL, MS_BIND, NULL), "bind");
	expect(fixture, link_at(fixture, "t", "/usr/lib/file"),
	       "hook name: link /usr/lib/file: something is mounted there");
	must(umount2(at("root/usr/lib/file"), MNT_DETACH), "umount");
}

static void case_link_read_only(struct fixture *fixture)
{
	must(mount(NULL, at("root"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), "read-only");
	expect(fixture, link_at(fixture, "t", "/l"),
	       "hook name: link /l: make the link: Read-only file system");
	expect(fixture, link_at(fixture, "other", "/lib/other-link"), NULL);
	must(mount(NULL, at("root"), NULL, MS_REMOUNT | MS_BIND, NULL), "writable");
}

/*
 * Modes
 */

static void case_chmod(struct fixture *fixture)
{
	make_dir(at("root/dev/dri"));
	expect(fixture, chmod_at(fixture, 0700, "/dev/dri"), NULL);
	check(mode_of(at("root/dev/dri")) == 0700, "mode %o", mode_of(at("root/dev/dri")));
	expect(fixture, chmod_at(fixture, 0600, "/lib/file"), NULL);
	check(mode_of(at("root/usr/lib/file")) == 0600, "through a link of the image");
	/* Opened by name alone: a FIFO does not block. */
	expect(fixture, chmod_at(fixture, 0600, "/lib/fifo"), NULL);
	const size_t steps = fixture->undo.steps.n;
	expect(fixture, chmod_at(fixture, 0600, "/lib/fifo"), NULL);
	check(fixture->undo.steps.n == steps, "something was done again");
	/* Taken back before the directory goes. */
	check(undo_to(&fixture->undo, 0, &fixture->err), "undo");
	check(mode_of(at("root/dev/dri")) == 0755, "not brought back");
	must(rmdir(at("root/dev/dri")), "dri");
}

static void case_chmod_not_there(struct fixture *fixture)
{
	expect(fixture, chmod_at(fixture, 0700, "/nope"), NULL);
	expect(fixture, chmod_at(fixture, 0700, "/dangling"), NULL);
	expect(fixture, chmod_at(fixture, 0700, "/loop"), NULL);
	expect(fixture, chmod_at(fixture, 0700, "/usr/lib/file/x"), NULL);
	/* A link out of the root leads nowhere. */
	expect(fixture, chmod_at(fixture, 0700, "/to-host/file"), NULL);
	expect(fixture, chmod_at(fixture, 0700, "/magic/run"), NULL);
	expect_note(fixture, "mode 0700 of /to-host/file");
}

/* Another root that was made of links to the same files has the same inode. */
static void case_chmod_hard_link(struct fixture *fixture)
{
	must(link(at("root/usr/lib/file"), at("root/usr/lib/second")), "link");
	expect(fixture, chmod_at(fixture, 0711, "/lib/file"),
	       "hook name: mode 0711 of /lib/file: it has 2 names (hard links), and a mode would "
	       "be "
	       "set under all of them");
	check(mode_of(at("root/usr/lib/second")) != 0711, "the other name's mode was changed");
	/* It has that mode. */
	expect(fixture, chmod_at(fixture, mode_of(at("root/usr/lib/file")), "/lib/file"), NULL);
	must(unlink(at("root/usr/lib/second")), "unlink");
	expect(fixture, chmod_at(fixture, 0711, "/lib/file"), NULL);
}

/* A file system that knows no modes. */
static void case_chmod_not_supported(struct fixture *fixture)
{
	static const int errors[] = {EOPNOTSUPP, ENOSYS, EPERM};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		char words[128];
		mode_error = errors[i];
		fixture->notes.list.n = 0;
		expect(fixture, chmod_at(fixture, 0700, "/etc"), NULL);
		mode_error = 0;
		snprintf(words, sizeof(words), "mode 0700 of /etc: set its mode: %s",
			 strerror(errors[i]));
		expect_note(fixture, words);
	}
}

static void case_chmod_refused(struct fixture *fixture)
{
	expect(fixture, chmod_at(fixture, 0700, "/vol"),
	       "hook name: mode 0700 of /vol: it is the host's, mounted into the container, and "
	       "has the mode 0755");
	expect(fixture, chmod_at(fixture, 0755, "/vol"), NULL);
	expect(fixture, chmod_at(fixture, 0700, "/to-proc"),
	       "hook name: mode 0700 of /to-proc: it leads into procfs");
	make_link("/", at("root/to-root"));
	expect(fixture, chmod_at(fixture, 0700, "/to-root"),
	       "hook name: mode 0700 of /to-root: it leads to the container's root");
	check(mode_of(at("root")) != 0700, "the root's mode was changed");
	must(unlink(at("root/to-root")), "to-root");
	must(mount(NULL, at("root"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), "read-only");
	expect(fixture, chmod_at(fixture, 0700, "/etc"),
	       "hook name: mode 0700 of /etc: set its mode: Read-only file system");
	must(mount(NULL, at("root"), NULL, MS_REMOUNT | MS_BIND, NULL), "writable");
}

/*
 * Params
 */

static int params(struct fixture *fixture)
{
	const struct vendor_hook hook = {.kind = VENDOR_HOOK_DRIVER_PARAMS, .text = "masked\n"};

	return apply(fixture, &hook);
}

/* A tmpfs stands for the driver's directory in procfs, where nothing can be made. */
static void driver_directory(void)
{
	must(mount("tmpfs", at("root/proc/driver"), "tmpfs", 0, NULL), "/proc/driver");
	make_dir(at("root/proc/driver/nvidia"));
}

static void case_params(struct fixture *fixture)
{
	const char *path = at("root/proc/driver/nvidia/params");

	driver_directory();
	make_file(path, "real\n");
	expect(fixture, params(fixture), NULL);
	check(file_has(path, "masked\n"), "not covered");
	check(mode_of(path) == 0444, "mode %o", mode_of(path));
	check(open(path, O_WRONLY | O_CLOEXEC) < 0 && errno == EROFS, "can be written to");
	check(chmod(path, 0644) < 0 && errno == EROFS, "can be changed");
	const size_t steps = fixture->undo.steps.n;
	expect(fixture, params(fixture), NULL);
	check(fixture->undo.steps.n == steps, "covered twice");
	check(undo_to(&fixture->undo, 0, &fixture->err), "undo: %s", fixture->err.text);
	check(file_has(path, "real\n"), "not uncovered");
	must(umount2(at("root/proc/driver"), MNT_DETACH), "umount");
}

static void case_params_not_there(struct fixture *fixture)
{
	expect(fixture, params(fixture), NULL);
	driver_directory();
	expect(fixture, params(fixture), NULL);
	expect_note(fixture, "the container has no file /proc/driver/nvidia/params");
	make_link(at("host/file"), at("root/proc/driver/nvidia/params"));
	expect(fixture, params(fixture), NULL);
	must(unlink(at("root/proc/driver/nvidia/params")), "params");
	must(mkfifo(at("root/proc/driver/nvidia/params"), 0644), "params");
	expect(fixture, params(fixture), NULL);
	must(umount2(at("root/proc/driver"), MNT_DETACH), "umount");
	check(fixture->undo.steps.n == 0, "something was done");
	/* An image without a procfs, whose own /proc leads elsewhere. */
	must(umount2(at("root/proc"), MNT_DETACH), "umount");
	make_link(at("host"), at("root/proc/driver"));
	expect(fixture, params(fixture), NULL);
	expect_note(fixture, "the image has a symbolic link there");
	must(unlink(at("root/proc/driver")), "driver");
	must(mount("proc", at("root/proc"), "proc", 0, NULL), "/proc");
}

/*
 * The application profile
 */

#define PROFILE "root/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf"
#define PROFILE_TEXT(mask)                                                                         \
	"{\"profiles\":[{\"name\":\"_container_\",\"settings\":[\"EGLVisibleDGPUDevices\"," mask   \
	"]}],\"rules\":[{\"pattern\":[],\"profile\":\"_container_\"}]}"

static int profile(struct fixture *fixture)
{
	const struct vendor_hook hook = {.kind = VENDOR_HOOK_APPLICATION_PROFILE};

	return apply(fixture, &hook);
}

static void gpu(const char *name, mode_t type, unsigned minor_number)
{
	must(mknod(at("root/dev/%s", name), type | 0666, makedev(195, minor_number)), name);
}

static void no_gpus(void)
{
	must(umount2(at("root/dev"), MNT_DETACH), "/dev");
	must(mount("tmpfs", at("root/dev"), "tmpfs", MS_NOSUID, "mode=755"), "/dev");
}

static void case_profile(struct fixture *fixture)
{
	expect(fixture, profile(fixture), NULL);
	check(mode_of(at("root/etc/nvidia")) == 0, "written without a GPU");
	gpu("nvidia0", S_IFCHR, 0);
	gpu("nvidia3", S_IFCHR, 3);
	gpu("nvidia63", S_IFCHR, 63);
	gpu("nvidia70", S_IFCHR, 70);
	gpu("nvidiactl", S_IFCHR, 5);
	gpu("nvidia-uvm", S_IFCHR, 6);
	gpu("nvidia7", S_IFBLK, 7);
	make_link("nvidia0", at("root/dev/nvidia8"));
	expect(fixture, profile(fixture), NULL);
	check(file_has(at(PROFILE), PROFILE_TEXT("0x8000000000000009")), "not the right mask");
	check(mode_of(at(PROFILE)) == 0444, "mode %o", mode_of(at(PROFILE)));
	expect_note(fixture, "/dev/nvidia70 of the container has the minor number 70");
	const size_t steps = fixture->undo.steps.n;
	expect(fixture, profile(fixture), NULL);
	check(fixture->undo.steps.n == steps, "written twice");
	no_gpus();
}

static void case_profile_never_fails(struct fixture *fixture)
{
	gpu("nvidia0", S_IFCHR, 0);
	make_file(at("root/etc/nvidia"), "in the way");
	expect(fixture, profile(fixture), NULL);
	expect_note(fixture, "no application profile is written");
	must(unlink(at("root/etc/nvidia")), "nvidia");
	make_link("/vol", at("root/etc/nvidia"));
	expect(fixture, profile(fixture), NULL);
	expect_note(fixture, "which is a directory of the host");
	must(unlink(at("root/etc/nvidia")), "nvidia");
	make_link("/nowhere", at("root/etc/nvidia"));
	expect(fixture, profile(fixture), NULL);
	must(unlink(at("root/etc/nvidia")), "nvidia");
	must(mount(NULL, at("root"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), "read-only");
	expect(fixture, profile(fixture), NULL);
	expect_note(fixture, "Read-only file system");
	must(mount(NULL, at("root"), NULL, MS_REMOUNT | MS_BIND, NULL), "writable");
	check(fixture->undo.steps.n == 0, "something was done");
	no_gpus();
}

/*
 * CUDA libraries of the image; which versions are wanted is tests/unit/test-cuda-compat.c's
 */

static int compat(struct fixture *fixture, const char *root)
{
	const struct vendor_hook hook = {.kind = VENDOR_HOOK_CUDA_COMPAT,
					 .compat_root = root,
					 .host_driver_version = "550.54.15"};

	fixture->front.n = 0;
	return apply(fixture, &hook);
}

static void case_compat(struct fixture *fixture)
{
	make_dir(at("root/cuda-12"));
	make_dir(at("root/cuda-12/compat"));
	make_link("/cuda-12", at("root/cuda"));
	make_file(at("root/cuda-12/compat/libcuda.so.570.1.1"), "");
	make_link("libcuda.so.570.1.1", at("root/cuda-12/compat/libcuda.so.571.1"));
	must(mkfifo(at("root/cuda-12/compat/libcuda.so.572.1"), 0644), "fifo");
	expect(fixture, compat(fixture, "/cuda/compat"), NULL);
	check(fixture->front.n == 1 && strcmp(fixture->front.items[0], "/cuda-12/compat") == 0,
	      "in front: %s", fixture->front.n ? fixture->front.items[0] : "nothing");

	make_file(at("root/cuda-12/compat/libcuda.so.580.1"), "");
	expect(fixture, compat(fixture, "/cuda/compat"), NULL);
	expect_note(fixture, "of the image has both libcuda.so.570.1.1 and libcuda.so.580.1");
	check(fixture->front.n == 0, "one of two is used");
	must(unlink(at("root/cuda-12/compat/libcuda.so.580.1")), "580");
	must(rename(at("root/cuda-12/compat"), at("root/cuda-12/a b")), "rename");
	expect(fixture, compat(fixture, "/cuda/a b"), NULL);
	expect_note(fixture, "cannot be named in a library configuration");
	check(fixture->front.n == 0, "a name with a blank");

	must(unlink(at("root/cuda-12/a b/libcuda.so.570.1.1")), "570");
	must(unlink(at("root/cuda-12/a b/libcuda.so.571.1")), "571");
	must(unlink(at("root/cuda-12/a b/libcuda.so.572.1")), "572");
	must(rmdir(at("root/cuda-12/a b")), "a b");
	must(rmdir(at("root/cuda-12")), "cuda-12");
	must(unlink(at("root/cuda")), "cuda");
}

static void case_compat_not_there(struct fixture *fixture)
{
	static const char *const roots[] = {"/nope",      "/to-host",      "/dangling", "/loop",
					    "/magic/etc", "/usr/lib/file", "/usr/lib",  "/vol"};

	make_file(at("host/dir/libcuda.so.570.1"), "");
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		expect(fixture, compat(fixture, roots[i]), NULL);
		check(fixture->front.n == 0, "%s is used", roots[i]);
	}
	must(unlink(at("host/dir/libcuda.so.570.1")), "570");
}

static const struct {
	const char *name;
	void (*run)(struct fixture *fixture);
} cases[] = {
	{"a link, with the directories that it needs", case_link_created},
	{"a link below links of the image", case_link_of_the_image},
	{"links that cannot be made", case_link_refused},
	{"a link in a directory of the host", case_link_in_a_directory_of_the_host},
	{"a link replaces a file, a link, a FIFO, a node", case_link_replaces},
	{"a link beside another is not left", case_link_beside_is_removed},
	{"links that stay, and nothing else", case_link_kept},
	{"links that others rely on", case_link_implied},
	{"a link with a name as long as can be", case_link_names},
	{"a link where something is mounted", case_link_mount_point},
	{"links and a read-only root", case_link_read_only},
	{"modes", case_chmod},
	{"modes of what is not there", case_chmod_not_there},
	{"modes of hard links", case_chmod_hard_link},
	{"modes on a file system that knows none", case_chmod_not_supported},
	{"modes that are not ours to set", case_chmod_refused},
	{"the driver's params", case_params},
	{"the driver's params where there are none", case_params_not_there},
	{"an application profile", case_profile},
	{"an application profile never fails", case_profile_never_fails},
	{"CUDA libraries of the image", case_compat},
	{"CUDA libraries where there are none", case_compat_not_there},
};

static bool run_case(size_t i)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		struct fixture fixture;
		char *host = list_tree(at("host")), *before, *dev_before;

		enter(&fixture);
		before = list_tree(at("root"));
		dev_before = list_tree(at("root/dev"));
		cases[i].run(&fixture);
		expect_undone(&fixture, before, dev_before);
		check(strcmp(host, list_tree(at("host"))) == 0, "the host changed: %s", listing);
		fflush(stdout);
		_exit(checks_failed ? 1 : 0);
	}
	must(waitpid(pid, &status, 0), "wait");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int main(void)
{
	bool failed = false;

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	must(mkdtemp(top) ? 0 : -1, top);
	umask(022);
	set_up_trees();
	printf("1..%zu\n", sizeof(cases) / sizeof(cases[0]));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ok = run_case(i);
		printf("%s %zu - %s\n", ok ? "ok" : "not ok", i + 1, cases[i].name);
		failed = failed || !ok;
	}
	nftw(top, remove_entry, 16, FTW_PHYS | FTW_DEPTH);
	return failed;
}
