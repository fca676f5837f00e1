/* SPDX-License-Identifier: MIT */
/*
 * A block has the pixels of a piece in shared memory, the tile, with zeros around the image. Both
 * kernels are products of matrices (mma.cuh), in which the four pixels of a window are values of
 * one lane: a lane pools, and finds the pixel of a gradient, without the others.
 */
#include "kernels/mma.cuh"

enum {
	WARPS = LAUNCH_THREADS / 32,
	OUT = CONVOLUTION_POOL_OUT,
	AT_ONCE = 8, /* channels of the output that a lane loads and stores */
};

/* What a block computes at a time. */
struct piece {
	int64_t image, window; /* window: the first, of those of the batch */
	int32_t row, windows;  /* row: the first row of windows */
};

static __device__ inline struct piece piece_of(int64_t index, int32_t rows, int32_t of_image,
					       int32_t height, int32_t width)
{
	int32_t row = (int32_t)(index % of_image) * rows, columns = width / 2;
	int64_t image = index / of_image;
	struct piece p = {image, (image * (height / 2) + row) * columns, row,
			  min(rows, height / 2 - row) * columns};

	return p;
}

/* The pixels of a piece without padding; (2 * row - 1, -1) is the first. */
template <int CHANNELS, typename Args>
static __device__ inline void load_tile(uint16_t *tile, const Args &a, const struct piece &p)
{
	int32_t pitch = a.width + 2;
	int32_t pixels = (2 * (p.windows / (a.width / 2)) + 2) * pitch;
	const uint16_t *image =
		(const uint16_t *)a.input + p.image * a.height * a.width * CONVOLUTION_POOL_PIXEL;

	for (int32_t i = (int32_t)threadIdx.x; i < pixels; i += LAUNCH_THREADS) {
		int32_t y = 2 * p.row - 1 + i / pitch, x = i % pitch - 1;
		vector<uint16_t, 4> pixel = {{0}};

		if (y >= 0 && y < a.height && x >= 0 && x < a.width)
			pixel = load<uint16_t, 4>(image + ((int64_t)y * a.width + x) *
								  CONVOLUTION_POOL_PIXEL);
#pragma unroll
		for (int k = 0; k < CHANNELS; k++)
			tile[i * CHANNELS + k] = pixel.values[k];
	}
}

/* Where the input of weight k of a sum lies in the tile, from that of weight 0 on; -1: there is no
 * such weight. A row of the tile has `pitch` values. */
template <int CHANNELS> static __device__ inline int32_t input_offset(int k, int32_t pitch)
{
	const int row = 3 * CHANNELS;

	return k < 3 * row ? k / row * pitch + k % row : -1;
}

/* Where the input of weight 0 of a window lies in the tile, at the first of its pixels. */
template <int CHANNELS>
static __device__ inline int32_t window_offset(int32_t window, int32_t columns, int32_t pitch)
{
	return window / columns * 2 * pitch + window % columns * 2 * CHANNELS;
}

static __device__ inline uint32_t word_of(uint16_t low, uint16_t high)
{
	return low | (uint32_t)high << 16;
}

