/* SPDX-License-Identifier: Apache-2.0 */
/*
 * race-hook HOOK LIBRARY
 *
 * Whole runs of the hook, each on a fresh container, while a directory that most of its paths pass, or the container's /etc, is
 * exchanged for links that lead out of the root. A run is done or refused with a sentence; outside of the root nothing is touched,
 * and after a refusal the root has the same inodes as before.
 *
 * With LONG=1 as many runs as a release wants.
 */
#include <ftw.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "race.h"

#define RUNS 300
#define RUNS_LONG 10000
#define MAX_SECONDS 15.0
#define MAX_SECONDS_LONG 7200.0

/* Exit codes of refusals: the root, a mount or node, the library cache, a hook. */
#define FIRST_REFUSAL 7
#define LAST_REFUSAL 11

static const char config[] = "{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"rootfs\"},"
			     "\"process\":{\"user\":{\"uid\":0,\"gid\":0}}}";

/* One device that is a single mount, and one that is all that there is. */
static const char spec[] =
	"{\"cdiVersion\":\"0.6.0\",\"kind\":\"example.com/race\",\"devices\":["
	"{\"name\":\"file\",\"containerEdits\":{\"mounts\":["
	"{\"hostPath\":\"/source/file\",\"containerPath\":\"/opt/dir/there/file0\","
	"\"options\":[\"ro\",\"bind\"]}]}},"
	"{\"name\":\"all\",\"containerEdits\":{\"deviceNodes\":["
	"{\"path\":\"/opt/dir/there/node\",\"hostPath\":\"/source/node\"}],\"mounts\":["
	"{\"hostPath\":\"/source/directory\",\"containerPath\":\"/opt/dir/there/directory0\","
	"\"options\":[\"ro\",\"rbind\"]},"
	"{\"hostPath\":\"/source/librace.so.1\",\"containerPath\":\"/opt/dir/new/librace.so.1\","
	"\"options\":[\"ro\",\"bind\"]},"
	"{\"hostPath\":\"tmpfs\",\"type\":\"tmpfs\",\"containerPath\":\"/opt/dir/new/tmpfs\"}],"
	"\"hooks\":[{\"hookName\":\"createContainer\",\"path\":\"/usr/bin/nvidia-cdi-hook\","
	"\"args\":[\"nvidia-cdi-hook\",\"create-symlinks\",\"--link\",\"file::/opt/dir/there/"
	"new\"]},"
	"{\"hookName\":\"createContainer\",\"path\":\"/usr/bin/nvidia-cdi-hook\",\"args\":["
	"\"nvidia-cdi-hook\",\"chmod\",\"--mode\",\"600\",\"--path\",\"/opt/dir/there/"
	"mode\"]}]}}]}";

struct outcome {
	unsigned done, refused, wrong;
};

/*
 * The root, by inode
 */

struct inode {
	ino_t ino;
	mode_t mode;
	off_t size;
};

#define MAX_INODES 256
static struct inode inodes[MAX_INODES];
static size_t n_inodes;

static int note_inode(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)type;
	(void)ftw;
	if (n_inodes == MAX_INODES)
		return -1;
	inodes[n_inodes++] = (struct inode){
		.ino = st->st_ino,
		.mode = st->st_mode,
		/* A directory's size depends on who was in it. */
		.size = S_ISREG(st->st_mode) ? st->st_size : 0,
	};
	return 0;
}

static int compare_inodes(const void *a, const void *b)
{
	const struct inode *first = a, *second = b;

	return first->ino < second->ino ? -1 : first->ino > second->ino;
}

