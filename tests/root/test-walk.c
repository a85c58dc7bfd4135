/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk compared with openat2: on one tree with links of all kinds, every path of some components
 * must lead to the same inode or to the same error by both. And what only the walk itself could get
 * wrong: descriptors left open, a tree that changes under it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "sys.h"
#include "walk.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	must(dir, "/proc/self/fd");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void make_tree(void)
{
	static const struct {
		const char *target, *name;
	} links[] = {
		{"/", "root/abs"},
		{"/d/f", "root/absf"},
		{"../../../../d", "root/d/up"},
		{"f", "root/d/lf"},
		{".", "root/dot"},
		{"..", "root/dotdot"},
		{"nowhere", "root/hang"},
		{"l2", "root/l1"},
		{"l1", "root/l2"},
		{"d/", "root/slash"},
		{"f/", "root/d/fsl"},
		{"/m/..", "root/mdd"},
		{"/p/self/root", "root/magic"},
	};

	must(mkdir("root", 0755) == 0 && mkdir("root/d", 0755) == 0 &&
		     mkdir("root/d/e", 0755) == 0 && mkdir("root/m", 0755) == 0 &&
		     mkdir("root/p", 0755) == 0 && mkdir("d", 0755) == 0,
	     "mkdir");
	must(close(open("root/d/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) == 0, "file");
	must(close(open("d/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) == 0, "file");
	for (size_t i = 0; i < COUNT(links); i++)
		must(symlink(links[i].target, links[i].name) == 0, "symlink");
	must(mount("tmpfs", "root/m", "tmpfs", 0, NULL) == 0 && mkdir("root/m/e", 0755) == 0,
	     "tmpfs");
	must(mount("proc", "root/p", "proc", 0, NULL) == 0, "proc");
}

static unsigned differences;

static void compare(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	/* EAGAIN: something was renamed somewhere, and the kernel cannot tell whether it matters. */
	_cleanup_fd_ int kernels = -1;
	do
		kernels = sys_openat2(root_fd, path, flags | O_CLOEXEC, 0,
				      resolve | RESOLVE_NO_MAGICLINKS);
	while (kernels < 0 && errno == EAGAIN);
	int kernels_errno = errno;
	_cleanup_fd_ int ours = walk_path(root_fd, path, flags, resolve);
	int ours_errno = errno;
	struct stat a = {0}, b = {0};

	if (kernels >= 0 && ours >= 0 && fstat(kernels, &a) == 0 && fstat(ours, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return;
	if (kernels < 0 && ours < 0 && kernels_errno == ours_errno)
		return;
	if (differences++ < 20)
		printf("# \"%s\" flags %llo resolve %llx: kernel %s, walk %s\n", path,
		       (unsigned long long)flags, (unsigned long long)resolve,
		       kernels < 0 ? strerror(kernels_errno) : "opens",
		       ours < 0 ? strerror(ours_errno) : "opens");
}

static void compare_all(int root_fd)
{
	static const char *const parts[] = {
		"",   "d",     "f",   "..",  "abs", "absf", "up",    "lf", "dot",  "dotdot", "hang",
		"l1", "slash", "fsl", "mdd", "m",   "e",    "magic", "p",  "self", "none"};
	static const uint64_t flags[] = {O_PATH, O_PATH | O_DIRECTORY, O_PATH | O_NOFOLLOW,
					 O_PATH | O_DIRECTORY | O_NOFOLLOW};
	static const uint64_t resolves[] = {
		RESOLVE_IN_ROOT, RESOLVE_BENEATH, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
		RESOLVE_BENEATH | RESOLVE_NO_XDEV, RESOLVE_IN_ROOT | RESOLVE_NO_XDEV};
	char path[64];
	unsigned n = 0;

	for (size_t i = 0; i < COUNT(parts); i++)
		for (size_t j = 0; j < COUNT(parts); j++)
			for (size_t k = 0; k < COUNT(parts); k++)
				for (size_t f = 0; f < COUNT(flags); f++)
					for (size_t r = 0; r < COUNT(resolves); r++, n++) {
						snprintf(path, sizeof(path), "%s/%s/%s", parts[i],
							 parts[j], parts[k]);
						compare(root_fd, path, flags[f], resolves[r]);
					}
	printf("# %u paths\n", n);
}

/* One directory is exchanged with a link out of the root, again and again. */
static atomic_bool stop;

static void *exchange(void *data)
{
	(void)data;
	while (!stop)
		must(renameat2(AT_FDCWD, "root/x", AT_FDCWD, "root/y", RENAME_EXCHANGE) == 0,
		     "exchange");
	return NULL;
}

#define TRIES 100000

static bool race(int root_fd)
{
	_cleanup_fd_ int outside = open("d/f", O_PATH | O_CLOEXEC);
	unsigned inside = 0, failed = 0;
	pthread_t thread;
	struct stat out, st;

	must(mkdir("root/x", 0755) == 0 && symlink("../../d", "root/y") == 0, "mkdir");
	must(close(open("root/x/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) == 0, "file");
	must(fstat(outside, &out) == 0, "stat");
	must(pthread_create(&thread, NULL, exchange, NULL) == 0, "thread");
	bool escaped = false;
	for (unsigned i = 0; i < TRIES && !escaped; i++) {
		_cleanup_fd_ int fd =
			walk_path(root_fd, i % 2 ? "x/f" : "x/../x/f", O_PATH, RESOLVE_IN_ROOT);
		failed += fd < 0;
		inside += fd >= 0;
		escaped = fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == out.st_ino &&
			  st.st_dev == out.st_dev;
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("# %u led inside, %u failed\n", inside, failed);
	return !escaped && inside > 0;
}

/* Somebody else's renames, far away, make the kernel give up on paths with "..". */
static void *rename_elsewhere(void *data)
{
	(void)data;
	while (!stop)
		must(renameat2(AT_FDCWD, "elsewhere/a", AT_FDCWD, "elsewhere/b", RENAME_EXCHANGE) ==
			     0,
		     "exchange");
	return NULL;
}

static bool disturbed(int root_fd)
{
	unsigned again = 0, failed = 0;
	pthread_t thread;

	must(mkdir("elsewhere", 0755) == 0 && mkdir("elsewhere/a", 0755) == 0 &&
		     mkdir("elsewhere/b", 0755) == 0,
	     "mkdir");
	stop = false;
	must(pthread_create(&thread, NULL, rename_elsewhere, NULL) == 0, "thread");
	for (unsigned i = 0; i < TRIES; i++) {
		_cleanup_fd_ int once =
			sys_openat2(root_fd, "d/../d/../d", O_PATH | O_CLOEXEC, 0, RESOLVE_IN_ROOT);
		again += once < 0 && errno == EAGAIN;
		_cleanup_fd_ int fd = walk_open(root_fd, "d/../d/../d", O_PATH, RESOLVE_IN_ROOT);
		failed += fd < 0;
	}
	stop = true;
	pthread_join(thread, NULL);
	printf("# the kernel gave up %u times, we did %u times\n", again, failed);
	return failed == 0;
}

int main(void)
{
	char top[] = "/run/oci-cdi-hook-walk-XXXXXX";

	if (geteuid() != 0) {
		printf("needs root\n");
		return 77;
	}
	must(mkdtemp(top), "mkdtemp");
	must(unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
	     "unshare");
	must(mount("tmpfs", top, "tmpfs", 0, "mode=0755") == 0 && chdir(top) == 0, "tmpfs");
	make_tree();
	int root_fd = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t fds = count_fds();
	compare_all(root_fd);
	printf("%sok 1 - every path leads where openat2 leads\n", differences ? "not " : "");
	printf("%sok 2 - no descriptor is left open\n", count_fds() == fds ? "" : "not ");
	bool raced = race(root_fd);
	printf("%sok 3 - a directory that is exchanged with a link leads nowhere else\n",
	       raced ? "" : "not ");
	bool patient = disturbed(root_fd);
	printf("%sok 4 - renames elsewhere do not make a path fail\n", patient ? "" : "not ");
	printf("1..4\n");
	close(root_fd);
	must(chdir("/") == 0 && umount2(top, MNT_DETACH) == 0 && rmdir(top) == 0, "remove");
	return differences || !raced || !patient ? 1 : 0;
}
