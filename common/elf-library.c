/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The soname of a library, without libelf: the hook must know under which name a loader will look
 * for each library that it brings, so that it can see whether the new library cache has them all,
 * and a static program that reads a dozen fields of a file needs no library for that.
 *
 * What is read, and how the loader reads it too:
 *
 *   ELF header        class, byte order, machine; must be ET_DYN
 *   program headers   PT_DYNAMIC (its place in the file), PT_LOAD (where addresses are in the file)
 *   dynamic section   up to DT_NULL: DT_SONAME is an offset into the strings at address DT_STRTAB
 *
 * Shared libraries and position-independent executables are both ET_DYN. DF_1_PIE marks an
 * executable; linkers before binutils 2.26 do not set it, and there an interpreter marks one. An
 * interpreter alone does not: libc.so.6 has one, and so do other libraries that answer when they
 * are run. Those have a soname, which no executable has.
 *
 * The soname becomes a file name in a container, and ldconfig would follow "../../etc/cron.d/x"
 * wherever it leads.
 */
#include "elf-library.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

/* Program headers: libraries have about ten, and the kernel too refuses programs with more than 64
 * KiB of them. */
#define SEGMENTS_MAX 1024
/* Entries of the dynamic section: about thirty, and one for each library that is needed. */
#define DYNAMIC_MAX 4096

/*
 * A file that is read in a few places only: what lies near the last place comes from the window.
 * The start of the file is the first, with both kinds of headers in it.
 */
struct source {
	int fd;
	uint64_t size;
	bool is_64;
	uint64_t window_at;
	size_t window_size;
	char window[4096];
};

struct segment {
	uint32_t type;
	uint64_t offset, address, size;
};

struct dynamic {
	bool has_soname, has_strings, has_strings_size, is_pie;
	uint64_t soname, strings, strings_size;
};

static int damaged(struct error *err, const char *what)
{
	return error_set(err, 0, "damaged library: %s", what);
}

static int source_fill(struct source *source, uint64_t at, struct error *err)
{
	ssize_t n = pread(source->fd, source->window, sizeof(source->window), (off_t)at);

	if (n < 0)
		return error_set(err, errno, "read");
	source->window_at = at;
	source->window_size = (size_t)n;
	return 0;
}

/* `len` bytes, at most a window's, from `at`; `what` is said when they are not all there. */
static int source_read(struct source *source, uint64_t at, void *buffer, size_t len,
		       const char *what, struct error *err)
{
	int r;

	if (at > source->size || len > source->size - at)
		return damaged(err, what);
	if (at < source->window_at || at - source->window_at > source->window_size ||
	    len > source->window_size - (at - source->window_at)) {
		r = source_fill(source, at, err);
		if (r < 0)
			return r;
	}
	/* It was long enough a moment ago: somebody shortens it. */
	if (len > source->window_size - (at - source->window_at))
		return damaged(err, what);
	memcpy(buffer, source->window + (at - source->window_at), len);
	return 0;
}

/* The fields of either class's header that are used. */
struct header {
	uint16_t type, machine, segment_size, segments;
	uint64_t segments_at;
};

static int header_read(struct source *source, struct header *ret_header, struct error *err)
{
	const char *what = "the ELF header is cut off";
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	int r;

	if (source->is_64) {
		r = source_read(source, 0, &wide, sizeof(wide), what, err);
		*ret_header = (struct header){wide.e_type, wide.e_machine, wide.e_phentsize,
					      wide.e_phnum, wide.e_phoff};
	} else {
		r = source_read(source, 0, &narrow, sizeof(narrow), what, err);
		*ret_header = (struct header){narrow.e_type, narrow.e_machine, narrow.e_phentsize,
					      narrow.e_phnum, narrow.e_phoff};
	}
	if (r < 0)
		return r;
	size_t segment_size = source->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if (ret_header->type == ET_DYN && ret_header->segment_size != segment_size)
		return damaged(err, "its program headers have an unknown size");
	if (ret_header->type == ET_DYN && ret_header->segments > SEGMENTS_MAX)
		return damaged(err, "it has too many program headers");
	return 0;
}

static int segment_read(struct source *source, const struct header *header, unsigned i,
			struct segment *ret_segment, struct error *err)
{
	const char *what = "a program header lies outside the file";
	Elf64_Phdr wide;
	Elf32_Phdr narrow;
	uint64_t at;
	int r;

