/* SPDX-License-Identifier: MIT */
/* See flat_chunk.h. */
#include "kernels/flat_chunk.h"

#include "kernels/launch.h"

/* The length of rows; 0: copy and gradient are dense. */
static int32_t row_of(const struct value_rows *copy, const struct value_rows *gradient)
{
	if (copy->memory && copy->row != copy->pitch)
		return copy->row;
	return gradient->memory && gradient->row != gradient->pitch ? gradient->row : 0;
}

/* The address of the parameter's at-th element, or with `row` of its row. */
static void *address_of(const struct value_rows *rows, int32_t row, int64_t at)
{
	int64_t place = row ? at / row * rows->pitch : at;

	return rows->memory ? (char *)rows->memory + (size_t)place * value_bytes(rows->type) : NULL;
}

int64_t chunk_cut(struct chunk *chunks, int64_t first, int64_t elements,
		  const struct value_rows *copy, const struct value_rows *gradient)
{
	int64_t end = first + elements, n = 0;
	int64_t most = gradient->memory ? CHUNK_APART : CHUNK_ELEMENTS;
	int32_t row = row_of(copy, gradient);

	for (int64_t at = first, next; at < end; at = next, n++) {
		next = launch_min(at - at % most + most, end);
		if (!chunks)
			continue;
		chunks[n] = (struct chunk){
			.first = at,
			.copy = address_of(copy, row, at - first),
			.gradient = address_of(gradient, row, at - first),
			.copy_type = copy->type,
			.gradient_type = gradient->type,
			.count = (int32_t)(next - at),
			.row = row,
			.column = row ? (int32_t)((at - first) % row) : 0,
			.copy_pitch = copy->pitch,
			.gradient_pitch = gradient->pitch,
		};
	}
	return n;
}
