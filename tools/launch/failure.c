/* SPDX-License-Identifier: MIT */
/* The ranks that failed first, which are the cause: what on_fail does then, and what is printed of
 * them. */
#include "launch/supervise.h"
#include "report/report.h"
#include "signal_name.h"
#include "style.h"

void failure_note(struct supervisor *s, struct launch_exit *e)
{
	if (e->stopped)
		return;
	if (!s->first_ns)
		s->first_ns = e->end_ns;
	e->first = e->end_ns - s->first_ns <= WINDOW_MS * (int64_t)NS_PER_MS;
	/* The others are stopped at the end of the window, or keep running. */
	if (s->launch->on_fail != LAUNCH_WAIT && s->ending == RUNNING &&
	    !s->deadlines[DEADLINE_WINDOW])
		s->deadlines[DEADLINE_WINDOW] = s->first_ns + WINDOW_MS * NS_PER_MS;
}

bool on_fail_again(struct supervisor *s)
{
	if (s->launch->on_fail != LAUNCH_RESTART || !s->first_ns || s->refused ||
	    s->result->cause != LAUNCH_DONE || s->result->restarts >= s->launch->restarts)
		return false;
	/* A signal that stopped this start prevents another one. */
	if (s->halted != LAUNCH_DONE) {
		s->result->cause = s->halted;
		return false;
	}
	s->result->restarts++;
	console_note(&s->console, "a rank failed: starting all again, %d of %d",
		     s->result->restarts, s->launch->restarts);
	return true;
}

static const struct launch_exit *first_failure(const struct launch_result *result)
{
	const struct launch_exit *first = NULL;

	for (size_t i = 0; i < result->count; i++) {
		const struct launch_exit *e = &result->ranks[i];

		if (e->first && (!first || e->end_ns < first->end_ns))
			first = e;
	}
	return first;
}

static void report_failure(const struct launch_rank *rank, const struct launch_exit *e,
			   gpumap_report *report)
{
	double seconds = (double)(e->end_ns - e->start_ns) / 1e9;
	const char *tag = rank->tag ? rank->tag : "";

	if (e->signal)
		report_add(report, FINDING_RANK_FAILED, NULL,
			   "%srank %d (pid %d) was ended by %s%s after %.3f s", tag, rank->rank,
			   (int)e->pid, SIGNAL_TEXT(e->signal), e->dumped ? ", core dumped," : "",
			   seconds);
	else
		report_add(report, FINDING_RANK_FAILED, NULL,
			   "%srank %d (pid %d) ended with status %d after %.3f s", tag, rank->rank,
			   (int)e->pid, e->status, seconds);
}

const struct launch_exit *failure_report(struct supervisor *s)
{
	enum { MAX_LISTED = 8 };
	const struct launch_result *result = s->result;
	size_t failures = 0;

	for (size_t i = 0; i < result->count; i++)
		if (result->ranks[i].first && ++failures <= MAX_LISTED)
			report_failure(&s->launch->ranks[i], &result->ranks[i], s->report);
	if (failures > MAX_LISTED)
		report_add(s->report, FINDING_RANK_FAILED, NULL, "so did %zu more within %d ms",
			   failures - MAX_LISTED, WINDOW_MS);
	return first_failure(result);
}

/* Whether the console has had what the rank wrote. */
static bool was_shown(const struct launch *launch, const struct launch_rank *rank)
{
	return !rank->out_hidden && !rank->err_hidden && launch->console != LAUNCH_NONE &&
	       (launch->console != LAUNCH_RANK0 || rank->rank == 0);
}

static void head(const struct launch *launch, const struct launch_rank *rank, FILE *file)
{
	fprintf(file, "%sgpumap: %s", style_code(launch->styled, STYLE_HEADING),
		rank->tag ? rank->tag : "");
}

static void print_failed(const struct launch *launch, const struct launch_rank *rank,
			 const char *line, FILE *file)
{
	const char *plain = style_code(launch->styled, STYLE_PLAIN);
	const char *out = rank->out_path, *err = rank->err_path;

	if (line && *line && !was_shown(launch, rank)) {
		head(launch, rank, file);
		fprintf(file, "the last lines of rank %d:%s\n", rank->rank, plain);
		for (; *line; line += strcspn(line, "\n") + 1)
			fprintf(file, "    %.*s\n", (int)strcspn(line, "\n"), line);
	}
	if (!out && !err)
		return;
	head(launch, rank, file);
	fprintf(file, "the output of rank %d is in %s%s%s%s\n", rank->rank, err ? err : out,
		out && err && !streq(out, err) ? " and " : "",
		out && err && !streq(out, err) ? out : "", plain);
}

/* "the other ranks were ended: 0-2,5" */
static void print_ended(const struct launch *launch, const struct launch_result *result, FILE *file)
{
	const char *before = "the other ranks were ended: ";
	const struct launch_exit *ranks = result->ranks;
	size_t end;

	for (size_t i = 0; i < result->count; i = end + 1) {
		end = i;
		if (!ranks[i].stopped || ranks[i].first)
			continue;
		while (end + 1 < result->count && ranks[end + 1].stopped && !ranks[end + 1].first)
			end++;
		if (*before == 't')
			head(launch, &(struct launch_rank){.tag = NULL}, file);
		fprintf(file, "%s%d", before, launch->ranks[i].rank);
		if (end > i)
			fprintf(file, "-%d", launch->ranks[end].rank);
		before = ",";
	}
	if (*before == ',')
		fprintf(file, "%s\n", style_code(launch->styled, STYLE_PLAIN));
}

void launch_summary(const struct launch *launch, const struct launch_result *result, size_t ranks,
		    FILE *file)
{
	bool any = false;

	for (size_t i = 0; i < result->count && ranks > 0; i++) {
		if (!result->ranks[i].first)
			continue;
		any = true;
		ranks--;
		print_failed(launch, &launch->ranks[i], result->ranks[i].last_lines, file);
	}
	if (any)
		print_ended(launch, result, file);
}
