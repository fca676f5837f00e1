/* SPDX-License-Identifier: MIT */
/* The tables of models.h. */
#include <string.h>

#include "model/model.h"
#include "model/models.h"

#define CONVOLUTION(OUT, KERNEL, PAD) \
	.kind = LAYER_CONVOLUTION, .out = (OUT), .kernel = (KERNEL), .pad = (PAD)
#define MAX_POOL(KERNEL) .kind = LAYER_MAX_POOL, .kernel = (KERNEL)
#define LINEAR(OUT) .kind = LAYER_LINEAR, .out = (OUT)
#define RELU .relu = true
#define FROM(...) .from = {__VA_ARGS__}

#define LAYER(NAME, ...) {.name = (NAME), __VA_ARGS__},
#define LAYERS(LIST, NAME, CHANNELS, HEIGHT, WIDTH, HELP) \
	static const struct layer LIST[] = {LAYERS_##LIST(LAYER, LAYER)};

MODELS(LAYERS, LAYERS)

#define COUNT(LIST) .count = sizeof(LIST) / sizeof(*(LIST)), .layers = (LIST)
#define SPEC(LIST, NAME, CHANNELS, HEIGHT, WIDTH, HELP) \
	{NAME, CHANNELS, HEIGHT, WIDTH, COUNT(LIST)},

static const struct model_spec models[] = {MODELS(SPEC, SPEC)};

const struct model_spec *model_find(const char *name, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	train_fail(error, TRAIN_BAD_INPUT, "model '%s': choose one of " MODELS_LIST, name);
	return NULL;
}
