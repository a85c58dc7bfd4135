/* SPDX-License-Identifier: Apache-2.0 */
/*
 * musl's loader opens DIRECTORY/NAME for the directories of its path file, in their order, and for
 * a list of its own where there is no such file; the sonames inside the libraries are nothing to
 * it. So the mounted directories go in front, where the host's driver wins over a library of the
 * same name in the image, as it does with glibc; and a file that is made has to name musl's own
 * directories too.
 *
 * The format, as of musl 1.1.0 to 1.2.5: directories, separated by colons or newlines; the text
 * ends at its first NUL.
 */
#include "musl-path.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

const char *musl_path_file(struct arena *arena, const char *loader)
{
	const char *name = strrchr(loader, '/') + 1;

	return arena_printf(arena, "/etc/%.*s.path", (int)(strstr(name, ".so") - name), name);
}

static bool names_dir(const char *text, const char *dir)
{
	const size_t dir_len = strlen(dir);

	for (size_t len; *text; text += len + (text[len] != '\0')) {
		len = strcspn(text, ":\n");
		size_t bare = len;
		while (bare > 1 && text[bare - 1] == '/')
			bare--;
		if (bare == dir_len && strncmp(text, dir, bare) == 0)
			return true;
	}
	return false;
}

static void put_line(struct text *text, const char *line)
{
	text_put(text, line);
	text_put_byte(text, '\n');
}

int musl_path_merge(struct arena *arena, const char *old, size_t size,
		    const struct string_list *dirs, const char **ret_text, struct error *err)
{
	const char *rest = old ? arena_strndup(arena, old, size) : MUSL_PATH_DEFAULT;
	struct text text = {.arena = arena};

	*ret_text = NULL;
	if (!rest)
		return error_memory(err);
	for (size_t i = 0; i < dirs->n; i++)
		if (!names_dir(rest, dirs->items[i]))
			put_line(&text, dirs->items[i]);
	if (text.len == 0 && !text.failed)
		return 0;
	text_put(&text, rest);
	*ret_text = text_end(&text, err);
	return *ret_text ? 0 : -ENOMEM;
}
