/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda-compat.h"

/* An ELF file of three sections: none, the note, and the names of both. */
struct file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[64];
	Elf64_Nhdr note;
	char text[512]; /* the vendor's name, then the object */
};

static struct file make_file(const char *vendor, const char *object)
{
	struct file file = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										 : ELFDATA2MSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_shoff = offsetof(struct file, sections),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 2},
		.sections[1] = {.sh_name = 1,
				.sh_type = SHT_NOTE,
				.sh_offset = offsetof(struct file, note),
				.sh_addralign = 4},
		.sections[2] = {.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct file, names),
				.sh_size = sizeof(file.names)},
		.note = {.n_namesz = (uint32_t)strlen(vendor) + 1,
			 .n_descsz = (uint32_t)strlen(object) + 1},
	};
	size_t at = (strlen(vendor) + 4) / 4 * 4;

	strcpy(file.names + 1, ".note.cuda.fwd_compatibility");
	strcpy(file.text, vendor);
	strcpy(file.text + at, object);
	file.sections[1].sh_size = sizeof(file.note) + at + strlen(object) + 1;
	return file;
}

static int read_file(struct arena *arena, const struct file *file, size_t size, struct notes *notes,
		     struct cuda_compat *compat)
{
	struct error err = {0};
	int fd = memfd_create("library", MFD_CLOEXEC);
	int r;

	assert_int_equal(write(fd, file, size), size);
	r = cuda_compat_read(arena, fd, "/lib", notes, compat, &err);
	close(fd);
	return r;
}

