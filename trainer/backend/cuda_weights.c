/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda.h"

static int64_t elements(const struct cuda_filter *f)
{
	return (int64_t)f->out * f->in * f->height * f->width;
}

/* to_device: from PyTorch's order; else to it. */
static void permute(const struct cuda_filter *f, float *to, const float *from, bool to_device)
{
	int64_t places = (int64_t)f->height * f->width, at = 0;

	for (int o = 0; o < f->out; o++, at += f->in * places)
		for (int c = 0; c < f->in; c++)
			for (int64_t p = 0; p < places; p++) {
				int64_t host = at + c * places + p, device = at + p * f->in + c;

				to[to_device ? device : host] = from[to_device ? host : device];
			}
}

bool cuda_filter_write(struct cuda_device *d, const struct cuda_filter *f, void *to,
		       const void *host, struct train_error *error)
{
	size_t bytes = (size_t)elements(f) * sizeof(float);
	float *permuted = malloc(bytes);
	bool done;

	if (!permuted)
		return train_nomem(error, "weights");
	permute(f, permuted, host, true);
	done = cuda_write(&d->base, to, permuted, bytes, error) && cuda_finish(&d->base, error);
	free(permuted);
	return done;
}

bool cuda_filter_read(struct cuda_device *d, const struct cuda_filter *f, void *host,
		      const void *from, struct train_error *error)
{
	size_t bytes = (size_t)elements(f) * sizeof(float);
	float *permuted = malloc(bytes);
	bool done;

	if (!permuted)
		return train_nomem(error, "weights");
	done = cuda_read(&d->base, permuted, from, bytes, error);
	if (done)
		permute(f, host, permuted, false);
	free(permuted);
	return done;
}

bool cuda_cast(struct cuda_device *d, void *to, enum value_type to_type, const void *from,
	       enum value_type from_type, int64_t count, struct train_error *error)
{
	const struct convert_args args = {from, to, count, from_type, to_type};

	return cuda_use(d, error) && CUDA_KERNEL(d, convert, &args, error);
}

bool cuda_bias_gradient(const struct op *op, const struct op_args *args, bool relu, float *sums,
			struct train_error *error)
{
	const struct layout *layout = &op->info.output;
	struct cuda_device *d = cuda_device_of(op);
	const struct bias_gradient_args bias = {
		.gradient = args->output_gradient,
		.output = relu ? args->output : NULL,
		.sums = sums,
		.scratch = d->scratch,
		.rows = layout->batch * layout->height * layout->width,
		.columns = cuda_channels(layout),
		.type = layout->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, bias_gradient, &bias, error);
}
