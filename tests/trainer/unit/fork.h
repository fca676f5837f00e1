/* SPDX-License-Identifier: MIT */
/* A model with a layer whose result is not used, and with numbers that are drawn by a seed. */
#ifndef TRAIN_TESTS_FORK_H
#define TRAIN_TESTS_FORK_H

#include <math.h>
#include <string.h>

#include "config.h"
#include "drawn.h"
#include "model/plan_stage.h"
#include "stage.h"
#include "unit.h"

#ifdef HAVE_DNNL
static const struct backend *const backend = &backend_onednn;
#else
static const struct backend *const backend = &backend_reference;
#endif

/* No layer uses the result of "aux". */
static const struct layer forked[] = {
	{.name = "conv", .kind = LAYER_CONVOLUTION, .out = 16, .kernel = 3, .pad = 1, .relu = true},
	{.name = "aux", .kind = LAYER_LINEAR, .out = 7},
	{.name = "pool", .kind = LAYER_MAX_POOL, .kernel = 2, .from = {"conv"}},
	{.name = "mid", .kind = LAYER_LINEAR, .out = 24, .relu = true},
	{.name = "fc", .kind = LAYER_LINEAR, .out = 5},
};
static const struct model_spec fork_spec = {"fork", 3, 8, 8, 5, forked};

enum { BATCH = 6, SAMPLE = 3 * 8 * 8, PARAMETERS = 8, FC_WEIGHT = 6, FC_BIAS, MAX_ELEMENTS = 8000 };

static inline struct device *opened_by(const struct backend *of)
{
	const struct device_options options = {.physical = 2, .threads = 1, .exact = true};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;

	ck_assert_msg(of->open(&device, &options, &error), "%s", error.text);
	return device;
}

static inline struct device *opened(void)
{
	return opened_by(backend);
}

/* Outputs are exact: at most 28 after conv in quarters, 7,169 after mid in eighths, and 5,378 after
 * fc in parts of 512, which keeps them small enough for softmax. */
static inline double parameter_value(int p, int64_t i)
{
	double value = stage_half(i, drawn_seed() + (uint32_t)p);

	return p >= FC_WEIGHT ? value / 32.0 : value;
}

static inline void set_parameters(struct model *m, bool sizes)
{
	enum value_type type = value_of_parameters(m->options.type);
	const struct model_shapes *shapes = &m->shapes;
	struct train_error error = {.status = TRAIN_OK};
	static double values[MAX_ELEMENTS];
	int64_t begin = m->first_element, count = m->elements;

	for (int p = 0; p < shapes->parameters_count; p++) {
		const struct model_parameter *at = &shapes->parameters[p];

		if (at->offset < begin || at->offset >= begin + count)
			continue;
		ck_assert_int_le(at->elements, MAX_ELEMENTS);
		for (int64_t i = 0; i < at->elements; i++) {
			double value = parameter_value(p, i);

			value_set(type, values, i, sizes ? fabs(value) : value);
		}
		ck_assert(model_write(m, m->values, p, values, &error));
	}
	ck_assert(model_prepare(m, false, &error));
}

static inline struct model *made_of(struct device *device, enum value_type type, int slots,
				    int first, int last)
{
	const struct model_options options = {BATCH, slots, type, first, last, false, 0};
	struct train_error error = {.status = TRAIN_OK};
	struct model *m;

	ck_assert_msg(model_open(&m, &fork_spec, device, &options, &error), "%s", error.text);
	ck_assert_int_eq(m->shapes.parameters_count, PARAMETERS);
	set_parameters(m, false);
	return m;
}

static inline struct model *made(struct device *device, int slots, int first, int last)
{
	return made_of(device, VALUE_FLOAT32, slots, first, last);
}

static inline void set_input(struct model *m, int slot, uint32_t seed, int rows)
{
	for (int64_t i = 0; i < (int64_t)rows * SAMPLE; i++)
		value_set(m->options.type, model_input(m, slot), i,
			  stage_half(i, drawn_seed() + 100 + seed));
}

/* Returns the loss of the rows that count, and leaves the gradient of the outputs. */
static inline double forward(struct model *m, int slot, int rows)
{
	static const int32_t labels[BATCH] = {0, 1, 2, 3, 4, 0};
	const struct pass_control control = {0, rows, 1.0f / (float)rows};
	struct loss_result result = {0, 0};
	const struct model_loss loss = {labels, &control, &result, true, NULL, false};
	struct train_error error = {.status = TRAIN_OK};

	ck_assert(model_forward(m, slot, NULL, &error));
	ck_assert(model_loss(m, slot, &loss, &error));
	return result.loss;
}

static inline double step(struct model *m, int slot, int rows, const struct model_watch *watch)
{
	struct train_error error = {.status = TRAIN_OK};
	double loss = forward(m, slot, rows);

	ck_assert(model_backward(m, slot, NULL, watch, &error));
	return loss;
}

#endif
