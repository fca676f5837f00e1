/* SPDX-License-Identifier: MIT */
/*
 * The models by name: models.c has their layers, --model and its help are made from this list.
 *
 * MODELS(FIRST, NEXT): FIRST or NEXT(layers, name, channels, height, width, help), the last three
 * numbers of a sample.
 */
#ifndef TRAIN_MODELS_H
#define TRAIN_MODELS_H

#define MODELS(FIRST, NEXT) \
	FIRST(convnet, "convnet", 3, 32, 32, "two convolutions and two linear layers") \
	NEXT(net28, "net28", 3, 28, 28, "smaller, on 28 x 28") \
	NEXT(net28_aux, "net28-aux", 3, 28, 28, "that with a layer that nothing reads") \
	NEXT(subnets, "subnets", 1024, 1, 1, "linear layers alone")

#define MODELS_NAME(layers, name, channels, height, width, help) name
#define MODELS_OR_NAME(layers, name, channels, height, width, help) "|" name
#define MODELS_AND_NAME(layers, name, channels, height, width, help) ", " name
#define MODELS_HELP(layers, name, channels, height, width, help) help
#define MODELS_AND_HELP(layers, name, channels, height, width, help) "; " help

/* Literals: "convnet|net28|...", "convnet, net28, ..." and what each is. */
#define MODELS_CHOICE MODELS(MODELS_NAME, MODELS_OR_NAME)
#define MODELS_LIST MODELS(MODELS_NAME, MODELS_AND_NAME)
#define MODELS_TOLD MODELS(MODELS_HELP, MODELS_AND_HELP)

#endif
