/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory on the way is exchanged for links, on another processor and again and again, while the hook's own functions attach
 * mounts, make nodes and links, set modes and replace the library cache below it; each with openat2 and, where a seccomp filter
 * hides that, with the walk. Wherever a path led, it led to a place inside the root. An act that resolves the joined path is
 * there too, and must not: so the exchanges are known to fall between the steps.
 *
 * With LONG=1 as many rounds as a release wants.
 */
#include <elf.h>
#include <seccomp.h>
#include <sys/xattr.h>

#include "apply.h"
#include "bounds.h"
#include "builtin.h"
#include "cleanup.h"
#include "elf-abi.h"
#include "host-node.h"
#include "label.h"
#include "ldcache.h"
#include "library-cache.h"
#include "race.h"
#include "rootfs-file.h"

#if defined(__SANITIZE_ADDRESS__)
#define SHARE 8 /* several times slower, and here for other things */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHARE 8
#endif
#endif
#ifndef SHARE
#define SHARE 1
#endif

#define ROUNDS_MOUNTS (12000U / SHARE)
#define ROUNDS_OTHERS (6000U / SHARE)
#define ROUNDS_MOUNTS_LONG 1000000U
#define ROUNDS_OTHERS_LONG 100000U
/* So many must have found the directory, and as many a link: a busy machine needs more rounds. */
#define ROUNDS_OF_A_KIND (300U / SHARE)
#define MAX_SECONDS 6.0
#define MAX_SECONDS_LONG 3600.0
/* Where the path is resolved as a string, so many escapes are enough, and one has to be. */
#define ESCAPES_WANTED 20U
#define ESCAPES_WANTED_LONG 5000U
/* An arena and a mount table serve so many rounds, and mounts are taken off all at once: the kernel takes long for that. */
#define BATCH RACE_SPOTS
/* A long run says now and then how far it is. */
#define ROUNDS_SHOWN 100000U

#define DIRECTORY "/opt/dir"
#define NEW "new"
#define LIBRARY "/opt/vendor/lib/librace.so.1"

#if defined(__x86_64__)
#define NATIVE EM_X86_64
#else
#define NATIVE EM_AARCH64
#endif

/* Sources are not judged by whose container it is. */
static const struct container nobody = CONTAINER_NULL;

struct count {
	unsigned rounds, at_dir, elsewhere, refused, escaped;
};

enum where { AT_DIR, ELSEWHERE, REFUSED };

/* Which round of the batch it is: mounts that stay for the rest of it have a spot each. */
static unsigned now_round;

/* A round's act; what it did is taken back through rootfs->undo, or by itself; or it is a mount in a spot of its own. */
typedef enum where (*act_fn)(struct rootfs *rootfs, struct error *err);

/*
 * Places that a path can lead to, opened while nothing was exchanged yet
 */

static int there_fds
	[5]; /* `there` of the directory, of the root in two places, and of the outside in two */
static int
	etc_fds[4]; /* the root's own etc, and where a link in its place leads by the joined path */

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(fd, path);
	return fd;
}

static void open_places(void)
{
	static const char *const there[] = {RACE_ROOT "/opt/dir/there", RACE_ROOT "/there",
					    RACE_ROOT "/outside/there", "/there", "/outside/there"};
	static const char *const etc[] = {RACE_ROOT "/etc", "/", "/outside", RACE_ROOT};

	for (size_t i = 0; i < COUNT(there); i++)
		there_fds[i] = open_dir(there[i]);
	for (size_t i = 0; i < COUNT(etc); i++)
		etc_fds[i] = open_dir(etc[i]);
}

