/* SPDX-License-Identifier: MIT */
/* A thread has WIDTH neighbouring columns and goes through its rows (launch_columns()). */
#include "kernels/columns.cuh"

/* The columns of a thread in batch_norm_columns(), and the rows whose loads it begins together. */
enum { SUMMED = 4, MOMENTS_AT_ONCE = 4, GRADIENTS_AT_ONCE = 2 };

static __device__ inline int64_t rows_of(const struct batch_norm_shape &shape,
					 const struct pass_control *control)
{
	int64_t rows = control->rows * shape.places; /* batch_norm_rows() */

	return rows < shape.rows ? rows : shape.rows;
}

/* The sums after the partial ones. */
static __device__ inline float *sums_in(void *scratch, const struct batch_norm_shape &shape,
					unsigned blocks_y)
{
	return (float *)((char *)scratch + KERNEL_TICKET_BYTES) + 2 * blocks_y * shape.columns;
}

/* The values of a thread, which are `width` columns of some rows. */
struct values_of_thread {
	int64_t first, end, step;
};

static __device__ inline struct values_of_thread
values_in(const struct column_place &place, const struct batch_norm_shape &shape, int64_t rows)
{
	struct values_of_thread values = {place.row * shape.columns + place.column,
					  place.column < shape.columns ? rows * shape.columns : 0,
					  place.step * shape.columns};

	return values;
}

static __device__ inline float *saved_at(float *saved, const struct batch_norm_shape &shape,
					 enum batch_norm_saved which, int64_t column)
{
	return saved + which * shape.columns + column;
}

template <int WIDTH>
static __device__ inline vector<float, WIDTH> saved_of(const float *saved,
						       const struct batch_norm_shape &shape,
						       enum batch_norm_saved which, int64_t column)
{
	vector<float, WIDTH> v;

#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		v.values[k] = saved[which * shape.columns + column + k];
	return v;
}

/* What an output needs of `saved`. */
template <int WIDTH> struct line {
	vector<float, WIDTH> mean, scale, shift;
};

template <int WIDTH>
static __device__ inline struct line<WIDTH>
line_of(const float *saved, const struct batch_norm_shape &shape, int64_t column) {
	struct line<WIDTH> line;

	line.mean = saved_of<WIDTH>(saved, shape, BATCH_NORM_MEAN, column);
	line.scale = saved_of<WIDTH>(saved, shape, BATCH_NORM_SCALE, column);
	line.shift = saved_of<WIDTH>(saved, shape, BATCH_NORM_SHIFT, column);
	return line;
}

template <int WIDTH>
static __device__ inline float centred(const struct line<WIDTH> &line, int k, float input)
{
	return __fsub_rn(input, line.mean.values[k]);
}

template <int WIDTH>
static __device__ inline float output_of(const struct line<WIDTH> &line, int k, float x)
{
	return __fmaf_rn(x, line.scale.values[k], line.shift.values[k]);
}

/* --- forward --------------------------------------------------------------------------------- */

static __device__ inline void move(float *running, double momentum, double to)
{
	*running = (float)(__dmul_rn(1 - momentum, (double)*running) + __dmul_rn(momentum, to));
}

struct moments {
	double mean, variance;
};

/* Of `rows` values that differ from `first` by sum and, squared, by `squares` in all. */
static __device__ inline struct moments moments_of(double rows, double first, double sum,
						   double squares)
{
	struct moments m;

	m.mean = sum / rows;
	m.variance = squares / rows - m.mean * m.mean;
	m.variance = m.variance < 0 ? 0 : m.variance;
	m.mean += first;
	return m;
}

/* Moves the running moments of a channel towards those of so many rows. */
template <typename ARGS>
static __device__ inline void move_running(const ARGS &a, int64_t c, const struct moments &m,
					   double rows)
{
	move(&a.running_mean[c], a.momentum, m.mean);
	if (rows > 1)
		move(&a.running_var[c], a.momentum, m.variance * (rows / (rows - 1)));
}

