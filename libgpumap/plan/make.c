/* SPDX-License-Identifier: MIT */
/* gpumap_plan_make: from a profile and hosts to a plan that can be started. */
#include "plan/job.h"

#include "memory.h"
#include "profile/profile.h"

static void describe(struct plan_host_input *ret, const gpumap_hosts *hosts, size_t i,
		     const struct plan_settings *settings)
{
	const struct known_host *host = &hosts->hosts[host_source(hosts, i)];

	*ret = (struct plan_host_input){
		.name = hosts->hosts[i].name,
		.inventory = host->inventory,
		.inherited = host->inherited_count ? host->inherited : NULL,
		.inherited_count = host->inherited_count,
		.cpus = host->has_cpus ? &host->cpus : NULL,
		.free_gpus = host->free_gpus,
		.no_free = host->no_free,
		.settings = settings,
	};
}

/* Notes the GPUs that have to be leased when the ranks start. */
static int note_lease(gpumap_plan *plan, const struct plan_input *input)
{
	const struct plan_settings *settings =
		input->hosts->settings ? input->hosts->settings : input->settings;

	if (input->host_count != 1 || settings->gpus.word != PLAN_GPUS_FREE)
		return GPUMAP_OK;
	plan->lease = arena_strdup(&plan->arena, input->hosts->free_gpus);
	return plan->arena.failed ? GPUMAP_ENOMEM : GPUMAP_OK;
}

/* With its hosts, ranks and settings. */
static int make_ranks(gpumap_plan **ret, const gpumap_profile *profile, const gpumap_hosts *hosts,
		      gpumap_report *report)
{
	struct node_settings settings = {.of = NULL};
	const struct speech speech = profile_speech(profile);
	CLEANUP_FREE struct plan_host_input *inputs =
		xcalloc(hosts->count ? hosts->count : 1, sizeof(*inputs));
	int r = inputs ? node_settings_make(&settings, profile, hosts, report)
		       : report_nomem(report);

	if (r == GPUMAP_OK) {
		struct plan_input input = {
			.settings = &settings.whole,
			.hosts = inputs,
			.host_count = hosts->count,
			.speech = &speech,
			.scheduled = hosts->scheduled,
		};

		for (size_t i = 0; i < hosts->count; i++)
			describe(&inputs[i], hosts, i, settings.of[i]);
		r = plan_make(ret, &input, report);
		if (r == GPUMAP_OK && note_lease(*ret, &input) != GPUMAP_OK)
			r = report_nomem(report);
		if (r == GPUMAP_OK)
			r = job_keep(*ret, profile, &settings.whole, report);
	}
	arena_free(&settings.arena);
	return r;
}

int job_alone(gpumap_plan **ret, const gpumap_profile *profile, gpumap_report *report)
{
	gpumap_plan *plan = job_new();
	struct plan_settings settings;
	int r = plan ? gpumap_profile_check(profile, report) : report_nomem(report);

	if (r == GPUMAP_OK)
		r = node_settings_read(&settings, profile, NO_PLACE, report);
	if (r == GPUMAP_OK)
		r = job_keep(plan, profile, &settings, report);
	return give_plan(ret, plan, r);
}

EXPORT int gpumap_plan_make(gpumap_plan **ret, const gpumap_profile *profile,
			    const gpumap_hosts *hosts, gpumap_report *report)
{
	gpumap_plan *plan = NULL;
	int r = gpumap_profile_check(profile, report);

	if (r == GPUMAP_OK)
		r = make_ranks(&plan, profile, hosts, report);
	if (r == GPUMAP_OK && job_exceptions(plan, profile) != GPUMAP_OK)
		r = report_nomem(report);
	if (r == GPUMAP_OK)
		r = job_master(plan, hosts, report);
	return give_plan(ret, plan, r);
}