static bool is_in(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Labels, where SELinux is on (tests/vm): all that is made has ours, and nothing else has got it. Debian's policy knows
 * this one, "object_r" and type; elsewhere it is NULL.
 */

static const char *label;
static unsigned labelled, mislabelled;

static const char *label_of(const char *path)
{
	static char value[LIMIT_LABEL + 1];
	ssize_t n = lgetxattr(path, "security.selinux", value, sizeof(value) - 1);

	value[n > 0 ? n : 0] = '\0';
	return value;
}

/* Before it is taken back: whether what was made is there, wherever that is by now, and what it is called. */
static void note_labels(void)
{
	static const char *const made[] = {"/opt/dir/new", "/opt/dir/new/node",
					   "/opt/dir/there/new", "/there/new"};
	static const char *const kept[] = {"/opt", DIRECTORY, "/opt/1", "/opt/2", "/opt/3", "/"};
	char path[PATH_MAX];

	if (!label)
		return;
	for (size_t i = 0; i < COUNT(made); i++) {
		snprintf(path, sizeof(path), RACE_ROOT "%s", made[i]);
		const char *found = label_of(path);
		labelled += strcmp(found, label) == 0;
		mislabelled += found[0] && strcmp(found, label) != 0;
	}
	for (size_t i = 0; i < COUNT(kept); i++) {
		snprintf(path, sizeof(path), RACE_ROOT "%s", kept[i]);
		mislabelled += strcmp(label_of(path), label) == 0;
	}
	mislabelled += strcmp(label_of("/outside"), label) == 0;
}

/*
 * The hook's own functions
 */

/* Where a mount is that has been attached. */
static enum where where_is(int r, int tree_fd)
{
	char path[PATH_MAX];

	if (r < 0)
		return REFUSED;
	race_path_of(tree_fd, path);
	return strncmp(path, RACE_ROOT "/opt/", strlen(RACE_ROOT "/opt/")) == 0 ? AT_DIR
										: ELSEWHERE;
}

static bool is_below_root(int fd)
{
	char path[PATH_MAX];

	race_path_of(fd, path);
	return strncmp(path, RACE_ROOT "/", strlen(RACE_ROOT "/")) == 0;
}

static unsigned mounts_outside;

/* It stays there for the rest of the batch. */
static enum where attach(struct rootfs *rootfs, const struct plan_mount *mount, struct error *err)
{
	struct notes notes = {.arena = rootfs->arena};
	_cleanup_fd_ int tree_fd = apply_mount_clone(&nobody, mount, NULL, label, NULL, err);

	must(tree_fd, "clone a mount");
	int r = apply_mount_attach(rootfs, mount, tree_fd, &notes, err);
	enum where where = where_is(r, tree_fd);
	if (r == 0 && !is_below_root(tree_fd))
		mounts_outside++;
	rootfs->undo->steps.n = 0;
	return where;
}

/* The name of a spot of its own. */
static const char *spot(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), DIRECTORY "/there/%s%u", name, now_round);
	return path;
}

static struct plan_mount bind_of(const char *source, const char *destination)
{
	struct plan_mount mount = {
		.kind = PLAN_MOUNT_BIND,
		.source = source,
		.destination = destination,
		.options = {.propagation = MS_PRIVATE},
	};
	int root_fd = open("/", O_PATH | O_CLOEXEC);

	must(host_node_look_up(&root_fd, source, &mount.source_node), source);
	close(root_fd);
	return mount;
}

static enum where attach_file(struct rootfs *rootfs, struct error *err)
{
	const struct plan_mount mount = bind_of("/source/file", spot("file"));

	return attach(rootfs, &mount, err);
}

static enum where attach_directory(struct rootfs *rootfs, struct error *err)
{
	const struct plan_mount mount = bind_of("/source/directory", spot("directory"));

	return attach(rootfs, &mount, err);
}

static enum where attach_tmpfs(struct rootfs *rootfs, struct error *err)
{
	const struct plan_mount mount = {
		.kind = PLAN_MOUNT_TMPFS,
		.source = "tmpfs",
		.destination = spot("directory"),
		.options = {.propagation = MS_PRIVATE},
	};

	return attach(rootfs, &mount, err);
}

static enum where make_node(struct rootfs *rootfs, struct error *err)
{
	const struct plan_node node = {.path = DIRECTORY "/" NEW "/node",
				       .type = S_IFCHR,
				       .major = 1,
				       .minor = 5,
				       .mode = 0666};
	struct notes notes = {.arena = rootfs->arena};
	int r = apply_device(rootfs, &node, -1, &notes, err);

