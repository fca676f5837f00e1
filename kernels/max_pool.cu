/* SPDX-License-Identifier: MIT */
/* A thread has WIDTH neighbouring channels of a place. KERNEL is the window's side; 0: any. */
#include "kernels/columns.cuh"

/* A place of (batch, height, width). */
struct place {
	int64_t n;
	int32_t y, x;
};

static __device__ inline struct place place_of(int64_t row, int32_t height, int32_t width)
{
	int64_t line = row / width;
	struct place place = {line / height, (int32_t)(line % height), (int32_t)(row % width)};

	return place;
}

/* The greatest value so far, and its place in the window; -1: none. */
template <typename T, int WIDTH> struct greatest {
	vector<T, WIDTH> max;
	int places[WIDTH];
};

template <typename T, int WIDTH>
static __device__ inline void take_greater(struct greatest<T, WIDTH> *g,
					   const vector<T, WIDTH> &values, int place)
{
#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		float value = to_float(values.values[k]);

		if (g->places[k] < 0 || value > to_float(g->max.values[k]) || value != value) {
			g->max.values[k] = values.values[k];
			g->places[k] = place;
		}
	}
}

template <typename T, int WIDTH, int KERNEL>
static __device__ inline struct greatest<T, WIDTH>
pool_window(const struct max_pool_args &a, const struct place &o, int32_t channel) {
	const struct max_pool_shape &s = a.shape;
	const int side = KERNEL ? KERNEL : s.kernel;
	int32_t y = o.y * s.stride - s.pad, x = o.x * s.stride - s.pad;
	const T *input = (const T *)a.input + o.n * s.height * s.width * s.channels + channel;
	struct greatest<T, WIDTH> g;

#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		set_float(&g.max.values[k], 0);
		g.places[k] = -1;
	}
#pragma unroll KERNEL ? KERNEL : 1
	for (int i = 0; i < side; i++)
#pragma unroll KERNEL ? KERNEL : 1
		for (int j = 0; j < side; j++) {
			int64_t at = ((int64_t)(y + i) * s.width + x + j) * s.channels;
			int place = i * side + j;

			if (y + i >= 0 && y + i < s.height && x + j >= 0 && x + j < s.width)
				take_greater(&g, load<T, WIDTH>(input + at), place);
		}
	return g;
}

template <typename T, int WIDTH, int KERNEL>
static __global__ void RESIDENT(4) pool_windows(const struct max_pool_args a, int64_t units)
{
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x;
	int32_t groups = a.shape.channels / WIDTH;

	for (int64_t i = first; i < units; i += step) {
		struct place o = place_of(i / groups, a.shape.out_height, a.shape.out_width);
		struct greatest<T, WIDTH> g =
			pool_window<T, WIDTH, KERNEL>(a, o, (int32_t)(i % groups) * WIDTH);
		vector<uint8_t, WIDTH> places;

		store((T *)a.output + i * WIDTH, g.max);
		if (!a.places)
			continue;
#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			places.values[k] = (uint8_t)g.places[k];
		store(a.places + i * WIDTH, places);
	}
}

template <typename T, int WIDTH>
static cudaError_t launch_pool_width(const struct max_pool_args *args, cudaStream_t stream)
{
	const struct max_pool_shape *s = &args->shape;
	int64_t units = s->batch * s->out_height * s->out_width * (s->channels / WIDTH);
	struct launch l = launch_elements(units);

	if (s->kernel == 2)
		return launch_kernel(pool_windows<T, WIDTH, 2>, l, stream, *args, units);
	if (s->kernel == 3)
		return launch_kernel(pool_windows<T, WIDTH, 3>, l, stream, *args, units);
	return launch_kernel(pool_windows<T, WIDTH, 0>, l, stream, *args, units);
}

