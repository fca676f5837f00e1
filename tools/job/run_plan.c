/* SPDX-License-Identifier: MIT */
/* See run_plan.h. */
#include "job/run_plan.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/color.h"
#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "launch/held_port.h"
#include "pick/lease_here.h"
#include "plan/job.h"
#include "job/plan_open.h"
#include "job/plan_show.h"
#include "job/rdzv_options.h"
#include "job/run_lease_end.h"
#include "job/run_warn_leased.h"
#include "job/run_record.h"
#include "job/run_verify.h"

enum { MAX_SUMMARIES = 4 };

/* A run, from holding the port to writing the record. */
struct running {
	const struct run *run;
	gpumap_report *report;
	struct run_ranks ranks;
	struct launch_result result;
	struct port port;
	int *held; /* the descriptors of the lease */
	struct record record;
	char *path; /* of the record; NULL: none */
};

static int refuse(gpumap_report *report, enum finding_id id, const char *fix, const char *text)
{
	return report_fail(report, GPUMAP_EINPUT, id, ABOUT(.fix = fix), "%s", text);
}

static int refuse_elsewhere(const gpumap_plan *plan, gpumap_report *report)
{
	const struct plan_host *first = job_host(plan, 0), *second = job_host(plan, 1);
	const char *name = first ? QUOTE(span_of(first->name)) : "the first host";

	return report_fail(
		report, GPUMAP_EINPUT, FINDING_NOT_HERE,
		ABOUT(.fix = FORMAT("start this command on each of them; if this is %.100s under "
				    "another name, add --node-rank 0",
				    name)),
		!second              ? "this machine is not %.100s"
		: !job_host(plan, 2) ? "this machine is neither %.100s nor %.100s"
				     : "this machine is none of the hosts from %.100s on",
		name, second ? QUOTE(span_of(second->name)) : "");
}

int run_check(const struct run *run, gpumap_report *report)
{
	const gpumap_plan *plan = run->plan;

	/* The report has the reason already, unless the plan was read. */
	if (!plan->answered && gpumap_report_worst(report) != GPUMAP_SEVERITY_ERROR)
		return refuse(report, FINDING_NOT_A_PLAN, "write it anew with gpumap plan -o",
			      "the plan cannot be started, and has no reason");
	/* This would be the next error when that one is mended. */
	if (!plan->answered)
		return run->node < 0 && plan->settings.launcher.word == PLAN_LAUNCHER_LOCAL
			       ? refuse_elsewhere(plan, report)
			       : GPUMAP_EINPUT;
	if (!plan->argument_count)
		return refuse(report, FINDING_NO_PROGRAM, "write it after the options",
			      "there is no program to start");
	if (plan->settings.launcher.word != PLAN_LAUNCHER_LOCAL)
		return refuse(report, FINDING_NOT_HERE,
			      "gpumap emit writes its command line; --launcher local starts the "
			      "ranks here",
			      "another launcher is to start the ranks");
	if (run->node < 0)
		return refuse_elsewhere(plan, report);
	if (!job_host(plan, run->node)->layout->count)
		return refuse(report, FINDING_NOT_HERE, "start the other hosts only",
			      "the plan has no rank for this host");
	return GPUMAP_OK;
}

int run_show(const struct run *run, int code, gpumap_report *report)
{
	struct output output = {.format = run->json ? GPUMAP_FORMAT_JSON : GPUMAP_FORMAT_TEXT,
				.report = report,
				.no_answer = no_plan};
	bool answered = true;

	if (code == GPUMAP_OK) {
		if (run_check(run, report) != GPUMAP_OK ||
		    plan_check_programs(run->plan, run->node, report) != GPUMAP_OK)
			run->plan->answered = false;
		code = plan_show(run->plan, &output, false, &answered);
	}
	return finish(&output, code, answered);
}

void run_free(struct run *run)
{
	gpumap_lease_free(run->lease);
	free(run->machine);
	gpumap_plan_free(run->plan);
}

/* "20261121-193000-4711", unless a scheduler gave a name. */
static void name_run(const struct running *r)
{
	struct tm tm = {.tm_year = 0};
	time_t now = time(NULL);
	char stamp[32];

	if (gpumap_plan_str(r->run->plan, GPUMAP_PLAN_RUN) && !r->run->name)
		return;
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	gpumap_plan_set_run(r->run->plan,
			    r->run->name ? r->run->name : FORMAT("%s-%d", stamp, (int)getpid()), 0);
}

/* The first node keeps the port until a rank takes it. */
static int hold_port(struct running *r)
{
	int number = (int)gpumap_plan_int(r->run->plan, GPUMAP_PLAN_MASTER_PORT), code;
	const struct speech speech = job_speech(r->run->plan);
	const char *origin = r->run->plan->settings.master_port.origin;

	/* A single program has no peers to meet. */
	if (r->run->node > 0 ||
	    !job_sets_ranks(r->run->plan, gpumap_plan_int(r->run->plan, GPUMAP_PLAN_WORLD_SIZE)))
		return GPUMAP_OK;
	code = port_hold(
		&r->port, number,
		ABOUT(.origin = origin, .fix = rendezvous_free_port(origin), .speech = &speech),
		r->report);
	if (code == GPUMAP_OK)
		gpumap_plan_set_run(r->run->plan, NULL, r->port.number);
	return code;
}

