/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of procfs and cgroupfs texts. The kernel writes them, so anything unexpected means that
 * the file is not the one we think it is (a bind mount over it, say): nothing is guessed or
 * skipped, the first odd byte is an error.
 */
#include "proc-text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What is left of a text, and the line that is being read, without its end. */
struct lines {
	const char *at, *end;
	const char *line;
	size_t len;
	unsigned number;
};

static bool lines_next(struct lines *lines)
{
	if (lines->at == lines->end)
		return false;
	const char *newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	lines->line = lines->at;
	lines->len = (size_t)((newline ? newline : lines->end) - lines->at);
	lines->at = newline ? newline + 1 : lines->end;
	lines->number++;
	return true;
}

static int expected(const struct lines *lines, const char *what, struct error *err)
{
	char start[64];

	snprintf(start, sizeof(start), "%.*s", (int)(lines->len < 60 ? lines->len : 60),
		 lines->line);
	return error_set(err, 0, "line %u: expected %s, found \"%s\"", lines->number, what,
			 SHOW(start));
}

/* Reads digits at `*at`, before `end`: at least one, no sign, at most `max`. */
static bool take_number(const char **at, const char *end, uint32_t max, uint32_t *ret_number)
{
	const char *start = *at;
	uint64_t number = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		number = number * 10 + (uint64_t)(**at - '0');
		if (number > max)
			return false;
	}
	*ret_number = (uint32_t)number;
	return *at > start;
}

static bool take_byte(const char **at, const char *end, char byte)
{
	if (*at == end || **at != byte)
		return false;
	(*at)++;
	return true;
}

/* ---- /proc/PID/cgroup ---- */

static int parse_cgroup_line(struct arena *arena, const struct lines *lines,
			     struct proc_cgroup *ret_cgroup, struct error *err)
{
	const char *at = lines->line, *end = lines->line + lines->len;
	uint32_t hierarchy;

	/* The path may hold colons of its own: youki makes /:youki:ID. Only the first two count. */
	if (!take_number(&at, end, INT_MAX, &hierarchy) || !take_byte(&at, end, ':'))
		return expected(lines, "HIERARCHY:CONTROLLERS:PATH", err);
	const char *colon = memchr(at, ':', (size_t)(end - at));
	if (!colon)
		return expected(lines, "HIERARCHY:CONTROLLERS:PATH", err);
	const char *path = colon + 1;
	if (path == end || *path != '/' || end - path >= PATH_MAX ||
	    memchr(at, '\0', (size_t)(end - at)))
		return expected(lines, "an absolute path", err);

	ret_cgroup->controllers = arena_strndup(arena, at, (size_t)(colon - at));
	ret_cgroup->path = arena_strndup(arena, path, (size_t)(end - path));
	if (!ret_cgroup->controllers || !ret_cgroup->path)
		return error_memory(err);
	return 0;
}

int proc_text_parse_cgroup(struct arena *arena, const char *text, size_t size,
			   struct proc_cgroup_list *ret_list, struct error *err)
{
	struct lines lines = {.at = text, .end = text + size};

