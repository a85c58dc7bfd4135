/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules are the vendor's: with a note, the host's driver must be one of those that it lists, and older than the
 * library; where one of both versions is not known, the CUDA versions decide. Without a note the major versions decide,
 * but not where the host's CUDA version was given, since then a note is expected.
 *
 * The note is a section of the ELF file: 12 bytes of sizes, the name of the vendor, and a JSON object.
 */
#include "cuda-compat.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "json.h"

static const char section_name[] = ".note.cuda.fwd_compatibility";
static const char vendor[] = "NVIDIA Corporation";

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct section {
	uint32_t name, type;
	uint64_t offset, size, align;
};

struct file {
	int fd;
	uint64_t size;
	bool is_64;
	uint64_t sections_at;
	unsigned sections, names; /* how many, and which of them holds their names */
};

/*
 * The ELF file
 */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, 0, "damaged library: %s", what);
}

static int read_at(const struct file *file, uint64_t at, void *buffer, size_t len,
		   struct error *err)
{
	ssize_t n;

	if (at > file->size || len > file->size - at)
		return damaged(err, "a part lies outside the file");
	n = pread(file->fd, buffer, len, (off_t)at);
	if (n < 0)
		return error_set(err, errno, "read");
	return (size_t)n == len ? 0 : damaged(err, "it became shorter");
}

static int open_file(struct file *file, int fd, struct error *err)
{
	unsigned char ident[EI_NIDENT];
	Elf64_Ehdr wide = {0};
	Elf32_Ehdr narrow = {0};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat");
	*file = (struct file){.fd = fd, .size = st.st_size > 0 ? (uint64_t)st.st_size : 0};
	r = read_at(file, 0, ident, sizeof(ident), err);
	if (r < 0)
		return r;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != NATIVE_DATA ||
	    (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64))
		return damaged(err, "it is no ELF file of this machine's");
	file->is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (file->is_64) {
		r = read_at(file, 0, &wide, sizeof(wide), err);
		file->sections_at = wide.e_shoff;
		file->sections = wide.e_shentsize == sizeof(Elf64_Shdr) ? wide.e_shnum : 0;
		file->names = wide.e_shstrndx;
	} else {
		r = read_at(file, 0, &narrow, sizeof(narrow), err);
		file->sections_at = narrow.e_shoff;
		file->sections = narrow.e_shentsize == sizeof(Elf32_Shdr) ? narrow.e_shnum : 0;
		file->names = narrow.e_shstrndx;
	}
	if (r == 0 && file->sections > LIMIT_SECTIONS)
		return damaged(err, "it has too many sections");
	return r;
}

static int read_section(const struct file *file, unsigned i, struct section *ret_section,
			struct error *err)
{
	Elf64_Shdr wide = {0};
	Elf32_Shdr narrow = {0};
	uint64_t at;
	int r;

	if (__builtin_add_overflow(file->sections_at,
				   i * (file->is_64 ? sizeof(wide) : sizeof(narrow)), &at))
		return damaged(err, "its sections lie outside the file");
	if (file->is_64) {
		r = read_at(file, at, &wide, sizeof(wide), err);
		*ret_section = (struct section){wide.sh_name, wide.sh_type, wide.sh_offset,
						wide.sh_size, wide.sh_addralign};
	} else {
		r = read_at(file, at, &narrow, sizeof(narrow), err);
		*ret_section = (struct section){narrow.sh_name, narrow.sh_type, narrow.sh_offset,
						narrow.sh_size, narrow.sh_addralign};
	}
	return r;
}

static bool has_name(const struct file *file, const struct section *names,
		     const struct section *section)
{
	char name[sizeof(section_name)];
	struct error none = {0};
	uint64_t at;

	return section->name <= names->size && names->size - section->name >= sizeof(name) &&
	       !__builtin_add_overflow(names->offset, section->name, &at) &&
	       read_at(file, at, name, sizeof(name), &none) == 0 &&
	       memcmp(name, section_name, sizeof(name)) == 0;
}

/* 1, or 0 where there is no such section. */
static int find_section(const struct file *file, struct section *ret_section, struct error *err)
{
	struct section names;
	int r;

	if (file->names >= file->sections)
		return 0;
	r = read_section(file, file->names, &names, err);
	for (unsigned i = 0; r == 0 && i < file->sections; i++) {
		r = read_section(file, i, ret_section, err);
		if (r == 0 && ret_section->type == SHT_NOTE && has_name(file, &names, ret_section))
			return 1;
	}
	return r;
}

/*
 * The note
 */

static int parse_text(struct arena *arena, const char *text, size_t size,
		      struct cuda_compat *compat, struct error *err)
{
	_cleanup_json_ struct json_object *value = NULL;
	struct json_at root, at, item;
	size_t n = 0;
	int r = json_parse(arena, "its note", text, size, &value, err);

	if (r < 0)
		return r;
	root = json_root("its note", value);
	r = json_get_object(&root, JSON_REQUIRED, err);
	if (r < 0)
		return r;
	at = json_member(&root, "CUDA Version");
	r = json_get_string(arena, &at, JSON_OPTIONAL, &compat->cuda_version, err);
	if (r < 0)
		return r;
	at = json_member(&root, "Driver");
	r = json_get_array(&at, JSON_OPTIONAL, &n, err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		int64_t *slot = array_add(arena, &compat->drivers);
		if (!slot)
			return error_memory(err);
		item = json_item(&at, i);
		r = json_get_whole(&item, JSON_REQUIRED, 0, UINT32_MAX, slot, err);
	}
	return r < 0 ? r : 0;
}

