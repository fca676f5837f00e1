/* SPDX-License-Identifier: MIT */
/*
 * PyTorch, JAX, TensorFlow and CuPy, as the files of an environment show them: the names of the
 * folders of metadata, "cupy_cuda12x-13.3.0.dist-info", and what the build wrote about itself.
 */
#include "program.h"

#include "closing.h"

enum { SMALL = 1 << 16 };

/* The file that makes a folder the package, and the names of its distributions. */
static const struct known {
	const char *file, *names;
} known[PACKAGE_KINDS] = {
	[PACKAGE_TORCH] = {"torch/version.py", "torch"},
	[PACKAGE_JAX] = {"jax/__init__.py", "jax"},
	[PACKAGE_TENSORFLOW] = {"tensorflow/__init__.py",
				"tensorflow tensorflow-cpu tensorflow-gpu tensorflow-rocm "
				"tf-nightly tf-nightly-cpu nvidia-tensorflow"},
	[PACKAGE_CUPY] = {"cupy/__init__.py", "cupy"},
};

struct reading {
	struct facts *facts;
	struct package *packages;
	const char *site;
	bool there[PACKAGE_KINDS];   /* its file is there, not only metadata */
	bool several[PACKAGE_KINDS]; /* metadata of several versions */
	struct package plugin;       /* for CUDA, of JAX */
};

/* Of "12.4", "12.4.1" or "12". */
static struct fact cuda_of(struct facts *facts, struct span text)
{
	struct span major, minor;
	int64_t high, low = -1;

	span_split(&text, '.', &major);
	high = span_number(major, 1000);
	if (text.text) {
		span_split(&text, '.', &minor);
		low = span_number(minor, 99);
		high = low < 0 ? -1 : high;
	}
	return high < 0 ? fact_unseen("what the package states is not a version")
			: fact_cuda(facts, high, low);
}

/* Takes the version in "cuda12x", "cuda12_plugin", "cuda117" or "cuda12.cudnn89"; a second one that
 * differs leaves none. */
static void take_cuda(struct reading *reading, struct package *package, struct span name)
{
	size_t digits;
	struct fact fact;

	if (!span_skip(&name, "cuda"))
		return;
	digits = span_digits(name);
	if (digits < 2)
		return;
	fact = fact_cuda(reading->facts, span_number((struct span){name.text, 2}, 99),
			 digits == 3 ? name.text[2] - '0' : -1);
	if (package->cuda.sight == SEEN && package->cuda.number != fact.number)
		fact = fact_unseen("builds for several versions are installed");
	if (!package->cuda.why)
		package->cuda = fact;
}

/* What follows `prefix` in a name; NULL: it has none. */
static struct span behind(struct span name, const char *prefix)
{
	return span_skip(&name, prefix) ? name : NO_SPAN;
}

static void take_version(struct reading *reading, enum package_kind kind, struct span version)
{
	struct package *package = &reading->packages[kind];

	if (reading->several[kind] || (package->site && package->site != reading->site))
		return;
	package->site = reading->site;
	if (package->version && !span_is(version, package->version)) {
		reading->several[kind] = true;
		package->version = NULL;
		return;
	}
	package->version = arena_strndup(&reading->facts->arena, version.text, version.length);
}

/* The CUDA of JAX is that of its plugin, or of an old jaxlib: "0.4.13+cuda12.cudnn89". */
static void read_jax_part(struct reading *reading, struct span name, struct span version)
{
	struct span build;

	if (span_is(name, "jaxlib") && span_split(&version, '+', &build))
		name = version;
	else
		name = behind(name, "jax_");
	if (!name.text)
		return;
	take_cuda(reading, &reading->plugin, name);
	reading->plugin.rocm = reading->plugin.rocm || span_starts(name, "rocm");
}

/* A name in a folder of packages. */
static void read_entry(struct reading *reading, const char *entry)
{
	static const char *const ends[] = {".dist-info", ".egg-info"};
	struct span rest = span_of(entry), name, version, build;
	struct package *cupy = &reading->packages[PACKAGE_CUPY];
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(ends) && !found; i++) {
		found = text_ends(entry, ends[i]);
		rest.length -= found ? strlen(ends[i]) : 0;
	}
	if (!found || !span_split(&rest, '-', &name) || !rest.text ||
	    !span_split(&rest, '-', &version) || !version.length)
		return;
	read_jax_part(reading, name, version);
	build = behind(name, "cupy_");
	if (span_starts_any(build, "cuda rocm")) {
		take_version(reading, PACKAGE_CUPY, version);
		if (cupy->site != reading->site)
			return;
		take_cuda(reading, cupy, build);
		cupy->rocm = cupy->rocm || span_starts(build, "rocm");
		return;
	}
	for (int i = 0; i < PACKAGE_KINDS; i++)
		if (span_among(name, known[i].names))
			take_version(reading, (enum package_kind)i, version);
}

