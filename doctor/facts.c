/* SPDX-License-Identifier: MIT */
/* See facts.h. */
#include "facts.h"

#include <errno.h>

struct fact fact_text(const char *text)
{
	return (struct fact){.sight = SEEN, .text = text};
}

struct fact fact_number(int64_t number)
{
	return (struct fact){.sight = SEEN, .number = number};
}

struct fact fact_absent(void)
{
	return (struct fact){.sight = ABSENT};
}

struct fact fact_unseen(const char *why)
{
	return (struct fact){.sight = UNSEEN, .why = why};
}

struct fact fact_cuda(struct facts *facts, int64_t major, int64_t minor)
{
	struct fact fact = fact_number(major * 1000 + (minor > 0 ? minor * 10 : 0));

	fact.text = minor < 0 ? arena_printf(&facts->arena, "%lld", (long long)major)
			      : arena_printf(&facts->arena, "%lld.%lld", (long long)major,
					     (long long)minor);
	return fact;
}

struct fact fact_error(struct facts *facts, int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return fact_absent();
	if (error == EFBIG)
		return fact_unseen("the file is too large");
	if (error == ENOTSUP)
		return fact_unseen("it is not a regular file");
	return fact_unseen(arena_strdup(&facts->arena, strerror(error)));
}

struct fact fact_bytes(struct facts *facts, size_t max, size_t *size, const char *path)
{
	char *text = NULL, *copy;
	int error = root_read(facts->root, path, max, &text, size);

	if (error)
		return fact_error(facts, error);
	copy = arena_alloc(&facts->arena, *size + 1, 1);
	memcpy(copy, text, *size);
	free(text);
	return fact_text(copy);
}

struct fact fact_file(struct facts *facts, size_t max, const char *format, ...)
{
	struct fact fact;
	struct span text;
	va_list args;
	char *path;
	size_t size;

	va_start(args, format);
	path = arena_vprintf(&facts->arena, format, args);
	va_end(args);
	fact = fact_bytes(facts, max, &size, path);
	if (fact.sight != SEEN)
		return fact;
	text = span_trim(span_of(fact.text));
	fact.text = arena_strndup(&facts->arena, text.text, text.length);
	return fact;
}

bool facts_has_file(const struct facts *facts, const char *path)
{
	struct stat about;

	return root_stat(facts->root, path, &about) == 0 && S_ISREG(about.st_mode);
}

const char *facts_real(struct facts *facts, const char *path)
{
	char real[4096];

	return root_real(facts->root, path, real, sizeof(real)) == 0
		       ? arena_strdup(&facts->arena, real)
		       : NULL;
}

const char *facts_variable(const struct facts *facts, const char *name)
{
	return facts->environ ? environ_nonempty(facts->environ, name) : NULL;
}

const char *package_name(enum package_kind kind)
{
	static const char *const names[PACKAGE_KINDS] = {"PyTorch", "JAX", "TensorFlow", "CuPy"};

	return names[kind];
}

bool has_packages(const struct python *python)
{
	for (enum package_kind i = 0; i < PACKAGE_KINDS; i++)
		if (python->packages[i].site)
			return true;
	return false;
}

const char *python_source_name(enum python_source source)
{
	static const char *const names[PYTHON_SOURCES] = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX"};

	return names[source];
}

const struct library *first_library(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->library_count; i++)
		if (streq(facts->libraries[i].name, name))
			return &facts->libraries[i];
	return NULL;
}

void facts_free(struct facts *facts)
{
	gpumap_inventory_free(facts->inventory);
	gpumap_report_free(facts->inventory_report);
	gpumap_report_free(facts->environment_report);
	arena_free(&facts->arena);
}
