/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Memory of one run. Everything that is read or planned lives in one arena and is freed with it, so
 * no function has to say who frees what: a pointer into the arena is valid until arena_done(). The
 * arena has a bound of its own, which makes a bound on every input together.
 */
#include <stddef.h>

struct arena {
	size_t limit; /* bytes that may be handed out in all */
	size_t used;
	struct arena_chunk *chunks;
};

void arena_init(struct arena *arena, size_t limit);
void arena_done(struct arena *arena);

/* Zeroed and aligned for any type. NULL when memory or the limit is exhausted: error_memory() is
 * the answer. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((warn_unused_result, nonnull));
/* `count` times `size` with overflow checked. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
	__attribute__((warn_unused_result, nonnull));
/* A copy of `len` bytes with a NUL behind them. */
char *arena_strndup(struct arena *arena, const char *s, size_t len)
	__attribute__((warn_unused_result, nonnull));
char *arena_strdup(struct arena *arena, const char *s) __attribute__((warn_unused_result, nonnull));
char *arena_printf(struct arena *arena, const char *fmt, ...)
	__attribute__((warn_unused_result, format(printf, 2, 3), nonnull));

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type)))

/* A list that grows in an arena. `items` is valid until the next array_add. */
#define ARRAY(type)                                                                                \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t n, cap;                                                                     \
	}

/* A pointer to a new zeroed item at the end of `array`, or NULL as arena_alloc. */
#define array_add(arena, array)                                                                    \
	({                                                                                         \
		__typeof__((array)->items) array_slot_ = NULL;                                     \
		__typeof__((array)->items) array_grown_ =                                          \
			arena_grow((arena), (array)->items, (array)->n, &(array)->cap,             \
				   sizeof(*(array)->items));                                       \
		if (array_grown_) {                                                                \
			(array)->items = array_grown_;                                             \
			array_slot_ = &(array)->items[(array)->n++];                               \
		}                                                                                  \
		array_slot_;                                                                       \
	})

/* For array_add: the list itself where there is room for one more, else a larger copy. */
void *arena_grow(struct arena *arena, void *items, size_t n, size_t *cap, size_t size)
	__attribute__((warn_unused_result, nonnull(1, 4)));

/* A list of strings, as most of CDI's lists are. */
struct string_list {
	const char **items;
	size_t n, cap;
};
