/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before Linux 5.12 only mount(2) can change a mount's flags, and only those of a mount that is
 * attached in the caller's namespace. In the container's it would be seen, and could be used, before
 * the flags are set. So a child attaches it in a mount namespace that nobody else has, sets the
 * flags there, and clones it: a clone has the flags of its original from its beginning. The child
 * shares our table of descriptors, which is how the clone comes back.
 */
#include "mount-attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Headers of Debian 11 do not have them. */
#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif
#ifndef ST_NOSYMFOLLOW
#define ST_NOSYMFOLLOW 8192
#endif

static const struct {
	uint64_t attribute;
	unsigned long shown, flag; /* as statvfs(3) has it, and mount(2) */
} flags[] = {
	{MOUNT_ATTR_RDONLY, ST_RDONLY, MS_RDONLY},
	{MOUNT_ATTR_NOSUID, ST_NOSUID, MS_NOSUID},
	{MOUNT_ATTR_NODEV, ST_NODEV, MS_NODEV},
	{MOUNT_ATTR_NOEXEC, ST_NOEXEC, MS_NOEXEC},
	{MOUNT_ATTR_NODIRATIME, ST_NODIRATIME, MS_NODIRATIME},
	{MOUNT_ATTR_NOSYMFOLLOW, ST_NOSYMFOLLOW, MS_NOSYMFOLLOW},
};

bool mount_attributes_are_shown(unsigned long shown, uint64_t attr_set, uint64_t attr_clear)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if ((shown & flags[i].shown) ? attr_clear & flags[i].attribute
					     : attr_set & flags[i].attribute)
			return false;
	return true;
}

/* The access time is one value and not a flag: kept as it is unless the attributes name it. */
static unsigned long atime_flag(const struct mount_attr *attributes, unsigned long shown)
{
	if (!(attributes->attr_clr & MOUNT_ATTR__ATIME))
		return shown & ST_NOATIME    ? MS_NOATIME
		       : shown & ST_RELATIME ? MS_RELATIME
					     : MS_STRICTATIME;
	switch (attributes->attr_set & MOUNT_ATTR__ATIME) {
	case MOUNT_ATTR_NOATIME:
		return MS_NOATIME;
	case MOUNT_ATTR_STRICTATIME:
		return MS_STRICTATIME;
	default:
		return MS_RELATIME;
	}
}

static unsigned long wanted_flags(const struct mount_attr *attributes, unsigned long shown)
{
	unsigned long wanted = atime_flag(attributes, shown);

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if ((attributes->attr_set & flags[i].attribute) ||
		    ((shown & flags[i].shown) && !(attributes->attr_clr & flags[i].attribute)))
			wanted |= flags[i].flag;
	return wanted;
}

/* Runs in: the child's own mount namespace. Trusts, Hostile: as mount_attributes_set(). 0 or errno. */
static int set_and_clone(int tree_fd, const struct mount_attr *attributes, bool recursive)
{
	struct statvfs shown;
	struct stat st;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || fstatvfs(tree_fd, &shown) < 0 ||
	    fstat(tree_fd, &st) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	/* Something of its kind that is there on every host, and that nobody else sees covered. */
	const char *place = S_ISDIR(st.st_mode) ? "/proc/sys" : "/proc/version";
	int place_fd = open(place, O_PATH | O_CLOEXEC);
	if (place_fd < 0 || move_mount(tree_fd, "", place_fd, "",
				       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return errno;
	close(place_fd);
	unsigned long wanted = wanted_flags(attributes, shown.f_flag);
	if (mount(NULL, place, NULL, MS_REMOUNT | MS_BIND | wanted, NULL) < 0)
		return errno;
	if (attributes->propagation &&
	    mount(NULL, place, NULL, attributes->propagation | (recursive ? MS_REC : 0UL), NULL) <
		    0)
		return errno;
	int clone_fd =
		open_tree(AT_FDCWD, place,
			  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0U));
	if (clone_fd < 0)
		return errno;
	int r = dup3(clone_fd, tree_fd, O_CLOEXEC) < 0 ? errno : 0;
	close(clone_fd);
	return r;
}

/* Runs in, Trusts, Hostile: as mount_attributes_set(). */
static int set_by_child(int tree_fd, const struct mount_attr *attributes, bool recursive)
{
	int status = 0;
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		return -1;
	if (pid == 0)
		_exit(set_and_clone(tree_fd, attributes, recursive));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return -1;
}

int mount_attributes_set(int tree_fd, const struct mount_attr *attributes, bool recursive)
{
	struct mount_attr all = *attributes, propagation = {.propagation = attributes->propagation};
	int r = 0;

	all.propagation = recursive ? 0 : attributes->propagation;
	if (all.attr_set || all.attr_clr || all.propagation)
		r = mount_setattr(tree_fd, "", AT_EMPTY_PATH, &all, sizeof(all));
	if (r == 0 && recursive && propagation.propagation)
		r = mount_setattr(tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &propagation,
				  sizeof(propagation));
	if (r == 0 || errno != ENOSYS)
		return r;
	return set_by_child(tree_fd, attributes, recursive);
}
