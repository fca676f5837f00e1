/* SPDX-License-Identifier: MIT */
/*
 * SGD, Adam and AdamW over all parameters of a model. update.h has the arithmetic; this counts
 * steps and computes the factors of each. The caller owns all arrays.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "base/error.h"
#include "base/tensor.h"
#include "kernels/update.h"
#include "optim/schedule.h"
#include "optim/update.h"

enum { OPTIMIZER_MAX_STATES = 2 };

/* The state of each element, with PyTorch's names: SGD with momentum has "momentum_buffer", Adam
 * and AdamW "exp_avg" and "exp_avg_sq", index from 0; NULL past the last. */
const char *optimizer_state_name(const struct optimizer_settings *settings, int index);

/* PyTorch's defaults: momentum 0 for SGD; 0.9, 0.999, 1e-8, and 0.01 of decay for AdamW. */
struct optimizer_settings optimizer_default(enum optimizer_kind kind);

/* The learning rate, where a schedule begins: 0.01 for SGD, as in PyTorch's examples, and 0.001,
 * PyTorch's default, for the others. */
double optimizer_default_lr(enum optimizer_kind kind);

/* A parameter. The caller owns everything here, and keeps it longer than the optimizer. */
struct optimizer_param {
	struct tensor weight;
	float *state[OPTIMIZER_MAX_STATES]; /* its states (optimizer_state_name), each of that size
					     */
	const float *gradient; /* of that size; NULL: unused, the parameter stays unchanged */
	uint16_t *copy;        /* gets the new weight in bfloat16; NULL: none */
};

struct optimizer;

/* The state of a new optimizer is zero. False with a reason if a setting is out of its range, a
 * name appears twice, or memory runs out. The array of parameters is copied. */
bool optimizer_new(struct optimizer **optimizer, const struct optimizer_settings *settings,
		   const struct optimizer_param *params, int count, struct train_error *error);
void optimizer_free(struct optimizer *optimizer);

/* The norm of the index-th parameter's gradients times `scale` (clip.h); 0 where it has none. */
float optimizer_norm(const struct optimizer *optimizer, int index, float scale);

/* Whether a part of the gradients, times `scale`, is finite. Parts as below. */
bool optimizer_finite(const struct optimizer *optimizer, float scale, int part, int parts);

struct optimizer_step {
	struct rates rates;
	float inv_scale; /* scaler_inverse(), else 1 */
	float clip;      /* clip_coefficient(), else 1 */
};

/*
 * One step: begin, then every part from 0 to parts - 1 once, in any order, by any threads. The
 * result does not depend on the number of parts.
 */
void optimizer_begin(struct optimizer *optimizer, const struct optimizer_step *step);
void optimizer_part(const struct optimizer *optimizer, int part, int parts);

/* How many steps the parameter has made; -1 if there is none of this name. PyTorch has it as a
 * float, "step". A parameter without a gradient makes none. */
int64_t optimizer_steps(const struct optimizer *optimizer, const char *param);
bool optimizer_set_steps(struct optimizer *optimizer, const char *param, int64_t steps);

#endif
