/* SPDX-License-Identifier: MIT */
/* The libraries that a file of ELF loads, in the order and by the rules of ld.so(8). */
#include <stdio.h>

#include "closing.h"
#include "elf_file.h"
#include "find_library.h"
#include "program.h"

enum { MAX_OBJECTS = 512, MAX_SEARCHES = 4096, MAX_LISTED = 256, MAX_PATH = 4096 };

/* The libraries that the report is about, with the wheel that brings each; NULL: none does. */
static const struct known {
	const char *name, *wheel;
} known[] = {
	{"libcuda.so.", NULL}, /* of the driver */
	{"libcudart.so.", "nvidia_cuda_runtime"},
	{"libcublas.so.", "nvidia_cublas"},
	{"libcublasLt.so.", "nvidia_cublas"},
	{"libcupti.so.", "nvidia_cuda_cupti"},
	{"libcusparseLt.so.", "nvidia_cusparselt"},
	{"libcufile.so.", "nvidia_cufile"},
	{"libnvshmem_host.so.", "nvidia_nvshmem"},
	{"libcudnn.so.", "nvidia_cudnn"},
	{"libnccl.so.", "nvidia_nccl"},
	{"libcufft.so.", "nvidia_cufft"},
	{"libcurand.so.", "nvidia_curand"},
	{"libcusolver.so.", "nvidia_cusolver"},
	{"libcusparse.so.", "nvidia_cusparse"},
	{"libnvrtc.so.", "nvidia_cuda_nvrtc"},
	{"libnvJitLink.so.", "nvidia_nvjitlink"},
};

struct object {
	struct elf_file file;
	const struct object *by; /* NULL: the program itself */
};

struct loading {
	struct facts *facts;
	const char *site;
	struct object **objects;
	const char **names;
	size_t count;
	size_t searches; /* for libraries */
};

static const struct known *find_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (starts_with(name, known[i].name))
			return &known[i];
	return NULL;
}

/* A folder of RPATH or RUNPATH, where $ORIGIN is the folder of the file. False: it has another
 * variable, is relative, or is too long. */
static bool expand(char ret[MAX_PATH], struct span folder, const char *path)
{
	static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(path, '/');
	int origin = -1;

	for (size_t i = 0; i < ARRAY_SIZE(names) && slash && origin < 0; i++)
		if (span_skip(&folder, names[i]))
			origin = (int)(slash - path);
	if (origin < 0 &&
	    (!folder.length || *folder.text != '/' || memchr(folder.text, '$', folder.length)))
		return false;
	return snprintf(ret, MAX_PATH, "%.*s%.*s", origin < 0 ? 0 : origin, path,
			(int)folder.length, folder.text) < MAX_PATH;
}

static const char *find_in(struct facts *facts, const char *folders, const char *path,
			   const char *name)
{
	struct span rest, folder;
	char expanded[MAX_PATH];

	if (!folders)
		return NULL;
	rest = span_of(folders);
	while (span_split(&rest, ':', &folder)) {
		const char *found =
			expand(expanded, folder, path) ? loader_in(facts, expanded, name) : NULL;

		if (found)
			return found;
	}
	return NULL;
}

/* The copy that LD_LIBRARY_PATH hides: beside the file, or in the wheels of its packages. */
static const char *own_copy(const struct loading *loading, const struct object *object,
			    const char *name)
{
	static const char *const folders[] = {"cudnn", "nccl", "cublas", "cuda_runtime", "cu13"};
	const char *found = find_in(loading->facts, object->file.runpath, object->file.path, name);

	for (size_t i = 0; !found && loading->site && i < ARRAY_SIZE(folders); i++) {
		const char *folder = arena_printf(&loading->facts->arena, "%s/nvidia/%s/lib",
						  loading->site, folders[i]);

		found = loader_in(loading->facts, folder, name);
	}
	return found;
}

/* Where the loader finds it. *hidden is a copy of the program that LD_LIBRARY_PATH hides. */
static const char *find_needed(struct loading *loading, const struct object *object,
			       const char *name, const char **hidden)
{
	const char *const *folders = loader_folders(loading->facts);
	const char *found = NULL;

	*hidden = NULL;
	/* A name with a slash is a path. A relative one depends on where the program is started. */
	if (strchr(name, '/'))
		return *name == '/' ? loader_in(loading->facts, "", name + 1) : NULL;
	if (!object->file.runpath)
		for (const struct object *o = object; !found && o; o = o->by)
			if (!o->file.runpath)
				found = find_in(loading->facts, o->file.rpath, o->file.path, name);
	if (found)
		return found;
	for (size_t i = 0; !found && folders[i]; i++)
		found = loader_in(loading->facts, folders[i], name);
	if (found) {
		*hidden = own_copy(loading, object, name);
		return found;
	}
	found = find_in(loading->facts, object->file.runpath, object->file.path, name);
	return found ? found : loader_place(loading->facts, name, 0, true);
}

