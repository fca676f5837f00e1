/* SPDX-License-Identifier: MIT */
/* The tables of models.def. */
#include <string.h>

#include "model/models.def"
#include "model/model.h"

#define CONVOLUTION(OUT, KERNEL, PAD) \
	.kind = LAYER_CONVOLUTION, .out = (OUT), .kernel = (KERNEL), .pad = (PAD)
#define MAX_POOL(KERNEL) .kind = LAYER_MAX_POOL, .kernel = (KERNEL)
#define LINEAR(OUT) .kind = LAYER_LINEAR, .out = (OUT)
#define RELU .relu = true
#define ADD .kind = LAYER_ADD
#define FROM(...) .from = {__VA_ARGS__}

/* Of ResNets: without bias, and with padding that keeps the size. */
#define PLAIN(OUT, KERNEL, STRIDE) \
	CONVOLUTION(OUT, KERNEL, (KERNEL) / 2), .stride = (STRIDE), .no_bias = true, .kaiming = true
#define OVERLAPPING_POOL(KERNEL, STRIDE, PAD) MAX_POOL(KERNEL), .stride = (STRIDE), .pad = (PAD)
#define MEAN_POOL .kind = LAYER_MEAN_POOL
#define BATCH_NORM .kind = LAYER_BATCH_NORM

#define LAYER(NAME, ...) {.name = (NAME), __VA_ARGS__},
#define LAYERS(LIST, NAME, CHANNELS, HEIGHT, WIDTH, HELP) \
	static const struct layer LIST[] = {LAYERS_##LIST(LAYER, LAYER)};

MODELS(LAYERS, LAYERS)
MODELS_LARGE(LAYERS)

#define COUNT(LIST) .count = sizeof(LIST) / sizeof(*(LIST)), .layers = (LIST)
#define SPEC(LIST, NAME, CHANNELS, HEIGHT, WIDTH, HELP) \
	{NAME, CHANNELS, HEIGHT, WIDTH, COUNT(LIST)},

static const struct model_spec models[] = {MODELS(SPEC, SPEC)};
static const struct model_spec large[] = {MODELS_LARGE(SPEC)};

const struct model_spec *model_find(const char *name, struct train_error *error)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	train_fail(error, TRAIN_BAD_INPUT, "model '%s': choose one of " MODELS_LIST, name);
	return NULL;
}

bool model_for_images(struct model_spec *spec, const char *name, int size,
		      struct train_error *error)
{
	const struct model_spec *found = model_find(name, error), *other = NULL;

	if (!found)
		return false;
	*spec = *found;
	if (size == 0 || size == found->height)
		return true;
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		if (strcmp(large[i].name, name) == 0)
			other = &large[i];
	if (!other)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"--image-size %d: model %s takes samples of %d x %d; only resnet18 "
			"and resnet50 take other sizes",
			size, name, found->height, found->width);
	if (size >= MODELS_LARGE_SIZE)
		*spec = *other;
	spec->height = spec->width = size;
	return true;
}
