/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache is merged instead of made anew where that is enough: no library of the image is opened,
 * so its size costs nothing, and neither does what it may have put there. The new cache is written
 * from the entries alone, in the newest form that all loaders since 2.2 read: what stands in a
 * hostile cache beside its entries does not reach it.
 *
 * A loader looks for a name by halves and then takes, of the entries for its machine, the one whose
 * capability it likes best, or the first without one. It depends on the order that ldconfig writes;
 * so a cache in another order is no base for a merge.
 */
#include "ldcache.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "ldcache-format.h"

#define WRITER "oci-cdi-hook"

/* Longer numbers in names wrap around in the loader, whose order has holes then. */
#define DIGITS_MAX 9

static bool is_named(const struct ldcache_entry *entry)
{
	return entry->hwcap_name != NULL;
}

/* The order of ldconfig: as described in ldcache.c. */
static int compare_entries(const struct ldcache_entry *a, const struct ldcache_entry *b)
{
	int r = ldcache_compare_names(b->soname, a->soname);

	if (r != 0)
		return r;
	if (a->flags != b->flags)
		return a->flags < b->flags ? 1 : -1;
	if (is_named(a) != is_named(b))
		return is_named(a) ? -1 : 1;
	return is_named(a) ? strcmp(a->hwcap_name, b->hwcap_name) : 0;
}

const char *ldcache_merge_problem(const struct ldcache *cache)
{
	if (cache->has_unknown)
		return "it has extensions that are not known here";
	for (size_t i = 1; i < cache->n; i++)
		if (compare_entries(&cache->items[i - 1], &cache->items[i]) > 0)
			return "its entries are not sorted";
	return NULL;
}

/*
 * Which entries
 */

static int compare_for_sort(const void *a, const void *b)
{
	return compare_entries(a, b);
}

/* The libraries as entries, in order. */
static struct ldcache_entry *make_entries(struct arena *arena,
					  const struct ldcache_library *libraries, size_t n)
{
	struct ldcache_entry *entries = arena_alloc_array(arena, n, sizeof(*entries));

	for (size_t i = 0; entries && i < n; i++)
		entries[i] = (struct ldcache_entry){
			.soname = libraries[i].soname,
			.path = libraries[i].path,
			.flags = libraries[i].flags,
			.hwcap = libraries[i].hwcap ? HWCAP_NAMED : 0,
			.hwcap_name = libraries[i].hwcap,
		};
	if (entries && n > 1)
		qsort(entries, n, sizeof(*entries), compare_for_sort);
	return entries;
}

/* Of the soname and the machine of `entry`: the last one, which is the one for all hardware if there is such. */
static const struct ldcache_entry *find_last(const struct ldcache_entry *ours, size_t n,
					     const struct ldcache_entry *entry)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = ldcache_compare_names(entry->soname, ours[middle].soname);

		if (r < 0 || (r == 0 && entry->flags <= ours[middle].flags))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && ours[low - 1].flags == entry->flags &&
			       ldcache_compare_names(ours[low - 1].soname, entry->soname) == 0
		       ? &ours[low - 1]
		       : NULL;
}

static bool is_replaced(const struct ldcache_entry *ours, size_t n,
			const struct ldcache_entry *entry)
{
	const struct ldcache_entry *last = find_last(ours, n, entry);

	return last && (!is_named(last) || is_named(entry));
}

/* Both in order, ours first where they are equal. */
static void merge_entries(struct ldcache *merged, const struct ldcache *cache,
			  const struct ldcache_entry *ours, size_t n)
{
	size_t next = 0;

	for (size_t i = 0; i < cache->n; i++) {
		const struct ldcache_entry *entry = &cache->items[i];
		if (is_replaced(ours, n, entry))
			continue;
		while (next < n && compare_entries(&ours[next], entry) <= 0)
			merged->items[merged->n++] = ours[next++];
		merged->items[merged->n++] = *entry;
	}
	while (next < n)
		merged->items[merged->n++] = ours[next++];
}

/*
 * Writing
 */