/* For leases inside that of the run: the process that keeps it. */
static void set_keeper(const struct running *r)
{
	if (r->run->lease && setenv("GPUMAP_LEASE", FORMAT("%d", (int)getpid()), 1) < 0)
		memory_ran_out();
}

static int prepare(struct running *r)
{
	int code = run_check(r->run, r->report);

	r->record = (struct record){.run = r->run, .report = r->report};
	if (code == GPUMAP_OK) {
		if (!record_plan(&r->record, r->run->plan))
			report_nomem(r->report);
		run_warn_leased(r->run->plan, r->run->node, r->report);
		name_run(r);
		code = hold_port(r);
	}
	set_keeper(r);
	out_of_memory_returns();
	if (code == GPUMAP_OK)
		code = run_ranks_make(&r->ranks, r->run->plan, r->run->node, r->run->name,
				      r->report);
	r->record.ranks = &r->ranks;
	r->held = lease_descriptors(r->run->lease);
	r->ranks.launch.held = r->held;
	if (code == GPUMAP_OK && !r->held)
		code = report_nomem(r->report);
	if (code == GPUMAP_OK)
		code = record_place(&r->path, &r->record, r->report);
	clock_gettime(CLOCK_REALTIME, &r->record.started);
	/* Written before the start, so that it survives a crash of the machine. */
	if (code == GPUMAP_OK && r->path)
		code = record_write(&r->record, r->path, r->report);
	return code;
}

static bool has_scripts(struct running *r)
{
	for (size_t l = 0; l < r->ranks.launch.count; l++) {
		int error = plan_check_script(&r->ranks.ranks[l], &r->ranks.speech, r->report);

		if (!error)
			continue;
		r->result.status = status_of_error(error);
		return false;
	}
	return true;
}

/* The ranks have ended: completes the record. */
static bool conclude(struct running *r, size_t shown)
{
	char fresh[FRESH_LINE];
	bool kept = true;

	clock_gettime(CLOCK_REALTIME, &r->record.ended);
	if (run_explain_failure(r->run, &r->result, r->report) != GPUMAP_OK)
		report_nomem(r->report);
	if (r->path)
		kept = record_write(&r->record, r->path, r->report) == GPUMAP_OK;
	if (r->result.status)
		fputs(launch_fresh_line(fresh, &r->ranks.launch, STDERR_FILENO), stderr);
	print_report(&(struct output){.report = r->report}, shown);
	launch_summary(&r->ranks.launch, &r->result, MAX_SUMMARIES, stderr);
	return kept;
}

static void start(struct running *r)
{
	struct run_watcher watcher = {.found = -1};
	pid_t end = run_end_begin(r->run->lease, &r->ranks);
	CLEANUP_FREE char *found = NULL;

	if (r->run->verify)
		run_verify_begin(&watcher, &r->ranks, r->report);
	launch_run(&r->ranks.launch, &r->result, r->report);
	run_end_stop(end);
	found = run_verify_end(&watcher, r->report);
	record_verify(&r->record, found);
}

int run_plan(const struct run *run, gpumap_report *report)
{
	struct running r = {.run = run, .report = report, .port.fd = -1};
	int code = prepare(&r), out;
	bool kept = true;
	size_t shown;

	r.result.status = STATUS_OWN_FAILURE;
	r.result.cause = LAUNCH_REFUSED;
	r.record.result = &r.result;
	/* Findings from before the start are printed above the output. */
	shown = print_report(&(struct output){.report = report}, 0);
	if (code == GPUMAP_OK) {
		r.ranks.launch.styled = color_on(STDERR_FILENO);
		out = record_keep_output(run);
		if (has_scripts(&r))
			start(&r);
		record_give_back_output(out);
		kept = conclude(&r, shown);
	}
	shown = gpumap_report_count(report);
	if (run->json)
		kept = record_print(&r.record, report) && kept;
	print_report(&(struct output){.report = report}, shown);
	code = kept || r.result.status ? r.result.status : STATUS_OWN_FAILURE;
	port_release(&r.port);
	if (r.result.cause == LAUNCH_REFUSED)
		rank_logs_discard(&r.ranks.logs, &r.ranks.launch);
	launch_result_free(&r.result);
	run_ranks_free(&r.ranks);
	record_free(&r.record);
	free(r.held);
	free(r.path);
	return code;
}

void run_print_refusal(const struct run *run, gpumap_report *report)
{
	struct running r = {.run = run, .report = report};
	size_t shown = gpumap_report_count(report);

	r.result.status = STATUS_OWN_FAILURE;
	r.result.cause = LAUNCH_REFUSED;
	r.record = (struct record){.run = run, .result = &r.result, .report = report};
	record_print(&r.record, report);
	print_report(&(struct output){.report = report}, shown);
}
