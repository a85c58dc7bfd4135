/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Library caches, read to prove them: ldconfig exits with 0 and an empty cache when it could not
 * read a directory, so what it wrote is believed only when every library that was brought is found
 * in it, the way a loader finds it. A container's own cache comes through here too, so every number
 * and offset is checked before it is used.
 *
 * The format, as the sources of glibc 2.28 and 2.34 describe it. Checked against glibc 2.31, 2.36 and
 * 2.41 (Debian 11, 12 and 13, amd64, and 2.36 on i386): their ldconfig's caches are read, and their
 * loaders are asked for every name in caches that were merged (tests/e2e/ldcache-shapes.bats); the
 * unit test compares the three forms of `ldconfig -c` with what `ldconfig -p` says. Numbers have
 * the byte order of the machine.
 *
 *   The head:
 *      17 bytes "glibc-ld.so.cache", 3 bytes "1.1"
 *      u32      number of entries
 *      u32      bytes of strings
 *      u8       byte order: 2 little, 3 big; 0 from releases before 2.33
 *      3 bytes  unused
 *      u32      where the extensions are, counted from the start of the file, a multiple of 4;
 *               0 for none, as in releases before 2.33
 *      3 u32    unused
 *
 *   The entries, downwards by soname (ldcache_compare_names); of one soname downwards by
 *   flags, and of one machine first those with named capabilities, by these names, then the others
 *   downwards by their mask:
 *      u32      flags: 3 for ELF with libc 6, or 1 for any ELF; the machine's bits in 0xff00
 *      u32      soname, u32 path: offsets from the head. Since 2.33 strings may share their tails
 *      u32      oldest kernel that the library runs on, or 0; 2.36 writes 0
 *      u64      hardware capabilities: a mask; or, with bit 62 (since 2.33), an index into
 *               extension 1
 *
 *   The strings, each with a NUL.
 *
 *   The extensions: u32 0xeaa42174, u32 number of sections, then for each of those
 *      u32      tag: 0 the name of the writer, 1 the names of glibc-hwcaps directories
 *      u32      flags
 *      u32      offset from the start of the file, u32 bytes. Those of tag 1 are u32 offsets of
 *               strings from the head
 *
 * Older releases put all that behind a list for libc 5 and glibc 2.0 and 2.1, as `ldconfig -c
 * compat` still does:
 *      11 bytes "ld.so-1.7.0", a byte of padding, u32 number, entries of 3 u32: flags, soname, path
 * The head follows at the next multiple of its alignment. ldconfig makes the number even, so it is
 * the same place for those who align to 4 (i386) and to 8. The old list itself is passed over: no
 * loader that knows the new one looks at it.
 */
#include "ldcache.h"

#include <limits.h>
#include <string.h>

#include "bounds.h"
#include "ldcache-format.h"

/* A cache while it is read. Nothing of it need be aligned in memory, so structs are copied out. */
struct image {
	const char *data;
	size_t size;
	size_t head_at; /* offsets of strings count from here */
	struct head head;
	size_t strings_at, strings_end;
	bool has_hwcaps, has_unknown;
	uint32_t hwcaps,
		hwcaps_at; /* names of glibc-hwcaps directories, and where they are listed */
};

static int damaged(struct error *err, const char *what)
{
	return error_set(err, 0, "ld.so.cache: %s", what);
}

/* False when the image ends before. */
static bool image_copy(const struct image *image, size_t at, void *piece, size_t len)
{
	if (at > image->size || len > image->size - at)
		return false;
	memcpy(piece, image->data + at, len);
	return true;
}

/* The head's place behind the old list, if there is one. */
static int head_find(struct image *image, struct error *err)
{
	struct old_head old;
	const size_t align = _Alignof(struct entry);

	if (image->size < sizeof(OLD_MAGIC) - 1 ||
	    memcmp(image->data, OLD_MAGIC, sizeof(OLD_MAGIC) - 1) != 0)
		return 0;
	if (!image_copy(image, 0, &old, sizeof(old)) ||
	    old.n > (image->size - sizeof(old)) / sizeof(struct old_entry))
		return damaged(err, "its old list is longer than the file");
	image->head_at =
		(sizeof(old) + old.n * sizeof(struct old_entry) + align - 1) / align * align;
	if (!image_copy(image, image->head_at, &image->head, sizeof(image->head)) ||
	    memcmp(image->head.magic, MAGIC, MAGIC_LEN) != 0)
		return damaged(err, "it has only the list of glibc 2.1 and before");
	return 0;
}

static int head_read(struct image *image, struct error *err)
{
	int r = head_find(image, err);

	if (r < 0)
		return r;
	struct head *head = &image->head;
	if (!image_copy(image, image->head_at, head, sizeof(*head)) ||
	    memcmp(head->magic, MAGIC, MAGIC_LEN) != 0)
		return damaged(err, "not a library cache");
	if (head->endian != 0 && (head->endian & ENDIAN_MASK) != NATIVE_ENDIAN)
		return damaged(err, "written for a machine of another byte order");
	size_t left = image->size - image->head_at - sizeof(*head);
	if (head->n > left / sizeof(struct entry))
		return damaged(err, "it has more entries than bytes for them");
	left -= head->n * sizeof(struct entry);
	if (head->strings_size > left)
		return damaged(err, "its strings are longer than the file");
	image->strings_at = image->head_at + sizeof(*head) + head->n * sizeof(struct entry);
	image->strings_end = image->strings_at + head->strings_size;
	return 0;
}

