/* SPDX-License-Identifier: MIT */
/* See planes.h. */
#include "backend/onednn/planes.h"

static const struct {
	dnnl_format_tag_t tag;
	int64_t inner; /* 0: all channels */
} known[] = {{dnnl_aBcd8b, 8}, {dnnl_aBcd16b, 16}, {dnnl_acdb, 0}, {dnnl_abcd, 1}};

enum { KNOWN = sizeof(known) / sizeof(*known) };

static void set(struct onednn_planes *planes, const struct layout *l, size_t which)
{
	*planes = (struct onednn_planes){
		.tag = known[which].tag,
		.inner = known[which].inner ? known[which].inner : l->channels,
		.order = onednn_layout_of(l, known[which].tag),
	};
	planes->groups = (l->channels + planes->inner - 1) / planes->inner;
}

void onednn_planes_find(struct onednn_planes *planes, struct layout *layout)
{
	*planes = (struct onednn_planes){.order = NULL};
	for (size_t i = 0; i < KNOWN; i++) {
		onednn_planes_free(planes);
		set(planes, layout, i);
		if (known[i].tag == dnnl_abcd ||
		    (layout->order && dnnl_memory_desc_equal(planes->order, layout->order)))
			break;
	}
	onednn_layout_out(layout, planes->order);
}

void onednn_planes_like(struct onednn_planes *planes, const struct onednn_planes *other,
			struct layout *layout)
{
	size_t i = 0;

	while (known[i].tag != other->tag)
		i++;
	set(planes, layout, i);
	onednn_layout_out(layout, planes->order);
}

void onednn_planes_free(struct onednn_planes *planes)
{
	onednn_layout_free(planes->order);
	planes->order = NULL;
}
