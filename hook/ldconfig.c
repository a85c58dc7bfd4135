/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chroot is no jail for ldconfig: with a procfs in it, an image whose /etc is a link to /proc/1/root/etc makes ldconfig -r
 * write to the host. So it runs in namespaces of its own, over a read-only clone of the container's root from which all that is
 * mounted inside (its /proc, /sys, volumes) has dropped off, and the only place that it can write to is a small tmpfs, of
 * which we keep a descriptor. What it wrote is read from there, and believed only after it was parsed.
 *
 * We have one thread, so the child may do between clone3 and execveat whatever the parent could.
 */
#include "ldconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bounds.h"
#include "call-filter.h"
#include "cleanup.h"
#include "elf-library.h"
#include "fdio.h"
#include "interrupt.h"
#include "mount-attributes.h"
#include "privilege.h"
#include "sys.h"
#include "walk.h"

/* Names in the tmpfs. */
#define CONF_NAME "ld.so.conf"
#define CACHE_NAME "ld.so.cache"
#define OUTPUT_NAME "output"
#define PROGRAM_NAME "ldconfig"

/* Room in the tmpfs: the cache, its temporary copy, the configuration and what ldconfig says. */
#define TMPFS_SIZE "48m"
#define CPU_SECONDS 5
#define ADDRESS_SPACE (512UL * 1024 * 1024)
#define OPEN_FILES 64
/* What ldconfig said is quoted when it fails: its last words. */
#define OUTPUT_SHOWN 200

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* Where the tmpfs can be put, best first: directories that a runtime makes in every image. */
static const char *const places[] = {"proc", "dev", "sys", "run", "tmp", "mnt"};

/* A library's clone, ready to be put into the root's clone. */
struct shown {
	int fd;
	const char *path;
	bool is_directory;
};

struct sandbox {
	int exec_fd;
	int root_fd; /* the clone */
	int tmpfs_fd;
	int report_fd; /* an error goes to the parent; closed by a successful execveat */
	struct shown *shown;
	size_t n_shown;
	const char *place;
};

/*
 * Finding it
 */

static int open_program(const struct trust *trust, const char *path, struct error *err)
{
	_cleanup_fd_ int fd = trusted_open(trust, path, TRUSTED_FILE, err);

	if (fd < 0)
		return fd;
	if (!elf_is_static_program(fd))
		return error_say(err, EXIT_CODE_LDCACHE,
				 "%s is not a static program: --ldconfig=PATH names one, "
				 "--ldconfig=none does without",
				 SHOW(path));
	return TAKE_FD(fd);
}

int ldconfig_find(const struct trust *trust, const char *wanted, struct error *err)
{
	/* Ubuntu has a shell script under the usual name, and the program beside it. */
	static const char *const usual[] = {"/sbin/ldconfig.real", "/sbin/ldconfig"};
	int fd = -ENOENT;

	if (wanted)
		fd = open_program(trust, wanted, err);
	for (size_t i = 0; !wanted && fd == -ENOENT && i < sizeof(usual) / sizeof(usual[0]); i++)
		fd = open_program(trust, usual[i], err);
	/* Whatever is wrong with it, untrusted files included: what the user misses is the cache. */
	if (fd < 0)
		err->exit_code = EXIT_CODE_LDCACHE;
	return fd;
}

int ldconfig_open(const struct trust *trust, const char *wanted, struct error *err)
{
	_cleanup_fd_ int fd = ldconfig_find(trust, wanted, err);
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.propagation = MS_PRIVATE,
	};
	_cleanup_fd_ int tree_fd = -1;

	if (fd < 0)
		return fd;
	tree_fd = open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree_fd < 0 || mount_attributes_set(tree_fd, &attributes, false) < 0) {
		error_set(err, errno, "clone it");
		return error_class(err, EXIT_CODE_LDCACHE);
	}
	return TAKE_FD(tree_fd);
}

/*
 * The child, up to execveat
 */

static _Noreturn void report(const struct sandbox *sandbox, const char *what, int errnum)
{
	struct error err = {0};

	error_set(&err, errnum, "%s", what);
	(void)!write(sandbox->report_fd, &err, sizeof(err));
	_exit(1);
}

