/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd keeps its own list of a unit's devices, and makes a new device program (or v1 list) from
 * it at each reload. What a runtime told it when it made the container's scope stands in a unit
 * file below /run/systemd/transient, and what was told later in drop-ins beside that. systemd wrote
 * them, so they are plain: no quotes, no continued lines where we look.
 */
#include "unit-text.h"

#include <stdio.h>
#include <string.h>

/* A part of a line. */
struct part {
	const char *at;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct part trim(struct part part)
{
	while (part.len > 0 && is_blank(part.at[0]))
		part = (struct part){part.at + 1, part.len - 1};
	while (part.len > 0 && is_blank(part.at[part.len - 1]))
		part.len--;
	return part;
}

static bool is_text(struct part part, const char *text)
{
	return part.len == strlen(text) && memcmp(part.at, text, part.len) == 0;
}

/* Takes the first word off `rest`. */
static struct part take_word(struct part *rest)
{
	struct part word = trim(*rest);
	size_t n = 0;

	while (n < word.len && !is_blank(word.at[n]))
		n++;
	*rest = (struct part){word.at + n, word.len - n};
	word.len = n;
	return word;
}

/* ---- One setting ---- */

static int set_policy(struct part value, struct unit_devices *devices)
{
	devices->policy_closed = is_text(value, "strict") || is_text(value, "closed");
	return 0;
}

/* An empty value starts the list anew. */
static int add_device(struct arena *arena, struct part value, struct unit_devices *devices,
		      struct error *err)
{
	struct part rest = value, device = take_word(&rest), access = take_word(&rest);

	if (!device.len) {
		devices->list.n = 0;
		return 0;
	}
	struct unit_device *entry = array_add(arena, &devices->list);
	if (!entry)
		return error_memory(err);
	entry->device = arena_strndup(arena, device.at, device.len);
	entry->access = access.len ? arena_strndup(arena, access.at, access.len)
				   : arena_strdup(arena, "rwm");
	return entry->device && entry->access ? 0 : error_memory(err);
}

static int set_program(struct arena *arena, struct part value, struct unit_devices *devices,
		       struct error *err)
{
	const char prefix[] = "device:";
	const size_t skip = sizeof(prefix) - 1;

	if (!value.len)
		devices->pin = NULL;
	if (value.len <= skip || memcmp(value.at, prefix, skip) != 0)
		return 0;
	devices->pin = arena_strndup(arena, value.at + skip, value.len - skip);
	return devices->pin ? 0 : error_memory(err);
}

static int set_slice(struct arena *arena, struct part value, struct unit_devices *devices,
		     struct error *err)
{
	devices->slice = value.len ? arena_strndup(arena, value.at, value.len) : NULL;
	return devices->slice || !value.len ? 0 : error_memory(err);
}

static int apply_setting(struct arena *arena, struct part key, struct part value,
			 struct unit_devices *devices, struct error *err)
{
	if (is_text(key, "DevicePolicy"))
		return set_policy(value, devices);
	if (is_text(key, "DeviceAllow"))
		return add_device(arena, value, devices, err);
	if (is_text(key, "BPFProgram"))
		return set_program(arena, value, devices, err);
	if (is_text(key, "Slice"))
		return set_slice(arena, value, devices, err);
	return 0;
}

/* ---- The file ---- */

struct reader {
	struct arena *arena;
	struct unit_devices *devices;
	bool in_scope;  /* behind [Scope]: what other sections say is no setting of the cgroup */
	bool continued; /* the last line ended in a backslash */
	unsigned number;
};

static int read_line(struct reader *reader, struct part line, struct error *err)
{
	const bool continues = line.len > 0 && line.at[line.len - 1] == '\\';
	const bool continued = reader->continued;

	reader->continued = continues;
	line = trim(line);
	if (continued || !line.len || line.at[0] == '#' || line.at[0] == ';') {
		reader->continued = continued && continues;
		return 0;
	}
	if (line.at[0] == '[') {
		reader->in_scope = is_text(line, "[Scope]");
		return 0;
	}
	const char *equals = memchr(line.at, '=', line.len);
	if (!equals)
		return error_set(err, 0, "line %u: no setting of a unit file", reader->number);
	if (!reader->in_scope)
		return 0;
	const struct part key = {line.at, (size_t)(equals - line.at)};
	const struct part value = {equals + 1, line.len - key.len - 1};
	return apply_setting(reader->arena, trim(key), trim(value), reader->devices, err);
}

int unit_text_parse(struct arena *arena, const char *text, size_t size,
		    struct unit_devices *devices, struct error *err)
{
	struct reader reader = {.arena = arena, .devices = devices};