	*ret_list = (struct proc_cgroup_list){0};
	while (lines_next(&lines)) {
		struct proc_cgroup *cgroup = array_add(arena, ret_list);
		if (!cgroup)
			return error_memory(err);
		int r = parse_cgroup_line(arena, &lines, cgroup, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_controller(const char *controllers, const char *controller)
{
	size_t len = strlen(controller);

	if (!len)
		return !*controllers;
	for (const char *at = controllers; *at;) {
		size_t word = strcspn(at, ",");
		if (word == len && memcmp(at, controller, len) == 0)
			return true;
		at += word;
		at += *at == ',';
	}
	return false;
}

const struct proc_cgroup *proc_text_find_cgroup(const struct proc_cgroup_list *list,
						const char *controller)
{
	for (size_t i = 0; i < list->n; i++)
		if (has_controller(list->items[i].controllers, controller))
			return &list->items[i];
	return NULL;
}

/* ---- devices.list ---- */

static const struct {
	char letter;
	unsigned bit;
} access_letters[] = {{'r', DEVICE_READ}, {'w', DEVICE_WRITE}, {'m', DEVICE_MKNOD}};

#define N_ACCESS (sizeof(access_letters) / sizeof(access_letters[0]))

/* A number, or "*" for any. */
static bool take_device_number(const char **at, const char *end, bool *ret_any,
			       uint32_t *ret_number)
{
	*ret_any = take_byte(at, end, '*');
	return *ret_any || take_number(at, end, UINT32_MAX, ret_number);
}

static bool take_access(const char **at, const char *end, unsigned *ret_access)
{
	*ret_access = 0;
	for (size_t i = 0; i < N_ACCESS; i++)
		if (take_byte(at, end, access_letters[i].letter))
			*ret_access |= access_letters[i].bit;
	return *ret_access;
}

static bool parse_device(const char *at, const char *end, struct proc_device *ret_device)
{
	if (at == end || !strchr("abc", *at) || !*at)
		return false;
	ret_device->type = *at++;
	return take_byte(&at, end, ' ') &&
	       take_device_number(&at, end, &ret_device->any_major, &ret_device->major) &&
	       take_byte(&at, end, ':') &&
	       take_device_number(&at, end, &ret_device->any_minor, &ret_device->minor) &&
	       take_byte(&at, end, ' ') && take_access(&at, end, &ret_device->access) && at == end;
}

int proc_text_parse_devices(struct arena *arena, const char *text, size_t size,
			    struct proc_device_list *ret_list, struct error *err)
{
	struct lines lines = {.at = text, .end = text + size};

	*ret_list = (struct proc_device_list){0};
	while (lines_next(&lines)) {
		struct proc_device *device = array_add(arena, ret_list);
		if (!device)
			return error_memory(err);
		if (!parse_device(lines.line, lines.line + lines.len, device))
			return expected(&lines, "a device entry", err);
	}
	return 0;
}

bool proc_text_devices_allow(const struct proc_device_list *list, char type, uint32_t major,
			     uint32_t minor, unsigned access)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct proc_device *entry = &list->items[i];
		if ((entry->type == 'a' || entry->type == type) &&
		    (entry->any_major || entry->major == major) &&
		    (entry->any_minor || entry->minor == minor) && !(access & ~entry->access))
			return true;
	}
	return false;
}

unsigned proc_text_devices_exact(const struct proc_device_list *list, char type, uint32_t major,
				 uint32_t minor)
{
	unsigned access = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct proc_device *entry = &list->items[i];
		if (entry->type == type && !entry->any_major && entry->major == major &&
		    !entry->any_minor && entry->minor == minor)
			access |= entry->access;
	}
	return access;
}

const char *proc_text_device_line(char line[static PROC_TEXT_DEVICE_MAX], char type, uint32_t major,
				  uint32_t minor, unsigned access)
{
	char letters[N_ACCESS + 1];
	size_t n = 0;

	for (size_t i = 0; i < N_ACCESS; i++)
		if (access & access_letters[i].bit)
			letters[n++] = access_letters[i].letter;
	letters[n] = '\0';
	snprintf(line, PROC_TEXT_DEVICE_MAX, "%c %u:%u %s", type, major, minor, letters);
	return line;
}

/* ---- cgroup.procs ---- */

int proc_text_parse_pids(struct arena *arena, const char *text, size_t size,
			 struct proc_pid_list *ret_list, struct error *err)
{
	struct lines lines = {.at = text, .end = text + size};

	*ret_list = (struct proc_pid_list){0};
	while (lines_next(&lines)) {
		const char *at = lines.line, *end = lines.line + lines.len;
		uint32_t number;
		if (!take_number(&at, end, INT_MAX, &number) || at != end)
			return expected(&lines, "a pid", err);
		pid_t *pid = array_add(arena, ret_list);
		if (!pid)
			return error_memory(err);
		*pid = (pid_t)number;
	}
	return 0;
}

/* ---- /proc/PID/task/TID/children ---- */

int proc_text_parse_children(struct arena *arena, const char *text, size_t size,
			     struct proc_pid_list *ret_list, struct error *err)
{
	const char *at = text, *end = text + size;

	*ret_list = (struct proc_pid_list){0};
	while (at < end) {
		uint32_t number;
		if (!take_number(&at, end, INT_MAX, &number) || (at < end && *at++ != ' '))
			return error_set(err, 0, "expected pids with blanks between");
		pid_t *pid = array_add(arena, ret_list);
		if (!pid)
			return error_memory(err);
		*pid = (pid_t)number;
	}
	return 0;
}

/* ---- /proc/PID/status ---- */

int proc_text_parse_inner_pid(const char *text, size_t size, pid_t *ret_pid, struct error *err)
{
	static const char key[] = "NSpid:";
	struct lines lines = {.at = text, .end = text + size};

	while (lines_next(&lines)) {
		const char *at = lines.line, *end = lines.line + lines.len;
		uint32_t number = 0;

		if (lines.len < strlen(key) || memcmp(at, key, strlen(key)) != 0)
			continue;
		at += strlen(key);
		while (at < end)
			if (*at++ != '\t' || !take_number(&at, end, INT_MAX, &number))
				return expected(&lines, "pids", err);
		*ret_pid = (pid_t)number;
		return number ? 0 : expected(&lines, "pids", err);
	}
	return error_set(err, 0, "has no line NSpid");
}
