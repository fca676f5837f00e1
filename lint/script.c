/* SPDX-License-Identifier: MIT */
/* Checks a shell script, and the programs that it starts. */
#include "lint/files.h"

#include <string.h>
#include <unistd.h>

#include "lint/environment.h"
#include "lint/shell.h"
#include "lint/python_file.h"
#include "report/report.h"

enum { MAX_DIFFERENT = 256, MAX_STARTS = 1024, MAX_DEPTH = 4 };

/* Starts of a file that differ. */
struct different {
	const struct lint_start *starts[MAX_DIFFERENT];
	size_t count;
};

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
	const struct python_start *x = &a->job, *y = &b->job;

	return streq(a->path, b->path) && a->launcher == b->launcher && a->may == b->may &&
	       a->list_kept == b->list_kept && x->passes == y->passes &&
	       x->together == y->together && x->ranked == y->ranked && x->ranks == y->ranks &&
	       x->hosts == y->hosts && x->visible == y->visible && x->port == y->port &&
	       x->port_by_default == y->port_by_default && x->meeting == y->meeting &&
	       x->list_varies == y->list_varies && text_same(x->list, y->list) &&
	       text_same(x->order, y->order) && same_words(x->arguments, y->arguments);
}

static bool add_different(struct different *d, const struct lint_start *s)
{
	for (size_t i = 0; i < d->count; i++)
		if (same_start(d->starts[i], s) ||
		    (d->count == MAX_DIFFERENT && streq(d->starts[i]->path, s->path)))
			return true;
	if (d->count == MAX_DIFFERENT)
		return false;
	d->starts[d->count++] = s;
	return true;
}

static void lint_start(const struct lint *lint, struct arena *arena, const struct lint_start *s,
		       const char *script)
{
	struct python_start start = s->job;

	start.launcher = lint_launchers[s->launcher].option;
	start.inventory = lint->inventory;
	start.alone = start.ranks == 1;
	start.from = arena_printf(arena, "%s:%d", script, s->line);
	start.list_from = start.list ? arena_printf(arena, "%s:%d", script, s->list_line) : NULL;
	lint_started_file(lint, &start, script, s->path);
}

/* --- in a plan ------------------------------------------------------------------------- */

/* A launcher in a script of which a plan starts several. */
static void report_nested(const struct lint *lint, const struct lint_start *s, const char *script,
			  gpumap_report *report)
{
	const struct python_start *planned = lint->planned;

	report_add(report, FINDING_AGAINST_PLAN,
		   ABOUT(.rule = "R3", .origin = script, .line = s->line,
			 .fix = "let gpumap run start the program in its place, or start the "
				"script once: --ranks 1"),
		   "%s starts ranks itself, and the plan starts the script %lld times",
		   lint_launcher_name(s->launcher), (long long)(planned->ranks * planned->hosts));
}

static void report_list(const struct lint *lint, const struct lint_start *s, const char *script,
			gpumap_report *report)
{
	const struct python_judge judge = {.start = lint->planned, .report = report};
	struct python_list list = {.script = lint->planned->list};
	char planned[512], seen[512];

	judge_devices(&judge, &list, planned);
	list.script = s->job.list;
	judge_devices(&judge, &list, seen);
	if (streq(planned, seen))
		return;
	report_add(report, FINDING_AGAINST_PLAN,
		   ABOUT(.rule = "S2", .origin = script, .line = s->list_line,
			 .fix = "remove it; --gpus, or CUDA_VISIBLE_DEVICES before the command, "
				"chooses the GPUs"),
		   "CUDA_VISIBLE_DEVICES=%s replaces the list of the plan: the ranks would see "
		   "%s%s, not %s",
		   QUOTE(span_of(s->job.list)), judge_devices_word(seen), seen,
		   *planned ? planned : "none");
}

/* What the script does against the plan. False: its program is not started as the plan says. */
static bool fits_plan(const struct lint *lint, const struct lint_start *s, const char *script,
		      gpumap_report *report)
{
	const struct python_start *planned = lint->planned;

	if (s->launcher == LINT_GPUMAP || s->may)
		return false;
	if (s->launcher != LINT_DIRECT) {
		if (planned->ranks > 0 && planned->ranks * planned->hosts > 1)
			report_nested(lint, s, script, report);
		return false;
	}
	if (s->job.list && *s->job.list && !streq(s->job.list, "-1") && planned->list &&
	    planned->ranks * planned->hosts > 1)
		report_list(lint, s, script, report);
	return true;
}

