/* SPDX-License-Identifier: MIT */
#include "kernels/softmax.cuh"

enum {
	LANES = 32,
	WARPS = LAUNCH_THREADS / LANES,
	WARP_ROWS = LINEAR_LOSS_WARP_ROWS,
	WARP_CLASSES = LANES / WARP_ROWS,
	FEW_CLASSES = LINEAR_LOSS_FEW_CLASSES,
	SUMMED = 16, /* values of a lane whose sums over warps are taken at a time */
};

static_assert((int)LINEAR_LOSS_FEATURES == (int)LANES, "a lane has a feature");

/* --- logits, and their gradients ---------------------------------------------------------------
 */

/* The sums over a warp of each lane's 32 values: lane i gets that of value i, in values[0]. Each of
 * the five calls halves the number of values. */
template <int HALF> static __device__ inline void sum_each(float (&values)[LANES])
{
	bool upper = threadIdx.x & HALF;

#pragma unroll
	for (int i = 0; i < HALF; i++) {
		float kept = upper ? values[i + HALF] : values[i];
		float given = upper ? values[i] : values[i + HALF];

		values[i] = kept + __shfl_xor_sync(0xffffffff, given, HALF);
	}
	if constexpr (HALF > 1)
		sum_each<HALF / 2>(values);
}

/* Without bias, of WARP_ROWS rows from `row` on and WARP_CLASSES classes from `first` on: lane i
 * gets that of row i / WARP_CLASSES and class i % WARP_CLASSES. */
template <typename T, int WIDTH>
static __device__ inline float logits_of(const struct linear_loss_args &a, int64_t row, int first)
{
	const T *input = (const T *)a.input + row * a.features;
	const T *weight = (const T *)a.weight + first * a.features;
	float sums[LANES] = {0};

	for (int64_t f = threadIdx.x % LANES * WIDTH; f < a.features; f += LANES * WIDTH) {
		vector<T, WIDTH> x[WARP_ROWS] = {};

#pragma unroll
		for (int r = 0; r < WARP_ROWS; r++)
			if (row + r < a.batch)
				x[r] = load<T, WIDTH>(input + r * a.features + f);
#pragma unroll
		for (int c = 0; c < WARP_CLASSES; c++) {
			vector<T, WIDTH> w;

			if (first + c >= a.classes)
				continue;
			w = load<T, WIDTH>(weight + c * a.features + f);
#pragma unroll
			for (int r = 0; r < WARP_ROWS; r++)
#pragma unroll
				for (int k = 0; k < WIDTH; k++)
					sums[r * WARP_CLASSES + c] +=
						to_float(x[r].values[k]) * to_float(w.values[k]);
		}
	}
	sum_each<LANES / 2>(sums);
	return sums[0];
}

/* A ticket for each block x, to find its last block y. */
static __device__ inline unsigned *tickets_of(const struct linear_loss_args &a,
					      const struct linear_loss_launch &l)
{
	return (unsigned *)((char *)a.scratch + KERNEL_TICKET_BYTES +
			    l.row_blocks * sizeof(struct loss_result));
}

static __device__ inline struct cross_entropy_args loss_args(const struct linear_loss_args &a,
							     void *logits)
{
	struct cross_entropy_args loss = {};

	loss.logits = loss.gradient = logits;
	loss.labels = a.labels;
	loss.control = a.control;
	loss.scaler = a.scaler;
	loss.result = a.result;
	loss.overwrite = a.overwrite;
	loss.scratch = a.scratch;
	loss.batch = a.batch;
	loss.classes = loss.pitch = a.classes;
	loss.type = a.type;
	return loss;
}

/* The gradients of WARP_ROWS rows of logits from `row` on, in `logits` (batch, classes). */
template <typename T, int WIDTH>
static __device__ inline void take_warp_rows(const struct linear_loss_args &a, int lanes,
					     int64_t row, T *logits, double *loss,
					     long long *correct)
{
	struct cross_entropy_args of_rows = loss_args(a, logits);
	const T *bias = (const T *)a.bias;
	int lane = (int)threadIdx.x % LANES;

	for (int first = 0; first < a.classes; first += WARP_CLASSES) {
		float sum = logits_of<T, WIDTH>(a, row, first);
		int64_t n = row + lane / WARP_CLASSES;
		int c = first + lane % WARP_CLASSES;

		if (n < a.batch && c < a.classes)
			set_float(&logits[n * a.classes + c], sum + to_float(bias[c]));
	}
	__syncwarp();
	for (int first = 0; first < WARP_ROWS; first += LANES / lanes) {
		int r = first + lane / lanes;

		take_row<T>(of_rows, r < WARP_ROWS ? row + r : a.batch, lanes, loss, correct);
	}
}