/* "9.1.0.70" of the folder nvidia_cudnn_cu12-9.1.0.70.dist-info; NULL: there is none. */
static const char *wheel_version(const struct loading *loading, const char *path, const char *wheel)
{
	struct facts *facts = loading->facts;
	const char *found = NULL;
	struct dirent *entry;
	CLEANUP_FOLDER DIR *folder = NULL;

	if (!wheel || !loading->site || strncmp(path, loading->site, strlen(loading->site)) != 0)
		return NULL;
	folder = root_folder(facts->root, loading->site);
	while (folder && !found && (entry = readdir(folder))) {
		const char *name = entry->d_name, *dash = strchr(name, '-');
		const char *end = dash ? strstr(dash, ".dist-info") : NULL;
		size_t length = strlen(wheel);

		if (end && starts_with(name, wheel) &&
		    (name[length] == '-' || starts_with(name + length, "_cu")))
			found = arena_strndup(&facts->arena, dash + 1, (size_t)(end - dash - 1));
	}
	return found;
}

/* The version of the wheel that the library is in, or of its file; NULL: not known. */
static const char *version_of(const struct loading *loading, const struct library *library)
{
	const char *wheel = library->path ? find_known(library->name)->wheel : NULL;
	const char *version = wheel ? wheel_version(loading, library->path, wheel) : NULL;

	return version ? version : library->version;
}

/* Whether both copies have one version. That of a wheel may have more numbers, "9.1.0.70" for the
 * file libcudnn.so.9.1.0; fewer than three, as in libcudnn.so.9, state too little. */
static bool is_same_version(const struct needed *needed)
{
	const char *a = needed->version, *b = needed->wheel_version;
	int points = 0;

	if (!a || !b)
		return false;
	for (; *a && *a == *b; a++, b++)
		points += *a == '.';
	return points >= 2 && ((!*a && !*b) || (!*a && *b == '.') || (!*b && *a == '.'));
}

static bool is_listed(const struct program_facts *program, const char *name)
{
	for (size_t i = 0; i < program->needed_count; i++)
		if (streq(program->needed[i].name, name))
			return true;
	return false;
}

static void add_needed(struct loading *loading, const struct object *object, const char *name,
		       const char *path, const char *hidden)
{
	struct facts *facts = loading->facts;
	struct program_facts *program = &facts->program;
	struct library own = {0}, library = {0};
	struct needed *needed;

	needed = ARENA_NEXT(&facts->arena, program->needed, program->needed_count,
			    program->needed_room);
	if (path)
		library = library_at(facts, name, path);
	if (hidden)
		own = library_at(facts, name, hidden);
	*needed = (struct needed){
		.name = name,
		.by = object->file.path,
		.path = path,
		.version = version_of(loading, &library),
		.wheel = hidden,
		.wheel_version = version_of(loading, &own),
	};
	/* A copy of the same file, or of its version, hides nothing. */
	if (hidden && (streq(own.real, library.real) || is_same_version(needed)))
		needed->wheel = NULL;
}

static bool is_loaded(const struct loading *loading, const char *name)
{
	for (size_t i = 0; i < loading->count; i++)
		if (streq(loading->names[i], name))
			return true;
	return false;
}

static struct object *add_object(struct loading *loading, const char *path, const char *name,
				 const struct object *by)
{
	struct object *object = arena_alloc(&loading->facts->arena, 1, sizeof(*object));

	if (loading->count == MAX_OBJECTS || !elf_read(loading->facts, path, &object->file))
		return NULL;
	object->by = by;
	loading->names[loading->count] = name;
	loading->objects[loading->count++] = object;
	return object;
}

/* Reads what one object needs. False: it is too much. */
static bool follow(struct loading *loading, const struct object *object)
{
	struct facts *facts = loading->facts;

	for (size_t k = 0; k < object->file.count; k++) {
		const char *name = object->file.needed[k], *hidden, *found;

		if (is_loaded(loading, name) || is_listed(&facts->program, name))
			continue;
		found = find_needed(loading, object, name, &hidden);
		if (loader_gave_up(facts) || ++loading->searches > MAX_SEARCHES ||
		    facts->program.needed_count == MAX_LISTED)
			return false;
		if (find_known(name))
			add_needed(loading, object, name, found, hidden);
		if (found)
			add_object(loading, found, name, object);
	}
	return true;
}

void needed_read(struct facts *facts, const char *path, const char *site)
{
	struct loading loading = {.facts = facts, .site = site};

	loading.objects = arena_alloc(&facts->arena, MAX_OBJECTS, sizeof(*loading.objects));
	loading.names = arena_alloc(&facts->arena, MAX_OBJECTS, sizeof(*loading.names));
	add_object(&loading, path, path, NULL);
	/* A library is loaded once, for the first that needs it. */
	for (size_t i = 0; i < loading.count; i++)
		if (!follow(&loading, loading.objects[i])) {
			facts->program.kind = fact_unseen("it needs too many libraries, or they "
							  "are looked for in too many folders");
			return;
		}
}
