/* SPDX-License-Identifier: MIT */
/* Layouts for the trainer's own loops: planes of places with neighbouring channels. */
#ifndef TRAIN_BACKEND_ONEDNN_PLANES_H
#define TRAIN_BACKEND_ONEDNN_PLANES_H

#include "backend/onednn/onednn.h"

/* Batch times `groups` planes of height x width places, with `inner` channels each. Channels of the
 * last group that do not exist are padding. */
struct onednn_planes {
	dnnl_format_tag_t tag;
	int64_t groups, inner;
	onednn_layout *order;
};

/* Finds a layout among those with neighbouring channels, and notes it in *layout. A conversion
 * first brings any other layout to host order. Freed by onednn_planes_free(). */
void onednn_planes_find(struct onednn_planes *planes, struct layout *layout);
/* The same order for another size: *layout has its sizes. */
void onednn_planes_like(struct onednn_planes *planes, const struct onednn_planes *other,
			struct layout *layout);
void onednn_planes_free(struct onednn_planes *planes);

#endif
