/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One sentence about what went wrong, and the exit code that goes with it. See error.c for why it
 * looks like this.
 */
#include <stdbool.h>
#include <stddef.h>

/* Bytes of a whole sentence: below PIPE_BUF, so that a child can hand it to its parent in one
 * atomic write. */
#define ERROR_TEXT_MAX 4000
/* Bytes that one string from outside may take in a sentence; longer ones lose their middle. */
#define ERROR_SHOW_MAX 256

/* What the hook exits with. crun prints this number and nothing else, so each cause has its own. */
enum exit_code {
	EXIT_CODE_DONE = 0,
	EXIT_CODE_OTHER = 1,
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_REQUEST = 3,   /* request malformed, or device not found */
	EXIT_CODE_SPEC = 4,      /* a CDI spec was rejected */
	EXIT_CODE_REFUSED = 5,   /* no pattern allows it, or a file cannot be trusted */
	EXIT_CODE_HOST = 6,      /* a device node or mount source of the host is missing */
	EXIT_CODE_CONTAINER = 7, /* the container's namespace or root file system */
	EXIT_CODE_APPLY = 8,     /* a mount or a node could not be made */
	EXIT_CODE_CGROUP = 9,    /* device cgroup */
	EXIT_CODE_LDCACHE = 10,  /* library cache */
	EXIT_CODE_VENDOR_HOOK = 11,
	EXIT_CODE_DEADLINE = 12,
};

struct error {
	int errnum; /* errno of the failed call; 0 for a sentence that is complete without one */
	enum exit_code
		exit_code; /* 0 until somebody on the way up knows the class of the failure */
	char text[ERROR_TEXT_MAX];
};

/*
 * Each returns a negative number, so that a caller can write `return error_set(...)`. `fmt` is
 * ours; strings from outside go through SHOW(), which makes them printable and short.
 */

/* A system call failed: the words for `errnum` are added when the sentence is printed. Returns
 * -errnum. */
int error_set(struct error *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 3)));
/* A complete sentence with its class. Returns -EINVAL. */
int error_say(struct error *err, enum exit_code exit_code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), nonnull(1, 3)));
/* No memory, or more of it than the bounds allow. Returns -ENOMEM; the class is always
 * EXIT_CODE_OTHER. */
int error_memory(struct error *err) __attribute__((nonnull));

/* On the way up: say what was being done. "TEXT" becomes "PREFIX: TEXT". Returns what error_set
 * returned. */
int error_prefix(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), nonnull(1, 2)));
/* On the way up: give the failure its class, unless a deeper place already did. Returns as
 * error_prefix. */
int error_class(struct error *err, enum exit_code exit_code) __attribute__((nonnull));

/* Collect independent failures in one sentence group: "A; B". The class is the one that comes first
 * in the list. */
void error_join(struct error *err, const struct error *more) __attribute__((nonnull));

/* What a function that has filled in `err` returns: -errno, or -EINVAL for a sentence without one.
 */
int error_result(const struct error *err) __attribute__((nonnull));

#ifdef ANALYSIS
/*
 * An analyser reads one file at a time, and what it cannot see is that none of these returns 0: it would find a use of what was
 * never set behind each of them.
 */
#define error_negative(call)                                                                       \
	({                                                                                         \
		int result_ = (call);                                                              \
		if (result_ >= 0)                                                                  \
			__builtin_trap();                                                          \
		result_;                                                                           \
	})
#define error_set(...) error_negative((error_set)(__VA_ARGS__))
#define error_say(...) error_negative((error_say)(__VA_ARGS__))
#define error_memory(...) error_negative((error_memory)(__VA_ARGS__))
#define error_prefix(...) error_negative((error_prefix)(__VA_ARGS__))
#define error_class(...) error_negative((error_class)(__VA_ARGS__))
#define error_result(...) error_negative((error_result)(__VA_ARGS__))
#endif

static inline bool error_is_set(const struct error *err)
{
	return err->text[0] != '\0';
}

/* The printable sentence, errno words included, into `buffer`; returns `buffer`. */
const char *error_text(const struct error *err, char buffer[static ERROR_TEXT_MAX]);

/*
 * For functions that most runs never reach: kept out of those that call them, whose stack frames would get their text
 * buffers. The compiler has every page of a frame touched, needed or not, and each costs 1.5 us: of a run that has nothing
 * to do that would be a good part.
 */
#define COLD __attribute__((cold, noinline))

/*
 * `s` escaped (every byte outside 0x20..0x7e and the backslash as \xHH) and, when longer than
 * ERROR_SHOW_MAX, with its middle replaced by "...". Lives until the end of the enclosing block.
 * NULL shows as "(none)".
 */
#define SHOW(s) error_show((char[ERROR_SHOW_MAX]){0}, (s))
const char *error_show(char buffer[static ERROR_SHOW_MAX], const char *s);
