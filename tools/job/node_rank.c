/* SPDX-License-Identifier: MIT */
/* Which node of a plan this machine is: by --node-rank, its name, or the number that torchrun's
 * rendezvous would give it. */
#include "job/rdzv_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/options.h"
#include "job/host_finder.h"
#include "plan/job.h"
#include "report/report.h"

/* Names are compared up to the first dot, because schedulers leave out the domain. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return n && n == strcspn(b, ".") && strncmp(a, b, n) == 0;
}

void own_host_name(char *ret, size_t size)
{
	if (finder_variable("SLURMD_NODENAME"))
		snprintf(ret, size, "%s", finder_variable("SLURMD_NODENAME"));
	else if (gethostname(ret, size - 1) || !*ret)
		snprintf(ret, size, "localhost");
}

static bool is_here(const char *known, const char *here)
{
	return same_host(known, here) || streq(known, "localhost");
}

/* The node of --node-rank; NULL: that with this machine's name, or -1. */
static int find_node(int64_t *ret, const char *node_rank, const char *here, int64_t count,
		     const char *(*name)(const void *data, int64_t node), const void *data,
		     gpumap_report *report)
{
	if (node_rank)
		return option_number("--node-rank", node_rank, "a number", 0, count - 1, ret,
				     report);
	*ret = -1;
	for (int64_t i = 0; *ret < 0 && i < count; i++)
		*ret = is_here(name(data, i), here) ? i : -1;
	return GPUMAP_OK;
}

static const char *name_in_plan(const void *plan, int64_t node)
{
	return job_host(plan, node)->name;
}

int plan_node(int64_t *ret, const gpumap_plan *plan, const char *node_rank, gpumap_report *report)
{
	char here[HOST_NAME_MAX + 1] = "";

	own_host_name(here, sizeof(here));
	return find_node(ret, node_rank, here, (int64_t)plan->host_count, name_in_plan, plan,
			 report);
}

static const char *name_in_hosts(const void *hosts, int64_t node)
{
	return gpumap_hosts_name(hosts, (size_t)node);
}

int finder_node(struct finder *f, const char *node_rank)
{
	const gpumap_hosts *hosts = f->ret->hosts;

	return find_node(&f->ret->node, node_rank, f->here, (int64_t)gpumap_hosts_count(hosts),
			 name_in_hosts, hosts, f->report);
}

/* In a step of Slurm with one task on each node the task knows the node's number. */
static const char *slurm_node(int64_t nodes)
{
	static const char *const counts[] = {"SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"};
	const char *node = getenv("SLURM_NODEID");

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const char *count = getenv(counts[i]);

		if (!count || span_number(span_of(count), INT32_MAX) != nodes)
			return NULL;
	}
	return getenv("SLURM_PROCID") ? node : NULL;
}

int rendezvous_node_rank(const char **ret, const struct rendezvous *r, int64_t nodes,
			 gpumap_report *report)
{
	const char *node;

	if (nodes < 2 || !(r->backend || r->endpoint))
		return GPUMAP_OK;
	node = slurm_node(nodes);
	if (!node)
		return report_fail(
			report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
			ABOUT(.origin = r->backend ? "--rdzv-backend" : "--rdzv-endpoint",
			      .fix = "write --node-rank 0 on the endpoint's host, 1 on "
				     "the next one"),
			"gpumap needs --node-rank N on each of the %lld nodes", (long long)nodes);
	*ret = node;
	return GPUMAP_OK;
}