	note_labels();
	undo_to(rootfs->undo, 0, err);
	return r < 0 ? REFUSED : AT_DIR;
}

/* As in a user namespace: a file is made, and the host's node is mounted onto it. */
static enum where mount_node(struct rootfs *rootfs, struct error *err)
{
	const struct plan_mount mount = bind_of("/source/node", DIRECTORY "/there/node");
	const struct plan_node node = {.path = mount.destination,
				       .type = S_IFCHR,
				       .major = 1,
				       .minor = 3,
				       .mode = 0666,
				       .source = mount.source,
				       .source_node = mount.source_node};
	struct notes notes = {.arena = rootfs->arena};
	_cleanup_fd_ int tree_fd = apply_device_clone(&nobody, &node, err);

	must(tree_fd, "clone a node");
	int r = apply_device(rootfs, &node, tree_fd, &notes, err);
	enum where where = where_is(r, tree_fd);
	if (r == 0 && !is_below_root(tree_fd))
		mounts_outside++;
	undo_to(rootfs->undo, 0, err);
	return where;
}

static enum where make_link(struct rootfs *rootfs, struct error *err)
{
	const struct vendor_hook_link link = {.target = "file", .path = DIRECTORY "/there/" NEW};
	struct notes notes = {.arena = rootfs->arena};
	int r = builtin_link(rootfs, &link, &notes, err);
	bool at_dir = is_in(there_fds[0], NEW);

	note_labels();
	undo_to(rootfs->undo, 0, err);
	return r < 0 ? REFUSED : at_dir ? AT_DIR : ELSEWHERE;
}

/* As a profile for a driver or a file for ld.so.conf.d is written. */
static enum where write_file(struct rootfs *rootfs, struct error *err)
{
	const char *leaf, *path = DIRECTORY "/there/" NEW;
	_cleanup_fd_ int dir_fd = rootfs_open_parent(rootfs, path, false, &leaf, err);
	int r = dir_fd < 0 ? dir_fd
			   : rootfs_replace(rootfs, dir_fd, leaf, path, "text", 4, 0644, err);
	bool at_dir = is_in(there_fds[0], NEW);

	note_labels();
	undo_to(rootfs->undo, 0, err);
	return r < 0 ? REFUSED : at_dir ? AT_DIR : ELSEWHERE;
}

static enum where set_mode(struct rootfs *rootfs, struct error *err)
{
	struct notes notes = {.arena = rootfs->arena};
	int r = builtin_chmod(rootfs, DIRECTORY "/there/mode", 0600, &notes, err);
	struct stat st;

	must(fstatat(there_fds[0], "mode", &st, 0), "look at a mode");
	undo_to(rootfs->undo, 0, err);
	return r < 0 ? REFUSED : (st.st_mode & 07777) == 0600 ? AT_DIR : ELSEWHERE;
}

/* A merge: the image's cache and configuration are read, a spare file is written and renamed. */
static enum where refresh_cache(struct rootfs *rootfs, struct error *err)
{
	struct plan_library library = {
		.path = LIBRARY,
		.elf = {.soname = "librace.so.1", .class = ELFCLASS64, .machine = NATIVE}};
	const struct plan plan = {.libraries = {.items = &library, .n = 1}};
	const struct error no_ldconfig = {.exit_code = EXIT_CODE_LDCACHE, .text = "none here"};
	const struct library_cache cache = {
		.plan = &plan, .ldconfig_fd = -1, .ldconfig_problem = &no_ldconfig};
	struct notes notes = {.arena = rootfs->arena};
	struct stat before, after;

	must(fstatat(etc_fds[0], "ld.so.cache", &before, AT_SYMLINK_NOFOLLOW), "the cache");
	int r = library_cache_refresh(rootfs, &cache, &notes, err);
	must(fstatat(etc_fds[0], "ld.so.cache", &after, AT_SYMLINK_NOFOLLOW), "the cache");
	undo_to(rootfs->undo, 0, err);
	return r < 0 ? REFUSED : before.st_ino != after.st_ino ? AT_DIR : ELSEWHERE;
}

