/* SPDX-License-Identifier: MIT */
/* The order in which a job takes GPUs: those that it prefers, then the lowest numbers. */
#include "lease/claim.h"
#include "lease/units.h"
#include "report/report.h"

bool order_prefer(size_t *order, size_t preferred, size_t g, size_t gpus)
{
	size_t at = preferred;

	while (at < gpus && order[at] != g)
		at++;
	if (at == gpus)
		return false;
	memmove(order + preferred + 1, order + preferred, (at - preferred) * sizeof(*order));
	order[preferred] = g;
	return true;
}

/* Puts the units that a word names behind those that are preferred. Returns what is wrong with the
 * word, and *fix the remedy; NULL: nothing is. */
static const char *prefer_named(size_t *order, size_t *preferred, const gpumap_claim *claim,
				const gpumap_inventory *units, struct span word, const char **fix)
{
	const gpumap_device *first = NULL;

	for (size_t g = 0; g < units->count; g++) {
		const gpumap_device *unit = &units->gpus[g];

		if (!claim_is_of_kind(claim, unit) || !unit_is_named(unit, word))
			continue;
		if (first && (first->gpu != unit->gpu || span_starts(word, "MIG-"))) {
			*fix = "write more of the UUID";
			return claim->instances ? "fits several MIG instances"
						: "fits several GPUs";
		}
		first = unit;
	}
	if (!first) {
		*fix = "write numbers of nvidia-smi, or UUIDs, as gpumap inventory lists them";
		return claim->instances ? "is not a MIG instance of this machine, or a GPU with one"
					: "is not a GPU of this machine";
	}
	for (size_t g = 0; g < units->count; g++) {
		const gpumap_device *unit = &units->gpus[g];

		if (!claim_is_of_kind(claim, unit) || !unit_is_named(unit, word))
			continue;
		if (!order_prefer(order, *preferred, g, units->count)) {
			*fix = "name each GPU once";
			return "names a GPU that the list already has";
		}
		++*preferred;
	}
	return NULL;
}

int claim_order(size_t *order, size_t *preferred, const gpumap_claim *claim,
		const gpumap_inventory *units, gpumap_report *report)
{
	struct span rest = span_of(claim->prefer ? claim->prefer : ""), word;

	*preferred = 0;
	while (claim->prefer && span_split(&rest, ',', &word)) {
		const char *what, *fix;

		word = span_trim(word);
		what = prefer_named(order, preferred, claim, units, word, &fix);
		if (what)
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					   ABOUT(.origin = claim->prefer_origin, .fix = fix),
					   "'%s' %s", QUOTE(word), what);
	}
	return GPUMAP_OK;
}
