/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec directories as one index. A spec directory is shared by vendors' tools, device plugins
 * and administrators: one file that is broken, untrusted or half-written must not take the others'
 * devices away, and must not vanish without a word either. So whatever cannot be used is set aside
 * with its reason, and the reasons are part of every "not found".
 */
#include "cdi-registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "bounds.h"
#include "cdi-missing.h"
#include "cleanup.h"
#include "fdio.h"
#include "path.h"
#include "spec-text.h"

/* What a step returns when there was nothing to use and nothing to complain about. */
#define NOTHING_THERE 1
/* Texts of files are freed together when they are this much; the largest may be read twice. */
#define TEXTS_KEPT (128 * 1024)
#define TEXTS_LIMIT ((size_t)TEXTS_KEPT + 8 * (size_t)LIMIT_SPEC_SIZE)

struct directory {
	int fd; /* -1 when the same directory is named again later */
	const char *path;
	unsigned priority;
	dev_t dev;
	ino_t ino;
};

struct loader {
	struct arena *arena;
	const struct cdi_registry_options *options;
	struct notes *notes;
	struct cdi_registry *registry;
	size_t total;             /* bytes of spec files read */
	struct arena texts;       /* what was read; nobody needs it once it is parsed */
	struct string_list kinds; /* the only ones of interest */
	bool every_kind;          /* all are */
	struct directory dirs[LIMIT_SPEC_DIRS];
	size_t n_dirs;
};

static void loader_done(struct loader *loader)
{
	for (size_t i = 0; i < loader->n_dirs; i++)
		close_fd(&loader->dirs[i].fd);
	arena_done(&loader->texts);
}

static void close_stream(DIR **stream)
{
	if (*stream)
		closedir(*stream);
}

/*
 * `why` as a sentence that begins with the name of `file`: "open FILE: Permission denied" does so
 * without its first word, and a failure further down a link gets the name in front.
 */
static const char *reason_of(struct arena *arena, const char *file, const struct error *why)
{
	const char *shown = SHOW(file);
	size_t len = strlen(shown);
	char text[ERROR_TEXT_MAX];
	const char *named = text;

	error_text(why, text);
	if (strncmp(text, "open ", 5) == 0 || strncmp(text, "read ", 5) == 0)
		named += 5;
	if (strncmp(named, shown, len) == 0 && named[len] == ':')
		return arena_strdup(arena, named);
	return arena_printf(arena, "%s: %s", shown, text);
}

/* Where the problems of `file` go when all of them are wanted. NULL: no memory. */
static struct cdi_problem_list *problems_of(struct loader *loader, const char *file)
{
	struct cdi_file_list *files = loader->options->files;
	struct cdi_file_problems *last = files->n ? &files->items[files->n - 1] : NULL;

	if (!last || strcmp(last->file, file) != 0) {
		last = array_add(loader->arena, files);
		if (!last)
			return NULL;
		last->file = file;
	}
	return &last->problems;
}

/* `file` as a whole has a problem, which `sentence` tells behind its name. */
static int add_problem(struct loader *loader, enum cdi_severity severity, const char *file,
		       const char *sentence, struct error *err)
{
	struct cdi_problem_list *problems = problems_of(loader, file);
	size_t len = strlen(SHOW(file)) + strlen(": ");
	const struct cdi_problem problem = {severity, .path = "", .text = sentence + len};

	if (!problems)
		return error_memory(err);
	/* Those of the file's text are there already. */
	if (severity == CDI_WARNING || !problems->n_errors)
		cdi_problem_add(loader->arena, problems, &problem);
	return 0;
}

/* Records why `file` is not used. */
static int set_aside(struct loader *loader, const char *file, const char *kind,
		     const struct error *why, struct error *err)
{
	struct cdi_set_aside *aside = array_add(loader->arena, &loader->registry->set_aside);
	const char *reason = reason_of(loader->arena, file, why);

	if (!aside || !reason)
		return error_memory(err);
	*aside = (struct cdi_set_aside){
		.file = file,
		.kind = kind,
		.reason = reason,
		.exit_code =
			why->exit_code == EXIT_CODE_REFUSED ? EXIT_CODE_REFUSED : EXIT_CODE_SPEC,
	};
	return loader->options->files ? add_problem(loader, CDI_ERROR, file, reason, err) : 0;
}

