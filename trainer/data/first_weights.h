/* SPDX-License-Identifier: MIT */
/* The weights that training begins with: PyTorch's default of Linear and Conv2d, bit for bit, and
 * those of torchvision's ResNets. */
#ifndef TRAIN_FIRST_WEIGHTS_H
#define TRAIN_FIRST_WEIGHTS_H

#include "base/tensor.h"
#include "random.h"

/*
 * How many inputs an output sums: in_features of Linear (out, in); in / groups * kh * kw of
 * Conv2d (out, in / groups, kh, kw). The product of all sizes but the first.
 */
int64_t init_fan_in(const struct tensor_shape *weight);

/*
 * The bound of weight and bias: (float)(1 / sqrt(fan_in)); fan_in >= 1. PyTorch has two formulas
 * (torch/nn/init.py, modules/linear.py, conv.py): kaiming_uniform_ with a = sqrt(5) for
 * the weight, sqrt(3) * sqrt(2 / (1 + 5)) / sqrt(fan_in), and this one for the bias. Both give
 * the same float for every fan_in up to 20,000,000.
 */
float init_bound(int64_t fan_in);

/*
 * reset_parameters() of one layer: weight, then bias (NULL: the layer has none), uniform in
 * [-bound, bound). A model is initialised layer by layer in the order of its construction, with
 * one generator after manual_seed.
 */
void init_layer(struct random_generator *generator, const struct tensor *weight,
		const struct tensor *bias);

/*
 * nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu") of Conv2d: normal, with the
 * standard deviation sqrt(2) / sqrt(out * kh * kw), computed in double. random_normal() describes
 * how near the values are to PyTorch's. At least 16 elements.
 */
void init_kaiming(struct random_generator *generator, const struct tensor *weight);

#endif
