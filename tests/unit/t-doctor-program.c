/* SPDX-License-Identifier: MIT */
/* Files of ELF that are made here, good and bad: what they need, and their code for GPUs. */
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "doctor/elf_file.h"
#include "doctor/find_library.h"
#include "doctor/program.h"
#include "tree.h"
#include "unit.h"

enum {
	DYNAMIC = 0x200,
	TEXTS = 0x400,
	NAMES = 0x800,
	FATBIN = 0x900,
	SECTIONS = 0x1000,
	SIZE = 0x2000
};

/* An image of a library with its parts at these places. Addresses are 0x10000 higher. */
struct image {
	unsigned char bytes[SIZE];
	Elf64_Ehdr *head;
	Elf64_Phdr *load, *dynamic;
	Elf64_Dyn *entries;
	Elf64_Shdr *sections;
};

static void put(struct image *image, size_t at, uint64_t value, size_t size)
{
	memcpy(image->bytes + at, &value, size);
}

/* The flags of a part: 'a' for sm_90a, 'f' for sm_100f, as nvcc 13.0 writes them. */
static uint64_t flags_of(char suffix)
{
	uint64_t usual = 0x11;

	return suffix == 'a' ? usual | 1 << 20 : suffix == 'f' ? usual | 1 << 21 : usual;
}

/* A container with one part of machine code and one of PTX. */
static size_t put_container(struct image *image, size_t at, unsigned int machine, unsigned int ptx,
			    char suffix)
{
	const unsigned int kinds[] = {2, 1}, architectures[] = {machine, ptx};

	put(image, at, 0xba55ed50, 4);
	put(image, at + 4, 1, 2);
	put(image, at + 6, 16, 2);
	put(image, at + 8, 2 * (64 + 8), 8);
	at += 16;
	for (size_t i = 0; i < 2; i++) {
		put(image, at, kinds[i], 2);
		put(image, at + 4, 64, 4);
		put(image, at + 8, 8, 8);
		put(image, at + 28, architectures[i], 4);
		put(image, at + 40, flags_of(suffix), 8);
		at += 64 + 8;
	}
	return at;
}

static void put_dynamic(struct image *image)
{
	static const char texts[] = "\0libcudnn.so.9\0$ORIGIN/../nvidia/cudnn/lib\0libc.so.6";

	memcpy(image->bytes + TEXTS, texts, sizeof(texts));
	image->entries[0].d_tag = DT_STRTAB;
	image->entries[0].d_un.d_ptr = 0x10000 + TEXTS;
	image->entries[1].d_tag = DT_NEEDED;
	image->entries[1].d_un.d_val = 1;
	image->entries[2].d_tag = DT_RUNPATH;
	image->entries[2].d_un.d_val = 15;
	image->entries[3].d_tag = DT_NEEDED;
	image->entries[3].d_un.d_val = 43;
}

static void make(struct image *image)
{
	static const char names[] = "\0.shstrtab\0.nv_fatbin";
	size_t end;

	memset(image, 0, sizeof(*image));
	image->head = (void *)image->bytes;
	image->load = (void *)(image->bytes + 0x40);
	image->dynamic = image->load + 1;
	image->entries = (void *)(image->bytes + DYNAMIC);
	image->sections = (void *)(image->bytes + SECTIONS);
	memcpy(image->head->e_ident, ELFMAG, SELFMAG);
	image->head->e_ident[EI_CLASS] = ELFCLASS64;
	image->head->e_ident[EI_DATA] = ELFDATA2LSB;
	image->head->e_phoff = 0x40;
	image->head->e_phentsize = sizeof(Elf64_Phdr);
	image->head->e_phnum = 2;
	*image->load = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = SIZE};
	*image->dynamic = (Elf64_Phdr){
		.p_type = PT_DYNAMIC, .p_offset = DYNAMIC, .p_filesz = 5 * sizeof(Elf64_Dyn)};
	put_dynamic(image);
	memcpy(image->bytes + NAMES, names, sizeof(names));
	end = put_container(image, FATBIN, 80, 80, ' ');
	end = put_container(image, (end + 15) & ~(size_t)15, 90, 100, ' ');
	end = put_container(image, (end + 15) & ~(size_t)15, 90, 90, 'a');
	end = put_container(image, (end + 15) & ~(size_t)15, 100, 100, 'f');
	image->head->e_shoff = SECTIONS;
	image->head->e_shentsize = sizeof(Elf64_Shdr);
	image->head->e_shnum = 3;
	image->head->e_shstrndx = 1;
	image->sections[1] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = 64};
	image->sections[2] = (Elf64_Shdr){.sh_name = 11,
					  .sh_type = SHT_PROGBITS,
					  .sh_offset = FATBIN,
					  .sh_size = end - FATBIN};
}

