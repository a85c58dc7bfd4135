/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The grammar of vendor/class=name, byte by byte as the reference checks it (pkg/parser). */
#include "arena.h"
#include "error.h"

struct cdi_name {
	const char *kind; /* vendor/class */
	const char *vendor;
	const char *class;
	const char *device;
};

/*
 * Splits and checks a qualified device name. Failures are EXIT_CODE_REQUEST: `device "TEXT": what is wrong`, and show
 * the form that is meant.
 */
int cdi_name_parse(struct arena *arena, const char *text, struct cdi_name *ret_name,
		   struct error *err) __attribute__((nonnull, warn_unused_result));

/* What is wrong with a vendor, a class or a device name alone, or NULL: "must start with a letter". */
const char *cdi_vendor_problem(const char *vendor, size_t len) __attribute__((nonnull));
const char *cdi_class_problem(const char *class, size_t len) __attribute__((nonnull));
const char *cdi_device_problem(const char *device, size_t len) __attribute__((nonnull));

/*
 * What is wrong with the name of a network interface, by the kernel's rules, or NULL; and with an
 * annotation's key, by those of Kubernetes. Both are to be read behind the name.
 */
const char *cdi_interface_problem(const char *name, size_t len) __attribute__((nonnull));
const char *cdi_annotation_key_problem(const char *key, size_t len) __attribute__((nonnull));
