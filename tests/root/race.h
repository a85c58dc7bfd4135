/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A world for races: a root file system of our own with a container's root in it, a process on another processor that exchanges a
 * directory on the way for links that lead out of that root, and a list of all that lies outside, by inode. Whoever follows such
 * a link there changes something on that list: its directories' times tell even of what was taken back again.
 */
#include <dirent.h>
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
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The container's root. What must stay as it is: "/", "/there", "/outside" and "/source" with all that is in them. */
#define RACE_ROOT "/bundle/rootfs"
/* What is in each of them and in the directory that is exchanged, so that a path has a meaning wherever it leads. */
#define RACE_THERE "there"

struct race_entry {
	int fd;
	bool spot; /* nothing is to be done with it but to mount on it */
	struct stat st;
};

struct race_world {
	struct race_entry entries[512]; /* all that lies outside */
	size_t n;
	char mounts[16384]; /* the mount table */
};

static void race_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd, path);
	must(write(fd, text, strlen(text)), path);
	must(close(fd), path);
}

/* So many files and directories stand there to mount on, and a file to change the mode of. */
#define RACE_SPOTS 64

static void race_make_there(const char *above, unsigned spots)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" RACE_THERE, above);
	must(mkdir(path, 0755), path);
	for (unsigned i = 0; i < spots; i++) {
		snprintf(path, sizeof(path), "%s/" RACE_THERE "/file%u", above, i);
		race_write(path, "");
		snprintf(path, sizeof(path), "%s/" RACE_THERE "/directory%u", above, i);
		must(mkdir(path, 0755), path);
	}
	snprintf(path, sizeof(path), "%s/" RACE_THERE "/mode", above);
	race_write(path, "");
}

/* The three ways out: "/", up and up again, and a path of the host. */
static const char *const race_links[] = {"opt/1", "opt/2", "opt/3"};

static void race_make_root(unsigned spots)
{
	must(mkdir(RACE_ROOT, 0755), RACE_ROOT);
	must(mkdir(RACE_ROOT "/opt", 0755), "opt");
	must(mkdir(RACE_ROOT "/opt/dir", 0755), "opt/dir");
	must(mkdir(RACE_ROOT "/outside", 0755), "outside");
	must(mkdir(RACE_ROOT "/etc", 0755), "etc");
	race_make_there(RACE_ROOT "/opt/dir", spots);
	/* Where the links lead inside. */
	race_make_there(RACE_ROOT, spots);
	race_make_there(RACE_ROOT "/outside", spots);
	must(symlink("/", RACE_ROOT "/opt/1"), "link");
	must(symlink("../../../../../../..", RACE_ROOT "/opt/2"), "link");
	must(symlink("/outside", RACE_ROOT "/opt/3"), "link");
}

/* Only this process and its children are in it, and nothing of it is left when they end. */
static void race_make_world(unsigned spots)
{
	static const char *const directories[] = {"bundle", "outside", "source", "source/directory",
						  "proc",   "dev",     "run",    "bin",
						  "etc"};

	must(unshare(CLONE_NEWNS), "unshare");
	must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
	must(mount("tmpfs", "/run", "tmpfs", 0, "mode=755"), "tmpfs");
	must(chdir("/run"), "chdir");
	for (size_t i = 0; i < COUNT(directories); i++)
		must(mkdir(directories[i], 0755), directories[i]);
	must(mount("proc", "proc", "proc", 0, NULL), "proc");
	must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
	must(umount2(".", MNT_DETACH), "umount");
	must(chdir("/"), "chdir");
	must(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)), "mknod");
	must(mknod("/source/node", S_IFCHR | 0666, makedev(1, 3)), "mknod");
	race_write("/source/file", "file\n");
	race_make_there("/", spots);
	race_make_there("/outside", spots);
	race_make_root(spots);
	/* Times are counted in ticks: what comes now gets another one. */
	must(usleep(50 * 1000), "sleep");
}

static void race_note_entry(struct race_world *world, const char *path, bool spot)
{
	struct race_entry *entry = &world->entries[world->n++];

	must(world->n > COUNT(world->entries) ? -1 : 0, "too much is outside");
	entry->spot = spot;
	entry->fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	must(entry->fd, path);
	must(fstat(entry->fd, &entry->st), path);
}

