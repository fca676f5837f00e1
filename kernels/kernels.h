/* SPDX-License-Identifier: MIT */
/*
 * The arguments of every kernel. A kernel NAME of kernels.def has its arguments in NAME.h or here,
 * the code for GPUs in NAME.cu (launchers.h), and the same in plain C (tests/trainer/kernels).
 *
 * Pointers of arguments are device addresses, 16-byte aligned unless a header allows less, and
 * do not overlap unless it allows that. Arguments are copied when the work is put on a
 * stream, so a recorded launch keeps them; values that change from step to step are read from the
 * device (control.h, scaler.h). Values are VALUE_FLOAT32, VALUE_BFLOAT16 or VALUE_FLOAT16. Sums are
 * taken in one order, whatever the device: the same arguments give the same bits.
 *
 * Scratch. If a kernel has `scratch`, a function of its header gives the bytes. The first
 * KERNEL_TICKET_BYTES must be zero before the first run. Each run leaves them zero, so kernels of
 * one stream may share scratch, but nothing else may write there. The rest has no meaning between
 * runs. References do not use it: it may be NULL.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "kernels/batch_norm.h"
#include "kernels/busy.h"
#include "kernels/convolution_pool.h"
#include "kernels/cross_entropy.h"
#include "kernels/gradient_measure.h"
#include "kernels/input_fill.h"
#include "kernels/max_pool.h"
#include "kernels/mean_pool.h"
#include "kernels/update.h"

/* sum[i] += more[i]. */
struct accumulate_args {
	float *sum;        /* (count), any alignment of a float */
	const float *more; /* (count), the same; may be sum */
	int64_t count;
};

/* output[i] = a[i] + b[i]; with relu 0 where that is below 0 (a NaN stays). */
struct residual_add_args {
	const void *a, *b; /* (count) */
	void *output;      /* (count); may be a or b */
	int64_t count;
	int32_t relu;
	enum value_type type; /* of all */
};

/*
 * Sums over rows: the gradient of a bias, whose columns are channels and whose rows are the places
 * of a batch in NHWC. With `output`, gradients of an output that is not above 0 are first set to
 * zero in place (relu_backward of backend.h). Sums are in fp32, in an order that depends on the
 * shape (launch_columns()).
 */
struct bias_gradient_args {
	void *gradient;     /* (rows, columns) */
	const void *output; /* (rows, columns); NULL: gradient is only read */
	float *sums;        /* (columns), any alignment of a float; zeros where there are no rows */
	void *scratch;      /* bias_gradient_scratch() bytes, see kernels.h */
	int64_t rows, columns;
	enum value_type type; /* of gradient and output */
};

static inline size_t bias_gradient_scratch(int64_t rows, int64_t columns, enum value_type type)
{
	return launch_columns_scratch(rows, columns, type);
}

/* The same values in another type, rounded to the nearest, ties to even. */
struct convert_args {
	const void *from; /* (count), any alignment of its type */
	void *to;         /* (count), the same */
	int64_t count;
	enum value_type from_type, to_type; /* the same type: a copy */
};

/* gradient[i] = 0 unless output[i] is above 0 (a NaN is not). bias_gradient can do it too. */
struct relu_backward_args {
	void *gradient;     /* (count) */
	const void *output; /* (count) */
	int64_t count;
	enum value_type type; /* of both */
};

/*
 * Converts (batch, channels, height, width), dense, to NHWC with padded channels and back, from any
 * type to any. For filters `batch` is out, so that (out, in, kh, kw) becomes KRSC. To NHWC the
 * padding becomes zeros; from NHWC it is left out.
 */
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
