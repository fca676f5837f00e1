/* SPDX-License-Identifier: MIT */
/* See optimizer.h. */
#include "optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clip.h"
#include "kernels/scaler.h"

enum { LINE_FLOATS = 64 / sizeof(float) }; /* of the cache */

struct entry {
	struct optimizer_param param;
	int64_t elements, steps;
	struct update update; /* of the step that optimizer_begin() prepared */
};

struct optimizer {
	struct optimizer_settings settings;
	int count;
	struct entry entries[];
};

enum { MOMENTUM, BETA1 };
enum { COUPLED, DECOUPLED };
enum { ON_CPU, EVERYWHERE };

const struct optimizer_row optimizer_rows[OPTIMIZERS] = {
#define OPTIMIZER(kind, word, rule, first, momentum, beta2, eps, weight_decay, lr, decay, where, \
		  ...) \
	{word, RULE_##rule, first, {OPTIMIZER_##kind, momentum, beta2, eps, weight_decay, false}, \
	 lr,   decay,       where, {__VA_ARGS__}},
#include "optim/optimizers.def"
#undef OPTIMIZER
};

bool optimizer_has_kernel(enum optimizer_kind kind, struct train_error *error)
{
	return optimizer_rows[kind].cuda ||
	       train_fail(error, TRAIN_BAD_INPUT,
			  "--optimizer %s: no CUDA kernel computes it; write --backend auto to "
			  "compute on the CPU, or --optimizer adam",
			  optimizer_rows[kind].word);
}

struct update_settings optimizer_update_settings(const struct optimizer_settings *settings)
{
	const struct optimizer_row *row = &optimizer_rows[settings->kind];

	return (struct update_settings){
		.beta2 = settings->beta2,
		.eps = settings->eps,
		.weight_decay = settings->weight_decay,
		.adam = row->rule == RULE_ADAM,
		.decoupled = row->decoupled,
	};
}

/* Comparisons are written so that a NaN fails. */
static bool check_settings(const struct optimizer_settings *s, struct train_error *error)
{
	bool beta1 = optimizer_rows[s->kind].beta1;

	if (!(s->momentum >= 0 && isfinite(s->momentum)) || (beta1 && !(s->momentum < 1)))
		return train_fail(error, TRAIN_BAD_INPUT, "optimizer: %s is %g: give %s",
				  beta1 ? "beta1" : "momentum", s->momentum,
				  beta1 ? "a number from 0 to below 1" : "a number from 0");
	if (!(s->beta2 >= 0 && s->beta2 < 1))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: beta2 is %g: give a number from 0 to below 1",
				  s->beta2);
	if (!(s->eps >= 0 && isfinite(s->eps)))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: eps is %g: give a number from 0", s->eps);
	if (!(s->weight_decay >= 0 && isfinite(s->weight_decay)))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: weight decay is %g: give a number from 0",
				  s->weight_decay);
	if (s->nesterov && !(s->momentum > 0))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: Nesterov's momentum without a momentum: give one "
				  "above 0");
	return true;
}

const char *optimizer_state_name(const struct optimizer_settings *settings, int index)
{
	const struct optimizer_row *row = &optimizer_rows[settings->kind];

	if (index < 0 || index >= OPTIMIZER_MAX_STATES ||
	    (row->rule == RULE_SGD && !(settings->momentum > 0)))
		return NULL;
	return row->states[index];
}

/* The parameter's place, or -1. */
static int find(const struct optimizer *optimizer, const char *param)
{
	for (int i = 0; i < optimizer->count; i++)
		if (strcmp(optimizer->entries[i].param.weight.name, param) == 0)
			return i;
	return -1;
}

static bool add_params(struct optimizer *optimizer, const struct optimizer_param *params, int count,
		       struct train_error *error)
{
	for (int i = 0; i < count; i++, optimizer->count++) {
		if (find(optimizer, params[i].weight.name) >= 0)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "optimizer: two parameters are named '%s': rename one",
					  params[i].weight.name);
		optimizer->entries[i].param = params[i];
		optimizer->entries[i].elements = tensor_elements(&params[i].weight.shape);
	}
	return true;
}

