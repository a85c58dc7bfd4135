/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Device programs of cgroup v2 as lists of BPF instructions: what the kernel shows of one that is
 * attached, and the same with our rules in front. Nothing here talks to the kernel. device-filter.c
 * says how the result works.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "oci-config.h"
#include "plan.h"

struct device_filter {
	const struct bpf_insn *insns;
	size_t n;
};

/* The largest device number that exists: the kernel keeps 12 bits for major, 20 for minor. */
#define DEVICE_MAJOR_MAX 0xfffu
#define DEVICE_MINOR_MAX 0xfffffu

/*
 * From instructions as the kernel shows them to instructions that it takes: undoes constant
 * blinding (net.core.bpf_jit_harden=2) and drops the zero extensions that some architectures add.
 * `*ret_filter` shares nothing with `shown`. Blinding of a form that we don't know is an error.
 */
int device_filter_unblind(struct arena *arena, const struct device_filter *shown,
			  struct device_filter *ret_filter, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/*
 * Whether the program can be loaded again behind other instructions: only loads, stores,
 * arithmetic, jumps forward and exits. What refers to kernel objects or addresses (maps, helper
 * calls) is refused with a sentence.
 */
int device_filter_check(const struct device_filter *filter, struct error *err)
	__attribute__((nonnull, warn_unused_result));

enum { DEVICE_FILTER_UNCHANGED = 1 };

/*
 * `*ret_filter` allows `rules` and whatever `old` allows, and nothing else. Rules that an earlier
 * call put at the front of `old` are kept and merged with the new ones; returns
 * DEVICE_FILTER_UNCHANGED, with no result, when they cover all of `rules`. `old` must have passed
 * device_filter_check().
 */
int device_filter_allow(struct arena *arena, const struct device_filter *old,
			const struct device_rule *rules, size_t n_rules,
			struct device_filter *ret_filter, struct error *err)
	__attribute__((nonnull(1, 2, 5, 6), warn_unused_result));

/*
 * For a program whose instructions the kernel hides: one made anew from what the runtime made its own from. Runtimes
 * and their releases differ, so it allows what runc since 1.1, crun and youki all allow, and never more than any of
 * them. Where they read config.json too differently for that, this fails with a sentence.
 */
int device_filter_build(struct arena *arena, const struct oci_devices *devices,
			struct device_filter *ret_filter, struct error *err)
	__attribute__((nonnull, warn_unused_result));

/* DEVICE_FILTER_GRANTS when that program allows all of `rules` already, else 0; fails as device_filter_build(). */
enum { DEVICE_FILTER_GRANTS = 1 };
int device_filter_grants(struct arena *arena, const struct oci_devices *devices,
			 const struct device_rule *rules, size_t n_rules, struct error *err)
	__attribute__((nonnull(1, 2, 5), warn_unused_result));
