/* SPDX-License-Identifier: Apache-2.0 */
/* device_cgroup_allow() where systemd has made the scope; who plays systemd is a process of ours. */
#include "device-cgroup-cases.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- systemd ---- */

enum talk { TALK_ANSWER, TALK_HANG, TALK_REFUSE, TALK_REJECT, TALK_HANG_UP, TALK_BABBLE };

/* What the one who plays systemd has heard; shared with him. */
static struct heard {
	unsigned calls;
	size_t n;
	char bytes[8192];
} * heard;

#define UNIT_DIR "/run/systemd/transient"

static void write_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write %s", path);
}

/* A reply to call `serial`, as systemd sends it; with `error` a refusal. */
static void send_reply(int fd, uint8_t serial, bool error)
{
	const uint8_t ok[] = {'l', 2, 1, 1, 0, 0, 0,   0, 9,      0, 0, 0,
			      8,   0, 0, 0, 5, 1, 'u', 0, serial, 0, 0, 0};
	const uint8_t refusal[] = {
		'l', 3, 1,   1, 8,      0,   0,   0, 9,   0,   0,   0, 31, 0, 0, 0, /* head */
		5,   1, 'u', 0, serial, 0,   0,   0,                                /* reply to */
		4,   1, 's', 0, 3,      0,   0,   0, 'a', '.', 'b', 0, 0,  0, 0, 0, /* name */
		8,   1, 'g', 0, 1,      's', 0,   0, /* the body's type */
		3,   0, 0,   0, 'n',    'o', '!', 0};

	(void)!write(fd, error ? refusal : ok, error ? sizeof(refusal) : sizeof(ok));
}

/*
 * What systemd does on v2 when it is told: its program on the scope, and the one that takes its place, which allows the
 * devices, and is exchanged again when that is taken back. -1: it does nothing.
 */
static int scope_fd = -1, systemds_fd = -1, allowing_fd = -1;

static bool has_heard(const char *word)
{
	return memmem(heard->bytes, heard->n, word, strlen(word));
}

static void talk_once(int fd, enum talk talk)
{
	static const char babble[] = "OK 00\r\nx this is no message at all";

	heard->n = 0;
	if (talk == TALK_HANG_UP)
		return;
	while (!has_heard("Ping")) {
		ssize_t n = read(fd, heard->bytes + heard->n, sizeof(heard->bytes) - heard->n);
		if (n <= 0)
			return;
		heard->n += (size_t)n;
	}
	heard->calls++;
	if (allowing_fd >= 0) {
		const int other = systemds_fd;
		attach(scope_fd, allowing_fd, BPF_F_ALLOW_MULTI, systemds_fd);
		systemds_fd = allowing_fd;
		allowing_fd = other;
	}
	if (talk == TALK_HANG)
		pause();
	if (talk == TALK_REJECT) {
		(void)!write(fd, "REJECTED EXTERNAL\r\n", 19);
		return;
	}
	if (talk == TALK_BABBLE) {
		(void)!write(fd, babble, sizeof(babble) - 1);
		return;
	}
	/* In two pieces: an answer may come in any. */
	(void)!write(fd, "OK 0123456789ab", 15);
	usleep(1000);
	(void)!write(fd, "cdef\r\n", 6);
	send_reply(fd, 1, talk == TALK_REFUSE);
	send_reply(fd, 2, false);
}

/* A process that listens where systemd would. It lives as long as the case. */
static void play_systemd(enum talk talk)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/private"};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		     listen(listener, 8) == 0,
	     "listen at %s", address.sun_path);
	const pid_t parent = getpid();
	if (clone_process(0) == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		for (;;) {
			int fd = accept(listener, NULL, NULL);
			talk_once(fd, talk);
			close(fd);
		}
	}
	close(listener);
}