/*
 * The string at `offset`, or NULL when it is not one of the image's. Bounded: entries may share one
 * string, and must not make us walk through megabytes again for each of them.
 */
static const char *string_at(const struct image *image, uint32_t offset, size_t limit)
{
	size_t at = image->head_at + offset;

	if (at < image->strings_at || at >= image->strings_end)
		return NULL;
	size_t left = image->strings_end - at;
	const char *string = image->data + at;
	return memchr(string, '\0', left <= limit ? left : limit + 1) ? string : NULL;
}

static int section_check(struct image *image, const struct section *section, struct error *err)
{
	uint32_t name;

	if (section->offset > image->size || section->size > image->size - section->offset)
		return damaged(err, "an extension lies outside the file");
	if (section->tag != EXTENSION_HWCAPS) {
		image->has_unknown |= section->tag != EXTENSION_WRITER;
		return 0;
	}
	if (section->offset % sizeof(name) != 0 || section->size % sizeof(name) != 0)
		return damaged(err, "its list of hardware capabilities is no list");
	if (image->has_hwcaps)
		return damaged(err, "it has two lists of hardware capabilities");
	image->has_hwcaps = true;
	image->hwcaps = section->size / (uint32_t)sizeof(name);
	image->hwcaps_at = section->offset;
	for (size_t i = 0; i < image->hwcaps; i++)
		if (!image_copy(image, section->offset + i * sizeof(name), &name, sizeof(name)) ||
		    !string_at(image, name, NAME_MAX))
			return damaged(err, "the name of a hardware capability is damaged");
	return 0;
}