struct writer {
	struct arena *arena;
	char *data;
	size_t at;                /* where the next string comes to stand */
	struct string_list names; /* of capabilities: sorted, each once */
	uint32_t *name_offsets;
	const struct ldcache_entry *last;
	uint32_t last_soname; /* its offset */
};

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The loader goes through this list and its own, both sorted, side by side. */
static int collect_names(struct writer *writer, const struct ldcache *cache, struct error *err)
{
	struct string_list *names = &writer->names;
	size_t n = 0;

	for (size_t i = 0; i < cache->n; i++) {
		if (!is_named(&cache->items[i]))
			continue;
		const char **slot = array_add(writer->arena, names);
		if (!slot)
			return error_memory(err);
		*slot = cache->items[i].hwcap_name;
	}
	if (names->n > 1)
		qsort(names->items, names->n, sizeof(*names->items), compare_strings);
	for (size_t i = 0; i < names->n; i++)
		if (n == 0 || strcmp(names->items[n - 1], names->items[i]) != 0)
			names->items[n++] = names->items[i];
	names->n = n;
	writer->name_offsets = arena_alloc_array(writer->arena, n, sizeof(*writer->name_offsets));
	return writer->name_offsets ? 0 : error_memory(err);
}

static uint32_t put_string(struct writer *writer, const char *string)
{
	size_t at = writer->at, len = strlen(string) + 1;

	memcpy(writer->data + at, string, len);
	writer->at += len;
	return (uint32_t)at;
}

static bool ends_with(const char *path, const char *soname)
{
	size_t path_len = strlen(path), len = strlen(soname);

	return path_len >= len && memcmp(path + path_len - len, soname, len) == 0;
}

/* Where the soname stands: that of the entry before, or the end of the path, or a string of its own. */
static uint32_t put_soname(struct writer *writer, const struct ldcache_entry *entry, uint32_t path)
{
	if (writer->last && strcmp(writer->last->soname, entry->soname) == 0)
		return writer->last_soname;
	writer->last = entry;
	writer->last_soname =
		ends_with(entry->path, entry->soname)
			? path + (uint32_t)(strlen(entry->path) - strlen(entry->soname))
			: put_string(writer, entry->soname);
	return writer->last_soname;
}

static uint64_t named_hwcap(const struct writer *writer, const struct ldcache_entry *entry)
{
	const char *const *found = bsearch(&entry->hwcap_name, writer->names.items, writer->names.n,
					   sizeof(*writer->names.items), compare_strings);

	/* The high half keeps which level of the instruction set it is, and the mark of a name. */
	return (entry->hwcap & 0xffffffff00000000) | (uint64_t)(found - writer->names.items);
}

static void put_entry(struct writer *writer, const struct ldcache_entry *entry, size_t i)
{
	uint32_t path = put_string(writer, entry->path);
	const struct entry bytes = {
		.flags = entry->flags,
		.soname = put_soname(writer, entry, path),
		.path = path,
		.kernel = entry->kernel,
		.hwcap = is_named(entry) ? named_hwcap(writer, entry) : entry->hwcap,
	};

	memcpy(writer->data + sizeof(struct head) + i * sizeof(bytes), &bytes, sizeof(bytes));
}

/* Behind the strings. */
static void put_extensions(struct writer *writer)
{
	const struct extensions head = {EXTENSION_MAGIC, 2};
	size_t at = writer->at;
	uint32_t size = (uint32_t)(writer->names.n * sizeof(uint32_t));
	uint32_t names_at = (uint32_t)(at + sizeof(head) + 2 * sizeof(struct section));
	const struct section sections[] = {
		{EXTENSION_HWCAPS, 0, names_at, size},
		{EXTENSION_WRITER, 0, names_at + size, sizeof(WRITER) - 1},
	};

	memcpy(writer->data + at, &head, sizeof(head));
	memcpy(writer->data + at + sizeof(head), sections, sizeof(sections));
	memcpy(writer->data + names_at, writer->name_offsets, size);
	memcpy(writer->data + names_at + size, WRITER, sizeof(WRITER) - 1);
	writer->at = names_at + size + sizeof(WRITER) - 1;
}

/* More than is needed: each string counts in full, and extensions as if there were some. */
static size_t bound_size(const struct writer *writer, const struct ldcache *cache)
{
	size_t size = sizeof(struct head) + sizeof(struct extensions) + 2 * sizeof(struct section) +
		      sizeof(uint32_t) + sizeof(WRITER);

	for (size_t i = 0; i < cache->n; i++)
		size += sizeof(struct entry) + strlen(cache->items[i].soname) +
			strlen(cache->items[i].path) + 2;
	for (size_t i = 0; i < writer->names.n; i++)
		size += strlen(writer->names.items[i]) + 1 + sizeof(uint32_t);
	return size;
}

