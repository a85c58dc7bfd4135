/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden cases: every directory of good/ and bad/ is one. From its files the same way is gone as
 * the hook goes, up to the plan, and what comes out is compared with plan.txt or error.txt: each
 * can be reviewed by somebody who reads no C.
 *
 *   state.json      what the runtime sends
 *   config.json     of the bundle; may be missing
 *   etc/cdi run/cdi the spec directories, in this order
 *   host            what the host has, a node a line (host-list.h)
 *   allow           who may ask; where it is missing everything is allowed
 *   options         words: lenient, no-vendor-hooks, exec-vendor-hooks, no-ldcache, disable-NAME,
 *                   stage-STAGE (else createRuntime), registered-STAGE (there, too)
 *   plan.txt        the plan, then what was noted, a "# warning: ..." a line
 *   plan.json       the plan for programs; may be missing
 *   edited.json     config.json with the plan in it, at stage precreate
 *   error.txt       "EXIT-CODE: SENTENCE"
 *
 * validate/ is one spec directory with many broken files, and expected.txt what there is to tell of
 * them: a line a problem, warnings behind "# warning: ".
 *
 * Called with the directory of this file; with --write as second argument it writes the golden
 * files instead.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allow.h"
#include "bounds.h"
#include "cdi-inventory.h"
#include "cdi-registry.h"
#include "cleanup.h"
#include "config-edit.h"
#include "fdio.h"
#include "host-list.h"
#include "json.h"
#include "oci-config.h"
#include "oci-state.h"
#include "plan-json.h"
#include "plan-text.h"
#include "plan.h"
#include "request.h"

struct golden {
	struct arena arena;
	int dir_fd;
	struct notes notes;
	struct request_list requests;
	struct cdi_found_list found;
	struct oci_config config;
	struct host_list host;
	struct plan plan;
};

static int read_file(struct golden *golden, const char *name, char **ret_data, size_t *ret_size,
		     struct error *err)
{
	return fdio_read_at(&golden->arena, golden->dir_fd, name, LIMIT_CONFIG_SIZE, ret_data,
			    ret_size, err);
}

static bool has_option(struct golden *golden, const char *word)
{
	struct error err = {0};
	char *data;
	size_t size;

	return read_file(golden, "options", &data, &size, &err) == 0 && strstr(data, word);
}

static int read_requests(struct golden *golden, struct error *err)
{
	const struct string_list prefixes = {.items = (const char *[]){"cdi.k8s.io/"}, .n = 1};
	const struct string_list none = {0};
	struct oci_state state;
	char *data;
	size_t size;
	int r = read_file(golden, "state.json", &data, &size, err);

	if (r == 0)
		r = oci_state_parse(&golden->arena, data, size, &state, err);
	if (r == 0)
		r = request_collect(&golden->arena, &state, &prefixes, &none, &golden->requests,
				    err);
	return r;
}

static int check_allowed(struct golden *golden, struct error *err)
{
	struct allow_list list = {0};
	char *data;
	size_t size;
	int r = read_file(golden, "allow", &data, &size, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = allow_add_file(&golden->arena, &list, "/etc/oci-cdi-hook/allow", data, size,
				   err);
	if (r == 0)
		r = allow_check(&list, "/etc/oci-cdi-hook/allow", &golden->requests, err);
	return r;
}

static int find_devices(struct golden *golden, struct error *err)
{
	const char *items[] = {"/etc/cdi", "/run/cdi"};
	const struct string_list dir_list = {.items = items, .n = 2};
	const struct cdi_registry_options options = {
		.trust = {.root_fd = golden->dir_fd, .owner = getuid()},
		.dirs = &dir_list,
		.lenient = has_option(golden, "lenient"),
	};
	struct cdi_registry registry = {0};
	int r = cdi_registry_look_up(&golden->arena, &options, &golden->requests, &golden->notes,
				     &registry, &golden->found, err);

	if (r == 0)
		cdi_registry_note_set_aside(&registry, &golden->found, &golden->notes);
	return r;
}

static int read_optional(struct golden *golden, struct error *err)
{
	struct error ignored = {0};
	char *data;
	size_t size;
	int r = 0;

	if (read_file(golden, "config.json", &data, &size, &ignored) == 0)
		r = oci_config_parse(&golden->arena, data, size, &golden->config, err);
	if (r == 0 && read_file(golden, "host", &data, &size, &ignored) == 0)
		r = host_list_parse(&golden->arena, data, size, &golden->host, err);
	return r;
}

static void read_stages(struct golden *golden, struct plan_options *options)
{
	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		char word[64];

		snprintf(word, sizeof(word), "stage-%s", stage_name((enum stage)stage));
		if (has_option(golden, word))
			options->stage = (enum stage)stage;
		snprintf(word, sizeof(word), "registered-%s", stage_name((enum stage)stage));
		if (has_option(golden, word))
			options->registered |= STAGE_BIT(stage);
	}
}

