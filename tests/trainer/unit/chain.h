/* SPDX-License-Identifier: MIT */
/* Runs a few operations after each other with numbers from a formula, and keeps what came out. */
#ifndef TRAIN_TESTS_CHAIN_H
#define TRAIN_TESTS_CHAIN_H

#include "backend/backend.h"

enum { CHAIN_LINKS = 3, CHAIN_CHANNELS = 80 };

enum link_kind { LINK_BATCH_NORM, LINK_MAX_POOL, LINK_MEAN_POOL };

struct link {
	enum link_kind kind;
	bool relu, relu_backward;
	int kernel, stride, pad; /* max-pooling */
};

struct chain {
	const char *name;
	int batch, channels, height, width;
	int rows; /* that count */
	struct link links[CHAIN_LINKS];
	int count;
	bool evaluates; /* forward only, by running mean and variance */
};

/* Everything as doubles, in PyTorch's order; the parameters of the last batch normalization. Freed
 * by chain_free. */
struct chain_result {
	int64_t outputs, inputs;
	double *output, *input_gradient;
	double weight_gradient[CHAIN_CHANNELS], bias_gradient[CHAIN_CHANNELS];
	double running_mean[CHAIN_CHANNELS], running_var[CHAIN_CHANNELS];
};

/* The input's values have `far` added, and channel c of them is 1 + c % 4 times as large. False
 * with the error noted, and nothing to free, where the backend cannot or a call fails. What is
 * wrong otherwise ends the test: padding that is not zero, sums that a pooling leaves for a bias
 * (backend.pool_sums), bytes that a run allocates. */
bool chain_run(struct chain_result *result, const struct chain *chain,
	       const struct backend *backend, enum value_type type, double far,
	       struct train_error *error);
void chain_free(struct chain_result *result);

#endif
