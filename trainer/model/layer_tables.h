/* SPDX-License-Identifier: MIT */
/*
 * The models. layer_tables.c makes tables from these lists; --model, --stages and their help use
 * them too.
 *
 * MODELS(FIRST, NEXT): FIRST or NEXT(layers, name, channels, height, width, help), the three
 * numbers of a sample. LAYERS_layers(FIRST, NEXT): FIRST or NEXT(name, members of struct layer), by
 * macros of layer_tables.c: CONVOLUTION(outputs, kernel, pad), MAX_POOL(kernel), LINEAR(outputs),
 * RELU, FROM(layers that give its inputs, if not the one before), and those of ResNets.
 *
 * MODELS_LARGE: the same for models that have other layers for images from MODELS_LARGE_SIZE on.
 */
#ifndef TRAIN_MODEL_LAYER_TABLES_H
#define TRAIN_MODEL_LAYER_TABLES_H

#define MODELS(FIRST, NEXT) \
	FIRST(convnet, "convnet", 3, 32, 32, "two convolutions, two linear layers") \
	NEXT(net28, "net28", 3, 28, 28, "a smaller one, for 28 x 28 images") \
	NEXT(net28_aux, "net28-aux", 3, 28, 28, "net28 and a layer that nothing reads") \
	NEXT(subnets, "subnets", 1024, 1, 1, "only linear layers") \
	NEXT(resnet18, "resnet18", 3, 32, 32, "ResNet-18") \
	NEXT(resnet50, "resnet50", 3, 32, 32, "ResNet-50")

#define MODELS_LARGE_SIZE 64
#define MODELS_LARGE(NEXT) \
	NEXT(resnet18_large, "resnet18", 3, 224, 224, "") \
	NEXT(resnet50_large, "resnet50", 3, 224, 224, "")

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

/*
 * ResNets (He et al., "Deep Residual Learning for Image Recognition", 2016), with the names and the
 * order of torchvision's, and as there with the stride of a bottleneck in its 3 x 3 convolution.
 * The sum at the end of a block is a layer with the block's name. Small images have the usual stem
 * of CIFAR-10.
 */
#define STEM_small(FIRST, NEXT) \
	FIRST("conv1", PLAIN(64, 3, 1)) \
	NEXT("bn1", BATCH_NORM, RELU)
#define STEM_large(FIRST, NEXT) \
	FIRST("conv1", PLAIN(64, 7, 2)) \
	NEXT("bn1", BATCH_NORM, RELU) \
	NEXT("maxpool", OVERLAPPING_POOL(3, 2, 1))

#define BASIC(NEXT, block, out, stride) \
	NEXT(block ".conv1", PLAIN(out, 3, stride)) \
	NEXT(block ".bn1", BATCH_NORM, RELU) \
	NEXT(block ".conv2", PLAIN(out, 3, 1)) \
	NEXT(block ".bn2", BATCH_NORM)
#define BOTTLENECK(NEXT, block, out, stride) \
	NEXT(block ".conv1", PLAIN(out, 1, 1)) \
	NEXT(block ".bn1", BATCH_NORM, RELU) \
	NEXT(block ".conv2", PLAIN(out, 3, stride)) \
	NEXT(block ".bn2", BATCH_NORM, RELU) \
	NEXT(block ".conv3", PLAIN(4 * (out), 1, 1)) \
	NEXT(block ".bn3", BATCH_NORM)

/* The end of a block: its input is added, or a projection of it. */
#define ADD_INPUT(NEXT, block, norm, input) NEXT(block, ADD, RELU, FROM(block norm, input))
#define ADD_PROJECTION(NEXT, block, norm, input, out, stride) \
	NEXT(block ".downsample.0", PLAIN(out, 1, stride), FROM(input)) \
	NEXT(block ".downsample.1", BATCH_NORM) \
	NEXT(block, ADD, RELU, FROM(block norm, block ".downsample.1"))

#define BASIC_SAME(NEXT, block, input, out) \
	BASIC(NEXT, block, out, 1) ADD_INPUT(NEXT, block, ".bn2", input)
#define BASIC_LESS(NEXT, block, input, out) \
	BASIC(NEXT, block, out, 2) ADD_PROJECTION(NEXT, block, ".bn2", input, out, 2)
#define BOTTLENECK_SAME(NEXT, block, input, out) \
	BOTTLENECK(NEXT, block, out, 1) ADD_INPUT(NEXT, block, ".bn3", input)
#define BOTTLENECK_FIRST(NEXT, block, input, out, stride) \
	BOTTLENECK(NEXT, block, out, stride) \
	ADD_PROJECTION(NEXT, block, ".bn3", input, 4 * (out), stride)

