/* SPDX-License-Identifier: MIT */
/* A data set stays on the GPU as bytes, and batches are made from it there. */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda/cuda.h"
#include "memory.h"

struct data_staging {
	void *memory;
	size_t bytes;
};

struct device_data {
	struct cuda_device *device;
	struct dataset_shape shape;
	uint8_t *records;
	float *values;
	/* of batches in host order, which are made from NHWC batches */
	struct data_staging staging;
};

void cuda_data_close(struct device_data *data)
{
	cuda_release(&data->device->base, data->records);
	cuda_release(&data->device->base, data->values);
	cuda_release(&data->device->base, data->staging.memory);
	free(data);
}

bool cuda_data_open(struct device_data **ret, struct device *device, const struct dataset *dataset,
		    struct train_error *error)
{
	size_t records = (size_t)dataset->samples * dataset_record(&dataset->shape);
	size_t values = (size_t)dataset->shape.channels * 256 * sizeof(float);
	struct device_data *data = xcalloc(1, sizeof(*data));

	data->device = (struct cuda_device *)device;
	data->shape = dataset->shape;
	data->records = cuda_allocate(device, records + 1, "the data set", error);
	data->values = data->records ? cuda_allocate(device, values, "the data set", error) : NULL;
	if (!data->values || !cuda_write(device, data->records, dataset->records, records, error) ||
	    !cuda_write(device, data->values, dataset->values, values, error) ||
	    !cuda_finish(device, error)) {
		cuda_data_close(data);
		return false;
	}
	*ret = data;
	return true;
}

bool cuda_data_fills(const struct layout *images)
{
	return cuda_is_nhwc(images) || images->type == VALUE_FLOAT32;
}

static bool fill_nhwc(struct device_data *data, const struct data_batch *batch, void *images,
		      int padded, struct train_error *error)
{
	struct cuda_device *d = data->device;
	const struct input_fill_args args = {
		.records = data->records,
		.values = data->values,
		.indices = batch->indices,
		.control = batch->control,
		.images = images,
		.labels = batch->labels,
		.batch = batch->rows,
		.type = batch->layout->type,
		.channels = data->shape.channels,
		.padded = padded,
		.from_height = data->shape.height,
		.from_width = data->shape.width,
		.height = batch->options->height,
		.width = batch->options->width,
		.augment = batch->options->augment,
		.seed = batch->options->seed,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, input_fill, &args, error);
}

/* Runs the first time for each size, because a step is run once before it is recorded. */
static bool want_staging(struct data_staging *staging, struct device *device, size_t bytes,
			 struct train_error *error)
{
	void *memory;

	if (bytes <= staging->bytes)
		return true;
	memory = cuda_allocate_zeros(device, bytes, "a batch", error);
	if (!memory)
		return false;
	cuda_release(device, staging->memory);
	*staging = (struct data_staging){memory, bytes};
	return true;
}

static bool fill_host_order(struct device_data *data, const struct data_batch *batch,
			    struct train_error *error)
{
	const struct layout *layout = batch->layout;
	const struct reorder_args args = {
		.from = data->staging.memory,
		.to = batch->images,
		.batch = batch->rows,
		.channels = (int32_t)layout->channels,
		.height = (int32_t)layout->height,
		.width = (int32_t)layout->width,
		.padded = (int32_t)layout->channels,
	};

	return fill_nhwc(data, batch, data->staging.memory, (int)layout->channels, error) &&
	       CUDA_KERNEL(data->device, reorder, &args, error);
}

bool cuda_data_fill(struct device_data *data, const struct data_batch *batch,
		    struct train_error *error)
{
	if (cuda_is_nhwc(batch->layout))
		return fill_nhwc(data, batch, batch->images, cuda_channels(batch->layout), error);
	return want_staging(&data->staging, &data->device->base, batch->layout->bytes, error) &&
	       fill_host_order(data, batch, error);
}