	if (memchr(text, '\0', size))
		return error_set(err, 0, "a NUL byte is in it");
	for (const char *end = text + size; text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const struct part line = {text, (size_t)((newline ? newline : end) - text)};
		reader.number++;
		int r = read_line(&reader, line, err);
		if (r < 0)
			return r;
		text = newline ? newline + 1 : end;
	}
	return 0;
}

/* ---- Questions ---- */

bool unit_text_has_list(const struct unit_devices *devices)
{
	return devices->policy_closed || devices->list.n > 0;
}

const char *unit_text_device(char text[static UNIT_TEXT_DEVICE_MAX], const struct device_rule *rule)
{
	snprintf(text, UNIT_TEXT_DEVICE_MAX, "/dev/%s/%u:%u", rule->type == 'b' ? "block" : "char",
		 rule->major, rule->minor);
	return text;
}

const char *unit_text_access(char text[static UNIT_TEXT_ACCESS_MAX], const struct device_rule *rule)
{
	snprintf(text, UNIT_TEXT_ACCESS_MAX, "%s%s%s", rule->access & DEVICE_READ ? "r" : "",
		 rule->access & DEVICE_WRITE ? "w" : "", rule->access & DEVICE_MKNOD ? "m" : "");
	return text;
}

bool unit_text_allows(const struct unit_devices *devices, const struct device_rule *rule)
{
	char device[UNIT_TEXT_DEVICE_MAX], access[UNIT_TEXT_ACCESS_MAX];

	unit_text_device(device, rule);
	unit_text_access(access, rule);
	for (size_t i = 0; i < devices->list.n; i++) {
		const struct unit_device *entry = &devices->list.items[i];
		if (strcmp(entry->device, device) == 0 &&
		    strspn(access, entry->access) == strlen(access))
			return true;
	}
	return false;
}

/* What stands before each advice. */
#define UNIT_TEXT_LEFT "units that are not the container's are left as they are: "

/* ---- The unit of a cgroup ---- */

/* What systemd calls controllers, its pseudo ones for device programs and the like included. */
static const char *const controllers[] = {
	"bpf-bind-network-interface",
	"bpf-devices",
	"bpf-firewall",
	"bpf-foreign",
	"bpf-restrict-network-interfaces",
	"bpf-socket-bind",
	"blkio",
	"cpu",
	"cpuacct",
	"cpuset",
	"devices",
	"io",
	"memory",
	"pids",
};

/*
 * Whether systemd puts "_" before this name, since as a directory it could be mistaken for a file of
 * the kernel's (cg_escape() of systemd). Where its releases differ: whether one of them does.
 */
static bool is_escaped(struct part name)
{
	static const char kernels[] = "cgroup.";

	if (name.at[0] == '_' || name.at[0] == '.' ||
	    (name.len >= sizeof(kernels) - 1 && memcmp(name.at, kernels, sizeof(kernels) - 1) == 0))
		return true;
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		const size_t len = strlen(controllers[i]);
		if (name.len > len && name.at[len] == '.' &&
		    memcmp(name.at, controllers[i], len) == 0)
			return true;
	}
	return false;
}

/* The name of the scope whose cgroup's directory is called so; of no length where it is none. */
static struct part scope_name(struct part leaf)
{
	static const char suffix[] = ".scope";
	const size_t len = sizeof(suffix) - 1;
	const struct part none = {leaf.at, 0};

	if (leaf.len <= len || memcmp(leaf.at + leaf.len - len, suffix, len) != 0)
		return none;
	if (leaf.at[0] != '_')
		return leaf;
	/* Anybody may put "_" before the name of somebody else's unit; it is systemd's only where systemd would. */
	const struct part name = {leaf.at + 1, leaf.len - 1};
	return name.len > len && is_escaped(name) ? name : none;
}

const char *unit_text_scope(struct arena *arena, const char *path, const char **ret_path)
{
	const char *end = path + strlen(path);

	*ret_path = NULL;
	while (end > path) {
		const char *start = end;
		while (start > path && start[-1] != '/')
			start--;
		const struct part name = scope_name((struct part){start, (size_t)(end - start)});
		if (name.len > 0) {
			*ret_path = arena_strndup(arena, path, (size_t)(end - path));
			return *ret_path ? arena_strndup(arena, name.at, name.len) : NULL;
		}
		end = start > path ? start - 1 : path;
	}
	return NULL;
}

