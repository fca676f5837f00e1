/* SPDX-License-Identifier: MIT */
/* The stages in their order, which only this file knows. */
#include "resolve/resolve.h"

#include "memory.h"

static int (*const stages[])(struct resolver *resolver) = {
	ranks_resolve, sources_resolve, host_prepare, views_resolve, ranks_finish, groups_resolve,
};

/* The stages that find the list: resolve_list_from(). */
enum { LIST_STAGES = 2 };

static int run_stages(struct resolver *resolver, size_t count)
{
	int r = GPUMAP_OK;

	for (size_t i = 0; i < count && r == GPUMAP_OK && !has_ended(resolver); i++)
		r = stages[i](resolver);
	return resolver->arena->failed ? GPUMAP_ENOMEM : r;
}

static bool begin(struct resolver *ret, const gpumap_request *request)
{
	const char *mode = request->values[KEY_mode];
	gpumap_mapping *mapping = xcalloc(1, sizeof(*mapping));

	if (!mapping)
		return false;
	*ret = (struct resolver){
		.mapping = mapping,
		.arena = &mapping->arena,
		.request = request,
		.dialect = request_dialect(request),
	};
	mapping->ended_entry = -1;
	mapping->mode = arena_strdup(&mapping->arena, mode ? mode : "single");
	if (mapping->mode)
		return true;
	gpumap_mapping_free(mapping);
	return false;
}

int resolve_list_from(enum list_from *ret, const gpumap_request *request)
{
	struct resolver resolver;
	int r;

	if (!begin(&resolver, request))
		return GPUMAP_ENOMEM;
	r = run_stages(&resolver, LIST_STAGES);
	*ret = r == GPUMAP_OK ? list_stated(&resolver) : LIST_FROM_KEYS;
	gpumap_mapping_free(resolver.mapping);
	return r == GPUMAP_ENOMEM ? r : GPUMAP_OK;
}

EXPORT int gpumap_resolve(gpumap_mapping **ret, const gpumap_request *request,
			  const gpumap_inventory *inventory, gpumap_report *report)
{
	struct resolver resolver;
	int r;

	if (!begin(&resolver, request))
		return report_nomem(report);
	resolver.inventory = inventory;
	resolver.report = report;
	r = run_stages(&resolver, ARRAY_SIZE(stages));
	if (r == GPUMAP_OK)
		hints_report(&resolver);
	if (r == GPUMAP_ENOMEM || resolver.arena->failed)
		r = report_nomem(report);
	resolver.mapping->answered = r == GPUMAP_OK && !resolver.failed;
	return give_mapping(ret, resolver.mapping, r);
}