template <typename T> static __device__ inline uint16_t bits_of(float x)
{
	uint16_t bits;
	T value;

	set_float(&value, x);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* --- forward: rows of a are pixels, columns of b channels */

/* The channel of column n of product i, of those of the block. In four products after each other a
 * lane has AT_ONCE channels that lie together. */
static __device__ inline int channel_of(int i, int n)
{
	return i / 4 * 32 + n / 2 * AT_ONCE + i % 4 * 2 + n % 2;
}

/* For each product what its lanes have of b, two words for each of two steps of 16 weights; and the
 * bias. */
struct filters {
	uint4 words[OUT / 8][32];
	float bias[OUT];
};

template <typename T, int CHANNELS>
static __device__ inline uint16_t weight_of(const struct convolution_pool_args &a, int channel,
					    int k)
{
	const int taps = 9 * CHANNELS;

	return channel < a.out && k < taps ? bits_of<T>(a.weight[channel * taps + k]) : 0;
}

/* Each thread loads what one lane has of one product. */
template <typename T, int CHANNELS>
static __device__ inline void load_filters(struct filters *f, const struct convolution_pool_args &a,
					   int first)
{
	static_assert(OUT / 8 * 32 == (int)LAUNCH_THREADS, "a lane of a product for each thread");
	int lane = (int)threadIdx.x % 32, i = (int)threadIdx.x / 32, k = lane % 4 * 2;
	int channel = first + channel_of(i, lane / 4), own = first + (int)threadIdx.x;
	uint32_t words[4];

#pragma unroll
	for (int n = 0; n < 4; n++)
		words[n] = word_of(weight_of<T, CHANNELS>(a, channel, k + 8 * n),
				   weight_of<T, CHANNELS>(a, channel, k + 8 * n + 1));
	f->words[i][lane] = make_uint4(words[0], words[1], words[2], words[3]);
	if (threadIdx.x < OUT)
		f->bias[threadIdx.x] = own < a.out ? a.bias[own] : 0;
}

/* The inputs of the sums at the four pixels of a window, as words of a: of the upper two (rows g
 * and g + 8 of a product) and of the lower two, for both steps. */
struct inputs {
	uint32_t words[2][2][4];
};

template <int CHANNELS>
static __device__ inline struct inputs gather_inputs(const uint16_t *window,
						     const int32_t (&offsets)[8], int32_t pitch)
{
	struct inputs inputs;

#pragma unroll
	for (int pixel = 0; pixel < 4; pixel++) {
		const uint16_t *at = window + pixel / 2 * pitch + pixel % 2 * CHANNELS;

#pragma unroll
		for (int i = 0; i < 4; i++) {
			const bool all = 8 * i + 8 <= 9 * CHANNELS; /* no lane has -1 */
			int32_t low = offsets[2 * i], high = offsets[2 * i + 1];

			inputs.words[pixel / 2][i / 2][i % 2 * 2 + pixel % 2] = word_of(
				all || low >= 0 ? at[low] : 0, all || high >= 0 ? at[high] : 0);
		}
	}
	return inputs;
}

/* The values of AT_ONCE channels of a window, and their places. */
template <typename T> struct pooled {
	vector<T, AT_ONCE> values;
	unsigned places;
};

/* Takes channel 2 * i + k from the sums of the upper and the lower pixels. */
template <typename T>
static __device__ inline void pool_channel(struct pooled<T> *pooled, const float (&sums)[2][4],
					   int i, int k)
{
	float max = 0;
	unsigned place = 0;

#pragma unroll
	for (int pixel = 0; pixel < 4; pixel++) {
		float sum = sums[pixel / 2][pixel % 2 * 2 + k];

		if (!(sum <= max))
			place = (unsigned)pixel << 2 * (2 * i + k);
		max = max_or_nan(max, sum);
	}
	set_float(&pooled->values.values[2 * i + k], max);
	pooled->places |= place;
}

/* The channels of this lane in the first or the second `half` of the block's. */
template <typename T>
static __device__ inline struct pooled<T> pool_channels(const struct filters &f,
							const struct inputs &inputs, int half) {
	struct pooled<T> pooled;
	int lane = (int)threadIdx.x % 32;

	pooled.places = 0;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const uint4 words = f.words[half * 4 + i][lane];
		const uint32_t b[2][2] = {{words.x, words.y}, {words.z, words.w}};
		const float *bias = f.bias + channel_of(half * 4 + i, lane % 4 * 2);
		const float add[4] = {bias[0], bias[1], bias[0], bias[1]};
		float sums[2][4];

#pragma unroll
		for (int row = 0; row < 2; row++) {
			multiply<T>(sums[row], inputs.words[row][0], b[0], add);
			multiply<T>(sums[row], inputs.words[row][1], b[1], sums[row]);
		}
		pool_channel(&pooled, sums, i, 0);
		pool_channel(&pooled, sums, i, 1);
	}
	return pooled;
}

/* All channels of the block for the windows of the tile; a warp has eight at a time. */
template <typename T, int CHANNELS>
static __device__ inline void
pool_piece(const struct convolution_pool_args &a, const struct piece &p, const uint16_t *tile,
	   const struct filters &f, const int32_t (&offsets)[8], int32_t padded)
{
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
	int32_t columns = a.width / 2, pitch = (a.width + 2) * CHANNELS;

	for (int32_t first = warp * 8; first < p.windows; first += WARPS * 8) {
		int32_t own = first + lane / 4, window = min(own, p.windows - 1);
		struct inputs inputs = gather_inputs<CHANNELS>(
			tile + window_offset<CHANNELS>(window, columns, pitch), offsets, pitch);

#pragma unroll
		for (int half = 0; half < 2; half++) {
			struct pooled<T> pooled = pool_channels<T>(f, inputs, half);
			int32_t channel =
				(int32_t)blockIdx.y * OUT + half * 32 + lane % 4 * AT_ONCE;
			int64_t to = (p.window + own) * padded + channel;

			if (own >= p.windows || channel >= padded)
				continue;
			store((T *)a.output + to, pooled.values);
			a.places[to / AT_ONCE] = (uint16_t)pooled.places;
		}
	}
}

