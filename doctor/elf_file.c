/* SPDX-License-Identifier: MIT */
/* See elf_file.h. */
#include "elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "memory.h"

/* A program with more segments is refused by the kernel, which reads 64 KiB of them. */
enum {
	MAX_SEGMENTS = 65536 / sizeof(Elf64_Phdr),
	MAX_DYNAMIC = 1 << 14,
	MAX_NAME = 1024,
	MAX_FOLDERS = 8192,
	MAX_STEPS = 1 << 20
};

struct reader {
	struct facts *facts;
	int fd;
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	size_t steps; /* through code: sections may overlap, so they are counted for the file */
};

static bool read_at(const struct reader *reader, uint64_t at, void *to, size_t size)
{
	size_t done = 0;

	while (at <= INT64_MAX - size && done < size) {
		ssize_t n = pread(reader->fd, (char *)to + done, size - done, (off_t)(at + done));

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return done == size;
}

/* Entries of a table, which the caller frees. NULL: they cannot be read. */
static void *read_table(const struct reader *reader, uint64_t at, size_t count, size_t size)
{
	void *table = xcalloc(count + 1, size);

	if (read_at(reader, at, table, count * size))
		return table;
	free(table);
	return NULL;
}

/* The text at a place of the file, without its end if it has `most` bytes or more. NULL: there is
 * none. */
static const char *read_text(const struct reader *reader, uint64_t at, size_t most)
{
	char text[MAX_FOLDERS];
	ssize_t n = at > INT64_MAX ? 0 : pread(reader->fd, text, most - 1, (off_t)at);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return arena_strdup(&reader->facts->arena, text);
}

static bool begin(struct reader *reader, struct facts *facts, const char *path)
{
	*reader = (struct reader){.facts = facts, .fd = -1};
	if (!facts_has_file(facts, path))
		return false;
	reader->fd = root_open(facts->root, path, O_RDONLY);
	if (reader->fd >= 0 && read_at(reader, 0, &reader->head, sizeof(reader->head)) &&
	    memcmp(reader->head.e_ident, ELFMAG, SELFMAG) == 0 &&
	    reader->head.e_ident[EI_CLASS] == ELFCLASS64 &&
	    reader->head.e_ident[EI_DATA] == ELFDATA2LSB)
		return true;
	if (reader->fd >= 0)
		close(reader->fd);
	return false;
}

static bool read_segments(struct reader *reader)
{
	size_t count = reader->head.e_phnum;

	if (reader->head.e_phentsize != sizeof(*reader->segments) || count > MAX_SEGMENTS)
		return false;
	reader->segments =
		read_table(reader, reader->head.e_phoff, count, sizeof(*reader->segments));
	return reader->segments;
}

/* Where an address of memory is in the file; UINT64_MAX: nowhere. */
static uint64_t place_of(const struct reader *reader, uint64_t address)
{
	for (size_t i = 0; i < reader->head.e_phnum; i++) {
		const Elf64_Phdr *s = &reader->segments[i];

		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_filesz)
			return s->p_offset + (address - s->p_vaddr);
	}
	return UINT64_MAX;
}

static uint64_t texts_of(const struct reader *reader, const Elf64_Dyn *entries, size_t count)
{
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
		if (entries[i].d_tag == DT_STRTAB)
			return place_of(reader, entries[i].d_un.d_ptr);
	return UINT64_MAX;
}

static void take_dynamic(struct reader *reader, const Elf64_Dyn *entries, size_t count,
			 struct elf_file *ret)
{
	uint64_t texts = texts_of(reader, entries, count);

	if (texts == UINT64_MAX)
		return;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		const Elf64_Dyn *entry = &entries[i];
		const char *text;

		if (entry->d_tag != DT_NEEDED && entry->d_tag != DT_RPATH &&
		    entry->d_tag != DT_RUNPATH)
			continue;
		if (entry->d_tag == DT_NEEDED && ret->count == MAX_NEEDED)
			continue;
		if ((entry->d_tag == DT_RPATH && ret->rpath) ||
		    (entry->d_tag == DT_RUNPATH && ret->runpath))
			continue;
		text = read_text(reader, texts + entry->d_un.d_val,
				 entry->d_tag == DT_NEEDED ? MAX_NAME : MAX_FOLDERS);
		if (entry->d_tag == DT_RPATH)
			ret->rpath = text;
		else if (entry->d_tag == DT_RUNPATH)
			ret->runpath = text;
		else if (text)
			ret->needed[ret->count++] = text;
	}
}

