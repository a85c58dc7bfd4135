/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounds.h"
#include "elf-library.h"

/*
 * A library made by hand, the smallest one that has everything in it. The second PT_LOAD is the one with the strings,
 * at an address that is not its offset.
 */
#define SEGMENTS_AT 64
#define DYNAMIC_AT 512
#define STRINGS_AT 704
#define STRINGS_ADDRESS (0x10000 + STRINGS_AT)
#define SONAME_OFFSET 7
#define IMAGE_SIZE 768

enum { SEGMENT_LOAD, SEGMENT_STRINGS, SEGMENT_DYNAMIC, SEGMENT_LAST, SEGMENTS };
enum { ENTRY_NEEDED, ENTRY_SONAME, ENTRY_STRTAB, ENTRY_STRSZ, ENTRY_FLAGS_1, ENTRY_NULL, ENTRIES };

struct fixture {
	struct arena arena;
	struct elf_library library;
	struct error err;
	int fd;
	bool is_64;
	_Alignas(16) unsigned char image[IMAGE_SIZE];
};

static Elf64_Ehdr *wide_header(struct fixture *f)
{
	return (Elf64_Ehdr *)(void *)f->image;
}

static Elf32_Ehdr *narrow_header(struct fixture *f)
{
	return (Elf32_Ehdr *)(void *)f->image;
}

static void set_segment(struct fixture *f, unsigned i, uint32_t type, uint64_t offset,
			uint64_t address, uint64_t size)
{
	if (f->is_64)
		((Elf64_Phdr *)(void *)(f->image + SEGMENTS_AT))[i] = (Elf64_Phdr){
			.p_type = type, .p_offset = offset, .p_vaddr = address, .p_filesz = size};
	else
		((Elf32_Phdr *)(void *)(f->image + SEGMENTS_AT))[i] =
			(Elf32_Phdr){.p_type = type,
				     .p_offset = (uint32_t)offset,
				     .p_vaddr = (uint32_t)address,
				     .p_filesz = (uint32_t)size};
}

static void set_entry(struct fixture *f, unsigned i, uint64_t tag, uint64_t value)
{
	if (f->is_64)
		((Elf64_Dyn *)(void *)(f->image + DYNAMIC_AT))[i] =
			(Elf64_Dyn){.d_tag = (int64_t)tag, .d_un.d_val = value};
	else
		((Elf32_Dyn *)(void *)(f->image + DYNAMIC_AT))[i] =
			(Elf32_Dyn){.d_tag = (int32_t)tag, .d_un.d_val = (uint32_t)value};
}

static void set_soname(struct fixture *f, const char *soname)
{
	memset(f->image + STRINGS_AT, 'x', IMAGE_SIZE - STRINGS_AT);
	memcpy(f->image + STRINGS_AT, "\0libc.so", SONAME_OFFSET);
	memcpy(f->image + STRINGS_AT + SONAME_OFFSET, soname, strlen(soname) + 1);
}

static void image_header(struct fixture *f)
{
	if (f->is_64)
		*wide_header(f) = (Elf64_Ehdr){.e_type = ET_DYN,
					       .e_machine = EM_X86_64,
					       .e_version = EV_CURRENT,
					       .e_phoff = SEGMENTS_AT,
					       .e_phentsize = sizeof(Elf64_Phdr),
					       .e_phnum = SEGMENTS};
	else
		*narrow_header(f) = (Elf32_Ehdr){.e_type = ET_DYN,
						 .e_machine = EM_ARM,
						 .e_version = EV_CURRENT,
						 .e_phoff = SEGMENTS_AT,
						 .e_phentsize = sizeof(Elf32_Phdr),
						 .e_phnum = SEGMENTS};
	memcpy(f->image, ELFMAG, SELFMAG);
	f->image[EI_CLASS] = f->is_64 ? ELFCLASS64 : ELFCLASS32;
	f->image[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	f->image[EI_VERSION] = EV_CURRENT;
}

static void image_make(struct fixture *f, bool is_64)
{
	uint64_t entry_size = is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);

	memset(f->image, 0, sizeof(f->image));
	f->is_64 = is_64;
	image_header(f);
	set_segment(f, SEGMENT_LOAD, PT_LOAD, 0, 0, STRINGS_AT);
	set_segment(f, SEGMENT_STRINGS, PT_LOAD, STRINGS_AT, STRINGS_ADDRESS,
		    IMAGE_SIZE - STRINGS_AT);
	set_segment(f, SEGMENT_DYNAMIC, PT_DYNAMIC, DYNAMIC_AT, DYNAMIC_AT, ENTRIES * entry_size);
	set_segment(f, SEGMENT_LAST, PT_GNU_STACK, 0, 0, 0);
	set_entry(f, ENTRY_NEEDED, DT_NEEDED, 1);
	set_entry(f, ENTRY_SONAME, DT_SONAME, SONAME_OFFSET);
	set_entry(f, ENTRY_STRTAB, DT_STRTAB, STRINGS_ADDRESS);
	set_entry(f, ENTRY_STRSZ, DT_STRSZ, IMAGE_SIZE - STRINGS_AT);
	set_entry(f, ENTRY_FLAGS_1, DT_FLAGS_1, DF_1_NOW);
	set_entry(f, ENTRY_NULL, DT_NULL, 0);
	set_soname(f, "libfoo.so.1");
}