template <typename ARGS>
static __device__ inline void save_channel(const ARGS &a, int64_t c, const struct moments &m)
{
	double inverse_std = 1 / sqrt(m.variance + a.eps), scale = inverse_std * a.weight[c];
	double rest = m.mean - (double)(float)m.mean;

	*saved_at(a.saved, a.shape, BATCH_NORM_MEAN, c) = (float)m.mean;
	*saved_at(a.saved, a.shape, BATCH_NORM_MEAN_REST, c) = (float)rest;
	*saved_at(a.saved, a.shape, BATCH_NORM_INVERSE_STD, c) = (float)inverse_std;
	*saved_at(a.saved, a.shape, BATCH_NORM_SCALE, c) = (float)scale;
	*saved_at(a.saved, a.shape, BATCH_NORM_SHIFT, c) = (float)(a.bias[c] - rest * scale);
}

/* A column by the moments of so many rows; one without a channel is padding. */
template <typename ARGS>
static __device__ inline void use_moments(const ARGS &a, int64_t c, const struct moments &m,
					  double rows)
{
	if (c >= a.shape.channels) {
		for (int which = BATCH_NORM_MEAN; which <= BATCH_NORM_SHIFT; which++)
			*saved_at(a.saved, a.shape, (enum batch_norm_saved)which, c) = 0;
		return;
	}
	if (rows > 0)
		move_running(a, c, m, rows);
	save_channel(a, c, m);
}

/* The values of a rank: the number of its rows, and two of each channel. */
static __device__ inline void give_rows(double *values, double rows)
{
	if (threadIdx.x == 0)
		values[0] = rows;
}

static __device__ inline void give_values(double *values, const struct batch_norm_shape &shape,
					  int64_t c, double first, double second)
{
	values[1 + c] = first;
	values[1 + shape.channels + c] = second;
}

/* Of the batch, by sums of differences from its first row. */
template <typename T>
static __device__ inline void finish_statistics(const struct batch_norm_statistics_args &a,
						const float *sums)
{
	double rows = (double)rows_of(a.shape, a.control);
	const T *input = (const T *)a.input;

	if (a.values)
		give_rows(a.values, rows);
	for (int64_t c = threadIdx.x; c < a.shape.columns; c += LAUNCH_THREADS) {
		struct moments m = {0, 0};

		if (rows > 0 && c < a.shape.channels)
			m = moments_of(rows, (double)to_float(input[c]), (double)sums[c],
				       (double)sums[a.shape.columns + c]);
		if (!a.values)
			use_moments(a, c, m, rows);
		else if (c < a.shape.channels)
			give_values(a.values, a.shape, c, m.mean, m.variance);
	}
}

template <typename T, int WIDTH>
static __device__ inline void add_moments(const vector<T, WIDTH> &v, const vector<T, WIDTH> &first,
					  float (&sum)[WIDTH], float (&squares)[WIDTH])
{
#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		float x = __fsub_rn(to_float(v.values[k]), to_float(first.values[k]));

		sum[k] = __fadd_rn(sum[k], x);
		squares[k] = __fmaf_rn(x, x, squares[k]);
	}
}

template <typename T, int WIDTH>
static __global__ void RESIDENT(4)
	statistics(const struct batch_norm_statistics_args a, const struct launch_columns l)
{
	const struct column_place place = column_place(l);
	const struct values_of_thread values =
		values_in(place, a.shape, rows_of(a.shape, a.control));
	const T *input = (const T *)a.input;
	float sum[WIDTH] = {0}, squares[WIDTH] = {0}, *sums;
	vector<T, WIDTH> first = {};

	if (values.end > 0)
		first = load<T, WIDTH>(input + place.column);
	for (int64_t at = values.first; at < values.end; at += MOMENTS_AT_ONCE * values.step) {
		vector<T, WIDTH> v[MOMENTS_AT_ONCE];

#pragma unroll
		for (int i = 0; i < MOMENTS_AT_ONCE; i++)
			if (at + i * values.step < values.end)
				v[i] = load<T, WIDTH>(input + at + i * values.step);
#pragma unroll
		for (int i = 0; i < MOMENTS_AT_ONCE; i++)
			if (at + i * values.step < values.end)
				add_moments(v[i], first, sum, squares);
	}
	sums = sums_in(a.scratch, a.shape, gridDim.y);
	if (finish_two_sums<WIDTH>(sum, squares, l, a.shape.columns, sums, a.scratch))
		finish_statistics<T>(a, sums);
}

static __global__ void use_running(const struct batch_norm_statistics_args a)
{
	for (int64_t c = threadIdx.x; c < a.shape.columns; c += LAUNCH_THREADS) {
		struct moments m = {0, 0};

		if (c < a.shape.channels) {
			m.mean = a.running_mean[c];
			m.variance = a.running_var[c];
		}
		use_moments(a, c, m, 0);
	}
}

