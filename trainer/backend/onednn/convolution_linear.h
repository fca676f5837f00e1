/* SPDX-License-Identifier: MIT */
/* A convolution or linear operation of the oneDNN backend: planned in onednn/convolution_linear.c,
 * run in onednn/convolution_linear_run.c. Of a bfloat16 convolution that fits,
 * onednn/winograd_bf16.c runs forward and the data's gradient. */
#ifndef TRAIN_BACKEND_CONVOLUTION_LINEAR_H
#define TRAIN_BACKEND_CONVOLUTION_LINEAR_H

#include "backend/cpu/winograd.h"
#include "backend/onednn/onednn.h"

/* Weights in another layout or type; without memory of its own the pass reads the stored ones. */
struct weight_copy {
	void *memory;
	struct onednn_task reorder;
};

struct sum_op {
	struct op base;
	enum onednn_kind kind;
	bool winograd, references;
	struct onednn_task forward, weights, data;
	struct weight_copy forward_copy, data_copy;
	struct onednn_task unpad; /* from the weights' gradient with padding; none: it has none */
	size_t padded;            /* where that is in scratch */
	bool shared;              /* the data's gradient reads the copy of forward */
	struct cpu_winograd by_winograd[2]; /* forward, the data's gradient */
	void *transformed[2];               /* their weights; NULL: not by it */
	onednn_layout *plain;               /* PyTorch's order */
	const onednn_layout *stored;        /* plain, or of the weights' gradient */
};

extern const struct op_calls sum_calls;

/* Memory and a reorder for a copy of the weights, unless they are stored as wanted. */
bool sum_plan_copy(struct weight_copy *copy, struct sum_op *own, const onednn_layout *wanted,
		   struct train_error *error);
bool sum_copy(struct weight_copy *copy, struct device *device, const struct op_args *args,
	      struct train_error *error);

/* Calls of sum_calls. */
op_run sum_backward_weights;
bool sum_weight_write(struct op *op, void *to, const void *host, struct train_error *error);
bool sum_weight_read(struct op *op, void *host, const void *from, struct train_error *error);
void sum_free(struct op *op);
/* What was planned, so that it can be planned again. */
void sum_tasks_free(struct sum_op *own);

/* Whether Winograd's algorithm in bfloat16 computes forward and the data's gradient of a planned
 * convolution; sum_winograd() plans it. */
bool sum_winograd_fits(const struct sum_op *own, const struct op_shape *shape);
bool sum_winograd(struct sum_op *own, const struct op_shape *shape, struct train_error *error);

#endif
