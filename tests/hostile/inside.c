/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks from inside a container whether a plan's promises were kept: by descriptors, inside the container's root, and
 * without asking the hook.
 *
 *   inside PROMISE...                   as the container's first program
 *   inside --enter PID ROOT PROMISE...  enters the mount namespace of PID and makes ROOT its root first
 *   inside --run PID DIR CGROUPS PROGRAM [ARGUMENT]...
 *                                       runs PROGRAM as a runtime runs hooks of createContainer: a child in the namespaces
 *                                       of PID, in DIR, and in these cgroups (directories with ":" between them)
 *
 *   inside --wait DIR                   writes to DIR/there and reads from DIR/go: a hook before the one that is looked at
 *
 *   node:PATH:MAJOR:MINOR:MODE   a character device that the device cgroup lets us open
 *   same:PATH:DEV:INO:ro|rw      this very file or directory is mounted there
 *   tmpfs:PATH                   a tmpfs is mounted there
 *   link:PATH:TARGET             a link with this text
 *   mode:PATH:MODE               has this mode, if it is there
 *   cache:SONAME:PATH            the library cache leads to PATH first, if the image has a loader at all
 *
 * Each broken promise is a line "broken: WHAT". Descriptors behind 2 are broken promises too. The last line is "looked".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELDS 6
#define MAX_CACHE (32 * 1024 * 1024)

static __attribute__((format(printf, 1, 2))) void broken(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("broken: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

static void must(long r, const char *what)
{
	if (r >= 0)
		return;
	printf("inside: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check_node(char *const *field)
{
	struct stat st;
	int fd = open(field[1], O_PATH | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		broken("node %s: %s", field[1], strerror(errno));
		return;
	}
	close(fd);
	if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != (unsigned)atoi(field[2]) ||
	    minor(st.st_rdev) != (unsigned)atoi(field[3]))
		broken("node %s is mode %o, %u:%u", field[1], st.st_mode, major(st.st_rdev),
		       minor(st.st_rdev));
	else if ((st.st_mode & 07777) != strtoul(field[4], NULL, 8))
		broken("node %s has mode %o", field[1], st.st_mode);
	/* Whether there is a driver does not matter: the cgroup is asked before it. */
	fd = open(field[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	else if (errno == EPERM || errno == EACCES)
		broken("node %s cannot be opened: %s", field[1], strerror(errno));
}

static void check_same(char *const *field)
{
	int fd = open(field[1], O_PATH | O_CLOEXEC);
	struct statvfs statvfs;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || fstatvfs(fd, &statvfs) < 0)
		broken("mount %s: %s", field[1], strerror(errno));
	else if (st.st_dev != strtoull(field[2], NULL, 10) ||
		 st.st_ino != strtoull(field[3], NULL, 10))
		broken("mount %s shows something else", field[1]);
	else if (strcmp(field[4], "ro") == 0 && !(statvfs.f_flag & ST_RDONLY))
		broken("mount %s can be written to", field[1]);
	if (fd >= 0)
		close(fd);
}

static void check_tmpfs(char *const *field)
{
	int fd = open(field[1], O_PATH | O_CLOEXEC);
	struct statfs statfs;
	struct statx stx;

	if (fd < 0 || fstatfs(fd, &statfs) < 0 ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) < 0)
		broken("tmpfs %s: %s", field[1], strerror(errno));
	else if (statfs.f_type != TMPFS_MAGIC || !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		broken("tmpfs %s is none", field[1]);
	if (fd >= 0)
		close(fd);
}

static void check_link(char *const *field)
{
	char text[4096];
	ssize_t n = readlink(field[1], text, sizeof(text));

	if (n < 0)
		broken("link %s: %s", field[1], strerror(errno));
	else if ((size_t)n != strlen(field[2]) || memcmp(text, field[2], (size_t)n) != 0)
		broken("link %s is %.*s", field[1], (int)n, text);
}

/* The kernel's own links, such as /proc/self/cwd, are no part of an image. */
static void check_mode(char *const *field)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, field[1], &how, sizeof(how));
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || (st.st_mode & 07777) != strtoul(field[2], NULL, 8))
		broken("%s has mode %o", field[1], st.st_mode);
	close(fd);
}

/*
 * The library cache
 */

struct entry {
	int32_t flags;
	uint32_t soname, path, os_version;
	uint64_t hwcap;
};

struct header {
	char magic[20];
	uint32_t n_entries, len_strings;
	uint8_t flags, padding[3];
	uint32_t extension_offset, unused[3];
};

static bool has_loader(void)
{
	static const char *const loaders[] = {"/lib64/ld-linux-x86-64.so.2",
					      "/lib/ld-linux-aarch64.so.1"};

	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
		struct stat st;
		if (stat(loaders[i], &st) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

static size_t read_cache(char *data)
{
	struct stat st;
	size_t size = 0;
	ssize_t n;
	/* What an image has there must not hold us. */
	int fd = open("/etc/ld.so.cache", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_CACHE)
		return 0;
	while ((n = read(fd, data + size, MAX_CACHE - size)) > 0)
		size += (size_t)n;
	close(fd);
	return size;
}

/* The first entry of this soname, as a loader would take it; NULL for none. */
static const char *find_library(const char *data, size_t size, const char *soname)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	const char *start = memmem(data, size, magic, sizeof(magic) - 1);
	struct header header;

	if (!start || size - (size_t)(start - data) < sizeof(header))
		return NULL;
	size -= (size_t)(start - data);
	memcpy(&header, start, sizeof(header));
	for (uint32_t i = 0; i < header.n_entries; i++) {
		struct entry entry;
		if (sizeof(header) + (i + 1UL) * sizeof(entry) > size)
			return NULL;
		memcpy(&entry, start + sizeof(header) + i * sizeof(entry), sizeof(entry));
		if (entry.soname < size && entry.path < size &&
		    strcmp(start + entry.soname, soname) == 0)
			return start + entry.path;
	}
	return NULL;
}

static void check_cache(char *const *field)
{
	char *data = calloc(1, MAX_CACHE + 1);
	const char *path;

	if (!has_loader())
		return;
	path = data ? find_library(data, read_cache(data), field[1]) : NULL;
	if (!path)
		broken("the library cache does not have %s", field[1]);
	else if (strcmp(path, field[2]) != 0)
		broken("the library cache has %s at %s", field[1], path);
	free(data);
}

/*
 * All of them
 */

static void check(char *promise)
{
	static const struct {
		const char *word;
		size_t fields;
		void (*check)(char *const *field);
	} checks[] = {
		{"node", 5, check_node}, {"same", 5, check_same}, {"tmpfs", 2, check_tmpfs},
		{"link", 3, check_link}, {"mode", 3, check_mode}, {"cache", 3, check_cache},
	};
	char *field[FIELDS];
	size_t n = 0;

	for (char *word = strtok(promise, ":"); word && n < FIELDS; word = strtok(NULL, ":"))
		field[n++] = word;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (n == checks[i].fields && strcmp(field[0], checks[i].word) == 0) {
			checks[i].check(field);
			return;
		}
	broken("there is no promise %s", promise);
}

static void join_namespace(const char *pid, const char *name, int flag)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd, path);
	must(setns(fd, flag), path);
	close(fd);
}

