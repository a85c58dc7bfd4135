/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the container's cgroup, and being sure that it is the one. The name comes from
 * /proc/PID/cgroup, the directory from the host's own cgroup mounts; what makes sure is the kernel:
 * the directory belongs to a cgroup file system, no link or mount was passed below it, and its
 * cgroup.procs lists the container's process.
 *
 * Why no cgroup2 of our own is mounted there: in the host's cgroup namespace any new mount of cgroup2
 * without the options of the old one takes these away from the whole host (nsdelegate and
 * memory_recursiveprot, tried on Linux 6.18). A v1 hierarchy has no such options, so where it isn't
 * mounted we mount one that nobody else can see.
 */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "path.h"
#include "sys.h"
#include "unit-text.h"

/* The kernel's fixed number for the cgroup namespace that it starts with (linux/proc_ns.h). */
#define INITIAL_CGROUP_NAMESPACE 0xEFFFFFFBU
/* Depth of nested pid namespaces: the kernel's own bound. */
#define MAX_PID_NS_LEVEL 32
/* Cgroups below the container's own that are looked through; at hook time there are hardly any. */
#define MAX_BELOW 256
/* A runtime's helper may still be on its way out: looked at so often, this far apart. */
#define LEAVING_TRIES 20
#define LEAVING_PAUSE_NS (5 * 1000 * 1000)

/* ---- Where it is ---- */

int cgroup_read_places(const struct device_cgroup_target *target, const char *process,
		       struct proc_cgroup_list *ret_list, struct error *err)
{
	char path[64], *text;
	size_t size;

	snprintf(path, sizeof(path), "%s/cgroup", process);
	int r = fdio_read_at(target->arena, target->proc_fd, path, LIMIT_PROC_SIZE, &text, &size,
			     err);
	if (r == 0)
		r = proc_text_parse_cgroup(target->arena, text, size, ret_list, err);
	return r < 0 ? error_prefix(err, "/proc/%s", path) : 0;
}

/*
 * The root is the host's; one that we live in ourselves is the engine's, or the container was never
 * given its own. At createContainer we live in the container's, which its cgroup namespace calls
 * the root.
 */
bool cgroup_is_ours(const struct device_cgroup_target *target, const struct proc_cgroup_list *ours,
		    const char *controller, const char *path)
{
	const struct proc_cgroup *own = proc_text_find_cgroup(ours, controller);

	if (target->inside)
		return strcmp(path, "/") == 0 && cgroup_is_initial_namespace(target->proc_fd);
	return strcmp(path, "/") == 0 || (own && strcmp(own->path, path) == 0);
}

/* ---- Opening ---- */

