/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_plan() on a root file system of our own making, in a mount namespace as a runtime leaves it
 * when hooks run: the root is bound onto itself, /dev is a tmpfs, nothing is pivoted. Each case
 * runs in a process of its own, since entering a namespace is for good. Device cgroups have their
 * own test.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply.h"
#include "bounds.h"
#include "checks.h"
#include "cleanup.h"
#include "container.h"
#include "label.h"
#include "mount-option.h"
#include "rootfs.h"

/* Everything is made below this directory, which is removed at the end; "host" holds sources,
 * "root" is the container's. */
static char top[] = "/run/oci-cdi-hook-root-XXXXXX";
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
	must((int)write(fd, text, strlen(text)), path);
}

static void make_dir(const char *path)
{
	must(mkdir(path, 0755), path);
}

static bool mount_begins_at(const char *path)
{
	struct statx stx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static bool file_has(const char *path, const char *text)
{
	char data[256] = "";
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, data, sizeof(data) - 1) >= 0 && strcmp(data, text) == 0;
}

/*
 * Between the code and the kernel
 */

/* What somebody else does as soon as a node has been made. */
static void (*after_mknod)(int dir_fd, const char *leaf);

int __wrap_mknodat(int dir_fd, const char *leaf, mode_t mode, dev_t device);
int __real_mknodat(int dir_fd, const char *leaf, mode_t mode, dev_t device);

int __wrap_mknodat(int dir_fd, const char *leaf, mode_t mode, dev_t device)
{
	int r = __real_mknodat(dir_fd, leaf, mode, device);

	if (r == 0 && after_mknod)
		after_mknod(dir_fd, leaf);
	return r;
}

/* A last component that cannot be opened, once something has been made there. */
static const char *unopened;

static bool fails_to_open(int dir_fd, const char *path)
{
	struct stat st;

	return unopened && strcmp(path, unopened) == 0 &&
	       fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int __wrap_walk_open(int dir_fd, const char *path, uint64_t flags, uint64_t resolve);
int __real_walk_open(int dir_fd, const char *path, uint64_t flags, uint64_t resolve);

int __wrap_walk_open(int dir_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	if (!fails_to_open(dir_fd, path))
		return __real_walk_open(dir_fd, path, flags, resolve);
	errno = EMFILE;
	return -1;
}

int __wrap_openat(int dir_fd, const char *path, int flags, mode_t mode);
int __real_openat(int dir_fd, const char *path, int flags, mode_t mode);

int __wrap_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
	if (!fails_to_open(dir_fd, path))
		return __real_openat(dir_fd, path, flags, mode);
	errno = EMFILE;
	return -1;
}

/* Its name where files may be large. */
int __wrap_openat64(int dir_fd, const char *path, int flags, mode_t mode);
int __wrap_openat64(int dir_fd, const char *path, int flags, mode_t mode)
{
	return __wrap_openat(dir_fd, path, flags | O_LARGEFILE, mode);
}

/* Whether SELinux is on. Its labels themselves are in tests/vm/selinux.bats: no kernel without it has them. */
static bool selinux_is_on;

bool __wrap_label_is_used(void);
bool __wrap_label_is_used(void)
{
	return selinux_is_on;
}

/*
 * The container: a process that waits in a mount namespace of its own
 */

struct fixture {
	const char *jail; /* the runtime and its hook are chrooted to this, or NULL */
	pid_t pid;
	struct arena arena;
	struct plan plan;
	struct notes notes;
};

static void set_up_trees(void)
{
	make_dir(at("host"));
	make_dir(at("host/dir"));
	make_file(at("host/dir/inside"), "in the directory");
	make_file(at("host/lib.so"), "library");
	make_file(at("host/secret"), "secret");
	make_dir(at("root"));
	make_dir(at("root/dev"));
	make_dir(at("root/etc"));
	make_dir(at("root/usr"));
	make_dir(at("root/usr/lib"));
	make_dir(at("root/proc"));
	make_dir(at("root/sys"));
	make_dir(at("root/vol"));
	must(symlink("usr/lib", at("root/lib")), "lib");
}

static void wait_for_ever(int ready_fd)
{
	must((int)write(ready_fd, "r", 1), "ready");
	for (;;)
		pause();
}

