/* SPDX-License-Identifier: MIT */
/* The options that torchrun has under other names, and what follows from them. Those that
 * gpumap lacks, with what replaces them, are in cli/foreign_option.c. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job/plan_open.h"
#include "report/report.h"

#define FILTER "--local-ranks-filter"

enum { MAX_RESTARTS = 1000000 };

static int restarts(struct plan_options *options, const char *value, gpumap_report *report)
{
	int64_t n = span_number(span_of(value), MAX_RESTARTS);

	if (n < 0)
		return option_refuse("--max-restarts", value, "write a number from 0", report);
	snprintf(options->on_fail, sizeof(options->on_fail), n ? "restart:%lld" : "kill",
		 (long long)n);
	profile_option(&options->profile, "--on-fail", options->on_fail, NULL);
	return GPUMAP_OK;
}

/* On a machine with GPUs a rank for each core is rarely meant. */
static int local_ranks(struct plan_options *options, const char *value, gpumap_report *report)
{
	if (streq(value, "cpu") || streq(value, "xpu"))
		return option_refuse("--nproc-per-node", value,
				     "write a number, with --gpus none for ranks without GPUs",
				     report);
	profile_option(&options->profile, "--ranks", streq(value, "gpu") ? "auto" : value,
		       "--nproc-per-node");
	return GPUMAP_OK;
}

/* Options that change nothing here. */
static bool unused(const char *name, const char *value, gpumap_report *report)
{
	static const struct {
		const char *name, *why;
	} options[] = {
		{"--role", "ROLE_NAME is default in every rank"},
		{"--monitor-interval", "the end of a rank is seen at once"},
		{"--start-method", "every rank is a program of its own"},
		{"--rdzv-conf",
		 "gpumap has no rendezvous of its own; the ranks set their time limits"},
		{"--use-env", "LOCAL_RANK is always set"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!streq(name, options[i].name))
			continue;
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = name, .fix = "leave it out"), "%s%s%snot used: %s",
			   value ? "'" : "", value ? QUOTE(span_of(value)) : "",
			   value ? "' is " : "", options[i].why);
		return true;
	}
	return false;
}

int plan_option(struct plan_options *options, const char *name, const char *value,
		gpumap_report *report)
{
	if (streq(name, "--nproc-per-node"))
		return local_ranks(options, value, report);
	if (streq(name, "--max-restarts"))
		return restarts(options, value, report);
	if (streq(name, "-m") || streq(name, "--module"))
		options->module = name;
	else if (streq(name, "-r"))
		profile_option(&options->profile, "--redirects", value, name);
	else if (streq(name, "-t"))
		profile_option(&options->profile, "--tee", value, name);
	else if (!unused(name, value, report))
		profile_option(&options->profile, name, value, NULL);
	return GPUMAP_OK;
}

/* torchrun's MIN:MAX is a number if both are equal. */
static const char *plain_count(const char *nnodes)
{
	const char *colon = strchr(nnodes, ':');
	size_t length = colon ? (size_t)(colon - nnodes) : 0;

	return colon && span_is((struct span){nnodes, length}, colon + 1) ? colon + 1 : nnodes;
}

/* Only the filter for local rank 0 has an equal, and that only on a single node. */
static void filter_console(struct plan_options *options, int64_t nodes, gpumap_report *report)
{
	const char *filter = options->ranks_filter;
	const char *console = profile_option_value(&options->profile, "--console");

	if (!filter || !span_trim(span_of(filter)).length)
		return;
	if (console)
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = FILTER, .fix = "leave one of them out"),
			   "'%s' is not used: --console %s sets what is shown",
			   QUOTE(span_of(filter)), QUOTE(span_of(console)));
	else if (!span_is(span_trim(span_of(filter)), "0"))
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = FILTER,
				 .fix = "write --console rank0 for rank 0 alone, --log-dir DIR for "
					"a file of each rank"),
			   "'%s' is not used: all ranks are shown", QUOTE(span_of(filter)));
	else
		profile_option(&options->profile, "--console", "rank0", NULL);
	if (!console && nodes > 1 && span_is(span_trim(span_of(filter)), "0"))
		report_add(report, FINDING_IGNORED_KEY,
			   ABOUT(.origin = FILTER, .fix = "write --console prefix to see all"),
			   "it shows rank 0 alone, and no rank of the other hosts");
}

/* `gpumap run gpumap.ini` */
static int check_program(const struct plan_options *options, gpumap_report *report)
{
	const char *name = options->program ? options->program[0] : "";

	if (!text_ends(name, ".ini") || access(name, X_OK) == 0)
		return GPUMAP_OK;
	return report_fail(
		report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
		ABOUT(.fix = FORMAT("write --config %s [--profile NAME]", QUOTE(span_of(name)))),
		"'%s' is a profile", QUOTE(span_of(name)));
}

int plan_options_settle(struct plan_options *options, bool here, gpumap_report *report)
{
	int64_t nodes = 1;
	int r = check_program(options, report);

	if (r != GPUMAP_OK)
		return r;
	if (options->nnodes) {
		options->nnodes = plain_count(options->nnodes);
		if (strchr(options->nnodes, ':'))
			return report_fail(
				report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				ABOUT(.origin = "--nnodes",
				      .fix = "write one number: the number of nodes cannot change"),
				"cannot be a range: '%s'", QUOTE(span_of(options->nnodes)));
		nodes = span_number(span_of(options->nnodes), INT32_MAX);
	}
	filter_console(options, nodes, report);
	r = rendezvous_settle(&options->rendezvous, &options->profile, options->standalone, report);
	if (r == GPUMAP_OK)
		r = rendezvous_check_nodes(&options->rendezvous, nodes, report);
	if (r == GPUMAP_OK && here && !options->node_rank)
		r = rendezvous_node_rank(&options->node_rank, &options->rendezvous, nodes, report);
	return r;
}

int plan_check_standalone(const struct plan_options *options, size_t count, int64_t node,
			  const char *first, gpumap_report *report)
{
	if (!options->standalone || (count < 2 && node >= 0) || !first)
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			   ABOUT(.origin = "--standalone", .fix = "leave it out, or name no hosts"),
			   count > 1 ? "this node alone, and %zu hosts, of which the first is '%s'"
				     : "this node alone, and %zu host, '%s', which is another one",
			   count, QUOTE(span_of(first)));
}
