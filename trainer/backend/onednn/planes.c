/* SPDX-License-Identifier: MIT */
/* See planes.h. */
#include "backend/onednn/planes.h"

static const struct {
	dnnl_format_tag_t tag;
	int64_t inner; /* 0: all channels */
} known[] = {{dnnl_aBcd8b, 8}, {dnnl_aBcd16b, 16}, {dnnl_acdb, 0}, {dnnl_abcd, 1}};

enum { KNOWN = sizeof(known) / sizeof(*known) };

static onednn_layout *tagged(const struct layout *l, dnnl_format_tag_t tag)
{
	dnnl_dims_t sizes = {l->batch, l->channels, l->height, l->width};

	return onednn_layout_new(4, sizes, onednn_type(l->type), tag);
}

static bool set(struct onednn_planes *planes, struct layout *layout, size_t which,
		struct train_error *error)
{
	int64_t channels = layout->channels;

	*planes = (struct onednn_planes){
		.tag = known[which].tag,
		.inner = known[which].inner ? known[which].inner : channels,
		.order = tagged(layout, known[which].tag),
	};
	planes->groups = (channels + planes->inner - 1) / planes->inner;
	if (!planes->order)
		return train_nomem(error, "a layout");
	return true;
}

bool onednn_planes_find(struct onednn_planes *planes, struct layout *layout,
			struct train_error *error)
{
	*planes = (struct onednn_planes){.order = NULL};
	for (size_t i = 0; i < KNOWN; i++) {
		onednn_planes_free(planes);
		if (!set(planes, layout, i, error))
			return false;
		if (known[i].tag == dnnl_abcd ||
		    (layout->order && dnnl_memory_desc_equal(planes->order, layout->order)))
			break;
	}
	return onednn_layout_out(layout, planes->order, error);
}

bool onednn_planes_like(struct onednn_planes *planes, const struct onednn_planes *other,
			struct layout *layout, struct train_error *error)
{
	size_t i = 0;

	while (known[i].tag != other->tag)
		i++;
	return set(planes, layout, i, error) && onednn_layout_out(layout, planes->order, error);
}

void onednn_planes_free(struct onednn_planes *planes)
{
	onednn_layout_free(planes->order);
	planes->order = NULL;
}
