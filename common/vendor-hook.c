/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The family shares one command line: PROGRAM [OPTION]... COMMAND [OPTION [VALUE]]..., or PROGRAM [OPTION]... hook
 * COMMAND ... where the program does other things too. An option is --NAME VALUE or --NAME=VALUE, with one dash or two;
 * a value that is a list may hold several, with commas between them; a word that is no option means nothing, and
 * neither does anything behind "--". The program is known by the last component of its path or of args[0], wherever a
 * distribution puts it.
 *
 * Everything is judged here, so that a wrong argument stops the container before anything was done, and what reaches
 * hook/ is data: link texts, clean paths, numbers.
 */
#include "vendor-hook.h"

#include <limits.h>
#include <string.h>

#include "bounds.h"
#include "path.h"

static const char default_compat_root[] = "/usr/local/cuda/compat";

enum program {
	PROGRAM_OTHER,
	PROGRAM_HOOK,
	PROGRAM_TOOLKIT /* its hooks are behind the word "hook" */
};

static const struct {
	const char *name;
	enum program program;
} programs[] = {
	{"nvidia-cdi-hook", PROGRAM_HOOK}, {"nvidia-ctk-hook", PROGRAM_HOOK},
	{"rbln-cdi-hook", PROGRAM_HOOK},   {"hcu-cdi-hook", PROGRAM_HOOK},
	{"nvidia-ctk", PROGRAM_TOOLKIT},   {"hcu-ctk", PROGRAM_TOOLKIT},
};

static const struct {
	const char *name;
	enum vendor_hook_kind kind;
} commands[] = {
	{"noop", VENDOR_HOOK_NOTHING},
	{"update-ldcache", VENDOR_HOOK_UPDATE_LDCACHE},
	{"create-symlinks", VENDOR_HOOK_CREATE_SYMLINKS},
	{"create-soname-symlinks", VENDOR_HOOK_CREATE_SONAME_SYMLINKS},
	{"chmod", VENDOR_HOOK_CHMOD},
	{"enable-cuda-compat", VENDOR_HOOK_CUDA_COMPAT},
	{"disable-device-node-modification", VENDOR_HOOK_DRIVER_PARAMS},
	{"update-application-profile", VENDOR_HOOK_APPLICATION_PROFILE},
	{"apply-cuda-memory-limits", VENDOR_HOOK_MEMORY_LIMITS},
};

/* A command line while it is read. */
struct reader {
	struct arena *arena;
	const struct string_list *args;
	size_t i; /* the next word */
	struct vendor_hook *hook;
	const char *mode;
	struct string_list links; /* TARGET::PATH */
	struct string_list gpus;
};

/*
 * Who is called
 */

static enum program program_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(slash ? slash + 1 : path, programs[i].name) == 0)
			return programs[i].program;
	return PROGRAM_OTHER;
}

static bool is_early_stage(const char *name)
{
	return strcmp(name, "prestart") == 0 || strcmp(name, "createRuntime") == 0 ||
	       strcmp(name, "createContainer") == 0;
}

/*
 * Options
 */

/* The name of the option at args[i], without dashes and value, or NULL for another word. */
static const char *option_name(const struct reader *reader, size_t *ret_len)
{
	const char *word = reader->args->items[reader->i];

	if (word[0] != '-' || word[1] == '\0')
		return NULL;
	word += word[1] == '-' ? 2 : 1;
	*ret_len = strcspn(word, "=");
	return word;
}

static bool is_name(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(word, name, len) == 0;
}

/* Options that say nothing about the container, and whether they have a value. */
static bool is_common(const char *name, size_t len, bool *ret_value)
{
	static const struct {
		const char *name;
		bool value;
	} common[] = {
		{"debug", false},         {"d", false},        {"quiet", false},
		{"container-spec", true}, {"host-root", true}, {"config", true},
	};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		*ret_value = common[i].value;
		if (is_name(name, len, common[i].name))
			return true;
	}
	return false;
}

