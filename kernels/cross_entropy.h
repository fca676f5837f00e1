/* SPDX-License-Identifier: MIT */
/*
 * Softmax cross-entropy by the rules of `loss` in backend.h, in double:
 *
 * 	loss = log(sum over c of exp(x[c] - max)) + max - x[label]
 * 	gradient[c] = (exp(x[c] - max) / sum - (c == label)) control->scale scaler->scale
 *
 * Rows from control->rows on, and those whose label is not in 0..classes-1, do not count and have
 * gradients of zero.
 */
#ifndef KERNELS_CROSS_ENTROPY_H
#define KERNELS_CROSS_ENTROPY_H

#include "kernels/control.h"
#include "kernels/value.h"
#include "kernels/launch.h"
#include "kernels/scaler.h"

struct cross_entropy_args {
	const void *logits;                 /* (batch, pitch): (batch, classes), each row padded */
	const int32_t *labels;              /* (batch) */
	const struct pass_control *control; /* rows and scale */
	const struct scaler *scaler;        /* NULL: none */
	struct loss_result *result;         /* added to, or overwritten */
	/* as logits, and may be the same memory; padding becomes 0. NULL: not wanted */
	void *gradient;
	void *scratch;          /* cross_entropy_scratch() bytes, see kernels.h */
	int64_t batch;          /* at least 1 if the result is overwritten */
	int32_t classes, pitch; /* classes >= 1, pitch >= classes: values from row to row */
	enum value_type type;   /* of logits and gradient */
	int32_t overwrite;      /* 0: what is in the result counts too */
};

static inline size_t cross_entropy_scratch(int64_t batch, int32_t classes)
{
	return KERNEL_TICKET_BYTES +
	       launch_rows(batch, classes).blocks * sizeof(struct loss_result);
}

#endif