static void wait_in_namespace(int ready_fd)
{
	const char *root = at("root");

	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
	must(mount(root, root, NULL, MS_BIND, NULL), "bind the root");
	must(mount("tmpfs", at("root/dev"), "tmpfs", MS_NOSUID, "mode=755"), "/dev");
	must(mount("proc", at("root/proc"), "proc", 0, NULL), "/proc");
	must(mount("sysfs", at("root/sys"), "sysfs", MS_RDONLY, NULL), "/sys");
	must(mount(at("host/dir"), at("root/vol"), NULL, MS_BIND, NULL), "/vol");
	wait_for_ever(ready_fd);
}

static void start_container(struct fixture *fixture, void (*live)(int ready_fd))
{
	int fds[2];
	char byte;

	must(pipe2(fds, O_CLOEXEC), "pipe");
	fixture->pid = fork();
	must(fixture->pid, "fork");
	if (fixture->pid == 0)
		live(fds[1]);
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		must(-1, "the container did not start");
	close(fds[0]);
}

static void end_container(struct fixture *fixture)
{
	kill(fixture->pid, SIGKILL);
	waitpid(fixture->pid, NULL, 0);
}

/* A path of the container, seen from here through its process. */
static const char *inside(const struct fixture *fixture, const char *path)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *result = paths[next++ % 4];

	snprintf(result, PATH_MAX, "/proc/%d/root%s/root%s", fixture->pid, top, path);
	return result;
}

static const struct origin origin = {.device = "example.com/d=1",
				     .kind = "example.com/d",
				     .file = "/etc/cdi/d.yaml",
				     .place = {3, 5}};

static void add_mount(struct fixture *fixture, const char *source, const char *destination,
		      const char *option)
{
	struct plan_mount *mount = array_add(&fixture->arena, &fixture->plan.mounts);
	const struct string_list words = {.items = &option, .n = option ? 1 : 0};
	struct error err = {0};

	*mount = (struct plan_mount){
		.kind = strcmp(source, "tmpfs") == 0 ? PLAN_MOUNT_TMPFS : PLAN_MOUNT_BIND,
		.source = arena_strdup(&fixture->arena, source),
		.destination = destination,
		.origin = origin,
	};
	if (mount->kind == PLAN_MOUNT_BIND) {
		_cleanup_fd_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		must(host_node_look_up(&root_fd, source, &mount->source_node), source);
	}
	must(mount_options_parse(&fixture->arena, &words, mount->kind == PLAN_MOUNT_TMPFS,
				 &mount->options, &err),
	     "options");
}

static void add_node(struct fixture *fixture, const char *path, unsigned minor)
{
	struct plan_node *node = array_add(&fixture->arena, &fixture->plan.nodes);

	*node = (struct plan_node){
		.path = path,
		.type = S_IFCHR,
		.major = 1,
		.minor = minor,
		.mode = 0640,
		.uid = 7,
		.gid = 8,
		.origin = origin,
	};
}

/* What the process that applied the plan tells: its result and its sentence. */
struct outcome {
	int result;
	enum exit_code exit_code;
	char text[ERROR_TEXT_MAX];
	char warning[512]; /* the first of its notes, if that is one */
};

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void apply_in_child(struct fixture *fixture, int result_fd)
{
	_cleanup_container_ struct container container = CONTAINER_NULL;
	const struct oci_config config = {.root_path = fixture->jail ? "/image" : at("root")};
	const struct apply_options options = {.cgroup = false};
	struct error err = {0};
	struct outcome outcome = {0};

	umask(0);
	if (fixture->jail)
		must(chroot(fixture->jail) < 0 ? -1 : chdir("/"), "chroot");
	outcome.result =
		container_open(&fixture->arena, &container, fixture->pid, "/", &config, &err);
	if (outcome.result == 0)
		outcome.result = apply_plan(&fixture->arena, &fixture->plan, &container, &options,
					    &fixture->notes, &err);
	outcome.exit_code = err.exit_code;
	error_text(&err, outcome.text);
	if (fixture->notes.list.n > 0 && fixture->notes.list.items[0].level == NOTE_WARNING)
		snprintf(outcome.warning, sizeof(outcome.warning), "%s",
			 fixture->notes.list.items[0].text);
	must((int)write(result_fd, &outcome, sizeof(outcome)), "result");
}

/* In a process of its own, which stays in the container's namespace until it ends. */
static struct outcome apply(struct fixture *fixture)
{
	struct outcome outcome = {.result = -EPIPE,
				  .text = "the process that applied the plan died"};
	int fds[2], status;
	pid_t pid;

