/* SPDX-License-Identifier: MIT */
/* KERNEL is the window's side; 0: any. A thread has WIDTH neighbouring channels. */
#include "kernels/columns.cuh"

/* The beginning of the window of output place `row` of (batch, height / kernel, width / kernel). */
struct window {
	int64_t image;
	int32_t y, x;
};

static __device__ inline struct window window_of(int64_t row, int32_t height, int32_t width,
						 int kernel)
{
	int32_t rows = height / kernel, columns = width / kernel;
	int64_t line = row / columns;
	struct window w = {line / rows, (int32_t)(line % rows) * kernel,
			   (int32_t)(row % columns) * kernel};

	return w;
}

/* The greatest value so far, and its place. */
template <typename T, int WIDTH> struct greatest {
	vector<T, WIDTH> max;
	vector<uint8_t, WIDTH> places;
};

template <typename T, int WIDTH>
static __device__ inline void take_greater(struct greatest<T, WIDTH> *g,
					   const vector<T, WIDTH> &values, int place)
{
#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		float value = to_float(values.values[k]);

		if (value > to_float(g->max.values[k]) || value != value) {
			g->max.values[k] = values.values[k];
			g->places.values[k] = (uint8_t)place;
		}
	}
}

template <typename T, int WIDTH, int KERNEL>
static __device__ inline struct greatest<T, WIDTH> pool_window(const T *input, int64_t line,
							       int32_t channels, int kernel) {
	struct greatest<T, WIDTH> g;
	const int side = KERNEL ? KERNEL : kernel;

	g.max = load<T, WIDTH>(input);
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		g.places.values[k] = 0;
#pragma unroll KERNEL ? KERNEL : 1
	for (int i = 0; i < side; i++)
#pragma unroll KERNEL ? KERNEL : 1
		for (int j = 0; j < side; j++)
			take_greater(&g, load<T, WIDTH>(input + i * line + (int64_t)j * channels),
				     i *side + j);
	return g;
}

template <typename T, int WIDTH, int KERNEL>
static __global__ void RESIDENT(6) pool_windows(const struct max_pool_args a, int64_t units)
{
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x, line = (int64_t)a.width * a.channels;
	int32_t groups = a.channels / WIDTH;
	const T *input = (const T *)a.input;

	for (int64_t i = first; i < units; i += step) {
		int32_t channel = (int32_t)(i % groups) * WIDTH;
		struct window w =
			window_of(i / groups, a.height, a.width, KERNEL ? KERNEL : a.kernel);
		int64_t at = (w.image * a.height + w.y) * line + (int64_t)w.x * a.channels;
		struct greatest<T, WIDTH> g = pool_window<T, WIDTH, KERNEL>(
			input + at + channel, line, a.channels, a.kernel);

		store((T *)a.output + i * WIDTH, g.max);
		if (a.places)
			store(a.places + i * WIDTH, g.places);
	}
}

/* Of output place `row` in windows of 2 x 2 without a rest: the place of the window's beginning.
 * row = line * columns + x becomes 2 line * 2 columns + 2 x. */
static __device__ inline uint32_t even_window(uint32_t row, uint32_t columns)
{
	return 4 * row - 2 * (row % columns);
}

/* max_pool_even(). All of a window is loaded before the first comparison. */
template <typename T, int WIDTH>
static __global__ void RESIDENT(8) pool_even(const struct max_pool_args a, uint32_t units)
{
	uint32_t step = gridDim.x * blockDim.x, columns = (uint32_t)a.width / 2;
	uint32_t channels = (uint32_t)a.channels, groups = channels / WIDTH;
	uint32_t line = (uint32_t)a.width * channels;

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < units; i += step) {
		uint32_t row = i / groups, channel = (i - row * groups) * WIDTH;
		const T *from =
			(const T *)a.input + (even_window(row, columns) * channels + channel);
		const vector<T, WIDTH> values[4] = {
			load<T, WIDTH>(from), load<T, WIDTH>(from + channels),
			load<T, WIDTH>(from + line), load<T, WIDTH>(from + line + channels)};
		struct greatest<T, WIDTH> g;

		g.max = values[0];
#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			g.places.values[k] = 0;
#pragma unroll
		for (int place = 1; place < 4; place++)
			take_greater(&g, values[place], place);
		store((T *)a.output + i * WIDTH, g.max);
		if (a.places)
			store(a.places + i * WIDTH, g.places);
	}
}