/* The word behind "disable-", or NULL. */
static const char *disabled_hook(struct golden *golden)
{
	struct error err = {0};
	char *data;
	size_t size;

	if (read_file(golden, "options", &data, &size, &err) < 0 || !strstr(data, "disable-"))
		return NULL;
	data = strstr(data, "disable-") + strlen("disable-");
	return arena_strndup(&golden->arena, data, strcspn(data, " \n"));
}

static int make_plan(struct golden *golden, struct error *err)
{
	const struct host_view host = host_list_view(&golden->host);
	const char *disabled = disabled_hook(golden);
	const struct string_list disabled_hooks = {.items = &disabled, .n = disabled != NULL};
	struct plan_options options = {
		.stage = STAGE_CREATE_RUNTIME,
		.lenient = has_option(golden, "lenient"),
		.vendor_hooks = has_option(golden, "no-vendor-hooks") ? PLAN_VENDOR_HOOKS_NONE
				: has_option(golden, "exec-vendor-hooks")
					? PLAN_VENDOR_HOOKS_EXEC
					: PLAN_VENDOR_HOOKS_BUILTIN,
		.disabled_hooks = &disabled_hooks,
		.ldcache = !has_option(golden, "no-ldcache"),
	};

	read_stages(golden, &options);

	return plan_build(&golden->arena, &golden->found, &golden->config, &host, &options,
			  &golden->notes, &golden->plan, err);
}

/* What the case comes to: the text of plan.txt or error.txt, whose name is returned too. NULL
 * without memory. */
static const char *outcome(struct golden *golden, const char **ret_name)
{
	static const char *const levels[] = {"warning", "info", "debug"};
	struct error err = {0};
	char sentence[ERROR_TEXT_MAX];
	const char *text = NULL;
	int r = read_requests(golden, &err);

	if (r == 0)
		r = check_allowed(golden, &err);
	if (r == 0)
		r = find_devices(golden, &err);
	if (r == 0)
		r = read_optional(golden, &err);
	if (r == 0)
		r = make_plan(golden, &err);
	if (r == 0)
		text = plan_text(&golden->arena, &golden->plan, &err);
	*ret_name = text ? "plan.txt" : "error.txt";
	if (!text)
		return arena_printf(&golden->arena, "%d: %s\n", err.exit_code,
				    error_text(&err, sentence));
	for (size_t i = 0; text && i < golden->notes.list.n; i++)
		text = arena_printf(&golden->arena, "%s# %s: %s\n", text,
				    levels[golden->notes.list.items[i].level],
				    golden->notes.list.items[i].text);
	return text;
}

static void write_golden(struct golden *golden, const char *name, const char *text)
{
	_cleanup_fd_ int fd =
		openat(golden->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		perror(name);
		exit(1);
	}
}

/* Every line of it as a TAP comment. */
static void print_comment(const char *text)
{
	printf("# ");
	for (; *text; text++)
		printf(*text == '\n' && text[1] ? "\n# " : "%c", *text);
}

/* Where a case has the plan as JSON too, that must be the same. */
static bool check_json(struct golden *golden, const char *path, bool rewrite)
{
	struct error err = {0};
	char *expected;
	size_t size;

	if (read_file(golden, "plan.json", &expected, &size, &err) == -ENOENT)
		return true;
	const char *text = plan_json(&golden->arena, &golden->plan, &err);
	if (text && rewrite)
		write_golden(golden, "plan.json", text);
	if (text && json_check("plan.json", text, strlen(text), &err) == 0 &&
	    (rewrite || strcmp(text, expected) == 0))
		return true;
	printf("# %s: plan.json: %s: got:\n", path, err.text);
	print_comment(text ? text : "nothing\n");
	return false;
}

/* The edited config must be the same, byte for byte. */
static bool check_edited(struct golden *golden, const char *path, bool rewrite)
{
	struct error err = {0};
	const char *edited = NULL;
	char *config, *expected, sentence[ERROR_TEXT_MAX];
	size_t size, edited_size = 0, expected_size;

	if (!has_option(golden, "stage-precreate"))
		return true;
	int r = read_file(golden, "config.json", &config, &size, &err);
	if (r == 0)
		r = config_edit(&golden->arena, config, size, &golden->plan, &edited, &edited_size,
				&err);
	if (r == 0 && rewrite)
		write_golden(golden, "edited.json", edited);
	if (r == 0)
		r = read_file(golden, "edited.json", &expected, &expected_size, &err);
	if (r == 0 && edited_size == expected_size && memcmp(edited, expected, edited_size) == 0)
		return true;
	printf("# %s: edited.json: %s: got:\n", path, error_text(&err, sentence));
	print_comment(edited ? edited : "nothing\n");
	return false;
}

