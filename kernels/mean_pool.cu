/* SPDX-License-Identifier: MIT */
/* A thread has WIDTH neighbouring channels and some places of a sample (launch_samples()). */
#include "kernels/columns.cuh"

template <typename T, int WIDTH>
static __global__ void RESIDENT(6)
	take_means(const struct mean_pool_args a, const struct launch_columns l)
{
	__shared__ float parts[WIDTH * LAUNCH_THREADS];
	int64_t column = ((int64_t)blockIdx.x * l.across + threadIdx.x % l.across) * WIDTH;
	int64_t places = column < a.padded ? a.places : 0;

	for (int64_t n = blockIdx.y; n < a.batch; n += gridDim.y) {
		const T *input = (const T *)a.input + n * a.places * a.padded + column;
		float mine[WIDTH] = {0};

		for (int64_t place = threadIdx.x / l.across; place < places; place += l.down) {
			vector<T, WIDTH> v = load<T, WIDTH>(input + place * a.padded);

#pragma unroll
			for (int k = 0; k < WIDTH; k++)
				mine[k] += to_float(v.values[k]);
		}
		add_down<WIDTH>(mine, l.across, parts);
		if ((int)threadIdx.x >= l.across)
			continue;
		for (int k = 0; k < WIDTH; k++)
			if (column + k < a.channels)
				set_float((T *)a.output + n * a.channels + column + k,
					  __fdiv_rn(mine[k], (float)a.places));
	}
}

template <typename T>
static cudaError_t launch_means(const struct mean_pool_args *args, cudaStream_t stream)
{
	return launch_width(take_means<T, wide<T>>, take_means<T, 1>, *args,
			    launch_samples(args->batch, args->places, args->padded, args->type),
			    stream);
}

extern "C" cudaError_t kernel_mean_pool(const struct mean_pool_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_means, args, stream);
}

template <typename T, int WIDTH>
static __global__ void RESIDENT(8)
	share_gradients(const struct mean_pool_backward_args a, const struct launch_columns l)
{
	int64_t column = ((int64_t)blockIdx.x * l.across + threadIdx.x % l.across) * WIDTH;

	if (column >= a.padded)
		return;
	for (int64_t n = blockIdx.y; n < a.batch; n += gridDim.y) {
		const T *gradient = (const T *)a.output_gradient + n * a.channels + column;
		T *to = (T *)a.input_gradient + n * a.places * a.padded + column;
		vector<T, WIDTH> v;

#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			set_float(&v.values[k],
				  column + k < a.channels
					  ? __fdiv_rn(to_float(gradient[k]), (float)a.places)
					  : 0);
		for (int64_t place = threadIdx.x / l.across; place < a.places; place += l.down)
			store(to + place * a.padded, v);
	}
}

template <typename T>
static cudaError_t launch_shares(const struct mean_pool_backward_args *args, cudaStream_t stream)
{
	return launch_width(share_gradients<T, wide<T>>, share_gradients<T, 1>, *args,
			    launch_samples(args->batch, args->places, args->padded, args->type),
			    stream);
}

extern "C" cudaError_t kernel_mean_pool_backward(const struct mean_pool_backward_args *args,
						 cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_shares, args, stream);
}
