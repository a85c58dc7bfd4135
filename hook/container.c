/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state names a process by a number and a root by a path. Both can come to mean something else,
 * and a mistake here makes every later step hit the host: so the process is held by a pidfd, the
 * namespaces are compared with ours and with those of the host's init, and the root must be the
 * very directory that the host saw under that path.
 */
#include "container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "fdio.h"
#include "path.h"
#include "sys.h"
#include "user-namespace.h"
#include "walk.h"

/* Linux 5.8; the headers of older C libraries lack it. */
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000
#endif

#define PROC_ROOT_INO 1

/*
 * A procfs that nobody has mounted anything over. Where the kernel is too old for one, the host's
 * /proc, which must be a procfs at its root. Runs in: host namespaces. Trusts: the kernel. Hostile:
 * nothing.
 */
static int open_proc(struct error *err)
{
	_cleanup_fd_ int fs = fsopen("proc", FSOPEN_CLOEXEC);
	_cleanup_fd_ int fd = -1;
	struct statfs statfs;
	struct stat st;

	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd >= 0)
		return TAKE_FD(fd);

	fd = open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "open /proc");
	if (fstatfs(fd, &statfs) < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "look at /proc");
	if (statfs.f_type != PROC_SUPER_MAGIC || st.st_ino != PROC_ROOT_INO)
		return error_say(err, EXIT_CODE_CONTAINER, "/proc is not a procfs");
	return TAKE_FD(fd);
}

/* The inode of a namespace: "self/ns/mnt", "1/ns/mnt", "4242/ns/user". */
static int namespace_inode(int proc_fd, const char *path, ino_t *ret_inode, struct error *err)
{
	struct stat st;

	if (fstatat(proc_fd, path, &st, 0) < 0)
		return error_set(err, errno, "look at /proc/%s", path);
	*ret_inode = st.st_ino;
	return 0;
}

/*
 * Runs in: host namespaces. Trusts: our procfs. Hostile: the pid, which may be anybody's.
 */
static int check_namespaces(struct container *container, const struct oci_config *config,
			    struct error *err)
{
	char path[64];
	ino_t theirs = 0, ours = 0, init = 0;
	struct error ignored = {0};
	int r;

	snprintf(path, sizeof(path), "%d/ns/mnt", container->pid);
	r = namespace_inode(container->proc_fd, path, &theirs, err);
	if (r == 0)
		r = namespace_inode(container->proc_fd, "self/ns/mnt", &ours, err);
	/* Root with less capabilities than init may not look at init: then being in another
	 * namespace than we must do. */
	if (r == 0 && namespace_inode(container->proc_fd, "1/ns/mnt", &init, &ignored) < 0)
		init = ours;
	if (r < 0)
		return r;
	if (theirs == ours || theirs == init)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "process %d has no mount namespace of its own but the host's: a "
				 "container without one "
				 "cannot be given devices by a hook",
				 container->pid);

	snprintf(path, sizeof(path), "%d/ns/user", container->pid);
	r = namespace_inode(container->proc_fd, path, &theirs, err);
	if (r == 0)
		r = namespace_inode(container->proc_fd, "self/ns/user", &ours, err);
	if (r < 0)
		return r;
	container->user_namespace = theirs != ours;
	if (config->user_namespace && theirs == ours)
		return error_say(
			err, EXIT_CODE_CONTAINER,
			"process %d is to have a user namespace by config.json, and is not "
			"in one",
			container->pid);
	return 0;
}

/* Runs in: host namespaces. Trusts: our procfs, the pidfd. Hostile: the pid, which may be anybody's by now. */
int container_open_namespace(const struct container *container, const char *name, struct error *err)
{
	_cleanup_fd_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "%d/ns/%s", container->pid, name);
	fd = openat(container->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "open /proc/%s", path);
	if (!sys_pidfd_is_there(container->pid_fd))
		return error_set(err, errno, "process %d, the container's first", container->pid);
	return TAKE_FD(fd);
}

