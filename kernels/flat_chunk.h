/* SPDX-License-Identifier: MIT */
/*
 * Chunks of the flat buffers of an optimizer: the work of one block of a kernel at a time. Their
 * table on the device leaves out unused parameters and the gaps between parameters. They are not
 * the chunks of a batch (rule G6).
 */
#ifndef KERNELS_FLAT_CHUNK_H
#define KERNELS_FLAT_CHUNK_H

#include "kernels/value.h"

enum { CHUNK_ELEMENTS = 4096 };

struct chunk {
	int64_t first; /* in the flat buffers */
	void *copy;    /* (count) of these in copy_type, any alignment of it; NULL: no copy */
	int32_t count; /* 1 to CHUNK_ELEMENTS */
	enum value_type copy_type;
};

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Cuts elements first .. first + elements - 1, all of one parameter, at multiples of CHUNK_ELEMENTS
 * of the flat buffer, so that each but the first begins aligned. copy: the device address of the
 * parameter's copy, or NULL. Writes them to chunks unless that is NULL; returns their number.
 */
int64_t chunk_cut(struct chunk *chunks, int64_t first, int64_t elements, void *copy,
		  enum value_type copy_type);

#ifdef __cplusplus
}
#endif

#endif