template <typename T, int CHANNELS>
static __global__ void RESIDENT(2) convolve_and_pool(const struct convolution_pool_args a,
						     const struct convolution_pool_launch l)
{
	__shared__ uint16_t tile[CONVOLUTION_POOL_TILE];
	__shared__ struct filters filters;
	int k = (int)threadIdx.x % 4 * 2;
	int32_t offsets[8], pitch = (a.width + 2) * CHANNELS;

#pragma unroll
	for (int i = 0; i < 8; i++)
		offsets[i] = input_offset<CHANNELS>(k + i / 2 * 8 + i % 2, pitch);
	load_filters<T, CHANNELS>(&filters, a, (int)blockIdx.y * OUT);
	for (int64_t i = blockIdx.x; i < l.pieces; i += gridDim.x) {
		const struct piece p = piece_of(i, l.rows, l.of_image, a.height, a.width);

		__syncthreads(); /* the tile may still be read */
		load_tile<CHANNELS>(tile, a, p);
		__syncthreads();
		pool_piece<T, CHANNELS>(a, p, tile, filters, offsets, l.padded);
	}
}

template <typename T, int CHANNELS>
static cudaError_t launch_forward(const struct convolution_pool_args *args, cudaStream_t stream)
{
	const struct convolution_pool_launch l = convolution_pool_launch(
		args->batch, args->height, args->width, args->channels, args->out);
	dim3 grid(l.blocks_x, l.blocks_y);

	if (l.pieces == 0)
		return cudaSuccess;
	if (!has_mma(convolve_and_pool<T, CHANNELS>))
		return cudaErrorNoKernelImageForDevice;
	convolve_and_pool<T, CHANNELS><<<grid, LAUNCH_THREADS, 0, stream>>>(*args, l);
	return cudaGetLastError();
}

/* --- backward: rows of a are weights, rows of b pixels, columns of b channels */

/* Sums of a lane: of two products, one below the other, for each of its channels. */
typedef float lane_sums[2][AT_ONCE][4];

/* The inputs of this lane's four weights in a window, as words of a. offsets: -1 for the bias,
 * whose input is 1, and for rows that nothing reads. */
template <typename T, int CHANNELS>
static __device__ inline void gather_columns(uint32_t (&words)[2][4], const uint16_t *window,
					     const int32_t (&offsets)[4], int32_t pitch)
{
	const uint16_t one = bits_of<T>(1);

#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int row = 0; row < 2; row++) {
			const bool all = 8 * i + 8 <= 9 * CHANNELS; /* no lane has -1 */
			const uint16_t *at = window + row * pitch + offsets[i];

			words[i / 2][row * 2 + i % 2] = all || offsets[i] >= 0
								? word_of(at[0], at[CHANNELS])
								: word_of(one, one);
		}
}

/* The gradients of AT_ONCE channels of a window, after ReLU, and their places. */
struct gradients {
	vector<uint16_t, AT_ONCE> bits;
	unsigned places;
};

template <typename T>
static __device__ inline struct gradients
load_gradients(const struct convolution_pool_backward_args &a, int64_t at)
{
	vector<T, AT_ONCE> values = load<T, AT_ONCE>((const T *)a.output_gradient + at);
	struct gradients g;

	zero_unpassed(&values, load<T, AT_ONCE>((const T *)a.output + at));
	memcpy(&g.bits, &values, sizeof(values));
	g.places = a.places[at / AT_ONCE];
	return g;
}

/* Adds what a window gives to the gradients of the weights. A lane's words of b are the upper and
 * the lower two pixels of its window, of which one has the gradient. */
template <typename T>
static __device__ inline void add_window(lane_sums &sums, const uint32_t (&inputs)[2][4],
					 const struct gradients &g)
{
#pragma unroll
	for (int i = 0; i < AT_ONCE; i++) {
		unsigned place = g.places >> 2 * i & 3;
		uint32_t word = (uint32_t)g.bits.values[i] << 16 * (place & 1);
		const uint32_t b[2] = {place < 2 ? word : 0, place < 2 ? 0 : word};

		multiply<T>(sums[0][i], inputs[0], b, sums[0][i]);
		multiply<T>(sums[1][i], inputs[1], b, sums[1][i]);
	}
}