int cgroup_open_below(int dirfd, const char *path, int flags)
{
	int fd = sys_openat2(dirfd, path, (uint64_t)(flags | O_CLOEXEC), 0,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
				     RESOLVE_NO_XDEV);

	/* Before Linux 5.6: cgroup file systems have no links, and callers pass no "..". */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(dirfd, path, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

int cgroup_read(struct arena *arena, int dirfd, const char *name, char **ret_text, size_t *ret_size,
		struct error *err)
{
	_cleanup_fd_ int fd = cgroup_open_below(dirfd, name, O_RDONLY);

	if (fd < 0)
		return error_set(err, errno, "open %s", name);
	return fdio_read(arena, fd, LIMIT_PROC_SIZE, name, ret_text, ret_size, err);
}

static int read_pids(struct arena *arena, int dirfd, struct proc_pid_list *ret_pids,
		     struct error *err)
{
	char *text;
	size_t size;

	int r = cgroup_read(arena, dirfd, "cgroup.procs", &text, &size, err);
	if (r < 0)
		return r;
	r = proc_text_parse_pids(arena, text, size, ret_pids, err);
	return r < 0 ? error_prefix(err, "cgroup.procs") : 0;
}

/* The root of a hierarchy that the host has mounted at `path`, or -1. */
static int open_mounted(const char *path, enum cgroup_version version)
{
	_cleanup_fd_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -1;
	if ((unsigned long)fs.f_type !=
	    (version == CGROUP_V2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
		return -1;
	return TAKE_FD(fd);
}

/*
 * The root of the v1 hierarchy with exactly these controllers (one that exists: a new one would
 * take them from where they are), mounted where nobody sees it, or -1.
 *
 * Runs in: any namespaces. Trusts: `controllers`, from procfs. Hostile: nothing.
 */
static int mount_v1(struct arena *arena, const char *controllers)
{
	_cleanup_fd_ int context = fsopen("cgroup", FSOPEN_CLOEXEC);
	char *words = arena_strdup(arena, controllers), *rest = NULL;

	if (context < 0 || !words)
		return -1;
	for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		int r = strncmp(word, "name=", 5) == 0
				? fsconfig(context, FSCONFIG_SET_STRING, "name", word + 5, 0)
				: fsconfig(context, FSCONFIG_SET_FLAG, word, NULL, 0);
		if (r < 0)
			return -1;
	}
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

bool cgroup_is_initial_namespace(int proc_fd)
{
	struct stat st;

	/* Where it cannot be told, nothing is done that would matter. */
	return fstatat(proc_fd, "self/ns/cgroup", &st, 0) < 0 ||
	       st.st_ino == INITIAL_CGROUP_NAMESPACE;
}

/*
 * The unified hierarchy as our cgroup namespace shows it, mounted where nobody sees it, or -1. For
 * stage createContainer: there the root of the namespace is the container's cgroup.
 */
static int mount_v2(int proc_fd)
{
	_cleanup_fd_ int context = -1;

	if (cgroup_is_initial_namespace(proc_fd))
		return -1;
	context = fsopen("cgroup2", FSOPEN_CLOEXEC);
	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/*
 * The places where a hierarchy may be, best first: returns its root's fd, or -1 when place `i` has
 * none.
 */
#define N_PLACES 3
static int open_place(const struct cgroup *cgroup, const char *controllers, unsigned i)
{
	struct arena *arena = cgroup->target->arena;

	if (cgroup->version == CGROUP_V2 && i == 2)
		return mount_v2(cgroup->target->proc_fd);
	if (cgroup->version == CGROUP_V2)
		return open_mounted(i == 0 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified",
				    CGROUP_V2);
	if (i > 0)
		return i == 1 ? mount_v1(arena, controllers) : -1;
	const char *path = arena_printf(arena, "/sys/fs/cgroup/%s", controllers);
	return path ? open_mounted(path, CGROUP_V1) : -1;
}

/*
 * Whether the cgroup below `cgroup->root_fd` is the right one; then `cgroup->fd` is open. `err`
 * says why not.
 */
static bool open_and_verify(struct cgroup *cgroup, struct error *err)
{
	const char *relative = cgroup->path[1] ? cgroup->path + 1 : ".";
	struct proc_pid_list pids;

	cgroup->fd = cgroup_open_below(cgroup->root_fd, relative, O_RDONLY | O_DIRECTORY);
	if (cgroup->fd < 0) {
		error_set(err, errno, "open it");
		return false;
	}
	if (read_pids(cgroup->target->arena, cgroup->fd, &pids, err) < 0)
		return false;
	for (size_t i = 0; i < pids.n; i++)
		if (pids.items[i] == cgroup->target->pid)
			return true;
	error_set(err, 0, "process %d is not in it", (int)cgroup->target->pid);
	return false;
}

/*
 * Runs in: the host's mount and cgroup namespaces. Trusts: procfs, the kernel's cgroup file
 * systems. Hostile: nothing of the image is looked at; a mount over a cgroup file is refused
 * (NO_XDEV).
 */
int cgroup_open(const struct device_cgroup_target *target, enum cgroup_version version,
		const struct proc_cgroup *line, struct cgroup *ret_cgroup, struct error *err)
{
	const char *problem;
	struct cgroup cgroup = {.target = target, .version = version, .root_fd = -1, .fd = -1};

	*ret_cgroup = cgroup;
	cgroup.path = path_clean(target->arena, line->path, &problem);
	if (!cgroup.path && !problem)
		return error_memory(err);
	if (!cgroup.path)
		return error_set(err, 0, "outside of our cgroup namespace: its path %s", problem);
	error_set(err, 0, "no cgroup file system at /sys/fs/cgroup shows it");
	for (unsigned i = 0; i < N_PLACES; i++) {
		cgroup.root_fd = open_place(&cgroup, line->controllers, i);
		if (cgroup.root_fd < 0)
			continue;
		if (open_and_verify(&cgroup, err)) {
			*err = (struct error){0};
			*ret_cgroup = cgroup;
			return 0;
		}
		cgroup_close(&cgroup);
	}
	return err->errnum ? -err->errnum : -EINVAL;
}

int cgroup_open_level(const struct cgroup *cgroup, const char *path, struct cgroup *ret_cgroup,
		      struct error *err)
{
	*ret_cgroup = *cgroup;
	ret_cgroup->path = path;
	ret_cgroup->fd = cgroup_open_below(cgroup->root_fd, path[1] ? path + 1 : ".",
					   O_RDONLY | O_DIRECTORY);
	return ret_cgroup->fd < 0 ? error_set(err, errno, "open cgroup %s", SHOW(path)) : 0;
}

void cgroup_close(struct cgroup *cgroup)
{
	close_fd(&cgroup->fd);
	close_fd(&cgroup->root_fd);
}

/* ---- Whose is it? ---- */

/* `kind`: "pid" or "mnt". */
static int open_ns(const struct cgroup *cgroup, pid_t pid, const char *kind)
{
	char path[32];

	snprintf(path, sizeof(path), "%d/ns/%s", (int)pid, kind);
	return openat(cgroup->target->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

static int open_pid_ns(const struct cgroup *cgroup, pid_t pid)
{
	return open_ns(cgroup, pid, "pid");
}

/* The same namespaces of two processes; false when either has ended. */
static bool is_same_ns(const struct cgroup *cgroup, pid_t a, pid_t b, const char *kind)
{
	_cleanup_fd_ int fd_a = open_ns(cgroup, a, kind);
	_cleanup_fd_ int fd_b = open_ns(cgroup, b, kind);
	struct stat st_a, st_b;

	return fd_a >= 0 && fd_b >= 0 && fstat(fd_a, &st_a) == 0 && fstat(fd_b, &st_b) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

/*
 * 1: `pid` is in pid namespace `ns` or below it, or has ended; 0: it is not. A container that shares
 * our pid namespace has everybody in it: there its mount namespace, which it must have of its own,
 * tells its processes from others.
 */
static int is_inside(const struct cgroup *cgroup, const struct stat *ns, pid_t pid,
		     struct error *err)
{
	struct stat st;

	if (pid == 0)
		return 0;
	_cleanup_fd_ int fd = open_pid_ns(cgroup, pid);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return 1;
	if (fd < 0)
		return error_set(err, errno, "open pid namespace of %d", pid);
	if (is_same_ns(cgroup, cgroup->target->pid, getpid(), "pid"))
		return is_same_ns(cgroup, cgroup->target->pid, pid, "mnt");
	for (int level = 0; level <= MAX_PID_NS_LEVEL; level++) {
		if (fstat(fd, &st) < 0)
			return error_set(err, errno, "stat pid namespace of %d", pid);
		if (st.st_dev == ns->st_dev && st.st_ino == ns->st_ino)
			return 1;
		int parent = ioctl(fd, NS_GET_PARENT);
		/* EPERM: there is none, or it lies above ours, as the container's never does. */
		if (parent < 0 && errno == EPERM)
			return 0;
		if (parent < 0)
			return error_set(err, errno, "parent of pid namespace of %d", pid);
		close_fd(&fd);
		fd = parent;
	}
	return 0;
}

/* Adds the directories in `dirfd`, whose own path is `path`, to `dirs`. */
static int list_below(struct arena *arena, int dirfd, const char *path, struct string_list *dirs,
		      struct error *err)
{
	int fd = cgroup_open_below(dirfd, ".", O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!dir) {
		close_fd(&fd);
		return error_set(err, errno, "list cgroup");
	}
	while (r == 0) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		/* Whoever is in a cgroup that is not listed would not be seen. */
		if (!entry && errno != 0)
			r = error_set(err, errno, "list cgroup");
		if (!entry)
			break;
		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (dirs->n == MAX_BELOW) {
			r = error_set(err, 0, "more than %d cgroups below it", MAX_BELOW);
			break;
		}
		const char **slot = array_add(arena, dirs);
		if (!slot || !(*slot = arena_printf(arena, "%s/%s", path, entry->d_name)))
			r = error_memory(err);
	}
	closedir(dir);
	return r;
}

/*
 * `*ret_pid`: the first process in `dirfd` that is not the container's, -1 for one without a number
 * here, 0 for none.
 */
static int stranger_in(const struct cgroup *cgroup, const struct stat *ns, int dirfd,
		       pid_t *ret_pid, struct error *err)
{
	struct proc_pid_list pids;

	int r = read_pids(cgroup->target->arena, dirfd, &pids, err);
	if (r < 0)
		return r;
	*ret_pid = 0;
	for (size_t i = 0; i < pids.n && *ret_pid == 0; i++) {
		r = is_inside(cgroup, ns, pids.items[i], err);
		if (r < 0)
			return r;
		if (r == 0)
			*ret_pid = pids.items[i] ? pids.items[i] : -1;
	}
	return 0;
}

/* The same for the cgroup and all below it. */
static int find_stranger(const struct cgroup *cgroup, const struct stat *ns, pid_t *ret_pid,
			 struct error *err)
{
	struct arena *arena = cgroup->target->arena;
	struct string_list dirs = {0};
	const char **first = array_add(arena, &dirs);

	if (!first)
		return error_memory(err);
	*first = ".";
	*ret_pid = 0;
	for (size_t i = 0; i < dirs.n && *ret_pid == 0; i++) {
		_cleanup_fd_ int fd =
			cgroup_open_below(cgroup->fd, dirs.items[i], O_RDONLY | O_DIRECTORY);
		if (fd < 0 && errno == ENOENT && i > 0)
			continue;
		if (fd < 0)
			return error_set(err, errno, "open cgroup %s", SHOW(dirs.items[i]));
		int r = stranger_in(cgroup, ns, fd, ret_pid, err);
		if (r == 0)
			r = list_below(arena, fd, dirs.items[i], &dirs, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Runs in: the host's pid namespace. Trusts: procfs, cgroupfs. Hostile: whoever shares the cgroup.
 */
int cgroup_check_alone(const struct cgroup *cgroup, struct error *err)
{
	const struct timespec pause = {.tv_nsec = LEAVING_PAUSE_NS};
	_cleanup_fd_ int fd = open_pid_ns(cgroup, cgroup->target->pid);
	pid_t stranger = 0;
	struct stat ns;

	if (fd < 0 || fstat(fd, &ns) < 0)
		return error_set(err, errno, "open pid namespace of the container");
	for (int i = 0; i < LEAVING_TRIES; i++) {
		int r = find_stranger(cgroup, &ns, &stranger, err);
		if (r < 0 || stranger == 0)
			return r;
		nanosleep(&pause, NULL);
	}
	char who[64] = "a process that we cannot see";
	if (stranger > 0)
		snprintf(who, sizeof(who), "process %d, which is none of its own,", (int)stranger);
	return error_say(err, EXIT_CODE_CGROUP, "not the container's alone: %s is in it", who);
}

void cgroup_note_left_alone(const struct cgroup *cgroup)
{
	note_add(cgroup->target->notes, NOTE_WARNING,
		 "cgroup %s limits devices, but is ours or the host's: left as it is",
		 SHOW(cgroup->path));
}

/* ---- Whose unit is it? ---- */

/*
 * Whether another cgroup than `own` stands at `path`, with or without a "_" before each directory's
 * name from the one at `at` on. Above that the path is as it is.
 */
static int stands_elsewhere(const struct cgroup *cgroup, const char *path, size_t at,
			    const char *own, struct error *err)
{
	const size_t len = strcspn(path + at, "/");
	struct arena *arena = cgroup->target->arena;
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		const char *escape = i == 0 ? "" : "_";
		const size_t end = at + strlen(escape) + len;
		const char *whole =
			arena_printf(arena, "%.*s%s%s", (int)at, path, escape, path + at);
		const char *level = whole ? arena_strndup(arena, whole, end) : NULL;
		if (!level)
			return error_memory(err);
		_cleanup_fd_ int fd =
			cgroup_open_below(cgroup->root_fd, level + 1, O_PATH | O_DIRECTORY);
		if (fd < 0 && (errno == ENOENT || errno == ENAMETOOLONG))
			continue;
		if (fd < 0)
			return error_set(err, errno, "open cgroup %s", SHOW(level));
		r = whole[end] ? stands_elsewhere(cgroup, whole, end + 1, own, err)
			       : strcmp(whole, own) != 0;
	}
	return r;
}

/*
 * Whether systemd's cgroup for the unit is another one. The name of a cgroup proves nothing: whoever
 * may name the container's can give it, or one above it, the name of somebody else's unit, or that
 * with a "_" in front.
 */
static int is_elsewhere(const struct cgroup *cgroup, const struct systemd_unit *unit,
			struct error *err)
{
	const char *path = unit_text_cgroup(cgroup->target->arena, &unit->devices, unit->name);

	return path ? stands_elsewhere(cgroup, path, 1, unit->cgroup, err) : error_memory(err);
}

/* Runs in: the host's namespaces. Trusts: cgroupfs, root's files below /run/systemd. Hostile: nothing. */
int cgroup_find_unit(const struct cgroup *cgroup, struct systemd_unit *ret_unit, struct error *err)
{
	struct systemd_unit unit;
	struct cgroup scope;

	*ret_unit = (struct systemd_unit){0};
	int r = systemd_find_unit(cgroup->target->arena, cgroup->path, &unit, err);
	if (r < 0 || !unit.name)
		return r;
	r = is_elsewhere(cgroup, &unit, err);
	if (r > 0)
		note_add(cgroup->target->notes, NOTE_INFO,
			 "unit %s: its cgroup is another one than %s", SHOW(unit.name),
			 SHOW(unit.cgroup));
	if (r != 0)
		return r < 0 ? r : 0;
	r = cgroup_open_level(cgroup, unit.cgroup, &scope, err);
	if (r < 0)
		return r;
	r = cgroup_check_alone(&scope, err);
	close_fd(&scope.fd);
	/* Nobody else was seen, but not everybody could be looked at. */
	if (r < 0 && err->errnum != 0)
		return r;
	if (r == 0) {
		*ret_unit = unit;
	} else {
		char text[ERROR_TEXT_MAX];
		note_add(cgroup->target->notes, NOTE_INFO, "unit %s: %s", SHOW(unit.name),
			 error_text(err, text));
		*err = (struct error){0};
	}
	return 0;
}
