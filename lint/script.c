/* SPDX-License-Identifier: MIT */
#include "lint/files.h"

#include <string.h>
#include <unistd.h>

#include "lint/environment.h"
#include "lint/shell.h"
#include "lint/python.h"
#include "report.h"

enum { MAX_DIFFERENT = 256, MAX_STARTS = 1024, MAX_DEPTH = 4 };

/* As named in python_launchers; the shell itself is not one. */
static const char *const launchers[] = {
	[LINT_TORCHRUN] = "torchrun",     [LINT_TORCH_LAUNCH] = "launch",
	[LINT_ACCELERATE] = "accelerate", [LINT_DEEPSPEED] = "deepspeed",
	[LINT_MPIRUN] = "mpirun",         [LINT_SRUN] = "srun",
	[LINT_GPUMAP] = "gpumap"};

/* Starts of a file that differ. */
struct different {
	const struct lint_start *starts[MAX_DIFFERENT];
	size_t count;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && streq(a, b));
}

static bool same_words(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (!streq(*a, *b))
			return false;
	return *a == *b;
}

static bool same_start(const struct lint_start *a, const struct lint_start *b)
{
	return streq(a->path, b->path) && a->launcher == b->launcher &&
	       a->local_rank == b->local_rank && a->together == b->together &&
	       a->nproc == b->nproc && a->hosts == b->hosts && a->visible == b->visible &&
	       a->port == b->port && a->port_by_default == b->port_by_default &&
	       a->meeting == b->meeting && same_text(a->list, b->list) &&
	       same_text(a->order, b->order) && same_words(a->arguments, b->arguments);
}

static bool add_different(struct different *d, const struct lint_start *s)
{
	for (size_t i = 0; i < d->count; i++)
		if (same_start(d->starts[i], s))
			return true;
	if (d->count == MAX_DIFFERENT)
		return false;
	d->starts[d->count++] = s;
	return true;
}

/* A line of the script, as a place; NULL without memory. */
static const char *place_of(struct arena *arena, const char *script, int line)
{
	return arena_printf(arena, "%s:%d", script, line);
}

static int lint_start(const struct lint *lint, struct arena *arena, const struct lint_start *s,
		      const char *script)
{
	struct python_start start = {
		.launcher = launchers[s->launcher],
		.passes = s->local_rank,
		.inventory = lint->inventory,
		.together = s->together,
		.alone = s->nproc == 1,
		.from = place_of(arena, script, s->line),
		.list = s->list,
		.list_from = s->list ? place_of(arena, script, s->list_line) : NULL,
		.order = s->order,
		.visible = s->visible,
		.ranks = s->nproc,
		.hosts = s->hosts,
		.port = s->port,
		.port_by_default = s->port_by_default,
		.meeting = s->meeting,
		.arguments = s->arguments,
	};

	if (arena->failed)
		return report_nomem(lint->found);
	/* The shell starts one process, by hand or as a rank of a launcher around the script. */
	if (s->launcher == LINT_DIRECT && !s->local_rank)
		start.passes = -1;
	return lint_started_file(lint, &start, script, s->path);
}

int lint_programs(const struct lint *lint, struct lint_started *started, const char *script)
{
	struct different different = {.count = 0};
	struct lint inner = *lint;
	bool all = true;
	int r = GPUMAP_OK;

	/* A program may start itself again, many times. */
	if (++inner.depth > MAX_DEPTH)
		return GPUMAP_OK;
	if (inner.depth == 1)
		lint->seen->starts = lint->seen->crowded = 0;
	for (size_t i = 0; i < started->count; i++)
		if (started->starts[i].python)
			all = add_different(&different, &started->starts[i]) && all;
	for (size_t i = 0; i < different.count && r == GPUMAP_OK && all; i++) {
		all = lint->seen->starts++ < MAX_STARTS;
		r = lint_start(&inner, &started->arena, different.starts[i], script);
	}
	if (!all && !lint->seen->crowded++)
		report_add(lint->found, FINDING_LIMIT, ABOUT(.origin = script),
			   "it starts more than %d programs, or these more than %d: the others are "
			   "not read",
			   MAX_DIFFERENT, MAX_STARTS);
	return r;
}

int lint_script(const struct lint *lint, struct span text, struct seen_file *file)
{
	struct lint_started started = {0};
	gpumap_report *report;
	int64_t visible = -1;
	int r = gpumap_report_new(&report), relayed;

	if (r != GPUMAP_OK)
		return report_nomem(lint->found);

	/* The number of visible devices is known only for the script's own machine. */
	if (lint->inventory)
		r = lint_environment((const char *const *)environ, lint->inventory, &visible, NULL);
	if (r != GPUMAP_ENOMEM)
		r = lint_shell(text, file->path, visible, &started, report);
	else
		report_nomem(report);
	relayed = seen_relay(lint, file, report, false);
	gpumap_report_free(report);
	r = relayed == GPUMAP_OK ? r : relayed;
	if (r == GPUMAP_OK)
		r = lint_programs(lint, &started, file->path);
	lint_started_free(&started);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}