static size_t list_root(struct inode list[MAX_INODES])
{
	n_inodes = 0;
	must(nftw(RACE_ROOT, note_inode, 16, FTW_PHYS), "list the root");
	qsort(inodes, n_inodes, sizeof(*inodes), compare_inodes);
	memset(list, 0, MAX_INODES * sizeof(*list));
	for (size_t i = 0; i < n_inodes; i++) {
		list[i].ino = inodes[i].ino;
		list[i].mode = inodes[i].mode;
		list[i].size = inodes[i].size;
	}
	return n_inodes;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void make_root_anew(void)
{
	must(nftw(RACE_ROOT, remove_one, 16, FTW_PHYS | FTW_DEPTH), "remove the root");
	race_make_root(1);
	must(mkdir(RACE_ROOT "/lib64", 0755), "mkdir");
	race_write(RACE_ROOT "/lib64/ld-linux-x86-64.so.2", "");
	must(mkdir(RACE_ROOT "/lib", 0755), "mkdir");
	race_write(RACE_ROOT "/lib/ld-linux-aarch64.so.1", "");
}

/*
 * A container, as a runtime leaves it at createRuntime
 */

static pid_t start_container(void)
{
	int ready[2];
	char byte;

	must(pipe2(ready, O_CLOEXEC), "pipe");
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, 0L, 0L, 0L, 0L);
	must(pid, "clone");
	if (pid == 0) {
		must(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
		must(mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private /");
		must(mount(RACE_ROOT, RACE_ROOT, NULL, MS_BIND, NULL), "bind the root");
		must(write(ready[1], "r", 1), "write");
		for (;;)
			pause();
	}
	close(ready[1]);
	must(read(ready[0], &byte, 1) == 1 ? 0 : -1, "start a container");
	close(ready[0]);
	return pid;
}

/* How many mounts lie outside of the root, in the mount table of a process. */
static size_t count_outside(pid_t pid)
{
	static char mounts[16384];
	size_t n = 0;
	char *rest = NULL, point[PATH_MAX];

	race_read_mounts(pid, mounts, sizeof(mounts));
	for (char *line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		must(sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 ? 0 : -1, "mountinfo");
		n += strncmp(point, RACE_ROOT, strlen(RACE_ROOT)) != 0;
	}
	return n;
}

/* Returns the exit status as of waitpid(); what it said goes to `words`. */
static int run_hook(pid_t container, bool all, char *words, size_t size)
{
	int input = memfd_create("state", MFD_CLOEXEC), output = memfd_create("words", MFD_CLOEXEC);
	int status;

	must(input, "memfd");
	must(output, "memfd");
	must(dprintf(input,
		     "{\"ociVersion\":\"1.0.2\",\"id\":\"race\",\"status\":\"creating\",\"pid\":%d,"
		     "\"bundle\":\"/bundle\",\"annotations\":{}}",
		     (int)container),
	     "write the state");
	must(lseek(input, 0, SEEK_SET), "seek");
	pid_t pid = fork();
	must(pid, "fork");
	if (pid == 0) {
		must(dup2(input, 0), "dup2");
		must(dup2(output, 1), "dup2");
		must(dup2(output, 2), "dup2");
		execl("/bin/hook", "oci-cdi-hook", "--spec-dir=/etc/cdi", "--no-cgroup",
		      "--device=example.com/race=file",
		      all ? "--device=example.com/race=all" : "--no-cgroup", "createRuntime", NULL);
		_exit(127);
	}
	must(waitpid(pid, &status, 0), "wait");
	ssize_t n = pread(output, words, size - 1, 0);
	must(n, "read what it said");
	words[n] = '\0';
	close(input);
	close(output);
	return status;
}

/* A fresh container each time; the directory or the container's /etc, with all kinds of rests or none. */
static void one_run(unsigned i, struct race_world *world, struct outcome *outcome)
{
	static struct inode before[MAX_INODES], after[MAX_INODES];
	const char *wrong = NULL;
	char words[8192];

	make_root_anew();
	size_t n_before = list_root(before);
	pid_t container = start_container();
	pid_t renamer = race_start(i % 8 == 7 ? "etc" : "opt/dir", i % 3 * (i % 7) * 100);
	int status = run_hook(container, i % 2, words, sizeof(words));
	bool raced = race_stop(renamer);
	bool escaped = count_outside(container) != count_outside(getpid());
	must(kill(container, SIGKILL), "kill");
	must(waitpid(container, NULL, 0), "wait");
	size_t n_after = list_root(after);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	outcome->done += code == 0;
	outcome->refused += code >= FIRST_REFUSAL && code <= LAST_REFUSAL;
	if (escaped)
		wrong = "a mount is outside of the root";
	else if (race_is_touched(world, true))
		wrong = "something outside was touched";
	else if (!race_has_same_mounts(world))
		wrong = "the mount table is another";
	else if (!raced)
		wrong = "nobody exchanged anything";
	else if (code != 0 && (code < FIRST_REFUSAL || code > LAST_REFUSAL))
		wrong = "it neither did it nor refused";
	else if (code != 0 && strncmp(words, "oci-cdi-hook: ", strlen("oci-cdi-hook: ")) != 0)
		wrong = "it refused without a sentence";
	else if (code != 0 && (n_before != n_after || memcmp(before, after, sizeof(before)) != 0))
		wrong = "it refused and left something";
	else if (strstr(words, "undo:"))
		wrong = "its undo failed";
	if (!wrong)
		return;
	if (outcome->wrong++ < 10)
		printf("# run %u: %s; status %#x: %s\n", i, wrong, (unsigned)status, words);
}

static void copy_file(int from, const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	ssize_t n;

	must(fd, path);
	while ((n = sendfile(fd, from, NULL, 1 << 20)) > 0)
		;
	must(n, path);
	must(close(fd), path);
}

int main(int argc, char **argv)
{
	const unsigned runs = race_is_long() ? RUNS_LONG : RUNS;
	const double most = race_is_long() ? MAX_SECONDS_LONG : MAX_SECONDS;
	static struct race_world world;
	struct outcome outcome = {0};
	unsigned n = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: race-hook HOOK LIBRARY\n");
		return 2;
	}
	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	int hook = open(argv[1], O_RDONLY | O_CLOEXEC),
	    library = open(argv[2], O_RDONLY | O_CLOEXEC);
	must(hook, argv[1]);
	must(library, argv[2]);
	umask(022);
	race_make_world(1);
	copy_file(hook, "/bin/hook", 0755);
	copy_file(library, "/source/librace.so.1", 0644);
	must(mkdir("/etc/cdi", 0755), "mkdir");
	race_write("/etc/cdi/race.json", spec);
	race_write("/bundle/config.json", config);
	race_note_outside(&world);

	const double began = race_seconds();
	while (n < runs && race_seconds() - began < most)
		one_run(n++, &world, &outcome);
	printf("# %u whole runs: %u done, %u refused, %u wrong; %.0f s, %.1f ms a run\n", n,
	       outcome.done, outcome.refused, outcome.wrong, race_seconds() - began,
	       (race_seconds() - began) * 1e3 / n);
	bool ok = outcome.wrong == 0 && outcome.done > 0 && outcome.refused > 0 &&
		  (!race_is_long() || n == runs);
	printf("%sok 1 - whole runs while a directory is exchanged for links\n1..1\n",
	       ok ? "" : "not ");
	return ok ? 0 : 1;
}
