/* SPDX-License-Identifier: MIT */
/* Layouts of values in host order, for every backend. */
#include "backend/backend.h"

int64_t layout_values(const struct layout *layout)
{
	return layout->batch * layout->channels * layout->height * layout->width;
}

struct layout layout_host(enum value_type type, int64_t batch, int64_t channels, int64_t height,
			  int64_t width)
{
	struct layout layout = {.type = type,
				.batch = batch,
				.channels = channels,
				.height = height,
				.width = width};

	layout.bytes = (size_t)layout_values(&layout) * value_bytes(type);
	return layout;
}
