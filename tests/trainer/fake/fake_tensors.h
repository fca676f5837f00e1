/* SPDX-License-Identifier: MIT */
/* A convolution on the pretended device with small integers in its tensors, so that sums are exact
 * in any order. */
#ifndef TEST_FAKE_TENSORS_H
#define TEST_FAKE_TENSORS_H

#include "fake_test.h"
#include "fake_values.h"

struct row {
	const char *name;
	cudnnDataType_t type;
	cudnnTensorFormat_t format;
	int n, c, h, w, k, kernel, pad, stride;
};

/* A tensor of the row: integers on the host as (n, c, h, w), their copy on the device. */
struct data {
	enum stored type;
	cudnnTensorFormat_t format;
	int n, c, h, w;
	size_t count;
	double *values;
	void *memory;
};

static struct setup {
	cudaStream_t stream;
	cudnnHandle_t handle;
	cudnnTensorDescriptor_t x_desc, y_desc, bias_desc;
	cudnnFilterDescriptor_t w_desc;
	cudnnConvolutionDescriptor_t convolution;
	cudnnActivationDescriptor_t activation;
	struct data x, w, y, bias;
	void *workspace;
} s;

enum { WORKSPACE = 16384 };

static inline size_t place(const struct data *d, int n, int c, int h, int w)
{
	size_t at = d->format == CUDNN_TENSOR_NHWC
			    ? (size_t)(((n * d->h + h) * d->w + w) * d->c + c)
			    : (size_t)(((n * d->c + c) * d->h + h) * d->w + w);

	return at;
}

static inline double *value(const struct data *d, int n, int c, int h, int w)
{
	return &d->values[((n * d->c + c) * d->h + h) * d->w + w];
}

/* A loop over every place of the tensor. */
#define EACH(d) \
	for (int n = 0; n < (d)->n; n++) \
		for (int c = 0; c < (d)->c; c++) \
			for (int h = 0; h < (d)->h; h++) \
				for (int w = 0; w < (d)->w; w++)

static inline void data_put(struct data *d)
{
	void *bytes = stored_floats(d->count);

	EACH(d)
	stored_set(d->type, bytes, place(d, n, c, h, w), (float)*value(d, n, c, h, w));
	OK(cu.cudaMemcpyAsync(d->memory, bytes, d->count * stored_bytes(d->type),
			      cudaMemcpyHostToDevice, s.stream));
	free(bytes);
}

static inline struct data data_new(const struct row *row, int n, int c, int h, int w, int seed)
{
	struct data d = {.format = row->format, .n = n, .c = c, .h = h, .w = w};

	d.type = row->type == CUDNN_DATA_BFLOAT16 ? STORED_BF16
		 : row->type == CUDNN_DATA_HALF   ? STORED_FP16
						  : STORED_FLOAT;
	d.count = (size_t)n * (size_t)c * (size_t)h * (size_t)w;
	d.values = calloc(d.count, sizeof(*d.values));
	for (size_t i = 0; i < d.count; i++)
		d.values[i] = (double)((int)(i * 7 + (i >> 3) * 5 + (size_t)seed) % 7 - 3);
	d.memory = device_new(d.count * stored_bytes(d.type));
	data_put(&d);
	return d;
}

/* What lies on the device is `want`, rounded. */
static inline void data_check(const struct row *row, const struct data *d, const double *want,
			      const char *what)
{
	void *bytes = stored_floats(d->count), *one = stored_floats(1);

	OK(cu.cudaMemcpyAsync(bytes, d->memory, d->count * stored_bytes(d->type),
			      cudaMemcpyDeviceToHost, s.stream));
	EACH(d)
	{
		float got = stored_get(d->type, bytes, place(d, n, c, h, w));

		stored_set(d->type, one, 0, (float)want[((n * d->c + c) * d->h + h) * d->w + w]);
		ck_assert_msg(got == stored_get(d->type, one, 0),
			      "%s, %s [%d][%d][%d][%d]: %g, not %g", row->name, what, n, c, h, w,
			      (double)got, (double)stored_get(d->type, one, 0));
	}
	free(bytes);
	free(one);
}

static inline void setup(const struct row *row, bool late)
{
	int h = (row->h + 2 * row->pad - row->kernel) / row->stride + 1;
	int w = (row->w + 2 * row->pad - row->kernel) / row->stride + 1;

	machine_open(1, late);
	s.stream = stream_new(0);
	OK(cu.cudnnCreate(&s.handle));
	OK(cu.cudnnSetStream(s.handle, s.stream));
	OK(cu.cudnnCreateTensorDescriptor(&s.x_desc));
	OK(cu.cudnnCreateTensorDescriptor(&s.y_desc));
	OK(cu.cudnnCreateTensorDescriptor(&s.bias_desc));
	OK(cu.cudnnCreateFilterDescriptor(&s.w_desc));
	OK(cu.cudnnCreateConvolutionDescriptor(&s.convolution));
	OK(cu.cudnnCreateActivationDescriptor(&s.activation));
	OK(cu.cudnnSetTensor4dDescriptor(s.x_desc, row->format, row->type, row->n, row->c, row->h,
					 row->w));
	OK(cu.cudnnSetTensor4dDescriptor(s.y_desc, row->format, row->type, row->n, row->k, h, w));
	OK(cu.cudnnSetTensor4dDescriptor(s.bias_desc, row->format, row->type, 1, row->k, 1, 1));
	OK(cu.cudnnSetFilter4dDescriptor(s.w_desc, row->type, row->format, row->k, row->c,
					 row->kernel, row->kernel));
	OK(cu.cudnnSetConvolution2dDescriptor(s.convolution, row->pad, row->pad, row->stride,
					      row->stride, 1, 1, CUDNN_CROSS_CORRELATION,
					      CUDNN_DATA_FLOAT));
	OK(cu.cudnnSetConvolutionMathType(s.convolution, row->type == CUDNN_DATA_FLOAT
								 ? CUDNN_DEFAULT_MATH
								 : CUDNN_TENSOR_OP_MATH));
	OK(cu.cudnnSetActivationDescriptor(s.activation, CUDNN_ACTIVATION_RELU,
					   CUDNN_NOT_PROPAGATE_NAN, 0));
	s.x = data_new(row, row->n, row->c, row->h, row->w, 1);
	s.w = data_new(row, row->k, row->c, row->kernel, row->kernel, 2);
	s.y = data_new(row, row->n, row->k, h, w, 3);
	s.bias = data_new(row, 1, row->k, 1, 1, 4);
	s.workspace = device_new(WORKSPACE);
}

static inline void data_free(struct data *d)
{
	OK(cu.cudaFree(d->memory));
	free(d->values);
}

static inline void teardown(void)
{
	data_free(&s.x);
	data_free(&s.w);
	data_free(&s.y);
	data_free(&s.bias);
	OK(cu.cudaFree(s.workspace));
	OK(cu.cudnnDestroyTensorDescriptor(s.x_desc));
	OK(cu.cudnnDestroyTensorDescriptor(s.y_desc));
	OK(cu.cudnnDestroyTensorDescriptor(s.bias_desc));
	OK(cu.cudnnDestroyFilterDescriptor(s.w_desc));
	OK(cu.cudnnDestroyConvolutionDescriptor(s.convolution));
	OK(cu.cudnnDestroyActivationDescriptor(s.activation));
	OK(cu.cudnnDestroy(s.handle));
	OK(cu.cudaStreamDestroy(s.stream));
	machine_close();
}

#endif
