/* SPDX-License-Identifier: MIT */
#include "lint.h"

#include <string.h>
#include <unistd.h>

#include "lint/environment.h"
#include "lint/lint.h"
#include "lint/python.h"
#include "report.h"

enum { MOST_DIFFERENT = 256 };

/* As python_launchers names them; the shell itself is none. */
static const char *const launchers[] = {
	[LINT_TORCHRUN] = "torchrun",     [LINT_TORCH_LAUNCH] = "launch",
	[LINT_ACCELERATE] = "accelerate", [LINT_DEEPSPEED] = "deepspeed",
	[LINT_MPIRUN] = "mpirun",         [LINT_SRUN] = "srun",
	[LINT_GPUMAP] = "gpumap"};

/* The file beside the script, else from here; NULL: it is in neither place, or no memory. */
static char *find_program(const char *script, const char *path)
{
	const char *slash = strrchr(script, '/');
	struct strbuf buf = {0};
	char *found;

	if (*path != '/' && slash) {
		strbuf_printf(&buf, "%.*s/%s", (int)(slash - script), script, path);
		found = strbuf_take(&buf);
		if (!found || access(found, R_OK) == 0)
			return found;
		free(found);
	}
	return access(path, R_OK) == 0 ? strdup(path) : NULL;
}

/* The starts that are not the same as an earlier one. */
struct different {
	const struct lint_start *starts[MOST_DIFFERENT];
	size_t count;
};

static bool add_different(struct different *d, const struct lint_start *s)
{
	for (size_t i = 0; i < d->count; i++)
		if (streq(d->starts[i]->path, s->path) && d->starts[i]->launcher == s->launcher &&
		    d->starts[i]->local_rank == s->local_rank)
			return true;
	if (d->count == MOST_DIFFERENT)
		return false;
	d->starts[d->count++] = s;
	return true;
}

static int lint_started_file(struct lint *lint, const struct lint_start *s, const char *path)
{
	struct python_start start = {launchers[s->launcher], s->local_rank, lint->inventory};
	gpumap_report *report;
	char *text = NULL;
	size_t size = 0;
	int r = gpumap_report_new(&report);

	if (r != GPUMAP_OK)
		return report_nomem(lint->found);
	/* The shell starts one process, by hand or as a rank of a launcher around the script. */
	if (s->launcher == LINT_DIRECT && !s->local_rank)
		start.passes = -1;
	r = lint_read(&text, &size, path, report);
	if (r == GPUMAP_OK)
		r = lint_python((struct span){text, size}, path, &start, report);
	free(text);
	lint_relay(lint->found, report);
	gpumap_report_free(report);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}

static int lint_programs(struct lint *lint, const struct lint_started *started, const char *script)
{
	struct different different = {.count = 0};
	bool all = true;
	int r = GPUMAP_OK;

	for (size_t i = 0; i < started->count; i++)
		if (started->starts[i].python)
			all = add_different(&different, &started->starts[i]) && all;
	for (size_t i = 0; i < different.count && r == GPUMAP_OK; i++) {
		char *path = find_program(script, different.starts[i]->path);

		if (path)
			r = lint_started_file(lint, different.starts[i], path);
		free(path);
	}
	if (!all)
		report_add(lint->found, FINDING_LIMIT, ABOUT(.origin = script),
			   "it starts more than %d programs: the others are not read",
			   MOST_DIFFERENT);
	return r;
}

int lint_script(struct lint *lint, struct span text, const char *path)
{
	struct lint_started started = {0};
	int64_t visible = -1;
	int r;

	/* How many devices a script sees is known of the machine that it is for. */
	if (lint->inventory)
		lint_environment((const char *const *)environ, lint->inventory, &visible, NULL);
	r = lint_shell(text, path, visible, &started, lint->found);
	if (r == GPUMAP_OK)
		r = lint_programs(lint, &started, path);
	lint_started_free(&started);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}
