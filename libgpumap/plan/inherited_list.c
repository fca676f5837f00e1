/* SPDX-License-Identifier: MIT */
/* What a host's ranks inherit: a list, and who set it (rule S6a). */
#include "plan/hosts.h"

#include "inventory/inventory.h"
#include "plan/job.h"
#include "request/request.h"
#include "request/slurm_grant.h"

/* The list's own warnings. Findings about the program, which is empty here, do not matter. */
static bool is_of_list(const gpumap_finding *f, const void *unused)
{
	const char *rule = gpumap_finding_str(f, GPUMAP_FINDING_RULE);

	(void)unused;
	return gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_WARNING && rule &&
	       (*rule == 'V' || *rule == 'S');
}

static int resolve_list(gpumap_mapping **ret, const gpumap_inventory *inventory,
			const char *const *envp, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	OWNED(request) *request = NULL;
	int r = gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = gpumap_request_set_environ(request, envp, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(ret, request, inventory, report);
	if (report_lacks_memory(report))
		r = GPUMAP_ENOMEM;
	report_keep(report, before, is_of_list, NULL);
	return r;
}

/* The variables for the visible list, without those of a rank or a container. */
static int keep_lists(const char **ret, const char *const *envp)
{
	static const char *const names[] = {"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER="};
	int count = 0;

	for (; *envp; envp++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (starts_with(*envp, names[i]) && count < 2)
				ret[count++] = *envp;
	ret[count] = NULL;
	return count;
}

void hosts_drop_limits(struct known_host *host)
{
	while (host->inherited_count)
		gpumap_mapping_free(host->mappings[--host->inherited_count]);
}

/* Adds a limit: the list in `envp`. */
static int add_limit(gpumap_hosts *hosts, struct known_host *host, enum plan_limit kind,
		     const char *origin, const char *const *envp, gpumap_report *report)
{
	gpumap_mapping *mapping = NULL;
	int r;

	if (!host->inventory || host->inherited_count == MAX_LIMITS)
		return GPUMAP_OK;
	r = hosts->arena.failed ? GPUMAP_ENOMEM
				: resolve_list(&mapping, host->inventory, envp, report);
	if (r != GPUMAP_OK)
		return r;
	host->mappings[host->inherited_count] = mapping;
	host->inherited[host->inherited_count++] =
		(struct plan_inherited){.kind = kind, .mapping = mapping, .origin = origin};
	return r;
}

bool run_entry_is(struct span entry, const char *uuid, int physical, bool mig)
{
	if (!entry.length)
		return false;
	if (!is_digit(*entry.text))
		return uuid && span_is(entry, uuid);
	return !mig && physical >= 0 && span_number(entry, INT32_MAX) == physical;
}

bool run_entry_is_device(struct span entry)
{
	return span_number(entry, INT32_MAX) >= 0 || span_starts(entry, "GPU-") ||
	       span_starts(entry, "MIG-");
}

static bool has_device(const gpumap_inventory *inventory, struct span entry)
{
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		if (run_entry_is(entry, gpu->uuid, gpu->physical, false))
			return true;
		for (size_t m = 0; m < gpu->mig_count; m++)
			if (run_entry_is(entry, gpu->mig[m].uuid, gpu->physical, true))
				return true;
	}
	return false;
}

/* The first entry that is not a device of the host; NULL: every entry is one. */
static const char *bad_entry(gpumap_hosts *hosts, const struct known_host *host, const char *list)
{
	struct span rest = span_of(list), entry;

	while (*list && span_split(&rest, ',', &entry))
		if (!has_device(host->inventory, entry))
			return arena_printf(&hosts->arena, "%.*s", (int)entry.length, entry.text);
	return NULL;
}

int hosts_limit_to(gpumap_hosts *hosts, struct known_host *host, enum plan_limit kind,
		   const char *origin, const char *list)
{
	const char *envp[] = {
		arena_printf(&hosts->arena, "CUDA_VISIBLE_DEVICES=%s", list),
		"CUDA_DEVICE_ORDER=PCI_BUS_ID",
		NULL,
	};

	return add_limit(hosts, host, kind, origin, envp, NULL);
}

/* "rank 1 of gpumap run 20261121-193000-4711" */
static const char *outer_rank(gpumap_hosts *hosts, const char *const *envp)
{
	const char *rank = environ_find(envp, RUN_RANK), *run = environ_find(envp, RUN_ID);

	return arena_printf(&hosts->arena, "rank %s of gpumap run%s%s", rank && *rank ? rank : "?",
			    run && *run ? " " : "", run ? run : "");
}

/* Adds the limit of a rank of gpumap run: its GPUs. */
static int limit_to_run(gpumap_hosts *hosts, struct known_host *host, const char *const *envp,
			const char *list)
{
	size_t before = host->inherited_count;
	int r = hosts_limit_to(hosts, host, PLAN_LIMIT_RUN, outer_rank(hosts, envp), list);

	if (r == GPUMAP_OK && host->inherited_count > before)
		host->inherited[before].bad = bad_entry(hosts, host, list);
	return r;
}

EXPORT int gpumap_hosts_set_environ(gpumap_hosts *hosts, size_t i, const char *const *envp,
				    gpumap_report *report)
{
	struct known_host *host = i < hosts->count ? &hosts->hosts[i] : NULL;
	const char *job = job_of_environ(envp), *lists[3], *own = environ_find(envp, RUN_GPUS);
	const char *list = environ_find(envp, "CUDA_VISIBLE_DEVICES");
	const struct slurm_grant grant = slurm_grant_of(envp);
	bool granted = scheduler_grants(envp);
	int r = GPUMAP_OK;

	if (!host)
		return GPUMAP_EINPUT;
	environ_report_misspelt(envp, report);
	host->job = arena_strdup(&hosts->arena, job);
	hosts_drop_limits(host);
	if (list && slurm_grant_check(&grant, "CUDA_VISIBLE_DEVICES", list, NULL, report))
		granted = false;
	if (list && keep_lists(lists, envp))
		r = add_limit(hosts, host, granted ? PLAN_LIMIT_SCHEDULER : PLAN_LIMIT_USER,
			      granted && job ? arena_printf(&hosts->arena, "job %s", job)
					     : "CUDA_VISIBLE_DEVICES",
			      lists, report);
	if (r == GPUMAP_OK && own)
		r = limit_to_run(hosts, host, envp, own);
	if (r == GPUMAP_OK && hosts->arena.failed)
		r = GPUMAP_ENOMEM;
	if (r != GPUMAP_OK)
		hosts_drop_limits(host);
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}