	fflush(stdout);
	must(pipe2(fds, O_CLOEXEC), "pipe");
	pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		apply_in_child(fixture, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	if (read(fds[0], &outcome, sizeof(outcome)) != (ssize_t)sizeof(outcome))
		outcome.result = -EPIPE;
	close(fds[0]);
	must(waitpid(pid, &status, 0), "wait");
	return outcome;
}

static void expect_success(struct fixture *fixture)
{
	struct outcome outcome = apply(fixture);

	check(outcome.result == 0, "apply failed: %s", outcome.text);
}

/* The sentence must contain `words`, and nothing of what was done may be left. */
static char *tree_listing(const struct fixture *fixture);

static void expect_failure(struct fixture *fixture, enum exit_code exit_code, const char *words)
{
	char *before = tree_listing(fixture);
	struct outcome outcome = apply(fixture);
	char *after = tree_listing(fixture);

	check(outcome.result < 0, "apply succeeded, but \"%s\" was expected", words);
	check(outcome.exit_code == exit_code, "exit code %d, not %d: %s", outcome.exit_code,
	      exit_code, outcome.text);
	check(strstr(outcome.text, words) != NULL, "sentence \"%s\" lacks \"%s\"", outcome.text,
	      words);
	check(strstr(outcome.text, "undo:") == NULL, "undo failed: %s", outcome.text);
	check(strcmp(before, after) == 0, "left behind. Before:\n%s\nafter:\n%s", before, after);
	free(before);
	free(after);
}

/* Every name, type, owner and mode below the root and the host's tree, and the container's mount
 * table. */
static FILE *listing;

static int list_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	fprintf(listing, "%s %o %u:%u %lx %ld\n", path, st->st_mode, st->st_uid, st->st_gid,
		(unsigned long)st->st_rdev, S_ISREG(st->st_mode) ? (long)st->st_size : 0L);
	return 0;
}

static char *tree_listing(const struct fixture *fixture)
{
	static const char *const parts[] = {"/dev", "/etc", "/usr", "/lib", "/vol"};
	char *text = NULL, path[64], line[4096];
	size_t size;

	listing = open_memstream(&text, &size);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		nftw(inside(fixture, parts[i]), list_entry, 16, FTW_PHYS);
	nftw(at("host"), list_entry, 16, FTW_PHYS);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", fixture->pid);
	FILE *mounts = fopen(path, "re");
	while (mounts && fgets(line, sizeof(line), mounts))
		fputs(line, listing);
	if (mounts)
		fclose(mounts);
	fclose(listing);
	return text;
}

/*
 * Cases
 */

static void case_mounts_and_nodes(struct fixture *fixture)
{
	struct statvfs statvfs_buffer;
	struct stat st;

	add_mount(fixture, at("host/lib.so"), "/usr/lib/new/lib.so", "ro");
	add_mount(fixture, at("host/dir"), "/opt/vendor/dir", "nosuid");
	add_mount(fixture, "tmpfs", "/opt/scratch", "size=64k");
	add_node(fixture, "/dev/sub/dir/zero", 5);
	add_node(fixture, "/opt/scratch/full", 7);
	expect_success(fixture);

	check(file_has(inside(fixture, "/usr/lib/new/lib.so"), "library"),
	      "the library is not there");
	check(statvfs(inside(fixture, "/usr/lib/new/lib.so"), &statvfs_buffer) == 0 &&
		      (statvfs_buffer.f_flag & ST_RDONLY),
	      "the library is not read-only");
	check(file_has(inside(fixture, "/opt/vendor/dir/inside"), "in the directory"),
	      "the directory is not there");
	check(stat(inside(fixture, "/dev/sub/dir/zero"), &st) == 0 && S_ISCHR(st.st_mode) &&
		      st.st_rdev == makedev(1, 5) && (st.st_mode & 07777) == 0640 &&
		      st.st_uid == 7 && st.st_gid == 8,
	      "the node is not what the plan says");
	check(stat(inside(fixture, "/opt/scratch/full"), &st) == 0 && st.st_rdev == makedev(1, 7),
	      "the node on the tmpfs is not there");
	check(stat(inside(fixture, "/dev/sub/dir"), &st) == 0 && (st.st_mode & 07777) == 0755,
	      "parents are not 0755");
	check(stat(at("root/dev/sub"), &st) < 0, "something was made outside the container");

	/* A second run finds everything there. */
	char *before = tree_listing(fixture);
	fixture->plan.mounts.n = 2; /* a tmpfs is made anew each time */
	expect_success(fixture);
	char *after = tree_listing(fixture);
	check(strcmp(before, after) == 0, "a second run changed something");
	free(before);
	free(after);
}

