/* SPDX-License-Identifier: MIT */
/*
 * Chunks of the flat buffers of an optimizer: the work of one block of a kernel at a time. Their
 * table on the device leaves out unused parameters and the gaps between parameters. They are not
 * the chunks of a batch (rule G6).
 */
#ifndef KERNELS_FLAT_CHUNK_H
#define KERNELS_FLAT_CHUNK_H

#include "kernels/value.h"

/* The most elements of a chunk, and of one whose gradient lies apart: that of a convolution, which
 * is small and should keep many multiprocessors busy. */
enum { CHUNK_ELEMENTS = 4096, CHUNK_APART = 1024 };

/*
 * Elements of one parameter. Beside the flat buffers they may have a copy, and their gradient may
 * lie there. Both have any alignment of their type. With row == 0 they are dense, and the addresses
 * are those of the chunk's first element; else they are those of its row, and chunk_place() says
 * where an element is.
 */
struct chunk {
	int64_t first;        /* in the flat buffers */
	void *copy;           /* NULL: no copy */
	const void *gradient; /* NULL: in the flat buffer */
	enum value_type copy_type, gradient_type;
	int32_t count;                      /* 1 to CHUNK_ELEMENTS */
	int32_t row, column;                /* of a row; the first element's place in its row */
	int32_t copy_pitch, gradient_pitch; /* from row to row, at least `row` */
};

/* The place of the chunk's i-th element from an address above, with its pitch. */
static inline int32_t chunk_place(const struct chunk *chunk, int32_t pitch, int32_t i)
{
	int32_t at = chunk->column + i;

	return chunk->row ? at / chunk->row * pitch + at % chunk->row : i;
}

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Cuts elements first .. first + elements - 1, all of one parameter, at multiples of CHUNK_ELEMENTS
 * or CHUNK_APART of the flat buffer, so that each but the first begins aligned. copy and gradient:
 * the parameter's on the device; rows have one length where either has padding. Writes to chunks
 * unless that is NULL; returns their number.
 */
int64_t chunk_cut(struct chunk *chunks, int64_t first, int64_t elements,
		  const struct value_rows *copy, const struct value_rows *gradient);

#ifdef __cplusplus
}
#endif

#endif
