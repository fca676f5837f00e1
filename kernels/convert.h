/* SPDX-License-Identifier: MIT */
/* The same values in another type, rounded to the nearest, ties to even. */
#ifndef KERNELS_CONVERT_H
#define KERNELS_CONVERT_H

#include "kernels/value.h"

struct convert_args {
	const void *from; /* (count), any alignment of its type */
	void *to;         /* (count), the same */
	int64_t count;
	enum value_type from_type, to_type; /* the same type: a copy */
};

#endif
