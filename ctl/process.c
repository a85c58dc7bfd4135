/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cdictl check looks into a running container as root, and the container may do what it likes meanwhile. So nothing of it
 * is ever opened but as a name (O_PATH), paths are resolved by the kernel inside the container's root, and the descriptors
 * of the process's directory and root stay the same process's from the first look to the last.
 */
#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cleanup.h"

/* "pid" and 20 digits, or a name of ours below it. */
#define PATH_SIZE 64
/* How often a path is looked up that others disturb. */
#define LOOK_TRIES 1000

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- Opening ---- */

static int no_access(struct error *err, const char *what)
{
	int errnum = errno;

	if (errnum == EACCES || errnum == EPERM)
		return error_say(err, EXIT_CODE_CONTAINER, "only root may look at it");
	if (errnum == ENOENT || errnum == ESRCH)
		return error_say(err, EXIT_CODE_CONTAINER, "it has ended");
	return error_set(err, errnum, "look at its %s", what);
}

/* `path` is that of the same thing of a process that is surely the host's. */
static int is_host(int proc_fd, const char *name, const char *path, struct error *err)
{
	struct stat its, host;

	if (fstatat(proc_fd, name, &its, 0) < 0)
		return no_access(err, name);
	return stat(path, &host) == 0 && is_same(&its, &host);
}

static int check_container(int proc_fd, struct error *err)
{
	static const char *const hosts_namespaces[] = {"/proc/self/ns/mnt", "/proc/1/ns/mnt"};
	static const char *const hosts_roots[] = {"/", "/proc/1/root"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2; i++)
		r = is_host(proc_fd, "ns/mnt", hosts_namespaces[i], err);
	if (r > 0)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "no container: it is in the mount namespace of the host");
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = is_host(proc_fd, "root", hosts_roots[i], err);
	if (r > 0)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "no container: its root directory is that of the host");
	return r;
}

/* Of libmount; without its cache, which would look paths of the container up on the host. */
int process_read_mounts(struct process *process, struct error *err)
{
	_cleanup_fd_ int fd = openat(process->proc_fd, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	int r;

	if (!stream)
		return no_access(err, "mountinfo");
	TAKE_FD(fd);
	mnt_unref_table(process->mounts);
	process->mounts = mnt_new_table();
	r = process->mounts ? mnt_table_parse_stream(process->mounts, stream, "mountinfo")
			    : -ENOMEM;
	fclose(stream);
	return r < 0 ? error_set(err, -r, "read its mounts") : 0;
}

static int open_all(struct process *process, struct error *err)
{
	char path[PATH_SIZE];
	int r;

	snprintf(path, sizeof(path), "/proc/%d", process->pid);
	process->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (process->proc_fd < 0 && errno == ENOENT)
		return error_say(err, EXIT_CODE_CONTAINER, "there is none");
	if (process->proc_fd < 0)
		return no_access(err, "process");
	r = check_container(process->proc_fd, err);
	if (r < 0)
		return r;
	process->root_fd = openat(process->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process->root_fd < 0)
		return no_access(err, "root");
	return process_read_mounts(process, err);
}

int process_open(struct process *process, pid_t pid, struct error *err)
{
	*process = (struct process)PROCESS_NULL;
	process->pid = pid;
	if (open_all(process, err) == 0)
		return 0;
	process_close(process);
	error_prefix(err, "process %d", pid);
	return error_class(err, EXIT_CODE_CONTAINER);
}

void process_close(struct process *process)
{
	mnt_unref_table(process->mounts);
	process->mounts = NULL;
	close_fd(&process->root_fd);
	close_fd(&process->proc_fd);
}

bool process_is_mapped(const struct process *process)
{
	struct stat its, ours;

	return fstatat(process->proc_fd, "ns/user", &its, 0) < 0 ||
	       stat("/proc/self/ns/user", &ours) < 0 || !is_same(&its, &ours);
}

int process_check_alive(const struct process *process, struct error *err)
{
	struct stat st;

	/* A process that has ended has no root any more, though its directory may stay until it is waited for. */
	if (fstatat(process->proc_fd, "root", &st, 0) == 0)
		return 0;
	return error_say(err, EXIT_CODE_CONTAINER, "process %d: it ended meanwhile", process->pid);
}

/* ---- Looking ---- */

static struct libmnt_fs *find_mount(const struct process *process, uint64_t id)
{
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs = NULL;

	while (iter && mnt_table_next_fs(process->mounts, iter, &fs) == 0) {
		if ((uint64_t)mnt_fs_get_id(fs) == id)
			break;
		fs = NULL;
	}
	mnt_free_iter(iter);
	return fs;
}

/*
 * Runs in: the host's namespaces. Trusts: the kernel, which resolves the path inside the root that the descriptor stands for.
 * Hostile: every name and link on the way; nothing of it is opened for more than its type, numbers and mount.
 */
int process_look(const struct process *process, const char *path, struct process_file *ret_file,
		 struct error *err)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct statx statx_;

	*ret_file = (struct process_file){0};
	_cleanup_fd_ int fd = -1;
	/* EAGAIN: a rename or mount anywhere on the host disturbed a path with "..". */
	for (int i = 0; i < LOOK_TRIES && fd < 0 && (i == 0 || errno == EAGAIN); i++)
		fd = (int)syscall(SYS_openat2, process->root_fd, path, &how, sizeof(how));
	if (fd < 0)
		return error_set(err, errno, "%s", SHOW(path));
	if (fstat(fd, &ret_file->st) < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &statx_) < 0)
		return error_set(err, errno, "look at %s", SHOW(path));
	ret_file->mount_root = statx_.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	ret_file->mount = find_mount(process, statx_.stx_mnt_id);
	return 0;
}

