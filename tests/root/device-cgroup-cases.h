/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Cgroups of our own making, limited as a runtime limits them, with a process in a pid namespace of
 * its own that tries to open devices. Both versions are tested where the machine has both (a hybrid
 * host does).
 *
 * Each case runs in a process and a mount namespace of its own; the parent removes what it left.
 */
#include <limits.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bounds.h"
#include "cleanup.h"
#include "device-cgroup.h"
#include "device-filter.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RWM (DEVICE_READ | DEVICE_WRITE | DEVICE_MKNOD)
#define BOTH (1 << V1 | 1 << V2)

/* What the kernel shall seem to be; all zero is the real one. */
struct kernel {
	bool no_openat2;    /* before 5.6 */
	bool no_replace;    /* before 5.6: BPF_F_REPLACE is EINVAL */
	bool counts_memory; /* before 5.11: RLIMIT_MEMLOCK too low, unless above LOW_MEMORY */
	bool no_programs;   /* without CONFIG_CGROUP_BPF */
	bool hides;         /* bpf_jit_harden=2 and kptr_restrict=2 */
	unsigned swaps;     /* somebody else replaces the program before we do, so many times */
	void (*swap)(void);
	unsigned attached, detached, loaded; /* calls that went through */
};
extern struct kernel kernel;

struct question {
	enum { ASK_OPEN, ASK_MKNOD, ASK_SPAWN, ASK_FORK } what;
	char path[PATH_MAX];
	int flags;
	dev_t device;
};

enum { V1, V2 };

struct fixture {
	int version;
	pid_t pid; /* of the container, as we see it */
	int socket;
	int proc_fd, parent_fd, leaf_fd; /* the container's cgroup is PARENT/leaf */
	struct arena arena;
	struct notes notes;
	struct undo undo;
	const struct oci_devices *devices; /* what config.json says, if anybody knows */
	bool inside;                       /* as at stage createContainer */
	struct error err;
};

struct test_case {
	const char *name;
	unsigned versions;
	void (*run)(struct fixture *f);
	const char *const *parent_lines; /* of the cgroup above the container's */
	unsigned long namespaces;        /* the container's own; 0: pid */
	const char
		*parent_suffix; /* of the name of the cgroup above the container's; NULL: .scope */
};

/* What the kernel shall count as too little memory: see kernel.counts_memory. */
#define LOW_MEMORY 65536

extern char top[]; /* a tmpfs, with nodes */
extern char
	parent_name[NAME_MAX]; /* of the cgroup below a hierarchy's root that holds all of a case */
extern const char *mounted[2]; /* where the hierarchy is; NULL: this machine has none */
extern const struct device_rule two_rules[2];
extern const struct bpf_insn null_only[8];

long __real_syscall(long number, ...);

#define INSN(code_, dst_, src_, off_, imm_)                                                        \
	((struct bpf_insn){.code = (code_),                                                        \
			   .dst_reg = (dst_),                                                      \
			   .src_reg = (src_),                                                      \
			   .off = (off_),                                                          \
			   .imm = (imm_)})
#define LDXW(dst, off) INSN(BPF_LDX | BPF_MEM | BPF_W, dst, BPF_REG_1, off, 0)
#define JNE(dst, imm, off) INSN(BPF_JMP | BPF_JNE | BPF_K, dst, 0, off, imm)
#define MOV(dst, imm) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* A case goes on after a failed check. */
bool check(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Something that the test itself needs. */
void must(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As fork(), in new namespaces. */
pid_t clone_process(unsigned long namespaces);
/* A process that lives as long as the case; with `lifetime_ms` it ends earlier. */
pid_t spawn(unsigned long namespaces, unsigned lifetime_ms);
void move_to(int cgroup_fd, pid_t pid);
/* The container's process does that, and says what errno came of it. */
int ask(const struct fixture *f, const struct question *question);
bool may_open(const struct fixture *f, const char *node, int flags);
bool may_mknod(const struct fixture *f, unsigned major, unsigned minor);
int allow_for(struct fixture *f, pid_t pid, const struct device_rule *rules, size_t n_rules);
int allow(struct fixture *f, const struct device_rule *rules, size_t n_rules);
void check_done(struct fixture *f, int r);
/* Failed as a device cgroup does, with a sentence that has all of `words`. */
void check_refused(struct fixture *f, int r, const char *words);
bool has_note(const struct fixture *f, const char *words);
int load_named(const struct bpf_insn *insns, size_t n, const char *name);
int load(const struct bpf_insn *insns, size_t n);
void attach(int cgroup_fd, int program_fd, uint32_t flags, int replaced);
void detach(int cgroup_fd, int program_fd);
void limit_v2(int cgroup_fd, uint32_t flags);
/* The same by a program of that name. */
void limit_v2_named(int cgroup_fd, uint32_t flags, const char *name);
/* The same by a bpf_link, which is returned. */
int link_v2(int cgroup_fd);
/* A descriptor of the program with that id. */
int open_program(uint32_t id);
uint32_t query(int cgroup_fd, uint32_t ids[static LIMIT_BPF_PROGRAMS], uint32_t *ret_flags);
void limit_v1(int cgroup_fd, const char *const *lines);
/* /dev/null alone, in either version. */
void limit(struct fixture *f);
/* The device list, or the ids of the programs in order: what undo has to bring back. Lives as long as the fixture. */
const char *state_of(struct fixture *f);
void check_state(struct fixture *f, const char *expected, const char *when);
void check_undo(struct fixture *f, const char *before);
/* The two rules hold and nothing else became open. */
void check_open(struct fixture *f);
void check_closed(struct fixture *f);
/* All of it on a cgroup that is limited: allow, twice, and back. */
void check_whole_round(struct fixture *f);
/* What main() returns. */
int run_cases(const struct test_case *cases, size_t n_cases);
