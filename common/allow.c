/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An annotation alone gives nobody a device: it may come from an image, or from any user who may
 * start containers. The administrator says which devices may be asked for in this way, by patterns,
 * and a refusal ends with the command that says so: nobody has to look up the name of the file or
 * the form of a pattern.
 *
 * A pattern sees the whole name as plain text, without any meaning of '/', so 'vendor.com/' and a
 * star are a vendor.
 */
#include "allow.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"

static int add_pattern(struct arena *arena, struct allow_list *list, const char *pattern,
		       const char *source, unsigned line, struct error *err)
{
	struct allow_pattern *added = array_add(arena, list);

	if (!added)
		return error_memory(err);
	*added = (struct allow_pattern){.pattern = pattern, .source = source, .line = line};
	return 0;
}

int allow_add(struct arena *arena, struct allow_list *list, const char *pattern, struct error *err)
{
	const char *copy;

	if (!*pattern)
		return error_say(err, EXIT_CODE_USAGE, "--allow: the pattern is empty");
	if (strlen(pattern) > LIMIT_PATTERN)
		return error_say(err, EXIT_CODE_USAGE, "--allow: a pattern of more than %d bytes",
				 LIMIT_PATTERN);
	copy = arena_strdup(arena, pattern);
	if (!copy)
		return error_memory(err);
	return add_pattern(arena, list, copy, "--allow", 0, err);
}

/* ---- The file ---- */

/* A line that ends with CR and LF was written elsewhere; the CR is a blank. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Drops the comment and the blanks around what is left. */
static void trim(const char **line, size_t *len)
{
	for (size_t i = 0; i < *len; i++) {
		if ((*line)[i] == '#' && (i == 0 || is_blank((*line)[i - 1])))
			*len = i;
	}
	while (*len > 0 && is_blank((*line)[*len - 1]))
		*len -= 1;
	while (*len > 0 && is_blank(**line)) {
		*line += 1;
		*len -= 1;
	}
}

