/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of devices come from annotations and from spec files, so from people and from generators
 * alike. What the reference accepts is accepted here, byte by byte and ASCII only: no DNS rules, no
 * bound on the length, no folding of case. (CDI's text is stricter in places, but engines run the
 * code of the reference.)
 *
 * Where the reference says "invalid class" for what is wrong in the name, or "missing vendor" for
 * anything that it could not split, the sentences here name the part and the byte.
 */
#include "cdi-name.h"

#include <net/if.h>
#include <stdbool.h>
#include <string.h>

#define NAME_FORM "a device is named vendor.com/class=name"

/* One of the three parts of a name. */
struct part {
	const char *word;  /* for sentences */
	bool digit_first;  /* may begin with a digit */
	const char *inner; /* what may stand inside besides letters and digits */
	const char *start_problem, *inner_problem;
};

#define LETTERS_AND_DIGITS "may only contain letters, digits, "

static const struct part part_vendor = {
	"vendor", false, "_-.", "must start with a letter", LETTERS_AND_DIGITS "_, - and .",
};
static const struct part part_class = {
	"class", false, "_-.", "must start with a letter", LETTERS_AND_DIGITS "_, - and .",
};
static const struct part part_device = {
	"name",
	true,
	"_-.:",
	"must start with a letter or digit",
	LETTERS_AND_DIGITS "_, -, . and :",
};

/* isalpha(3) asks the locale: names are ASCII wherever this runs. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_letter_or_digit(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

/* NULL, or what is wrong; `*ret_at` is then the index of the byte that is, or `len` where none is
 * to blame. */
static const char *part_problem(const struct part *part, const char *s, size_t len, size_t *ret_at)
{
	*ret_at = len;
	if (len == 0)
		return "is empty";

	*ret_at = 0;
	if (!(part->digit_first ? is_letter_or_digit(s[0]) : is_letter(s[0])))
		return part->start_problem;
	for (size_t i = 1; i < len; i++) {
		*ret_at = i;
		if (!is_letter_or_digit(s[i]) && (!s[i] || !strchr(part->inner, s[i])))
			return part->inner_problem;
	}
	if (!is_letter_or_digit(s[len - 1]))
		return "must end with a letter or digit";
	return NULL;
}

const char *cdi_vendor_problem(const char *vendor, size_t len)
{
	size_t at;

	return part_problem(&part_vendor, vendor, len, &at);
}

const char *cdi_class_problem(const char *class, size_t len)
{
	size_t at;

	return part_problem(&part_class, class, len, &at);
}

const char *cdi_device_problem(const char *device, size_t len)
{
	size_t at;

	return part_problem(&part_device, device, len, &at);
}

const char *cdi_interface_problem(const char *name, size_t len)
{
	if (len >= IFNAMSIZ)
		return "is longer than 15 bytes";
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return "is no name";
	/* Blanks as the kernel counts them; and of a % it would make a number of its own. */
	if (strpbrk(name, "/:% \t\n\v\f\r\xa0"))
		return "may not contain a blank, /, : or %";
	return NULL;
}

/* "nvidia.com" in nvidia.com/gpu: dots between words of lower-case letters, digits and -. */
static bool is_dns_name(const char *s, size_t len)
{
	char last = '.';

	for (size_t i = 0; i < len; i++) {
		bool edge = s[i] == '.' || s[i] == '-';

		/* Upper case passes, as Kubernetes folds the key first. */
		if (!edge && !is_letter_or_digit(s[i]))
			return false;
		if (edge && (last == '.' || (s[i] == '.' && last == '-')))
			return false;
		last = s[i];
	}
	return len > 0 && len <= 253 && last != '.' && last != '-';
}

const char *cdi_annotation_key_problem(const char *key, size_t len)
{
	static const struct part name = {
		"name",
		true,
		"_-.",
		"must start with a letter or digit",
		LETTERS_AND_DIGITS "_, - and .",
	};
	const char *slash = memchr(key, '/', len);
	size_t at, prefix_len = slash ? (size_t)(slash - key) : 0;

	if (slash && !is_dns_name(key, prefix_len))
		return "must have a DNS name in front of its /";
	if (slash) {
		key = slash + 1;
		len -= prefix_len + 1;
	}
	return len > 63 ? "is longer than 63 bytes" : part_problem(&name, key, len, &at);
}

/* Copies one part into `*ret_copy`, or says what is wrong with it. */
static int take_part(struct arena *arena, const struct part *part, const char *s, size_t len,
		     const char *text, const char **ret_copy, struct error *err)
{
	size_t at;
	const char *problem = part_problem(part, s, len, &at);
	char *copy = arena_strndup(arena, s, len);

	if (!copy)
		return error_memory(err);
	*ret_copy = copy;
	if (!problem)
		return 0;
	if (at == len)
		return error_say(err, EXIT_CODE_REQUEST, "device \"%s\": %s %s; " NAME_FORM,
				 SHOW(text), part->word, problem);
	return error_say(err, EXIT_CODE_REQUEST,
			 "device \"%s\": %s \"%s\" %s, not \"%s\"; " NAME_FORM, SHOW(text),
			 part->word, SHOW(copy), problem, SHOW(((char[]){s[at], '\0'})));
}

int cdi_name_parse(struct arena *arena, const char *text, struct cdi_name *ret_name,
		   struct error *err)
{
	const char *equals = strchr(text, '=');
	const char *slash = memchr(text, '/', equals ? (size_t)(equals - text) : strlen(text));
	int r;

	if (!*text)
		return error_say(err, EXIT_CODE_REQUEST, "device \"\": is empty; " NAME_FORM);
	if (!equals && slash)
		return error_say(err, EXIT_CODE_REQUEST, "device \"%s\": has no =name; " NAME_FORM,
				 SHOW(text));
	/* Neither part is there, or they are not where they belong: the form says it best. */
	if (!equals || !slash)
		return error_say(err, EXIT_CODE_REQUEST, "device \"%s\": " NAME_FORM, SHOW(text));

	*ret_name = (struct cdi_name){
		.kind = arena_strndup(arena, text, (size_t)(equals - text)),
	};
	if (!ret_name->kind)
		return error_memory(err);
	r = take_part(arena, &part_vendor, text, (size_t)(slash - text), text, &ret_name->vendor,
		      err);
	if (r < 0)
		return r;
	r = take_part(arena, &part_class, slash + 1, (size_t)(equals - slash - 1), text,
		      &ret_name->class, err);
	if (r < 0)
		return r;
	return take_part(arena, &part_device, equals + 1, strlen(equals + 1), text,
			 &ret_name->device, err);
}