/* Whether the case came to what its golden file says. Tells the difference as TAP comments. */
static bool run_case(const char *path, const char *kind, bool rewrite)
{
	struct golden golden = {.notes = {.arena = &golden.arena}};
	const char *wanted = strcmp(kind, "good") == 0 ? "plan.txt" : "error.txt";
	const char *name, *text;
	struct error err = {0};
	const char *expected = "(no such file)\n";
	char *data;
	size_t size;
	bool same;

	arena_init(&golden.arena, LIMIT_MEMORY);
	golden.dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	text = outcome(&golden, &name);
	if (text && rewrite)
		write_golden(&golden, name, text);
	if (read_file(&golden, wanted, &data, &size, &err) == 0)
		expected = data;
	same = text && strcmp(name, wanted) == 0 && strcmp(text, expected) == 0;
	if (!same) {
		printf("# %s: expected %s:\n", path, wanted);
		print_comment(expected);
		printf("# got %s:\n", name);
		print_comment(text ? text : "nothing\n");
	}
	same = check_json(&golden, path, rewrite) && same;
	same = (strcmp(kind, "good") != 0 || check_edited(&golden, path, rewrite)) && same;
	close_fd(&golden.dir_fd);
	arena_done(&golden.arena);
	return same;
}

static int is_case(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Runs all cases of one kind; returns how many failed. */
static unsigned run_kind(const char *top, const char *kind, bool rewrite, unsigned *count)
{
	struct dirent **entries;
	char path[4096];
	unsigned failed = 0;
	int n;

	snprintf(path, sizeof(path), "%s/%s", top, kind);
	n = scandir(path, &entries, is_case, alphasort);
	if (n <= 0) {
		printf("Bail out! no cases in %s\n", path);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", top, kind, entries[i]->d_name);
		bool ok = run_case(path, kind, rewrite);
		printf("%s %u - %s/%s\n", ok ? "ok" : "not ok", ++*count, kind, entries[i]->d_name);
		failed += !ok;
		free(entries[i]);
	}
	free(entries);
	return failed;
}

/* The lines of one file. NULL: no memory. */
static const char *problem_lines(struct arena *arena, const char *before,
				 const struct cdi_file_problems *file)
{
	const char *lines = before;

	for (size_t i = 0; lines && i < file->problems.n; i++) {
		const struct cdi_problem *problem = &file->problems.items[i];
		const char *text = cdi_problem_text(arena, file->file, problem);

		lines = text ? arena_printf(arena, "%s%s%s\n", lines,
					    problem->severity == CDI_WARNING ? "# warning: " : "",
					    text)
			     : NULL;
	}
	if (lines && file->problems.dropped)
		lines = arena_printf(arena, "%s# %s: %zu more\n", lines, file->file,
				     file->problems.dropped);
	return lines;
}

/* Every problem of every file of validate/. */
static bool check_validate(const char *top, bool rewrite)
{
	struct golden golden = {0};
	const char *dir = "/validate", *lines = "", *expected = "(no such file)\n";
	const struct string_list dirs = {.items = &dir, .n = 1};
	struct cdi_checked checked = {0};
	struct error err = {0};
	char *data;
	size_t size;

	arena_init(&golden.arena, LIMIT_MEMORY);
	golden.dir_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct cdi_registry_options options = {
		.trust = {.root_fd = golden.dir_fd, .owner = getuid()}, .dirs = &dirs};
	int r = cdi_inventory_check(&golden.arena, &options, &checked, &err);
	for (size_t i = 0; r == 0 && lines && i < checked.files.n; i++)
		lines = problem_lines(&golden.arena, lines, &checked.files.items[i]);
	if (r == 0 && lines && rewrite)
		write_golden(&golden, "validate/expected.txt", lines);
	if (read_file(&golden, "validate/expected.txt", &data, &size, &err) == 0)
		expected = data;
	bool same = r == 0 && lines && strcmp(lines, expected) == 0;
	if (!same) {
		printf("# validate: %s; got:\n", err.text);
		print_comment(lines ? lines : "nothing\n");
	}
	close_fd(&golden.dir_fd);
	arena_done(&golden.arena);
	return same;
}

int main(int argc, char **argv)
{
	bool rewrite = argc > 2 && strcmp(argv[2], "--write") == 0;
	unsigned count = 0, failed;

	if (argc < 2) {
		fprintf(stderr, "usage: %s DIRECTORY [--write]\n", argv[0]);
		return 2;
	}
	failed = run_kind(argv[1], "good", rewrite, &count);
	failed += run_kind(argv[1], "bad", rewrite, &count);
	bool ok = check_validate(argv[1], rewrite);
	printf("%s %u - validate\n", ok ? "ok" : "not ok", ++count);
	failed += !ok;
	printf("1..%u\n", count);
	return failed ? 1 : 0;
}