template <typename T>
static cudaError_t launch_statistics(const struct batch_norm_statistics_args *args,
				     cudaStream_t stream)
{
	struct launch_columns l = batch_norm_columns(&args->shape);

	if (args->training || !l.blocks_x)
		return launch_width(statistics<T, SUMMED>, statistics<T, 1>, *args, l, stream);
	use_running<<<1, LAUNCH_THREADS, 0, stream>>>(*args);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_batch_norm_statistics(const struct batch_norm_statistics_args *args,
						    cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_statistics, args, stream);
}

/* --- of all ranks. Products are rounded alike on every GPU, so that all ranks have the same bits.
 */

static __device__ inline double rows_of_ranks(const struct batch_norm_shape &shape,
					      const double *all, int32_t ranks)
{
	int64_t values = 1 + 2 * shape.channels; /* batch_norm_rank_values() */
	double rows = 0;

	for (int32_t r = 0; r < ranks; r++)
		rows += all[r * values];
	return rows;
}

static __device__ inline struct moments
join_moments(const struct batch_norm_join_statistics_args &a, int64_t c, double rows)
{
	int64_t values = 1 + 2 * a.shape.channels;
	const double *counts = a.all, *means = a.all + 1 + c, *variances = means + a.shape.channels;
	struct moments m = {0, 0};

	for (int64_t at = 0; at < a.ranks * values; at += values)
		m.mean = __dadd_rn(m.mean, __dmul_rn(counts[at], means[at]));
	m.mean /= rows;
	for (int64_t at = 0; at < a.ranks * values; at += values) {
		double x = means[at] - m.mean;

		x = __dadd_rn(variances[at], __dmul_rn(x, x));
		m.variance = __dadd_rn(m.variance, __dmul_rn(counts[at], x));
	}
	m.variance /= rows;
	return m;
}

static __global__ void RESIDENT(4) join_statistics(const struct batch_norm_join_statistics_args a)
{
	int64_t c = (int64_t)blockIdx.x * LAUNCH_THREADS + threadIdx.x;
	double rows = rows_of_ranks(a.shape, a.all, a.ranks);

	for (; c < a.shape.columns; c += (int64_t)gridDim.x * LAUNCH_THREADS) {
		struct moments m = {0, 0};

		if (rows > 0 && c < a.shape.channels)
			m = join_moments(a, c, rows);
		use_moments(a, c, m, rows);
	}
}

extern "C" cudaError_t
kernel_batch_norm_join_statistics(const struct batch_norm_join_statistics_args *args,
				  cudaStream_t stream)
{
	return launch_kernel(join_statistics, launch_elements(args->shape.columns), stream, *args);
}

/* --- normalizing ----------------------------------------------------------------------------- */

template <typename T, int WIDTH>
static __global__ void RESIDENT(4)
	normalize(const struct batch_norm_normalize_args a, const struct launch_columns l)
{
	const struct column_place place = column_place(l);
	const struct values_of_thread values = values_in(place, a.shape, a.shape.rows);
	int64_t counted = a.control ? rows_of(a.shape, a.control) * a.shape.columns : values.end;
	struct line<WIDTH> line;

	if (values.first >= values.end)
		return;
	line = line_of<WIDTH>(a.saved, a.shape, place.column);
	for (int64_t at = values.first; at < values.end; at += values.step) {
		vector<T, WIDTH> v = load<T, WIDTH>((const T *)a.input + at);

#pragma unroll
		for (int k = 0; k < WIDTH; k++) {
			float y = output_of(line, k, centred(line, k, to_float(v.values[k])));

			set_float(&v.values[k], at >= counted || (a.relu && y < 0) ? 0 : y);
		}
		store((T *)a.output + at, v);
	}
}

template <typename T>
static cudaError_t launch_normalize(const struct batch_norm_normalize_args *args,
				    cudaStream_t stream)
{
	struct launch_columns l =
		launch_columns_apart(args->shape.rows, args->shape.columns, args->shape.type);

	if (args->shape.rows <= 0)
		return cudaSuccess;
	return launch_width(normalize<T, wide<T>>, normalize<T, 1>, *args, l, stream);
}

extern "C" cudaError_t kernel_batch_norm_normalize(const struct batch_norm_normalize_args *args,
						   cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_normalize, args, stream);
}

