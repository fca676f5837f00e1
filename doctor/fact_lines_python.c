/* SPDX-License-Identifier: MIT */
/* What was seen of Python, as texts of a report. */
#include "check.h"
#include "fact_lines.h"
#include "strbuf.h"

const char *seen_sources(const struct python *python, struct arena *arena)
{
	struct strbuf buf = {0};

	for (enum python_source i = 0; i < PYTHON_SOURCES; i++)
		if (python->from[i])
			strbuf_printf(&buf, "%s%s", buf.length ? ", " : "", python_source_name(i));
	return strbuf_keep(&buf, arena);
}

const char *seen_python(const struct python *python, struct arena *arena)
{
	if (!python->path)
		return python->why;
	if (python->why)
		return arena_printf(arena, "%s: %s", python->path, python->why);
	return arena_printf(arena, "%s, Python %s, prefix %s", python->path, python->version,
			    python->prefix);
}

const char *seen_package(const struct facts *facts, const struct package *package,
			 struct arena *arena)
{
	const struct fact *cuda = &package->cuda;
	struct strbuf buf = {0};

	strbuf_printf(&buf, "%s, ", version_text(package));
	if (cuda->sight == SEEN)
		strbuf_printf(&buf, "CUDA %s", cuda->text);
	else if (cuda->sight == ABSENT)
		strbuf_puts(&buf, package->rocm ? "for ROCm, not for CUDA" : "for the CPU only");
	else
		strbuf_printf(&buf, "its CUDA is not visible (%s)", cuda->why);
	strbuf_printf(&buf, ", in %s", package->site);
	if (cuda->sight == SEEN && needs_newer_driver(facts, cuda->number))
		strbuf_puts(&buf, "; the driver is too old for it");
	return strbuf_keep(&buf, arena);
}

/* The reason for the first python3 that could not be looked at comes before that of those without
 * PyTorch. */
static const char *without_torch(const struct facts *facts, struct arena *arena)
{
	if (!facts->python_count)
		return "the environment of this process is not visible";
	for (size_t i = 0; i < facts->python_count; i++)
		if (facts->pythons[i].why && facts->pythons[i].path)
			return arena_printf(arena, "%s: %s", facts->pythons[i].path,
					    facts->pythons[i].why);
	if (facts->pythons[0].why)
		return facts->pythons[0].why;
	return arena_printf(arena, "%s has none", facts->pythons[0].path);
}

const char *seen_torch(const struct facts *facts, struct arena *arena, bool *fits)
{
	const struct package *torch = &first_with_torch(facts)->packages[PACKAGE_TORCH];
	const struct fact *driver =
		facts->nvml_driver.sight == SEEN ? &facts->nvml_driver : &facts->module;

	*fits = false;
	if (!torch->site && facts->program.name)
		return NULL;
	if (!torch->site)
		return without_torch(facts, arena);
	if (torch->cuda.sight != SEEN)
		return arena_printf(arena, "the CUDA of version %s is not visible",
				    version_text(torch));
	if (facts->cuda.sight != SEEN)
		return "the CUDA of the driver is not visible";
	*fits = true;
	return arena_printf(arena, "PyTorch %s (CUDA %s) fits %s %s%s", version_text(torch),
			    torch->cuda.text,
			    driver->sight == SEEN ? "driver" : "a driver with CUDA",
			    driver->sight == SEEN ? driver->text : facts->cuda.text,
			    is_made_up(driver) ? ", made up by gpumap pretend" : "");
}

/* Appends "PyTorch 2.5.1, CuPy 13.3.0" or "no PyTorch, ...". */
static void put_packages(struct strbuf *buf, const struct python *python)
{
	const char *separator = "";

	for (enum package_kind i = 0; i < PACKAGE_KINDS; i++)
		if (python->packages[i].site) {
			strbuf_printf(buf, "%s%s %s", separator, package_name(i),
				      version_text(&python->packages[i]));
			separator = ", ";
		}
	if (!*separator)
		strbuf_puts(buf, NO_PACKAGE);
}

/* Appends "python3 of PATH (/usr/bin/python3)". */
static void put_name(struct strbuf *buf, const struct python *python, struct arena *arena)
{
	strbuf_printf(buf, "python3 of %s (%s)", seen_sources(python, arena), python->path);
}

/* What a command without a path would use, and what the other environments have. */
static void put_plain(struct strbuf *buf, const struct facts *facts, struct arena *arena)
{
	const struct python *first = facts->pythons;

	if (!first->path)
		strbuf_puts(buf, "python3 train.py would not start, because PATH has no python3");
	else if (first->why)
		strbuf_puts(buf, "which environment python3 train.py would use is not visible");
	else {
		strbuf_puts(buf, "python3 train.py would use ");
		put_name(buf, first, arena);
		strbuf_puts(buf, ", which has ");
		put_packages(buf, first);
	}
	for (size_t i = 1; i < facts->python_count; i++) {
		if (facts->pythons[i].why)
			continue;
		strbuf_puts(buf, "; ");
		put_name(buf, &facts->pythons[i], arena);
		strbuf_puts(buf, " has ");
		put_packages(buf, &facts->pythons[i]);
	}
}

static void put_none(struct strbuf *buf, const struct facts *facts, struct arena *arena)
{
	const char *before = NO_PACKAGE " in ";

	for (size_t i = 0; i < facts->python_count; i++)
		if (!facts->pythons[i].why) {
			strbuf_puts(buf, before);
			put_name(buf, &facts->pythons[i], arena);
			before = " or ";
		}
	strbuf_puts(buf, "; gpumap doctor -- /path/to/python names another");
}

const char *seen_plain_python(const struct facts *facts, struct arena *arena)
{
	size_t known = 0, having = 0;
	struct strbuf buf = {0};

	if (facts->program.name)
		return NULL;
	for (size_t i = 0; i < facts->python_count; i++) {
		known += !facts->pythons[i].why;
		having += has_packages(&facts->pythons[i]);
	}
	if (having && facts->python_count > 1)
		put_plain(&buf, facts, arena);
	else if (known && !having)
		put_none(&buf, facts, arena);
	else
		return NULL;
	return strbuf_keep(&buf, arena);
}