static void enter(const char *pid, const char *root)
{
	join_namespace(pid, "mnt", CLONE_NEWNS);
	must(chroot(root), root);
	must(chdir("/"), "chdir");
}

static _Noreturn void become(const char *pid, const char *dir, char *cgroups, char **argv)
{
	for (char *cgroup = strtok(cgroups, ":"); cgroup; cgroup = strtok(NULL, ":")) {
		char path[4096];
		int fd;

		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		must(fd, path);
		must(write(fd, "0", 1), path);
		close(fd);
	}
	join_namespace(pid, "mnt", CLONE_NEWNS);
	must(chdir(dir), dir);
	execv(argv[0], argv);
	must(-1, argv[0]);
	exit(1);
}

static int run(const char *pid, const char *dir, char *cgroups, char **argv)
{
	int status = 0;
	pid_t child;

	join_namespace(pid, "pid", CLONE_NEWPID);
	join_namespace(pid, "ipc", CLONE_NEWIPC);
	child = fork();
	must(child, "fork");
	if (child == 0)
		become(pid, dir, cgroups, argv);
	must(waitpid(child, &status, 0), "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_for_runner(const char *dir)
{
	char path[4096], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/there", dir);
	fd = open(path, O_WRONLY);
	must(fd, path);
	must(write(fd, "t", 1), path);
	snprintf(path, sizeof(path), "%s/go", dir);
	fd = open(path, O_RDONLY);
	must(fd, path);
	must(read(fd, &byte, 1), path);
	return 0;
}

int main(int argc, char **argv)
{
	int first = 1;

	if (argc == 3 && strcmp(argv[1], "--wait") == 0)
		return wait_for_runner(argv[2]);

	if (argc > 5 && strcmp(argv[1], "--run") == 0)
		return run(argv[2], argv[3], argv[4], argv + 5);

	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			broken("descriptor %d is open", fd);
	if (argc > 3 && strcmp(argv[1], "--enter") == 0) {
		enter(argv[2], argv[3]);
		first = 4;
	}
	for (int i = first; i < argc; i++)
		check(argv[i]);
	printf("looked\n");
	return 0;
}
