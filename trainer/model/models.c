/* SPDX-License-Identifier: MIT */
/* The models, each a list of layers; their names are in models.h. */
#include <string.h>

#include "model/model.h"
#include "model/models.h"

#define CONVOLUTION(NAME, OUT, KERNEL, PAD) \
	.name = (NAME), .kind = LAYER_CONVOLUTION, .out = (OUT), .kernel = (KERNEL), .pad = (PAD)
#define MAX_POOL(NAME, KERNEL) .name = (NAME), .kind = LAYER_MAX_POOL, .kernel = (KERNEL)
#define LINEAR(NAME, OUT) .name = (NAME), .kind = LAYER_LINEAR, .out = (OUT)
#define COUNT(LAYERS) .count = sizeof(LAYERS) / sizeof(*(LAYERS)), .layers = (LAYERS)

static const struct layer convnet[] = {
	{CONVOLUTION("conv1", 64, 3, 1), .relu = true},
	{MAX_POOL("pool1", 2)},
	{CONVOLUTION("conv2", 128, 3, 1), .relu = true},
	{MAX_POOL("pool2", 2)},
	{LINEAR("fc1", 512), .relu = true},
	{LINEAR("fc2", 10)},
};

static const struct layer net28[] = {
	{CONVOLUTION("conv1", 32, 5, 0), .relu = true},
	{MAX_POOL("pool1", 2)},
	{LINEAR("fc1", 64), .relu = true},
	{LINEAR("fc2", 10)},
};

/* Nothing reads aux: what DistributedDataParallel stops at, to be tried out. */
static const struct layer net28_aux[] = {
	{CONVOLUTION("conv1", 32, 5, 0), .relu = true},
	{MAX_POOL("pool1", 2)},
	{LINEAR("aux", 10)},
	{LINEAR("fc1", 64), .relu = true, .from = "pool1"},
	{LINEAR("fc2", 10)},
};

static const struct layer subnets[] = {
	{LINEAR("subnets.0.linear", 512)},
	{LINEAR("subnets.1.linear", 256)},
	{LINEAR("subnets.2.linear", 100)},
};

#define SPEC(LAYERS, NAME, CHANNELS, HEIGHT, WIDTH, HELP) \
	{NAME, CHANNELS, HEIGHT, WIDTH, COUNT(LAYERS)},

static const struct model_spec models[] = {MODELS(SPEC, SPEC)};

const struct model_spec *model_find(const char *name, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	train_fail(error, TRAIN_BAD_INPUT, "model '%s': choose one of " MODELS_LIST, name);
	return NULL;
}
