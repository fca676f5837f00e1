/* SPDX-License-Identifier: MIT */
/* The names of a plan's hosts, and which of them is this machine. */
#include "job/host_finder.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/options.h"
#include "plan/job.h"
#include "report/report.h"
#include "strbuf.h"

enum { MAX_NODES = 100000 };

/* The remedy if no known host has this machine's name. */
static const char *unknown_stem(const char *here, const char *master)
{
	static const char *const stems[] = {"node", "unknown", "other"};
	size_t i = 0;

	while (starts_with(here, stems[i]) || starts_with(master, stems[i]))
		i++;
	return stems[i];
}

/* Nodes that are only counted have the names that are known. */
static int add_counted(struct finder *f, int64_t count, int64_t node)
{
	const char *master = finder_value(f, "master_addr");
	const char *stem = unknown_stem(f->here, master);
	bool known = !streq(master, "auto");
	CLEANUP(strbuf_free) struct strbuf names = {0};
	int r;

	if (node >= count)
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_OPTION,
				   ABOUT(.origin = "--node-rank", .fix = "the first node is 0"),
				   "there is no node %lld of %lld", (long long)node,
				   (long long)count);
	if (count > 1 && !known && node > 0)
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_MASTER,
				   ABOUT(.origin = "--node-rank",
					 .fix = "give --master-addr HOST, the host of rank 0"),
				   "node %lld cannot know where node 0 is", (long long)node);
	for (int64_t i = 0; i < count; i++) {
		strbuf_puts(&names, i ? "," : "");
		if (i == node && !(node > 0 && known && streq(master, f->here)))
			strbuf_puts(&names, f->here);
		else if (i == 0 && known && !streq(master, f->here))
			strbuf_puts(&names, master);
		else
			strbuf_printf(&names, "%s%lld", stem, (long long)i);
	}
	r = gpumap_hosts_parse_list(f->ret->hosts, names.text, "--nnodes", f->report);
	f->ret->node = node;
	return r;
}

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

int plan_node(int64_t *ret, const gpumap_plan *plan, const char *node_rank, gpumap_report *report)
{
	char here[HOST_NAME_MAX + 1] = "";
	const struct plan_host *host;

	if (node_rank)
		return option_number("--node-rank", node_rank, "a number", 0,
				     (int64_t)plan->host_count - 1, ret, report);
	own_host_name(here, sizeof(here));
	*ret = -1;
	for (int64_t i = 0; *ret < 0 && (host = job_host(plan, i)); i++)
		*ret = is_here(host->name, here) ? i : -1;
	return GPUMAP_OK;
}

static int add_named(struct finder *f, const char *node_rank)
{
	int r = finder_add_hosts(f);
	int64_t count;

	if (r != GPUMAP_OK)
		return r;
	count = (int64_t)gpumap_hosts_count(f->ret->hosts);
	if (node_rank)
		return option_number("--node-rank", node_rank, "a number", 0, count - 1,
				     &f->ret->node, f->report);
	f->ret->node = -1;
	for (int64_t i = 0; f->ret->node < 0 && i < count; i++)
		if (is_here(gpumap_hosts_name(f->ret->hosts, (size_t)i), f->here))
			f->ret->node = i;
	return GPUMAP_OK;
}

int finder_add_names(struct finder *f, const char *nnodes, const char *node_rank)
{
	int64_t count = 1, node = 0;
	int r = GPUMAP_OK;

	if (*finder_value(f, "hosts") && nnodes)
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
				   ABOUT(.origin = "--nnodes", .speech = &f->speech,
					 .fix = "leave one of them out"),
				   SETTING("hosts") " names the nodes, and --nnodes counts them");
	if (*finder_value(f, "hosts"))
		return add_named(f, node_rank);
	if (nnodes)
		r = option_number("--nnodes", nnodes, "a number", 1, MAX_NODES, &count, f->report);
	if (r == GPUMAP_OK && node_rank)
		r = option_number("--node-rank", node_rank, "a number", 0, MAX_NODES, &node,
				  f->report);
	return r == GPUMAP_OK ? add_counted(f, count, node) : r;
}
