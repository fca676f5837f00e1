/* SPDX-License-Identifier: MIT */
/*
 * The environment of a Python interpreter, as its files show it: nothing is imported or run. The
 * folders of packages are those of site(7) of Python, in its order.
 */
#include <stdio.h>

#include "elf_file.h"
#include "program.h"

enum { SMALL = 1 << 16, MAX_SITES = 32, WITH_PACKAGES = 1 << 16 };

struct python {
	struct facts *facts;
	const char *prefix, *version; /* "/usr", "3.11" */
	const char *sites[MAX_SITES];
	size_t count;
};

static bool exists(struct facts *facts, const char *path)
{
	struct stat about;

	return path && root_stat(facts->root, path, &about) == 0;
}

/* The folder that has a path; "" for one in the root. */
static const char *parent(struct facts *facts, const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_strndup(&facts->arena, path, slash ? (size_t)(slash - path) : 0);
}

static const char *real_path(struct facts *facts, const char *path)
{
	char real[4096];

	return root_real(facts->root, path, real, sizeof(real)) == 0
		       ? arena_strdup(&facts->arena, real)
		       : path;
}

/* The version in a name, "python3.11": "3.11"; NULL: there is none. */
static const char *version_in(const char *name)
{
	const char *text = name && starts_with(name, "python3.") ? name + 6 : NULL;

	return text && is_digit(text[2]) ? text : NULL;
}

/* Of an interpreter whose name has no version: prefix/lib/python3.11. Folders of versions that were
 * removed may stay, so the highest with packages comes first. */
static const char *version_below(struct facts *facts, const char *prefix)
{
	const char *path = arena_printf(&facts->arena, "%s/lib", prefix), *found = NULL;
	DIR *folder = path ? fact_folder(facts, path) : NULL;
	struct dirent *entry;
	long highest = -1;

	while (folder && (entry = readdir(folder))) {
		const char *version = version_in(entry->d_name);
		long minor = version ? strtol(version + 2, NULL, 10) % WITH_PACKAGES : -1;

		if (version && exists(facts, arena_printf(&facts->arena, "%s/%s/site-packages",
							  path, entry->d_name)))
			minor += WITH_PACKAGES;
		if (minor <= highest)
			continue;
		highest = minor;
		found = arena_strdup(&facts->arena, version);
	}
	if (folder)
		closedir(folder);
	return found;
}

static void add_site(struct python *python, const char *path)
{
	if (path && python->count < MAX_SITES && exists(python->facts, path))
		python->sites[python->count++] = path;
}

static void add_sites_of(struct python *python, const char *prefix)
{
	struct arena *arena = &python->facts->arena;

	add_site(python,
		 arena_printf(arena, "%s/lib/python%s/site-packages", prefix, python->version));
	add_site(python,
		 arena_printf(arena, "%s/lib64/python%s/site-packages", prefix, python->version));
	/* Debian */
	if (streq(prefix, "/usr"))
		add_site(python, arena_printf(arena, "/usr/local/lib/python%s/dist-packages",
					      python->version));
	add_site(python, arena_printf(arena, "%s/lib/python3/dist-packages", prefix));
}

static void add_python_path(struct python *python)
{
	const char *path = facts_variable(python->facts, "PYTHONPATH");
	struct span rest, folder;

	if (!path)
		return;
	rest = span_of(path);
	while (span_split(&rest, ':', &folder))
		if (folder.length && *folder.text == '/')
			add_site(python,
				 arena_strndup(&python->facts->arena, folder.text, folder.length));
}

/* The value of a key of pyvenv.cfg, "home = /usr/bin". */
static struct span setting(const char *text, const char *key)
{
	struct span rest = span_of(text), line, name;

	while (span_split(&rest, '\n', &line)) {
		span_split(&line, '=', &name);
		if (line.text && span_is(span_trim(name), key))
			return span_trim(line);
	}
	return (struct span){NULL, 0};
}