static int setup(void **state)
{
	struct fixture *f = aligned_alloc(16, sizeof(*f));

	assert_non_null(f);
	memset(f, 0, sizeof(*f));
	arena_init(&f->arena, LIMIT_MEMORY);
	f->fd = memfd_create("library", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	arena_done(&f->arena);
	free(f);
	return 0;
}

static int read_fd(struct fixture *f, int fd)
{
	f->err = (struct error){0};
	f->library = (struct elf_library){.soname = "untouched", .machine = 4711};
	return elf_library_read(&f->arena, fd, &f->library, &f->err);
}

static int read_bytes(struct fixture *f, size_t size)
{
	assert_int_equal(ftruncate(f->fd, 0), 0);
	assert_int_equal(pwrite(f->fd, f->image, size, 0), size);
	return read_fd(f, f->fd);
}

static int read_image(struct fixture *f)
{
	return read_bytes(f, sizeof(f->image));
}

static void assert_damaged(struct fixture *f, const char *sentence)
{
	assert_int_equal(read_image(f), -EINVAL);
	assert_error(&f->err, EXIT_CODE_DONE, sentence);
}

static void test_both_classes(void **state)
{
	struct fixture *f = *state;

	image_make(f, true);
	assert_int_equal(read_image(f), 0);
	assert_string_equal(f->library.soname, "libfoo.so.1");
	assert_int_equal(f->library.class, ELFCLASS64);
	assert_int_equal(f->library.machine, EM_X86_64);

	image_make(f, false);
	assert_int_equal(read_image(f), 0);
	assert_string_equal(f->library.soname, "libfoo.so.1");
	assert_int_equal(f->library.class, ELFCLASS32);
	assert_int_equal(f->library.machine, EM_ARM);
	assert_false(error_is_set(&f->err));
}

static void test_without_soname(void **state)
{
	struct fixture *f = *state;

	for (int is_64 = 0; is_64 < 2; is_64++) {
		image_make(f, is_64);
		/* Neither are its strings needed then. */
		set_entry(f, ENTRY_SONAME, DT_NEEDED, SONAME_OFFSET);
		set_entry(f, ENTRY_STRTAB, DT_NULL, 0);
		assert_int_equal(read_image(f), 0);
		assert_null(f->library.soname);
	}
}

static void test_what_is_not_a_library(void **state)
{
	struct fixture *f = *state;

	image_make(f, true);
	assert_int_equal(read_bytes(f, 0), ELF_NOT_A_LIBRARY);
	assert_int_equal(read_bytes(f, EI_NIDENT - 1), ELF_NOT_A_LIBRARY);
	/* The linker scripts that stand in for libc.so. */
	memcpy(f->image, "/* GNU ld script", 16);
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	image_make(f, true);
	f->image[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	image_make(f, true);
	f->image[EI_CLASS] = 3;
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	image_make(f, true);
	f->image[EI_VERSION] = 0;
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	image_make(f, true);
	wide_header(f)->e_type = ET_EXEC;
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	/* An object file has no program headers, whatever else the header says of them. */
	wide_header(f)->e_type = ET_REL;
	wide_header(f)->e_phentsize = 0;
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	image_make(f, true);
	set_segment(f, SEGMENT_DYNAMIC, PT_NOTE, 0, 0, 0);
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	/* objcopy --only-keep-debug leaves the section's place and takes its contents. */
	image_make(f, true);
	set_segment(f, SEGMENT_DYNAMIC, PT_DYNAMIC, DYNAMIC_AT, DYNAMIC_AT, 0);
	assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
	assert_false(error_is_set(&f->err));
	assert_string_equal(f->library.soname, "untouched");
	assert_int_equal(f->library.machine, 4711);
}

static void test_executables(void **state)
{
	struct fixture *f = *state;

	for (int is_64 = 0; is_64 < 2; is_64++) {
		image_make(f, is_64);
		set_entry(f, ENTRY_FLAGS_1, DT_FLAGS_1, DF_1_NOW | DF_1_PIE);
		assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
		/* As older linkers made them. */
		image_make(f, is_64);
		set_segment(f, SEGMENT_LAST, PT_INTERP, 0, 0, 1);
		set_entry(f, ENTRY_SONAME, DT_NEEDED, 1);
		assert_int_equal(read_image(f), ELF_NOT_A_LIBRARY);
		/* libc.so.6 can be run, and is a library all the same. */
		image_make(f, is_64);
		set_segment(f, SEGMENT_LAST, PT_INTERP, 0, 0, 1);
		assert_int_equal(read_image(f), 0);
		assert_string_equal(f->library.soname, "libfoo.so.1");
	}
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read_fd(f, fd), ELF_NOT_A_LIBRARY);
	close(fd);
}

static void test_static_programs(void **state)
{
	struct fixture *f = *state;

	for (int is_64 = 0; is_64 < 2; is_64++) {
		image_make(f, is_64);
		assert_int_equal(read_image(f), 0);
		assert_true(elf_is_static_program(f->fd));
		set_segment(f, SEGMENT_LAST, PT_INTERP, 0, 0, 1);
		assert_int_equal(read_image(f), 0);
		assert_false(elf_is_static_program(f->fd));
	}
	/* A script, as Ubuntu's /sbin/ldconfig is one. */
	int fd = memfd_create("script", MFD_CLOEXEC);
	assert_true(write(fd, "#!/bin/sh\n", 10) == 10);
	assert_false(elf_is_static_program(fd));
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_false(elf_is_static_program(fd));
	close(fd);
	assert_false(elf_is_static_program(-1));
}

/* Those that this very program runs with: each was found by its soname. */
static int check_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	struct fixture *f = data;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!slash)
		return 0;
	int fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read_fd(f, fd), 0);
	close(fd);
	assert_string_equal(f->library.soname, slash + 1);
	assert_int_equal(f->library.class, sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
	return 0;
}