bool elf_read(struct facts *facts, const char *path, struct elf_file *ret)
{
	struct reader reader;
	bool ok = begin(&reader, facts, path), dynamic = false;

	if (!ok)
		return false;
	*ret = (struct elf_file){.path = path};
	ok = read_segments(&reader);
	/* A file has one such segment. */
	for (size_t i = 0; ok && !dynamic && i < reader.head.e_phnum; i++) {
		const Elf64_Phdr *s = &reader.segments[i];
		size_t count = s->p_filesz / sizeof(Elf64_Dyn);
		Elf64_Dyn *entries;

		dynamic = s->p_type == PT_DYNAMIC;
		if (!dynamic || count > MAX_DYNAMIC)
			continue;
		entries = read_table(&reader, s->p_offset, count, sizeof(*entries));
		ok = entries;
		if (ok)
			take_dynamic(&reader, entries, count, ret);
		free(entries);
	}
	free(reader.segments);
	close(reader.fd);
	return ok;
}

/* --- code for GPUs ---------------------------------------------------------------------------- */

/*
 * nvcc puts the code of a source file for all its GPUs into one container, and the linker joins the
 * containers. NVIDIA does not document the format; these fields have been the same since CUDA 5,
 * and what does not begin as a container is passed over.
 */
enum {
	CONTAINER_MAGIC = (int)0xba55ed50,
	CONTAINER_HEAD = 16, /* magic, version and size of the head, size of the rest */
	PART_HEAD = 48,      /* up to the flags */
	PART_PTX = 1,
	PART_MACHINE = 2,
	FLAG_EXACT = 1 << 20, /* "sm_90a" */
	FLAG_FAMILY = 1 << 21 /* "sm_100f" */
};

static uint64_t field(const unsigned char *bytes, size_t at, size_t size)
{
	uint64_t value = 0;

	for (size_t i = size; i-- > 0;)
		value = value << 8 | bytes[at + i];
	return value;
}

static enum code_scope scope_of(uint64_t flags)
{
	if (flags & FLAG_EXACT)
		return CODE_EXACT;
	return flags & FLAG_FAMILY ? CODE_FAMILY : CODE_PLAIN;
}

/* The parts of a container between two places. */
static void take_parts(struct reader *reader, uint64_t at, uint64_t end, struct gpu_code *ret)
{
	unsigned char head[PART_HEAD];

	while (reader->steps++ < MAX_STEPS && end - at >= PART_HEAD &&
	       read_at(reader, at, head, sizeof(head))) {
		uint64_t kind = field(head, 0, 2), architecture = field(head, 28, 4);
		uint64_t size = field(head, 4, 4) + field(head, 8, 8);
		unsigned int *scopes = kind == PART_MACHINE ? ret->machine
				       : kind == PART_PTX   ? ret->ptx
							    : NULL;

		if (scopes && architecture < MAX_ARCHITECTURE) {
			scopes[architecture] |= scope_of(field(head, 40, 8));
			ret->any = true;
		}
		if (size < PART_HEAD || size > end - at)
			return;
		at += size;
	}
}

static void take_containers(struct reader *reader, uint64_t at, uint64_t end, struct gpu_code *ret)
{
	unsigned char head[CONTAINER_HEAD];

	while (reader->steps++ < MAX_STEPS && at <= end && end - at >= CONTAINER_HEAD) {
		uint64_t begins, size;

		if (!read_at(reader, at, head, sizeof(head)))
			return;
		if (field(head, 0, 4) != (uint32_t)CONTAINER_MAGIC) {
			at += 8;
			continue;
		}
		begins = field(head, 6, 2);
		size = field(head, 8, 8);
		if (begins < CONTAINER_HEAD || size > end - at || begins > end - at - size)
			return;
		take_parts(reader, at + begins, at + begins + size, ret);
		at = (at + begins + size + 7) & ~(uint64_t)7;
	}
}

bool elf_gpu_code(struct facts *facts, const char *path, struct gpu_code *ret)
{
	struct reader reader;
	Elf64_Shdr section, names;
	char name[16];
	bool ok = begin(&reader, facts, path);
	const Elf64_Ehdr *head = &reader.head;

	if (!ok)
		return false;
	ok = head->e_shentsize == sizeof(section) &&
	     read_at(&reader, head->e_shoff + (uint64_t)head->e_shstrndx * sizeof(names), &names,
		     sizeof(names));
	for (size_t i = 0; ok && i < head->e_shnum; i++) {
		ok = read_at(&reader, head->e_shoff + i * sizeof(section), &section,
			     sizeof(section));
		if (ok && section.sh_type == SHT_PROGBITS &&
		    section.sh_size <= INT64_MAX - section.sh_offset &&
		    read_at(&reader, names.sh_offset + section.sh_name, name, sizeof(name)) &&
		    memcmp(name, ".nv_fatbin", sizeof(".nv_fatbin")) == 0)
			take_containers(&reader, section.sh_offset,
					section.sh_offset + section.sh_size, ret);
	}
	close(reader.fd);
	return ok;
}
