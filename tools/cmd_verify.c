/* SPDX-License-Identifier: MIT */
/* gpumap verify: compares an active run with its plan. */
#include "command.h"

#include <time.h>
#include <unistd.h>

#include "cli/color.h"
#include "explain/json.h"
#include "job/run_record.h"
#include "live/verify.h"
#include "memory.h"
#include "process_stat.h"
#include "report/report.h"
#include "text.h"

enum {
	/* A rank may end while it is looked at: its launcher then shows the end, soon. So it does
	 * when it has started one, which may ask sooner. */
	LOOKS = 100,
	STARTING_LOOKS = 10,
	LOOK_MS = 100
};

struct arguments {
	struct output output;
	const char *pid, *record;
};

const struct option_row verify_rows[] = {
	{"--pid", "PID",
	 "verify the run that process PID belongs to; if it belongs to none, only that process",
	 TEXT_TO(struct arguments, pid)},
	FORMAT_ROWS("text|json", "output format"),
	{NULL, NULL, NULL, 0},
};

static const char help[] =
	"usage: gpumap verify [OPTIONS] [RECORD|RUN]\n"
	"\n"
	"Compares an active run of gpumap with its plan: whether the process of each rank\n"
	"exists, whether it has the visible list that gpumap run gave it, and whether it\n"
	"has memory on its own GPUs and on no others. The children of a rank count as the\n"
	"rank. RECORD is a record file from gpumap run, RUN the run's name in gpumap ps.\n"
	"Default: your only active run.\n"
	"\n"
	"  gpumap verify\n"
	"  gpumap verify logs/run-20261125-193000-4700.json\n"
	"  gpumap verify --pid 4711\n"
	"  gpumap verify --json 20261125-193000-4700\n"
	"\n" OPTIONS_HERE "\n"
	"Exit status: 0 nothing differs; 1 something differs or cannot be seen, or the\n"
	"run is not found; 2 malformed input.\n";

static int read_options(struct arguments *a, int argc, char **argv)
{
	gpumap_report *report = a->output.report;
	struct options options;
	const char *name;

	options_init(&options, "verify", verify_rows, a, NO_KEYS, argc, argv);
	while ((name = options_next_own(&options, &a->output, help))) {
		if (streq(name, "--pid"))
			a->pid = options.value;
		else if (a->record)
			return operand_refuse(options.operand, "name one run", report);
		else
			a->record = options.operand;
	}
	if (options.code != GPUMAP_OK)
		return options.code;
	if (a->pid && a->record)
		return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
				   ABOUT(.origin = "--pid", .fix = "leave one of the two out"),
				   "both a process and a run are named");
	return refuse_picture(&a->output, "what runs now has no picture");
}

/* --- which run ------------------------------------------------------------------------ */

static bool goes_on(const struct live_runs *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (streq(all->runs[i].run, name))
			return true;
	return false;
}

/* Whether it is a path, and not the name of a run. */
static bool is_path(const char *record)
{
	return strchr(record, '/') || text_ends(record, ".json") || access(record, F_OK) == 0;
}

static bool has_ended(const struct record_past *past)
{
	return past->end || past->verified;
}

/* An active run, or one that has ended, by its record. */
static int find_run(struct live_run *ret, struct record_past *past, const struct arguments *a)
{
	gpumap_report *report = a->output.report;
	struct live_runs all = {0};
	int r = GPUMAP_OK;

	live_runs_find(&all);
	if (a->record && is_path(a->record))
		r = record_look(past, a->record, report);
	if (r == GPUMAP_OK && (!has_ended(past) || goes_on(&all, past->run))) {
		r = live_runs_take(ret, &all, past->run ? past->run : a->record, report);
		record_past_free(past);
	}
	live_runs_free(&all);
	return r;
}

/* --- its facts ------------------------------------------------------------------------ */

/* Whether the launcher may still show that a rank has started, or how it ended. */
static bool may_settle(const struct verify *v, int launcher, int look)
{
	struct process_stat stat;

	if (process_stat_read(&stat, launcher) && stat.stopped)
		return false;
	for (size_t i = 0; i < v->count; i++)
		if (v->ranks[i].process == VERIFY_GONE ||
		    (v->ranks[i].process == VERIFY_STARTING && look < STARTING_LOOKS))
			return true;
	return false;
}