/* Takes the option at args[i] with its value: behind "=", or the next word. */
static int take_value(struct reader *reader, const char **ret_value, struct error *err)
{
	const char *equals = strchr(reader->args->items[reader->i], '=');

	reader->i++;
	if (equals) {
		*ret_value = equals + 1;
		return 0;
	}
	if (reader->i == reader->args->n)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "option %s has no value",
				 SHOW(reader->args->items[reader->i - 1]));
	*ret_value = reader->args->items[reader->i++];
	return 0;
}

static int add_values(struct reader *reader, struct string_list *list, const char *value,
		      struct error *err)
{
	for (;;) {
		size_t len = strcspn(value, ",");
		const char **slot = array_add(reader->arena, list);
		if (!slot || !(*slot = arena_strndup(reader->arena, value, len)))
			return error_memory(err);
		if (list->n > LIMIT_EDITS)
			return error_say(err, EXIT_CODE_VENDOR_HOOK, "more than %d values",
					 LIMIT_EDITS);
		if (value[len] == '\0')
			return 0;
		value += len + 1;
	}
}

/* Where the values of an option go: one of the two, or neither for what only has to be right. */
struct destination {
	struct string_list *list;
	const char **value;
};

/* false: the command has no such option. */
static bool find_option(struct reader *reader, const char *name, size_t len,
			struct destination *ret_destination)
{
	struct vendor_hook *hook = reader->hook;
	const struct {
		enum vendor_hook_kind kind;
		const char *name;
		struct destination destination;
	} options[] = {
		{VENDOR_HOOK_UPDATE_LDCACHE, "folder", {.list = &hook->folders}},
		{VENDOR_HOOK_UPDATE_LDCACHE, "ldconfig-path", {0}},
		{VENDOR_HOOK_CREATE_SYMLINKS, "link", {.list = &reader->links}},
		{VENDOR_HOOK_CREATE_SONAME_SYMLINKS, "folder", {.list = &hook->folders}},
		{VENDOR_HOOK_CREATE_SONAME_SYMLINKS, "ldconfig-path", {0}},
		{VENDOR_HOOK_CHMOD, "path", {.list = &hook->paths}},
		{VENDOR_HOOK_CHMOD, "mode", {.value = &reader->mode}},
		{VENDOR_HOOK_CUDA_COMPAT,
		 "host-driver-version",
		 {.value = &hook->host_driver_version}},
		{VENDOR_HOOK_CUDA_COMPAT, "host-cuda-version", {.value = &hook->host_cuda_version}},
		{VENDOR_HOOK_CUDA_COMPAT,
		 "cuda-compat-container-root",
		 {.value = &hook->compat_root}},
		{VENDOR_HOOK_MEMORY_LIMITS, "gpu-id", {.list = &reader->gpus}},
		{VENDOR_HOOK_MEMORY_LIMITS, "driver-root", {0}},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].kind != hook->kind || !is_name(name, len, options[i].name))
			continue;
		*ret_destination = options[i].destination;
		return true;
	}
	return false;
}

static int read_option(struct reader *reader, const char *name, size_t len, struct error *err)
{
	struct destination destination = {0};
	bool has_value = true;
	const char *value = "";
	int r;

	if (!find_option(reader, name, len, &destination) && !is_common(name, len, &has_value))
		return error_say(err, EXIT_CODE_VENDOR_HOOK,
				 "option %s is not known; --vendor-hooks=exec runs the vendor's "
				 "own program",
				 SHOW(reader->args->items[reader->i]));
	if (!has_value) {
		reader->i++;
		return 0;
	}
	r = take_value(reader, &value, err);
	if (r == 0 && destination.value)
		*destination.value = value;
	if (r == 0 && destination.list)
		r = add_values(reader, destination.list, value, err);
	return r;
}

