/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From a tree of values to structs, by tables: one struct field for each key that an object may
 * have. Which keys CDI has, and what it asks of them, stands in cdi-spec.c.
 */
#include "cdi-spec.h"
#include "spec-reader.h"

/* Versions as numbers, so that they compare. */
#define SPEC_VERSION(major, minor, patch) ((unsigned)(major) << 16 | (minor) << 8 | (patch))

/* Bytes of a JSON path; longer ones are cut. */
#define DECODE_PATH_MAX 512
/* The most keys that an object of any table has. */
#define DECODE_FIELDS_MAX 16

struct decoder {
	struct arena *arena;   /* for what the structs point to */
	struct arena *scratch; /* for what nobody needs afterwards */
	const struct cdi_report *report;
	bool lenient;
	unsigned version; /* what the file declares; 0: not known */
	size_t faults;    /* so far */
	bool overlooked;  /* inside a device in which the reference misses features marked so */
	char path[DECODE_PATH_MAX]; /* of the value at hand: devices[0].containerEdits */
	size_t path_len;
};

struct object;

/*
 * One key of an object. Fields are read in the order of the table: of several mistakes, the first
 * is reported.
 */
struct field {
	const char *key;
	/* Puts `value`, which is never null, into the member `out`. */
	int (*read)(struct decoder *d, const struct field *field, const struct value *value,
		    void *out);
	size_t offset;    /* of the member */
	size_t has;       /* offset of a bool that says whether the key was there, or 0 */
	bool required;    /* there, and neither "" nor an empty list */
	bool unique;      /* text that no other object of the same list may have */
	bool drop_null;   /* null items of a list are left out with a note; else refused */
	bool last_counts; /* a list in all but whose last item the reference overlooks something */
	/*
	 * Versions that have it. `since` counts when it says something: not for "", false or a list
	 * without items.
	 */
	unsigned since, until;
	bool since_if_empty; /* `since` counts for a list without items too */
	bool overlooked;     /* see struct decoder: too low a version is only noted there */
	/* What is wrong with a text, to be read behind it in quotes, or NULL. */
	const char *(*problem)(const char *text, size_t len);
	/* The same where it is only noted: what is accepted and will hardly work. */
	const char *(*doubt)(const char *text, size_t len);
	const struct object *object; /* what a list, a member or a pointer consists of */
	/* "key: value" as it should be, shown where it is missing or of another shape; or NULL. */
	const char *form;
};

/* A key that people write, from older forms, other tools or memory, and what to do about it. */
struct stray {
	const char *key, *remedy; /* "write hostPath" */
};

struct object {
	const struct field *fields;
	size_t n_fields;
	const struct stray *strays; /* the last one has no key; or NULL */
	size_t size;
	bool has_place; /* begins with a struct cdi_place */
	/*
	 * What concerns several members, after all of them; `map` is where the object stands. May
	 * be NULL.
	 */
	int (*check)(struct decoder *d, const struct value *map, void *object);
};

#define N_FIELDS(fields) (sizeof(fields) / sizeof((fields)[0]))

/* Reads a map, key by key, into the zeroed `out`. */
int decode_object(struct decoder *d, const struct object *object, const struct value *map,
		  void *out) __attribute__((nonnull, warn_unused_result));

/*
 * Readers for struct field; `out` points to
 *   text      const char *
 *   texts     struct string_list
 *   bool      bool
 *   int64     int64_t
 *   uint32    uint32_t
 *   uint32s   struct cdi_gid_list
 *   member    a struct, as `object` says
 *   pointer   a pointer to such a struct, which is allocated
 *   list      ARRAY of such structs
 */
#define DECODE_READER(name)                                                                        \
	int decode_##name(struct decoder *d, const struct field *field, const struct value *value, \
			  void *out) __attribute__((nonnull, warn_unused_result))
DECODE_READER(text);
DECODE_READER(texts);
DECODE_READER(bool);
DECODE_READER(int64);
DECODE_READER(uint32);
DECODE_READER(uint32s);
DECODE_READER(member);
DECODE_READER(pointer);
DECODE_READER(list);

/*
 * For readers and checks of one's own
 */

/* Reports an error at the value. Returns -EINVAL, which decode_go_on() may take back. */
int decode_fail(struct decoder *d, const struct value *value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 2, 3)));
/* The same as a warning. */
void decode_note(struct decoder *d, const struct value *value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 2, 3)));

/*
 * For a failure that leaves the rest readable, which is every one that was reported: 0 instead where
 * all problems are wanted. What was read is then not whole, but nobody will use it.
 */
int decode_go_on(const struct decoder *d, int r) __attribute__((nonnull, warn_unused_result));

/* Adds to the JSON path; returns its length before, for decode_pop(). */
size_t decode_push(struct decoder *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), nonnull));
void decode_pop(struct decoder *d, size_t path_len) __attribute__((nonnull));

/* Fails where the value is of another shape; `field` may be NULL. */
int decode_expect(struct decoder *d, const struct field *field, const struct value *value,
		  enum value_kind kind) __attribute__((nonnull(1, 3), warn_unused_result));
/* A whole number from `min` to `max`. */
int decode_number(struct decoder *d, const struct value *value, int64_t min, int64_t max,
		  int64_t *ret_number) __attribute__((nonnull, warn_unused_result));
/* Fails where the file's version does not have the field. */
int decode_needs(struct decoder *d, const struct field *field, const struct value *value)
	__attribute__((nonnull, warn_unused_result));
/* A copy for the structs: the tree does not live as long as they. NULL without memory. */
const char *decode_copy(struct decoder *d, const struct value *value)
	__attribute__((nonnull, warn_unused_result));
/* What a map has under `key`, however its letters are cased, or NULL; null values count as absent.
 */
const struct value *decode_get(const struct value *map, const char *key) __attribute__((nonnull));
