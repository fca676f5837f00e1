/* SPDX-License-Identifier: MIT */
/* See buckets.h. */
#include "parallel/buckets.h"

static bool live(const struct model_shapes *shapes, int parameter)
{
	return shapes->layers[shapes->parameters[parameter].layer].live;
}

void buckets_make(struct buckets *buckets, const struct model_shapes *shapes, double first_limit,
		  double limit)
{
	struct bucket *open = NULL;
	double bytes = 0;

	buckets->count = 0;
	for (int i = shapes->parameters_count - 1; i >= 0; i--) {
		const struct model_parameter *p = &shapes->parameters[i];

		if (!live(shapes, i))
			continue;
		if (!open) {
			open = &buckets->each[buckets->count++];
			*open = (struct bucket){.first = p->offset + p->elements};
			bytes = 0;
		}
		open->elements += open->first - p->offset;
		open->first = p->offset;
		open->layer = p->layer;
		bytes += (double)p->elements * sizeof(float);
		if (bytes >= (buckets->count == 1 ? first_limit : limit))
			open = NULL;
	}
}
