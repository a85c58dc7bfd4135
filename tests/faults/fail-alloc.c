/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets one allocation of a program fail: linked into builds of the hook and of cdictl that only tests run.
 *
 * Which one stands in memory that the test shares with the program through descriptor 99, and so does how many there were, in the
 * program and in all its children together. The program itself knows nothing of it; a variable of the environment would not reach
 * the hook, which ignores them all.
 *
 * In a static program the linker puts these functions in front of the C library's (-Wl,--wrap), for every library in it. In a
 * dynamic one (FAIL_ALLOC_DYNAMIC) they take the C library's names, and its libraries get them too.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONTROL_FD 99

/* faults.py knows this too: three numbers of eight bytes. */
static struct control {
	_Atomic uint64_t fail_at; /* counted from 1; 0: none */
	_Atomic uint64_t count;
	_Atomic uint64_t hit; /* whether it came to that */
} * control;

__attribute__((constructor(101))) static void find_control(void)
{
	void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED,
			    CONTROL_FD, 0);

	if (memory != MAP_FAILED)
		control = memory;
	(void)close(CONTROL_FD);
}

static bool is_to_fail(void)
{
	if (!control || atomic_fetch_add(&control->count, 1) + 1 != control->fail_at)
		return false;
	control->hit = 1;
	errno = ENOMEM;
	return true;
}

#ifdef FAIL_ALLOC_DYNAMIC
#define NAME(function) function
#define REAL(function) __libc_##function
#else
#define NAME(function) __wrap_##function
#define REAL(function) __real_##function
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *old, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);

#ifndef FAIL_ALLOC_DYNAMIC
void *NAME(malloc)(size_t size);
void *NAME(calloc)(size_t n, size_t size);
void *NAME(realloc)(void *old, size_t size);
void *NAME(reallocarray)(void *old, size_t n, size_t size);
void *NAME(memalign)(size_t alignment, size_t size);
void *NAME(aligned_alloc)(size_t alignment, size_t size);
int NAME(posix_memalign)(void **ret, size_t alignment, size_t size);
#endif

void *NAME(malloc)(size_t size)
{
	return is_to_fail() ? NULL : REAL(malloc)(size);
}

void *NAME(calloc)(size_t n, size_t size)
{
	return is_to_fail() ? NULL : REAL(calloc)(n, size);
}

void *NAME(realloc)(void *old, size_t size)
{
	return is_to_fail() ? NULL : REAL(realloc)(old, size);
}

void *NAME(reallocarray)(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return is_to_fail() ? NULL : REAL(realloc)(old, bytes);
}

void *NAME(memalign)(size_t alignment, size_t size)
{
	return is_to_fail() ? NULL : REAL(memalign)(alignment, size);
}

void *NAME(aligned_alloc)(size_t alignment, size_t size)
{
	return is_to_fail() ? NULL : REAL(memalign)(alignment, size);
}

int NAME(posix_memalign)(void **ret, size_t alignment, size_t size)
{
	void *memory = is_to_fail() ? NULL : REAL(memalign)(alignment, size);

	if (!memory)
		return ENOMEM;
	*ret = memory;
	return 0;
}