/* A step that failed: running out of memory ends the load, anything else sets the file aside. */
static int give_up(struct loader *loader, const char *file, const char *kind, int r,
		   const struct error *why, struct error *err)
{
	if (r == -ENOMEM) {
		*err = *why;
		return r;
	}
	return set_aside(loader, file, kind, why, err);
}

/*
 * Opens directory `path` and remembers it. One that was named before is used once, at this later
 * place.
 */
static int directory_open(struct loader *loader, const char *path, unsigned priority,
			  struct error *why)
{
	struct stat st;

	_cleanup_fd_ int fd = trusted_open(&loader->options->trust, path, TRUSTED_DIR, why);
	if (fd == -ENOENT) {
		const char **missing = array_add(loader->arena, &loader->registry->missing);
		if (!missing)
			return error_memory(why);
		*missing = path;
		return 0;
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return error_set(why, errno, "stat %s", SHOW(path));
	for (size_t i = 0; i < loader->n_dirs; i++)
		if (loader->dirs[i].dev == st.st_dev && loader->dirs[i].ino == st.st_ino)
			close_fd(&loader->dirs[i].fd);
	loader->dirs[loader->n_dirs++] =
		(struct directory){TAKE_FD(fd), path, priority, st.st_dev, st.st_ino};
	return 0;
}

static int directory_add(struct loader *loader, const char *dir, unsigned priority,
			 struct error *err)
{
	const char **searched = array_add(loader->arena, &loader->registry->dirs);
	struct error why = {0};
	const char *problem;
	int r;

	const char *path = path_clean(loader->arena, dir, &problem);
	if (!searched || (!path && !problem))
		return error_memory(err);
	*searched = path ? path : dir;
	if (problem)
		r = error_set(&why, 0, "%s: the path %s", SHOW(dir), problem);
	else
		r = directory_open(loader, path, priority, &why);
	return r < 0 ? give_up(loader, *searched, NULL, r, &why, err) : 0;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static bool is_spec_name(const char *name)
{
	return ends_with(name, ".json") || ends_with(name, ".yaml");
}

/* A name that somebody surely meant for a spec file. */
static bool is_nearly_spec_name(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && (strcasecmp(end, ".yml") == 0 || strcasecmp(end, ".yaml") == 0 ||
		       strcasecmp(end, ".json") == 0);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int warn_of_name(struct loader *loader, const struct directory *dir, const char *name,
			struct error *err)
{
	static const char text[] = "not read: the names of spec files end in .json or .yaml";

	if (!loader->options->files) {
		note_add(loader->notes, NOTE_WARNING, "%s/%s: %s", SHOW(dir->path), SHOW(name),
			 text);
		return 0;
	}
	const char *file = arena_printf(loader->arena, "%s/%s", dir->path, name);
	if (!file)
		return error_memory(err);
	const char *sentence = arena_printf(loader->arena, "%s: %s", SHOW(file), text);
	if (!sentence)
		return error_memory(err);
	return add_problem(loader, CDI_WARNING, file, sentence, err);
}

/* The names of the spec files in `dir`, in bytewise order. */
static int directory_read(struct loader *loader, const struct directory *dir, DIR *stream,
			  struct string_list *names, struct error *why)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry && errno)
			return error_set(why, errno, "%s: read", SHOW(dir->path));
		if (!entry)
			break;
		if (entry->d_type == DT_DIR)
			continue;
		if (!is_spec_name(entry->d_name)) {
			if (is_nearly_spec_name(entry->d_name) &&
			    warn_of_name(loader, dir, entry->d_name, why) < 0)
				return -ENOMEM;
			continue;
		}
		if (names->n == LIMIT_SPEC_FILES)
			return error_set(why, 0,
					 "%s: more than %d spec files: none of them is used",
					 SHOW(dir->path), LIMIT_SPEC_FILES);
		const char **name = array_add(loader->arena, names);
		if (!name || !(*name = arena_strdup(loader->arena, entry->d_name)))
			return error_memory(why);
	}
	if (names->n)
		qsort(names->items, names->n, sizeof(names->items[0]), compare_names);
	return 0;
}

