/* SPDX-License-Identifier: MIT */
/* Without a program: which interpreters are looked at, python3 of PATH and of the environments. */
#include "program.h"

/* Whether both are one environment. */
static bool is_same(const struct python *a, const struct python *b)
{
	if (a->why || b->why)
		return a->path && b->path && streq(a->path, b->path);
	return streq(a->version, b->version) && streq(a->real, b->real);
}

static void look_at(struct facts *facts, enum python_source from, const char *path)
{
	struct python python = {.path = path};

	if (path)
		python.why = python_unseen(facts, path);
	else
		python.why = *facts->root ? "--root has no python3 in the folders of PATH"
					  : "there is no python3";
	if (!python.why)
		python = python_read(facts, path);
	for (size_t i = 0; i < facts->python_count; i++)
		if (is_same(&facts->pythons[i], &python)) {
			facts->pythons[i].from[from] = true;
			return;
		}
	python.from[from] = true;
	facts->pythons[facts->python_count++] = python;
}

void pythons_read(struct facts *facts)
{
	if (!facts->environ)
		return;
	look_at(facts, FROM_PATH, program_find_path(facts, "python3"));
	for (enum python_source i = FROM_VIRTUAL_ENV; i < PYTHON_SOURCES; i++) {
		const char *prefix = facts_variable(facts, python_source_name(i));

		if (prefix)
			prefix = program_absolute(facts, prefix);
		if (prefix)
			look_at(facts, i, arena_printf(&facts->arena, "%s/bin/python3", prefix));
	}
}
