/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Device programs as bpf(2) knows them: asked for, read, loaded, attached and pinned. What is to be
 * done with them is decided elsewhere (cgroup-v2.c).
 *
 * All of it runs in the host's namespaces, with the rights of root there. It trusts the kernel, and
 * callers for the descriptors and paths. Nothing is hostile.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "bounds.h"
#include "device-filter.h"
#include "error.h"
#include "unit-text.h"

/* Shown by bpftool, so that people know where this program comes from. At most 15 characters. */
#define BPF_PROGRAM_OUR_NAME "oci_cdi_hook"
#define BPF_PROGRAM_SYSTEMDS_NAME UNIT_TEXT_PROGRAM

/*
 * Ids of the cgroup's own device programs or, with BPF_F_QUERY_EFFECTIVE, of all that decide there.
 * -1 and errno: ENOSPC where there are more than LIMIT_BPF_PROGRAMS.
 */
int bpf_program_query(int cgroup_fd, uint32_t query_flags, uint32_t ids[static LIMIT_BPF_PROGRAMS],
		      uint32_t *ret_n, uint32_t *ret_flags)
	__attribute__((nonnull, warn_unused_result));

/* Whether the program is one of the cgroup's own. */
bool bpf_program_is_attached(int cgroup_fd, uint32_t id);

/* A descriptor of the program with this id. -1 and errno: ENOENT when it is gone. */
int bpf_program_open(uint32_t id) __attribute__((warn_unused_result));

/* All about it but the instructions. -1 and errno. */
int bpf_program_info(int fd, struct bpf_prog_info *ret_info)
	__attribute__((nonnull, warn_unused_result));

/* Whether `fd` was loaded with the same instructions: the kernel's own sum over them tells. */
bool bpf_program_has_tag(int fd, const struct bpf_prog_info *info) __attribute__((nonnull));

/*
 * The instructions of program `fd` as one could load them, and the rest in `*ret_info`.
 * BPF_PROGRAM_HIDDEN, without instructions, where the kernel shows them to nobody.
 */
enum { BPF_PROGRAM_HIDDEN = 2 };
#define BPF_PROGRAM_HIDDEN_TEXT                                                                    \
	"the kernel hides its instructions (net.core.bpf_jit_harden=2 and "                        \
	"kernel.kptr_restrict=2, or no CAP_SYSLOG)"
int bpf_program_read(struct arena *arena, int fd, struct device_filter *ret_filter,
		     struct bpf_prog_info *ret_info, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* Loads it, under our name; returns a descriptor. The sentence has the verifier's reason. */
int bpf_program_load(struct arena *arena, const struct device_filter *filter, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Puts one program in the place of another; at no moment is neither there. `flags`: how the cgroup's
 * programs are attached, of BPF_F_ALLOW_MULTI and BPF_F_ALLOW_OVERRIDE. -1 and errno: ENOENT when
 * `from` is not attached, or by a bpf_link. Without BPF_F_ALLOW_MULTI the kernel does not compare:
 * `from` is looked for just before, and one that comes in between is replaced unseen.
 */
int bpf_program_replace(int cgroup_fd, uint32_t flags, int from, int to)
	__attribute__((warn_unused_result));

/* The program that is pinned at `path`. -1 and errno. */
int bpf_program_open_pinned(const char *path) __attribute__((nonnull, warn_unused_result));

/*
 * Puts `fd` under `name` in the directory `dir_fd` of a BPF file system, in one step: whoever looks
 * finds the old one or the new one. Works from inside the container's mount namespace too.
 */
int bpf_program_pin(struct arena *arena, int dir_fd, const char *name, int fd, struct error *err)
	__attribute__((nonnull, warn_unused_result));