/* A flag that takes something away must be there, or the mount that is there is not the one that is asked for. */
static void case_no_links_followed(struct fixture *fixture)
{
	struct statvfs shown;

	add_mount(fixture, at("host/dir"), "/opt/dir", "nosuid");
	expect_success(fixture);
	fixture->plan.mounts.n = 0;
	add_mount(fixture, at("host/dir"), "/opt/dir", "nosymfollow");
	expect_success(fixture);
	check(statvfs(inside(fixture, "/opt/dir"), &shown) == 0 && (shown.f_flag & 8192),
	      "links are followed on it: flags %lx", shown.f_flag);
	char *before = tree_listing(fixture);
	expect_success(fixture);
	char *after = tree_listing(fixture);
	check(strcmp(before, after) == 0, "mounted once more");
	free(before);
	free(after);
}

/* Below /proc a driver's directory is covered like this, and what the container may see is mounted into it. */
static void case_mounts_in_a_read_only_tmpfs(struct fixture *fixture)
{
	struct statvfs shown;

	add_mount(fixture, "tmpfs", "/proc/driver", "ro");
	*array_add(&fixture->arena, &fixture->plan.mounts.items[0].options.parameters) =
		(struct mount_parameter){.key = "mode", .value = "0555"};
	add_mount(fixture, at("host/dir"), "/proc/driver/a/b/dir", NULL);
	add_mount(fixture, at("host/lib.so"), "/proc/driver/a/lib.so", "ro");
	add_mount(fixture, at("host/secret"), "/proc/driver/a/b/secret", "ro");
	expect_success(fixture);
	check(file_has(inside(fixture, "/proc/driver/a/b/dir/inside"), "in the directory"), "dir");
	check(file_has(inside(fixture, "/proc/driver/a/b/secret"), "secret"), "secret");
	check(file_has(inside(fixture, "/proc/driver/a/lib.so"), "library"), "lib.so");
	check(statvfs(inside(fixture, "/proc/driver"), &shown) == 0 && (shown.f_flag & ST_RDONLY),
	      "the tmpfs is not read-only");
	/* Nothing more can be made in it, as before. */
	fixture->plan.mounts.n = 0;
	add_mount(fixture, "tmpfs", "/opt/ro", "ro");
	add_node(fixture, "/opt/ro/zero", 5);
	expect_failure(fixture, EXIT_CODE_APPLY, "Read-only file system");
}

static void case_destination_through_a_link(struct fixture *fixture)
{
	add_mount(fixture, at("host/lib.so"), "/lib/lib.so", "ro");
	expect_success(fixture);
	check(file_has(inside(fixture, "/usr/lib/lib.so"), "library"),
	      "the link was not followed inside the root");
}

/* Absolute links and ".." lead to the container's own root, never to the host's. */
static void case_links_stay_inside(struct fixture *fixture)
{
	must(symlink(at("host"), inside(fixture, "/etc/out")), "out");
	must(symlink("../../../../../../usr", inside(fixture, "/etc/up")), "up");
	add_mount(fixture, at("host/lib.so"), "/etc/up/lib/up.so", NULL);
	expect_success(fixture);
	check(file_has(inside(fixture, "/usr/lib/up.so"), "library"),
	      "the library is not in the container's /usr/lib");

	fixture->plan.mounts.n = 0;
	add_mount(fixture, at("host/lib.so"), "/etc/out/secret", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY,
		       "/etc/out in the container is a symbolic link that leads nowhere");
	check(file_has(at("host/secret"), "secret"), "the host's file is covered");
}

static void case_dev_is_a_link(struct fixture *fixture)
{
	must(symlink("../usr", inside(fixture, "/dev/evil")), "evil");
	add_node(fixture, "/dev/evil/node", 5);
	expect_failure(fixture, EXIT_CODE_APPLY, "the image has a symbolic link there");
}

static void case_node_name_is_taken(struct fixture *fixture)
{
	make_file(inside(fixture, "/dev/file"), "x");
	add_node(fixture, "/dev/before", 5);
	add_node(fixture, "/dev/file", 5);
	expect_failure(fixture, EXIT_CODE_APPLY,
		       "device node /dev/file: a regular file is there already");

	fixture->plan.nodes.n = 0;
	must(symlink(at("host/secret"), inside(fixture, "/dev/link")), "link");
	add_node(fixture, "/dev/link", 5);
	expect_failure(fixture, EXIT_CODE_APPLY,
		       "device node /dev/link: a symbolic link is there already");

	fixture->plan.nodes.n = 0;
	must(mknod(inside(fixture, "/dev/other"), S_IFCHR | 0600, makedev(1, 3)), "mknod");
	add_node(fixture, "/dev/other", 5);
	expect_failure(fixture, EXIT_CODE_APPLY,
		       "device node /dev/other: another device node is there already");
}