static void write_cache(struct writer *writer, const struct ldcache *cache)
{
	struct head head = {.magic = {0}, .n = (uint32_t)cache->n};
	const size_t strings_at = sizeof(head) + cache->n * sizeof(struct entry);

	writer->at = strings_at;
	for (size_t i = 0; i < cache->n; i++)
		put_entry(writer, &cache->items[i], i);
	for (size_t i = 0; i < writer->names.n; i++)
		writer->name_offsets[i] = put_string(writer, writer->names.items[i]);
	memcpy(head.magic, MAGIC, MAGIC_LEN);
	head.strings_size = (uint32_t)(writer->at - strings_at);
	if (cache->has_byte_order || writer->names.n > 0) {
		while (writer->at % sizeof(uint32_t) != 0)
			writer->data[writer->at++] = '\0';
		head.endian = NATIVE_ENDIAN;
		head.extensions_at = (uint32_t)writer->at;
		put_extensions(writer);
	}
	memcpy(writer->data, &head, sizeof(head));
}

static bool has_long_number(const char *name)
{
	size_t digits;

	for (; *name; name += digits ? digits : 1) {
		digits = strspn(name, "0123456789");
		if (digits > DIGITS_MAX)
			return true;
	}
	return false;
}

static int not_found(const struct ldcache_entry *entry, struct error *err)
{
	return error_say(err, EXIT_CODE_LDCACHE, "%s (%s) would not be found in the merged cache",
			 SHOW(entry->soname), SHOW(entry->path));
}

/* What is promised, whatever came in: a loader finds each of ours where it is, and all that it found before. */
static int check_result(struct arena *arena, const struct writer *writer,
			const struct ldcache *cache, const struct ldcache_entry *ours, size_t n,
			struct error *err)
{
	struct ldcache written;
	bool holes = false;
	int r = ldcache_parse(arena, writer->data, writer->at, &written, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (!ldcache_has(&written, ours[i].soname, ours[i].path))
			return not_found(&ours[i], err);
	for (size_t i = 0; r == 0 && i < written.n; i++)
		holes = holes || has_long_number(written.items[i].soname);
	/*
	 * With an order that is one, merging cannot lose anything. Of entries of one name each would be searched for through
	 * all the others: half a million of them are an hour.
	 */
	for (size_t i = 0; holes && i < cache->n; i++)
		if ((i == 0 || ldcache_compare_names(cache->items[i - 1].soname,
						     cache->items[i].soname) != 0) &&
		    ldcache_has(cache, cache->items[i].soname, NULL) &&
		    !ldcache_has(&written, cache->items[i].soname, NULL))
			return not_found(&cache->items[i], err);
	return r;
}

int ldcache_merge(struct arena *arena, const struct ldcache *cache,
		  const struct ldcache_library *libraries, size_t n_libraries, char **ret_data,
		  size_t *ret_size, struct error *err)
{
	struct writer writer = {.arena = arena};
	struct ldcache merged = {.cap = cache->n + n_libraries,
				 .has_byte_order = cache->has_byte_order};
	struct ldcache_entry *ours = make_entries(arena, libraries, n_libraries);

	merged.items = arena_alloc_array(arena, merged.cap, sizeof(*merged.items));
	if (!ours || !merged.items)
		return error_memory(err);
	merge_entries(&merged, cache, ours, n_libraries);
	int r = collect_names(&writer, &merged, err);
	if (r < 0)
		return r;
	size_t size = bound_size(&writer, &merged);
	if (size > LIMIT_LDCACHE_SIZE)
		return error_say(err, EXIT_CODE_LDCACHE, "ld.so.cache: more than %d bytes",
				 LIMIT_LDCACHE_SIZE);
	writer.data = arena_alloc(arena, size);
	if (!writer.data)
		return error_memory(err);
	write_cache(&writer, &merged);
	r = check_result(arena, &writer, cache, ours, n_libraries, err);
	if (r < 0)
		return r;
	*ret_data = writer.data;
	*ret_size = writer.at;
	return 0;
}