static struct image image;
static struct facts facts;

static void begin(void)
{
	tree_make();
	make(&image);
	facts = (struct facts){.root = tree_root()};
}

static void end(void)
{
	arena_free(&facts.arena);
	tree_drop();
}

static void write_image(size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/lib.so", tree_root());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(image.bytes, 1, size, f), size);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(whole)
{
	struct elf_file file;
	struct gpu_code code = {0};

	write_image(SIZE);
	ck_assert(elf_read(&facts, "/lib.so", &file));
	ck_assert_uint_eq(file.count, 2);
	ck_assert_str_eq(file.needed[0], "libcudnn.so.9");
	ck_assert_str_eq(file.needed[1], "libc.so.6");
	ck_assert_str_eq(file.runpath, "$ORIGIN/../nvidia/cudnn/lib");
	ck_assert_ptr_null(file.rpath);
	ck_assert(elf_gpu_code(&facts, "/lib.so", &code));
	for (int i = 0; i < MAX_ARCHITECTURE; i++) {
		unsigned int machine = i == 80    ? CODE_PLAIN
				       : i == 90  ? CODE_PLAIN | CODE_EXACT
				       : i == 100 ? CODE_FAMILY
						  : 0;
		unsigned int ptx = i == 80    ? CODE_PLAIN
				   : i == 90  ? CODE_EXACT
				   : i == 100 ? CODE_PLAIN | CODE_FAMILY
					      : 0;

		ck_assert_msg(code.machine[i] == machine, "machine code %d: %u", i,
			      code.machine[i]);
		ck_assert_msg(code.ptx[i] == ptx, "PTX %d: %u", i, code.ptx[i]);
	}
}
END_TEST

/* A file that ends anywhere is read as far as it goes, or not at all. */
START_TEST(cut)
{
	for (size_t size = 0; size < SIZE; size += 37) {
		struct elf_file file = {0};
		struct gpu_code code = {0};

		write_image(size);
		if (elf_read(&facts, "/lib.so", &file))
			ck_assert_msg(file.count <= 2, "%zu bytes: %zu needed", size, file.count);
		elf_gpu_code(&facts, "/lib.so", &code);
		ck_assert_msg(!code.machine[70], "%zu bytes: code from nowhere", size);
	}
}
END_TEST

/* Numbers that lead out of the file, or in circles. */
static const struct {
	const char *name;
	size_t at, size;
	uint64_t value;
} faults[] = {
	{"no segments", 0x38, 2, 0},
	{"65535 segments", 0x38, 2, 65535},
	{"segments far away", 0x20, 8, UINT64_MAX - 8},
	{"sections far away", 0x28, 8, UINT64_MAX - 8},
	{"65535 sections", 0x3c, 2, 65535},
	{"names of no section", 0x3e, 2, 65535},
	{"texts nowhere", DYNAMIC + 8, 8, 1},
	{"a text far away", DYNAMIC + 24, 8, UINT64_MAX / 2},
	{"a container without end", FATBIN + 8, 8, UINT64_MAX},
	{"a container of nothing", FATBIN + 6, 2, 0},
	{"a part without end", FATBIN + 16 + 8, 8, UINT64_MAX - 60},
	{"a part of nothing", FATBIN + 16 + 4, 4, 0},
	{"an architecture that is too high", FATBIN + 16 + 28, 4, 0xffffffff},
	{"a section without end", SECTIONS + 2 * sizeof(Elf64_Shdr) + 32, 8, UINT64_MAX},
	{"a section far away", SECTIONS + 2 * sizeof(Elf64_Shdr) + 24, 8, UINT64_MAX - 4},
	{"32 bits", EI_CLASS, 1, ELFCLASS32},
	{"big endian", EI_DATA, 1, ELFDATA2MSB},
};

START_TEST(fault)
{
	struct elf_file file = {0};
	struct gpu_code code = {0};

	put(&image, faults[_i].at, faults[_i].value, faults[_i].size);
	write_image(SIZE);
	if (elf_read(&facts, "/lib.so", &file))
		ck_assert_msg(file.count <= 2, "%s: %zu needed", faults[_i].name, file.count);
	elf_gpu_code(&facts, "/lib.so", &code);
	ck_assert_msg(!code.machine[70], "%s: code from nowhere", faults[_i].name);
}
END_TEST

/* Sections that overlap, with nothing but zeros. */
enum { COPIES = 60000, ZEROS = 0x200000 };

START_TEST(overlap)
{
	struct gpu_code code = {0};
	Elf64_Shdr section = image.sections[2];
	char path[4096];
	FILE *f;

	section.sh_offset = SIZE + COPIES * sizeof(section);
	section.sh_size = ZEROS;
	image.head->e_shnum = 3 + COPIES;
	image.head->e_shoff = SIZE - 3 * sizeof(section);
	memmove(image.bytes + image.head->e_shoff, image.sections, 3 * sizeof(section));
	snprintf(path, sizeof(path), "%s/lib.so", tree_root());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(image.bytes, 1, SIZE, f), SIZE);
	for (size_t i = 0; i < COPIES; i++)
		ck_assert_uint_eq(fwrite(&section, sizeof(section), 1, f), 1);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(truncate(path, SIZE + COPIES * sizeof(section) + ZEROS), 0);
	/* Without one limit for the file this takes hours. */
	ck_assert(elf_gpu_code(&facts, "/lib.so", &code));
	ck_assert(code.machine[80] && code.machine[90]);
}
END_TEST

