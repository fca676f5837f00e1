/* SPDX-License-Identifier: MIT */
/*
 * implementations-main: plans every model on the onednn backend, in float32 and in bfloat16, and
 * names each plan before it is made: "# MODEL SIZE BATCH TYPE". With ONEDNN_VERBOSE=2 oneDNN prints
 * what it creates for it.
 */
#include <stdio.h>

#include "model/model.h"

static const struct {
	const char *model;
	int size; /* 0: the usual */
	int64_t batch;
} plans[] = {
	{"convnet", 0, 1},    {"convnet", 0, 3},    {"convnet", 0, 32},   {"convnet", 0, 256},
	{"net28", 0, 1},      {"net28", 0, 3},      {"net28", 0, 32},     {"net28", 0, 256},
	{"net28-aux", 0, 1},  {"net28-aux", 0, 3},  {"net28-aux", 0, 32}, {"net28-aux", 0, 256},
	{"subnets", 0, 1},    {"subnets", 0, 3},    {"subnets", 0, 32},   {"subnets", 0, 256},
	{"resnet18", 0, 1},   {"resnet18", 0, 3},   {"resnet18", 0, 32},  {"resnet18", 0, 256},
	{"resnet50", 0, 1},   {"resnet50", 0, 3},   {"resnet50", 0, 32},  {"resnet50", 0, 256},
	{"resnet18", 224, 1}, {"resnet18", 224, 3}, {"resnet50", 224, 1}, {"resnet50", 224, 3},
};

static bool plan(struct device *device, size_t i, enum value_type type, struct train_error *error)
{
	struct model_options options = {.slots = 1, .batch = plans[i].batch, .type = type};
	struct model_spec spec;
	struct model *m;

	printf("# %s %d %d %s\n", plans[i].model, plans[i].size, (int)plans[i].batch,
	       value_name(type));
	fflush(stdout);
	if (!model_for_images(&spec, plans[i].model, plans[i].size, error))
		return false;
	options.last = spec.count - 1;
	if (!model_open(&m, &spec, device, &options, error))
		return false;
	model_close(m);
	return true;
}

int main(void)
{
	const struct device_options where = {.threads = 1};
	const struct backend *backend;
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	bool done;

	backend = backend_find("onednn", &error);
	done = backend && backend->open(&device, &where, &error);
	for (size_t i = 0; done && i < sizeof(plans) / sizeof(*plans); i++)
		for (int half = 0; half < 2 && done; half++) {
			char remark[256];
			enum value_type type =
				backend_type(device, half ? VALUE_BFLOAT16 : VALUE_FLOAT32, remark,
					     sizeof(remark));

			done = (half && type == VALUE_FLOAT32) || plan(device, i, type, &error);
		}
	if (!done)
		fprintf(stderr, "implementations-main: %s\n", error.text);
	return !done;
}