static bool attach(int tree_fd, int target_fd)
{
	return move_mount(tree_fd, "", target_fd, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
}

/*
 * Its place lies on a volume, which has dropped off: so it is shown in a directory of the tmpfs, which is named in the
 * configuration. Where ldconfig finds a library is of no concern, only that it does.
 */
static void show_elsewhere(const struct sandbox *sandbox, const struct shown *shown)
{
	const char *leaf = strrchr(shown->path, '/') + 1;
	char name[32], path[PATH_MAX], line[64];
	int fd = -1;

	snprintf(name, sizeof(name), "lib%zu", (size_t)(shown - sandbox->shown));
	snprintf(path, sizeof(path), "%s/%s", name, shown->is_directory ? "." : leaf);
	int len = snprintf(line, sizeof(line), "/%s/%s\n", sandbox->place, name);
	if (mkdirat(sandbox->tmpfs_fd, name, 0755) < 0)
		report(sandbox, "make a place for a library", errno);
	if (!shown->is_directory) {
		fd = openat(sandbox->tmpfs_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			report(sandbox, "make a place for a library", errno);
		close(fd);
	}
	fd = openat(sandbox->tmpfs_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !attach(shown->fd, fd))
		report(sandbox, "attach a library", errno);
	close(fd);
	fd = openat(sandbox->tmpfs_fd, CONF_NAME, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		report(sandbox, "name the place of a library", errno);
	close(fd);
}

/* Its place is not in the root's clone, or is something else there: it lies on a volume. */
static bool is_elsewhere(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP || errnum == EINVAL;
}

/* ldconfig believes what a directory tells of its entries, and that is the kind of what lies below the mount. */
static bool would_be_passed_over(const struct shown *shown, int fd)
{
	struct stat st;

	return !shown->is_directory && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode));
}

static void show_libraries(const struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->n_shown; i++) {
		const struct shown *shown = &sandbox->shown[i];
		int fd = walk_open(sandbox->root_fd, shown->path, O_PATH, RESOLVE_IN_ROOT);
		if (fd >= 0 && would_be_passed_over(shown, fd)) {
			close(fd);
			fd = -1;
			errno = EINVAL;
		}
		bool done = fd >= 0 && attach(shown->fd, fd);
		if (!done && !is_elsewhere(errno))
			report(sandbox, "attach a library", errno);
		if (!done)
			show_elsewhere(sandbox, shown);
		if (fd >= 0)
			close(fd);
	}
}

/*
 * A name for the program, in the tmpfs: TOMOYO, which Debian's Linux 5.10 has, looks up by its name whatever is executed, and
 * that of a mere descriptor is below /dev/fd, where nothing is.
 */
static void show_program(const struct sandbox *sandbox)
{
	int fd = openat(sandbox->tmpfs_fd, PROGRAM_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0644);

	if (fd < 0 || !attach(sandbox->exec_fd, fd))
		report(sandbox, "attach ldconfig", errno);
	close(fd);
}