template <typename T>
static cudaError_t launch_pool(const struct max_pool_args *args, cudaStream_t stream)
{
	if (args->shape.channels % wide<T> == 0)
		return launch_pool_width<T, wide<T>>(args, stream);
	return launch_pool_width<T, 1>(args, stream);
}

extern "C" cudaError_t kernel_max_pool(const struct max_pool_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_pool, args, stream);
}

/* The outputs from `first` up to `last` whose windows have a place of a line. */
struct outputs {
	int32_t first, last;
};

static __device__ inline struct outputs outputs_of(const struct max_pool_shape &s, int32_t at,
						   int32_t size)
{
	int32_t behind = at + s.pad - s.kernel; /* where the last window that misses it begins */
	struct outputs o = {behind < 0 ? 0 : behind / s.stride + 1, (at + s.pad) / s.stride};

	o.last = o.last < size ? o.last : size - 1;
	return o;
}

/* Adds the gradients of an output whose value is at `place` of its window. */
template <typename T, int WIDTH>
static __device__ inline void take_gradient(const struct max_pool_backward_args &a, int64_t at,
					    int place, float (&sum)[WIDTH])
{
	vector<uint8_t, WIDTH> places = load<uint8_t, WIDTH>(a.places + at);
	vector<T, WIDTH> g = load<T, WIDTH>((const T *)a.output_gradient + at);

	if (a.output)
		zero_unpassed(&g, load<T, WIDTH>((const T *)a.output + at));
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		if (places.values[k] == place)
			sum[k] = __fadd_rn(sum[k], to_float(g.values[k]));
}

/* The gradient of one place. */
template <typename T, int WIDTH>
static __device__ inline vector<T, WIDTH> gather(const struct max_pool_backward_args &a,
						 const struct place &p, int64_t channel)
{
	const struct max_pool_shape &s = a.shape;
	const struct outputs down = outputs_of(s, p.y, s.out_height);
	const struct outputs across = outputs_of(s, p.x, s.out_width);
	float sum[WIDTH] = {0};
	vector<T, WIDTH> v;

	for (int32_t y = down.first; y <= down.last; y++)
		for (int32_t x = across.first; x <= across.last; x++) {
			int64_t row = (p.n * s.out_height + y) * s.out_width + x;
			int i = p.y + s.pad - y * s.stride, j = p.x + s.pad - x * s.stride;

			take_gradient<T>(a, row * s.channels + channel, i * s.kernel + j, sum);
		}
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		set_float(&v.values[k], sum[k]);
	return v;
}

template <typename T, int WIDTH>
static __global__ void RESIDENT(4) unpool_windows(const struct max_pool_backward_args a,
						  const struct launch_columns l, int64_t rows)
{
	const struct column_place place = column_place(l);
	float mine[WIDTH] = {0};

	for (int64_t row = place.row; place.column < a.shape.channels && row < rows;
	     row += place.step) {
		vector<T, WIDTH> v = gather<T, WIDTH>(
			a, place_of(row, a.shape.height, a.shape.width), place.column);

		store((T *)a.input_gradient + row * a.shape.channels + place.column, v);
#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			mine[k] += to_float(v.values[k]);
	}
	if (a.sums)
		finish_columns<WIDTH>(mine, l, a.shape.channels, a.sums, a.scratch);
}

template <typename T>
static cudaError_t launch_unpool(const struct max_pool_backward_args *args, cudaStream_t stream)
{
	const struct max_pool_shape *s = &args->shape;
	int64_t rows = max_pool_inputs(s);
	struct launch_columns l = args->sums ? launch_columns(rows, s->channels, s->type)
					     : launch_columns_apart(rows, s->channels, s->type);

	if (rows <= 0 && !args->sums)
		return cudaSuccess;
	return launch_width(unpool_windows<T, wide<T>>, unpool_windows<T, 1>, *args, l, stream,
			    rows);
}

extern "C" cudaError_t kernel_max_pool_backward(const struct max_pool_backward_args *args,
						cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_unpool, args, stream);
}