template <typename T, int WIDTH>
static __global__ void RESIDENT(2)
	take_logits(const struct linear_loss_args a, const struct linear_loss_launch l)
{
	int64_t at = ((int64_t)blockIdx.x * WARPS + threadIdx.x / LANES) * WARP_ROWS;
	unsigned *tickets = tickets_of(a, l);
	double loss = 0;
	long long correct = 0;

	if (blockIdx.x == 0 && l.blocks_y > 1)
		for (unsigned x = threadIdx.x; x < l.blocks_x; x += LAUNCH_THREADS)
			tickets[x] = 0;
	for (; at < a.batch; at += (int64_t)gridDim.x * WARPS * WARP_ROWS)
		take_warp_rows<T, WIDTH>(a, l.lanes, at, (T *)a.gradient, &loss, &correct);
	finish_loss(loss_args(a, a.gradient), loss, correct);
}

/* --- sums --------------------------------------------------------------------------------------
 */

/* The gradients of logits that a block has read, 0 beside the classes. */
template <int CLASSES>
static constexpr int tile_rows = CLASSES == FEW_CLASSES ? LINEAR_LOSS_ROWS : LINEAR_LOSS_FEWER_ROWS;
template <int CLASSES> static constexpr int tile_values = tile_rows<CLASSES> *CLASSES;

/* What a lane sums: the gradients of its feature's weights and input, and of the biases of classes
 * lane, lane + LANES, ... */
template <int CLASSES> static constexpr int lane_classes = (CLASSES + LANES - 1) / LANES;
template <int CLASSES> struct column_sums {
	float weight[CLASSES], input, bias[lane_classes<CLASSES>];
};

/* Reads the tile's `rows` rows from the gradients of logits of the row `first` on. */
template <typename T, int CLASSES>
static __device__ inline void read_tile(const struct linear_loss_args &a, const T *gradient,
					int64_t first, int rows, float *tile)
{
	for (int i = (int)threadIdx.x; i < rows * CLASSES; i += LAUNCH_THREADS) {
		int c = i % CLASSES;
		int64_t n = first + i / CLASSES;

		tile[i] = c < a.classes ? to_float(gradient[n * a.classes + c]) : 0;
	}
	__syncthreads();
}

/* One row with its input x and gradients of logits g. */
template <typename T, int CLASSES>
static __device__ inline void add_row(const struct linear_loss_args &a, const float *g, float x,
				      const float (&weight)[CLASSES], int64_t n, int64_t feature,
				      struct column_sums<CLASSES> *sums)
{
	float input = 0;

#pragma unroll
	for (int c = 0; c < CLASSES; c += 4) {
		const vector<float, 4> v = load<float, 4>(g + c);

#pragma unroll
		for (int k = 0; k < 4; k++) {
			sums->weight[c + k] += v.values[k] * x;
			input += v.values[k] * weight[c + k];
		}
	}
	if (!a.input_gradient || feature >= a.features)
		return;
	if (a.relu && !(x > 0))
		input = 0;
	set_float((T *)a.input_gradient + n * a.features + feature, input);
	sums->input += input;
}

/* The rows of a tile: every eighth is a warp's. */
template <typename T, int CLASSES>
static __device__ inline void add_tile(const struct linear_loss_args &a, const float *tile,
				       int64_t first, int rows, const float (&weight)[CLASSES],
				       int64_t feature, struct column_sums<CLASSES> *sums)
{
	enum { AT_ONCE = 4 };
	const T *input = (const T *)a.input + first * a.features + feature;

	for (int r = (int)threadIdx.x / LANES; r < rows; r += AT_ONCE * WARPS) {
		float x[AT_ONCE];

#pragma unroll
		for (int i = 0; i < AT_ONCE; i++) {
			int row = r + i * WARPS;

			x[i] = row < rows && feature < a.features
				       ? to_float(input[row * a.features])
				       : 0;
		}
#pragma unroll
		for (int i = 0; i < AT_ONCE; i++) {
			int row = r + i * WARPS;

			if (row < rows)
				add_row<T, CLASSES>(a, tile + row * CLASSES, x[i], weight,
						    first + row, feature, sums);
		}
	}
	if (blockIdx.x != 0)
		return;
	for (int r = (int)threadIdx.x / LANES; r < rows; r += WARPS)
#pragma unroll
		for (int k = 0; k < lane_classes<CLASSES>; k++) {
			int c = k * LANES + (int)threadIdx.x % LANES;

			if (c < CLASSES)
				sums->bias[k] += tile[r * CLASSES + c];
		}
}

