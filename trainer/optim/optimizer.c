/* SPDX-License-Identifier: MIT */
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

struct optimizer_settings optimizer_default(enum optimizer_kind kind)
{
	return (struct optimizer_settings){
		.kind = kind,
		.momentum = kind == OPTIMIZER_SGD ? 0 : 0.9,
		.beta2 = 0.999,
		.eps = 1e-8,
		.weight_decay = kind == OPTIMIZER_ADAMW ? 0.01 : 0,
	};
}

double optimizer_default_lr(enum optimizer_kind kind)
{
	return kind == OPTIMIZER_SGD ? 0.01 : 0.001;
}

/* Comparisons are written so that a NaN fails. */
static bool check_settings(const struct optimizer_settings *s, struct train_error *error)
{
	bool adam = s->kind != OPTIMIZER_SGD;

	if (!(s->momentum >= 0 && isfinite(s->momentum)) || (adam && !(s->momentum < 1)))
		return train_fail(error, TRAIN_BAD_INPUT, "optimizer: %s is %g: give %s",
				  adam ? "beta1" : "momentum", s->momentum,
				  adam ? "a number from 0 to below 1" : "a number from 0");
	if (adam && !(s->beta2 >= 0 && s->beta2 < 1))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: beta2 is %g: give a number from 0 to below 1",
				  s->beta2);
	if (adam && !(s->eps >= 0 && isfinite(s->eps)))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: eps is %g: give a number from 0", s->eps);
	if (!(s->weight_decay >= 0 && isfinite(s->weight_decay)))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: weight decay is %g: give a number from 0",
				  s->weight_decay);
	if (!adam && s->nesterov && !(s->momentum > 0))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "optimizer: Nesterov's momentum without a momentum: give one "
				  "above 0");
	return true;
}

static int state_count(const struct optimizer_settings *s)
{
	if (s->kind != OPTIMIZER_SGD)
		return 2;
	return s->momentum > 0 ? 1 : 0;
}

const char *optimizer_state_name(const struct optimizer_settings *settings, int index)
{
	static const char *const sgd[] = {"momentum_buffer"};
	static const char *const adam[] = {"exp_avg", "exp_avg_sq"};

	if (index < 0 || index >= state_count(settings))
		return NULL;
	return settings->kind == OPTIMIZER_SGD ? sgd[index] : adam[index];
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
	double t = (double)steps, lr = rates->lr, beta1 = rates->momentum;

	update->decay = s->kind == OPTIMIZER_ADAMW ? 0 : (float)s->weight_decay;
	update->momentum = (float)rates->momentum;
	if (s->kind == OPTIMIZER_SGD) {
		update->minus_lr = (float)-lr;
		update->nesterov = s->nesterov;
		return;
	}
	update->keep = s->kind == OPTIMIZER_ADAMW ? (float)(1 - lr * s->weight_decay) : 1;
	update->gain = (float)(1 - beta1);
	update->beta2 = (float)s->beta2;
	update->gain2 = (float)(1 - s->beta2);
	update->minus_step = (float)-(lr / (1 - pow(beta1, t)));
	update->root = (float)sqrt(1 - pow(s->beta2, t));
	update->eps = (float)s->eps;
}

void optimizer_begin(struct optimizer *optimizer, const struct optimizer_step *step)
{
	int states = state_count(&optimizer->settings);

	for (int i = 0; i < optimizer->count; i++) {
		struct entry *entry = &optimizer->entries[i];
		const struct optimizer_param *param = &entry->param;

		if (!param->gradient)
			continue;
		entry->update = (struct update){
			.weight = param->weight.data,
			.gradient = param->gradient,
			.copy = param->copy,
			.mean = states > 0 ? param->state[0] : NULL,
			.variance = states > 1 ? param->state[1] : NULL,
			.inv_scale = step->inv_scale,
			.clip = step->clip,
		};
		add_factors(&entry->update, &optimizer->settings, &step->rates, ++entry->steps);
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
