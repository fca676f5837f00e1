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

/* --- forward -----------------------------------------------------------------------------------
 */

static __device__ inline void move(float *running, double momentum, double to)
{
	*running = (float)(__dmul_rn(1 - momentum, (double)*running) + __dmul_rn(momentum, to));
}

/* Of a channel, whose values differ from `first` by sum and, squared, by `squares` in all. */
static __device__ inline void finish_moments(const struct batch_norm_statistics_args &a, int64_t c,
					     double first, double sum, double squares)
{
	double rows = a.training ? (double)rows_of(a.shape, a.control) : 0, mean, variance;

	if (rows > 0) {
		mean = sum / rows;
		variance = squares / rows - mean * mean;
		variance = variance < 0 ? 0 : variance;
		mean += first;
		move(&a.running_mean[c], a.momentum, mean);
		if (rows > 1)
			move(&a.running_var[c], a.momentum, variance * (rows / (rows - 1)));
	} else {
		mean = a.training ? 0 : (double)a.running_mean[c];
		variance = a.training ? 0 : (double)a.running_var[c];
	}
	double inverse_std = 1 / sqrt(variance + a.eps), scale = inverse_std * a.weight[c];
	double rest = mean - (double)(float)mean;

	*saved_at(a.saved, a.shape, BATCH_NORM_MEAN, c) = (float)mean;
	*saved_at(a.saved, a.shape, BATCH_NORM_MEAN_REST, c) = (float)rest;
	*saved_at(a.saved, a.shape, BATCH_NORM_INVERSE_STD, c) = (float)inverse_std;
	*saved_at(a.saved, a.shape, BATCH_NORM_SCALE, c) = (float)scale;
	*saved_at(a.saved, a.shape, BATCH_NORM_SHIFT, c) = (float)(a.bias[c] - rest * scale);
}

