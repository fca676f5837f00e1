/* SPDX-License-Identifier: MIT */
/* See units.h. */
#include "lease/units.h"

#include "memory.h"

gpumap_inventory *units_of(const gpumap_inventory *inventory)
{
	gpumap_inventory *units = xmalloc(sizeof(*units));
	size_t count = inventory->count, n = 0;

	for (size_t g = 0; g < inventory->count; g++)
		count += inventory->gpus[g].mig_count;
	if (!units)
		return NULL;
	*units = *inventory;
	units->whole = inventory;
	units->count = count;
	units->gpus = xcalloc(count + 1, sizeof(*units->gpus));
	if (!units->gpus) {
		free(units);
		return NULL;
	}
	for (size_t g = 0; g < inventory->count; g++) {
		units->gpus[n++] = inventory->gpus[g];
		for (size_t m = 0; m < inventory->gpus[g].mig_count; m++)
			units->gpus[n++] = inventory->gpus[g].mig[m];
	}
	return units;
}

void units_free(gpumap_inventory *units)
{
	if (!units)
		return;
	free(units->gpus);
	free(units);
}

const gpumap_device *unit_device(const gpumap_device *unit)
{
	return is_instance(unit) ? &unit->gpu->mig[unit->mig_position] : unit->gpu;
}

const char *unit_text(struct quoted *ret, const gpumap_device *unit)
{
	return is_instance(unit)
		       ? format_text(ret, "MIG %d of GPU %d", unit->mig_position, unit->physical)
		       : format_text(ret, "GPU %d", unit->physical);
}

static bool begins(const char *uuid, const char *kind, struct span word)
{
	return uuid && word.length > strlen(kind) && span_starts(word, kind) &&
	       strncmp(uuid, word.text, word.length) == 0;
}

bool unit_is_named(const gpumap_device *unit, struct span word)
{
	int64_t number = span_number(word, INT32_MAX);

	return number >= 0 ? unit->physical == number
			   : begins(unit->gpu->uuid, "GPU-", word) ||
				     (is_instance(unit) && begins(unit->uuid, "MIG-", word));
}

bool unit_is_listed(const gpumap_device *unit, const char *list)
{
	struct span rest = span_of(list), word;

	while (span_split(&rest, ',', &word))
		if (unit_is_named(unit, span_trim(word)))
			return true;
	return false;
}
