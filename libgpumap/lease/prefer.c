/* SPDX-License-Identifier: MIT */
/* The order in which a job takes GPUs: those that it prefers, then the lowest numbers. */
#include "inventory/inventory.h"
#include "lease/claim.h"
#include "report.h"

enum { TWO_GPUS = -2, NO_GPU = -1 };

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

/* The position of the GPU with this number, or with a UUID that begins so; or NO_GPU, or TWO_GPUS.
 */
static int find(const gpumap_inventory *inventory, struct span word)
{
	int64_t number = span_number(word, INT32_MAX);
	int found = NO_GPU;

	for (size_t g = 0; g < inventory->count; g++) {
		const gpumap_device *gpu = &inventory->gpus[g];
		bool uuid = gpu->uuid && word.length > strlen("GPU-") &&
			    span_starts(span_of(gpu->uuid), "GPU-") &&
			    strncmp(gpu->uuid, word.text, word.length) == 0;

		if (number >= 0 ? gpu->physical == number : uuid)
			found = found == NO_GPU ? (int)g : TWO_GPUS;
	}
	return found;
}

int claim_order(size_t *order, size_t *preferred, const gpumap_claim *claim,
		const gpumap_inventory *inventory, gpumap_report *report)
{
	struct span rest = span_of(claim->prefer ? claim->prefer : ""), word;

	*preferred = 0;
	while (claim->prefer && span_split(&rest, ',', &word)) {
		const char *what = NULL, *fix = NULL;
		int g;

		word = span_trim(word);
		g = find(inventory, word);
		if (g == NO_GPU) {
			what = "is not a GPU of this machine";
			fix = "write numbers of nvidia-smi, or UUIDs, as gpumap inventory lists "
			      "them";
		} else if (g == TWO_GPUS) {
			what = "fits several GPUs";
			fix = "write more of the UUID";
		} else if (!order_prefer(order, *preferred, (size_t)g, inventory->count)) {
			what = "names a GPU that the list already has";
			fix = "name each GPU once";
		}
		if (what)
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					   ABOUT(.origin = claim->prefer_origin, .fix = fix),
					   "'%s' %s", QUOTE(word), what);
		++*preferred;
	}
	return GPUMAP_OK;
}