/* Adds all windows of the tile; a warp has four at a time, and a lane the channels from `channel`
 * on. */
template <typename T, int CHANNELS>
static __device__ inline void
add_piece(lane_sums &sums, const struct convolution_pool_backward_args &a, const struct piece &p,
	  const uint16_t *tile, const int32_t (&offsets)[4], int32_t channel, int32_t padded)
{
	int32_t columns = a.width / 2, pitch = (a.width + 2) * CHANNELS;

	for (int32_t first = (int)threadIdx.x / 32 * 4; first < p.windows; first += WARPS * 4) {
		int32_t own = first + (int)threadIdx.x % 4, window = min(own, p.windows - 1);
		struct gradients g = {{{0}}, 0};
		uint32_t inputs[2][4];

		if (own < p.windows && channel < padded)
			g = load_gradients<T>(a, (p.window + own) * padded + channel);
		gather_columns<T, CHANNELS>(inputs,
					    tile + window_offset<CHANNELS>(window, columns, pitch),
					    offsets, pitch);
		add_window<T>(sums, inputs, g);
	}
}

/* Adds the sums of all warps, in the first one. parts: 32 floats for each lane of half of them. */
static __device__ inline void add_warps(lane_sums &sums, float *parts)
{
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;

#pragma unroll
	for (int half = 0; half < 2; half++)
		for (int n = WARPS / 2; n > 0; n /= 2) {
			float *part = parts + warp % n * 32 * 32 + lane;

			__syncthreads(); /* parts may still be read */
			if (warp >= n && warp < 2 * n)
#pragma unroll
				for (int i = 0; i < 32; i++)
					part[i * 32] = sums[half][i / 4][i % 4];
			__syncthreads();
			if (warp < n)
#pragma unroll
				for (int i = 0; i < 32; i++)
					sums[half][i / 4][i % 4] += part[i * 32];
		}
}

/* The sum over `count` lists of element i and the next three. */
static __device__ inline vector<float, 4> add_lists(const float *lists, unsigned count, int i)
{
	vector<float, 4> sum = {{0, 0, 0, 0}};

#pragma unroll 8
	for (unsigned n = 0; n < count; n++) {
		vector<float, 4> v = load<float, 4>(lists + (size_t)n * CONVOLUTION_POOL_SUMS + i);

		for (int k = 0; k < 4; k++)
			sum.values[k] += v.values[k];
	}
	return sum;
}

/* Writes element i of the list of block y to the gradient that it is of. A list has number n of
 * lane m of the first warp at 32 * n + m. */
template <int CHANNELS>
static __device__ inline void put_gradient(const struct convolution_pool_backward_args &a,
					   unsigned y, int i, float sum)
{
	const int taps = 9 * CHANNELS;
	int lane = i % 32, n = i / 32;
	int k = n / 32 * 16 + lane / 4 + n % 4 / 2 * 8;
	int channel = (int)y * OUT + (lane % 4 * 2 + n % 2) * AT_ONCE + n % 32 / 4;

	if (channel >= a.out)
		return;
	if (k < taps)
		a.weight_gradient[channel * taps + k] = sum;
	else if (k == taps)
		a.bias_gradient[channel] = sum;
}

