/* SPDX-License-Identifier: MIT */
/*
 * Converts (batch, channels, height, width), dense, to NHWC with padded channels and back, from any
 * type to any. For filters `batch` is out, so that (out, in, kh, kw) becomes KRSC. To NHWC the
 * padding becomes zeros; from NHWC it is left out.
 */
#ifndef KERNELS_REORDER_H
#define KERNELS_REORDER_H

#include "kernels/value.h"

struct reorder_args {
	/* Any alignment of their types. */
	const void *from; /* (batch, channels, height, width), or with !to_nhwc as `to` */
	void *to;         /* (batch, height, width, padded), or with !to_nhwc as `from` */
	enum value_type from_type, to_type;
	int64_t batch;
	int32_t channels, height, width;
	int32_t padded; /* channels with padding: at least channels */
	int32_t to_nhwc;
};

#endif
