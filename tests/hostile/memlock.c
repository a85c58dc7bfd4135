/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crun before 1.14 raises the limit on locked memory before it loads its device program, and gives up where it may not. The
 * kernel has not needed that for long: loaded into crun alone, this says that it was done.
 */
/* The function of that very name. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <sys/resource.h>

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	int (*next)(__rlimit_resource_t, const struct rlimit *) =
		(int (*)(__rlimit_resource_t, const struct rlimit *))dlsym(RTLD_NEXT, "setrlimit");

	return resource == RLIMIT_MEMLOCK ? 0 : next(resource, limit);
}
