/* SPDX-License-Identifier: MIT */
/* See sweep_share.h. */
#include "job/sweep_share.h"

#include <stdio.h>

#include "cpuset.h"
#include "job/plan_hosts.h"
#include "plan/job.h"
#include "report/report.h"
#include "strbuf.h"

/* Plans one rank for each GPU, whatever the runs do, to find the GPUs and their cores. */
static int plan_machine(gpumap_plan **ret, const struct plan_options *options, const char *sweep,
			gpumap_report *report)
{
	static const char *const one_each[][2] = {
		{"mode", "ddp"},      {"ranks", "auto"},       {"world_size", "auto"},
		{"share", "list"},    {"ranks_per_gpu", "1"},  {"device", "cuda:%l"},
		{"set_device", "%l"}, {"device_ids", "%l"},    {"in_code", ""},
		{"prefix", ""},       {"script_inline", ""},   {"script_export", ""},
		{"on_fail", "kill"},  {"master_port", "auto"}, {"hosts", ""},
	};
	struct plan_hosts hosts = {.node = -1};
	OWNED(profile) *profile = NULL;
	int r = profile_open(&profile, &options->profile, report);

	if (r == GPUMAP_OK)
		r = gpumap_profile_set_sweep(profile, sweep, 0, report);
	for (size_t i = 0; i < ARRAY_SIZE(one_each) && r == GPUMAP_OK; i++)
		r = gpumap_profile_set(profile, one_each[i][0], one_each[i][1], "--sweep", report);
	if (r == GPUMAP_OK)
		r = plan_hosts_open(&hosts, profile, NULL, NULL, PLAN_FOR_ALL, report);
	if (r == GPUMAP_OK)
		r = gpumap_plan_make(ret, profile, hosts.hosts, report);
	plan_hosts_free(&hosts);
	return r;
}

/* By UUID if there is one, unless people read it. */
static void put_gpu(struct strbuf *buf, const struct local_rank *local, bool people)
{
	const struct plan_device *device = &local->devices[0];

	strbuf_puts(buf, buf->length ? "," : "");
	if (device->uuid && !(people && device->physical >= 0 && device->mig < 0))
		strbuf_puts(buf, device->uuid);
	else
		strbuf_printf(buf, "%d", device->physical);
}

static const char *name_gpus(struct arena *arena, const struct plan_layout *layout, size_t from,
			     size_t to)
{
	CLEANUP(strbuf_free) struct strbuf list = {0}, named = {0};

	for (size_t l = from; l < to; l++)
		put_gpu(&list, &layout->ranks[l], true);
	strbuf_puts(&named, to - from > 1 ? "GPUs " : "GPU ");
	fold_numbers(&named, (struct span){list.text ? list.text : "", list.length});
	return arena_strdup(arena, named.text);
}

static bool add_cpus(struct arena *arena, struct cpu_set *all, const struct local_rank *local)
{
	struct cpu_set own;

	if (!local->cpus || local->cpus_shared || !cpu_set_parse(arena, &own, span_of(local->cpus)))
		return false;
	*all = cpu_set_or(arena, *all, own);
	return true;
}

static void make_share(struct arena *arena, struct share *ret, const struct plan_layout *layout,
		       size_t from, size_t to)
{
	struct cpu_set cpus = cpu_set_new(arena, 1);
	CLEANUP(strbuf_free) struct strbuf gpus = {0};
	bool apart = true;

	for (size_t l = from; l < to; l++) {
		put_gpu(&gpus, &layout->ranks[l], false);
		apart = apart && add_cpus(arena, &cpus, &layout->ranks[l]);
	}
	ret->gpus = gpus.text ? arena_strdup(arena, gpus.text) : NULL;
	ret->named = name_gpus(arena, layout, from, to);
	ret->cpus = apart ? cpu_set_print(arena, cpus) : NULL;
}

int sweep_share(struct arena *arena, struct share *ret, size_t jobs,
		const struct plan_options *options, const char *sweep, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	OWNED(plan) *plan = NULL;
	const struct plan_host *host;
	const struct plan_layout *layout;
	int r = plan_machine(&plan, options, sweep, report);

	if (r != GPUMAP_OK)
		return r;
	report_keep(report, before, NULL, NULL);
	host = job_host(plan, 0);
	layout = host ? host->layout : NULL;
	/* Without GPUs there is nothing to divide. */
	if (plan->answered && layout && layout->count && layout->ranks[0].device_count) {
		size_t n = layout->count;

		if (n < jobs)
			r = report_fail(report, GPUMAP_EINPUT, FINDING_SWEEP,
					ABOUT(.fix = "lower jobs, or select more GPUs"),
					"jobs = %zu, but there %s %zu GPU%s", jobs,
					n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
		for (size_t j = 0; j < jobs && r == GPUMAP_OK; j++)
			make_share(arena, &ret[j], layout, j * n / jobs, (j + 1) * n / jobs);
	}
	return r;
}
