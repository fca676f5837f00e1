/* SPDX-License-Identifier: MIT */
/* The only file that knows the order of the stages. */
#include "resolve.h"

gpumap_step *step_add(struct resolver *resolver, const char *rule, const char *origin,
		      const char *text)
{
	gpumap_mapping *mapping = resolver->mapping;
	gpumap_step *steps;

	if (!text)
		return NULL;
	steps = arena_room(resolver->arena, mapping->steps, mapping->step_count,
			   &mapping->step_room, sizeof(*steps));
	if (!steps)
		return NULL;
	mapping->steps = steps;
	mapping->steps[mapping->step_count] = (gpumap_step){
		.rule = rule, .text = text, .origin = arena_strdup(resolver->arena, origin)};
	return &mapping->steps[mapping->step_count++];
}

void step_lose(struct resolver *resolver, gpumap_step *step, const char *source, const char *value)
{
	size_t n = step ? step->loser_count : 0;

	if (!step)
		return;
	/* Grows at powers of two. */
	if ((n & (n - 1)) == 0) {
		struct loser *losers = arena_alloc(resolver->arena, n ? n * 2 : 1, sizeof(*losers));

		if (!losers)
			return;
		if (n)
			memcpy(losers, step->losers, n * sizeof(*losers));
		step->losers = losers;
	}
	step->losers[step->loser_count++] = (struct loser){source, value};
}

static int run_stages(struct resolver *resolver)
{
	int r = ranks_resolve(resolver);

	if (r == GPUMAP_OK)
		r = sources_resolve(resolver);
	if (r == GPUMAP_OK && !resolver->failed)
		r = host_prepare(resolver);
	if (r == GPUMAP_OK && !resolver->failed)
		r = views_resolve(resolver);
	if (r == GPUMAP_OK && !resolver->failed)
		r = ranks_finish(resolver);
	if (r == GPUMAP_OK && !resolver->failed)
		r = groups_resolve(resolver);
	if (r == GPUMAP_OK)
		hints_report(resolver);
	if (r == GPUMAP_OK && resolver->arena->failed)
		r = report_nomem(resolver->report);
	return r;
}

EXPORT int gpumap_resolve(gpumap_mapping **ret, const gpumap_request *request,
			  const gpumap_inventory *inventory, gpumap_report *report)
{
	gpumap_mapping *mapping = calloc(1, sizeof(*mapping));
	struct resolver resolver = {
		.mapping = mapping,
		.request = request,
		.inventory = inventory,
		.report = report,
		.dialect = request_dialect(request),
	};
	int r;

	if (!mapping)
		return report_nomem(report);
	resolver.arena = &mapping->arena;
	mapping->ended_entry = -1;
	for (size_t i = 0; mode_name(i); i++)
		if (i == 0 ||
		    (request->values[KEY_mode] && streq(request->values[KEY_mode], mode_name(i))))
			mapping->mode = mode_name(i);
	r = run_stages(&resolver);
	mapping->answered = r == GPUMAP_OK && !resolver.failed;
	if (r != GPUMAP_OK) {
		gpumap_mapping_free(mapping);
		return r;
	}
	*ret = mapping;
	return GPUMAP_OK;
}