const char *unit_text_slice_or_service(const char *path)
{
	static const char *const suffixes[] = {".slice", ".service"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const size_t end = strlen(suffixes[i]);
		if (len <= end || strcmp(name + len - end, suffixes[i]) != 0)
			continue;
		return name[0] == '_' && is_escaped((struct part){name + 1, len - 1}) ? name + 1
										      : name;
	}
	return NULL;
}

/* The kernel's and systemd's own bound for such a name. */
#define UNIT_NAME_MAX 255

/*
 * Whether the name can stand in a command between single quotes: of systemd's own characters, its backslash among them, and no
 * option. Whoever may make cgroups can call one anything.
 */
static bool is_typeable(const char *unit)
{
	static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789:_.\\@-";

	return unit[0] != '-' && strlen(unit) <= UNIT_NAME_MAX &&
	       unit[strspn(unit, characters)] == '\0';
}

/* For a list that systemd has made: then one entry more takes nothing away. */
static const char *advise_entry(struct arena *arena, const char *unit,
				const struct device_rule *rule, bool escaped_later)
{
	char device[UNIT_TEXT_DEVICE_MAX], access[UNIT_TEXT_ACCESS_MAX];

	unit_text_device(device, rule);
	unit_text_access(access, rule);
	if (is_typeable(unit) && !(escaped_later && strchr(unit, '\\')))
		return arena_printf(arena,
				    UNIT_TEXT_LEFT "systemctl set-property '%s' 'DeviceAllow=%s "
						   "%s' would allow it to all that is in there",
				    unit, device, access);
	return arena_printf(arena,
			    UNIT_TEXT_LEFT "an entry DeviceAllow=%s %s of %s would allow it to all "
					   "that is in there",
			    device, access, escaped_later ? unit : SHOW(unit));
}

static const char *advise_program(struct arena *arena, const struct device_rule *rule,
				  const struct unit_limit *limit)
{
	char device[UNIT_TEXT_DEVICE_MAX], access[UNIT_TEXT_ACCESS_MAX];

	if (limit->name[0])
		return arena_printf(arena,
				    UNIT_TEXT_LEFT
				    "device program %u (%s) is not systemd's, and "
				    "whoever attached it has to allow the device there",
				    limit->program, SHOW(limit->name));
	return arena_printf(
		arena,
		UNIT_TEXT_LEFT "device program %u has no name, as those of systemd before "
			       "release 251, and whoever attached it has to allow the "
			       "device there (DeviceAllow=%s %s where the unit has such "
			       "entries)",
		limit->program, unit_text_device(device, rule), unit_text_access(access, rule));
}

const char *unit_text_advice(struct arena *arena, const char *unit, const struct device_rule *rule,
			     const struct unit_limit *limit)
{
	if (limit->problem && limit->program)
		return arena_printf(arena,
				    UNIT_TEXT_LEFT "device program %u cannot be read (%s), and the "
						   "devices open only if it allows them",
				    limit->program, limit->problem);
	if (limit->problem)
		return arena_printf(arena,
				    UNIT_TEXT_LEFT
				    "its device programs cannot be read (%s), and the "
				    "devices open only if they allow them",
				    limit->problem);
	if (!limit->program)
		return UNIT_TEXT_LEFT "whoever has set its list has to allow the device there";
	if (strcmp(limit->name, UNIT_TEXT_PROGRAM) == 0)
		return advise_entry(arena, unit, rule, limit->escaped_later);
	return advise_program(arena, rule, limit);
}

const char *unit_text_cgroup(struct arena *arena, const struct unit_devices *devices,
			     const char *unit)
{
	const char suffix[] = ".slice";
	const char *slice = devices->slice ?: "system.slice", *path = "";
	const size_t len = strlen(slice);
	size_t end = len - (sizeof(suffix) - 1);

	if (len < sizeof(suffix) || len > UNIT_NAME_MAX || strcmp(slice + end, suffix) != 0 ||
	    strcmp(slice, "-.slice") == 0)
		end = 0;
	/* a-b.slice lies in a.slice. */
	for (size_t i = 1; path && i <= end; i++)
		if (i == end || slice[i] == '-')
			path = arena_printf(arena, "%s/%.*s%s", path, (int)i, slice, suffix);
	return path ? arena_printf(arena, "%s/%s", path, unit) : NULL;
}
