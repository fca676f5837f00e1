/* SPDX-License-Identifier: MIT */
/* The names of a plan's hosts: this one alone, as many as are counted, or those of `hosts`. */
#include "job/host_finder.h"

#include "cli/options.h"
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

static int add_named(struct finder *f, const char *node_rank)
{
	int r = finder_add_hosts(f);

	return r == GPUMAP_OK ? finder_node(f, node_rank) : r;
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
