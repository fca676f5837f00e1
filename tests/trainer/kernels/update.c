/* SPDX-License-Identifier: MIT */
/* kernels/update.h */
#include <math.h>

#include "tests/trainer/kernels/references.h"

static void adam_factors(struct update_factors *f, const struct update_settings *s, double lr,
			 double beta1, double t)
{
	f->keep = s->decoupled ? (float)(1 - lr * s->weight_decay) : 1;
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
	const struct update_settings *s = &args->settings;
	struct update_factors f = {.inv_scale = 1, .clip = 1, .keep = 1};

	if (args->scaler) {
		f.inv_scale = scaler_inverse(args->scaler);
		f.skip = !scaler_update(args->scaler, measure->found_inf == 0);
	}
	*args->steps += !f.skip;
	if (measure && control->clip_norm > 0)
		f.clip = clip_coefficient(measure->norm, control->clip_norm);
	f.decay = s->decoupled ? 0 : (float)s->weight_decay;
	f.minus_lr = (float)-control->lr;
	f.momentum = (float)control->momentum;
	if (s->adam)
		adam_factors(&f, s, control->lr, control->momentum, (double)*args->steps);
	*args->factors = f;
}

/* Updates the i-th element of the flat buffers, as optim/update.h defines it. */
static void update_element(const struct update_args *args, int64_t i, float gradient)
{
	const struct update_factors *f = args->factors;
	float w = args->values[i], g = gradient * f->inv_scale * f->clip, m;

	if (f->decay != 0)
		g = fmaf(w, f->decay, g);
	if (args->variance) {
		float v = fmaf(f->gain2 * g, g, args->variance[i] * f->beta2);

		m = fmaf(g, f->gain, args->mean[i] * f->momentum);
		args->variance[i] = v;
		args->mean[i] = m;
		args->values[i] = w * f->keep + f->minus_step * m / (sqrtf(v) / f->root + f->eps);
		return;
	}
	if (args->mean) {
		m = args->mean[i] * f->momentum + g;
		args->mean[i] = m;
		g = args->nesterov ? fmaf(m, f->momentum, g) : m;
	}
	args->values[i] = fmaf(g, f->minus_lr, w);
}

static float gradient_of(const struct update_args *args, const struct chunk *chunk, int32_t i)
{
	if (!chunk->gradient)
		return args->gradients[chunk->first + i];
	return (float)value_get(chunk->gradient_type, chunk->gradient,
				chunk_place(chunk, chunk->gradient_pitch, i));
}

void reference_update(const struct update_args *args)
{
	if (args->factors->skip)
		return;
	for (int32_t i = 0; i < args->chunk_count; i++) {
		const struct chunk *chunk = &args->chunks[i];

		for (int32_t k = 0; k < chunk->count; k++) {
			update_element(args, chunk->first + k, gradient_of(args, chunk, k));
			if (chunk->copy)
				value_set(chunk->copy_type, chunk->copy,
					  chunk_place(chunk, chunk->copy_pitch, k),
					  (double)args->values[chunk->first + k]);
		}
	}
}
