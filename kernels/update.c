/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "kernels/references.h"
#include "optim/clip.h"

static void adam_factors(struct update_factors *f, const struct optimizer_settings *s, double lr,
			 double beta1, double t)
{
	f->keep = s->kind == OPTIMIZER_ADAMW ? (float)(1 - lr * s->weight_decay) : 1;
	f->gain = (float)(1 - beta1);
	f->beta2 = (float)s->beta2;
	f->gain2 = (float)(1 - s->beta2);
	f->minus_step = (float)-(lr / (1 - pow(beta1, t)));
	f->root = (float)sqrt(1 - pow(s->beta2, t));
	f->eps = (float)s->eps;
}

void reference_update_begin(const struct update_begin_args *args)
{
	const struct update_control *control = args->control;
	const struct gradient_measure *measure = args->measure;
	const struct optimizer_settings *s = &args->settings;
	struct update_factors f = {.inv_scale = 1, .clip = 1, .keep = 1};

	if (args->scaler) {
		f.inv_scale = scaler_inverse(args->scaler);
		f.skip = !scaler_update(args->scaler, measure->found_inf == 0);
	}
	*args->steps += !f.skip;
	if (measure && control->clip_norm > 0)
		f.clip = clip_coefficient(measure->norm, control->clip_norm);
	f.decay = s->kind == OPTIMIZER_ADAMW ? 0 : (float)s->weight_decay;
	f.minus_lr = (float)-control->lr;
	f.momentum = (float)control->momentum;
	if (s->kind != OPTIMIZER_SGD)
		adam_factors(&f, s, control->lr, control->momentum, (double)*args->steps);
	*args->factors = f;
}

static struct update update_of(const struct update_args *args)
{
	const struct update_factors *f = args->factors;

	return (struct update){.weight = args->values,
			       .gradient = args->gradients,
			       .mean = args->mean,
			       .variance = args->variance,
			       .inv_scale = f->inv_scale,
			       .clip = f->clip,
			       .decay = f->decay,
			       .keep = f->keep,
			       .minus_lr = f->minus_lr,
			       .momentum = f->momentum,
			       .nesterov = args->nesterov != 0,
			       .gain = f->gain,
			       .beta2 = f->beta2,
			       .gain2 = f->gain2,
			       .minus_step = f->minus_step,
			       .root = f->root,
			       .eps = f->eps};
}

void reference_update(const struct update_args *args)
{
	struct update update;

	if (args->factors->skip)
		return;
	update = update_of(args);
	for (int32_t i = 0; i < args->chunk_count; i++) {
		const struct chunk *chunk = &args->chunks[i];

		update_run(&update, chunk->first, chunk->first + chunk->count);
		for (int32_t k = 0; chunk->copy && k < chunk->count; k++)
			value_set(chunk->copy_type, chunk->copy, k,
				  (double)args->values[chunk->first + k]);
	}
}
