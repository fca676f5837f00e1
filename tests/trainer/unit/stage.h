/* SPDX-License-Identifier: MIT */
/* Runs layers as a stage of a model with numbers from a formula, and keeps what came out. */
#ifndef TRAIN_TESTS_STAGE_H
#define TRAIN_TESTS_STAGE_H

#include "model/model.h"

enum { STAGE_LAYERS = 12 };

/* Layers in the middle of a model: their input's gradient is wanted, and there is no loss. The
 * layer that gives their input is called "before". */
struct stage_case {
	const char *name;
	int batch, channels, height, width;
	struct layer layers[STAGE_LAYERS];
	int count;
};

struct stage_setting {
	const struct backend *backend;
	enum value_type type;
	bool exact;
	int threads;
};

/* Everything as doubles, in PyTorch's order; freed by stage_free. */
struct stage_result {
	int64_t inputs, outputs, parameters;
	double *output, *input_gradient, *gradients;
};

/* Numbers in [-0.5, 0.5) with 24 bits, so exact as floats. */
double stage_number(int64_t index, uint32_t seed);
/* One of -1, -1/2, 0, 1/2 and 1: a float holds sums of their products whole, whatever the order. */
double stage_half(int64_t index, uint32_t seed);

/* Output and gradients for output gradients of stage_number(i, 3). Parameter or input `moved`
 * (counted through inputs, then parameters; -1 for none) has `by` added. False with error noted
 * where the backend cannot. */
bool stage_run(struct stage_result *result, const struct stage_case *c,
	       const struct stage_setting *setting, int64_t moved, double by,
	       struct train_error *error);
void stage_free(struct stage_result *result);

/* Called with each device before anything is planned, and before it is closed; NULL: not. */
extern void (*stage_opened)(struct device *device), (*stage_closing)(struct device *device);

#endif
