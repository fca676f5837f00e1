/* SPDX-License-Identifier: MIT */
/* The libraries of the driver, CUDA, cuDNN and NCCL that a program of this environment would load.
 */
#include <jansson.h>

#include "find_library.h"
#include "gather.h"

enum { SMALL = 1 << 16, MAX_PLACES = 16 };

static const char *const names[] = {
	"libcuda.so.1",    "libnvidia-ml.so.1", "libcudart.so.11.0", "libcudart.so.12",
	"libcudart.so.13", "libcublas.so.11",   "libcublas.so.12",   "libcublas.so.13",
	"libcudnn.so.8",   "libcudnn.so.9",     "libnccl.so.2",
};

static bool is_known(const struct facts *facts, const char *name, const char *real)
{
	for (size_t i = 0; i < facts->library_count; i++)
		if (streq(facts->libraries[i].name, name) && streq(facts->libraries[i].real, real))
			return true;
	return false;
}

static void add_library(struct facts *facts, const char *name, const char *path)
{
	struct library library = library_at(facts, name, path);

	if (is_known(facts, name, library.real))
		return;
	*ARENA_NEXT(&facts->arena, facts->libraries, facts->library_count, facts->library_room) =
		library;
}

/* A folder of LD_LIBRARY_PATH with the toolkit's stub of libcuda. */
static void find_stubs(struct facts *facts)
{
	const char *const *folders = loader_folders(facts);

	facts->stub_folder = facts->environ ? fact_absent() : fact_unseen("the environment");
	for (size_t i = 0; folders[i]; i++) {
		size_t length = strlen(folders[i]);

		while (length > 1 && folders[i][length - 1] == '/')
			length--;
		if (length > 6 && strncmp(folders[i] + length - 6, "/stubs", 6) == 0 &&
		    (loader_in(facts, folders[i], "libcuda.so") ||
		     loader_in(facts, folders[i], "libcuda.so.1"))) {
			facts->stub_folder = fact_text(folders[i]);
			return;
		}
	}
}

/* {"cuda": {"name": "CUDA SDK", "version": "13.0.48"}, ...} */
static const char *json_version(struct facts *facts, const char *text)
{
	json_auto_t *root = json_loads(text, 0, NULL);
	const char *version =
		json_string_value(json_object_get(json_object_get(root, "cuda"), "version"));

	version = arena_strdup(&facts->arena, version);
	return version;
}

/* The version in the name of the folder, "/usr/local/cuda-13.0"; NULL: it has none. */
static const char *folder_version(struct facts *facts, const char *home)
{
	const char *real = facts_real(facts, home), *end = real ? strrchr(real, '/') : NULL;

	return end && starts_with(end, "/cuda-") && is_digit(end[6]) ? end + 6 : NULL;
}

static void read_toolkit(struct facts *facts)
{
	const char *home = facts_variable(facts, "CUDA_HOME");
	struct fact file;
	const char *version;

	if (!home || *home != '/')
		home = "/usr/local/cuda";
	file = fact_file(facts, SMALL, "%s/version.json", home);
	facts->toolkit = file;
	if (file.sight == SEEN) {
		version = json_version(facts, file.text);
	} else {
		file = fact_file(facts, SMALL, "%s/version.txt", home);
		version = file.sight == SEEN && starts_with(file.text, "CUDA Version ")
				  ? file.text + 13
				  : NULL;
	}
	if (!version)
		version = folder_version(facts, home);
	if (!version)
		return;
	facts->toolkit = fact_text(version);
}

void gather_libraries(struct facts *facts)
{
	loader_read(facts);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t k = 0; k < MAX_PLACES; k++) {
			const char *path = loader_place(facts, names[i], k, false);

			if (!path)
				break;
			add_library(facts, names[i], path);
		}
	facts->folders = facts->library_count ? fact_number(1) : loader_default(facts);
	find_stubs(facts);
	read_toolkit(facts);
}