/* --- backward -------------------------------------------------------------------------------- */

/* The gradient before ReLU, whose output is that of normalize(), rounded alike. */
template <bool RELU, typename T, int WIDTH>
static __device__ inline float before_relu(const struct line<WIDTH> &line, int k, float x,
					   T gradient)
{
	float before = to_float(gradient);
	T output;

	set_float(&output, output_of(line, k, x));
	return !RELU || to_float(output) > 0 ? before : 0;
}

/* Of a column, for the sums over so many rows: of gradients, and of their products with the inputs'
 * distances from the mean. */
static __device__ inline void save_sums(float *saved, const struct batch_norm_shape &shape,
					int64_t c, double sum, double products, int64_t rows)
{
	double inverse_std = *saved_at(saved, shape, BATCH_NORM_INVERSE_STD, c);
	double rest = *saved_at(saved, shape, BATCH_NORM_MEAN_REST, c);
	double share = rows > 0 ? 1 / (double)rows : 0;
	double slope = products * inverse_std * inverse_std * share;

	*saved_at(saved, shape, BATCH_NORM_MEAN_GRADIENT, c) = (float)(sum * share - rest * slope);
	*saved_at(saved, shape, BATCH_NORM_SLOPE, c) = (float)slope;
}

static __device__ inline void give_gradients(const struct batch_norm_sums_args &a, int64_t c,
					     double sum, double products)
{
	double inverse_std = *saved_at(a.saved, a.shape, BATCH_NORM_INVERSE_STD, c);

	a.bias_gradient[c] = (float)sum;
	a.weight_gradient[c] = (float)(products * inverse_std);
}

static __device__ inline void finish_gradients(const struct batch_norm_sums_args &a,
					       const float *sums)
{
	int64_t rows = rows_of(a.shape, a.control);

	if (a.values)
		give_rows(a.values, (double)rows);
	for (int64_t c = threadIdx.x; c < a.shape.columns; c += LAUNCH_THREADS) {
		double sum = sums[c], products = sums[a.shape.columns + c];

		/* what the mean lost when it was rounded */
		products -= (double)*saved_at(a.saved, a.shape, BATCH_NORM_MEAN_REST, c) * sum;
		if (!a.values)
			save_sums(a.saved, a.shape, c, sum, products, rows);
		if (c >= a.shape.channels)
			continue;
		give_gradients(a, c, sum, products);
		if (a.values)
			give_values(a.values, a.shape, c, sum, products);
	}
}

template <bool RELU, typename T, int WIDTH>
static __device__ inline void add_gradients(const vector<T, WIDTH> &v, const vector<T, WIDTH> &g,
					    const struct line<WIDTH> &line, float (&sum)[WIDTH],
					    float (&products)[WIDTH])
{
#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		float x = centred(line, k, to_float(v.values[k]));
		float gradient = before_relu<RELU>(line, k, x, g.values[k]);

		sum[k] = __fadd_rn(sum[k], gradient);
		products[k] = __fmaf_rn(gradient, x, products[k]);
	}
}

template <typename T, int WIDTH, bool RELU>
static __global__ void RESIDENT(4)
	sum_gradients(const struct batch_norm_sums_args a, const struct launch_columns l)
{
	const struct column_place place = column_place(l);
	const struct values_of_thread values =
		values_in(place, a.shape, rows_of(a.shape, a.control));
	float sum[WIDTH] = {0}, products[WIDTH] = {0}, *sums;
	struct line<WIDTH> line;

	if (values.first < values.end)
		line = line_of<WIDTH>(a.saved, a.shape, place.column);
	for (int64_t at = values.first; at < values.end; at += GRADIENTS_AT_ONCE * values.step) {
		vector<T, WIDTH> v[GRADIENTS_AT_ONCE], g[GRADIENTS_AT_ONCE];

#pragma unroll
		for (int i = 0; i < GRADIENTS_AT_ONCE; i++) {
			if (at + i * values.step >= values.end)
				continue;
			v[i] = load<T, WIDTH>((const T *)a.input + at + i * values.step);
			g[i] = load<T, WIDTH>((const T *)a.output_gradient + at + i * values.step);
		}
#pragma unroll
		for (int i = 0; i < GRADIENTS_AT_ONCE; i++)
			if (at + i * values.step < values.end)
				add_gradients<RELU>(v[i], g[i], line, sum, products);
	}
	sums = sums_in(a.scratch, a.shape, gridDim.y);
	if (finish_two_sums<WIDTH>(sum, products, l, a.shape.columns, sums, a.scratch))
		finish_gradients(a, sums);
}