/* Before Linux 5.3 its directory in procfs serves, which stays its own when the number is another's. */
static int open_pid(const struct container *container)
{
	int fd = pidfd_open(container->pid, 0);
	char path[16];

	if (fd >= 0 || errno != ENOSYS)
		return fd;
	snprintf(path, sizeof(path), "%d", container->pid);
	fd = openat(container->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		errno = ESRCH;
	return fd;
}

/* Opens what the process's number means, and proves afterwards that it meant one process all the
 * time. */
static int open_process(struct container *container, const struct oci_config *config,
			struct error *err)
{
	int r;

	container->pid_fd = open_pid(container);
	if (container->pid_fd < 0 && errno == ESRCH)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "process %d, the container's first, is gone", container->pid);
	if (container->pid_fd < 0)
		return error_set(err, errno, "pidfd_open %d", container->pid);

	r = check_namespaces(container, config, err);
	if (r < 0 && err->errnum == EACCES)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "the hook has no right to look at the container's process %d: an "
				 "engine without root is served at createContainer",
				 container->pid);
	if (r < 0)
		return r;
	container->mount_namespace_fd = container_open_namespace(container, "mnt", err);
	return container->mount_namespace_fd < 0 ? error_result(err) : 0;
}

/*
 * Runs in: the container's namespaces, the host's /proc still in view. Trusts: the kernel.
 * Hostile: nothing.
 */
static int check_inside(const struct container *container, struct error *err)
{
	struct stat init;
	ino_t ours = 0;
	int r = namespace_inode(container->proc_fd, "self/ns/mnt", &ours, err);

	if (r < 0)
		return r;
	/* The number of the host's init is 1 in the host's procfs, whatever it is in ours. */
	if (stat("/proc/1/ns/mnt", &init) == 0 && init.st_ino == ours)
		return error_say(
			err, EXIT_CODE_CONTAINER,
			"the hook runs in the host's mount namespace: this is not stage "
			"createContainer, or the container has no mount namespace of its own");
	return 0;
}

static bool is_host_root(const struct container *container, const struct stat *st)
{
	return st->st_dev == container->host_root_dev && st->st_ino == container->host_root_ino;
}

static bool is_container_root(const struct container *container, const struct stat *st)
{
	return st->st_dev == container->root_dev && st->st_ino == container->root_ino;
}

static int refuse_process_root(const struct container *container, struct error *err)
{
	return error_say(err, EXIT_CODE_CONTAINER,
			 "the root directory of process %d is neither the container's root %s nor "
			 "the host's: it is not the container's first process, or has changed its "
			 "root itself",
			 container->pid, SHOW(container->root_path));
}

/*
 * The number in the state may be any process's: only one of the container has its root, or still the
 * host's, until the runtime gives it its own. Asked before anything is changed.
 *
 * Runs in: host namespaces. Trusts: our procfs, the pidfd. Hostile: the pid.
 */
static int check_process_root(const struct container *container, struct error *err)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "%d/root", container->pid);
	if (fstatat(container->proc_fd, path, &st, 0) < 0)
		return error_set(err, errno, "look at /proc/%s", path);
	if (!sys_pidfd_is_there(container->pid_fd))
		return error_set(err, errno, "process %d, the container's first", container->pid);
	return is_host_root(container, &st) || is_container_root(container, &st)
		       ? 0
		       : refuse_process_root(container, err);
}

static int look_at_root(struct arena *arena, struct container *container, const char *bundle,
			const struct oci_config *config, struct error *err)
{
	struct stat st;

	if (!config->root_path || !config->root_path[0])
		return error_say(err, EXIT_CODE_CONTAINER,
				 "config.json of bundle %s has no root.path", SHOW(bundle));
	/* Made absolute before the namespace is entered, which moves the working directory. */
	container->root_path = config->root_path[0] == '/'
				       ? config->root_path
				       : arena_printf(arena, "%s/%s", bundle, config->root_path);
	if (!container->root_path)
		return error_memory(err);
	if (stat(container->root_path, &st) < 0)
		return error_set(err, errno, "container's root %s", SHOW(container->root_path));
	container->root_dev = st.st_dev;
	container->root_ino = st.st_ino;

	if (stat("/", &st) < 0)
		return error_set(err, errno, "look at /");
	container->host_root_dev = st.st_dev;
	container->host_root_ino = st.st_ino;
	if (container->root_dev == st.st_dev && container->root_ino == st.st_ino)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "container's root %s is the host's own root",
				 SHOW(container->root_path));
	return 0;
}

static int read_host_mounts(struct arena *arena, struct container *container, struct error *err)
{
	char *data;
	size_t size;
	int r = fdio_read_at(arena, container->proc_fd, "self/mountinfo", LIMIT_PROC_SIZE, &data,
			     &size, err);

	if (r < 0)
		return r;
	return mountinfo_parse(arena, data, size, &container->host_mounts, err);
}