bool optimizer_new(struct optimizer **optimizer, const struct optimizer_settings *settings,
		   const struct optimizer_param *params, int count, struct train_error *error)
{
	struct optimizer *made;

	if (!check_settings(settings, error))
		return false;
	made = calloc(1, sizeof(*made) + (size_t)count * sizeof(*made->entries));
	if (!made)
		return train_nomem(error, "the optimizer");
	made->settings = *settings;
	if (!add_params(made, params, count, error)) {
		free(made);
		return false;
	}
	*optimizer = made;
	return true;
}

void optimizer_free(struct optimizer *optimizer)
{
	free(optimizer);
}

float optimizer_norm(const struct optimizer *optimizer, int index, float scale)
{
	const struct entry *entry = &optimizer->entries[index];

	return entry->param.gradient ? clip_norm(entry->param.gradient, entry->elements, scale) : 0;
}

/* Factors are taken in double and rounded once, as PyTorch's Python does. */
static void add_factors(struct update *update, const struct optimizer_settings *s,
			const struct rates *rates, int64_t steps)
{
	const struct optimizer_row *row = &optimizer_rows[s->kind];
	double t = (double)steps, lr = rates->lr, beta1 = rates->momentum;

	update->decay = row->decoupled ? 0 : (float)s->weight_decay;
	update->keep = row->decoupled ? (float)(1 - lr * s->weight_decay) : 1;
	update->momentum = (float)rates->momentum;
	update->minus_lr = (float)-lr;
	update->nesterov = s->nesterov;
	update->gain = (float)(1 - beta1);
	update->beta2 = (float)s->beta2;
	update->gain2 = (float)(1 - s->beta2);
	update->minus_step = (float)-(lr / (1 - pow(beta1, t)));
	update->root = (float)sqrt(1 - pow(s->beta2, t));
	update->eps = (float)s->eps;
}

void optimizer_begin(struct optimizer *optimizer, const struct optimizer_step *step)
{
	const struct optimizer_settings *s = &optimizer->settings;
	bool first = optimizer_state_name(s, 0), second = optimizer_state_name(s, 1);

	for (int i = 0; i < optimizer->count; i++) {
		struct entry *entry = &optimizer->entries[i];
		const struct optimizer_param *param = &entry->param;

		if (!param->gradient)
			continue;
		entry->update = (struct update){
			.weight = param->weight.data,
			.gradient = param->gradient,
			.copy = param->copy,
			.rule = optimizer_rows[s->kind].rule,
			.mean = first ? param->state[0] : NULL,
			.variance = second ? param->state[1] : NULL,
			.inv_scale = step->inv_scale,
			.clip = step->clip,
		};
		add_factors(&entry->update, s, &step->rates, ++entry->steps);
	}
}

/* Where a part begins: on a cache line, so that no two parts write to one. */
static int64_t part_begin(int64_t elements, int part, int parts)
{
	int64_t lines = (elements + LINE_FLOATS - 1) / LINE_FLOATS;
	int64_t begin = lines * part / parts * LINE_FLOATS;

	return begin < elements ? begin : elements;
}

bool optimizer_finite(const struct optimizer *optimizer, float scale, int part, int parts)
{
	for (int i = 0; i < optimizer->count; i++) {
		const struct entry *entry = &optimizer->entries[i];
		int64_t begin = part_begin(entry->elements, part, parts);
		int64_t end = part_begin(entry->elements, part + 1, parts);

		if (entry->param.gradient &&
		    !scaler_finite(entry->param.gradient + begin, end - begin, scale))
			return false;
	}
	return true;
}

void optimizer_part(const struct optimizer *optimizer, int part, int parts)
{
	for (int i = 0; i < optimizer->count; i++) {
		const struct entry *entry = &optimizer->entries[i];

		if (entry->param.gradient)
			update_run(&entry->update, part_begin(entry->elements, part, parts),
				   part_begin(entry->elements, part + 1, parts));
	}
}

int64_t optimizer_steps(const struct optimizer *optimizer, const char *param)
{
	int i = find(optimizer, param);

	return i < 0 ? -1 : optimizer->entries[i].steps;
}

bool optimizer_set_steps(struct optimizer *optimizer, const char *param, int64_t steps)
{
	int i = find(optimizer, param);

	if (i < 0 || steps < 0)
		return false;
	optimizer->entries[i].steps = steps;
	return true;
}