static void read_site(struct reading *reading, const char *site)
{
	struct facts *facts = reading->facts;
	CLEANUP_FOLDER DIR *folder = root_folder(facts->root, site);
	struct dirent *entry;

	reading->site = site;
	for (int i = 0; i < PACKAGE_KINDS; i++) {
		const char *path = arena_printf(&facts->arena, "%s/%s", site, known[i].file);
		struct stat about;

		if (reading->there[i] || root_stat(facts->root, path, &about) != 0)
			continue;
		/* Metadata alone in an earlier folder is what an old version left. */
		reading->packages[i] = (struct package){.site = site};
		reading->there[i] = true;
		reading->several[i] = false;
	}
	while (folder && (entry = readdir(folder)))
		read_entry(reading, entry->d_name);
}

/* --- what a build wrote about itself ---------------------------------------------------------- */

/* The text in quotes that a value is; empty for another value. */
static struct span unquoted(struct span value)
{
	value = span_trim(value);
	if (value.length >= 2 && (*value.text == '\'' || *value.text == '"') &&
	    value.text[value.length - 1] == *value.text)
		return (struct span){value.text + 1, value.length - 2};
	return (struct span){value.text, 0};
}

/* The text in quotes after NAME =, as in "cuda: Optional[str] = '12.4'"; empty for None. */
static struct span assigned(const char *text, const char *name)
{
	struct span rest = span_of(text), line, left;
	size_t length = strlen(name);

	while (span_split(&rest, '\n', &line)) {
		if (!span_starts(line, name) || line.length <= length ||
		    (line.text[length] != ' ' && line.text[length] != ':' &&
		     line.text[length] != '='))
			continue;
		span_split(&line, '=', &left);
		if (line.text)
			return unquoted(line);
	}
	return NO_SPAN;
}

static void read_torch(struct facts *facts, struct package *torch)
{
	struct fact file = fact_file(facts, SMALL, "%s/torch/version.py", torch->site);
	struct span version, cuda;

	torch->cuda = fact_unseen("torch/version.py does not state it");
	if (file.sight != SEEN)
		return;
	version = assigned(file.text, "__version__");
	cuda = assigned(file.text, "cuda");
	if (version.length)
		torch->version = arena_strndup(&facts->arena, version.text, version.length);
	torch->rocm = assigned(file.text, "hip").length > 0;
	if (cuda.text)
		torch->cuda = cuda.length ? cuda_of(facts, cuda) : fact_absent();
}

/* The value in "[('cuda_version', '12.5.1'), ('is_cuda_build', True)]"; older versions have ':'. */
static struct span value_of(const char *text, const char *key)
{
	const char *place = strstr(text, key);

	if (!place)
		return NO_SPAN;
	place += strlen(key);
	place += strspn(place, " ,:");
	return (struct span){place, strcspn(place, ",)}\n")};
}

static void read_tensorflow(struct facts *facts, struct package *package)
{
	struct fact file = fact_file(facts, SMALL, "%s/tensorflow/python/platform/build_info.py",
				     package->site);

	package->cuda = fact_unseen("its build_info.py does not state it");
	if (file.sight != SEEN)
		return;
	package->rocm = span_is(value_of(file.text, "'is_rocm_build'"), "True");
	if (span_is(value_of(file.text, "'is_cuda_build'"), "False"))
		package->cuda = fact_absent();
	else if (unquoted(value_of(file.text, "'cuda_version'")).length)
		package->cuda = cuda_of(facts, unquoted(value_of(file.text, "'cuda_version'")));
}

void packages_read(struct facts *facts, struct python *ret, const char *const *sites, size_t count)
{
	struct reading reading = {.facts = facts, .packages = ret->packages};
	struct package *jax = &ret->packages[PACKAGE_JAX], *cupy = &ret->packages[PACKAGE_CUPY];

	for (size_t i = 0; i < count; i++)
		read_site(&reading, sites[i]);
	if (ret->packages[PACKAGE_TORCH].site)
		read_torch(facts, &ret->packages[PACKAGE_TORCH]);
	if (ret->packages[PACKAGE_TENSORFLOW].site)
		read_tensorflow(facts, &ret->packages[PACKAGE_TENSORFLOW]);
	jax->cuda = reading.plugin.cuda;
	jax->rocm = reading.plugin.rocm;
	if (jax->cuda.sight == UNSEEN && !jax->cuda.why)
		jax->cuda = jax->rocm ? fact_absent()
				      : fact_unseen("it has no plugin for CUDA that states it");
	if (cupy->cuda.sight == UNSEEN && !cupy->cuda.why)
		cupy->cuda = cupy->rocm ? fact_absent()
					: fact_unseen("the name of its package does not state it");
}