template <typename T, int WIDTH>
static cudaError_t launch_pool_width(const struct max_pool_args *args, cudaStream_t stream)
{
	int64_t places = (int64_t)(args->height / args->kernel) * (args->width / args->kernel);
	int64_t units = args->batch * places * (args->channels / WIDTH);
	struct launch l = launch_elements(units);

	if (!l.blocks)
		return cudaSuccess;
	if (max_pool_even(args->batch, args->height, args->width, args->channels, args->kernel))
		pool_even<T, WIDTH><<<l.blocks, l.threads, 0, stream>>>(*args, (uint32_t)units);
	else if (args->kernel == 2)
		pool_windows<T, WIDTH, 2><<<l.blocks, l.threads, 0, stream>>>(*args, units);
	else
		pool_windows<T, WIDTH, 0><<<l.blocks, l.threads, 0, stream>>>(*args, units);
	return cudaGetLastError();
}

template <typename T>
static cudaError_t launch_pool(const struct max_pool_args *args, cudaStream_t stream)
{
	if (args->channels % wide<T> == 0)
		return launch_pool_width<T, wide<T>>(args, stream);
	return launch_pool_width<T, 1>(args, stream);
}

extern "C" cudaError_t kernel_max_pool(const struct max_pool_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_pool, args, stream);
}

/*
 * Writes the gradients of a window's inputs. The last window of a line or an image also writes
 * zeros to the rest, which is in no window.
 */
template <typename T, int WIDTH, int KERNEL>
static __device__ inline void
give_window(const struct max_pool_backward_args &a, const struct window &w, int32_t channel,
	    const vector<T, WIDTH> &gradient, const vector<uint8_t, WIDTH> &places)
{
	const int side = KERNEL ? KERNEL : a.kernel;
	int32_t high = w.y + 2 * side > a.height ? a.height - w.y : side;
	int32_t broad = w.x + 2 * side > a.width ? a.width - w.x : side;
	int64_t at = (w.image * a.height + w.y) * a.width + w.x;
	T *to = (T *)a.input_gradient + at * a.channels + channel;

	for (int32_t i = 0; i < high; i++)
		for (int32_t j = 0; j < broad; j++) {
			int place = i < side && j < side ? i * side + j : -1;
			vector<T, WIDTH> v;

#pragma unroll
			for (int k = 0; k < WIDTH; k++) {
				v.values[k] = gradient.values[k];
				if (places.values[k] != place)
					set_float(&v.values[k], 0);
			}
			store(to + ((int64_t)i * a.width + j) * a.channels, v);
		}
}

template <typename T, int WIDTH, int KERNEL>
static __global__ void RESIDENT(4) unpool_windows(const struct max_pool_backward_args a,
						  const struct launch_columns l, int64_t rows)
{
	const struct column_place place = column_place(l);
	const T *output = (const T *)a.output, *gradient = (const T *)a.output_gradient;
	float mine[WIDTH] = {0};

	for (int64_t row = place.row; place.column < a.channels && row < rows; row += place.step) {
		int64_t at = row * a.channels + place.column;
		struct window w = window_of(row, a.height, a.width, KERNEL ? KERNEL : a.kernel);
		vector<uint8_t, WIDTH> places = load<uint8_t, WIDTH>(a.places + at);
		vector<T, WIDTH> g = load<T, WIDTH>(gradient + at);

		if (output)
			zero_unpassed(&g, load<T, WIDTH>(output + at));
		give_window<T, WIDTH, KERNEL>(a, w, (int32_t)place.column, g, places);
#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			mine[k] += to_float(g.values[k]);
	}
	if (a.sums)
		finish_columns<WIDTH>(mine, l, a.channels, a.sums, a.scratch);
}

/* What a thread reads of an output place. */
template <typename T, int WIDTH> struct pooled {
	vector<T, WIDTH> gradient;
	vector<uint8_t, WIDTH> places;
};