static int read_options(struct reader *reader, struct error *err)
{
	while (reader->i < reader->args->n) {
		size_t len;
		const char *name = option_name(reader, &len);
		int r = 0;

		if (name && name[0] == '\0')
			return 0;
		if (name)
			r = read_option(reader, name, len, err);
		else
			reader->i++;
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * In front of the command. The vendor's own program does nothing, and says it was successful, when it meets an option
 * there that it does not know; what the spec asks for is done here.
 */
static void skip_options(struct reader *reader)
{
	const char *name, *ignored;
	struct error none = {0};
	bool has_value;
	size_t len;

	while (reader->i < reader->args->n && (name = option_name(reader, &len))) {
		if (!is_common(name, len, &has_value) || !has_value)
			reader->i++;
		else if (take_value(reader, &ignored, &none) < 0)
			return;
	}
}

/*
 * Values
 */

/* NULL when something may be made or changed there, else why not. */
static const char *path_problem(const char *given, const char *clean)
{
	if (given[0] == '\0')
		return "is empty";
	if (strlen(clean) >= PATH_MAX)
		return "is too long";
	if (strcmp(clean, "/") == 0)
		return "is the container's whole root";
	if (path_is_below(clean, "/proc") || path_is_below(clean, "/sys"))
		return "lies in the container's /proc or /sys";
	return NULL;
}

static int container_path(struct reader *reader, const char *given, const char **ret_path,
			  struct error *err)
{
	const char *clean = path_clean_in_root(reader->arena, given);
	const char *problem;

	if (!clean)
		return error_memory(err);
	problem = path_problem(given, clean);
	if (problem)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "path %s %s", SHOW(given), problem);
	*ret_path = clean;
	return 0;
}

/* TARGET::PATH, with exactly one such pair of colons. */
static int read_link(struct reader *reader, const char *word, struct vendor_hook_link *link,
		     struct error *err)
{
	const char *colons = strstr(word, "::");

	if (!colons || strstr(colons + 2, "::"))
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "link %s is not TARGET::PATH",
				 SHOW(word));
	if (colons == word)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "link %s has no target", SHOW(word));
	if ((size_t)(colons - word) >= PATH_MAX)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "the target of link %s is too long",
				 SHOW(word));
	if (word[strlen(word) - 1] == '/')
		return error_say(err, EXIT_CODE_VENDOR_HOOK,
				 "link %s ends in /: only a directory's name can", SHOW(word));
	link->target = arena_strndup(reader->arena, word, (size_t)(colons - word));
	if (!link->target)
		return error_memory(err);
	return container_path(reader, colons + 2, &link->path, err);
}

