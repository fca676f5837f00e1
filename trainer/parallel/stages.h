/* SPDX-License-Identifier: MIT */
/* Where a model is cut for model parallelism. */
#ifndef TRAIN_STAGES_H
#define TRAIN_STAGES_H

#include "model/model.h"

struct stage {
	int first, last; /* layers */
};

/* `count` stages. cuts: the first layer of each but the first, "conv2,fc1"; "" decides by the
 * multiplications of a sample: the largest stage is as small as possible; of such cuts the one that
 * sends least is chosen. Each stage has at least one layer, and others read only the output of its
 * last layer, so residual blocks are not cut. Bad input: more stages than can be cut, an unknown
 * layer, a wrong order or number, or a cut within a block. */
bool stages_make(struct stage *stages, int count, const struct model_spec *spec,
		 const struct model_shapes *shapes, const char *cuts, struct train_error *error);

#endif