static void test_read(void **state)
{
	static const struct {
		const char *vendor, *object;
		bool has_note;
		size_t drivers;
	} cases[] = {
		{"NVIDIA Corporation",
		 "{\"Format\":1,\"CUDA Version\":\"12.8\",\"Driver\":[535,550]}", true, 2},
		{"NVIDIA Corporation", "{}", true, 0},
		{"ACME", "{\"Driver\":[535]}", false, 0},
		{"NVIDIA Corporation", "{\"Format\":1,", false, 0},
		{"NVIDIA Corporation", "[]", false, 0},
		{"NVIDIA Corporation", "{\"Driver\":[\"x\"]}", false, 0},
		{"NVIDIA Corporation", "{\"Driver\":[-1]}", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct file file = make_file(cases[i].vendor, cases[i].object);
		struct cuda_compat compat;
		struct arena arena;
		struct notes notes = {.arena = &arena};

		arena_init(&arena, 1 << 20);
		assert_int_equal(read_file(&arena, &file, sizeof(file), &notes, &compat), 0);
		assert_int_equal(compat.has_note, cases[i].has_note);
		assert_int_equal(compat.drivers.n, cases[i].drivers);
		assert_int_equal(notes.list.n,
				 strcmp(cases[i].vendor, "ACME") != 0 && !compat.has_note);
		arena_done(&arena);
	}
}

static void damage_magic(struct file *file)
{
	file->header.e_ident[0] = 'x';
}

static void damage_sections(struct file *file)
{
	file->header.e_shoff = UINT64_MAX - 8;
}

static void damage_count(struct file *file)
{
	file->header.e_shnum = 60000;
}

static void damage_offset(struct file *file)
{
	file->sections[1].sh_offset = UINT64_MAX;
}

static void damage_size(struct file *file)
{
	file->sections[1].sh_size = UINT64_MAX;
}

static void damage_short(struct file *file)
{
	file->sections[1].sh_size = 3;
}

static void damage_name_size(struct file *file)
{
	file->note.n_namesz = UINT32_MAX;
}

static void damage_text_size(struct file *file)
{
	file->note.n_descsz = 400;
}

static void test_damaged(void **state)
{
	static const struct {
		void (*damage)(struct file *file);
		const char *note;
	} cases[] = {
		{damage_magic, "/lib: damaged library: it is no ELF file of this machine's"},
		{damage_sections, "/lib: damaged library: its sections lie outside the file"},
		{damage_count, "/lib: damaged library: it has too many sections"},
		{damage_offset, "/lib: damaged library: a part lies outside the file"},
		{damage_size, "/lib: damaged library: its note is too long"},
		{damage_short, "/lib: damaged library: its note is cut off"},
		{damage_name_size, "/lib: damaged library: its note is cut off"},
		{damage_text_size, "/lib: damaged library: its note is cut off"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file file = make_file("NVIDIA Corporation", "{\"Driver\":[535]}");
		struct cuda_compat compat;
		struct arena arena;
		struct notes notes = {.arena = &arena};

		arena_init(&arena, 1 << 20);
		cases[i].damage(&file);
		assert_int_equal(read_file(&arena, &file, sizeof(file), &notes, &compat), 0);
		assert_false(compat.has_note);
		assert_int_equal(notes.list.n, 1);
		assert_string_equal(notes.list.items[0].text, cases[i].note);
		arena_done(&arena);
	}
}

/* Cut off anywhere, it is damaged or has no note, and nothing else happens. */
static void test_cut_off(void **state)
{
	const struct file file = make_file("NVIDIA Corporation", "{\"Driver\":[535]}");

	(void)state;
	for (size_t size = 0; size < offsetof(struct file, text) + 36; size++) {
		struct cuda_compat compat;
		struct arena arena;

		arena_init(&arena, 1 << 20);
		assert_int_equal(read_file(&arena, &file, size, NULL, &compat), 0);
		assert_false(compat.has_note);
		arena_done(&arena);
	}
}

static void test_no_section(void **state)
{
	struct file file = make_file("NVIDIA Corporation", "{\"Driver\":[535]}");
	struct cuda_compat compat;
	struct arena arena;
	struct notes notes = {.arena = &arena};

	(void)state;
	arena_init(&arena, 1 << 20);
	file.names[2] = 'N';
	assert_int_equal(read_file(&arena, &file, sizeof(file), &notes, &compat), 0);
	file = make_file("NVIDIA Corporation", "{}");
	file.header.e_shstrndx = 3;
	assert_int_equal(read_file(&arena, &file, sizeof(file), &notes, &compat), 0);
	file = make_file("NVIDIA Corporation", "{}");
	file.sections[1].sh_type = SHT_PROGBITS;
	assert_int_equal(read_file(&arena, &file, sizeof(file), &notes, &compat), 0);
	assert_int_equal(notes.list.n, 0);
	arena_done(&arena);
}

static void test_failures(void **state)
{
	const struct file file = make_file("NVIDIA Corporation", "{\"Driver\":[535]}");
	struct cuda_compat compat;
	struct error err = {0};
	struct arena arena;

	(void)state;
	arena_init(&arena, 1 << 20);
	assert_int_equal(cuda_compat_read(&arena, -1, "/lib", NULL, &compat, &err), -EBADF);
	assert_error(&err, EXIT_CODE_DONE, "/lib: stat: Bad file descriptor");
	arena_done(&arena);
	arena_init(&arena, 64);
	assert_int_equal(read_file(&arena, &file, sizeof(file), NULL, &compat), -ENOMEM);
	arena_done(&arena);
}

static void test_versions(void **state)
{
	static const struct {
		const char *name, *version;
	} cases[] = {
		{"libcuda.so.550.54.15", "550.54.15"},
		{"libcuda.so.1.1", "1.1"},
		{"libcuda.so..", "."},
		{"libcuda.so.1", NULL},
		{"libcuda.so", NULL},
		{"libcudart.so.1.1", NULL},
		{"xlibcuda.so.1.1", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *version = cuda_compat_version(cases[i].name);
		if (cases[i].version)
			assert_string_equal(version, cases[i].version);
		else
			assert_null(version);
	}
}

static void test_wanted(void **state)
{
	int64_t list[] = {535, 550};
	const struct cuda_compat none = {0};
	const struct cuda_compat note = {
		.has_note = true, .cuda_version = "12.8", .drivers = {.items = list, .n = 2}};
	const struct cuda_compat no_drivers = {.has_note = true, .cuda_version = "12.8"};
	const struct cuda_compat bad_cuda = {.has_note = true, .cuda_version = "x"};
	const struct {
		const struct cuda_compat *compat;
		const char *version, *driver, *cuda;
		bool wanted;
		size_t notes;
	} cases[] = {
		/* Without a note: the major version of the driver. */
		{&none, "570.86.10", "550.54.15", NULL, true, 0},
		{&none, "570.86.10", "550", NULL, true, 0},
		{&none, "570.86.10", "570.10.1", NULL, false, 0},
		{&none, "570.86.10", "575.1.1", NULL, false, 0},
		{&none, "570.86.10", NULL, "12.4", false, 0},
		{&none, "570.86.10", "550.54.15", "12.4", false, 0},
		{&none, "570.86.10", "abc", NULL, false, 1},
		{&none, "570.86.10.2", "550.54.15", NULL, false, 1},
		/* With one: the drivers that it lists, and the whole version. */
		{&note, "570.86.10", "550.54.15", NULL, true, 0},
		{&note, "570.86.10", "560.35.03", NULL, false, 0},
		{&note, "550.54.15", "550.54.15", NULL, false, 0},
		{&note, "550.54.16", "550.54.15", NULL, true, 0},
		{&note, "550.54.9", "550.54.15", NULL, false, 0},
		{&note, "570.86.10", "535.1.1", "13.0", true, 0},
		{&note, "570.86.10", "560.1", "12.4", false, 0},
		/* Versions that are not known leave it to CUDA's. */
		{&note, "570.86.10", NULL, "12.4", true, 0},
		{&note, "570.86.10", NULL, "12.8", false, 0},
		{&note, "570.86.10", NULL, "13.0", false, 0},
		{&note, "570.86.10", "abc", "12.4", true, 1},
		{&note, "570.86.10.2", "550.54.15", "12.4", true, 1},
		{&note, "570.86.10.2", "550.54.15", NULL, false, 1},
		{&note, "570.86.10", NULL, "x", false, 1},
		{&no_drivers, "570.86.10", "550.54.15", NULL, false, 0},
		{&bad_cuda, "570.86.10", NULL, "12.4", false, 0},
		{&note, "1234567890.1", NULL, "12.4", true, 1},
		{&note, "1.", NULL, "12.4", true, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena;
		struct notes notes = {.arena = &arena};

		arena_init(&arena, 1 << 16);
		assert_int_equal(cuda_compat_is_wanted(cases[i].compat, cases[i].version,
						       cases[i].driver, cases[i].cuda, &notes),
				 cases[i].wanted);
		assert_int_equal(notes.list.n, cases[i].notes);
		arena_done(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),     cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_cut_off),  cmocka_unit_test(test_no_section),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_versions),
		cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
