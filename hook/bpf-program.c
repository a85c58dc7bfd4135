/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's side of device programs: the calls of bpf(2), and what kernels differ in. Everything
 * that is decided about programs is in cgroup-v2.c.
 */
#include "bpf-program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cleanup.h"
#include "sys.h"
#include "workdir.h"

/* The verifier gives up for a while when a signal is pending; libbpf tries as often. */
#define LOAD_TRIES 5
/* For the verifier's words about a program that it refuses; the last ones are kept. */
#define LOG_SIZE (64 * 1024)

/* ---- bpf(2) ---- */

static int sys_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int bpf_program_query(int cgroup_fd, uint32_t query_flags, uint32_t ids[static LIMIT_BPF_PROGRAMS],
		      uint32_t *ret_n, uint32_t *ret_flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)cgroup_fd;
	attr.query.attach_type = BPF_CGROUP_DEVICE;
	attr.query.query_flags = query_flags;
	attr.query.prog_ids = address(ids);
	attr.query.prog_cnt = LIMIT_BPF_PROGRAMS;
	int r = sys_bpf(BPF_PROG_QUERY, &attr);
	*ret_n = attr.query.prog_cnt;
	*ret_flags = attr.query.attach_flags;
	return r;
}

int bpf_program_open(uint32_t id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	return sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
}

/* With `insns`: also the instructions, for which `info->xlated_prog_len` gives the room. */
static int get_info(int fd, struct bpf_insn *insns, struct bpf_prog_info *info)
{
	union bpf_attr attr;
	uint32_t len = insns ? info->xlated_prog_len : 0;

	memset(info, 0, sizeof(*info));
	info->xlated_prog_insns = address(insns);
	info->xlated_prog_len = len;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = address(info);
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

int bpf_program_info(int fd, struct bpf_prog_info *ret_info)
{
	return get_info(fd, NULL, ret_info);
}

static int load(const struct device_filter *filter, char *log, uint32_t log_size)
{
	union bpf_attr attr;
	int fd = -1;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = address(filter->insns);
	attr.insn_cnt = (uint32_t)filter->n;
	attr.license = address("GPL");
	attr.log_level = log ? 1 : 0;
	attr.log_buf = address(log);
	attr.log_size = log_size;
	memcpy(attr.prog_name, BPF_PROGRAM_OUR_NAME, sizeof(BPF_PROGRAM_OUR_NAME));
	for (int i = 0; i < LOAD_TRIES; i++) {
		fd = sys_bpf(BPF_PROG_LOAD, &attr);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

/* `replaced`: the program whose place the new one takes, or -1. */
static int attach(int cgroup_fd, int new_fd, uint32_t flags, int replaced)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup_fd;
	attr.attach_bpf_fd = (uint32_t)new_fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = flags;
	if (replaced >= 0) {
		attr.attach_flags |= BPF_F_REPLACE;
		attr.replace_bpf_fd = (uint32_t)replaced;
	}
	return sys_bpf(BPF_PROG_ATTACH, &attr);
}

int bpf_program_open_pinned(const char *path)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = address(path);
	return sys_bpf(BPF_OBJ_GET, &attr);
}

static int pin(const char *path, int fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = address(path);
	attr.bpf_fd = (uint32_t)fd;
	return sys_bpf(BPF_OBJ_PIN, &attr);
}

static int detach(int cgroup_fd, int fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)cgroup_fd;
	attr.attach_bpf_fd = (uint32_t)fd;
	attr.attach_type = BPF_CGROUP_DEVICE;
	return sys_bpf(BPF_PROG_DETACH, &attr);
}

/* ---- Reading a program ---- */

int bpf_program_read(struct arena *arena, int fd, struct device_filter *ret_filter,
		     struct bpf_prog_info *ret_info, struct error *err)
{
	if (bpf_program_info(fd, ret_info) < 0)
		return error_set(err, errno, "read it");
	size_t n = ret_info->xlated_prog_len / sizeof(struct bpf_insn);
	if (n > LIMIT_BPF_INSNS)
		return error_set(err, 0, "it has %zu instructions, more than %d", n,
				 LIMIT_BPF_INSNS);
	struct bpf_insn *insns = arena_alloc_array(arena, n + 1, sizeof(*insns));
	if (!insns)
		return error_memory(err);
	if (get_info(fd, insns, ret_info) < 0)
		return error_set(err, errno, "read its instructions");
	if (!ret_info->xlated_prog_insns || !n)
		return BPF_PROGRAM_HIDDEN;
	const struct device_filter shown = {.insns = insns, .n = n};
	return device_filter_unblind(arena, &shown, ret_filter, err);
}