/* What other extensions say is passed over. */
static int extensions_check(struct image *image, struct error *err)
{
	struct extensions extensions;
	struct section section = {0};
	size_t at = image->head.extensions_at;

	if (at == 0)
		return 0;
	if (at % sizeof(uint32_t) != 0 || !image_copy(image, at, &extensions, sizeof(extensions)) ||
	    extensions.magic != EXTENSION_MAGIC)
		return damaged(err, "its extensions are not where it says");
	at += sizeof(extensions);
	if (extensions.n > (image->size - at) / sizeof(section))
		return damaged(err, "it has more extensions than bytes for them");
	for (size_t i = 0; i < extensions.n; i++, at += sizeof(section)) {
		image_copy(image, at, &section, sizeof(section));
		int r = section_check(image, &section, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* section_check proved that it is there. */
static const char *hwcap_name(const struct image *image, uint32_t i)
{
	uint32_t offset = 0;

	image_copy(image, image->hwcaps_at + i * sizeof(offset), &offset, sizeof(offset));
	return string_at(image, offset, NAME_MAX);
}

static int entry_read(const struct image *image, size_t i, struct ldcache_entry *ret_entry,
		      struct error *err)
{
	struct entry entry = {0};

	/* head_read proved that it is there. */
	image_copy(image, image->head_at + sizeof(image->head) + i * sizeof(entry), &entry,
		   sizeof(entry));
	*ret_entry = (struct ldcache_entry){
		.soname = string_at(image, entry.soname, LIMIT_SONAME),
		.path = string_at(image, entry.path, PATH_MAX - 1),
		.flags = entry.flags,
		.kernel = entry.kernel,
		.hwcap = entry.hwcap,
	};
	if (!ret_entry->soname)
		return error_set(err, 0, "ld.so.cache: the name of entry %zu is damaged", i);
	if (!ret_entry->path)
		return error_set(err, 0, "ld.so.cache: the path of entry %zu is damaged", i);
	if ((entry.hwcap & HWCAP_NAMED_MASK) != HWCAP_NAMED)
		return 0;
	if ((uint32_t)entry.hwcap >= image->hwcaps)
		return error_set(
			err, 0, "ld.so.cache: the hardware capability of entry %zu has no name", i);
	ret_entry->hwcap_name = hwcap_name(image, (uint32_t)entry.hwcap);
	return 0;
}

int ldcache_parse(struct arena *arena, const char *data, size_t size, struct ldcache *ret_cache,
		  struct error *err)
{
	struct image image = {.data = data, .size = size};
	struct ldcache cache = {0};
	int r;

	if ((r = head_read(&image, err)) < 0 || (r = extensions_check(&image, err)) < 0)
		return r;
	cache.items = arena_alloc_array(arena, image.head.n, sizeof(*cache.items));
	if (!cache.items)
		return error_memory(err);
	cache.cap = image.head.n;
	cache.has_byte_order = image.head.endian != 0;
	cache.has_unknown = image.has_unknown;
	for (; cache.n < image.head.n; cache.n++) {
		r = entry_read(&image, cache.n, &cache.items[cache.n], err);
		if (r < 0)
			return r;
	}
	*ret_cache = cache;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static unsigned take_number(const char **at)
{
	unsigned number = 0;

	for (; is_digit(**at); (*at)++)
		number = number * 10 + (unsigned)(**at - '0');
	return number;
}

/*
 * The order of the entries, as the loader has it: numbers count as numbers, so libx.so.10 comes
 * behind libx.so.9, and ones that are too long wrap around.
 */
int ldcache_compare_names(const char *a, const char *b)
{
	while (*a) {
		if (is_digit(*a) && is_digit(*b)) {
			int difference = (int)(take_number(&a) - take_number(&b));
			if (difference)
				return difference;
		} else if (is_digit(*a) || is_digit(*b)) {
			return is_digit(*a) ? 1 : -1;
		} else if (*a != *b) {
			return *a - *b;
		} else {
			a++;
			b++;
		}
	}
	return *a - *b;
}

/* The first entry that the loader would look at for `soname`; cache->n when its search leads
 * nowhere. */
static size_t cache_search(const struct ldcache *cache, const char *soname)
{
	size_t low = 0, high = cache->n;

	while (low < high) {
		size_t middle = low + (high - 1 - low) / 2;
		int difference = ldcache_compare_names(soname, cache->items[middle].soname);

		if (difference == 0) {
			while (middle > 0 &&
			       ldcache_compare_names(soname, cache->items[middle - 1].soname) == 0)
				middle--;
			return middle;
		}
		if (difference < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return cache->n;
}

/*
 * The loader takes the first entry for its own machine. Which machine that is the container's
 * programs decide, so the first one of each counts. One for special hardware counts besides,
 * wherever it stands: some loader takes it.
 */
bool ldcache_has(const struct ldcache *cache, const char *soname, const char *path)
{
	bool seen[(FLAG_MACHINE_MASK >> FLAG_MACHINE_SHIFT) + 2] = {false};
	const size_t any_machine = sizeof(seen) / sizeof(seen[0]) - 1;

	for (size_t i = cache_search(cache, soname); i < cache->n; i++) {
		const struct ldcache_entry *entry = &cache->items[i];
		size_t machine = (entry->flags & FLAG_MACHINE_MASK) >> FLAG_MACHINE_SHIFT;

		if (ldcache_compare_names(soname, entry->soname) != 0)
			break;
		if (entry->flags == FLAG_ELF)
			machine = any_machine;
		else if ((entry->flags & ~(uint32_t)FLAG_MACHINE_MASK) != FLAG_ELF_LIBC6)
			continue;
		if (entry->hwcap == 0 && seen[machine])
			continue;
		if (entry->hwcap == 0)
			seen[machine] = true;
		if (!path || strcmp(path, entry->path) == 0)
			return true;
	}
	return false;
}

/* ---- Comparing ---- */

/* Any other is for no program that there is. */
static bool is_for_loaders(const struct ldcache_entry *entry)
{
	return entry->flags == FLAG_ELF ||
	       (entry->flags & ~(uint32_t)FLAG_MACHINE_MASK) == FLAG_ELF_LIBC6;
}

/*
 * By halves down to the machine, which is part of the order: an image can have thousands of libraries of one name, and ask
 * for them half a million times.
 */
static bool has_for_machine(const struct ldcache *cache, const struct ldcache_entry *wanted)
{
	size_t low = 0, high = cache->n;

	while (low < high) {
		size_t middle = low + (high - 1 - low) / 2;
		const struct ldcache_entry *entry = &cache->items[middle];
		int difference = ldcache_compare_names(wanted->soname, entry->soname);

		if (difference == 0 && wanted->flags == entry->flags)
			return true;
		if (difference < 0 || (difference == 0 && wanted->flags < entry->flags))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Where a machine had other C libraries before, one that needs none is listed for all of them: FLAG_ELF. */
int ldcache_check_found(const struct ldcache *cache, const struct ldcache_library *libraries,
			size_t n_libraries, struct error *err)
{
	for (size_t i = 0; i < n_libraries; i++) {
		struct ldcache_entry wanted = {.soname = libraries[i].soname,
					       .flags = libraries[i].flags};
		bool found = has_for_machine(cache, &wanted);
		wanted.flags = FLAG_ELF;
		if (!found && !has_for_machine(cache, &wanted))
			return error_say(err, EXIT_CODE_LDCACHE, "ldconfig did not find %s (%s)",
					 SHOW(libraries[i].soname), SHOW(libraries[i].path));
	}
	return 0;
}

int ldcache_check_lost(const struct ldcache *before, const struct ldcache *after,
		       int (*exists)(void *data, const char *path, struct error *err), void *data,
		       struct error *err)
{
	for (size_t i = 0; i < before->n; i++) {
		const struct ldcache_entry *entry = &before->items[i];
		if (!is_for_loaders(entry) || has_for_machine(after, entry))
			continue;
		int r = exists(data, entry->path, err);
		if (r < 0)
			return r;
		if (r > 0)
			return error_say(err, EXIT_CODE_LDCACHE, "ldconfig lost %s (%s)",
					 SHOW(entry->soname), SHOW(entry->path));
	}
	return 0;
}
