/* SPDX-License-Identifier: MIT */
/* See kernels.h. */
#include "kernels/columns.cuh"

/* Rows that a thread processes at a time. */
enum { AT_ONCE = 2 };

template <typename T, int WIDTH, bool RELU>
static __global__ void RESIDENT(4)
	sum_rows(const struct bias_gradient_args a, const struct launch_columns l)
{
	const struct column_place place = column_place(l);
	T *gradient = (T *)a.gradient;
	const T *output = (const T *)a.output;
	int64_t rows = place.column < a.columns ? a.rows : 0;
	float mine[WIDTH] = {0};

	for (int64_t row = place.row; row < rows; row += AT_ONCE * place.step) {
		vector<T, WIDTH> g[AT_ONCE], o[AT_ONCE];
		int64_t first = row * a.columns + place.column;

#pragma unroll
		for (int i = 0; i < AT_ONCE; i++) {
			int64_t at = first + i * place.step * a.columns;

			if (row + i * place.step >= rows)
				continue;
			g[i] = load<T, WIDTH>(gradient + at);
			if (RELU)
				o[i] = load<T, WIDTH>(output + at);
		}
#pragma unroll
		for (int i = 0; i < AT_ONCE; i++) {
			if (row + i * place.step >= rows)
				continue;
			if (RELU) {
				zero_unpassed(&g[i], o[i]);
				store(gradient + first + i * place.step * a.columns, g[i]);
			}
#pragma unroll
			for (int k = 0; k < WIDTH; k++)
				mine[k] += to_float(g[i].values[k]);
		}
	}
	finish_columns<WIDTH>(mine, l, a.columns, a.sums, a.scratch);
}

template <typename T>
static cudaError_t launch_sums(const struct bias_gradient_args *args, cudaStream_t stream)
{
	struct launch_columns l = launch_columns(args->rows, args->columns, args->type);

	return args->output ? launch_width(sum_rows<T, wide<T>, true>, sum_rows<T, 1, true>, *args,
					   l, stream)
			    : launch_width(sum_rows<T, wide<T>, false>, sum_rows<T, 1, false>,
					   *args, l, stream);
}

extern "C" cudaError_t kernel_bias_gradient(const struct bias_gradient_args *args,
					    cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_sums, args, stream);
}