/*
 * Runs in: host namespaces. Trusts: the runtime's state and config.json. Hostile: whatever the
 * numbers and paths in them have come to mean meanwhile.
 */
int container_open(struct arena *arena, struct container *container, pid_t pid, const char *bundle,
		   const struct oci_config *config, struct error *err)
{
	int r;

	if (pid <= 0)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "the state has no pid of the container's first process");
	container->pid = pid;
	container->proc_fd = open_proc(err);
	if (container->proc_fd < 0)
		return error_result(err);
	r = open_process(container, config, err);
	if (r == 0)
		r = user_namespace_look(arena, container, err);
	if (r == 0)
		r = look_at_root(arena, container, bundle, config, err);
	if (r == 0)
		r = check_process_root(container, err);
	if (r == 0)
		r = read_host_mounts(arena, container, err);
	if (r == 0)
		r = user_namespace_join(container, err);
	return r;
}

/* The path of the container's root as the mount table has it: without the links that config.json may name. */
static int real_root_path(const struct container *container, char path[static PATH_MAX],
			  struct error *err)
{
	_cleanup_fd_ int fd = open(container->root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[32];
	ssize_t n;

	if (fd < 0)
		return error_set(err, errno, "container's root %s", SHOW(container->root_path));
	snprintf(link, sizeof(link), "self/fd/%d", fd);
	n = readlinkat(container->proc_fd, link, path, PATH_MAX - 1);
	if (n < 0)
		return error_set(err, errno, "read where the container's root %s is",
				 SHOW(container->root_path));
	path[n] = '\0';
	return 0;
}

/* What is mounted below the container's root is the container's; the rest is the host's. */
static int drop_container_mounts(struct container *container, struct error *err)
{
	struct mountinfo *mounts = &container->host_mounts;
	char path[PATH_MAX];
	size_t n = 0;
	int r = real_root_path(container, path, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < mounts->n; i++)
		if (!path_is_below(mounts->items[i].mount_point, path))
			mounts->items[n++] = mounts->items[i];
	mounts->n = n;
	return 0;
}

static int find_inside(struct arena *arena, struct container *container, const char *bundle,
		       const struct oci_config *config, struct error *err)
{
	int r;

	container->inside = true;
	container->pid = getpid();
	container->proc_fd = open_proc(err);
	if (container->proc_fd < 0)
		return error_result(err);
	r = check_inside(container, err);
	if (r == 0)
		r = user_namespace_look(arena, container, err);
	if (r == 0)
		r = look_at_root(arena, container, bundle, config, err);
	return r;
}

/* Runs in, Trusts, Hostile: as container_enter(). */
int container_open_inside(struct arena *arena, struct container *container, const char *bundle,
			  const struct oci_config *config, struct error *err)
{
	int r = find_inside(arena, container, bundle, config, err);

	if (r == 0)
		r = read_host_mounts(arena, container, err);
	if (r == 0)
		r = drop_container_mounts(container, err);
	return r;
}

/*
 * Whether `fd` is the container's root: the directory that the host saw, where a mount begins. A
 * runtime binds the root file system onto itself before hooks run, so the plain directory below
 * that mount is a mistake.
 */
static int check_root(const struct container *container, int fd, const char *path,
		      struct error *err)
{
	struct statx stx;
	struct stat st;