/* Makes the clone the root of everything, with nothing of the host or of the container left. */
static void enter_root(const struct sandbox *sandbox)
{
	int fd;

	if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		report(sandbox, "make the sandbox's mounts private", errno);
	/* Any directory will do: it is covered for nobody but us, and gone after the pivot. */
	if (move_mount(sandbox->root_fd, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		report(sandbox, "attach the root's clone", errno);
	fd = walk_open(sandbox->root_fd, sandbox->place, O_PATH | O_DIRECTORY | O_NOFOLLOW,
		       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (fd < 0 || !attach(sandbox->tmpfs_fd, fd))
		report(sandbox, "attach the place for the result", errno);
	show_libraries(sandbox);
	show_program(sandbox);
	if (fchdir(sandbox->root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		report(sandbox, "pivot_root", errno);
	/* No directory of the image is on the way to the program. */
	if (fchdir(sandbox->tmpfs_fd) < 0)
		report(sandbox, "enter the place for the result", errno);
}

/* All of ours are close-on-exec anyway; this is for one that somebody forgets. */
static void keep_no_descriptors(const struct sandbox *sandbox)
{
	struct rlimit limit;

	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	/* Before Linux 5.11. */
	if ((errno != EINVAL && errno != ENOSYS) || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		report(sandbox, "close_range", errno);
	for (int fd = 3; (rlim_t)fd < limit.rlim_cur && fd < 65536; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void limit_resources(const struct sandbox *sandbox)
{
	static const struct {
		int resource;
		rlim_t limit;
	} limits[] = {
		{RLIMIT_CPU, CPU_SECONDS},  {RLIMIT_FSIZE, LIMIT_LDCACHE_SIZE},
		{RLIMIT_AS, ADDRESS_SPACE}, {RLIMIT_NOFILE, OPEN_FILES},
		{RLIMIT_CORE, 0},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const __rlimit_resource_t resource = (__rlimit_resource_t)limits[i].resource;
		struct rlimit limit;
		if (getrlimit(resource, &limit) < 0)
			report(sandbox, "look at limits", errno);
		/* A tighter one that we were started with (crun gives a container's to its hooks) is not ours to raise. */
		if (limit.rlim_max > limits[i].limit)
			limit.rlim_max = limits[i].limit;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(resource, &limit) < 0)
			report(sandbox, "set limits", errno);
	}
}

/* The container's root, or ours where that is the same, without any capability, now and after an exec. */
static void drop_capabilities(const struct sandbox *sandbox)
{
	struct error err = {0};

	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
					     SECBIT_NO_SETUID_FIXUP_LOCKED) < 0)
		report(sandbox, "set secure bits", errno);
	/* Files are made in that name already (user_namespace_act_as_root()). */
	const uid_t uid = (uid_t)setfsuid((uid_t)-1);
	const gid_t gid = (gid_t)setfsgid((gid_t)-1);
	/* In a user namespace that a plain user made, groups cannot be dropped: they are the user's own. */
	if ((setgroups(0, NULL) < 0 && errno != EPERM) || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		report(sandbox, "become the container's root", errno);
	for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability) < 0)
			report(sandbox, "drop capabilities", errno);
	if (privilege_take(PRIVILEGE_NONE, 0, &err) < 0)
		report(sandbox, "drop capabilities", err.errnum);
}

/* Becoming somebody else has taken it off. A parent that died before has left a pipe without a reader. */
static void die_with_parent(const struct sandbox *sandbox)
{
	struct pollfd parent = {.fd = sandbox->report_fd};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || poll(&parent, 1, 0) != 0)
		report(sandbox, "end with the hook", errno);
}

/* What a static ldconfig of glibc 2.31 to 2.41 needs, its start-up included; anything else is answered with ENOSYS. */
static const unsigned allowed_calls[] = {
	SYS_brk,
	SYS_chdir,
	SYS_close,
	SYS_dup,
	SYS_dup3,
	SYS_execveat,
	SYS_exit,
	SYS_exit_group,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchmodat2,
	SYS_fcntl,
	SYS_fdatasync,
	SYS_fsync,
	SYS_futex,
	SYS_getcwd,
	SYS_getdents64,
	SYS_getegid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getpid,
	SYS_getrandom,
	SYS_gettid,
	SYS_getuid,
	SYS_ioctl,
	SYS_lseek,
	SYS_madvise,
	SYS_mmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_munmap,
	SYS_openat,
	SYS_pread64,
	SYS_prlimit64,
	SYS_read,
	SYS_readlinkat,
	SYS_readv,
	SYS_renameat2,
	SYS_rseq,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_statx,
	SYS_tgkill,
	SYS_umask,
	SYS_uname,
	SYS_unlinkat,
	SYS_write,
	SYS_writev,
/* Architectures that came later have only their successors. */
#ifdef SYS_access
	SYS_access,
#endif
#ifdef SYS_arch_prctl
	SYS_arch_prctl,
#endif
#ifdef SYS_chmod
	SYS_chmod,
#endif
#ifdef SYS_dup2
	SYS_dup2,
#endif
#ifdef SYS_fstat
	SYS_fstat,
#endif
#ifdef SYS_lstat
	SYS_lstat,
#endif
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_open
	SYS_open,
#endif
#ifdef SYS_readlink
	SYS_readlink,
#endif
#ifdef SYS_rename
	SYS_rename,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_stat
	SYS_stat,
#endif
#ifdef SYS_unlink
	SYS_unlink,
#endif
};

static _Noreturn void run_child(const struct sandbox *sandbox)
{
	char cache[64], conf[64];
	char *const argv[] = {(char[]){"ldconfig"},
			      (char[]){"-i"},
			      (char[]){"-X"},
			      (char[]){"-f"},
			      conf,
			      (char[]){"-C"},
			      cache,
			      NULL};
	char *const envp[] = {(char[]){"LC_ALL=C"}, NULL};
	struct error err = {0};
	int output;

	if (privilege_take(PRIVILEGE_SANDBOX, 0, &err) < 0)
		report(sandbox, "drop capabilities", err.errnum);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || setsid() < 0 ||
	    signal(SIGXFSZ, SIG_DFL) == SIG_ERR)
		report(sandbox, "set up the sandbox", errno);
	enter_root(sandbox);
	snprintf(conf, sizeof(conf), "/%s/" CONF_NAME, sandbox->place);
	snprintf(cache, sizeof(cache), "/%s/" CACHE_NAME, sandbox->place);
	output =
		openat(sandbox->tmpfs_fd, OUTPUT_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (output < 0 || dup2(output, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
		report(sandbox, "open its output", errno);
	keep_no_descriptors(sandbox);
	limit_resources(sandbox);
	drop_capabilities(sandbox);
	die_with_parent(sandbox);
	if (call_filter_load(allowed_calls, sizeof(allowed_calls) / sizeof(allowed_calls[0])) < 0)
		report(sandbox, "load the seccomp filter", errno);
	execveat(AT_FDCWD, PROGRAM_NAME, argv, envp, 0);
	report(sandbox, "execute ldconfig", errno);
}

/*
 * The parent
 */

/*
 * A read-only, private mount of what `fd` shows, without what is mounted below; save where the kernel does not let it drop off and
 * `whole` takes it as well: in a user namespace nobody is shown what another file system covers.
 */
static int clone_read_only(int fd, bool whole, struct error *err)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    MOUNT_ATTR_NOEXEC,
		.propagation = MS_PRIVATE,
	};
	const unsigned flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	_cleanup_fd_ int tree_fd = open_tree(fd, "", flags);
	int r;

	if (tree_fd >= 0 || errno != EINVAL || !whole) {
		r = tree_fd < 0 ? -1 : mount_attributes_set(tree_fd, &attributes, false);
	} else {
		/* Read-only all of it, or, before Linux 5.12, not at all. */
		tree_fd = open_tree(fd, "", flags | AT_RECURSIVE);
		r = tree_fd < 0 ? -1
				: mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE,
						&attributes, sizeof(attributes));
	}
	if (r < 0)
		return error_set(err, errno, "clone for the sandbox");
	return TAKE_FD(tree_fd);
}

static int make_tmpfs(const char *conf, struct error *err)
{
	_cleanup_fd_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	_cleanup_fd_ int tmpfs_fd = -1, conf_fd = -1;
	size_t len = strlen(conf);

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", TMPFS_SIZE, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "mode", "755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return error_set(err, errno, "make a tmpfs for the sandbox");
	tmpfs_fd = fsmount(fs, FSMOUNT_CLOEXEC,
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (tmpfs_fd < 0)
		return error_set(err, errno, "make a tmpfs for the sandbox");
	conf_fd = openat(tmpfs_fd, CONF_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (conf_fd < 0 || write(conf_fd, conf, len) != (ssize_t)len)
		return error_set(err, errno ? errno : ENOSPC, "write ldconfig's configuration");
	return TAKE_FD(tmpfs_fd);
}

static const char *find_place(int root_fd)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (fstatat(root_fd, places[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			return places[i];
	return NULL;
}

static void close_sandbox(struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->n_shown; i++)
		close_fd(&sandbox->shown[i].fd);
	close_fd(&sandbox->root_fd);
	close_fd(&sandbox->tmpfs_fd);
	close_fd(&sandbox->report_fd);
}

static int prepare(struct arena *arena, struct sandbox *sandbox, int root_fd,
		   const struct ldconfig_library *libraries, size_t n_libraries, const char *conf,
		   struct error *err)
{
	sandbox->root_fd = clone_read_only(root_fd, false, err);
	if (sandbox->root_fd < 0)
		return error_result(err);
	sandbox->place = find_place(sandbox->root_fd);
	if (!sandbox->place)
		return error_say(err, EXIT_CODE_LDCACHE,
				 "the container has no /proc, /dev, /run or the like to work in");
	sandbox->tmpfs_fd = make_tmpfs(conf, err);
	if (sandbox->tmpfs_fd < 0)
		return error_result(err);
	sandbox->shown = arena_alloc_array(arena, n_libraries, sizeof(*sandbox->shown));
	if (!sandbox->shown)
		return error_memory(err);
	for (size_t i = 0; i < n_libraries; i++) {
		struct stat st;
		int fd = clone_read_only(libraries[i].mount_fd, true, err);
		if (fd < 0)
			return error_prefix(err, "%s", SHOW(libraries[i].path));
		sandbox->shown[sandbox->n_shown++] = (struct shown){
			.fd = fd,
			.path = libraries[i].path,
			.is_directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode),
		};
	}
	return 0;
}

/* Waits for the child, as long as we may run ourselves. `*ret_status` as of waitpid. */
static int wait_for(pid_t pid, int pid_fd, int *ret_status, struct error *err)
{
	struct pollfd poll_fd = {.fd = pid_fd, .events = POLLIN};
	int r = 0;

	while (r == 0 && poll(&poll_fd, 1, -1) <= 0)
		r = errno == EINTR ? interrupted(err) : error_set(err, errno, "wait for ldconfig");
	/* It is the init of its pid namespace: all that it may have started goes with it. */
	if (r < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return r < 0 ? r : error_set(err, errno, "wait for ldconfig");
	return r;
}

/* A file that ldconfig, and what it read, made: a link there would lead us, who are not in its sandbox, to the host. */
static int read_result(struct arena *arena, const struct sandbox *sandbox, const char *name,
		       char **ret_data, size_t *ret_size, struct error *err)
{
	_cleanup_fd_ int fd = openat(sandbox->tmpfs_fd, name,
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return error_set(err, errno, "open %s", name);
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat %s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "read %s: not a regular file", name);
	return fdio_read(arena, fd, LIMIT_LDCACHE_SIZE, name, ret_data, ret_size, err);
}

/* What ldconfig said last, for the sentence: its text is the image's as much as its own. */
static int failed(struct arena *arena, const struct sandbox *sandbox, int status, struct error *err)
{
	char *text = NULL;
	struct error ignored = {0};
	size_t size = 0;

	if (read_result(arena, sandbox, OUTPUT_NAME, &text, &size, &ignored) < 0)
		text = NULL;
	while (text && size > 0 && text[size - 1] == '\n')
		text[--size] = '\0';
	const char *words = text && size > OUTPUT_SHOWN ? text + size - OUTPUT_SHOWN : text;
	if (WIFSIGNALED(status))
		return error_say(err, EXIT_CODE_LDCACHE, "ldconfig was ended by signal %d (%s)%s%s",
				 WTERMSIG(status),
				 sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status))
								: "?",
				 words && *words ? ": " : "", words && *words ? SHOW(words) : "");
	return error_say(err, EXIT_CODE_LDCACHE, "ldconfig ended with exit code %d%s%s",
			 WEXITSTATUS(status), words && *words ? ": " : "",
			 words && *words ? SHOW(words) : "");
}

/* Starts the child in its namespaces and waits for its end. */
static int run_sandbox(struct arena *arena, struct sandbox *sandbox, struct error *err)
{
	_cleanup_fd_ int report_fd = -1;
	int fds[2], pid_fd = -1, status = 0;
	struct error reported = {0};

	/* Not blocking: an end that could not be closed must not make us wait for it. */
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_set(err, errno, "pipe");
	report_fd = fds[0];
	sandbox->report_fd = fds[1];

	pid_t pid = sys_fork_pidfd(NAMESPACES, &pid_fd);
	if (pid < 0)
		return error_set(err, errno, "start the sandbox");
	if (pid == 0) {
		close_fd(&report_fd);
		run_child(sandbox);
	}
	_cleanup_fd_ int held_pid_fd = pid_fd;
	close_fd(&sandbox->report_fd);

	int r = wait_for(pid, held_pid_fd, &status, err);
	if (r < 0)
		return r;
	if (read(report_fd, &reported, sizeof(reported)) == (ssize_t)sizeof(reported)) {
		*err = reported;
		return error_result(err);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0
							     : failed(arena, sandbox, status, err);
}

int ldconfig_run(struct arena *arena, int exec_fd, int root_fd,
		 const struct ldconfig_library *libraries, size_t n_libraries, const char *conf,
		 char **ret_cache, size_t *ret_size, struct error *err)
{
	__attribute__((cleanup(close_sandbox))) struct sandbox sandbox = {
		.exec_fd = exec_fd, .root_fd = -1, .tmpfs_fd = -1, .report_fd = -1};
	int r = prepare(arena, &sandbox, root_fd, libraries, n_libraries, conf, err);
	if (r == 0)
		r = run_sandbox(arena, &sandbox, err);
	if (r < 0)
		return r;
	r = read_result(arena, &sandbox, CACHE_NAME, ret_cache, ret_size, err);
	return r < 0 ? error_prefix(err, "what ldconfig wrote") : 0;
}