/* The image's: one library, and the path of the mounted one is told in a file of its own. */
static void make_cache(void)
{
	const struct elf_abi *abi =
		elf_abi_of(&(struct elf_library){.class = ELFCLASS64, .machine = NATIVE});
	const struct ldcache none = {0};
	struct ldcache_library library = {.soname = "libc.so.6", .path = "/lib/libc.so.6"};
	struct arena arena;
	struct error err = {0};
	char *data, path[PATH_MAX];
	size_t size;
	int fd = open(RACE_ROOT "/etc/ld.so.cache", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	must(fd, "make a cache");
	must(abi ? 0 : -1, "this machine");
	library.flags = abi->ldcache_flags;
	arena_init(&arena, LIMIT_MEMORY);
	must(ldcache_merge(&arena, &none, &library, 1, &data, &size, &err), "make a cache");
	must(write(fd, data, size), "write the cache");
	must(close(fd), "write the cache");
	arena_done(&arena);
	must(mkdir(RACE_ROOT "/etc/ld.so.conf.d", 0755), "mkdir");
	race_write(RACE_ROOT "/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
	must(mkdir(RACE_ROOT "/lib", 0755), "mkdir");
	must(mkdir(RACE_ROOT "/lib64", 0755), "mkdir");
	race_write(RACE_ROOT "/lib/libc.so.6", "");
	snprintf(path, sizeof(path), "%s%s", RACE_ROOT, abi->loader);
	race_write(path, "");
}

/*
 * The same by the joined path, as a careless program would: it looks for links first, and then trusts what it saw.
 */

static bool looks_good(const char *directory)
{
	struct stat st;

	return lstat(directory, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum where attach_by_path(struct rootfs *rootfs, struct error *err)
{
	const struct plan_mount mount = bind_of("/source/file", DIRECTORY "/there/file0");
	struct error ignored = {0};
	_cleanup_fd_ int tree_fd = apply_mount_clone(&nobody, &mount, NULL, label, NULL, err);

	must(tree_fd, "clone a mount");
	if (!looks_good(RACE_ROOT DIRECTORY) ||
	    move_mount(tree_fd, "", AT_FDCWD, RACE_ROOT DIRECTORY "/there/file0",
		       MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return REFUSED;
	if (!is_below_root(tree_fd))
		mounts_outside++;
	must(rootfs_unmount(rootfs->proc_fd, tree_fd, &ignored), "umount");
	return AT_DIR;
}

/* Takes it away wherever it is. */
static enum where remove_new(const int *dirs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (unlinkat(dirs[i], name, 0) == 0)
			return i == 0 ? AT_DIR : ELSEWHERE;
	return REFUSED;
}

static enum where make_node_by_path(struct rootfs *rootfs, struct error *err)
{
	(void)rootfs;
	(void)err;
	if (looks_good(RACE_ROOT DIRECTORY))
		(void)mknod(RACE_ROOT DIRECTORY "/there/" NEW, S_IFCHR | 0600, makedev(1, 5));
	return remove_new(there_fds, COUNT(there_fds), NEW);
}

static enum where make_link_by_path(struct rootfs *rootfs, struct error *err)
{
	(void)rootfs;
	(void)err;
	if (looks_good(RACE_ROOT DIRECTORY))
		(void)!symlink("file", RACE_ROOT DIRECTORY "/there/" NEW);
	return remove_new(there_fds, COUNT(there_fds), NEW);
}

static enum where set_mode_by_path(struct rootfs *rootfs, struct error *err)
{
	enum where where = REFUSED;

	(void)rootfs;
	(void)err;
	if (looks_good(RACE_ROOT DIRECTORY))
		(void)chmod(RACE_ROOT DIRECTORY "/there/mode", 0600);
	for (size_t i = 0; i < COUNT(there_fds); i++) {
		struct stat st;
		must(fstatat(there_fds[i], "mode", &st, 0), "look at a mode");
		if ((st.st_mode & 07777) != 0600)
			continue;
		where = i == 0 ? AT_DIR : ELSEWHERE;
		must(fchmodat(there_fds[i], "mode", 0644, 0), "chmod");
	}
	return where;
}

static enum where refresh_cache_by_path(struct rootfs *rootfs, struct error *err)
{
	(void)rootfs;
	(void)err;
	if (looks_good(RACE_ROOT "/etc")) {
		int fd = open(RACE_ROOT "/etc/spare", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd >= 0)
			close(fd);
		(void)rename(RACE_ROOT "/etc/spare", RACE_ROOT "/etc/" NEW);
	}
	(void)remove_new(etc_fds, COUNT(etc_fds), "spare");
	return remove_new(etc_fds, COUNT(etc_fds), NEW);
}

/*
 * Rounds
 */

struct mode {
	const char *name;
	act_fn act;
	bool is_mount, walk, by_path, etc;
	bool labels; /* what it makes gets the container's */
};

/* What one round has brought about; it has been taken back already, but the times tell. */
static void note_result(struct count *count, enum where where, struct race_world *world)
{
	unsigned mounts = mounts_outside;

	mounts_outside = 0;
	count->rounds++;
	count->at_dir += where == AT_DIR;
	count->elsewhere += where == ELSEWHERE;
	count->refused += where == REFUSED;
	count->escaped += race_is_touched(world, false) || mounts > 0;
}

static void one_batch(const struct mode *mode, struct race_world *world, struct count *count)
{
	const struct mountinfo host_mounts = {0};
	must(mount(RACE_ROOT, RACE_ROOT, NULL, MS_BIND, NULL), "bind the root");
	_cleanup_fd_ int root_fd = open(RACE_ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);
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
	char text[ERROR_TEXT_MAX];

	arena_init(&arena, LIMIT_MEMORY);
	for (now_round = 0; now_round < BATCH; now_round++) {
		struct error err = {0};
		if (now_round == 0)
			must(rootfs_init(&rootfs, &err), "look at the root");
		if (now_round == 0 && label)
			must(label_new_files(proc_fd, label, &err), err.text);
		note_result(count, mode->act(&rootfs, &err), world);
		if (error_is_set(&err) && strstr(error_text(&err, text), "undo:"))
			printf("# %s\n", text);
	}
	/* What has been attached elsewhere stays in the mount table. */
	must(umount2(RACE_ROOT, MNT_DETACH), "umount");
	arena_done(&arena);
}

/* How long it goes on. */
static bool is_done(const struct mode *mode, const struct count *count)
{
	const bool all = race_is_long();
	unsigned rounds = mode->is_mount ? (all ? ROUNDS_MOUNTS_LONG : ROUNDS_MOUNTS)
					 : (all ? ROUNDS_OTHERS_LONG : ROUNDS_OTHERS);

	if (mode->by_path)
		return count->escaped >= (all ? ESCAPES_WANTED_LONG : ESCAPES_WANTED);
	return count->rounds >= rounds && count->at_dir >= ROUNDS_OF_A_KIND &&
	       count->elsewhere + count->refused >= ROUNDS_OF_A_KIND;
}

static void hide_openat2(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	must(filter ? 0 : -1, "seccomp_init");
	must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0),
	     "seccomp rule");
	must(seccomp_load(filter), "seccomp_load");
	seccomp_release(filter);
	must(syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS ? 0 : -1,
	     "hide openat2");
}

static void show(const struct mode *mode, const struct count *count, double seconds)
{
	printf("# %s%s: %u rounds, %u at the directory, %u elsewhere in the root, %u refused, %u "
	       "escaped; "
	       "%.1f s, %.1f us a round\n",
	       mode->name, mode->walk ? " (walk)" : "", count->rounds, count->at_dir,
	       count->elsewhere, count->refused, count->escaped, seconds,
	       seconds * 1e6 / count->rounds);
	fflush(stdout);
}

static bool run(const struct mode *mode)
{
	const double began = race_seconds(), most = race_is_long() ? MAX_SECONDS_LONG : MAX_SECONDS;
	static struct race_world world;
	struct count count = {0};

	race_note_outside(&world);
	pid_t pid = race_start(mode->etc ? "etc" : "opt/dir", 0);
	race_run_on(getpid(), false);
	if (mode->walk)
		hide_openat2();
	do {
		one_batch(mode, &world, &count);
		if (race_is_long() &&
		    count.rounds / ROUNDS_SHOWN != (count.rounds - BATCH) / ROUNDS_SHOWN)
			show(mode, &count, race_seconds() - began);
	} while (!is_done(mode, &count) && race_seconds() - began < most);
	bool raced = race_stop(pid);

	show(mode, &count, race_seconds() - began);
	if (label)
		printf("# %u times the label, %u times a wrong one\n", labelled, mislabelled);
	if (mislabelled > 0 || (label && mode->labels && labelled == 0))
		return false;
	if (race_is_touched(&world, true)) {
		printf("# something outside was touched\n");
		return false;
	}
	if (!race_has_same_mounts(&world)) {
		printf("# the mount table is another\n");
		return false;
	}
	if (mode->by_path)
		return raced && count.escaped > 0;
	/* Without both kinds nothing was exchanged meanwhile. */
	return raced && count.escaped == 0 && count.at_dir > 0 &&
	       count.elsewhere + count.refused > 0 && (!race_is_long() || is_done(mode, &count));
}

/* A process for each: the filter stays, and nobody else gets a processor of its own. */
static bool run_alone(const struct mode *mode)
{
	int status;

	fflush(stdout);
	pid_t pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		bool ok = run(mode);
		fflush(stdout);
		_exit(ok ? 0 : 1);
	}
	must(waitpid(pid, &status, 0), "wait");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const struct mode modes[] = {
	{"a mount of a file", attach_file, .is_mount = true},
	{"a mount of a directory", attach_directory, .is_mount = true},
	{"a tmpfs", attach_tmpfs, .is_mount = true},
	{"a node", make_node, .labels = true},
	{"a node of the host's, mounted", mount_node},
	{"a link", make_link, .labels = true},
	{"a file", write_file, .labels = true},
	{"a mode", set_mode},
	{"the library cache", refresh_cache, .etc = true},
	{"a mount by path", attach_by_path, .by_path = true},
	{"a node by path", make_node_by_path, .by_path = true},
	{"a link by path", make_link_by_path, .by_path = true},
	{"a mode by path", set_mode_by_path, .by_path = true},
	{"the library cache by path", refresh_cache_by_path, .by_path = true, .etc = true},
};

/* With arguments: the modes of these names alone. */
static bool is_wanted(const struct mode *mode, int argc, char **argv)
{
	bool wanted = argc < 2;

	for (int i = 1; i < argc; i++)
		wanted = wanted || strcmp(mode->name, argv[i]) == 0;
	return wanted;
}

int main(int argc, char **argv)
{
	unsigned n = 0, failed = 0;

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	umask(022);
	if (label_is_used())
		label = "system_u:object_r:svirt_image_t:s0:c1,c2";
	race_make_world(RACE_SPOTS);
	make_cache();
	open_places();
	for (size_t i = 0; i < COUNT(modes); i++) {
		if (!is_wanted(&modes[i], argc, argv))
			continue;
		for (unsigned walk = 0; walk < (modes[i].by_path ? 1U : 2U); walk++) {
			struct mode mode = modes[i];
			mode.walk = walk;
			bool ok = run_alone(&mode);
			printf("%s %u - %s: %s%s\n", ok ? "ok" : "not ok", ++n, mode.name,
			       mode.by_path ? "gets out, as it must" : "stays inside the root",
			       walk ? ", by the walk" : "");
			fflush(stdout);
			failed += !ok;
		}
	}
	printf("1..%u\n", n);
	return failed ? 1 : 0;
}