/* Python follows the links of its own name to find its prefix, but not in a virtual environment. */
static void find_prefix(struct python *python, const char *interpreter)
{
	struct facts *facts = python->facts;
	const char *folder = parent(facts, interpreter), *real = real_path(facts, interpreter);
	const char *above = folder ? parent(facts, folder) : NULL, *user, *home;
	struct fact config = {0};

	if (!above || !real)
		return;
	config = fact_file(facts, SMALL, "%s/pyvenv.cfg", above);
	python->prefix = above;
	if (config.sight == ABSENT)
		python->prefix = parent(facts, parent(facts, real) ? parent(facts, real) : "");
	python->version = version_in(strrchr(real, '/') ? strrchr(real, '/') + 1 : real);
	if (!python->version && python->prefix)
		python->version = version_below(facts, python->prefix);
	if (!python->version || !python->prefix)
		return;
	add_python_path(python);
	user = facts_variable(facts, "PYTHONNOUSERSITE") ? NULL : facts_variable(facts, "HOME");
	if (config.sight == ABSENT && user)
		add_site(python, arena_printf(&facts->arena, "%s/.local/lib/python%s/site-packages",
					      user, python->version));
	add_sites_of(python, python->prefix);
	if (config.sight != SEEN ||
	    !span_is(setting(config.text, "include-system-site-packages"), "true"))
		return;
	home = arena_strndup(&facts->arena, setting(config.text, "home").text,
			     setting(config.text, "home").length);
	if (home && *home == '/' && parent(facts, home))
		add_sites_of(python, parent(facts, home));
}

/* --- PyTorch ---------------------------------------------------------------------------------- */

/* The text in quotes after NAME =, as in "cuda: Optional[str] = '12.4'"; empty for None. */
static struct span assigned(const char *text, const char *name)
{
	struct span rest = span_of(text), line, left, value;

	while (span_split(&rest, '\n', &line)) {
		size_t length = strlen(name);

		if (!span_starts(line, name) || line.length <= length ||
		    (line.text[length] != ' ' && line.text[length] != ':' &&
		     line.text[length] != '='))
			continue;
		span_split(&line, '=', &left);
		if (!line.text)
			continue;
		value = span_trim(line);
		if (value.length >= 2 && (*value.text == '\'' || *value.text == '"') &&
		    value.text[value.length - 1] == *value.text)
			return (struct span){value.text + 1, value.length - 2};
		return (struct span){value.text, 0};
	}
	return (struct span){NULL, 0};
}

/* 12040 for "12.4"; 0: it is not a version. */
static int64_t cuda_number(struct span text)
{
	struct span major, minor = {"", 0};
	int64_t high, low;

	span_split(&text, '.', &major);
	if (text.text)
		span_split(&text, '.', &minor);
	high = span_number(major, 1000);
	low = span_number(minor, 99);
	return high < 0 || low < 0 ? 0 : high * 1000 + low * 10;
}

static void read_torch(struct python *python, const char *site, const char *text)
{
	struct facts *facts = python->facts;
	struct program_facts *program = &facts->program;
	struct span version = assigned(text, "__version__"), cuda = assigned(text, "cuda");
	struct gpu_code code = {0};
	const char *library;

	program->torch = version.length ? arena_strndup(&facts->arena, version.text, version.length)
					: "of an unknown version";
	program->rocm = assigned(text, "hip").length > 0;
	program->cuda = fact_unseen("torch/version.py does not state it");
	if (cuda.text && !cuda.length)
		program->cuda = fact_absent();
	else if (cuda_number(cuda))
		program->cuda = fact_number(cuda_number(cuda));
	library = arena_printf(&facts->arena, "%s/torch/lib/libtorch_cuda.so", site);
	if (!library || !exists(facts, library))
		return;
	needed_read(facts, library, site);
	if (elf_gpu_code(facts, library, &code) && code.any)
		program->code = arena_alloc(&facts->arena, 1, sizeof(code));
	if (program->code)
		*program->code = code;
}

void python_read(struct facts *facts, const char *interpreter)
{
	struct python python = {.facts = facts};

	facts->program.interpreter = interpreter;
	find_prefix(&python, interpreter);
	facts->program.prefix = python.prefix;
	if (!python.version) {
		facts->program.kind = fact_unseen("the version of Python is not known");
		return;
	}
	facts->program.kind = fact_text(arena_printf(&facts->arena, "Python %s", python.version));
	for (size_t i = 0; i < python.count; i++) {
		struct fact file = fact_file(facts, SMALL, "%s/torch/version.py", python.sites[i]);

		if (file.sight == SEEN) {
			read_torch(&python, python.sites[i], file.text);
			return;
		}
	}
}