static void case_existing_node_is_left_as_it_is(struct fixture *fixture)
{
	struct stat st;

	must(mknod(inside(fixture, "/dev/zero"), S_IFCHR | 0600, makedev(1, 5)), "mknod");
	add_node(fixture, "/dev/zero", 5);
	expect_success(fixture);
	check(stat(inside(fixture, "/dev/zero"), &st) == 0 && (st.st_mode & 07777) == 0600 &&
		      st.st_uid == 0,
	      "the node that was there was changed");
}

static void case_types_must_match(struct fixture *fixture)
{
	make_file(inside(fixture, "/etc/file"), "x");
	add_mount(fixture, at("host/lib.so"), "/usr/lib/first.so", NULL);
	add_mount(fixture, at("host/dir"), "/etc/file", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY,
		       "the source is a directory, but something else is there");

	fixture->plan.mounts.n = 0;
	add_mount(fixture, at("host/lib.so"), "/usr/lib", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY,
		       "the source is not a directory, but a directory is there");

	fixture->plan.mounts.n = 0;
	add_mount(fixture, at("host/lib.so"), "/etc/file/below/x", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY, "Not a directory");
}

static void case_kernel_file_systems(struct fixture *fixture)
{
	must(symlink("/sys/kernel", inside(fixture, "/etc/kernel")), "kernel");
	must(symlink("/proc/sys/kernel", inside(fixture, "/etc/sysctl")), "sysctl");
	must(symlink("/proc/1/root/etc", inside(fixture, "/etc/magic")), "magic");
	add_mount(fixture, at("host/dir"), "/etc/kernel", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY, "it leads into the kernel's sysfs or cgroups");

	fixture->plan.mounts.n = 0;
	add_mount(fixture, at("host/lib.so"), "/etc/sysctl/core_pattern", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY, "it leads into procfs");

	fixture->plan.mounts.n = 0;
	add_mount(fixture, at("host/lib.so"), "/etc/magic/passwd", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY, "/etc/magic/passwd");
}

/* In a directory of the host nothing is created; what is there may be covered. */
static void case_host_directory(struct fixture *fixture)
{
	add_mount(fixture, at("host/lib.so"), "/vol/new", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY, "which is a directory of the host");

	fixture->plan.mounts.n = 0;
	add_node(fixture, "/vol/node", 5);
	expect_failure(fixture, EXIT_CODE_APPLY, "which is a directory of the host");

	fixture->plan.nodes.n = 0;
	add_mount(fixture, at("host/lib.so"), "/vol/inside", NULL);
	expect_success(fixture);
	check(file_has(inside(fixture, "/vol/inside"), "library"),
	      "the file in the volume is not covered");
	check(file_has(at("host/dir/inside"), "in the directory"),
	      "the host's file is covered too");
}

static void case_last_step_fails(struct fixture *fixture)
{
	make_file(inside(fixture, "/etc/file"), "x");
	add_mount(fixture, at("host/lib.so"), "/a/b/lib.so", "ro");
	add_mount(fixture, at("host/dir"), "/a/c", NULL);
	add_mount(fixture, "tmpfs", "/a/t", NULL);
	add_mount(fixture, at("host/lib.so"), "/a/t/x/lib.so", NULL);
	add_node(fixture, "/dev/deep/er/node", 5);
	add_node(fixture, "/etc/file/node", 5);
	expect_failure(
		fixture, EXIT_CODE_APPLY,
		"device example.com/d=1 (/etc/cdi/d.yaml:3:5): device node /etc/file/node: open");
	struct stat st;
	check(stat(inside(fixture, "/a"), &st) < 0, "/a is left");
}

static void case_socket(struct fixture *fixture)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", at("host/socket"));
	must(bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
	add_mount(fixture, at("host/socket"), "/etc/vendor/socket", "ro");
	expect_success(fixture);
	check(stat(inside(fixture, "/etc/vendor/socket"), &st) == 0 && S_ISSOCK(st.st_mode),
	      "no socket is there");
}

/* A mount there would appear in every namespace of the peer group, and stay when the container is
 * gone. */