static void race_note_tree(struct race_world *world, const char *top)
{
	DIR *dir = opendir(top);
	struct dirent *entry;
	char path[PATH_MAX];

	must(dir ? 0 : -1, top);
	race_note_entry(world, top, false);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		bool spot = strpbrk(entry->d_name, "0123456789");
		snprintf(path, sizeof(path), "%s/%s", top, entry->d_name);
		if (entry->d_type == DT_DIR && !spot)
			race_note_tree(world, path);
		else
			race_note_entry(world, path, spot);
	}
	closedir(dir);
}

static void race_read_mounts(pid_t pid, char *text, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd, path);
	while ((n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	must(n, path);
	text[len] = '\0';
	close(fd);
}

static void race_note_outside(struct race_world *world)
{
	world->n = 0;
	race_note_entry(world, "/", false);
	race_note_tree(world, "/" RACE_THERE);
	race_note_tree(world, "/outside");
	race_note_tree(world, "/source");
	race_note_tree(world, "/etc");
	race_read_mounts(getpid(), world->mounts, sizeof(world->mounts));
}

/* Whether anything outside was touched since then; it is noted anew. Spots are left out unless `all` is asked for. */
static bool race_is_touched(struct race_world *world, bool all)
{
	bool touched = false;

	for (size_t i = 0; i < world->n; i++) {
		if (world->entries[i].spot && !all)
			continue;
		struct stat st, *old = &world->entries[i].st;
		must(fstat(world->entries[i].fd, &st), "look at what lies outside");
		if (st.st_ino != old->st_ino || st.st_mode != old->st_mode ||
		    st.st_nlink != old->st_nlink || st.st_size != old->st_size ||
		    memcmp(&st.st_ctim, &old->st_ctim, sizeof(st.st_ctim)) != 0 ||
		    memcmp(&st.st_mtim, &old->st_mtim, sizeof(st.st_mtim)) != 0) {
			touched = true;
			*old = st;
		}
	}
	return touched;
}

/* Whether the mount table is still the same. */
static bool race_has_same_mounts(const struct race_world *world)
{
	static char now[sizeof(world->mounts)];

	race_read_mounts(getpid(), now, sizeof(now));
	return strcmp(now, world->mounts) == 0;
}

/* One of the first two processors that we may use, or none where there is only one; `other` than that of our process. */
static void race_run_on(pid_t pid, bool other)
{
	unsigned n = ((unsigned)pid + other) % 2;
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) < 0 || CPU_COUNT(&all) < 2)
		return;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && n-- == 0)
			CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

/* Exchanges the directory ("opt/dir") for each link in turn, on another processor, until it is killed; it rests for so long in between. */
static pid_t race_start(const char *directory, unsigned rest_us)
{
	pid_t parent = getpid(), pid = fork();

	must(pid, "fork");
	if (pid > 0)
		return pid;
	must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
	race_run_on(parent, true);
	/* Whatever is mounted there meanwhile: an exchange is of names of one mount. */
	must(chdir(RACE_ROOT), "chdir");
	for (size_t i = 0; getppid() == parent; i = (i + 1) % COUNT(race_links)) {
		if (rest_us)
			usleep(rest_us);
		must(renameat2(AT_FDCWD, directory, AT_FDCWD, race_links[i], RENAME_EXCHANGE),
		     "exchange");
		if (rest_us)
			usleep(rest_us);
		must(renameat2(AT_FDCWD, directory, AT_FDCWD, race_links[i], RENAME_EXCHANGE),
		     "exchange back");
	}
	_exit(0);
}

/* False when it has ended by itself: then it was no race. */
static bool race_stop(pid_t pid)
{
	int status;

	must(kill(pid, SIGKILL), "kill");
	must(waitpid(pid, &status, 0), "wait");
	return WIFSIGNALED(status);
}

/* Where the mount or file is that a descriptor stands for. */
__attribute__((unused)) static void race_path_of(int fd, char path[static PATH_MAX])
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, PATH_MAX - 1);
	must(n, link);
	path[n] = '\0';
}

static double race_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* All of it, instead of a share. */
static bool race_is_long(void)
{
	const char *text = getenv("LONG");

	return text && *text;
}
