/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a hook, one a line: the path first, then the arguments. The whole text is a params file besides. */
#include "fuzz.h"

#include <limits.h>

#include "driver-params.h"
#include "vendor-hook.h"

static int read_words(struct arena *arena, const char *text, size_t size, struct cdi_hook *hook)
{
	*hook = (struct cdi_hook){.hook_name = "createContainer", .path = ""};
	for (size_t at = 0, n = 0; at < size; n++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t len = end ? (size_t)(end - text) - at : size - at;
		const char *word = arena_strndup(arena, text + at, len);
		const char **slot = word && n > 0 ? array_add(arena, &hook->args) : NULL;
		if (!word || (n > 0 && !slot))
			return -1;
		if (n == 0)
			hook->path = word;
		else
			*slot = word;
		at += len + 1;
	}
	return 0;
}

/* A path in the container that something is made at. */
static void check_path(const char *path)
{
	assert(path[0] == '/' && path[1] != '\0' && strlen(path) < PATH_MAX);
	assert(path[strlen(path) - 1] != '/' && !strstr(path, "//"));
	for (const char *at = path; at; at = strchr(at + 1, '/'))
		assert(strncmp(at, "/../", 4) != 0 && strcmp(at, "/..") != 0 &&
		       strncmp(at, "/./", 3) != 0 && strcmp(at, "/.") != 0);
	assert(strcmp(path, "/proc") != 0 && strncmp(path, "/proc/", 6) != 0);
	assert(strcmp(path, "/sys") != 0 && strncmp(path, "/sys/", 5) != 0);
}

static void check_hook(const struct vendor_hook *hook)
{
	assert(hook->kind == VENDOR_HOOK_OTHER || hook->command || hook->note);
	for (size_t i = 0; i < hook->links.n; i++) {
		check_path(hook->links.items[i].path);
		assert(hook->links.items[i].target[0]);
		assert(strlen(hook->links.items[i].target) < PATH_MAX);
	}
	for (size_t i = 0; hook->kind == VENDOR_HOOK_CHMOD && i < hook->paths.n; i++)
		check_path(hook->paths.items[i]);
	assert((hook->mode & ~(mode_t)0777) == 0);
	if (hook->kind == VENDOR_HOOK_CUDA_COMPAT)
		check_path(hook->compat_root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *masked = NULL;
	struct vendor_hook vendor_hook;
	struct cdi_hook hook;
	struct error err = {0};
	struct arena arena;
	int r;

	arena_init(&arena, FUZZ_MEMORY);
	if (read_words(&arena, text, size, &hook) == 0) {
		r = vendor_hook_recognise(&arena, &hook, &vendor_hook, &err);
		fuzz_check_error(r, &err);
		if (r == 0)
			check_hook(&vendor_hook);
	}
	err = (struct error){0};
	r = driver_params_mask(&arena, text, size, &masked, &err);
	fuzz_check_error(r < 0 ? r : 0, &err);
	assert(r <= 0 || strlen(masked) <= size + 1);
	arena_done(&arena);
	return 0;
}
