/* SPDX-License-Identifier: MIT */
/* How images are augmented: cropped at a random place, and mirrored. */
#ifndef KERNELS_AUGMENT_H
#define KERNELS_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/philox.h"

enum { AUGMENT_PADDING = 4 }; /* pixels on each side of an image */

/* How images are cropped. */
struct augment_cut {
	int from_height, from_width; /* of an image */
	int height, width;           /* of the result */
	bool augment;                /* mirrored and moved at random */
	uint64_t seed;
};

/* The crop of an image: pixel (y, x) is that at (top + y, left + x), or 0 outside. */
struct augment_place {
	int top;
	int left;
	bool mirrored; /* pixel (y, x) is the one at (top + y, left + width - 1 - x) */
};

/* It depends only on these arguments (philox.h). Without augment it is the middle: top =
 * (from_height - height) / 2. */
HOST_DEVICE struct augment_place augment_place(const struct augment_cut *cut, int64_t epoch,
					       int64_t sample)
{
	struct random_key key = {cut->seed, RANDOM_AUGMENT, (uint32_t)epoch, sample};
	struct augment_place place = {(cut->from_height - cut->height) / 2,
				      (cut->from_width - cut->width) / 2, false};
	uint32_t bits[4];

	if (!cut->augment)
		return place;
	random_keyed(bits, &key, 0);
	place.mirrored = random_below(bits[0], 2) == 1;
	place.top += (int)random_below(bits[1], 2 * AUGMENT_PADDING + 1) - AUGMENT_PADDING;
	place.left += (int)random_below(bits[2], 2 * AUGMENT_PADDING + 1) - AUGMENT_PADDING;
	return place;
}

#endif
