/* SPDX-License-Identifier: MIT */
/* Flat buffers of a small model, and the optimizer of a device over them. */
#ifndef TEST_OPTIMIZE_H
#define TEST_OPTIMIZE_H

#include <string.h>

#include "backends.h"
#include "optim/clip.h"

#define USED .used = true
#define DEAD .used = false
#define COPIED .used = true, .copy = {.memory = copy, .type = VALUE_BFLOAT16}

enum { FC1_ELEMENTS = 40001 };
static uint16_t copy[FC1_ELEMENTS];

/* Gaps between them, as of layers that are not live; the last one ends the buffers. */
static const struct optimize_parameter parameters[] = {
	{"conv1.weight", 3, 1728, USED},
	{"conv1.bias", 1731, 64, USED},
	{"dead.weight", 1795, 5000, DEAD},
	{"dead.bias", 6795, 10, DEAD},
	{"fc1.weight", 6810, FC1_ELEMENTS, COPIED},
	{"fc1.bias", 46811, 1, USED},
};
enum { PARAMETERS = sizeof(parameters) / sizeof(*parameters), ELEMENTS = 46812, STEPS = 5 };

static const struct {
	const char *name;
	struct optimizer_settings settings;
	const char *states[OPTIMIZER_MAX_STATES];
} kinds[] = {
	{"SGD", {OPTIMIZER_SGD, 0, 0, 0, 5e-4, false}, {NULL, NULL}},
	{"SGD with momentum", {OPTIMIZER_SGD, 0.9, 0, 0, 0, true}, {"momentum_buffer", NULL}},
	{"Adam", {OPTIMIZER_ADAM, 0.9, 0.999, 1e-8, 0.1, false}, {"exp_avg", "exp_avg_sq"}},
	{"AdamW", {OPTIMIZER_ADAMW, 0.9, 0.999, 1e-8, 0.1, false}, {"exp_avg", "exp_avg_sq"}},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* Buffers of a model: weights, gradients and states. */
struct buffers {
	float *values, *gradients, *states[OPTIMIZER_MAX_STATES];
	struct scaler scaler;
};

static inline struct buffers buffers_new(void)
{
	struct buffers b = {calloc(ELEMENTS, sizeof(float)),
			    calloc(ELEMENTS, sizeof(float)),
			    {calloc(ELEMENTS, sizeof(float)), calloc(ELEMENTS, sizeof(float))},
			    scaler_default()};

	ck_assert(b.values && b.gradients && b.states[0] && b.states[1]);
	for (int i = 0; i < ELEMENTS; i++)
		b.values[i] = (float)(i * 37 % 23 - 11) / 8;
	return b;
}

static inline void buffers_free(struct buffers *b)
{
	free(b->values);
	free(b->gradients);
	free(b->states[0]);
	free(b->states[1]);
}

static inline void new_gradients(struct buffers *b, int step)
{
	for (int i = 0; i < ELEMENTS; i++)
		b->gradients[i] = (float)((i * 53 + step * 19) % 29 - 14) * 4096;
}

/* The optimizer of the parameters from `first` to before `end`. */
static inline struct optimize *stage_of(struct device *device, struct buffers *b,
					const struct optimizer_settings *settings, int first,
					int end)
{
	const struct optimize_options options = {.settings = *settings,
						 .values = b->values,
						 .gradients = b->gradients,
						 .parameters = parameters + first,
						 .count = end - first,
						 .scaler = &b->scaler,
						 .before = first,
						 .after = PARAMETERS - end};
	struct train_error error = {.status = TRAIN_OK};
	struct optimize *optimize = NULL;

	ck_assert_msg(device->backend->optimize_new(&optimize, device, &options, &error), "%s",
		      error.text);
	return optimize;
}

static inline struct optimize *optimize_of(struct device *device, struct buffers *b,
					   const struct optimizer_settings *settings)
{
	return stage_of(device, b, settings, 0, PARAMETERS);
}

static inline struct gradient_measure measured(struct optimize *optimize,
					       const struct backend *backend)
{
	struct train_error error = {.status = TRAIN_OK};
	struct gradient_measure measure;

	memset(&measure, 0x55, sizeof(measure));
	ck_assert(backend->optimize_measure(optimize, &measure, &error));
	return measure;
}

#endif
