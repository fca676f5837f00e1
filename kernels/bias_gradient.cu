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

template <typename T, int WIDTH>
static void launch_width(const struct bias_gradient_args *args, const struct launch_columns *l,
			 cudaStream_t stream)
{
	dim3 grid(l->blocks_x, l->blocks_y);

	if (args->output)
		sum_rows<T, WIDTH, true><<<grid, l->threads, 0, stream>>>(*args, *l);
	else
		sum_rows<T, WIDTH, false><<<grid, l->threads, 0, stream>>>(*args, *l);
}

template <typename T>
static cudaError_t launch_sums(const struct bias_gradient_args *args, cudaStream_t stream)
{
	struct launch_columns l = launch_columns(args->rows, args->columns, args->type);

	if (!l.blocks_x)
		return cudaSuccess;
	if (l.width > 1)
		launch_width<T, wide<T>>(args, &l, stream);
	else
		launch_width<T, 1>(args, &l, stream);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_bias_gradient(const struct bias_gradient_args *args,
					    cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_sums, args, stream);
}