/* Where sums go: to the gradients, or to what the last block adds. */
struct sums_place {
	float *weight, *input, *bias;
};

static __device__ inline struct sums_place
partial_place(const struct linear_loss_args &a, const struct linear_loss_launch &l, unsigned y)
{
	float *partial = (float *)(tickets_of(a, l) + l.blocks_x) + y * l.partial;
	struct sums_place place = {partial, partial + a.classes * a.features,
				   partial + (a.classes + 1) * a.features};

	return place;
}

/* Adds COUNT values of each lane over the warps; sum(k, value) gets that of value k. */
template <int COUNT, typename Sum>
static __device__ inline void add_warps(const float *mine, float *parts, const Sum &sum)
{
	int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;

	__syncthreads(); /* parts may still be read */
#pragma unroll
	for (int k = 0; k < COUNT; k++)
		parts[(warp * COUNT + k) * LANES + lane] = mine[k];
	__syncthreads();
	for (int k = warp; k < COUNT; k += WARPS) {
		float all = 0;

#pragma unroll
		for (int w = 0; w < WARPS; w++)
			all += parts[(w * COUNT + k) * LANES + lane];
		sum(k, all);
	}
}

/* The sums over a block's rows. */
template <int CLASSES>
static __device__ inline void write_sums(const struct linear_loss_args &a,
					 const struct column_sums<CLASSES> &sums, int64_t feature,
					 const struct sums_place &to)
{
	__shared__ float parts[WARPS * SUMMED * LANES];

#pragma unroll
	for (int first = 0; first < CLASSES; first += SUMMED)
		add_warps<SUMMED>(sums.weight + first, parts, [&](int k, float sum) {
			if (first + k < a.classes && feature < a.features)
				to.weight[(first + k) * a.features + feature] = sum;
		});
	add_warps<1>(&sums.input, parts, [&](int, float sum) {
		if (to.input && feature < a.features)
			to.input[feature] = sum;
	});
	if (blockIdx.x == 0)
		add_warps<lane_classes<CLASSES>>(sums.bias, parts, [&](int k, float sum) {
			int c = k * LANES + (int)threadIdx.x % LANES;

			if (c < a.classes)
				to.bias[c] = sum;
		});
}

/* One sum over all y; `at` is its place among those of a y. */
static __device__ inline float add_blocks(const float *partial, const struct linear_loss_launch &l,
					  int64_t at)
{
	float sum = 0;

#pragma unroll 4
	for (unsigned y = 0; y < l.blocks_y; y++)
		sum += partial[y * l.partial + at];
	return sum;
}

/* The last block of an x adds what all of them left. */
static __device__ inline void finish_sums(const struct linear_loss_args &a,
					  const struct linear_loss_launch &l, int64_t feature,
					  const struct sums_place &to)
{
	const float *partial = partial_place(a, l, 0).weight;
	int64_t inputs = a.classes * a.features, biases = inputs + a.features;

	for (int c = (int)threadIdx.x / LANES; c < a.classes; c += WARPS)
		if (feature < a.features)
			to.weight[c * a.features + feature] =
				add_blocks(partial, l, c * a.features + feature);
	if (to.input && threadIdx.x < LANES && feature < a.features)
		to.input[feature] = add_blocks(partial, l, inputs + feature);
	if (blockIdx.x == 0 && (int)threadIdx.x < a.classes)
		to.bias[threadIdx.x] = add_blocks(partial, l, biases + threadIdx.x);
}

/* A block computes the gradients of all logits for itself. The first one also leaves them, and
 * adds the loss. */