static void test_loaded_libraries(void **state)
{
	dl_iterate_phdr(check_loaded, *state);
}

static void test_sonames(void **state)
{
	struct fixture *f = *state;

	image_make(f, true);
	set_soname(f, "\303\266 and blanks");
	assert_int_equal(read_image(f), 0);
	assert_string_equal(f->library.soname, "\303\266 and blanks");
	set_soname(f, "...");
	assert_int_equal(read_image(f), 0);
	set_soname(f, "");
	assert_damaged(f, "damaged library: its soname is empty: \"\"");
	set_soname(f, ".");
	assert_damaged(f, "damaged library: its soname is a path: \".\"");
	set_soname(f, "..");
	assert_damaged(f, "damaged library: its soname is a path: \"..\"");
	set_soname(f, "../../../etc/cron.d/x");
	assert_damaged(f, "damaged library: its soname is a path: \"../../../etc/cron.d/x\"");
	set_soname(f, "/x");
	assert_damaged(f, "damaged library: its soname is a path: \"/x\"");
	set_soname(f, "a\nb");
	assert_damaged(f, "damaged library: its soname has control characters: \"a\\x0ab\"");
	set_soname(f, "a\177");
	assert_damaged(f, "damaged library: its soname has control characters: \"a\\x7f\"");
}

/* As long as a file name may be, and one byte more. */
static void test_long_soname(void **state)
{
	struct fixture *f = *state;
	char strings[1024] = {0};

	image_make(f, true);
	set_segment(f, SEGMENT_STRINGS, PT_LOAD, IMAGE_SIZE, STRINGS_ADDRESS, sizeof(strings));
	set_entry(f, ENTRY_STRSZ, DT_STRSZ, sizeof(strings));
	memset(strings + SONAME_OFFSET, 'a', LIMIT_SONAME);
	read_image(f);
	assert_int_equal(pwrite(f->fd, strings, sizeof(strings), IMAGE_SIZE), sizeof(strings));
	assert_int_equal(read_fd(f, f->fd), 0);
	assert_int_equal(strlen(f->library.soname), LIMIT_SONAME);

	strings[SONAME_OFFSET + LIMIT_SONAME] = 'a';
	assert_int_equal(pwrite(f->fd, strings, sizeof(strings), IMAGE_SIZE), sizeof(strings));
	assert_int_equal(read_fd(f, f->fd), -EINVAL);
	assert_error(&f->err, EXIT_CODE_DONE, "damaged library: its soname has no end");
}