/* Adds the sums of all blocks: those of a few, then those of the last ones of these. */
template <int CHANNELS>
static __device__ inline void add_blocks(const struct convolution_pool_backward_args &a,
					 const lane_sums &sums,
					 const struct convolution_pool_launch &l)
{
	unsigned *tickets = (unsigned *)a.scratch;
	unsigned some = blockIdx.y * l.summed + blockIdx.x / CONVOLUTION_POOL_SUMMED;
	unsigned first = blockIdx.x / CONVOLUTION_POOL_SUMMED * CONVOLUTION_POOL_SUMMED;
	unsigned count = min((unsigned)CONVOLUTION_POOL_SUMMED, gridDim.x - first);
	float *lists = (float *)((char *)a.scratch + KERNEL_TICKET_BYTES);
	float *blocks = lists + (size_t)blockIdx.y * gridDim.x * CONVOLUTION_POOL_SUMS;
	float *totals = lists + (size_t)gridDim.y * gridDim.x * CONVOLUTION_POOL_SUMS;

	if (threadIdx.x < 32)
#pragma unroll
		for (int n = 0; n < 64; n++)
			blocks[(size_t)blockIdx.x * CONVOLUTION_POOL_SUMS + n * 32 + threadIdx.x] =
				sums[n / 32][n % 32 / 4][n % 4];
	if (!comes_last(tickets + 1 + some, count))
		return;
	for (int i = 4 * (int)threadIdx.x; i < CONVOLUTION_POOL_SUMS; i += 4 * LAUNCH_THREADS)
		store(totals + (size_t)some * CONVOLUTION_POOL_SUMS + i,
		      add_lists(blocks + (size_t)first * CONVOLUTION_POOL_SUMS, count, i));
	if (!comes_last(tickets, gridDim.y * l.summed))
		return;
	for (unsigned y = 0; y < gridDim.y; y++)
		for (int i = 4 * (int)threadIdx.x; i < CONVOLUTION_POOL_SUMS;
		     i += 4 * LAUNCH_THREADS) {
			vector<float, 4> sum = add_lists(
				totals + (size_t)y * l.summed * CONVOLUTION_POOL_SUMS, l.summed, i);

			for (int k = 0; k < 4; k++)
				put_gradient<CHANNELS>(a, y, i + k, sum.values[k]);
		}
}

template <typename T, int CHANNELS>
static __global__ void RESIDENT(2) unpool_and_sum(const struct convolution_pool_backward_args a,
						  const struct convolution_pool_launch l)
{
	__shared__ uint16_t tile[CONVOLUTION_POOL_TILE];
	__shared__ float parts[WARPS / 2 * 32 * 32];
	int g = (int)threadIdx.x % 32 / 4;
	lane_sums sums = {{{0}}};
	int32_t offsets[4], pitch = (a.width + 2) * CHANNELS;

#pragma unroll
	for (int i = 0; i < 4; i++)
		offsets[i] = input_offset<CHANNELS>(g + 8 * i, pitch);
	for (int64_t i = blockIdx.x; i < l.pieces; i += gridDim.x) {
		const struct piece p = piece_of(i, l.rows, l.of_image, a.height, a.width);

		__syncthreads(); /* the tile may still be read */
		load_tile<CHANNELS>(tile, a, p);
		__syncthreads();
		add_piece<T, CHANNELS>(sums, a, p, tile, offsets,
				       (int32_t)blockIdx.y * OUT + g * AT_ONCE, l.padded);
	}
	add_warps(sums, parts);
	add_blocks<CHANNELS>(a, sums, l);
}

template <typename T, int CHANNELS>
static cudaError_t launch_backward(const struct convolution_pool_backward_args *args,
				   cudaStream_t stream)
{
	const struct convolution_pool_launch l = convolution_pool_launch(
		args->batch, args->height, args->width, args->channels, args->out);
	dim3 grid(l.blocks_x, l.blocks_y);

	if (!has_mma(unpool_and_sum<T, CHANNELS>))
		return cudaErrorNoKernelImageForDevice;
	unpool_and_sum<T, CHANNELS><<<grid, LAUNCH_THREADS, 0, stream>>>(*args, l);
	return cudaGetLastError();
}

/* return CALL<type, channels>(args, stream) of a half type. */
#define WITH_CHANNELS(type, CALL, args, stream) \
	return (args)->channels == 1   ? CALL<type, 1>(args, stream) \
	       : (args)->channels == 2 ? CALL<type, 2>(args, stream) \
				       : CALL<type, 3>(args, stream)
#define WITH_HALF_TYPE(CALL, args, stream) \
	if (!convolution_pool_has((args)->height, (args)->width, (args)->channels, (args)->out, \
				  (args)->type)) \
		return cudaErrorInvalidValue; \
	if ((args)->type == VALUE_BFLOAT16) \
		WITH_CHANNELS(__nv_bfloat16, CALL, args, stream); \
	WITH_CHANNELS(__half, CALL, args, stream)

extern "C" cudaError_t kernel_convolution_pool(const struct convolution_pool_args *args,
					       cudaStream_t stream)
{
	WITH_HALF_TYPE(launch_forward, args, stream);
}

extern "C" cudaError_t
kernel_convolution_pool_backward(const struct convolution_pool_backward_args *args,
				 cudaStream_t stream)
{
	WITH_HALF_TYPE(launch_backward, args, stream);
}
