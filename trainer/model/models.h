/* SPDX-License-Identifier: MIT */
/*
 * The models. models.c makes tables from these lists; --model, --stages and their help use them
 * too.
 *
 * MODELS(FIRST, NEXT): FIRST or NEXT(layers, name, channels, height, width, help), the three
 * numbers of a sample. LAYERS_layers(FIRST, NEXT): FIRST or NEXT(name, members of struct layer), by
 * macros of models.c: CONVOLUTION(outputs, kernel, pad), MAX_POOL(kernel), LINEAR(outputs), RELU,
 * FROM(layers that give its inputs, if not the one before).
 */
#ifndef TRAIN_MODELS_H
#define TRAIN_MODELS_H

#define MODELS(FIRST, NEXT) \
	FIRST(convnet, "convnet", 3, 32, 32, "two convolutions, two linear layers") \
	NEXT(net28, "net28", 3, 28, 28, "a smaller one, for 28 x 28 images") \
	NEXT(net28_aux, "net28-aux", 3, 28, 28, "net28 and a layer that nothing reads") \
	NEXT(subnets, "subnets", 1024, 1, 1, "only linear layers")

#define LAYERS_convnet(FIRST, NEXT) \
	FIRST("conv1", CONVOLUTION(64, 3, 1), RELU) \
	NEXT("pool1", MAX_POOL(2)) \
	NEXT("conv2", CONVOLUTION(128, 3, 1), RELU) \
	NEXT("pool2", MAX_POOL(2)) \
	NEXT("fc1", LINEAR(512), RELU) \
	NEXT("fc2", LINEAR(10))

#define LAYERS_net28(FIRST, NEXT) \
	FIRST("conv1", CONVOLUTION(32, 5, 0), RELU) \
	NEXT("pool1", MAX_POOL(2)) \
	NEXT("fc1", LINEAR(64), RELU) \
	NEXT("fc2", LINEAR(10))

/* Nothing reads aux. DistributedDataParallel stops at such a layer; this is for trying it. */
#define LAYERS_net28_aux(FIRST, NEXT) \
	FIRST("conv1", CONVOLUTION(32, 5, 0), RELU) \
	NEXT("pool1", MAX_POOL(2)) \
	NEXT("aux", LINEAR(10)) \
	NEXT("fc1", LINEAR(64), RELU, FROM("pool1")) \
	NEXT("fc2", LINEAR(10))

#define LAYERS_subnets(FIRST, NEXT) \
	FIRST("subnets.0.linear", LINEAR(512)) \
	NEXT("subnets.1.linear", LINEAR(256)) \
	NEXT("subnets.2.linear", LINEAR(100))

#define MODELS_NAME(layers, name, channels, height, width, help) name
#define MODELS_OR_NAME(layers, name, channels, height, width, help) "|" name
#define MODELS_AND_NAME(layers, name, channels, height, width, help) ", " name
#define MODELS_HELP(layers, name, channels, height, width, help) name ": " help
#define MODELS_AND_HELP(layers, name, channels, height, width, help) "; " name ": " help
#define MODELS_LAYER(name, ...) name
#define MODELS_AND_LAYER(name, ...) " " name
#define MODELS_NAMES(layers, name, channels, height, width, help) \
	name ": " LAYERS_##layers(MODELS_LAYER, MODELS_AND_LAYER)
#define MODELS_AND_NAMES(layers, name, channels, height, width, help) \
	"; " name ": " LAYERS_##layers(MODELS_LAYER, MODELS_AND_LAYER)

/* Literals: "convnet|net28|...", "convnet, net28, ...", what each is, and "convnet: conv1 pool1
 * ...; net28: ...". */
#define MODELS_CHOICE MODELS(MODELS_NAME, MODELS_OR_NAME)
#define MODELS_LIST MODELS(MODELS_NAME, MODELS_AND_NAME)
#define MODELS_SUMMARY MODELS(MODELS_HELP, MODELS_AND_HELP)
#define MODELS_LAYERS MODELS(MODELS_NAMES, MODELS_AND_NAMES)

#endif