static void test_damaged_strings(void **state)
{
	struct fixture *f = *state;
	const char *outside = "damaged library: its soname lies outside its strings";

	for (int is_64 = 0; is_64 < 2; is_64++) {
		image_make(f, is_64);
		set_entry(f, ENTRY_SONAME, DT_SONAME, IMAGE_SIZE - STRINGS_AT);
		assert_damaged(f, outside);
		set_entry(f, ENTRY_SONAME, DT_SONAME, UINT64_MAX);
		assert_damaged(f, outside);
		image_make(f, is_64);
		set_entry(f, ENTRY_STRSZ, DT_STRSZ, SONAME_OFFSET);
		assert_damaged(f, outside);
		set_entry(f, ENTRY_STRSZ, DT_STRSZ, SONAME_OFFSET + 3);
		assert_damaged(f, "damaged library: its soname has no end");
		image_make(f, is_64);
		set_entry(f, ENTRY_STRTAB, DT_DEBUG, 0);
		assert_damaged(f, "damaged library: it has a soname but no strings");
		set_entry(f, ENTRY_STRTAB, DT_STRTAB, STRINGS_ADDRESS - 1);
		assert_damaged(f, "damaged library: its strings are not in a part that is loaded");
		set_entry(f, ENTRY_STRTAB, DT_STRTAB, STRINGS_ADDRESS + IMAGE_SIZE - STRINGS_AT);
		assert_damaged(f, "damaged library: its strings are not in a part that is loaded");
		image_make(f, is_64);
		set_segment(f, SEGMENT_STRINGS, PT_LOAD, IMAGE_SIZE, STRINGS_ADDRESS, 100);
		assert_damaged(f, "damaged library: its strings lie outside the file");
		set_segment(f, SEGMENT_STRINGS, PT_LOAD, UINT64_MAX - 1, STRINGS_ADDRESS, 100);
		assert_damaged(f, "damaged library: its strings lie outside the file");
	}
	image_make(f, true);
	set_segment(f, SEGMENT_STRINGS, PT_LOAD, UINT64_MAX, STRINGS_ADDRESS - 1, UINT64_MAX);
	assert_damaged(f, "damaged library: its strings are not in a part that is loaded");
}

/* Without DT_STRSZ the segment is the bound, and of a tag that comes twice the last one counts. */
static void test_tags_missing_or_twice(void **state)
{
	struct fixture *f = *state;

	image_make(f, true);
	set_entry(f, ENTRY_STRSZ, DT_DEBUG, 0);
	assert_int_equal(read_image(f), 0);
	assert_string_equal(f->library.soname, "libfoo.so.1");
	set_entry(f, ENTRY_NEEDED, DT_SONAME, 5000);
	set_entry(f, ENTRY_STRSZ, DT_STRTAB, STRINGS_ADDRESS + 3);
	assert_int_equal(read_image(f), 0);
	assert_string_equal(f->library.soname, "foo.so.1");
	/* No DT_NULL: the section ends where its header says. */
	set_entry(f, ENTRY_NULL, DT_DEBUG, 0);
	assert_int_equal(read_image(f), 0);
}

static void test_damaged_headers(void **state)
{
	struct fixture *f = *state;

	image_make(f, true);
	wide_header(f)->e_phentsize = sizeof(Elf32_Phdr);
	assert_damaged(f, "damaged library: its program headers have an unknown size");
	image_make(f, true);
	wide_header(f)->e_phnum = PN_XNUM;
	assert_damaged(f, "damaged library: it has too many program headers");
	image_make(f, true);
	wide_header(f)->e_phnum = 100;
	assert_damaged(f, "damaged library: a program header lies outside the file");
	wide_header(f)->e_phoff = UINT64_MAX - sizeof(Elf64_Phdr);
	assert_damaged(f, "damaged library: a program header lies outside the file");
	image_make(f, true);
	set_segment(f, SEGMENT_LAST, PT_DYNAMIC, DYNAMIC_AT, DYNAMIC_AT, 16);
	assert_damaged(f, "damaged library: it has two dynamic sections");
	set_segment(f, SEGMENT_LAST, PT_NULL, 0, 0, 0);
	set_segment(f, SEGMENT_DYNAMIC, PT_DYNAMIC, IMAGE_SIZE, 0, 16);
	assert_damaged(f, "damaged library: the dynamic section lies outside the file");
	set_segment(f, SEGMENT_DYNAMIC, PT_DYNAMIC, UINT64_MAX - 15, 0, 64);
	assert_damaged(f, "damaged library: the dynamic section lies outside the file");
	image_make(f, true);
	assert_int_equal(read_bytes(f, sizeof(Elf64_Ehdr) - 1), -EINVAL);
	assert_error(&f->err, EXIT_CODE_DONE, "damaged library: the ELF header is cut off");
}