#define RESNET18(NEXT, stem, classes) \
	BASIC_SAME(NEXT, "layer1.0", stem, 64) \
	BASIC_SAME(NEXT, "layer1.1", "layer1.0", 64) \
	BASIC_LESS(NEXT, "layer2.0", "layer1.1", 128) \
	BASIC_SAME(NEXT, "layer2.1", "layer2.0", 128) \
	BASIC_LESS(NEXT, "layer3.0", "layer2.1", 256) \
	BASIC_SAME(NEXT, "layer3.1", "layer3.0", 256) \
	BASIC_LESS(NEXT, "layer4.0", "layer3.1", 512) \
	BASIC_SAME(NEXT, "layer4.1", "layer4.0", 512) \
	NEXT("avgpool", MEAN_POOL) \
	NEXT("fc", LINEAR(classes))

#define RESNET50(NEXT, stem, classes) \
	BOTTLENECK_FIRST(NEXT, "layer1.0", stem, 64, 1) \
	BOTTLENECK_SAME(NEXT, "layer1.1", "layer1.0", 64) \
	BOTTLENECK_SAME(NEXT, "layer1.2", "layer1.1", 64) \
	BOTTLENECK_FIRST(NEXT, "layer2.0", "layer1.2", 128, 2) \
	BOTTLENECK_SAME(NEXT, "layer2.1", "layer2.0", 128) \
	BOTTLENECK_SAME(NEXT, "layer2.2", "layer2.1", 128) \
	BOTTLENECK_SAME(NEXT, "layer2.3", "layer2.2", 128) \
	BOTTLENECK_FIRST(NEXT, "layer3.0", "layer2.3", 256, 2) \
	BOTTLENECK_SAME(NEXT, "layer3.1", "layer3.0", 256) \
	BOTTLENECK_SAME(NEXT, "layer3.2", "layer3.1", 256) \
	BOTTLENECK_SAME(NEXT, "layer3.3", "layer3.2", 256) \
	BOTTLENECK_SAME(NEXT, "layer3.4", "layer3.3", 256) \
	BOTTLENECK_SAME(NEXT, "layer3.5", "layer3.4", 256) \
	BOTTLENECK_FIRST(NEXT, "layer4.0", "layer3.5", 512, 2) \
	BOTTLENECK_SAME(NEXT, "layer4.1", "layer4.0", 512) \
	BOTTLENECK_SAME(NEXT, "layer4.2", "layer4.1", 512) \
	NEXT("avgpool", MEAN_POOL) \
	NEXT("fc", LINEAR(classes))

#define LAYERS_resnet18(FIRST, NEXT) STEM_small(FIRST, NEXT) RESNET18(NEXT, "bn1", 10)
#define LAYERS_resnet18_large(FIRST, NEXT) STEM_large(FIRST, NEXT) RESNET18(NEXT, "maxpool", 1000)
#define LAYERS_resnet50(FIRST, NEXT) STEM_small(FIRST, NEXT) RESNET50(NEXT, "bn1", 10)
#define LAYERS_resnet50_large(FIRST, NEXT) STEM_large(FIRST, NEXT) RESNET50(NEXT, "maxpool", 1000)

/* The layers of a model in help; of ResNets those where blocks begin, before which they are cut. */
#define LISTED_convnet LAYERS_convnet(MODELS_LAYER, MODELS_AND_LAYER)
#define LISTED_net28 LAYERS_net28(MODELS_LAYER, MODELS_AND_LAYER)
#define LISTED_net28_aux LAYERS_net28_aux(MODELS_LAYER, MODELS_AND_LAYER)
#define LISTED_subnets LAYERS_subnets(MODELS_LAYER, MODELS_AND_LAYER)
#define LISTED_resnet18 \
	"layer1.0.conv1 layer1.1.conv1 to layer4.1.conv1 (the first of each block) fc"
#define LISTED_resnet50 \
	"layer1.0.conv1 layer1.1.conv1 to layer4.2.conv1 (the first of each block) fc"

#define MODELS_NAME(layers, name, channels, height, width, help) name
#define MODELS_OR_NAME(layers, name, channels, height, width, help) "|" name
#define MODELS_AND_NAME(layers, name, channels, height, width, help) ", " name
#define MODELS_HELP(layers, name, channels, height, width, help) name ": " help
#define MODELS_AND_HELP(layers, name, channels, height, width, help) "; " name ": " help
#define MODELS_LAYER(name, ...) name
#define MODELS_AND_LAYER(name, ...) " " name
#define MODELS_NAMES(layers, name, channels, height, width, help) name ": " LISTED_##layers
#define MODELS_AND_NAMES(layers, name, channels, height, width, help) "; " name ": " LISTED_##layers

/* Literals: "convnet|net28|...", "convnet, net28, ...", what each is, and "convnet: conv1 pool1
 * ...; net28: ...". */
#define MODELS_CHOICE MODELS(MODELS_NAME, MODELS_OR_NAME)
#define MODELS_LIST MODELS(MODELS_NAME, MODELS_AND_NAME)
#define MODELS_SUMMARY MODELS(MODELS_HELP, MODELS_AND_HELP)
#define MODELS_LAYERS MODELS(MODELS_NAMES, MODELS_AND_NAMES)

#endif