	if (fstat(fd, &st) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) < 0)
		return error_set(err, errno, "look at the container's root %s", SHOW(path));
	if (is_host_root(container, &st))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "container's root %s is the host's own root", SHOW(path));
	if (!is_container_root(container, &st))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "container's root %s is another directory inside the container's "
				 "mount namespace than "
				 "outside (a runtime that runs virtual machines is served at "
				 "precreate only)",
				 SHOW(path));
	if ((stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	    !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return error_say(err, EXIT_CODE_CONTAINER,
				 "container's root %s is not a mount inside the container's mount "
				 "namespace: the "
				 "runtime has not set it up yet",
				 SHOW(path));
	return 0;
}

/*
 * The directory that the container's process has as its root now: the host's own, or what the
 * runtime was chrooted to, since hooks run before pivot_root. Entering a namespace has moved our
 * own root to that of the namespace, so a path of the host can be looked up only from here.
 */
static int open_process_root(const struct container *container, struct error *err)
{
	char path[64];
	int fd;

	if (container->inside)
		snprintf(path, sizeof(path), "self/root");
	else
		snprintf(path, sizeof(path), "%d/root", container->pid);
	fd = openat(container->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "open /proc/%s", path);
}

/* By the path that the host has for it. */
static int open_root_below(const struct container *container, int process_root_fd,
			   struct error *err)
{
	_cleanup_fd_ int fd = walk_open(process_root_fd, container->root_path, O_PATH | O_DIRECTORY,
					RESOLVE_IN_ROOT);

	if (fd < 0)
		return error_set(err, errno, "open the container's root %s",
				 SHOW(container->root_path));
	return check_root(container, fd, container->root_path, err) < 0 ? error_result(err)
									: TAKE_FD(fd);
}

static int mount_of(int dirfd, const char *path, int flags, uint64_t *ret_id, struct error *err)
{
	struct statx stx;

	if (statx(dirfd, path, flags, STATX_MNT_ID, &stx) < 0)
		return error_set(err, errno, "look at the root of the container's namespace");
	if (!(stx.stx_mask & STATX_MNT_ID))
		return error_set(err, ENOSYS, "statx gives no mount id (before Linux 5.8)");
	*ret_id = stx.stx_mnt_id;
	return 0;
}

/*
 * Whether the process's root is that of its mount namespace. A process that runs already may have
 * gone into a volume by chroot(), and what is made there is made in a directory of the host.
 *
 * Runs in: the container's mount namespace, which setns() has given us the root of. Trusts: the
 * kernel. Hostile: the process.
 */
static int check_namespace_root(const struct container *container, int process_root_fd,
				struct error *err)
{
	uint64_t its = 0, namespaces = 0;
	int r = mount_of(process_root_fd, "", AT_EMPTY_PATH, &its, err);

	if (r == 0)
		r = mount_of(AT_FDCWD, "/", 0, &namespaces, err);
	if (r == 0 && its != namespaces)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "the root directory of process %d is not that of its mount "
				 "namespace: it has gone into another directory by chroot()",
				 container->pid);
	return r;
}

/* As container_enter(), within the namespace of a process that is not ours. */
static int open_root(const struct container *container, int process_root_fd, struct error *err)
{
	struct stat st;

	if (fstat(process_root_fd, &st) < 0)
		return error_set(err, errno, "look at the root of process %d", container->pid);
	if (is_host_root(container, &st))
		return open_root_below(container, process_root_fd, err);
	/* crun from 1.29 on may have made the root the process's own already; for one that runs it always is. */
	if (!is_container_root(container, &st))
		return refuse_process_root(container, err);
	if (check_namespace_root(container, process_root_fd, err) < 0 ||
	    check_root(container, process_root_fd, "/", err) < 0)
		return error_result(err);
	int fd = fcntl(process_root_fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? error_set(err, errno, "duplicate a descriptor") : fd;
}

/*
 * Runs in: enters the container's mount namespace; the host's tree is still visible there,
 * pivot_root comes later. Trusts: the namespace fd, the root of the runtime's process, the path of
 * the container's root, which leads through host directories. Hostile: all below that; a process
 * that runs already (cdictl check --repair).
 */
int container_enter(const struct container *container, struct error *err)
{
	_cleanup_fd_ int process_root_fd = -1;
	struct error other = {0};

	if (!container->inside && setns(container->mount_namespace_fd, CLONE_NEWNS) < 0)
		return error_set(err, errno, "enter the mount namespace of process %d",
				 container->pid);
	process_root_fd = open_process_root(container, err);
	if (process_root_fd < 0)
		return error_result(err);
	if (!container->inside)
		return open_root(container, process_root_fd, err);

	int fd = open_root_below(container, process_root_fd, err);
	/* crun from 1.29 on may have made the root our own already. */
	if (fd >= 0 || check_root(container, process_root_fd, "/", &other) < 0)
		return fd;
	*err = (struct error){0};
	return TAKE_FD(process_root_fd);
}

/* Runs in, Trusts, Hostile: as container_enter(). */
int container_check_inside(struct arena *arena, struct container *container, const char *bundle,
			   const struct oci_config *config, struct error *err)
{
	int r = find_inside(arena, container, bundle, config, err);
	_cleanup_fd_ int fd = r < 0 ? r : container_enter(container, err);

	return fd < 0 ? fd : 0;
}

void container_close(struct container *container)
{
	close_fd(&container->pid_fd);
	close_fd(&container->proc_fd);
	close_fd(&container->mount_namespace_fd);
}
