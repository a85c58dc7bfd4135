/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory on the way is exchanged for links, again and again, while mounts are attached, and
 * nodes, links and files are made below it. Wherever a path led, it led to a place inside the root. A round takes
 * longer than an exchange, so that they fall between any two of its steps.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "apply.h"
#include "bounds.h"
#include "builtin.h"
#include "cleanup.h"
#include "host-node.h"
#include "label.h"
#include "rootfs-file.h"

#define ROUNDS 20000
/* So many must have found the directory, and as many a link: a busy machine needs more rounds. */
#define ROUNDS_OF_A_KIND 500
/* A slow machine has less of them. */
#define MAX_SECONDS 10

/* "host" in it is what must stay as it is, "root" the container's. */
static char top[] = "/run/oci-cdi-hook-race-XXXXXX";
static char root[64], host[64], host_made[128];
/* Nobody else has such a name in "/", where a link leads that is followed outside of the root. */
#define NAME "oci-cdi-hook-race"
#define PATH "/opt/dir/" NAME "/leaf"

static void must(int r, const char *what)
{
	if (r < 0) {
		printf("Bail out! %s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(1);
	}
}

static void set_up_trees(void)
{
	must(mkdtemp(top) ? 0 : -1, "mkdtemp");
	/* /run is mounted nodev on a real host. */
	must(mount("tmpfs", top, "tmpfs", 0, "mode=755"), "tmpfs");
	snprintf(root, sizeof(root), "%s/root", top);
	snprintf(host, sizeof(host), "%s/host", top);
	snprintf(host_made, sizeof(host_made), "%s/" NAME, host);
	must(mkdir(host, 0755), "mkdir");
	must(mkdir(root, 0755), "mkdir");
	must(mount(root, root, NULL, MS_BIND, NULL), "bind the root");
	must(chdir(root), "chdir");
	must(mkdir("opt", 0755), "mkdir");
	must(mkdir("opt/dir", 0755), "mkdir");
	must(symlink("/", "opt/1"), "link");
	must(symlink("../../../../../..", "opt/2"), "link");
	must(symlink(host, "opt/3"), "link");
}

/* Exchanges until it is killed. */
static pid_t start_exchanging(void)
{
	static const char *const links[] = {"opt/1", "opt/2", "opt/3"};
	pid_t parent = getpid(), pid = fork();

	must(pid, "fork");
	if (pid > 0)
		return pid;
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
	for (size_t i = 0; getppid() == parent; i = (i + 1) % 3) {
		must(renameat2(AT_FDCWD, "opt/dir", AT_FDCWD, links[i], RENAME_EXCHANGE),
		     "exchange");
		must(renameat2(AT_FDCWD, "opt/dir", AT_FDCWD, links[i], RENAME_EXCHANGE),
		     "exchange back");
	}
	_exit(0);
}

/* Where the file or mount is that a descriptor stands for. */
static bool is_below_root(int fd)
{
	char link[64], path[PATH_MAX] = "";
	const size_t len = strlen(root);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	must((int)readlink(link, path, sizeof(path) - 1), link);
	return strncmp(path, root, len) == 0 && path[len] == '/';
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/*
 * Labels, where SELinux is on (tests/vm): all that is made has ours, and nothing else has got it. Debian's policy knows
 * this one, "object_r" and type; elsewhere it is NULL.
 */
static const char *label;

static const char *label_of(const char *path)
{
	static char value[LIMIT_LABEL + 1];
	ssize_t n = lgetxattr(path, "security.selinux", value, sizeof(value) - 1);

	value[n > 0 ? n : 0] = '\0';
	return value;
}

struct count {
	unsigned rounds, at_dir, elsewhere, refused, escaped;
	unsigned labelled, mislabelled;
};

/* Wherever they are by now: whether what was made is there, and what it is called. */
static void note_labels(struct count *count)
{
	static const char *const made[] = {NAME, NAME "/leaf", "opt/dir/" NAME,
					   "opt/dir/" NAME "/leaf"};
	static const char *const kept[] = {"opt", "opt/dir", "opt/1", "opt/2", "opt/3", ".", host};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		const char *found = label_of(made[i]);
		count->labelled += strcmp(found, label) == 0;
		count->mislabelled += found[0] && strcmp(found, label) != 0;
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		count->mislabelled += strcmp(label_of(kept[i]), label) == 0;
}

/* What one round has brought about, before it is undone. */
static void note_result(struct count *count, int r, int mount_fd)
{
	count->rounds++;
	if (r < 0)
		count->refused++;
	else if (is_there(NAME))
		count->elsewhere++;
	else
		count->at_dir++;
	if (is_there("/" NAME) || is_there(host_made) ||
	    (r == 0 && mount_fd >= 0 && !is_below_root(mount_fd)))
		count->escaped++;
	if (label)
		note_labels(count);
}

static int attach_mount(struct rootfs *rootfs, struct count *count, struct error *err)
{
	const struct plan_mount mount = {
		.kind = PLAN_MOUNT_TMPFS,
		.source = "tmpfs",
		.destination = PATH,
		.options = {.propagation = MS_PRIVATE},
	};
	const struct container container = CONTAINER_NULL;
	struct notes notes = {.arena = rootfs->arena};
	_cleanup_fd_ int tree_fd = apply_mount_clone(&container, &mount, NULL, label, err);

	must(tree_fd, "make a tmpfs");
	int r = apply_mount_attach(rootfs, &mount, tree_fd, &notes, err);
	note_result(count, r, tree_fd);
	/* The descriptor must be open until then. */
	undo_to(rootfs->undo, 0, err);
	return r;
}

static int make_node(struct rootfs *rootfs, struct count *count, struct error *err)
{
	const struct plan_node node = {
		.path = PATH, .type = S_IFCHR, .major = 1, .minor = 5, .mode = 0666};
	struct notes notes = {.arena = rootfs->arena};
	int r = apply_device(rootfs, &node, -1, &notes, err);

	note_result(count, r, -1);
	undo_to(rootfs->undo, 0, err);
	return r;
}

static int make_link(struct rootfs *rootfs, struct count *count, struct error *err)
{
	const struct vendor_hook_link link = {.target = "target", .path = PATH};
	struct notes notes = {.arena = rootfs->arena};
	int r = builtin_link(rootfs, &link, &notes, err);

	note_result(count, r, -1);
	undo_to(rootfs->undo, 0, err);
	return r;
}

/* As a library cache or a file for ld.so.conf.d is written. */
static int write_file(struct rootfs *rootfs, struct count *count, struct error *err)
{
	const char *leaf;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(rootfs, PATH, false, &leaf, err);
	int r = dir_fd < 0 ? dir_fd
			   : rootfs_replace(rootfs, dir_fd, leaf, PATH, "text", 4, 0644, err);

	note_result(count, r, -1);
	undo_to(rootfs->undo, 0, err);
	return r;
}

static void one_round(int (*act)(struct rootfs *rootfs, struct count *count, struct error *err),
		      struct count *count)
{
	const struct mountinfo host_mounts = {0};
	_cleanup_fd_ int root_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct arena arena;
	struct undo undo = {.arena = &arena};
	struct rootfs rootfs = {
		.arena = &arena,
		.fd = root_fd,
		.proc_fd = proc_fd,
		.host_mounts = &host_mounts,
		.undo = &undo,
	};
	struct error err = {0};
	char text[ERROR_TEXT_MAX];

	arena_init(&arena, LIMIT_MEMORY);
	must(rootfs_init(&rootfs, &err), "look at the root");
	if (label)
		must(label_new_files(proc_fd, label, &err), err.text);
	if (act(&rootfs, count, &err) < 0 && strstr(error_text(&err, text), "undo:"))
		printf("# %s\n", text);
	must(chdir(root), "chdir");
	arena_done(&arena);
}

static bool is_race(const struct count *count, unsigned n)
{
	return count->at_dir >= n && count->elsewhere + count->refused >= n;
}

static bool run(int (*act)(struct rootfs *rootfs, struct count *count, struct error *err))
{
	struct count count = {0};
	struct timespec began, now;
	pid_t pid = start_exchanging();
	int status;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		one_round(act, &count);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((count.rounds < ROUNDS || !is_race(&count, ROUNDS_OF_A_KIND)) &&
		 now.tv_sec - began.tv_sec < MAX_SECONDS);
	kill(pid, SIGKILL);
	must(waitpid(pid, &status, 0), "wait");

	printf("# %u rounds: %u at the directory, %u elsewhere in the root, %u refused, %u "
	       "escaped\n",
	       count.rounds, count.at_dir, count.elsewhere, count.refused, count.escaped);
	if (label)
		printf("# %u times the label, %u times a wrong one\n", count.labelled,
		       count.mislabelled);
	if (!is_race(&count, 1))
		printf("# nothing was exchanged meanwhile: this was no race\n");
	return count.escaped == 0 && is_race(&count, 1) && WIFSIGNALED(status) &&
	       count.mislabelled == 0 && (!label || count.labelled > 0);
}

int main(void)
{
	static const struct {
		const char *name;
		int (*act)(struct rootfs *rootfs, struct count *count, struct error *err);
	} cases[] = {
		{"mounts stay inside the root", attach_mount},
		{"nodes stay inside the root", make_node},
		{"links stay inside the root", make_link},
		{"files stay inside the root", write_file},
	};
	unsigned failed = 0;

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	/* Nothing that is mounted here may reach the machine. */
	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
	umask(022);
	set_up_trees();
	if (label_is_used())
		label = "system_u:object_r:svirt_image_t:s0:c1,c2";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ok = run(cases[i].act);
		printf("%s %zu - %s\n", ok ? "ok" : "not ok", i + 1, cases[i].name);
		fflush(stdout);
		failed += !ok;
	}
	printf("1..%zu\n", sizeof(cases) / sizeof(cases[0]));
	must(chdir("/"), "chdir");
	must(umount2(top, MNT_DETACH), "umount");
	must(rmdir(top), "rmdir");
	return failed ? 1 : 0;
}