/* ---- Loading ---- */

/*
 * Kernels before 5.11 count programs against RLIMIT_MEMLOCK. Without the right to raise it there is
 * its hard limit.
 */
static int load_with_more_memory(const struct device_filter *filter)
{
	const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit before;

	if (getrlimit(RLIMIT_MEMLOCK, &before) < 0)
		return -1;
	const struct rlimit hard = {before.rlim_max, before.rlim_max};
	if (setrlimit(RLIMIT_MEMLOCK, &unlimited) < 0)
		(void)setrlimit(RLIMIT_MEMLOCK, &hard);
	int fd = load(filter, NULL, 0);
	int saved = errno;
	(void)setrlimit(RLIMIT_MEMLOCK, &before);
	errno = saved;
	return fd;
}

/* The kernel's own number for a program that it cannot make machine code of; no header has it. */
#define ENOTSUPP 524

/* The verifier's reason: the last line of its log that isn't statistics. Cuts `log`. */
static const char *last_words(char *log)
{
	const char *words = "";
	char *rest = NULL;

	for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, "processed ", 10) != 0)
			words = line;
	return words;
}

int bpf_program_load(struct arena *arena, const struct device_filter *filter, struct error *err)
{
	int fd = load(filter, NULL, 0);

	if (fd < 0 && (errno == EPERM || errno == ENOMEM))
		fd = load_with_more_memory(filter);
	if (fd >= 0)
		return fd;
	int cause = errno;
	if (cause == ENOTSUPP)
		return error_set(err, 0,
				 "the kernel cannot compile its %zu instructions with our rules "
				 "(net.core.bpf_jit_harden=2 triples most of them)",
				 filter->n);
	char *log = arena_alloc(arena, LOG_SIZE);
	if (!log)
		return error_memory(err);
	fd = load(filter, log, LOG_SIZE);
	if (fd >= 0)
		return fd;
	log[LOG_SIZE - 1] = '\0';
	const char *words = last_words(log);
	return *words ? error_set(err, cause, "load it with our rules (%s)", SHOW(words))
		      : error_set(err, cause, "load it with our rules");
}

bool bpf_program_has_tag(int fd, const struct bpf_prog_info *info)
{
	struct bpf_prog_info other;

	return bpf_program_info(fd, &other) == 0 &&
	       memcmp(other.tag, info->tag, sizeof(other.tag)) == 0;
}

/* false and errno, ENOENT when it is not. */
static bool is_attached(int cgroup_fd, int fd)
{
	struct bpf_prog_info info;

	if (bpf_program_info(fd, &info) < 0)
		return false;
	errno = ENOENT;
	return bpf_program_is_attached(cgroup_fd, info.id);
}

int bpf_program_replace(int cgroup_fd, uint32_t flags, int from, int to)
{
	/* A cgroup that takes one program only: attaching replaces, whichever is there. */
	if (!(flags & BPF_F_ALLOW_MULTI))
		return is_attached(cgroup_fd, from) ? attach(cgroup_fd, to, flags, -1) : -1;
	if (attach(cgroup_fd, to, flags, from) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	/* Linux before 5.6: for a moment both decide, which allows no more than either. */
	if (attach(cgroup_fd, to, flags, -1) < 0)
		return -1;
	if (detach(cgroup_fd, from) == 0)
		return 0;
	int saved = errno;
	(void)detach(cgroup_fd, to);
	errno = saved;
	return -1;
}

bool bpf_program_is_attached(int cgroup_fd, uint32_t id)
{
	uint32_t ids[LIMIT_BPF_PROGRAMS], n, flags;

	if (bpf_program_query(cgroup_fd, 0, ids, &n, &flags) < 0)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

int bpf_program_pin(struct arena *arena, int dir_fd, const char *name, int fd, struct error *err)
{
	_cleanup_workdir_ struct workdir workdir = WORKDIR_NULL;
	/* No dots: the kernel reserves names with them. */
	const char *other = arena_printf(arena, "%s_" BPF_PROGRAM_OUR_NAME, name);

	if (!other)
		return error_memory(err);
	int r = workdir_enter(&workdir, dir_fd, err);
	if (r < 0)
		return r;
	(void)unlinkat(dir_fd, other, 0); /* of a run that was killed here */
	if (pin(other, fd) < 0)
		return error_set(err, errno, "pin the device program as %s", SHOW(other));
	if (renameat(dir_fd, other, dir_fd, name) < 0) {
		error_set(err, errno, "pin the device program as %s", SHOW(name));
		(void)unlinkat(dir_fd, other, 0);
		return error_result(err);
	}
	return 0;
}