/* The list of what is needed is read once. */
START_TEST(many_needed)
{
	struct elf_file file;
	size_t used;

	for (size_t i = 4; i < (TEXTS - DYNAMIC) / sizeof(*image.entries); i++)
		image.entries[i] = image.entries[1];
	image.dynamic->p_filesz = TEXTS - DYNAMIC;
	image.head->e_phnum = 3;
	image.dynamic[1] = *image.dynamic;
	write_image(SIZE);
	ck_assert(elf_read(&facts, "/lib.so", &file));
	used = (TEXTS - DYNAMIC) / sizeof(*image.entries) - 2;
	ck_assert_uint_eq(file.count, used);
}
END_TEST

/* More segments than a program can have are not kept: each name of a file would keep them again. */
START_TEST(many_segments)
{
	struct elf_file file;
	char path[4096];

	image.head->e_phnum = 65535;
	write_image(SIZE);
	snprintf(path, sizeof(path), "%s/lib.so", tree_root());
	ck_assert_int_eq(truncate(path, 0x40 + 65535 * sizeof(Elf64_Phdr)), 0);
	ck_assert(!elf_read(&facts, "/lib.so", &file));
	ck_assert_ptr_null(facts.arena.block);
}
END_TEST

/* A program of 250 libraries that are looked for in 2,600 folders. */
enum { LIBRARIES = 250, FOLDERS = 2600, MANY_TEXTS = 0x2000 };

START_TEST(many_folders)
{
	static union {
		unsigned char bytes[MANY_TEXTS + 0x3000];
		Elf64_Ehdr head;
	} many;
	Elf64_Phdr *load = (void *)(many.bytes + 0x40), *dynamic = load + 1;
	Elf64_Dyn *entry = (void *)(many.bytes + 0x200);
	char path[4096], *text = (char *)many.bytes + MANY_TEXTS;
	FILE *f;

	many.head = *image.head;
	*load = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x10000, .p_filesz = sizeof(many.bytes)};
	*dynamic = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				.p_offset = 0x200,
				.p_filesz = (LIBRARIES + 3) * sizeof(*entry)};
	*entry++ = (Elf64_Dyn){DT_STRTAB, {0x10000 + MANY_TEXTS}};
	for (int i = 0; i < LIBRARIES; i++) {
		*entry++ = (Elf64_Dyn){DT_NEEDED, {8u * i}};
		snprintf(text + 8 * i, 8, "x%d.so", i);
	}
	*entry++ = (Elf64_Dyn){DT_RUNPATH, {8 * LIBRARIES}};
	text += 8 * LIBRARIES;
	for (int i = 0; i < FOLDERS; i++)
		memcpy(text + 3 * i, "/a:", 3);
	snprintf(path, sizeof(path), "%s/program", tree_root());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(many.bytes, 1, sizeof(many.bytes), f), sizeof(many.bytes));
	ck_assert_int_eq(fclose(f), 0);
	loader_read(&facts);
	needed_read(&facts, "/program", NULL);
	ck_assert(loader_gave_up(&facts));
	ck_assert_int_eq(facts.program.kind.sight, UNSEEN);
	ck_assert_str_eq(facts.program.kind.why, "it needs too many libraries, or they are looked "
						 "for in too many folders");
	ck_assert_ptr_null(loader_in(&facts, "/", "program"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("doctor-program");
	TCase *tests = tcase_create("doctor-program");

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, whole);
	tcase_add_test(tests, cut);
	tcase_add_test(tests, overlap);
	tcase_add_test(tests, many_needed);
	tcase_add_test(tests, many_segments);
	tcase_add_test(tests, many_folders);
	tcase_add_loop_test(tests, fault, 0, ARRAY_SIZE(faults));
	return unit_run(suite);
}
