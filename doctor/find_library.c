/* SPDX-License-Identifier: MIT */
/* See find_library.h. */
#include "find_library.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
	MAX_CACHE = 1 << 25,
	MAX_ENTRIES = 1 << 15, /* of the cache; a full desktop has 3,000 */
	MAX_FOLDERS = 256,
	MAX_PATH = 4096,
	MAX_TRIES = 64,
	MAX_LOOKS = 1 << 17 /* a program with 500 libraries and 200 folders needs 100,000 */
};

static const char *const default_folders[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/run/opengl-driver/lib", /* NixOS */
};

struct cache_entry {
	const char *name, *path;
};

struct loader {
	const char *folders[MAX_FOLDERS + 1]; /* of LD_LIBRARY_PATH */
	struct cache_entry *cache;
	size_t count;
	size_t looks; /* for files */
};

/* --- the cache -------------------------------------------------------------------------------- */

/* The format of glibc since 2.2, "glibc-ld.so.cache1.1": a head of 48 bytes, then entries of 24.
 * Offsets of texts count from the head. ldconfig of old systems writes another cache before it. */
enum {
	CACHE_HEAD = 48,
	CACHE_ENTRY = 24,
	CACHE_COUNT = 20, /* of entries */
	ENTRY_FLAGS = 0,
	ENTRY_NAME = 4,
	ENTRY_PATH = 8,
	FLAGS_TYPE = 0xff,
	FLAGS_ELF = 3, /* of libc 6 */
	FLAGS_WIDTH = 0xff00
};

static uint32_t number_at(const char *bytes, size_t at)
{
	uint32_t number;

	memcpy(&number, bytes + at, sizeof(number));
	return number;
}

/* The text at an offset; NULL: it does not end inside, or it is longer than a path. */
static const char *text_at(const char *bytes, size_t size, size_t at)
{
	size_t most = at < size ? size - at : 0;

	if (most > MAX_PATH)
		most = MAX_PATH;
	return most && memchr(bytes + at, '\0', most) ? bytes + at : NULL;
}

static void take_cache(struct facts *facts, struct loader *loader, const char *bytes, size_t size)
{
	size_t count = size < CACHE_HEAD ? 0 : number_at(bytes, CACHE_COUNT);

	if (count > (size - CACHE_HEAD) / CACHE_ENTRY)
		return;
	if (count > MAX_ENTRIES)
		count = MAX_ENTRIES;
	loader->cache = arena_alloc(&facts->arena, count + 1, sizeof(*loader->cache));
	for (size_t i = 0; i < count; i++) {
		size_t entry = CACHE_HEAD + i * CACHE_ENTRY;
		uint32_t flags = number_at(bytes, entry + ENTRY_FLAGS);
		const char *name = text_at(bytes, size, number_at(bytes, entry + ENTRY_NAME));
		const char *path = text_at(bytes, size, number_at(bytes, entry + ENTRY_PATH));

		/* Without a width it is a library of 32 bits. */
		if (name && path && *path == '/' && (flags & FLAGS_TYPE) == FLAGS_ELF &&
		    flags & FLAGS_WIDTH)
			loader->cache[loader->count++] = (struct cache_entry){name, path};
	}
}

static void read_cache(struct facts *facts, struct loader *loader)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	size_t size = 0;
	struct fact file = fact_bytes(facts, MAX_CACHE, &size, "/etc/ld.so.cache");
	const char *head;

	if (file.sight != SEEN)
		return;
	head = memmem(file.text, size, magic, sizeof(magic) - 1);
	if (head)
		take_cache(facts, loader, head, size - (size_t)(head - file.text));
}

void loader_read(struct facts *facts)
{
	struct loader *loader = arena_alloc(&facts->arena, 1, sizeof(*loader));
	const char *path = facts_variable(facts, "LD_LIBRARY_PATH");
	size_t count = 0;

	facts->loader = loader;
	while (path && count < MAX_FOLDERS) {
		size_t length = strcspn(path, ":;");

		/* A relative folder depends on where the program is started. */
		if (*path == '/')
			loader->folders[count++] = arena_strndup(&facts->arena, path, length);
		path = path[length] ? path + length + 1 : NULL;
	}
	read_cache(facts, loader);
}

const char *const *loader_folders(const struct facts *facts)
{
	return facts->loader->folders;
}

struct fact loader_default(struct facts *facts)
{
	struct stat about;

	/* A recording may have /lib for the modules of the kernel alone. */
	for (size_t i = 0; i < ARRAY_SIZE(default_folders); i++)
		if (!streq(default_folders[i], "/lib") &&
		    root_stat(facts->root, default_folders[i], &about) == 0)
			return fact_number(1);
	return *facts->root ? fact_unseen("--root has no libraries") : fact_number(0);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Whether the loader would take the file: it skips libraries of 32 bits. */
static bool is_usable(struct facts *facts, const char *path)
{
	unsigned char head[EI_NIDENT] = {0};
	ssize_t n;
	int fd;

	if (facts->loader->looks == MAX_LOOKS)
		return false;
	facts->loader->looks++;
	if (!facts_has_file(facts, path))
		return false;
	fd = root_open(facts->root, path, O_RDONLY);
	if (fd < 0)
		return true; /* it is there, but this user may not read it */
	n = read(fd, head, sizeof(head));
	close(fd);
	return n < EI_NIDENT || memcmp(head, ELFMAG, SELFMAG) != 0 || head[EI_CLASS] == ELFCLASS64;
}

const char *loader_in(struct facts *facts, const char *folder, const char *name)
{
	char path[MAX_PATH];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	return n > 0 && n < MAX_PATH && is_usable(facts, path) ? arena_strdup(&facts->arena, path)
							       : NULL;
}

bool loader_gave_up(const struct facts *facts)
{
	return facts->loader->looks == MAX_LOOKS;
}

const char *loader_place(struct facts *facts, const char *name, size_t i, bool after_path)
{
	const struct loader *loader = facts->loader;
	const char *path;
	size_t tries = 0;

	for (size_t k = 0; !after_path && loader->folders[k]; k++) {
		path = loader_in(facts, loader->folders[k], name);
		if (path && !i--)
			return path;
	}
	/* A cache that is made to be slow has a name a million times. */
	for (size_t k = 0; k < loader->count && tries < MAX_TRIES; k++) {
		if (!streq(loader->cache[k].name, name))
			continue;
		tries++;
		if (is_usable(facts, loader->cache[k].path) && !i--)
			return loader->cache[k].path;
	}
	for (size_t k = 0; k < ARRAY_SIZE(default_folders); k++) {
		path = loader_in(facts, default_folders[k], name);
		if (path && !i--)
			return path;
	}
	return NULL;
}

struct library library_at(struct facts *facts, const char *name, const char *path)
{
	const char *real = facts_real(facts, path), *end;
	struct library library = {.name = name, .path = path, .real = real ? real : path};

	end = strrchr(library.real, '/');
	end = end ? strstr(end, ".so.") : NULL;
	if (end && is_digit(end[4]))
		library.version = end + 4;
	return library;
}