/* A label that cannot be set stops no container; where SELinux is off nobody asks for one. */
static void case_label(struct fixture *fixture)
{
	fixture->plan.label = "no_user:no_role:no_type";
	add_mount(fixture, at("host/lib.so"), "/opt/lib.so", "ro");
	add_node(fixture, "/dev/zero", 5);
	struct outcome outcome = apply(fixture);
	check(outcome.result == 0 && !outcome.warning[0], "SELinux is off, but: %s",
	      outcome.warning);

	add_node(fixture, "/dev/full", 7);
	selinux_is_on = true;
	outcome = apply(fixture);
	check(outcome.result == 0, "apply failed: %s", outcome.text);
	check(strstr(outcome.warning, "SELinux (linux.mountLabel): ") == outcome.warning &&
		      strstr(outcome.warning, "attr/fscreate") != NULL,
	      "the warning is \"%s\"", outcome.warning);
	check(access(inside(fixture, "/dev/full"), F_OK) == 0, "the node is not there");

	add_mount(fixture, "tmpfs", "/opt/scratch", NULL);
	outcome = apply(fixture);
	check(outcome.result == 0, "apply failed: %s", outcome.text);
	check(strstr(outcome.warning,
		     "SELinux (linux.mountLabel): mount on /opt/scratch: label a "
		     "tmpfs no_user:no_role:no_type: Invalid argument") == outcome.warning,
	      "the warning is \"%s\"", outcome.warning);
	struct statfs scratch;
	check(statfs(inside(fixture, "/opt/scratch"), &scratch) == 0 &&
		      scratch.f_type == TMPFS_MAGIC,
	      "no tmpfs is there");
	selinux_is_on = false;
}

