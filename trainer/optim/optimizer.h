/* SPDX-License-Identifier: MIT */
/*
 * The optimizers of optimizers.def over all parameters of a model. update.h has the arithmetic;
 * this counts steps and computes the factors of each. The caller owns all arrays.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "base/error.h"
#include "kernels/update.h"
#include "optim/schedule.h"
#include "optim/update.h"

enum { OPTIMIZER_MAX_STATES = 2 };

enum optimizer_kind {
#define OPTIMIZER(kind, ...) OPTIMIZER_##kind,
#include "optim/optimizers.def"
#undef OPTIMIZER
	OPTIMIZERS
};

/* "|sgd|adam|..." */
static const char optimizer_bar_words[] =
#define OPTIMIZER(kind, word, ...) "|" word
#include "optim/optimizers.def"
#undef OPTIMIZER
	;
#define OPTIMIZER_WORDS (optimizer_bar_words + 1)

struct optimizer_settings {
	enum optimizer_kind kind;
	/* SGD: at least 0; 0 in every step means that there is no buffer. Adam: beta1, 0 to <1 */
	double momentum;
	double beta2;        /* 0 to <1 */
	double eps;          /* at least 0 */
	double weight_decay; /* at least 0 */
	bool nesterov;       /* with a momentum above 0 */
};

/* A row of optimizers.def. */
struct optimizer_row {
	const char *word;
	enum update_rule rule;
	struct optimizer_settings initial;
	double lr; /* where a schedule begins */
	bool decoupled, cuda;
	const char *states[OPTIMIZER_MAX_STATES];
};

extern const struct optimizer_row optimizer_rows[OPTIMIZERS];

/* The index-th state of each element, from 0; NULL past the last. SGD has one with momentum. */
const char *optimizer_state_name(const struct optimizer_settings *settings, int index);

/* What kernels know of them. */
struct update_settings optimizer_update_settings(const struct optimizer_settings *settings);

/* False with the remedy if no CUDA kernel computes it. */
bool optimizer_has_kernel(enum optimizer_kind kind, struct train_error *error);

/* A parameter. The caller owns everything here, and keeps it longer than the optimizer. */
struct optimizer_param {
	float *weight;
	int64_t elements;
	float *state[OPTIMIZER_MAX_STATES]; /* its states (optimizer_state_name) */
	const float *gradient;              /* NULL: unused, the parameter stays unchanged */
	uint16_t *copy;                     /* gets the new weight in bfloat16; NULL: none */
};

struct optimizer;

/* A new optimizer has made no steps. The array of parameters is copied. */
struct optimizer *optimizer_new(const struct optimizer_settings *settings,
				const struct optimizer_param *params, int count);
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

/* So many steps were made, by another optimizer with the same states. PyTorch has their number as
 * a float for each parameter, "step". */
void optimizer_set_steps(struct optimizer *optimizer, int64_t steps);

#endif