/* A scope around the container, with such a unit file. */
static void make_unit(const char *settings)
{
	char path[PATH_MAX], text[1024];

	must(mount("tmpfs", "/run/systemd", "tmpfs", 0, "mode=0755") == 0, "mount a tmpfs");
	must(mkdir(UNIT_DIR, 0755) == 0, "mkdir %s", UNIT_DIR);
	snprintf(path, sizeof(path), UNIT_DIR "/%s", parent_name);
	snprintf(text, sizeof(text), "# This is a transient unit file.\n[Scope]\nSlice=x.slice\n%s",
		 settings);
	write_file(path, text);
	heard = mmap(NULL, sizeof(*heard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	must(heard != MAP_FAILED, "mmap");
}

static const char strict[] = "DevicePolicy=strict\nDeviceAllow=/dev/char/1:3 rwm\n";

/* Null and the two rules. */
static int load_allowing(struct fixture *f)
{
	const struct device_filter old = {.insns = null_only, .n = COUNT(null_only)};
	struct device_filter filter;

	must(device_filter_allow(&f->arena, &old, two_rules, COUNT(two_rules), &filter, &f->err) ==
		     0,
	     "make a program");
	return load_named(filter.insns, filter.n, "sd_devices");
}

/* The runtime's limit on the container's cgroup, and systemd's on the scope. */
static void limit_as_systemd(struct fixture *f)
{
	limit(f);
	if (f->version == V1)
		return;
	_cleanup_fd_ int fd = load_named(null_only, COUNT(null_only), "sd_devices");
	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
}

/* As systemd does it for a unit that has the devices in its list. */
static void limit_as_systemd_that_knows(struct fixture *f)
{
	limit(f);
	if (f->version == V1)
		return;
	_cleanup_fd_ int fd = load_allowing(f);
	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
}

/* A systemd that acts on what it is told. The descriptors are the player's, and close with the case. */
static void play_systemd_that_acts(struct fixture *f)
{
	limit_as_systemd(f);
	if (f->version == V2) {
		uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
		must(query(f->parent_fd, ids, &flags) == 1, "systemd's program");
		scope_fd = f->parent_fd;
		systemds_fd = open_program(ids[0]);
		allowing_fd = load_allowing(f);
	}
	play_systemd(TALK_ANSWER);
	close_fd(&systemds_fd);
	close_fd(&allowing_fd);
}

/* Whether the scope's program is systemd's own still. */
static bool is_systemds_there(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
	struct bpf_prog_info info = {0};
	union bpf_attr attr;

	if (query(f->parent_fd, ids, &flags) != 1)
		return false;
	memset(&attr, 0, sizeof(attr));
	attr.prog_id = ids[0];
	_cleanup_fd_ int fd =
		(int)__real_syscall(SYS_bpf, (long)BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	must(__real_syscall(SYS_bpf, (long)BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0,
	     "info");
	return strcmp(info.name, "sd_devices") == 0;
}

static void case_systemd_told(struct fixture *f)
{
	make_unit(strict);
	play_systemd_that_acts(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(heard->calls == 1, "%u calls", heard->calls);
	check(has_heard("SetUnitProperties") && has_heard(parent_name), "no such call");
	check(has_heard("/dev/char/10:229") && has_heard("/dev/char/1:11"), "not all devices");
	check(!has_heard("/dev/char/1:3"), "the whole list");
	check(!has_note(f, "systemd"), "a warning");
	if (f->version == V2)
		check(is_systemds_there(f), "systemd's program was changed");
	check_open(f);
	check(f->undo.steps.n > 1, "%zu steps to undo", f->undo.steps.n);

	/*
	 * Taken back: the list as it was, and nothing of ours in it. By then the hook has entered the container, where the path
	 * of the socket leads elsewhere.
	 */
	must(mount("tmpfs", "/run/systemd", "tmpfs", 0, "mode=0755") == 0, "mount over it");
	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo fails");
	check(heard->calls == 2 && has_heard("/dev/char/1:3"), "the old list is not set again");
	check(!has_heard("/dev/char/10:229"), "ours is in the old list");
	check_closed(f);
}

/* It answers, and its program refuses the devices all the same. */
static void case_systemd_deaf(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_ANSWER);
	limit_as_systemd(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(heard->calls == 1, "%u calls", heard->calls);
	check_open(f);
	check(has_note(f, "systemd was told of the devices, and its program") == (f->version == V2),
	      "noted, or not");
	undo_to(&f->undo, 0, &f->err);
	check_closed(f);
}

static void case_systemd_knows(struct fixture *f)
{
	char path[PATH_MAX];

	make_unit(strict);
	snprintf(path, sizeof(path), UNIT_DIR "/%s.d", parent_name);
	must(mkdir(path, 0755) == 0, "mkdir");
	snprintf(path, sizeof(path), UNIT_DIR "/%s.d/50-DeviceAllow.conf", parent_name);
	write_file(path, "[Scope]\nDeviceAllow=\nDeviceAllow=/dev/char/1:3 rwm\n"
			 "DeviceAllow=/dev/char/1:11 r\nDeviceAllow=/dev/char/10:229 rwm\n");
	play_systemd(TALK_ANSWER);
	limit_as_systemd_that_knows(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(heard->calls == 0, "%u calls", heard->calls);
	if (f->version == V2)
		check(is_systemds_there(f), "systemd's program was changed");
}

/* A first entry would take all other devices away. */
static void case_systemd_no_list(struct fixture *f)
{
	make_unit("DevicePolicy=auto\n");
	play_systemd(TALK_ANSWER);
	limit(f);
	check_whole_round(f);
	check(heard->calls == 0, "%u calls", heard->calls);
	check(!has_note(f, "daemon-reload"), "a warning");
}

static void case_systemd_shared(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_ANSWER);
	limit(f);
	move_to(f->parent_fd, spawn(0, 0));
	check_whole_round(f);
	check(heard->calls == 0, "%u calls", heard->calls);
}

/* The unit's cgroup may be the one with a "_" in front, which systemd gives to some names: then it is none of the container's. */
static void case_systemd_elsewhere(struct fixture *f)
{
	char path[PATH_MAX];

	make_unit("Slice=-.slice\nDevicePolicy=strict\nDeviceAllow=/dev/char/1:3 rwm\n");
	play_systemd(TALK_ANSWER);
	limit(f);
	snprintf(path, sizeof(path), "%s/_%s", mounted[f->version], parent_name);
	must(mkdir(path, 0755) == 0, "mkdir %s", path);
	const int r = allow(f, two_rules, COUNT(two_rules));
	must(rmdir(path) == 0, "rmdir %s", path);
	check_done(f, r);
	check_open(f);
	check(heard->calls == 0, "%u calls", heard->calls);
	check(has_note(f, "its cgroup is another one than"), "not noted");
}

/* The devices open all the same, and the warning has `words` and says until when. */
static void check_untold(struct fixture *f, const char *words)
{
	limit_as_systemd(f);
	check_closed(f);
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(has_note(f, words), "no note \"%s\"", words);
	check(has_note(f, "from the next systemctl daemon-reload or change of the unit on"),
	      "until when?");
	if (f->version == V2)
		check(!is_systemds_there(f), "systemd's program was not changed");
	undo_to(&f->undo, 0, &f->err);
	check_closed(f);
}

static void case_systemd_absent(struct fixture *f)
{
	make_unit(strict);
	check_untold(f, "systemd: connect to /run/systemd/private: No such file or directory");
}

static void case_systemd_hangs(struct fixture *f)
{
	struct timespec from, to;

	make_unit(strict);
	play_systemd(TALK_HANG);
	clock_gettime(CLOCK_MONOTONIC, &from);
	check_untold(f, "systemd: no answer within 1000 ms");
	clock_gettime(CLOCK_MONOTONIC, &to);
	check(to.tv_sec - from.tv_sec < 5, "%ld seconds", (long)(to.tv_sec - from.tv_sec));
}

static void case_systemd_refuses(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_REFUSE);
	check_untold(f, "systemd: it refuses: no!");
}

static void case_systemd_rejects(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_REJECT);
	check_untold(f, "systemd: it does not let us in");
}

static void case_systemd_hangs_up(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_HANG_UP);
	check_untold(f, "systemd: ");
}

static void case_systemd_babbles(struct fixture *f)
{
	make_unit(strict);
	play_systemd(TALK_BABBLE);
	check_untold(f, "systemd: its answer is no D-Bus message");
}

static void case_systemd_bad_unit(struct fixture *f)
{
	make_unit("this is no setting\n");
	play_systemd(TALK_ANSWER);
	check_untold(f, "line 4: no setting of a unit file");
	check(heard->calls == 0, "%u calls", heard->calls);
}

static uint32_t pinned_id(const char *path)
{
	struct bpf_prog_info info = {0};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	_cleanup_fd_ int fd = (int)__real_syscall(SYS_bpf, (long)BPF_OBJ_GET, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	must(__real_syscall(SYS_bpf, (long)BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0,
	     "pinned program");
	return info.id;
}

/* As crun from 1.23 on has it: one program, on the scope, which systemd attaches from its pin. */
static void case_systemd_pinned(struct fixture *f)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], flags;
	char settings[PATH_MAX + 64], path[PATH_MAX];
	union bpf_attr attr;

	snprintf(path, sizeof(path), "%s/bpf", top);
	must(mkdir(path, 0700) == 0 && mount("bpf", path, "bpf", 0, NULL) == 0, "mount bpf");
	snprintf(path, sizeof(path), "%s/bpf/crun_scope", top);
	snprintf(settings, sizeof(settings), "BPFProgram=device:%s\n", path);
	make_unit(settings);
	_cleanup_fd_ int fd = load(null_only, COUNT(null_only));
	attach(f->parent_fd, fd, BPF_F_ALLOW_MULTI, -1);
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uintptr_t)path;
	attr.bpf_fd = (uint32_t)fd;
	must(__real_syscall(SYS_bpf, (long)BPF_OBJ_PIN, &attr, sizeof(attr)) == 0, "pin");
	const uint32_t old = pinned_id(path);

	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check_open(f);
	check(query(f->parent_fd, ids, &flags) == 1 && ids[0] != old, "not replaced");
	check(pinned_id(path) == ids[0], "pinned is another one than attached");
	const size_t steps = f->undo.steps.n;
	check_done(f, allow(f, two_rules, COUNT(two_rules)));
	check(f->undo.steps.n == steps && pinned_id(path) == ids[0],
	      "the second time changed something");
	/* In the container the path leads elsewhere. */
	snprintf(settings, sizeof(settings), "%s/bpf", top);
	must(mount("tmpfs", settings, "tmpfs", 0, NULL) == 0, "mount over it");
	f->err = (struct error){0};
	undo_to(&f->undo, 0, &f->err);
	check(!error_is_set(&f->err), "undo fails");
	must(umount2(settings, MNT_DETACH) == 0, "umount");
	check(pinned_id(path) == old, "the old one is not pinned again");
	check_closed(f);
}

static const struct test_case cases[] = {
	{"systemd: told, its own program is left to it", BOTH, case_systemd_told},
	{"systemd: told, and does nothing", BOTH, case_systemd_deaf},
	{"systemd: it knows the devices already", BOTH, case_systemd_knows},
	{"systemd: a unit without a list", BOTH, case_systemd_no_list},
	{"systemd: a unit that is not the container's alone", BOTH, case_systemd_shared},
	{"systemd: a unit whose cgroup may be another one", BOTH, case_systemd_elsewhere},
	{"systemd: not there", BOTH, case_systemd_absent},
	{"systemd: does not answer", BOTH, case_systemd_hangs},
	{"systemd: refuses", BOTH, case_systemd_refuses},
	{"systemd: does not let us in", BOTH, case_systemd_rejects},
	{"systemd: hangs up", BOTH, case_systemd_hangs_up},
	{"systemd: says something else", BOTH, case_systemd_babbles},
	{"systemd: a unit file that is none", BOTH, case_systemd_bad_unit},
	{"systemd: a pinned program", 1 << V2, case_systemd_pinned},
};

int main(void)
{
	return run_cases(cases, COUNT(cases));
}
