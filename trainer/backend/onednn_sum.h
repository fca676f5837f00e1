/* SPDX-License-Identifier: MIT */
/* A convolution or linear operation of the oneDNN backend: planned in onednn_sum.c, run in
 * onednn_sum_run.c. */
#ifndef TRAIN_BACKEND_ONEDNN_SUM_H
#define TRAIN_BACKEND_ONEDNN_SUM_H

#include "backend/onednn.h"

/* Weights in another layout or type; without memory of its own the pass reads the stored ones. */
struct weight_copy {
	void *memory;
	struct onednn_task reorder;
};

struct sum_op {
	struct op base;
	enum onednn_kind kind;
	bool winograd;
	struct onednn_task forward, weights, data, relu;
	struct weight_copy forward_copy, data_copy;
	bool shared;                 /* the data's gradient reads the copy of forward */
	onednn_layout *plain;        /* PyTorch's order */
	const onednn_layout *stored; /* belongs to weights */
};

extern const struct op_calls sum_calls;

#endif