/* A program that a script starts, which a plan starts. */
static void lint_inner(const struct lint *lint, struct arena *arena, const struct lint_start *s,
		       struct seen_file *script)
{
	struct python_start start = *lint->planned;
	OWNED(report) *report = new_report();
	bool fits = fits_plan(lint, s, script->path, report);

	seen_relay(lint, script, report, false);
	if (!s->list_kept) {
		start.list = s->job.list;
		start.list_from = s->job.list
					  ? arena_printf(arena, "%s:%d", script->path, s->list_line)
					  : NULL;
		start.visible = -1;
	}
	start.arguments = s->job.arguments;
	if (fits && s->python)
		lint_started_file(lint, &start, script->path, s->path);
}

void lint_programs(const struct lint *lint, struct lint_started *started, struct seen_file *from)
{
	struct different different = {.count = 0};
	struct lint inner = *lint;
	bool all = true;

	/* A program may start itself again, many times. */
	if (++inner.depth > MAX_DEPTH)
		return;
	for (size_t i = 0; i < started->count; i++)
		if (started->starts[i].python || lint->planned)
			all = add_different(&different, &started->starts[i]) && all;
	for (size_t i = 0; i < different.count && all; i++) {
		all = lint->seen->starts++ < MAX_STARTS && !seen_full(lint->seen);
		if (lint->planned)
			lint_inner(&inner, &started->arena, different.starts[i], from);
		else
			lint_start(&inner, &started->arena, different.starts[i], from->path);
	}
	if (!all && !lint->seen->crowded++)
		report_add(
			lint->found, FINDING_LIMIT, ABOUT(.origin = from->path),
			"it starts more than %d programs, or these more than %d, or they have more "
			"than %d MiB: the others are not read",
			MAX_DIFFERENT, MAX_STARTS, SEEN_MEBIBYTES);
}

/* Whether an earlier start names the same file. */
static bool is_repeated(const struct lint_started *started, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (streq(started->starts[k].path, started->starts[i].path))
			return true;
	return false;
}

/* Names the programs that are not here, and so not read. */
static void report_missing(const struct lint_started *started, const char *script,
			   gpumap_report *report)
{
	for (size_t i = 0; i < started->count && i < MAX_DIFFERENT; i++) {
		const struct lint_start *s = &started->starts[i];

		if (s->python && !s->moved && !s->may && !is_repeated(started, i) &&
		    lint_lacks(script, s->path))
			report_add(report, FINDING_PROGRAM_UNREAD,
				   ABOUT(.origin = script, .line = s->line, .column = s->column,
					 .fix = *s->path == '/'
							? "lint the script where the program is"
							: "run gpumap lint in the folder in which "
							  "the script is started"),
				   "%s was not found, so it was not read", QUOTE(span_of(s->path)));
	}
}

/* A script without a machine may be meant for another host than this. */
static void compare_here(const struct lint *lint, const struct lint_started *started,
			 const char *script, gpumap_report *report)
{
	int64_t visible = -1;

	for (size_t i = 0; i < started->count; i++) {
		const struct lint_start *s = &started->starts[i];

		if (!s->here || s->job.ranks < 2 || lint_needs_no_gpu(script, s->path))
			continue;
		if (visible < 0)
			visible = lint->visible_here();
		if (visible < 1)
			return;
		if (s->job.ranks > visible)
			report_add(report, FINDING_RANKS_HERE,
				   ABOUT(.origin = script, .line = s->line, .column = s->column,
					 .rule = "D7",
					 .fix = "start as many ranks as there are GPUs, or name "
						"the machine: --inventory 8"),
				   "%s starts %lld ranks, and on this host %lld GPU%s visible",
				   lint_launcher_name(s->launcher), (long long)s->job.ranks,
				   (long long)visible, visible == 1 ? " is" : "s are");
	}
}

void lint_script(const struct lint *lint, struct span text, struct seen_file *file)
{
	CLEANUP(lint_started_free) struct lint_started started = {0};
	OWNED(report) *report = new_report();
	int64_t visible = -1;
	int r;

	/* The number of visible devices is known only for the script's own machine. */
	if (lint->inventory)
		visible = lint_environment((const char *const *)environ, lint->inventory, NULL);
	r = lint_shell(text, file->path, visible, &started, report);
	/* Of a script that is read from a pipe, its folder is not known. */
	if (r == GPUMAP_OK && file->known && !lint->planned)
		report_missing(&started, file->path, report);
	if (r == GPUMAP_OK && !lint->inventory && !lint->planned && lint->visible_here)
		compare_here(lint, &started, file->path, report);
	seen_relay(lint, file, report, false);
	if (r == GPUMAP_OK)
		lint_programs(lint, &started, file);
}