	if (__builtin_add_overflow(header->segments_at, (uint64_t)i * header->segment_size, &at))
		return damaged(err, what);
	if (source->is_64) {
		r = source_read(source, at, &wide, sizeof(wide), what, err);
		*ret_segment =
			(struct segment){wide.p_type, wide.p_offset, wide.p_vaddr, wide.p_filesz};
	} else {
		r = source_read(source, at, &narrow, sizeof(narrow), what, err);
		*ret_segment = (struct segment){narrow.p_type, narrow.p_offset, narrow.p_vaddr,
						narrow.p_filesz};
	}
	return r;
}

/* Positive: not there, or empty as in a file that holds the debug information alone. */
static int dynamic_find(struct source *source, const struct header *header,
			struct segment *ret_dynamic, bool *ret_has_interpreter, struct error *err)
{
	struct segment segment;
	bool found = false;

	*ret_has_interpreter = false;
	for (unsigned i = 0; i < header->segments; i++) {
		int r = segment_read(source, header, i, &segment, err);
		if (r < 0)
			return r;
		if (segment.type == PT_INTERP)
			*ret_has_interpreter = true;
		if (segment.type != PT_DYNAMIC)
			continue;
		if (found)
			return damaged(err, "it has two dynamic sections");
		found = true;
		*ret_dynamic = segment;
	}
	return found && ret_dynamic->size > 0 ? 0 : ELF_NOT_A_LIBRARY;
}

static int entry_read(struct source *source, uint64_t at, uint64_t *ret_tag, uint64_t *ret_value,
		      struct error *err)
{
	const char *what = "the dynamic section lies outside the file";
	Elf64_Dyn wide = {0};
	Elf32_Dyn narrow = {0};
	int r;

	if (source->is_64) {
		r = source_read(source, at, &wide, sizeof(wide), what, err);
		*ret_tag = (uint64_t)wide.d_tag;
		*ret_value = wide.d_un.d_val;
	} else {
		r = source_read(source, at, &narrow, sizeof(narrow), what, err);
		*ret_tag = (uint32_t)narrow.d_tag;
		*ret_value = narrow.d_un.d_val;
	}
	return r;
}

/* Where a tag comes twice the last one counts, as for the loader. */
static int dynamic_read(struct source *source, const struct segment *section,
			struct dynamic *ret_dynamic, struct error *err)
{
	size_t entry_size = source->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
	uint64_t n = section->size / entry_size;
	uint64_t tag, value, at;

	*ret_dynamic = (struct dynamic){0};
	for (uint64_t i = 0; i < n; i++) {
		if (i == DYNAMIC_MAX ||
		    __builtin_add_overflow(section->offset, i * entry_size, &at))
			return damaged(err, "the dynamic section is too long");
		int r = entry_read(source, at, &tag, &value, err);
		if (r < 0)
			return r;
		if (tag == DT_NULL)
			break;
		if (tag == DT_SONAME) {
			ret_dynamic->has_soname = true;
			ret_dynamic->soname = value;
		} else if (tag == DT_STRTAB) {
			ret_dynamic->has_strings = true;
			ret_dynamic->strings = value;
		} else if (tag == DT_STRSZ) {
			ret_dynamic->has_strings_size = true;
			ret_dynamic->strings_size = value;
		} else if (tag == DT_FLAGS_1) {
			ret_dynamic->is_pie = (value & DF_1_PIE) != 0;
		}
	}
	return 0;
}

/* Where in the file the byte at `address` is, and how many of the same segment follow it there. */
static int address_find(struct source *source, const struct header *header, uint64_t address,
			uint64_t *ret_at, uint64_t *ret_size, struct error *err)
{
	struct segment segment;

	for (unsigned i = 0; i < header->segments; i++) {
		int r = segment_read(source, header, i, &segment, err);
		if (r < 0)
			return r;
		if (segment.type != PT_LOAD || address < segment.address ||
		    address - segment.address >= segment.size)
			continue;
		uint64_t inside = address - segment.address;
		if (__builtin_add_overflow(segment.offset, inside, ret_at))
			break;
		*ret_size = segment.size - inside;
		return 0;
	}
	return damaged(err, "its strings are not in a part that is loaded");
}

