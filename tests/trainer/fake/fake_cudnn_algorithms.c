/* SPDX-License-Identifier: MIT */
/* cuDNN's algorithms as they are pretended: which there are, what they want, what they cost. */
#include "config.h"

#include "fake_cudnn.h"

/* The shapes that an algorithm is for. */
enum { ANY, TILES = 1, NCHW_ONLY = 2, POINTS = 4 };

struct known {
	int number, needs;
	bool deterministic, allocates;
	float ms;
	size_t workspace;
};

enum { KNOWN = 5 };

/* In the order of the heuristics: not by time, nor by whether they are deterministic or can be
 * recorded, nor by workspace. So a caller who just takes the first fails a test, and one who just
 * takes the fastest does too. The fastest that run round more than others. */
static const struct known known[DIRECTIONS][KNOWN] = {
	[FORWARD] =
		{
			{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, ANY, true, false, 16,
			 1000},
			{CUDNN_CONVOLUTION_FWD_ALGO_GEMM, ANY, true, false, 1, (size_t)1 << 40},
			{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, ANY, true, false, 8, 0},
			{CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, TILES, true, false, 2, 8192},
			{CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, POINTS, true, false, 0.5F, 4096},
		},
	[BACKWARD_DATA] =
		{
			{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, ANY, false, false, 16, 0},
			{CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, TILES, true, true, 4,
			 8192},
			{CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, ANY, true, false, 32, 2000},
			{CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, TILES, true, false, 8, 4096},
		},
	[BACKWARD_FILTER] =
		{
			{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, ANY, true, false, 32, 3000},
			{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, ANY, false, false, 16, 0},
			{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, NCHW_ONLY, false, false, 12, 512},
			{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, TILES | NCHW_ONLY,
			 true, false, 48, 8192},
			{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, TILES, true, false, 8, 4096},
		},
};

/* Each in two kinds of arithmetic: halves by tensor cores or without, which is slower and wants
 * more room; floats by TF32 or, far faster, as halves. */
static int kinds_of(const struct convolution *v, cudnnMathType_t kinds[2])
{
	bool half = v->x.type != CUDNN_DATA_FLOAT;

	if (v->math == CUDNN_FMA_MATH) {
		kinds[0] = CUDNN_FMA_MATH;
		return 1;
	}
	kinds[0] = half ? CUDNN_TENSOR_OP_MATH : CUDNN_DEFAULT_MATH;
	kinds[1] = half ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
	return 2;
}

static struct algorithm in_kind(const struct known *k, const struct convolution *v,
				cudnnMathType_t math)
{
	struct algorithm a = {.number = k->number,
			      .deterministic = k->deterministic,
			      .allocates = k->allocates,
			      .ms = k->ms,
			      .workspace = k->workspace,
			      .math = math,
			      .fused_workspace = k->needs & POINTS ? (size_t)1 << 20 : 0};
	bool slow = v->x.type != CUDNN_DATA_FLOAT && math == CUDNN_DEFAULT_MATH;

	if (slow)
		a.workspace += 256;
	if (slow || math == CUDNN_FMA_MATH)
		a.ms *= 3;
	if (math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
		a.ms /= 8;
	return a;
}

static bool suits(const struct known *k, const struct convolution *v)
{
	bool tiles = v->w.h == 3 && v->w.w == 3 && v->stride_h == 1 && v->stride_w == 1;

	return k->ms > 0 && (!(k->needs & TILES) || tiles) &&
	       (!(k->needs & POINTS) || (v->w.h == 1 && v->w.w == 1)) &&
	       (!(k->needs & NCHW_ONLY) || v->w.format == CUDNN_TENSOR_NCHW);
}

int algorithms_of(const struct convolution *v, enum direction direction,
		  struct algorithm *algorithms)
{
	cudnnMathType_t kinds[2];
	int count = 0, of_each = kinds_of(v, kinds);

	for (int kind = 0; kind < of_each; kind++)
		for (int i = 0; i < KNOWN; i++)
			if (suits(&known[direction][i], v))
				algorithms[count++] = in_kind(&known[direction][i], v, kinds[kind]);
	return count;
}

cudnnStatus_t algorithm_find(const struct convolution *v, enum direction direction, int number,
			     struct algorithm *algorithm)
{
	for (int i = 0; i < KNOWN; i++)
		if (known[direction][i].number == number && suits(&known[direction][i], v)) {
			*algorithm = in_kind(&known[direction][i], v, v->math);
			return CUDNN_STATUS_SUCCESS;
		}
	return CUDNN_STATUS_NOT_SUPPORTED;
}
