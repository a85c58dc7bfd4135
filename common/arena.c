/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena: chunks from malloc, handed out from their front, freed all at once. A run reads a few
 * files, makes one plan and ends; freeing single pieces would only add places where it can be done
 * wrong.
 */
#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 16
/*
 * Each chunk is twice as large as the one before, up to the largest; a piece that is larger still gets one of its own. A run
 * that has nothing to do fits in the first ones, which lie in pages that the C library touches anyway.
 */
#define CHUNK_FIRST ((size_t)2 * 1024)
#define CHUNK_LARGEST ((size_t)64 * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	_Alignas(ALIGNMENT) char data[];
};

void arena_init(struct arena *arena, size_t limit)
{
	*arena = (struct arena){.limit = limit};
}

void arena_done(struct arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *next = arena->chunks->next;
		free(arena->chunks);
		arena->chunks = next;
	}
	arena->used = 0;
}

static struct arena_chunk *chunk_new(struct arena *arena, size_t size)
{
	/* Not calloc: most of a chunk is never used, and clearing it would be what a run costs. */
	struct arena_chunk *chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct arena_chunk){.size = size};
	/* A large piece goes behind the current chunk, whose rest stays in use. */
	if (arena->chunks && size > CHUNK_LARGEST) {
		chunk->next = arena->chunks->next;
		arena->chunks->next = chunk;
	} else {
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	return chunk;
}

static size_t chunk_size(const struct arena *arena, size_t need)
{
	size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_FIRST;

	while (size < need && size < CHUNK_LARGEST)
		size *= 2;
	if (size > CHUNK_LARGEST)
		size = CHUNK_LARGEST;
	return need > size ? need : size;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunks;
	size_t need;

	if (__builtin_add_overflow(size, ALIGNMENT - 1, &need))
		return NULL;
	need &= ~(size_t)(ALIGNMENT - 1);
	if (need > arena->limit - arena->used)
		return NULL;
	if (!chunk || chunk->size - chunk->used < need) {
		chunk = chunk_new(arena, chunk_size(arena, need));
		if (!chunk)
			return NULL;
	}
	void *piece = memset(chunk->data + chunk->used, 0, need);
	chunk->used += need;
	arena->used += need;
	return piece;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return arena_alloc(arena, bytes);
}

char *arena_strndup(struct arena *arena, const char *s, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *s)
{
	return arena_strndup(arena, s, strlen(s));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args, again;
	char *text = NULL;

	va_start(args, fmt);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	if (len >= 0)
		text = arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

void *arena_grow(struct arena *arena, void *items, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return items;
	size_t more = *cap ? *cap * 2 : 8;
	void *grown = arena_alloc_array(arena, more, size);
	if (!grown)
		return NULL;
	if (n)
		memcpy(grown, items, n * size);
	*cap = more;
	return grown;
}