/* NULL when it can be a file's name, else what is wrong with it. */
static const char *soname_problem(const char *soname)
{
	if (soname[0] == '\0')
		return "its soname is empty";
	if (strchr(soname, '/') || strcmp(soname, ".") == 0 || strcmp(soname, "..") == 0)
		return "its soname is a path";
	for (const char *at = soname; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return "its soname has control characters";
	return NULL;
}

static int soname_read(struct arena *arena, struct source *source, const struct header *header,
		       const struct dynamic *dynamic, const char **ret_soname, struct error *err)
{
	char soname[LIMIT_SONAME + 1];
	uint64_t at = 0, size = 0;

	if (!dynamic->has_strings)
		return damaged(err, "it has a soname but no strings");
	int r = address_find(source, header, dynamic->strings, &at, &size, err);
	if (r < 0)
		return r;
	if (dynamic->has_strings_size && dynamic->strings_size < size)
		size = dynamic->strings_size;
	if (dynamic->soname >= size)
		return damaged(err, "its soname lies outside its strings");
	if (__builtin_add_overflow(at, dynamic->soname, &at))
		return damaged(err, "its strings lie outside the file");
	size -= dynamic->soname;
	/* A short file may end soon behind the soname. */
	if (at < source->size && source->size - at < size)
		size = source->size - at;
	size_t len = size < sizeof(soname) ? (size_t)size : sizeof(soname);
	r = source_read(source, at, soname, len, "its strings lie outside the file", err);
	if (r < 0)
		return r;
	if (!memchr(soname, '\0', len))
		return damaged(err, "its soname has no end");
	const char *problem = soname_problem(soname);
	if (problem)
		return error_set(err, 0, "damaged library: %s: \"%s\"", problem, SHOW(soname));
	*ret_soname = arena_strdup(arena, soname);
	return *ret_soname ? 0 : error_memory(err);
}

/* 0 when there is an ELF file of a kind that can be read here, and then source->is_64 is right. */
static int source_open(struct source *source, int fd, struct error *err)
{
	const unsigned char *ident = (const unsigned char *)source->window;
	struct stat st;

	source->fd = fd;
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat");
	source->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	int r = source_fill(source, 0, err);
	if (r < 0)
		return r;
	if (source->window_size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) ||
	    ident[EI_DATA] != NATIVE_DATA || ident[EI_VERSION] != EV_CURRENT)
		return ELF_NOT_A_LIBRARY;
	source->is_64 = ident[EI_CLASS] == ELFCLASS64;
	return 0;
}

int elf_library_read(struct arena *arena, int fd, struct elf_library *ret_library,
		     struct error *err)
{
	struct source source = {0};
	struct header header;
	struct segment section = {0};
	struct dynamic dynamic;
	struct elf_library library = {0};
	bool has_interpreter;
	int r;

	if ((r = source_open(&source, fd, err)) != 0 ||
	    (r = header_read(&source, &header, err)) < 0)
		return r;
	if (header.type != ET_DYN)
		return ELF_NOT_A_LIBRARY;
	if ((r = dynamic_find(&source, &header, &section, &has_interpreter, err)) != 0 ||
	    (r = dynamic_read(&source, &section, &dynamic, err)) < 0)
		return r;
	if (dynamic.is_pie || (has_interpreter && !dynamic.has_soname))
		return ELF_NOT_A_LIBRARY;
	if (dynamic.has_soname) {
		r = soname_read(arena, &source, &header, &dynamic, &library.soname, err);
		if (r < 0)
			return r;
	}
	library.class = source.is_64 ? ELFCLASS64 : ELFCLASS32;
	library.machine = header.machine;
	*ret_library = library;
	return 0;
}

bool elf_is_static_program(int fd)
{
	struct source source = {0};
	struct header header;
	struct segment segment;
	struct error err = {0};

	if (source_open(&source, fd, &err) != 0 || header_read(&source, &header, &err) < 0 ||
	    (header.type != ET_EXEC && header.type != ET_DYN))
		return false;
	for (unsigned i = 0; i < header.segments; i++)
		if (segment_read(&source, &header, i, &segment, &err) < 0 ||
		    segment.type == PT_INTERP)
			return false;
	return header.segments > 0;
}