/* Reads what the launcher shows once more. GPUMAP_ENODRIVER: the run has ended. */
static int look_again(struct live_run *run, gpumap_report *report)
{
	struct live_run now = {0};
	int r;

	nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
	live_run_of(&now, run->launcher);
	if (!now.text || now.file != run->file) {
		r = live_run_not_found(run->run, report);
		live_run_free(&now);
		return r;
	}
	live_run_free(run);
	*run = now;
	return GPUMAP_OK;
}

static int read_run(struct verify *v, struct live_run *run, const struct arguments *a)
{
	bool json = a->output.format == GPUMAP_FORMAT_JSON;
	gpumap_report *report = a->output.report;
	size_t before = gpumap_report_count(report);
	int r = GPUMAP_OK;

	for (int look = 0; r == GPUMAP_OK; look++) {
		r = verify_run(v, run, json, report);
		if (r != GPUMAP_OK || !may_settle(v, run->launcher, look) || look == LOOKS)
			break;
		verify_free(v);
		report_keep(report, before, NULL, NULL);
		r = look_again(run, report);
	}
	return r;
}

static int read_facts(struct verify *v, struct record_past *past, const struct arguments *a)
{
	bool json = a->output.format == GPUMAP_FORMAT_JSON;
	struct live_run run = {0};
	int64_t pid = a->pid ? span_number(span_of(a->pid), INT32_MAX) : -1;
	int r = a->pid ? GPUMAP_OK : find_run(&run, past, a);

	if (pid > 0)
		live_run_of(&run, (int)pid);
	if (r == GPUMAP_OK && !has_ended(past))
		r = run.text ? read_run(v, &run, a)
			     : verify_alone(v, a->pid, json, a->output.report);
	live_run_free(&run);
	return r;
}

static int print_answer(const struct arguments *a, const struct verify *v)
{
	struct strbuf buf = {.styled = color_on(STDOUT_FILENO)};

	if (a->output.format == GPUMAP_FORMAT_JSON)
		verify_json(&buf, v, a->output.report);
	else
		verify_text(&buf, v);
	return print_buffer(&buf, a->output.report);
}

/* What --verify found. *right: it was as planned. */
static int print_verified(const struct arguments *a, json_t *verified, bool *right)
{
	CLEANUP(strbuf_free) struct strbuf buf = {.styled = color_on(STDOUT_FILENO)}, json = {0};

	if (!verify_past_text(&buf, right, verified))
		return report_fail(a->output.report, GPUMAP_EINPUT, FINDING_NOT_A_PLAN,
				   ABOUT(.origin = a->record, .fix = "name a record of gpumap run"),
				   "what it has of --verify is not what gpumap run writes");
	json_dump_ascii(&json, json_incref(verified));
	return print_text(a->output.format == GPUMAP_FORMAT_JSON ? json.text : buf.text,
			  a->output.report);
}

/* Of a run that has ended. The text has how, which in JSON is in the finding. */
static int print_past(const struct arguments *a, const struct record_past *past, bool *right)
{
	bool json = a->output.format == GPUMAP_FORMAT_JSON;
	const char *see = past->log ? "; see " : "", *log = past->log ? past->log : "";
	struct strbuf buf = {0};
	CLEANUP_FREE char *run = NULL;
	int r;

	if (past->end && !json)
		verify_past_end(&buf, past->end, past->log, past->lines);
	r = print_buffer(&buf, a->output.report);
	if (r == GPUMAP_OK && past->verified)
		return print_verified(a, past->verified, right);
	if (json)
		xasprintf(&run, "run %s%s%s; ", past->end, see, log);
	if (r == GPUMAP_OK)
		r = report_fail(
			a->output.report, GPUMAP_ENODRIVER, FINDING_RUN_NOT_FOUND,
			ABOUT(.fix = "gpumap run --verify compares a run while it is active"),
			"%sit was not compared with its plan", run ? run : "");
	return r;
}

int cmd_verify(int argc, char **argv)
{
	struct record_past past = {0};
	struct arguments a = {.output.format = wanted_format(argc, argv)};
	struct verify verify = {0};
	bool right = false;
	int r;

	a.output.report = report_begin();
	r = read_options(&a, argc, argv);
	if (r == GPUMAP_OK) {
		r = read_facts(&verify, &past, &a);
		if (r == GPUMAP_OK && has_ended(&past)) {
			r = print_past(&a, &past, &right);
		} else if (r == GPUMAP_OK) {
			verify_compare(&verify, a.output.report);
			right = verify_is_right(&verify);
			r = print_answer(&a, &verify);
			verify_free(&verify);
		}
	}
	record_past_free(&past);
	return finish(&a.output, r, right);
}
