/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What openat2(2) does in one step of the kernel, step by step. Each component is opened by its name
 * alone and without following it, in the directory that was opened before; a link is read from its own
 * descriptor, and its text takes the place of its name. ".." goes back to the descriptor that we
 * came from and is never asked of the kernel. So whatever is renamed or exchanged meanwhile, we are
 * never above the root: a directory that was moved away only leads to where it is now.
 */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "bounds.h"
#include "cleanup.h"
#include "sys.h"

#define PROC_ROOT_INO 1

/*
 * openat2 answers EAGAIN when a rename or mount anywhere on the host disturbs a path with "..": worth a few tries, no more. On a busy
 * machine that time may be over before we are there again, so some are made whatever it takes.
 */
#define AGAIN_NANOSECONDS (5 * 1000 * 1000)
#define AGAIN_TRIES 128

struct walk {
	uint64_t flags, resolve;
	int dirs[LIMIT_PATH_DEPTH]; /* where we came through; the first is borrowed */
	unsigned n_dirs;
	unsigned links;
	uint64_t mount_id;   /* with RESOLVE_NO_XDEV */
	char rest[PATH_MAX]; /* what is still to be walked */
};

static int fail(int errnum)
{
	errno = errnum;
	return -1;
}

static int top(const struct walk *walk)
{
	return walk->dirs[walk->n_dirs - 1];
}

static void pop_to(struct walk *walk, unsigned n)
{
	while (walk->n_dirs > n)
		close_fd(&walk->dirs[--walk->n_dirs]);
}

static void walk_done(struct walk *walk)
{
	pop_to(walk, 1);
}

static int look_up_mount(int fd, uint64_t *ret_id)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return -1;
	if (!(stx.stx_mask & STATX_MNT_ID))
		return fail(EOPNOTSUPP);
	*ret_id = stx.stx_mnt_id;
	return 0;
}

static int check_mount(const struct walk *walk, int fd)
{
	uint64_t id;

	if (!(walk->resolve & RESOLVE_NO_XDEV))
		return 0;
	if (look_up_mount(fd, &id) < 0)
		return -1;
	return id == walk->mount_id ? 0 : fail(EXDEV);
}

static int go_up(struct walk *walk)
{
	if (walk->n_dirs > 1)
		pop_to(walk, walk->n_dirs - 1);
	else if (walk->resolve & RESOLVE_BENEATH)
		return fail(EXDEV);
	return check_mount(walk, top(walk));
}

/* The kernel's own links lead by what they stand for; all but those at procfs' root are such. */
static bool is_magic(const struct walk *walk, int fd)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(fd, &fs) < 0 || fstat(top(walk), &st) < 0 ||
	       ((unsigned long)fs.f_type == PROC_SUPER_MAGIC && st.st_ino != PROC_ROOT_INO);
}

/* The link's text takes its place before `rest`. */
static int follow(struct walk *walk, int fd, const char *rest)
{
	char text[PATH_MAX];

	if ((walk->resolve & RESOLVE_NO_SYMLINKS) || ++walk->links > LIMIT_SYMLINKS ||
	    is_magic(walk, fd))
		return fail(ELOOP);
	ssize_t n = readlinkat(fd, "", text, sizeof(text));
	if (n < 0)
		return -1;
	const size_t rest_len = strlen(rest);
	if (n == 0)
		return fail(ENOENT);
	if ((size_t)n + 1 + rest_len >= sizeof(walk->rest))
		return fail(ENAMETOOLONG);
	if (text[0] == '/' && (walk->resolve & RESOLVE_BENEATH))
		return fail(EXDEV);
	if (text[0] == '/')
		pop_to(walk, 1);
	/* `rest` lies in walk->rest, behind the name of the link, or is empty. */
	memmove(walk->rest + n + (rest_len > 0), rest, rest_len + 1);
	memcpy(walk->rest, text, (size_t)n);
	if (rest_len > 0)
		walk->rest[n] = '/';
	return check_mount(walk, top(walk));
}

/* Cuts the first component off walk->rest: it starts at `*ret_name`, and what follows it is returned. */
static char *cut(struct walk *walk, char **ret_name)
{
	char *name = walk->rest + strspn(walk->rest, "/");
	char *end = name + strcspn(name, "/");

	*ret_name = name;
	if (!*end)
		return end;
	*end = '\0';
	return end + 1;
}

enum { STEP_ON = 0, STEP_END = 1 };

/* One component. STEP_END: `*ret_fd` is what the path leads to. -1 and errno on failure. */
static int step(struct walk *walk, int *ret_fd)
{
	char *name, *rest = cut(walk, &name);
	/* A slash at the end asks for a directory, and for a link's target. */
	const bool last = !rest[strspn(rest, "/")], slash = last && rest != name + strlen(name);
	struct stat st;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		const bool up = name[0] && name[1];
		memmove(walk->rest, rest, strlen(rest) + 1);
		return up && go_up(walk) < 0 ? -1 : STEP_ON;
	}
	_cleanup_fd_ int fd = openat(top(walk), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || check_mount(walk, fd) < 0)
		return -1;
	if (S_ISLNK(st.st_mode) && (!last || slash || !(walk->flags & O_NOFOLLOW)))
		return follow(walk, fd, slash ? "." : rest) < 0 ? -1 : STEP_ON;
	if (!S_ISDIR(st.st_mode)) {
		if (!last || slash || (walk->flags & O_DIRECTORY))
			return fail(ENOTDIR);
		*ret_fd = TAKE_FD(fd);
		return STEP_END;
	}
	if (walk->n_dirs == LIMIT_PATH_DEPTH)
		return fail(ENAMETOOLONG);
	walk->dirs[walk->n_dirs++] = TAKE_FD(fd);
	memmove(walk->rest, rest, strlen(rest) + 1);
	return STEP_ON;
}

int walk_path(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	__attribute__((cleanup(walk_done))) struct walk walk = {
		.flags = flags, .resolve = resolve, .dirs = {dirfd}, .n_dirs = 1};

	if (!(flags & O_PATH))
		return fail(EINVAL);
	if (!*path)
		return fail(ENOENT);
	if (strlen(path) >= sizeof(walk.rest))
		return fail(ENAMETOOLONG);
	if (*path == '/' && (resolve & RESOLVE_BENEATH))
		return fail(EXDEV);
	memcpy(walk.rest, path, strlen(path) + 1);
	if ((resolve & RESOLVE_NO_XDEV) && look_up_mount(dirfd, &walk.mount_id) < 0)
		return -1;
	while (walk.rest[0]) {
		int fd, r = step(&walk, &fd);
		if (r != STEP_ON)
			return r < 0 ? -1 : fd;
	}
	return fcntl(top(&walk), F_DUPFD_CLOEXEC, 3);
}

static long long now_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int walk_open(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	long long end = 0;
	int fd, tries = 0;

	/* The clock is looked at only where there is something to wait for. */
	do {
		if (tries == 1)
			end = now_ns() + AGAIN_NANOSECONDS;
		fd = sys_openat2(dirfd, path, flags | O_CLOEXEC, 0,
				 resolve | RESOLVE_NO_MAGICLINKS);
	} while (fd < 0 && errno == EAGAIN && (tries++ < AGAIN_TRIES || now_ns() < end));
	return fd < 0 && errno == ENOSYS ? walk_path(dirfd, path, flags, resolve) : fd;
}
