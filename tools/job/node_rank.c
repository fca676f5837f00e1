/* SPDX-License-Identifier: MIT */
/* The number of this node, which torchrun's rendezvous would give it. */
#include "job/rdzv_options.h"

#include <stdlib.h>

#include "report/report.h"

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