/* What the kernel gets, and how it is told that there is no label any more. */
static void case_label_is_written(struct fixture *fixture)
{
	struct error err = {0};
	char text[64] = "";

	(void)fixture;
	make_dir(at("host/self"));
	make_dir(at("host/self/attr"));
	must(mkfifo(at("host/self/attr/fscreate"), 0600), "mkfifo");
	_cleanup_fd_ int proc_fd = open(at("host"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd =
		open(at("host/self/attr/fscreate"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	must(fd, "open the FIFO");
	check(label_new_files(proc_fd, "u:r:t:s0:c1,c2", &err) == 0, "%s", err.text);
	check(read(fd, text, sizeof(text)) == 14 && strcmp(text, "u:r:t:s0:c1,c2") == 0,
	      "written: \"%s\"", text);
	check(label_new_files(proc_fd, NULL, &err) == 0, "%s", err.text);
	check(read(fd, text, sizeof(text)) == 0, "something was written");
}

static void case_shared_destination(struct fixture *fixture)
{
	char path[64];
	_cleanup_fd_ int ours = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int theirs = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", fixture->pid);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	must(setns(theirs, CLONE_NEWNS), "setns");
	must(mount("", at("root"), NULL, MS_SHARED, NULL), "shared");
	must(setns(ours, CLONE_NEWNS), "setns back");
	add_mount(fixture, at("host/lib.so"), "/usr/lib/shared.so", NULL);
	expect_failure(fixture, EXIT_CODE_APPLY, "is shared with other namespaces");
}

static void case_no_namespace_of_its_own(struct fixture *fixture)
{
	pid_t container = fixture->pid;
	struct outcome outcome;

	fixture->pid = getpid();
	add_node(fixture, "/dev/x", 5);
	outcome = apply(fixture);
	check(outcome.result < 0 && strstr(outcome.text, "has no mount namespace of its own"),
	      "sentence: %s", outcome.text);
	check(faccessat(AT_FDCWD, "/dev/x", F_OK, 0) < 0, "the node was made on the host");
	fixture->pid = container;
}

static void case_descriptors(struct fixture *fixture)
{
	unsigned before = count_fds();

	add_mount(fixture, at("host/lib.so"), "/usr/lib/fd.so", "ro");
	expect_success(fixture);
	check(count_fds() == before, "file descriptors leaked");
}

/* Between plan and use: what is mounted must be what the plan judged. */
static void case_source_is_exchanged(struct fixture *fixture)
{
	const char *words = "lib.so changed while it was being looked at";

	add_mount(fixture, at("host/lib.so"), "/usr/lib/lib.so", "ro");
	struct host_node *planned = &fixture->plan.mounts.items[0].source_node;
	planned->dev++;
	expect_failure(fixture, EXIT_CODE_HOST, words);
	planned->dev--;
	must(chmod(at("host/lib.so"), 0664), "chmod");
	expect_failure(fixture, EXIT_CODE_HOST, words);
	must(chmod(at("host/lib.so"), 0644), "chmod");
	must(chown(at("host/lib.so"), 1000, 0), "chown");
	expect_failure(fixture, EXIT_CODE_HOST, words);
	must(chown(at("host/lib.so"), 0, 0), "chown");
	make_file(at("host/other"), "of somebody else");
	must(renameat2(AT_FDCWD, at("host/other"), AT_FDCWD, at("host/lib.so"), RENAME_EXCHANGE),
	     "exchange");
	expect_failure(fixture, EXIT_CODE_HOST, words);
	must(renameat2(AT_FDCWD, at("host/other"), AT_FDCWD, at("host/lib.so"), RENAME_EXCHANGE),
	     "exchange back");
	expect_success(fixture);
}

/* A node of the same device, which belongs to somebody else or has another name as well. */
static void put_a_hard_link(int dir_fd, const char *leaf)
{
	must(unlinkat(dir_fd, leaf, 0), "unlink");
	must(linkat(dir_fd, "theirs", dir_fd, leaf, 0), "link");
}

static void put_a_node_of_others(int dir_fd, const char *leaf)
{
	must(unlinkat(dir_fd, leaf, 0), "unlink");
	must(__real_mknodat(dir_fd, leaf, S_IFCHR | 0600, makedev(1, 5)), "mknod");
	must(fchownat(dir_fd, leaf, 1000, 1000, AT_SYMLINK_NOFOLLOW), "chown");
}

static void case_node_is_exchanged(struct fixture *fixture)
{
	const char *words = "/dev/ours: another device node took its place just now";

	must(mknod(inside(fixture, "/dev/theirs"), S_IFCHR | 0600, makedev(1, 5)), "mknod");
	add_node(fixture, "/dev/ours", 5);
	after_mknod = put_a_hard_link;
	expect_failure(fixture, EXIT_CODE_APPLY, words);
	after_mknod = put_a_node_of_others;
	expect_failure(fixture, EXIT_CODE_APPLY, words);
	after_mknod = NULL;
	expect_success(fixture);
}

static void wait_in_jail(int ready_fd)
{
	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
	must(mount(at("jail/image"), at("jail/image"), NULL, MS_BIND, NULL), "bind the root");
	must(chroot(at("jail")), "chroot");
	must(chdir("/"), "chdir");
	wait_for_ever(ready_fd);
}

/* The path of the container's root is the runtime's, from its own root on. */
static void case_runtime_in_a_chroot(struct fixture *fixture)
{
	struct stat st;
	char path[64];

	end_container(fixture);
	make_dir(at("jail"));
	make_dir(at("jail/image"));
	make_dir(at("jail/image/dev"));
	fixture->jail = at("jail");
	start_container(fixture, wait_in_jail);
	add_mount(fixture, "tmpfs", "/opt/scratch", NULL);
	add_node(fixture, "/dev/zero", 5);
	expect_success(fixture);

	check(stat(at("jail/image/dev/zero"), &st) == 0 && st.st_rdev == makedev(1, 5),
	      "the node is not in the container's root");
	snprintf(path, sizeof(path), "/proc/%d/root/image/opt/scratch", fixture->pid);
	check(mount_begins_at(path), "the tmpfs is not there");
}

/* What has been made and cannot be opened is not left behind. */
static void case_made_and_not_opened(struct fixture *fixture)
{
	static const char *const names[] = {"directory", "file.so", "node"};

	add_mount(fixture, at("host/lib.so"), "/opt/directory/file.so", NULL);
	add_node(fixture, "/opt/nodes/node", 5);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unopened = names[i];
		expect_failure(fixture, EXIT_CODE_APPLY, "Too many open files");
		check(access(inside(fixture, "/opt"), F_OK) < 0, "/opt is left, for %s", names[i]);
	}
	unopened = NULL;
	expect_success(fixture);
}

static void case_remove_only_the_same(struct fixture *fixture)
{
	_cleanup_fd_ int dir_fd = open(at("root/etc"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	(void)fixture;
	make_file(at("root/etc/made"), "ours");
	make_dir(at("root/etc/made.d"));
	_cleanup_fd_ int fd = open(at("root/etc/made"), O_PATH | O_CLOEXEC);
	_cleanup_fd_ int sub_fd = open(at("root/etc/made.d"), O_PATH | O_CLOEXEC);
	/* Without a descriptor, by its looks. */
	rootfs_remove(dir_fd, "made", -1, S_IFCHR);
	rootfs_remove(dir_fd, "made", -1, S_IFDIR);
	must(linkat(dir_fd, "made", dir_fd, "second", 0), "link");
	rootfs_remove(dir_fd, "made", -1, S_IFREG);
	check(stat(at("root/etc/made"), &st) == 0, "removed without a descriptor");
	rootfs_remove(dir_fd, "made", fd, S_IFREG);
	check(stat(at("root/etc/made"), &st) < 0, "our file is left");
	rootfs_remove(dir_fd, "second", -1, S_IFREG);
	check(stat(at("root/etc/second"), &st) < 0, "a new file is left");
	close_fd(&fd);
	make_file(at("root/etc/made"), "ours");
	fd = open(at("root/etc/made"), O_PATH | O_CLOEXEC);
	make_file(at("root/etc/other"), "of somebody else");
	must(renameat2(dir_fd, "other", dir_fd, "made", RENAME_EXCHANGE), "exchange");
	rootfs_remove(dir_fd, "made", fd, S_IFREG);
	check(file_has(at("root/etc/made"), "of somebody else"), "somebody else's file is removed");
	must(symlinkat("other", dir_fd, "link"), "link");
	rootfs_remove(dir_fd, "link", fd, S_IFREG);
	check(lstat(at("root/etc/link"), &st) == 0, "a link to it is removed");
	rootfs_remove(dir_fd, "other", fd, S_IFREG);
	check(stat(at("root/etc/other"), &st) < 0, "our file is left");
	rootfs_remove(dir_fd, "made.d", sub_fd, S_IFDIR);
	check(stat(at("root/etc/made.d"), &st) < 0, "our directory is left");
}

static const struct {
	const char *name;
	void (*run)(struct fixture *fixture);
} cases[] = {
	{"mounts and nodes, and a second run", case_mounts_and_nodes},
	{"the flag nosymfollow", case_no_links_followed},
	{"mounts in a read-only tmpfs", case_mounts_in_a_read_only_tmpfs},
	{"a destination through a link", case_destination_through_a_link},
	{"links stay inside the root", case_links_stay_inside},
	{"a node is never made through a link", case_dev_is_a_link},
	{"a node's name is taken", case_node_name_is_taken},
	{"an existing node is left as it is", case_existing_node_is_left_as_it_is},
	{"types of source and destination must match", case_types_must_match},
	{"sysfs and procfs are out of reach", case_kernel_file_systems},
	{"directories of the host", case_host_directory},
	{"the last step fails: nothing is left", case_last_step_fails},
	{"a socket", case_socket},
	{"a label that the kernel does not take", case_label},
	{"how a label is set and taken back", case_label_is_written},
	{"a shared destination is refused", case_shared_destination},
	{"a process of the host is refused", case_no_namespace_of_its_own},
	{"no descriptor is leaked", case_descriptors},
	{"a mount source that is exchanged after the plan", case_source_is_exchanged},
	{"a node that is exchanged when it has just been made", case_node_is_exchanged},
	{"a runtime in a chroot", case_runtime_in_a_chroot},
	{"what was made and cannot be opened is not left", case_made_and_not_opened},
	{"only what we made is removed", case_remove_only_the_same},
};

/* Each case has a fresh tree and a fresh container. */
static bool run_case(void (*run)(struct fixture *fixture))
{
	struct fixture fixture = {.notes = {.arena = &fixture.arena}};

	checks_failed = 0;
	snprintf(top, sizeof(top), "/run/oci-cdi-hook-root-XXXXXX");
	if (!mkdtemp(top))
		must(-1, "mkdtemp");
	/* /run is mounted nodev on a real host. */
	must(mount("tmpfs", top, "tmpfs", 0, "mode=755"), "tmpfs");
	arena_init(&fixture.arena, LIMIT_MEMORY);
	set_up_trees();
	after_mknod = NULL;
	start_container(&fixture, wait_in_namespace);
	run(&fixture);
	end_container(&fixture);
	arena_done(&fixture.arena);
	must(umount2(top, MNT_DETACH), "umount");
	must(rmdir(top), "rmdir");
	return checks_failed == 0;
}

int main(void)
{
	const size_t n = sizeof(cases) / sizeof(cases[0]);
	unsigned failed = 0;

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	/* Nothing that is mounted here may reach the machine. */
	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
	umask(022);
	for (size_t i = 0; i < n; i++) {
		bool ok = run_case(cases[i].run);
		printf("%s %zu - %s\n", ok ? "ok" : "not ok", i + 1, cases[i].name);
		fflush(stdout);
		failed += !ok;
	}
	printf("1..%zu\n", n);
	return failed ? 1 : 0;
}