static int finish_links(struct reader *reader, struct error *err)
{
	for (size_t i = 0; i < reader->links.n; i++) {
		struct vendor_hook_link *link = array_add(reader->arena, &reader->hook->links);
		if (!link)
			return error_memory(err);
		int r = read_link(reader, reader->links.items[i], link, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The bits beyond rwxrwxrwx are dropped, as the vendor's program drops them. */
static int finish_chmod(struct reader *reader, struct error *err)
{
	struct vendor_hook *hook = reader->hook;
	const char *mode = reader->mode;

	if (!mode || !mode[0])
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "option --mode is missing");
	if (strspn(mode, "01234567") != strlen(mode) || strlen(mode) > 7)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "mode %s is not an octal number",
				 SHOW(mode));
	for (hook->mode = 0; *mode; mode++)
		hook->mode = (hook->mode << 3 | (mode_t)(*mode - '0')) & 0777;
	for (size_t i = 0; i < hook->paths.n; i++) {
		int r = container_path(reader, hook->paths.items[i], &hook->paths.items[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int finish_compat(struct reader *reader, struct error *err)
{
	struct vendor_hook *hook = reader->hook;

	if (hook->host_driver_version && !hook->host_driver_version[0])
		hook->host_driver_version = NULL;
	if (hook->host_cuda_version && !hook->host_cuda_version[0])
		hook->host_cuda_version = NULL;
	if (!hook->host_driver_version && !hook->host_cuda_version)
		hook->kind = VENDOR_HOOK_NOTHING;
	return container_path(reader, hook->compat_root ? hook->compat_root : default_compat_root,
			      &hook->compat_root, err);
}

static int finish_memory_limits(struct reader *reader, struct error *err)
{
	for (size_t i = 0; i < reader->gpus.n; i++)
		if (strspn(reader->gpus.items[i], " \t\n\r\f\v") == strlen(reader->gpus.items[i]))
			return error_say(err, EXIT_CODE_VENDOR_HOOK, "option --gpu-id is empty");
	if (reader->gpus.n == 0)
		return error_say(err, EXIT_CODE_VENDOR_HOOK, "option --gpu-id is missing");
	return 0;
}

static int finish(struct reader *reader, struct error *err)
{
	switch (reader->hook->kind) {
	case VENDOR_HOOK_CREATE_SYMLINKS:
		return finish_links(reader, err);
	case VENDOR_HOOK_CHMOD:
		return finish_chmod(reader, err);
	case VENDOR_HOOK_CUDA_COMPAT:
		return finish_compat(reader, err);
	case VENDOR_HOOK_MEMORY_LIMITS:
		return finish_memory_limits(reader, err);
	default:
		return 0;
	}
}

/* Nobody means them, and a line of a file or of a log would be two. */
static int check_characters(const struct string_list *args, struct error *err)
{
	for (size_t i = 0; i < args->n; i++)
		for (const char *at = args->items[i]; *at; at++)
			if ((unsigned char)*at < ' ' || *at == 0x7f)
				return error_say(err, EXIT_CODE_VENDOR_HOOK,
						 "argument %s has a control character",
						 SHOW(args->items[i]));
	return 0;
}

/*
 * The command
 */

static int read_command(struct reader *reader, struct error *err)
{
	struct vendor_hook *hook = reader->hook;
	bool known = false;
	int r;

	hook->kind = VENDOR_HOOK_NOTHING;
	if (reader->i == reader->args->n) {
		hook->note = "no command is given: nothing is done";
		return 0;
	}
	hook->command = reader->args->items[reader->i++];
	for (size_t i = 0; !known && i < sizeof(commands) / sizeof(commands[0]); i++) {
		known = strcmp(hook->command, commands[i].name) == 0;
		if (known)
			hook->kind = commands[i].kind;
	}
	if (!known) {
		hook->note = "the command is not known: nothing is done, as the vendor's own "
			     "programs do nothing";
		return 0;
	}
	r = check_characters(reader->args, err);
	if (r == 0)
		r = read_options(reader, err);
	if (r == 0)
		r = finish(reader, err);
	return r < 0 ? error_prefix(err, "%s", hook->command) : 0;
}

int vendor_hook_recognise(struct arena *arena, const struct cdi_hook *hook,
			  struct vendor_hook *ret_hook, struct error *err)
{
	struct reader reader = {.arena = arena, .args = &hook->args, .i = 1, .hook = ret_hook};
	enum program program = program_of(hook->path);

	*ret_hook = (struct vendor_hook){.kind = VENDOR_HOOK_OTHER};
	if (program == PROGRAM_OTHER && hook->args.n > 0)
		program = program_of(hook->args.items[0]);
	if (program == PROGRAM_OTHER || !is_early_stage(hook->hook_name))
		return 0;
	if (hook->args.n == 0)
		reader.i = 0;
	skip_options(&reader);
	if (program == PROGRAM_TOOLKIT) {
		if (reader.i == reader.args->n || strcmp(reader.args->items[reader.i], "hook") != 0)
			return 0;
		reader.i++;
		skip_options(&reader);
	}
	return read_command(&reader, err);
}