template <typename T>
static cudaError_t launch_sum_gradients(const struct batch_norm_sums_args *args,
					cudaStream_t stream)
{
	struct launch_columns l = batch_norm_columns(&args->shape);

	return args->relu_backward ? launch_width(sum_gradients<T, SUMMED, true>,
						  sum_gradients<T, 1, true>, *args, l, stream)
				   : launch_width(sum_gradients<T, SUMMED, false>,
						  sum_gradients<T, 1, false>, *args, l, stream);
}

extern "C" cudaError_t kernel_batch_norm_sums(const struct batch_norm_sums_args *args,
					      cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_sum_gradients, args, stream);
}

static __global__ void RESIDENT(4) join_sums(const struct batch_norm_join_sums_args a)
{
	int64_t c = (int64_t)blockIdx.x * LAUNCH_THREADS + threadIdx.x;
	int64_t values = 1 + 2 * a.shape.channels; /* batch_norm_rank_values() */
	double rows = rows_of_ranks(a.shape, a.all, a.ranks);

	for (; c < a.shape.columns; c += (int64_t)gridDim.x * LAUNCH_THREADS) {
		double sum = 0, products = 0;

		for (int64_t at = 0; c < a.shape.channels && at < a.ranks * values; at += values) {
			sum += a.all[at + 1 + c];
			products += a.all[at + 1 + a.shape.channels + c];
		}
		save_sums(a.saved, a.shape, c, sum, products, (int64_t)rows);
	}
}

extern "C" cudaError_t kernel_batch_norm_join_sums(const struct batch_norm_join_sums_args *args,
						   cudaStream_t stream)
{
	return launch_kernel(join_sums, launch_elements(args->shape.columns), stream, *args);
}

template <typename T, int WIDTH, bool RELU>
static __global__ void RESIDENT(4)
	differentiate(const struct batch_norm_backward_args a, const struct launch_columns l)
{
	const struct column_place place = column_place(l);
	const struct values_of_thread values = values_in(place, a.shape, a.shape.rows);
	int64_t counted = rows_of(a.shape, a.control) * a.shape.columns;
	vector<float, WIDTH> mean_gradient, slope;
	struct line<WIDTH> line;

	if (values.first >= values.end)
		return;
	line = line_of<WIDTH>(a.saved, a.shape, place.column);
	mean_gradient = saved_of<WIDTH>(a.saved, a.shape, BATCH_NORM_MEAN_GRADIENT, place.column);
	slope = saved_of<WIDTH>(a.saved, a.shape, BATCH_NORM_SLOPE, place.column);
	for (int64_t at = values.first; at < values.end; at += values.step) {
		vector<T, WIDTH> v = load<T, WIDTH>((const T *)a.input + at);
		vector<T, WIDTH> g = load<T, WIDTH>((const T *)a.output_gradient + at);

#pragma unroll
		for (int k = 0; k < WIDTH; k++) {
			float x = centred(line, k, to_float(v.values[k]));
			float gradient = before_relu<RELU>(line, k, x, g.values[k]);

			gradient = __fsub_rn(gradient, mean_gradient.values[k]);
			gradient = __fmaf_rn(-x, slope.values[k], gradient);
			gradient = __fmul_rn(gradient, line.scale.values[k]);
			set_float(&g.values[k], at < counted ? gradient : 0);
		}
		store((T *)a.input_gradient + at, g);
	}
}

template <typename T>
static cudaError_t launch_differentiate(const struct batch_norm_backward_args *args,
					cudaStream_t stream)
{
	struct launch_columns l =
		launch_columns_apart(args->shape.rows, args->shape.columns, args->shape.type);

	if (args->shape.rows <= 0)
		return cudaSuccess;
	return args->relu_backward ? launch_width(differentiate<T, wide<T>, true>,
						  differentiate<T, 1, true>, *args, l, stream)
				   : launch_width(differentiate<T, wide<T>, false>,
						  differentiate<T, 1, false>, *args, l, stream);
}

extern "C" cudaError_t kernel_batch_norm_backward(const struct batch_norm_backward_args *args,
						  cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_differentiate, args, stream);
}
