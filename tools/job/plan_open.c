/* SPDX-License-Identifier: MIT */
/* See plan_open.h. */
#include "job/plan_open.h"

#include <string.h>
#include <unistd.h>

#include "job/plan_hosts.h"
#include "job/plan_lease.h"
#include "plan/job.h"
#include "profile/profile.h"
#include "report/report.h"
#include "text/words.h"

/* Options that make a plan have no meaning for one that is read. */
int plan_check_alone(const struct plan_options *options, const char *option, const char *file,
		     gpumap_report *report)
{
	const char *rendezvous = rendezvous_first_option(&options->rendezvous);
	const char *other = options->profile.count     ? options->profile.settings[0].origin
			    : options->profile.config  ? "--config"
			    : options->profile.profile ? "--profile"
			    : options->nnodes          ? "--nnodes"
			    : rendezvous               ? rendezvous
			    : options->module          ? options->module
			    : options->no_python       ? "--no-python"
			    : options->program         ? options->program[0]
						       : NULL;

	if (!other)
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
			   ABOUT(.origin = option, .fix = "leave one of them out"),
			   "%s has all settings, so '%s' cannot be added", QUOTE(span_of(file)),
			   QUOTE(span_of(other)));
}

/* When the ranks start, it does not matter what was free or busy when the plan was made. */
static bool is_true_later(const gpumap_finding *f, const void *data)
{
	const struct plan_options *options = data;

	return (!options->starts ||
		(!finding_is(f, FINDING_LEASE_SHOWN) && !finding_is(f, FINDING_LEASE_NOT_NOW))) &&
	       (!options->looks ||
		(!finding_is(f, FINDING_RUN_BUSY) && !finding_is(f, FINDING_RUN_LEASED)));
}

static int read_file_of_plan(gpumap_plan **ret, const struct plan_options *options,
			     gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	int r = gpumap_plan_read(ret, options->file, report);

	report_keep(report, before, is_true_later, options);
	return r;
}

static int read_plan(gpumap_plan **ret, int64_t *node, const struct plan_options *options,
		     gpumap_report *report)
{
	int r = plan_check_alone(options, "--plan", options->file, report);

	if (r == GPUMAP_OK)
		r = read_file_of_plan(ret, options, report);
	if (r == GPUMAP_OK)
		r = plan_node(node, *ret, options->node_rank, report);
	if (r == GPUMAP_OK && (*ret)->host_count)
		r = plan_check_standalone(options, (*ret)->host_count, *node,
					  job_host(*ret, 0)->name, report);
	if (r == GPUMAP_OK) {
		plan_judge(*ret, report);
		plan_judge_inside(*ret, options->one ? -1 : *node, -1, report);
	}
	if (r == GPUMAP_OK && options->looks)
		plan_check_busy(*ret, *node, NULL, report);
	return r;
}

int plan_profile_open(gpumap_profile **ret, const struct plan_options *options,
		      gpumap_report *report)
{
	gpumap_profile *profile = NULL;
	int r = profile_open(&profile, &options->profile, report);

	if (r == GPUMAP_OK)
		r = plan_set_program(profile, options, report);
	return give_profile(ret, profile, r);
}

/* What the plan alone, the code of its program, and the other jobs of this host show. */
static void judge(gpumap_plan *plan, const struct plan_hosts *hosts,
		  const struct plan_options *options, gpumap_report *report)
{
	const struct known_host *all = hosts->hosts->hosts;

	plan_judge(plan, report);
	if (options->lints)
		plan_lint(plan, hosts->hosts->count ? all[0].inventory : NULL, report);
	if (options->looks && !options->again)
		plan_remark_ranks(plan, report);
	if (options->looks && hosts->node >= 0)
		plan_check_busy(plan, hosts->node, all[hosts->node].inventory, report);
}

int plan_from(gpumap_plan **ret, int64_t *node, gpumap_profile *profile,
	      const struct plan_options *options, gpumap_report *report)
{
	struct plan_hosts hosts = {.node = -1};
	const char *missing = NULL;
	int r = plan_set_program(profile, options, report);

	if (r == GPUMAP_OK && options->standalone && options->nnodes &&
	    !streq(options->nnodes, "1"))
		r = report_fail(report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
				ABOUT(.origin = "--standalone", .fix = "leave one of them out"),
				"this node alone, and --nnodes %s",
				QUOTE(span_of(options->nnodes)));
	if (r == GPUMAP_OK)
		r = plan_read_program(profile, &missing, report);
	if (r == GPUMAP_OK)
		r = plan_hosts_open(&hosts, profile, options->nnodes, options->node_rank,
				    options->scheduled ? PLAN_FOR_JOB
				    : options->looks   ? PLAN_FOR_START
						       : PLAN_FOR_ALL,
				    report);
	if (r == GPUMAP_OK)
		r = plan_check_standalone(options, gpumap_hosts_count(hosts.hosts), hosts.node,
					  gpumap_hosts_name(hosts.hosts, 0), report);
	if (r == GPUMAP_OK)
		r = rendezvous_check_nodes(&options->rendezvous,
					   (int64_t)gpumap_hosts_count(hosts.hosts), report);
	if (hosts.hosts)
		hosts.hosts->scheduled = options->scheduled;
	if (r == GPUMAP_OK)
		r = plan_lease(options, profile, &hosts, report);
	if (r == GPUMAP_OK)
		r = options->starts ? plan_make_quietly(ret, profile, hosts.hosts, report)
				    : gpumap_plan_make(ret, profile, hosts.hosts, report);
	if (r == GPUMAP_OK && !options->starts)
		plan_remark_missing(*ret, missing, report);
	if (r == GPUMAP_OK) {
		gpumap_plan_set_run(*ret, options->rendezvous.id, 0);
		*node = hosts.node;
		judge(*ret, &hosts, options, report);
	}
	if (r == GPUMAP_OK && options->machine) {
		*options->machine = hosts.machine;
		hosts.machine = NULL;
	}
	plan_hosts_free(&hosts);
	return r;
}

int plan_open(gpumap_plan **ret, int64_t *node, const struct plan_options *options,
	      gpumap_report *report)
{
	OWNED(profile) *profile = NULL;
	int r;

	if (options->file)
		return read_plan(ret, node, options, report);
	r = profile_open(&profile, &options->profile, report);
	return r == GPUMAP_OK ? plan_from(ret, node, profile, options, report) : r;
}
