/* SPDX-License-Identifier: MIT */
/* Hosts, and what the caller knows about them. */
#include "plan/hosts.h"

#include "inventory/inventory.h"
#include "memory.h"
#include "text/hostlist.h"

EXPORT int gpumap_hosts_new(gpumap_hosts **ret)
{
	gpumap_hosts *hosts = xcalloc(1, sizeof(*hosts));

	if (!hosts)
		return GPUMAP_ENOMEM;
	*ret = hosts;
	return GPUMAP_OK;
}

EXPORT void gpumap_hosts_free(gpumap_hosts *hosts)
{
	if (!hosts)
		return;
	for (size_t i = 0; i < hosts->count; i++)
		hosts_drop_limits(&hosts->hosts[i]);
	arena_free(&hosts->arena);
	free(hosts->hosts);
	free(hosts);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A host named twice would count as two hosts, each with all of its GPUs. */
static int check_names(const gpumap_hosts *hosts, const struct hostlist *list, const char *fix,
		       const char *origin, gpumap_report *report)
{
	size_t count = hosts->count + list->count;
	CLEANUP_FREE const char **names = xcalloc(count ? count : 1, sizeof(*names));
	int r = GPUMAP_OK;

	if (!names)
		return report_nomem(report);
	for (size_t i = 0; i < count; i++)
		names[i] = i < hosts->count ? hosts->hosts[i].name
					    : list->hosts[i - hosts->count].name;
	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 1; i < count && r == GPUMAP_OK; i++)
		if (streq(names[i - 1], names[i]))
			r = report_fail(report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
					ABOUT(.origin = origin, .fix = fix),
					"the host '%s' is named twice", QUOTE(span_of(names[i])));
	return r;
}

static int add_all(gpumap_hosts *hosts, const struct hostlist *list, gpumap_report *report)
{
	size_t count = hosts->count + list->count;
	struct known_host *grown;

	if (count > hosts->room) {
		grown = xrealloc(hosts->hosts, count * sizeof(*grown));
		if (!grown)
			return report_nomem(report);
		hosts->hosts = grown;
		hosts->room = count;
	}
	for (size_t i = 0; i < list->count; i++)
		hosts->hosts[hosts->count + i] = (struct known_host){
			.name = arena_strdup(&hosts->arena, list->hosts[i].name),
			.slots = list->hosts[i].slots,
			.like = hosts->count + i};
	if (hosts->arena.failed)
		return report_nomem(report);
	hosts->count = count;
	return GPUMAP_OK;
}

/* `fix`: how several ranks of a host are written. */
static int add_list(gpumap_hosts *hosts, struct hostlist *list, int r, const char *fix,
		    const char *origin, gpumap_report *report)
{
	if (r != GPUMAP_OK)
		return r;
	r = check_names(hosts, list, fix, origin, report);
	if (r == GPUMAP_OK && hosts->count + list->count > HOSTLIST_MAX)
		r = report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				"more than %d hosts", HOSTLIST_MAX);
	if (r == GPUMAP_OK)
		r = add_all(hosts, list, report);
	hostlist_free(list);
	return r;
}

EXPORT int gpumap_hosts_parse_list(gpumap_hosts *hosts, const char *text, const char *origin,
				   gpumap_report *report)
{
	struct hostlist list = {0};
	int r = hostlist_parse(&list, span_of(text), origin, report);

	return add_list(hosts, &list, r,
			"name each host once; " SETTING("ranks = N") " starts N ranks on each",
			origin, report);
}

EXPORT int gpumap_hosts_parse_hostfile(gpumap_hosts *hosts, const char *text, size_t size,
				       const char *origin, gpumap_report *report)
{
	struct hostlist list = {0};
	int r = hostfile_parse(&list, (struct span){text, size}, origin, report);

	return add_list(hosts, &list, r, "name each host once; slots=N starts N ranks on it",
			origin, report);
}

EXPORT size_t gpumap_hosts_count(const gpumap_hosts *hosts)
{
	return hosts ? hosts->count : 0;
}

EXPORT const char *gpumap_hosts_name(const gpumap_hosts *hosts, size_t i)
{
	return hosts && i < hosts->count ? hosts->hosts[i].name : NULL;
}

/* An inventory without GPUs that has only the reason why no program can use one. NULL: no memory.
 */
static const gpumap_inventory *without_gpus(gpumap_hosts *hosts, const gpumap_inventory *inventory)
{
	gpumap_inventory *empty = arena_alloc(&hosts->arena, 1, sizeof(*empty));

	if (!empty)
		return NULL;
	empty->no_gpu = inventory->no_gpu;
	empty->no_gpu_fix = inventory->no_gpu_fix;
	empty->source = inventory->source;
	return empty;
}

EXPORT int gpumap_hosts_set_inventory(gpumap_hosts *hosts, size_t i,
				      const gpumap_inventory *inventory)
{
	if (i >= hosts->count)
		return GPUMAP_EINPUT;
	if (inventory && inventory->no_gpu && inventory->count) {
		inventory = without_gpus(hosts, inventory);
		if (!inventory)
			return GPUMAP_ENOMEM;
	}
	hosts->hosts[i].inventory = inventory;
	return GPUMAP_OK;
}

size_t host_source(const gpumap_hosts *hosts, size_t i)
{
	while (hosts->hosts[i].like != i)
		i = hosts->hosts[i].like;
	return i;
}

/* Refers to the other host's source, so that chains stay short. If that is the host itself, it
 * keeps its own data, so there is no circle. */
EXPORT int gpumap_hosts_set_like(gpumap_hosts *hosts, size_t i, size_t other)
{
	if (i >= hosts->count || other >= hosts->count)
		return GPUMAP_EINPUT;
	hosts->hosts[i].like = i == other ? i : host_source(hosts, other);
	return GPUMAP_OK;
}

EXPORT int gpumap_hosts_set_cpus(gpumap_hosts *hosts, size_t i, const char *allowed,
				 const int *core, const int *node, size_t count)
{
	struct known_host *host;
	const char *list;
	int *cores, *nodes;

	if (i >= hosts->count)
		return GPUMAP_EINPUT;
	host = &hosts->hosts[i];
	cores = arena_alloc(&hosts->arena, count, sizeof(*cores));
	nodes = arena_alloc(&hosts->arena, count, sizeof(*nodes));
	list = arena_strdup(&hosts->arena, allowed);
	if (!cores || !nodes || (allowed && !list))
		return GPUMAP_ENOMEM;
	if (count) {
		memcpy(cores, core, count * sizeof(*cores));
		memcpy(nodes, node, count * sizeof(*nodes));
	}
	host->topology = (struct cpu_topology){count, cores, nodes};
	host->cpus.allowed = list;
	host->cpus.topology = count ? &host->topology : NULL;
	host->has_cpus = true;
	return GPUMAP_OK;
}

EXPORT int gpumap_hosts_set_free(gpumap_hosts *hosts, size_t i, const char *list)
{
	const char *copy;

	if (i >= hosts->count)
		return GPUMAP_EINPUT;
	copy = arena_strdup(&hosts->arena, list);
	if (list && !copy)
		return GPUMAP_ENOMEM;
	hosts->hosts[i].free_gpus = copy;
	return GPUMAP_OK;
}

bool slots_are_ranks(const struct known_host *host, const struct plan_settings *settings)
{
	return host->slots > 0 && settings->ranks.number == PLAN_AUTO &&
	       settings->world_size.number == PLAN_AUTO;
}