/* ---- Finding ---- */

struct search {
	DIR *proc;
	struct stat root;
	pid_t pid; /* 0: none yet */
	unsigned long long started;
	struct stat pid_namespace; /* of `pid` */
	pid_t other;               /* the first of another container; 0: none */
};

/* Field 22 of /proc/PID/stat, which is behind the program's name in brackets, whatever is in that. */
static bool read_start(int proc_fd, pid_t pid, unsigned long long *ret_started)
{
	char path[PATH_SIZE], text[1024], *at;

	snprintf(path, sizeof(path), "%d/stat", pid);
	_cleanup_fd_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %llu", ret_started) == 1;
}

/* Takes the process when it is in the root, and the earliest of those in it. */
static void search_add(struct search *search, pid_t pid)
{
	int proc_fd = dirfd(search->proc);
	unsigned long long started;
	struct stat namespace;
	struct statx root;
	char path[PATH_SIZE];

	/* Without a question to the file system: anybody's process may have a root that never answers. */
	snprintf(path, sizeof(path), "%d/root", pid);
	if (statx(proc_fd, path, AT_STATX_DONT_SYNC, STATX_INO, &root) < 0 ||
	    makedev(root.stx_dev_major, root.stx_dev_minor) != search->root.st_dev ||
	    root.stx_ino != search->root.st_ino)
		return;
	snprintf(path, sizeof(path), "%d/ns/pid", pid);
	if (fstatat(proc_fd, path, &namespace, 0) < 0 || !read_start(proc_fd, pid, &started))
		return;
	if (search->pid && !is_same(&namespace, &search->pid_namespace))
		search->other = pid;
	if (search->pid && started >= search->started)
		return;
	search->pid = pid;
	search->started = started;
	search->pid_namespace = namespace;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int process_find(int root_fd, pid_t *ret_pid, struct error *err)
{
	__attribute__((cleanup(close_dir))) DIR *proc = opendir("/proc");
	struct search search = {.proc = proc};
	const struct dirent *entry;

	if (!proc)
		return error_set(err, errno, "open /proc");
	if (fstat(root_fd, &search.root) < 0)
		return error_set(err, errno, "look at the root");
	while (errno = 0, (entry = readdir(proc))) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")] == '\0')
			search_add(&search, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	if (errno != 0)
		return error_set(err, errno, "list /proc");
	if (!search.pid)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "no process that we may look at has its root: does it run? "
				 "--pid=PID names one");
	if (search.other)
		return error_say(err, EXIT_CODE_CONTAINER,
				 "several containers have its root, such as those of the processes "
				 "%d and %d: --pid=PID says which one is meant",
				 search.pid, search.other);
	*ret_pid = search.pid;
	return 0;
}
