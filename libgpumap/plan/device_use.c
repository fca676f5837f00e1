/* SPDX-License-Identifier: MIT */
/* What follows from the devices that a program uses: whether a rank has one, which ranks have the
 * same answers, and where a device is in the list of its host. */
#include "plan/build.h"

/* Whether an index that the program uses is of this kind. */
static bool uses(const struct plan_settings *settings, enum device_use_kind kind)
{
	struct span rest = span_of(settings->device_ids.text), part;

	if (settings->device.use.kind == kind || settings->set_device.use.kind == kind)
		return true;
	while (span_split(&rest, ',', &part))
		if (device_index(span_trim(part)).kind == kind)
			return true;
	return false;
}

bool plan_one_each(const struct builder *b, const struct plan_settings *settings)
{
	enum plan_mode mode = plan_mode_of_rank(b->input->settings->mode.word, settings);

	return mode == PLAN_DDP || mode == PLAN_SINGLE;
}

size_t layout_phase(const struct builder *b, const struct host_class *class, size_t local_size,
		    size_t first_rank)
{
	bool rank = uses(class->settings, USE_RANK), modulo = uses(class->settings, USE_MODULO);
	bool one_each = plan_one_each(b, class->settings);
	size_t base = class->count, block;

	if (plan_states_by_rank(class->settings) || uses(class->settings, USE_NODE))
		return first_rank;
	if (!class->count || !local_size || (!rank && !modulo))
		return 0;
	if (class->settings->share.word == PLAN_SHARE_ISOLATE) {
		/* Blocks have two sizes. */
		block = one_each || local_size > class->count ? 1 : class->count / local_size;
		base = block == 1 && (one_each || local_size >= class->count) ? 1
									      : block * (block + 1);
	}
	if (!rank)
		return first_rank % base;
	/* An index past all devices fails, whatever it is. */
	return first_rank < class->count ? first_rank : class->count + first_rank % base;
}

bool layout_use_unknown(const struct builder *b, const struct host_class *class)
{
	return plan_one_each(b, class->settings) && !class->settings->device.use.text &&
	       class->settings->set_device.use.kind == USE_NOTHING;
}

size_t layout_position(const struct layout *layout, size_t l, const gpumap_entry *entry)
{
	const struct host_class *class = layout->class;
	const struct placement *placement = &layout->placements[l];
	const gpumap_device *d;
	size_t guess;

	if (!entry || !entry_decided(entry))
		return NOWHERE;
	d = entry->candidates[0];
	guess = (placement->first + (size_t)entry->logical) % class->count;
	/* CUDA may hide MIG instances, and later ones then move up. */
	for (size_t i = 0; i < class->count; i++) {
		const gpumap_device *own = class->devices[(guess + i) % class->count];

		if (own->physical == d->physical && own->mig_position == d->mig_position)
			return (guess + i) % class->count;
	}
	return NOWHERE;
}