/* A dynamic section of gigabytes costs no more than a long one. */
static void test_endless_dynamic_section(void **state)
{
	struct fixture *f = *state;
	Elf64_Dyn entries[256];

	image_make(f, true);
	set_segment(f, SEGMENT_DYNAMIC, PT_DYNAMIC, IMAGE_SIZE, 0, UINT64_MAX / 2);
	read_image(f);
	for (size_t i = 0; i < 256; i++)
		entries[i] = (Elf64_Dyn){.d_tag = DT_NEEDED};
	for (off_t i = 0; i < 100; i++)
		assert_int_equal(pwrite(f->fd, entries, sizeof(entries),
					IMAGE_SIZE + i * (off_t)sizeof(entries)),
				 sizeof(entries));
	assert_int_equal(read_fd(f, f->fd), -EINVAL);
	assert_error(&f->err, EXIT_CODE_DONE, "damaged library: the dynamic section is too long");
}

/* Any answer will do, but a soname is a file name, and a failure has its sentence. */
static void check_answer(struct fixture *f, int r)
{
	if (r < 0)
		assert_non_null(strstr(f->err.text, "damaged library: "));
	else
		assert_false(error_is_set(&f->err));
	if (r == 0 && f->library.soname)
		assert_true(f->library.soname[0] != '\0' && !strchr(f->library.soname, '/') &&
			    strlen(f->library.soname) <= LIMIT_SONAME);
}

static void test_every_truncation(void **state)
{
	struct fixture *f = *state;

	for (int is_64 = 0; is_64 < 2; is_64++) {
		image_make(f, is_64);
		for (size_t size = 0; size < IMAGE_SIZE; size++) {
			int r = read_bytes(f, size);
			check_answer(f, r);
			/* Behind the soname's end nothing is needed. */
			if (size < STRINGS_AT + SONAME_OFFSET + sizeof("libfoo.so.1"))
				assert_int_not_equal(r, 0);
		}
	}
}

static void test_every_byte_changed(void **state)
{
	static const unsigned char changes[] = {0x01, 0x02, 0x04, 0x08, 0x10,
						0x20, 0x40, 0x80, 0xff};
	struct fixture *f = *state;

	for (int is_64 = 0; is_64 < 2; is_64++) {
		image_make(f, is_64);
		read_image(f);
		for (size_t at = 0; at < IMAGE_SIZE; at++) {
			for (size_t i = 0; i < sizeof(changes); i++) {
				unsigned char byte = f->image[at] ^ changes[i];
				assert_int_equal(pwrite(f->fd, &byte, 1, (off_t)at), 1);
				check_answer(f, read_fd(f, f->fd));
			}
			assert_int_equal(pwrite(f->fd, &f->image[at], 1, (off_t)at), 1);
		}
	}
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;

	image_make(f, true);
	arena_done(&f->arena);
	arena_init(&f->arena, 0);
	assert_int_equal(read_image(f), -ENOMEM);
	assert_error(&f->err, EXIT_CODE_OTHER, "memory: Cannot allocate memory");
}

static void test_unreadable(void **state)
{
	struct fixture *f = *state;
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(read_fd(f, dir), -EISDIR);
	assert_error(&f->err, EXIT_CODE_DONE, "read: Is a directory");
	close(dir);
	assert_int_equal(read_fd(f, -1), -EBADF);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_classes),
		TEST(test_without_soname),
		TEST(test_what_is_not_a_library),
		TEST(test_executables),
		TEST(test_static_programs),
		TEST(test_loaded_libraries),
		TEST(test_sonames),
		TEST(test_long_soname),
		TEST(test_damaged_strings),
		TEST(test_tags_missing_or_twice),
		TEST(test_damaged_headers),
		TEST(test_endless_dynamic_section),
		TEST(test_every_truncation),
		TEST(test_every_byte_changed),
		TEST(test_no_memory),
		TEST(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
