/* SPDX-License-Identifier: MIT */
/* Convolutions by loops over NHWC and KRSC floats, whose innermost one is over channels. */
#include "config.h"

#include <string.h>

#include "fake_cudnn.h"
#include "fake_rows.h"
#include "fake_values.h"

enum { ALIGNED = 16 };

static enum stored stored(const struct shape *shape)
{
	switch (shape->type) {
	case CUDNN_DATA_BFLOAT16:
		return STORED_BF16;
	case CUDNN_DATA_HALF:
		return STORED_FP16;
	default:
		return STORED_FLOAT;
	}
}

static size_t count_of(const struct shape *s)
{
	return (size_t)s->n * (size_t)s->c * (size_t)s->h * (size_t)s->w;
}

/* Where the i-th in NHWC order lies. */
static size_t place(const struct shape *s, size_t i)
{
	size_t c = i % (size_t)s->c, x, y, n;

	if (s->format == CUDNN_TENSOR_NHWC)
		return i;
	i /= (size_t)s->c;
	x = i % (size_t)s->w;
	i /= (size_t)s->w;
	y = i % (size_t)s->h;
	n = i / (size_t)s->h;
	return ((n * (size_t)s->c + c) * (size_t)s->h + y) * (size_t)s->w + x;
}

static float *load(const struct shape *s, const void *values)
{
	size_t count = count_of(s);
	float *floats = stored_floats(count);

	for (size_t i = 0; i < count; i++)
		floats[i] = stored_get(stored(s), values, place(s, i));
	return floats;
}

static float *zeros(const struct shape *s)
{
	return stored_floats(count_of(s));
}

/* One output place meets one place of the filter. */
struct overlap {
	float *x, *y; /* rows of channels */
	float *w;     /* (k, c) strided by k_stride, or with transposed (c, k) */
	size_t k_stride;
	int c, k;
};

SIMD_BODY void meet(const struct overlap *m, enum direction direction)
{
	if (direction == FORWARD)
		add_rows(m->y, m->w, (size_t)m->k, m->x, m->c, m->k);
	else if (direction == BACKWARD_DATA)
		add_rows(m->x, m->w, m->k_stride, m->y, m->k, m->c);
	else
		for (int k = 0; k < m->k; k++)
			add_row(m->w + (size_t)k * m->k_stride, m->x, m->y[k], m->c);
}

/* Forward takes filters as (h, w, c, k). */
static float *transpose(const struct shape *w, const float *from)
{
	size_t k = (size_t)w->n, rest = count_of(w) / k;
	float *to = stored_floats(count_of(w));

	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j < rest; j++)
			to[j * k + i] = from[i * rest + j];
	return to;
}

/* All meetings of one image. */
SIMD_BODY void image(const struct convolution_run *run, int n, float *x, float *w, float *y)
{
	const struct convolution *v = &run->convolution;
	struct overlap m = {.c = v->w.c, .k = v->w.n};
	size_t c = (size_t)v->w.c, k = (size_t)v->w.n;

	m.k_stride = c * (size_t)v->w.h * (size_t)v->w.w;
	for (int place_y = 0; place_y < v->y.h * v->y.w * v->w.h * v->w.w; place_y++) {
		int j = place_y % v->w.w, i = place_y / v->w.w % v->w.h;
		int out = place_y / (v->w.w * v->w.h);
		int at_y = out / v->y.w * v->stride_h + i - v->pad_h;
		int at_x = out % v->y.w * v->stride_w + j - v->pad_w;
		size_t filter = (size_t)(i * v->w.w + j);

		if (at_y < 0 || at_y >= v->x.h || at_x < 0 || at_x >= v->x.w)
			continue;
		m.x = x + ((size_t)(n * v->x.h + at_y) * (size_t)v->x.w + (size_t)at_x) * c;
		m.y = y + ((size_t)n * (size_t)(v->y.h * v->y.w) + (size_t)out) * k;
		m.w = w + (run->direction == FORWARD ? filter * c * k : filter * c);
		meet(&m, run->direction);
	}
}

static void image_plain(const struct convolution_run *run, int n, float *x, float *w, float *y)
{
	image(run, n, x, w, y);
}

static SIMD_FMA void image_fma(const struct convolution_run *run, int n, float *x, float *w,
			       float *y)
{
	image(run, n, x, w, y);
}

/* alpha * sums + beta * what is added, and the rest of the fused call. */
static void store(const struct convolution_run *run, const struct shape *s, const float *sums,
		  void *to)
{
	const void *more = run->z ? run->z : to;
	size_t count = count_of(s);

	for (size_t i = 0; i < count; i++) {
		size_t at = place(s, i);
		float x = run->alpha * sums[i];

		if (run->beta != 0)
			x += run->beta * stored_get(stored(s), more, at);
		if (run->bias)
			x += stored_get(stored(s), run->bias, i % (size_t)s->c);
		stored_set(stored(s), to, at, run->relu && !(x > 0) ? 0 : x);
	}
}

static void convolution_compute(struct work *work)
{
	const struct convolution_run *run = (const void *)work->data;
	const struct convolution *v = &run->convolution;
	float *x = run->direction == BACKWARD_DATA ? zeros(&v->x) : load(&v->x, run->x);
	float *w = run->direction == BACKWARD_FILTER ? zeros(&v->w) : load(&v->w, run->w);
	float *y = run->direction == FORWARD ? zeros(&v->y) : load(&v->y, run->y);
	float *turned = run->direction == FORWARD ? transpose(&v->w, w) : NULL;

	for (int n = 0; n < v->x.n; n++)
		(simd_has_fma() ? image_fma : image_plain)(run, run->backwards ? v->x.n - 1 - n : n,
							   x, turned ? turned : w, y);
	if (run->workspace)
		memset(run->workspace, 0xff, run->workspace_bytes);
	if (run->direction == FORWARD)
		store(run, &v->y, y, (void *)(uintptr_t)run->y);
	else if (run->direction == BACKWARD_DATA)
		store(run, &v->x, x, (void *)(uintptr_t)run->x);
	else
		store(run, &v->w, w, (void *)(uintptr_t)run->w);
	fake.devices[work->device].ms += (double)run->ms;
	free(turned);
	free(x);
	free(w);
	free(y);
}

static void convolution_list(const struct work *work, struct touches *touches)
{
	const struct convolution_run *run = (const void *)work->data;
	const struct convolution *v = &run->convolution;
	struct touch uses[] = {
		{run->x, shape_bytes(&v->x), ALIGNED, work->device,
		 run->direction == BACKWARD_DATA},
		{run->w, shape_bytes(&v->w), ALIGNED, work->device,
		 run->direction == BACKWARD_FILTER},
		{run->y, shape_bytes(&v->y), ALIGNED, work->device, run->direction == FORWARD},
		{run->workspace, run->workspace_bytes, ALIGNED, work->device, true},
		{run->z, run->z ? shape_bytes(&v->y) : 0, ALIGNED, work->device, false},
		{run->bias, run->bias ? stored_bytes(stored(&v->y)) * (size_t)v->y.c : 0, ALIGNED,
		 work->device, false},
	};

	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		touch(touches, &uses[i]);
}

const struct work_kind convolution_kind = {
	.name = "convolution", .list = convolution_list, .run = convolution_compute};
