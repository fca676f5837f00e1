/* SPDX-License-Identifier: MIT */
/*
 * The environment of a Python interpreter, as its files show it: nothing is imported or run. The
 * folders of packages are those of site(7) of Python, in its order.
 */
#include "program.h"

#include "closing.h"

enum { SMALL = 1 << 16, MAX_SITES = 32, WITH_PACKAGES = 1 << 16 };

struct search {
	struct facts *facts;
	const char *version; /* "3.11" */
	const char *sites[MAX_SITES];
	size_t count;
};

static bool exists(struct facts *facts, const char *path)
{
	struct stat about;

	return root_stat(facts->root, path, &about) == 0;
}

/* The folder that has a path; "" for one in the root. */
static const char *parent(struct facts *facts, const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_strndup(&facts->arena, path, slash ? (size_t)(slash - path) : 0);
}

static const char *real_path(struct facts *facts, const char *path)
{
	const char *real = facts_real(facts, path);

	return real ? real : path;
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
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, path);
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
	return found;
}

static void add_site(struct search *search, const char *path)
{
	if (search->count < MAX_SITES && exists(search->facts, path))
		search->sites[search->count++] = path;
}

static void add_sites_of(struct search *search, const char *prefix)
{
	static const char *const libraries[] = {"lib", "lib64"};
	struct arena *arena = &search->facts->arena;
	const char *version = search->version;

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		add_site(search, arena_printf(arena, "%s/%s/python%s/site-packages", prefix,
					      libraries[i], version));
	if (!streq(prefix, "/usr"))
		return;
	/* Fedora and openSUSE */
	if (exists(search->facts, arena_printf(arena, "/usr/lib64/python%s/os.py", version)))
		for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
			add_site(search, arena_printf(arena, "/usr/local/%s/python%s/site-packages",
						      libraries[i], version));
	/* Debian */
	add_site(search, arena_printf(arena, "/usr/local/lib/python%s/dist-packages", version));
	add_site(search, "/usr/lib/python3/dist-packages");
}

static void add_python_path(struct search *search)
{
	const char *path = facts_variable(search->facts, "PYTHONPATH");
	struct span rest, folder;

	if (!path)
		return;
	rest = span_of(path);
	while (span_split(&rest, ':', &folder))
		if (folder.length && *folder.text == '/')
			add_site(search,
				 arena_strndup(&search->facts->arena, folder.text, folder.length));
}

static void add_user_site(struct search *search)
{
	struct facts *facts = search->facts;
	const char *base = facts_variable(facts, "PYTHONUSERBASE");
	const char *home = facts_variable(facts, "HOME");

	if (facts_variable(facts, "PYTHONNOUSERSITE"))
		return;
	if (!base && home)
		base = arena_printf(&facts->arena, "%s/.local", home);
	if (base)
		add_site(search, arena_printf(&facts->arena, "%s/lib/python%s/site-packages", base,
					      search->version));
}

/* The value of a key of pyvenv.cfg, "home = /usr/bin". */
static struct span setting(const char *text, const char *key)
{
	struct span rest = span_of(text), line, name;

	while (span_split(&rest, '\n', &line)) {
		span_split(&line, '=', &name);
		if (line.text && span_among(span_trim(name), key))
			return span_trim(line);
	}
	return NO_SPAN;
}

/* "/usr" for the home /usr/bin of a virtual environment. The interpreter there may be a link. */
static const char *base_prefix(struct search *search, struct span home)
{
	struct facts *facts = search->facts;
	const char *folder = arena_strndup(&facts->arena, home.text, home.length), *path;

	if (*folder != '/')
		return NULL;
	path = arena_printf(&facts->arena, "%s/python%s", folder, search->version);
	if (exists(facts, path))
		folder = parent(facts, real_path(facts, path));
	return parent(facts, folder);
}

/* The folders of packages, in the order of Python's module site. A virtual environment that does
 * not state that it leaves out those of its base has them too. */
static void find_sites(struct search *search, const char *prefix, const struct fact *config)
{
	struct span base_too;
	const char *base;

	add_python_path(search);
	if (config->sight == ABSENT) {
		add_user_site(search);
		add_sites_of(search, prefix);
		return;
	}
	add_sites_of(search, prefix);
	if (config->sight != SEEN)
		return;
	base_too = setting(config->text, "include-system-site-packages");
	if (base_too.text && !span_among(base_too, "true"))
		return;
	add_user_site(search);
	base = base_prefix(search, setting(config->text, "home"));
	if (base)
		add_sites_of(search, base);
}

/* Python follows the links of its own name to find its prefix, but not in a virtual environment. */
struct python python_read(struct facts *facts, const char *interpreter)
{
	struct search search = {.facts = facts};
	struct python python = {.path = interpreter};
	const char *real = real_path(facts, interpreter);
	const char *above = parent(facts, parent(facts, interpreter));
	struct fact config = fact_file(facts, SMALL, "%s/pyvenv.cfg", above);

	python.prefix = above;
	if (config.sight == ABSENT)
		python.prefix = parent(facts, parent(facts, real));
	python.version = version_in(file_name(real));
	/* PyPy has other folders. */
	if (!python.version && !starts_with(file_name(real), "pypy"))
		python.version = version_below(facts, python.prefix);
	if (!python.version) {
		python.why = "the version of Python is not known";
		return python;
	}
	python.real = real_path(facts, python.prefix);
	search.version = python.version;
	find_sites(&search, python.prefix, &config);
	packages_read(facts, &python, search.sites, search.count);
	return python;
}
