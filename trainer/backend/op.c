/* SPDX-License-Identifier: MIT */
/* Making and freeing operations, and layouts in host order, for every backend. */
#include "backend/backend.h"

#include "memory.h"

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

void *op_new(size_t size, struct device *device, const struct op_calls *calls,
	     const struct op_shape *shape)
{
	struct op *op = xcalloc(1, size);

	op->calls = calls;
	op->device = device;
	op->shape = *shape;
	op->info.input = op->info.output = shape->input;
	return op;
}

bool op_give(struct op **ret, struct op *op, bool planned)
{
	if (planned)
		*ret = op;
	else
		op_free(op);
	return planned;
}

void op_free(struct op *op)
{
	if (op && op->calls->free)
		op->calls->free(op);
	free(op);
}
