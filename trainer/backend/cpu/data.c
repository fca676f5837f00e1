/* SPDX-License-Identifier: MIT */
/* Batches from a data set in the same memory: each thread fills its samples. */
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "memory.h"

struct device_data {
	struct device *device;
	const struct dataset *dataset;
};

struct filling {
	const struct dataset *dataset;
	const struct data_batch *batch;
};

bool cpu_data_open(struct device_data **data, struct device *device, const struct dataset *dataset,
		   struct train_error *error)
{
	*data = xmalloc(sizeof(**data));
	**data = (struct device_data){device, dataset};
	return true;
}

static void fill_samples(void *argument, int64_t first, int64_t last)
{
	const struct filling *f = argument;
	const struct data_batch *b = f->batch;
	int64_t pixels = (int64_t)f->dataset->shape.channels * b->options->height *
			 (int64_t)b->options->width;

	batch_fill((float *)b->images + first * pixels, b->labels + first, f->dataset, b->options,
		   b->control->epoch, b->indices + first, last - first);
}

bool cpu_data_fills(const struct layout *images)
{
	return images->type == VALUE_FLOAT32 && !images->order;
}

bool cpu_data_fill(struct device_data *data, const struct data_batch *batch,
		   struct train_error *error)
{
	struct filling filling = {data->dataset, batch};

	cpu_team_run(cpu_team_of(data->device), batch->control->rows, fill_samples, &filling);
	return true;
}

void cpu_data_close(struct device_data *data)
{
	free(data);
}
