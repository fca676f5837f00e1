/* SPDX-License-Identifier: MIT */
/* See optimizer.h. */
#include "optimizer.h"

#include <math.h>
#include <stdlib.h>

#include "clip.h"
#include "kernels/scaler.h"
#include "memory.h"

enum { LINE_FLOATS = 64 / sizeof(float) }; /* of the cache */

struct entry {
	struct optimizer_param param;
	struct update update; /* of the step that optimizer_begin() prepared */
};

struct optimizer {
	struct optimizer_settings settings;
	int64_t steps;
	int count;
	struct entry entries[];
};

enum { COUPLED, DECOUPLED };
enum { ON_CPU, EVERYWHERE };

const struct optimizer_row optimizer_rows[OPTIMIZERS] = {
#define OPTIMIZER(kind, word, rule, momentum, beta2, eps, weight_decay, lr, decay, where, ...) \
	{word,         RULE_##rule, {OPTIMIZER_##kind, momentum, beta2, eps, weight_decay, false}, \
	 lr,           decay,       where, \
	 {__VA_ARGS__}},
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

const char *optimizer_state_name(const struct optimizer_settings *settings, int index)
{
	const struct optimizer_row *row = &optimizer_rows[settings->kind];

	if (index < 0 || index >= OPTIMIZER_MAX_STATES ||
	    (row->rule == RULE_SGD && !(settings->momentum > 0)))
		return NULL;
	return row->states[index];
}

struct optimizer *optimizer_new(const struct optimizer_settings *settings,
				const struct optimizer_param *params, int count)
{
	struct optimizer *made = xcalloc(1, sizeof(*made) + (size_t)count * sizeof(*made->entries));

	made->settings = *settings;
	made->count = count;
	for (int i = 0; i < count; i++)
		made->entries[i].param = params[i];
	return made;
}

void optimizer_free(struct optimizer *optimizer)
{
	free(optimizer);
}

float optimizer_norm(const struct optimizer *optimizer, int index, float scale)
{
	const struct optimizer_param *param = &optimizer->entries[index].param;

	return param->gradient ? clip_norm(param->gradient, param->elements, scale) : 0;
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

	optimizer->steps++;
	for (int i = 0; i < optimizer->count; i++) {
		struct entry *entry = &optimizer->entries[i];
		const struct optimizer_param *param = &entry->param;

		if (!param->gradient)
			continue;
		entry->update = (struct update){
			.weight = param->weight,
			.gradient = param->gradient,
			.copy = param->copy,
			.rule = optimizer_rows[s->kind].rule,
			.mean = first ? param->state[0] : NULL,
			.variance = second ? param->state[1] : NULL,
			.inv_scale = step->inv_scale,
			.clip = step->clip,
		};
		add_factors(&entry->update, s, &step->rates, optimizer->steps);
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
		const struct optimizer_param *param = &optimizer->entries[i].param;
		int64_t begin = part_begin(param->elements, part, parts);
		int64_t end = part_begin(param->elements, part + 1, parts);

		if (param->gradient && !scaler_finite(param->gradient + begin, end - begin, scale))
			return false;
	}
	return true;
}

void optimizer_part(const struct optimizer *optimizer, int part, int parts)
{
	for (int i = 0; i < optimizer->count; i++) {
		const struct entry *entry = &optimizer->entries[i];

		if (entry->param.gradient)
			update_run(&entry->update, part_begin(entry->param.elements, part, parts),
				   part_begin(entry->param.elements, part + 1, parts));
	}
}

void optimizer_set_steps(struct optimizer *optimizer, int64_t steps)
{
	optimizer->steps = steps;
}