template <typename T, int WIDTH>
static __device__ inline struct pooled<T, WIDTH> load_pooled(const struct max_pool_backward_args &a,
							     uint32_t at) {
	struct pooled<T, WIDTH> p;

	p.gradient = load<T, WIDTH>((const T *)a.output_gradient + at);
	p.places = load<uint8_t, WIDTH>(a.places + at);
	if (a.output)
		zero_unpassed(&p.gradient, load<T, WIDTH>((const T *)a.output + at));
	return p;
}

/* Writes a window at `to` and adds its gradients. */
template <typename T, int WIDTH>
static __device__ inline void give_even(T *to, uint32_t line, uint32_t channels,
					const struct pooled<T, WIDTH> &p, float (&mine)[WIDTH])
{
#pragma unroll
	for (int place = 0; place < 4; place++) {
		vector<T, WIDTH> v = p.gradient;

#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			if (p.places.values[k] != place)
				set_float(&v.values[k], 0);
		store(to + (place / 2 * line + place % 2 * channels), v);
	}
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		mine[k] += to_float(p.gradient.values[k]);
}

/* max_pool_even(). The order of the sums allows four blocks on a multiprocessor (launch_columns()),
 * so each thread loads two rows before it writes them. */
template <typename T, int WIDTH>
static __global__ void RESIDENT(4) unpool_even(const struct max_pool_backward_args a,
					       const struct launch_columns l, uint32_t rows)
{
	const struct column_place place = column_place(l);
	uint32_t channels = (uint32_t)a.channels, line = (uint32_t)a.width * channels;
	uint32_t columns = (uint32_t)a.width / 2, step = (uint32_t)place.step;
	uint32_t column = (uint32_t)place.column, row = (uint32_t)place.row;
	T *to = (T *)a.input_gradient;
	float mine[WIDTH] = {0};

	for (; column < channels && row < rows; row += 2 * step) {
		bool two = row + step < rows;
		struct pooled<T, WIDTH> first = load_pooled<T, WIDTH>(a, row * channels + column);
		struct pooled<T, WIDTH> second =
			two ? load_pooled<T, WIDTH>(a, (row + step) * channels + column) : first;

		give_even(to + (even_window(row, columns) * channels + column), line, channels,
			  first, mine);
		if (two)
			give_even(to + (even_window(row + step, columns) * channels + column), line,
				  channels, second, mine);
	}
	if (a.sums)
		finish_columns<WIDTH>(mine, l, a.channels, a.sums, a.scratch);
}

template <typename T, int WIDTH>
static cudaError_t launch_unpool_width(const struct max_pool_backward_args *args,
				       const struct launch_columns *l, int64_t rows,
				       cudaStream_t stream)
{
	dim3 grid(l->blocks_x, l->blocks_y);

	if (max_pool_even(args->batch, args->height, args->width, args->channels, args->kernel))
		unpool_even<T, WIDTH><<<grid, l->threads, 0, stream>>>(*args, *l, (uint32_t)rows);
	else if (args->kernel == 2)
		unpool_windows<T, WIDTH, 2><<<grid, l->threads, 0, stream>>>(*args, *l, rows);
	else
		unpool_windows<T, WIDTH, 0><<<grid, l->threads, 0, stream>>>(*args, *l, rows);
	return cudaGetLastError();
}

template <typename T>
static cudaError_t launch_unpool(const struct max_pool_backward_args *args, cudaStream_t stream)
{
	int64_t places = (int64_t)(args->height / args->kernel) * (args->width / args->kernel);
	int64_t rows = args->batch * places;
	struct launch_columns l = launch_columns(rows, args->channels, args->type);

	if (!l.blocks_x || (rows <= 0 && !args->sums))
		return cudaSuccess;
	if (l.width > 1)
		return launch_unpool_width<T, wide<T>>(args, &l, rows, stream);
	return launch_unpool_width<T, 1>(args, &l, rows, stream);
}

extern "C" cudaError_t kernel_max_pool_backward(const struct max_pool_backward_args *args,
						cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_unpool, args, stream);
}