template <typename T>
static __device__ inline void finish_statistics(const struct batch_norm_statistics_args &a,
						const float *sums)
{
	const T *input = (const T *)a.input;

	for (int64_t c = threadIdx.x; c < a.shape.columns; c += LAUNCH_THREADS) {
		if (c < a.shape.channels) {
			bool training = a.training && a.shape.rows > 0;

			finish_moments(a, c, training ? (double)to_float(input[c]) : 0,
				       training ? (double)sums[c] : 0,
				       training ? (double)sums[a.shape.columns + c] : 0);
			continue;
		}
		for (int which = BATCH_NORM_MEAN; which <= BATCH_NORM_SHIFT; which++)
			*saved_at(a.saved, a.shape, (enum batch_norm_saved)which, c) = 0;
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

/* Of the running ones. */
template <typename T> static __global__ void use_running(const struct batch_norm_statistics_args a)
{
	finish_statistics<T>(a, NULL);
}

template <typename T>
static cudaError_t launch_statistics(const struct batch_norm_statistics_args *args,
				     cudaStream_t stream)
{
	struct launch_columns l = batch_norm_columns(&args->shape);
	dim3 grid(l.blocks_x, l.blocks_y);

	if (!l.blocks_x)
		return cudaSuccess;
	if (!args->training)
		use_running<T><<<1, LAUNCH_THREADS, 0, stream>>>(*args);
	else if (l.width > 1)
		statistics<T, SUMMED><<<grid, l.threads, 0, stream>>>(*args, l);
	else
		statistics<T, 1><<<grid, l.threads, 0, stream>>>(*args, l);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_batch_norm_statistics(const struct batch_norm_statistics_args *args,
						    cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_statistics, args, stream);
}

template <typename T, int WIDTH>
static __global__ void RESIDENT(4)
	normalize(const struct batch_norm_normalize_args a, const struct launch_columns l)
{
	const struct column_place place = column_place(l);
	const struct values_of_thread values = values_in(place, a.shape, a.shape.rows);
	struct line<WIDTH> line;

	if (values.first >= values.end)
		return;
	line = line_of<WIDTH>(a.saved, a.shape, place.column);
	for (int64_t at = values.first; at < values.end; at += values.step) {
		vector<T, WIDTH> v = load<T, WIDTH>((const T *)a.input + at);

#pragma unroll
		for (int k = 0; k < WIDTH; k++) {
			float y = output_of(line, k, centred(line, k, to_float(v.values[k])));

			set_float(&v.values[k], a.relu && y < 0 ? 0 : y);
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
	dim3 grid(l.blocks_x, l.blocks_y);

	if (!l.blocks_x || args->shape.rows <= 0)
		return cudaSuccess;
	if (l.width > 1)
		normalize<T, wide<T>><<<grid, l.threads, 0, stream>>>(*args, l);
	else
		normalize<T, 1><<<grid, l.threads, 0, stream>>>(*args, l);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_batch_norm_normalize(const struct batch_norm_normalize_args *args,
						   cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_normalize, args, stream);
}

/* --- backward ----------------------------------------------------------------------------------
 */

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

/* Of a column. */
static __device__ inline void finish_gradients(const struct batch_norm_sums_args &a, int64_t c,
					       double sum, double products)
{
	int64_t rows = rows_of(a.shape, a.control);
	double inverse_std = *saved_at(a.saved, a.shape, BATCH_NORM_INVERSE_STD, c);
	double rest = *saved_at(a.saved, a.shape, BATCH_NORM_MEAN_REST, c);
	double share = rows > 0 ? 1 / (double)rows : 0, slope;

	products -= rest * sum;
	slope = products * inverse_std * inverse_std * share;
	*saved_at(a.saved, a.shape, BATCH_NORM_MEAN_GRADIENT, c) =
		(float)(sum * share - rest * slope);
	*saved_at(a.saved, a.shape, BATCH_NORM_SLOPE, c) = (float)slope;
	if (c >= a.shape.channels)
		return;
	a.bias_gradient[c] = (float)sum;
	a.weight_gradient[c] = (float)(products * inverse_std);
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
	if (!finish_two_sums<WIDTH>(sum, products, l, a.shape.columns, sums, a.scratch))
		return;
	for (int64_t c = threadIdx.x; c < a.shape.columns; c += LAUNCH_THREADS)
		finish_gradients(a, c, (double)sums[c], (double)sums[a.shape.columns + c]);
}

template <typename T, int WIDTH>
static void launch_sum_gradients_width(const struct batch_norm_sums_args *args,
				       const struct launch_columns *l, cudaStream_t stream)
{
	dim3 grid(l->blocks_x, l->blocks_y);

	if (args->relu_backward)
		sum_gradients<T, WIDTH, true><<<grid, l->threads, 0, stream>>>(*args, *l);
	else
		sum_gradients<T, WIDTH, false><<<grid, l->threads, 0, stream>>>(*args, *l);
}

template <typename T>
static cudaError_t launch_sum_gradients(const struct batch_norm_sums_args *args,
					cudaStream_t stream)
{
	struct launch_columns l = batch_norm_columns(&args->shape);

	if (!l.blocks_x)
		return cudaSuccess;
	if (l.width > 1)
		launch_sum_gradients_width<T, SUMMED>(args, &l, stream);
	else
		launch_sum_gradients_width<T, 1>(args, &l, stream);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_batch_norm_sums(const struct batch_norm_sums_args *args,
					      cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_sum_gradients, args, stream);
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

template <typename T, int WIDTH>
static void launch_differentiate_width(const struct batch_norm_backward_args *args,
				       const struct launch_columns *l, cudaStream_t stream)
{
	dim3 grid(l->blocks_x, l->blocks_y);

	if (args->relu_backward)
		differentiate<T, WIDTH, true><<<grid, l->threads, 0, stream>>>(*args, *l);
	else
		differentiate<T, WIDTH, false><<<grid, l->threads, 0, stream>>>(*args, *l);
}

template <typename T>
static cudaError_t launch_differentiate(const struct batch_norm_backward_args *args,
					cudaStream_t stream)
{
	struct launch_columns l =
		launch_columns_apart(args->shape.rows, args->shape.columns, args->shape.type);

	if (!l.blocks_x || args->shape.rows <= 0)
		return cudaSuccess;
	if (l.width > 1)
		launch_differentiate_width<T, wide<T>>(args, &l, stream);
	else
		launch_differentiate_width<T, 1>(args, &l, stream);
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_batch_norm_backward(const struct batch_norm_backward_args *args,
						  cudaStream_t stream)
{
	WITH_TYPE(args->shape.type, launch_differentiate, args, stream);
}