int allow_add_file(struct arena *arena, struct allow_list *list, const char *file, const char *data,
		   size_t size, struct error *err)
{
	const char *name = arena_strdup(arena, file), *end = data + size, *next;
	unsigned number = 0;

	if (!name)
		return error_memory(err);
	for (const char *line = data; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((newline ? newline : end) - line);
		const char *pattern;
		int r;

		next = newline ? newline + 1 : end;
		number++;
		if (memchr(line, '\0', len))
			return error_say(err, EXIT_CODE_REFUSED, "%s:%u: a NUL byte", SHOW(file),
					 number);
		trim(&line, &len);
		if (len == 0)
			continue;
		if (len > LIMIT_PATTERN)
			return error_say(err, EXIT_CODE_REFUSED,
					 "%s:%u: a pattern of more than %d bytes", SHOW(file),
					 number, LIMIT_PATTERN);
		pattern = arena_strndup(arena, line, len);
		if (!pattern)
			return error_memory(err);
		r = add_pattern(arena, list, pattern, name, number, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Refusals ---- */

/* A piece of a sentence that never grows beyond its bound: what does not fit as a whole is left
 * out. */
struct text {
	char bytes[1400];
	size_t used;
};

/* Appends and returns true, or changes nothing. */
static bool text_add(struct text *text, const char *s)
{
	size_t len = strlen(s);

	if (len >= sizeof(text->bytes) - text->used)
		return false;
	memcpy(text->bytes + text->used, s, len + 1);
	text->used += len;
	return true;
}

/* Appends " 'S*'" as a word of a shell command: a quote in it ends the quotes, stands escaped, and
 * opens new ones. */
static bool text_add_word(struct text *text, const char *s, size_t len, const char *tail)
{
	size_t used = text->used;
	bool fits = text_add(text, " '");

	for (size_t i = 0; fits && i < len; i++)
		fits = text_add(text, s[i] == '\'' ? "'\\''" : (char[]){s[i], '\0'});
	if (fits && text_add(text, tail) && text_add(text, "'"))
		return true;
	text->used = used;
	text->bytes[used] = '\0';
	return false;
}

/* What nothing allows, while its sentence is put together. */
struct refusal {
	struct text devices, patterns;
	size_t n, devices_hidden, kinds_hidden;
	const char *hidden_by; /* the first annotation of those for which there is no room */
	bool hidden_by_others;
};

static bool is_refused(const struct request *request)
{
	return request->annotation && !request->pattern;
}

/* A kind with its "=". */
static size_t kind_length(const char *device)
{
	size_t len = strcspn(device, "=");

	return device[len] ? len + 1 : len;
}

/* Whether one of the first `n` requests is refused and of this kind. */
static bool is_kind_known(const struct request_list *requests, size_t n, const char *kind,
			  size_t len)
{
	for (size_t i = 0; i < n; i++) {
		const struct request *request = &requests->items[i];

		if (is_refused(request) && kind_length(request->device) == len &&
		    memcmp(request->device, kind, len) == 0)
			return true;
	}
	return false;
}

/* Whether no further request of the same annotation is refused: those of one annotation stand
 * together. */
static bool is_last_of_annotation(const struct request_list *requests, size_t index)
{
	for (size_t i = index + 1; i < requests->n; i++) {
		if (is_refused(&requests->items[i]))
			return strcmp(requests->items[i].annotation,
				      requests->items[index].annotation) != 0;
	}
	return true;
}

static void refusal_add(struct refusal *refusal, const struct request_list *requests, size_t index,
			bool first_of_annotation)
{
	const struct request *request = &requests->items[index];
	size_t len = kind_length(request->device);
	const char *joint = refusal->n == 0 ? "" : first_of_annotation ? "; " : ", ";
	char piece[2 * ERROR_SHOW_MAX + 64];

	if (is_last_of_annotation(requests, index))
		snprintf(piece, sizeof(piece), "%s%s: asked for by annotation %s", joint,
			 SHOW(request->device), SHOW(request->annotation));
	else
		snprintf(piece, sizeof(piece), "%s%s", joint, SHOW(request->device));
	if (refusal->devices_hidden || !text_add(&refusal->devices, piece)) {
		if (refusal->devices_hidden++ == 0)
			refusal->hidden_by = request->annotation;
		else if (strcmp(refusal->hidden_by, request->annotation) != 0)
			refusal->hidden_by_others = true;
	}
	if (!is_kind_known(requests, index, request->device, len) &&
	    !text_add_word(&refusal->patterns, request->device, len, "*"))
		refusal->kinds_hidden++;
	refusal->n++;
}

static int refusal_say(const struct refusal *refusal, const char *file, struct error *err)
{
	bool is_default = strcmp(file, ALLOW_FILE_DEFAULT) == 0;
	char more_devices[ERROR_SHOW_MAX + 96] = "", more_kinds[96] = "";
	struct text option = {0};

	if (refusal->devices_hidden)
		snprintf(more_devices, sizeof(more_devices),
			 ", and %zu more: asked for by annotation %s%s", refusal->devices_hidden,
			 SHOW(refusal->hidden_by), refusal->hidden_by_others ? " and others" : "");
	if (refusal->kinds_hidden)
		snprintf(more_kinds, sizeof(more_kinds),
			 " (%zu more kinds are named when these are allowed)",
			 refusal->kinds_hidden);
	/* A file's name that cannot be typed as it stands is better left out. */
	if (!is_default && strcmp(SHOW(file), file) == 0)
		text_add_word(&option, file, strlen(file), "");
	return error_say(err, EXIT_CODE_REFUSED,
			 "%s %s%s, allowed by no pattern of --allow or %s; to allow %s%s: cdictl "
			 "allow%s%s%s",
			 refusal->n > 1 ? "devices" : "device", refusal->devices.bytes,
			 more_devices, SHOW(file), refusal->n > 1 ? "them" : "it", more_kinds,
			 refusal->patterns.used ? refusal->patterns.bytes : " PATTERN",
			 option.used ? " --allow-file" : "", option.bytes);
}

static const char *find_pattern(const struct allow_list *list, const char *device)
{
	for (size_t i = 0; i < list->n; i++) {
		if (fnmatch(list->items[i].pattern, device, 0) == 0)
			return list->items[i].pattern;
	}
	return NULL;
}

int allow_check(const struct allow_list *list, const char *file, struct request_list *requests,
		struct error *err)
{
	struct refusal refusal = {0};
	bool first_of_annotation = true;

	for (size_t i = 0; i < requests->n; i++) {
		if (requests->items[i].annotation)
			requests->items[i].pattern = find_pattern(list, requests->items[i].device);
	}
	for (size_t i = 0; i < requests->n; i++) {
		if (!is_refused(&requests->items[i]))
			continue;
		refusal_add(&refusal, requests, i, first_of_annotation);
		first_of_annotation = is_last_of_annotation(requests, i);
	}
	return refusal.n ? refusal_say(&refusal, file, err) : 0;
}