template <typename T, int CLASSES, int WIDTH>
static __device__ inline void read_own_tile(const struct linear_loss_args &a, int lanes,
					    float *tile)
{
	__shared__ T logits[tile_values<CLASSES>];
	double loss = 0;
	long long correct = 0;

	for (int64_t row = (int)threadIdx.x / LANES * WARP_ROWS; row < a.batch;
	     row += WARPS * WARP_ROWS)
		take_warp_rows<T, WIDTH>(a, lanes, row, logits, &loss, &correct);
	__syncthreads();
	if (blockIdx.x == 0) {
		for (int64_t i = threadIdx.x; i < a.batch * a.classes; i += LAUNCH_THREADS)
			((T *)a.gradient)[i] = logits[i];
		add_to_result(a.result, a.overwrite, loss, correct);
	}
	read_tile<T, CLASSES>(a, logits, 0, (int)a.batch, tile);
}

/* WIDTH: of loads for logits; 0: their gradients have been computed. */
template <typename T, int CLASSES, int WIDTH>
static __global__ void RESIDENT(CLASSES == FEW_CLASSES ? 2 : 1)
	take_columns(const struct linear_loss_args a, const struct linear_loss_launch l)
{
	__shared__ vector<float, 4> tile[tile_values<CLASSES> / 4];
	int64_t feature = (int64_t)blockIdx.x * LANES + threadIdx.x % LANES;
	const struct sums_place to = {a.weight_gradient, a.input_sums, a.bias_gradient};
	struct column_sums<CLASSES> sums = {
	};
	float weight[CLASSES];

	if constexpr (WIDTH > 0)
		read_own_tile<T, CLASSES, WIDTH>(a, l.lanes, (float *)tile);
#pragma unroll
	for (int c = 0; c < CLASSES; c++)
		weight[c] = a.input_gradient && c < a.classes && feature < a.features
				    ? to_float(((const T *)a.weight)[c * a.features + feature])
				    : 0;
	for (int64_t first = (int64_t)blockIdx.y * l.rows; first < a.batch;
	     first += (int64_t)gridDim.y * l.rows) {
		int rows = a.batch - first < l.rows ? (int)(a.batch - first) : l.rows;

		if constexpr (WIDTH == 0) {
			__syncthreads(); /* the tile may still be read */
			read_tile<T, CLASSES>(a, (const T *)a.gradient, first, rows, (float *)tile);
		}
		add_tile<T, CLASSES>(a, (const float *)tile, first, rows, weight, feature, &sums);
	}
	if (l.blocks_y == 1) {
		write_sums<CLASSES>(a, sums, feature, to);
		return;
	}
	write_sums<CLASSES>(a, sums, feature, partial_place(a, l, blockIdx.y));
	if (comes_last(tickets_of(a, l) + blockIdx.x, l.blocks_y))
		finish_sums(a, l, feature, to);
}

template <typename T, int CLASSES>
static void launch_classes(const struct linear_loss_args *args, const struct linear_loss_launch *l,
			   bool vectors, cudaStream_t stream)
{
	dim3 grid(l->blocks_x, l->blocks_y);

	if (l->row_blocks)
		take_columns<T, CLASSES, 0><<<grid, LAUNCH_THREADS, 0, stream>>>(*args, *l);
	else if (vectors)
		take_columns<T, CLASSES, wide<T>><<<grid, LAUNCH_THREADS, 0, stream>>>(*args, *l);
	else
		take_columns<T, CLASSES, 1><<<grid, LAUNCH_THREADS, 0, stream>>>(*args, *l);
}

template <typename T>
static cudaError_t launch_linear_loss(const struct linear_loss_args *args, cudaStream_t stream)
{
	struct linear_loss_launch l;
	/* Vectors need the beginning of every row aligned. */
	bool vectors = args->features % wide<T> == 0 && launch_aligned(args->weight, 0);

	if (args->classes < 1 || args->classes > LINEAR_LOSS_MAX_CLASSES)
		return cudaErrorInvalidValue;
	l = linear_loss_launch(args->batch, args->features, args->classes);
	if (l.row_blocks && vectors)
		take_logits<T, wide<T>><<<l.row_blocks, LAUNCH_THREADS, 0, stream>>>(*args, l);
	else if (l.row_blocks)
		take_logits<T, 1><<<l.row_blocks, LAUNCH_THREADS, 0, stream>>>(*args, l);
	if (l.classes == FEW_CLASSES)
		launch_classes<T, FEW_CLASSES>(args, &l, vectors, stream);
	else
		launch_classes<T, LINEAR_LOSS_MAX_CLASSES>(args, &l, vectors, stream);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_linear_loss(const struct linear_loss_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_linear_loss, args, stream);
}
