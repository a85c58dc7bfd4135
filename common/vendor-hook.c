/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The family shares one command line: PROGRAM [hook] COMMAND [--OPTION=VALUE | --OPTION VALUE]...
 * The program is known by the last component of its path or of args[0], wherever a distribution
 * puts it.
 */
#include "vendor-hook.h"

#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_family(const char *path)
{
	static const char *const names[] = {"nvidia-cdi-hook", "nvidia-ctk", "rbln-cdi-hook",
					    "hcu-cdi-hook"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(base_name(path), names[i]) == 0)
			return true;
	return false;
}

/* The value of option `name` at args[*i], which moves on when the value is a word of its own. */
static const char *option_value(const struct string_list *args, size_t *i, const char *name)
{
	const char *word = args->items[*i];
	size_t len = strlen(name);

	if (strncmp(word, name, len) != 0)
		return NULL;
	if (word[len] == '=')
		return word + len + 1;
	if (word[len] == '\0' && *i + 1 < args->n)
		return args->items[++*i];
	return NULL;
}

int vendor_hook_recognise(struct arena *arena, const struct cdi_hook *hook,
			  struct vendor_hook *ret_hook, struct error *err)
{
	const struct string_list *args = &hook->args;
	size_t i = 1;

	*ret_hook = (struct vendor_hook){.kind = VENDOR_HOOK_OTHER};
	if (!is_family(hook->path) && !(args->n > 0 && is_family(args->items[0])))
		return 0;
	if (i < args->n && strcmp(args->items[i], "hook") == 0)
		i++;
	if (i >= args->n || strcmp(args->items[i], "update-ldcache") != 0)
		return 0;
	ret_hook->kind = VENDOR_HOOK_UPDATE_LDCACHE;
	for (i++; i < args->n; i++) {
		const char *value = option_value(args, &i, "--folder");
		const char **slot = value ? array_add(arena, &ret_hook->folders) : NULL;
		if (value && !slot)
			return error_memory(err);
		if (slot)
			*slot = value;
	}
	return 0;
}