/* `name` could not be opened: says what is really the matter with it, or NOTHING_THERE. */
static int open_failed(int dirfd, const char *name, const char *file, int r, struct error *why)
{
	struct stat st;

	/* Removed meanwhile; or a directory, where readdir does not tell types. */
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return NOTHING_THERE;
	if (r == -ENOENT && S_ISLNK(st.st_mode))
		error_prefix(why, "%s: dangling link", SHOW(file));
	return r;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Reads the file once; -ESTALE when it was written or replaced meanwhile. */
static int file_read_once(struct loader *loader, const char *dir, int dirfd, const char *name,
			  const char *file, char **ret_data, size_t *ret_size, struct error *why)
{
	struct stat before, after;

	_cleanup_fd_ int fd = trusted_open_at(&loader->options->trust, dirfd, dir, name, why);
	if (fd < 0)
		return open_failed(dirfd, name, file, fd, why);
	if (fstat(fd, &before) < 0)
		return error_set(why, errno, "stat %s", SHOW(file));
	if (before.st_size > LIMIT_SPEC_SIZE)
		return error_set(why, 0, "%s: larger than %d bytes", SHOW(file), LIMIT_SPEC_SIZE);
	int r = fdio_read(&loader->texts, fd, LIMIT_SPEC_SIZE, file, ret_data, ret_size, why);
	if (r < 0)
		return r;
	if (fstat(fd, &after) < 0)
		return error_set(why, errno, "stat %s", SHOW(file));
	if (!is_unchanged(&before, &after)) {
		error_set(why, 0, "%s: changed while it was read, twice", SHOW(file));
		return -ESTALE;
	}
	return 0;
}

/* The kinds of `wanted`; a bare name may be of any. */
static int read_wanted_kinds(struct loader *loader, const struct request_list *wanted,
			     struct error *err)
{
	loader->every_kind = !wanted;
	for (size_t i = 0; wanted && i < wanted->n; i++) {
		const char *device = wanted->items[i].device, *equals = strchr(device, '=');
		const char *kind = arena_strndup(loader->arena, device,
						 equals ? (size_t)(equals - device) : 0);
		bool known = false;

		if (!kind)
			return error_memory(err);
		loader->every_kind = loader->every_kind || !equals;
		for (size_t j = 0; j < loader->kinds.n && !known; j++)
			known = strcmp(loader->kinds.items[j], kind) == 0;
		const char **slot = known ? NULL : array_add(loader->arena, &loader->kinds);
		if (!known && !slot)
			return error_memory(err);
		if (slot)
			*slot = kind;
	}
	return 0;
}

/*
 * Most of a node's spec files are other vendors', and parsing them is most of the work: one without
 * the bytes of a kind asked for cannot be of that kind.
 */
static bool may_be_wanted(const struct loader *loader, const char *data, size_t size)
{
	struct spec_text text;

	if (loader->every_kind)
		return true;
	spec_text_init(&text, data, size);
	for (size_t i = 0; i < loader->kinds.n; i++)
		if (spec_text_may_hold(&text, loader->kinds.items[i]))
			return true;
	return false;
}

/* Parses what was read, for a verdict or for every problem. */
static int file_parse(struct loader *loader, const char *file, const char *data, size_t size,
		      struct cdi_spec **ret_spec, const char **ret_kind, struct error *why)
{
	struct cdi_problem_list *problems;
	const bool lenient = loader->options->lenient;

	if (!loader->options->files)
		return cdi_spec_parse(loader->arena, file, data, size, lenient, loader->notes,
				      ret_spec, ret_kind, why);
	problems = problems_of(loader, file);
	if (!problems)
		return error_memory(why);
	int r = cdi_spec_check(loader->arena, file, data, size, lenient, problems, ret_spec,
			       ret_kind, why);
	if (r < 0 || *ret_spec)
		return r;
	/* The first error stands for all. */
	const char *text = NULL;
	for (size_t i = problems->n; i-- > 0;)
		if (problems->items[i].severity == CDI_ERROR)
			text = cdi_problem_text(loader->arena, file, &problems->items[i]);
	return text ? error_say(why, EXIT_CODE_SPEC, "%s", text) : error_memory(why);
}

/* Reads and parses one file into the registry. */
static int file_use(struct loader *loader, const struct directory *dir, int dirfd, const char *name,
		    const char *file, const char **ret_kind, struct error *why)
{
	struct cdi_spec *spec = NULL;
	char *data = NULL;
	size_t size = 0;

	int r = file_read_once(loader, dir->path, dirfd, name, file, &data, &size, why);
	if (r == -ESTALE)
		r = file_read_once(loader, dir->path, dirfd, name, file, &data, &size, why);
	if (r != 0)
		return r;
	loader->total += size;
	if (loader->total > LIMIT_SPEC_TOTAL)
		return 0;
	if (!may_be_wanted(loader, data, size)) {
		loader->registry->passed_over++;
		return 0;
	}
	r = file_parse(loader, file, data, size, &spec, ret_kind, why);
	if (r < 0)
		return r;
	struct cdi_registry_spec *slot = array_add(loader->arena, &loader->registry->specs);
	if (!slot)
		return error_memory(why);
	*slot = (struct cdi_registry_spec){spec, dir->priority};
	return 0;
}

static int file_load(struct loader *loader, const struct directory *dir, int dirfd,
		     const char *name, struct error *err)
{
	struct error why = {0};
	const char *kind = NULL;

	const char *file = arena_printf(loader->arena, "%s/%s",
					strcmp(dir->path, "/") == 0 ? "" : dir->path, name);
	if (!file)
		return error_memory(err);
	if (loader->options->files)
		loader->options->files->n_specs++;
	int r = file_use(loader, dir, dirfd, name, file, &kind, &why);
	if (loader->texts.used > TEXTS_KEPT) {
		arena_done(&loader->texts);
		arena_init(&loader->texts, TEXTS_LIMIT);
	}
	if (loader->total > LIMIT_SPEC_TOTAL)
		return error_say(err, EXIT_CODE_SPEC,
				 "%s: with this file there are more than %d bytes of specs",
				 SHOW(file), LIMIT_SPEC_TOTAL);
	return r < 0 ? give_up(loader, file, kind, r, &why, err) : 0;
}

static int directory_load(struct loader *loader, struct directory *dir, struct error *err)
{
	__attribute__((cleanup(close_stream))) DIR *stream = fdopendir(dir->fd);
	struct string_list names = {0};
	struct error why = {0};
	int r;

	if (stream) {
		dir->fd = -1; /* the stream's now */
		r = directory_read(loader, dir, stream, &names, &why);
	} else {
		r = error_set(&why, errno, "%s: read", SHOW(dir->path));
	}
	if (r < 0)
		return give_up(loader, dir->path, NULL, r, &why, err);
	for (size_t i = 0; i < names.n; i++) {
		r = file_load(loader, dir, dirfd(stream), names.items[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

int cdi_registry_load(struct arena *arena, const struct cdi_registry_options *options,
		      struct notes *notes, struct cdi_registry *ret_registry, struct error *err)
{
	__attribute__((cleanup(loader_done))) struct loader loader = {
		.arena = arena,
		.options = options,
		.notes = notes,
		.registry = ret_registry,
	};

	*ret_registry = (struct cdi_registry){0};
	if (options->files)
		*options->files = (struct cdi_file_list){0};
	arena_init(&loader.texts, TEXTS_LIMIT);
	if (options->dirs->n > LIMIT_SPEC_DIRS)
		return error_say(err, EXIT_CODE_USAGE, "more than %d spec directories",
				 LIMIT_SPEC_DIRS);
	if (read_wanted_kinds(&loader, options->wanted, err) < 0)
		return -ENOMEM;
	/* All are opened before any is read: only then is it known which ones are the same. */
	for (size_t i = 0; i < options->dirs->n; i++) {
		int r = directory_add(&loader, options->dirs->items[i], (unsigned)i, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < loader.n_dirs; i++) {
		int r = loader.dirs[i].fd >= 0 ? directory_load(&loader, &loader.dirs[i], err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* One request while it is looked for. */
struct wanted {
	const char *text; /* as it was asked for */
	const char *kind; /* NULL: a bare name that no kind has, or several */
	const char *name;
	bool ambiguous;
	bool again;     /* asks for the same device as an earlier request */
	unsigned times; /* definitions at `priority`, the highest that has any */
	unsigned priority;
	const struct cdi_spec *spec;
	const struct cdi_device *device;
};

/* All requests, and the distinct ones sorted by kind and name: each spec is walked only once. */
struct search {
	struct wanted *items;
	size_t n;
	struct wanted **sorted;
	size_t n_sorted;
};

static int compare_kind_and_name(const char *kind_a, const char *name_a, const char *kind_b,
				 const char *name_b)
{
	int order = strcmp(kind_a, kind_b);

	return order ? order : strcmp(name_a, name_b);
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = *(struct wanted *const *)a, *y = *(struct wanted *const *)b;
	int order = compare_kind_and_name(x->kind, x->name, y->kind, y->name);

	/* Of equal ones the first asked for comes first. */
	return order ? order : (x > y) - (x < y);
}

/* The kind that has a device of this bare name: left NULL when there is none or more than one. */
static void resolve_bare(const struct cdi_registry *registry, struct wanted *wanted)
{
	for (size_t i = 0; i < registry->specs.n; i++) {
		const struct cdi_spec *spec = registry->specs.items[i].spec;
		if (wanted->kind && strcmp(wanted->kind, spec->kind) == 0)
			continue;
		for (size_t j = 0; j < spec->devices.n; j++) {
			if (strcmp(spec->devices.items[j].name, wanted->name) != 0)
				continue;
			wanted->ambiguous = wanted->kind != NULL;
			wanted->kind = spec->kind;
			break;
		}
		if (wanted->ambiguous) {
			wanted->kind = NULL;
			return;
		}
	}
}

static int wanted_init(struct arena *arena, const struct cdi_registry *registry,
		       const struct request *request, struct wanted *wanted, struct error *err)
{
	const char *equals = strchr(request->device, '=');

	wanted->text = request->device;
	if (equals) {
		wanted->name = equals + 1;
		wanted->kind =
			arena_strndup(arena, request->device, (size_t)(equals - request->device));
		return wanted->kind ? 0 : error_memory(err);
	}
	wanted->name = request->device;
	if (!request->annotation)
		resolve_bare(registry, wanted);
	return 0;
}

static int search_init(struct arena *arena, const struct cdi_registry *registry,
		       const struct request_list *requests, struct search *search,
		       struct error *err)
{
	size_t kept = 0;

	search->n = requests->n;
	search->items = arena_alloc_array(arena, requests->n, sizeof(*search->items));
	search->sorted = arena_alloc_array(arena, requests->n, sizeof(*search->sorted));
	if (!search->items || !search->sorted)
		return error_memory(err);
	for (size_t i = 0; i < requests->n; i++) {
		int r = wanted_init(arena, registry, &requests->items[i], &search->items[i], err);
		if (r < 0)
			return r;
		if (search->items[i].kind)
			search->sorted[search->n_sorted++] = &search->items[i];
	}
	if (search->n_sorted)
		qsort(search->sorted, search->n_sorted, sizeof(search->sorted[0]), compare_wanted);
	for (size_t i = 0; i < search->n_sorted; i++) {
		struct wanted *last = kept ? search->sorted[kept - 1] : NULL;
		struct wanted *wanted = search->sorted[i];
		wanted->again = last && !compare_kind_and_name(last->kind, last->name, wanted->kind,
							       wanted->name);
		if (!wanted->again)
			search->sorted[kept++] = wanted;
	}
	search->n_sorted = kept;
	return 0;
}

/* What is wanted of this kind and name; with NULL for the name, anything of the kind. */
static struct wanted *search_find(const struct search *search, const char *kind, const char *name)
{
	size_t low = 0, high = search->n_sorted;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct wanted *wanted = search->sorted[middle];
		int order = compare_kind_and_name(kind, name ? name : wanted->name, wanted->kind,
						  wanted->name);

		if (order == 0)
			return wanted;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void search_spec(const struct search *search, const struct cdi_registry_spec *from)
{
	const struct cdi_spec *spec = from->spec;

	if (!search_find(search, spec->kind, NULL))
		return;
	for (size_t i = 0; i < spec->devices.n; i++) {
		struct wanted *wanted =
			search_find(search, spec->kind, spec->devices.items[i].name);
		if (!wanted || (wanted->times && from->priority < wanted->priority))
			continue;
		wanted->times = from->priority == wanted->priority ? wanted->times + 1 : 1;
		wanted->priority = from->priority;
		wanted->spec = spec;
		wanted->device = &spec->devices.items[i];
	}
}

static int add_found(struct arena *arena, const struct wanted *wanted, struct cdi_found_list *found,
		     struct error *err)
{
	struct cdi_found *item = array_add(arena, found);
	const char *name = arena_printf(arena, "%s=%s", wanted->kind, wanted->name);

	if (!item || !name)
		return error_memory(err);
	*item = (struct cdi_found){name, wanted->spec, wanted->device};
	return 0;
}

static int add_missing(struct arena *arena, const struct wanted *wanted,
		       struct cdi_missing_list *missing, struct error *err)
{
	struct cdi_missing *item = array_add(arena, missing);

	if (!item)
		return error_memory(err);
	*item = (struct cdi_missing){wanted->text, wanted->kind, wanted->name, CDI_MISSING_ABSENT,
				     wanted->priority};
	if (wanted->ambiguous)
		item->why = CDI_MISSING_AMBIGUOUS;
	else if (wanted->times > 1)
		item->why = CDI_MISSING_TWICE;
	return 0;
}

int cdi_registry_find(struct arena *arena, const struct cdi_registry *registry,
		      const struct request_list *requests, struct cdi_found_list *ret_found,
		      struct error *err)
{
	struct cdi_missing_list missing = {0};
	struct search search = {0};

	*ret_found = (struct cdi_found_list){0};
	int r = search_init(arena, registry, requests, &search, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < registry->specs.n; i++)
		search_spec(&search, &registry->specs.items[i]);
	for (size_t i = 0; i < search.n; i++) {
		const struct wanted *wanted = &search.items[i];
		if (wanted->again)
			continue;
		r = wanted->times == 1 ? add_found(arena, wanted, ret_found, err)
				       : add_missing(arena, wanted, &missing, err);
		if (r < 0)
			return r;
	}
	return missing.n ? cdi_missing_say(arena, registry, &missing, err) : 0;
}

int cdi_registry_look_up(struct arena *arena, const struct cdi_registry_options *options,
			 const struct request_list *requests, struct notes *notes,
			 struct cdi_registry *ret_registry, struct cdi_found_list *ret_found,
			 struct error *err)
{
	struct cdi_registry_options some = *options;
	size_t n_notes = notes ? notes->list.n : 0, dropped = notes ? notes->dropped : 0;

	some.wanted = requests;
	int r = cdi_registry_load(arena, &some, notes, ret_registry, err);
	if (r < 0)
		return r;
	r = cdi_registry_find(arena, ret_registry, requests, ret_found, err);
	if (r == 0 || r == -ENOMEM || !ret_registry->passed_over)
		return r;

	/* What the others hold is part of the answer, and so is what is wrong with them. */
	*err = (struct error){0};
	if (notes) {
		notes->list.n = n_notes;
		notes->dropped = dropped;
	}
	r = cdi_registry_load(arena, options, notes, ret_registry, err);
	if (r < 0)
		return r;
	return cdi_registry_find(arena, ret_registry, requests, ret_found, err);
}

void cdi_registry_note_set_aside(const struct cdi_registry *registry,
				 const struct cdi_found_list *found, struct notes *notes)
{
	for (size_t i = 0; i < registry->set_aside.n; i++) {
		const struct cdi_set_aside *aside = &registry->set_aside.items[i];
		bool matters = !aside->kind;

		for (size_t j = 0; j < found->n && !matters; j++)
			matters = strcmp(found->items[j].spec->kind, aside->kind) == 0;
		note_add(notes, matters ? NOTE_WARNING : NOTE_INFO, "set aside: %s", aside->reason);
	}
}