static size_t align_up(size_t size, uint64_t align)
{
	size_t step = align == 8 ? 8 : 4;

	return (size + step - 1) / step * step;
}

/* Without the NULs at its end. */
static size_t text_length(const char *text, size_t size)
{
	while (size > 0 && text[size - 1] == '\0')
		size--;
	return size;
}

static int parse_note(struct arena *arena, const char *note, size_t size, uint64_t align,
		      struct cuda_compat *compat, struct error *err)
{
	Elf32_Nhdr header;
	size_t text_at;
	int r;

	if (size < sizeof(header))
		return damaged(err, "its note is cut off");
	memcpy(&header, note, sizeof(header));
	if (header.n_namesz > size || header.n_descsz > size)
		return damaged(err, "its note is cut off");
	text_at = sizeof(header) + align_up(header.n_namesz, align);
	if (text_at > size || header.n_descsz > size - text_at)
		return damaged(err, "its note is cut off");
	if (text_length(note + sizeof(header), header.n_namesz) != strlen(vendor) ||
	    memcmp(note + sizeof(header), vendor, strlen(vendor)) != 0)
		return 0;
	r = parse_text(arena, note + text_at, text_length(note + text_at, header.n_descsz), compat,
		       err);
	compat->has_note = r == 0;
	return r;
}

static int read_note(struct arena *arena, int fd, struct cuda_compat *compat, struct error *err)
{
	struct section section = {0};
	struct file file;
	char *note;
	int r = open_file(&file, fd, err);

	if (r == 0)
		r = find_section(&file, &section, err);
	if (r <= 0)
		return r;
	if (section.size > LIMIT_NOTE_SIZE)
		return damaged(err, "its note is too long");
	note = arena_alloc(arena, (size_t)section.size);
	if (!note)
		return error_memory(err);
	r = read_at(&file, section.offset, note, (size_t)section.size, err);
	return r < 0 ? r
		     : parse_note(arena, note, (size_t)section.size, section.align, compat, err);
}

int cuda_compat_read(struct arena *arena, int fd, const char *what, struct notes *notes,
		     struct cuda_compat *ret_compat, struct error *err)
{
	char text[ERROR_TEXT_MAX];

	*ret_compat = (struct cuda_compat){0};
	if (read_note(arena, fd, ret_compat, err) == 0)
		return 0;
	if (err->errnum != 0)
		return error_prefix(err, "%s", SHOW(what));
	note_add(notes, NOTE_WARNING, "%s: %s", SHOW(what), error_text(err, text));
	*err = (struct error){0};
	*ret_compat = (struct cuda_compat){0};
	return 0;
}

/*
 * Versions
 */

struct version {
	bool known;
	uint64_t parts[3];
};

/* Up to three numbers; what has more is no version. */
static struct version parse_version(const char *text)
{
	struct version version = {0};

	for (unsigned i = 0; i < 3; i++) {
		size_t len = strspn(text, "0123456789");
		if (len == 0 || len > 9)
			break;
		for (size_t j = 0; j < len; j++)
			version.parts[i] = version.parts[i] * 10 + (uint64_t)(text[j] - '0');
		text += len;
		if (*text == '\0') {
			version.known = true;
			break;
		}
		if (*text++ != '.')
			break;
	}
	return version;
}

static struct version note_version(const char *what, const char *text, struct notes *notes)
{
	struct version version = {0};

	if (!text)
		return version;
	version = parse_version(text);
	if (!version.known)
		note_add(notes, NOTE_WARNING, "%s %s is not a version of up to three numbers", what,
			 SHOW(text));
	return version;
}

static bool is_newer(const struct version *a, const struct version *b)
{
	for (unsigned i = 0; i < 3; i++)
		if (a->parts[i] != b->parts[i])
			return a->parts[i] > b->parts[i];
	return false;
}

const char *cuda_compat_version(const char *file_name)
{
	static const char prefix[] = "libcuda.so.";

	if (strncmp(file_name, prefix, strlen(prefix)) != 0)
		return NULL;
	file_name += strlen(prefix);
	return strchr(file_name, '.') ? file_name : NULL;
}

static bool lists_driver(const struct cuda_compat *compat, uint64_t major)
{
	for (size_t i = 0; i < compat->drivers.n; i++)
		if ((uint64_t)compat->drivers.items[i] == major)
			return true;
	return false;
}

bool cuda_compat_is_wanted(const struct cuda_compat *compat, const char *version,
			   const char *host_driver, const char *host_cuda, struct notes *notes)
{
	const struct version ours =
		note_version("the version of the image's CUDA library", version, notes);
	const struct version driver = note_version("the host's driver version", host_driver, notes);
	const struct version cuda = note_version("the host's CUDA version", host_cuda, notes);

	if (!compat->has_note)
		return !host_cuda && ours.known && driver.known && ours.parts[0] > driver.parts[0];
	if (ours.known && driver.known)
		return lists_driver(compat, driver.parts[0]) && is_newer(&ours, &driver);
	if (!cuda.known || !compat->cuda_version)
		return false;
	const struct version theirs = parse_version(compat->cuda_version);
	return theirs.known && is_newer(&theirs, &cuda);
}
