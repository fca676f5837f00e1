/* SPDX-License-Identifier: MIT */
/* Softmax cross-entropy of rows that `lanes` neighbouring threads of a warp share: lane i has
 * classes i, i + lanes, ... */
#include "kernels/device.cuh"

template <typename T> static __device__ inline double value_of(const T *values, int64_t i)
{
	return (double)to_float(values[i]);
}

/* The greatest logit of a row in all its lanes, and the first class that has it. A NaN is skipped
 * here, but reaches the sum of exponentials. */
template <typename T>
static __device__ inline double find_greatest(const T *row, int classes, int lanes, int *best)
{
	double greatest = -INFINITY;

	*best = INT_MAX;
	for (int c = (int)threadIdx.x % lanes; c < classes; c += lanes) {
		double x = value_of(row, c);

		if (x > greatest || *best == INT_MAX) {
			greatest = x;
			*best = c;
		}
	}
	for (int n = lanes / 2; n > 0; n /= 2) {
		double x = __shfl_xor_sync(0xffffffff, greatest, n);
		int c = __shfl_xor_sync(0xffffffff, *best, n);

		if (x > greatest || (x == greatest && c < *best)) {
			greatest = x;
			*best = c;
		}
	}
	return greatest;
}

template <typename T>
static __device__ inline double sum_exponentials(const T *row, int classes, int lanes,
						 double greatest)
{
	double sum = 0;

	for (int c = (int)threadIdx.x % lanes; c < classes; c += lanes)
		sum += exp(value_of(row, c) - greatest);
	for (int n = lanes / 2; n > 0; n /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, n);
	return sum;
}

struct softmax {
	double greatest, sum;
	int classes; /* 0: the row does not count */
	int label;
};

/* Each lane overwrites only what it has read, because gradient and logits may be the same memory.
 */
template <typename T>
static __device__ inline void write_gradient(const struct cross_entropy_args &a, int64_t first,
					     int lanes, const struct softmax &s)
{
	const T *row = (const T *)a.logits + first;
	T *to = (T *)a.gradient + first;
	double scale = (double)a.control->scale * (a.scaler ? (double)a.scaler->scale : 1);

	for (int c = (int)threadIdx.x % lanes; c < a.pitch; c += lanes) {
		double share = c < s.classes ? exp(value_of(row, c) - s.greatest) / s.sum : 0;

		set_float(&to[c], c < s.classes ? (float)((share - (c == s.label)) * scale) : 0);
	}
}

/* One row. A thread without one takes part in the operations of the warp. */
template <typename T>
static __device__ inline void take_row(const struct cross_entropy_args &a, int64_t n, int lanes,
				       double *loss, long long *correct)
{
	int64_t first = n * a.pitch;
	const T *row = (const T *)a.logits + first;
	int label = n < a.batch && n < a.control->rows ? a.labels[n] : -1, best;
	bool counts = label >= 0 && label < a.classes;
	struct softmax s = {0, 0, counts ? a.classes : 0, label};
	double of_label = counts ? value_of(row, label) : 0;

	s.greatest = find_greatest(row, s.classes, lanes, &best);
	s.sum = sum_exponentials(row, s.classes, lanes, s.greatest);
	if (counts && threadIdx.x % lanes == 0) {
		double x = log(s.sum) + s.greatest - of_label;

		*loss += x;
		*correct += best == label && !isnan(x);
	}
	__syncwarp(); /* all have read the label's logit */
	if (a.gradient && n < a.batch)
		write_gradient<T>(a, first, lanes, s);
}

/* Adds the sums over all blocks, by the last one. All threads call it, once. */
static __device__ inline void finish_loss(const struct cross_entropy_args &a, double loss,
					  long long correct)
{
	struct loss_result *parts = (struct loss_result *)((char *)a.scratch + KERNEL_TICKET_BYTES);

	loss = block_sum(loss);
	correct = block_sum(correct);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = {loss, correct};
	if (!comes_last((unsigned *)a.scratch, gridDim.x))
		return;
	loss = 0;
	correct = 0;
	for (unsigned i = threadIdx.x; i < gridDim.x; i += LAUNCH_THREADS) {
		loss += parts[i].loss;
		correct += parts[i].correct;
	}
	loss = block_sum(loss);
	correct = block_sum(correct);
	if (threadIdx.x > 0)
		return;
	if (!a.overwrite) {
		loss += a.result->loss;
		correct += a.result->correct;
	}
	*a.result = {loss, correct};
}

template <typename T> static __global__ void take_rows(const struct cross_entropy_args a, int lanes)
{
	int at_once = LAUNCH_THREADS / lanes;
	int64_t step = (int64_t)gridDim.x * at_once;
	double loss = 0;
	long long correct = 0;

	for (int64_t n = (int64_t)blockIdx.x * at_once; n < a.batch; n += step)
		take_row<T>(a, n + threadIdx.x / lanes, lanes, &loss, &correct);
	finish_loss(a, loss, correct);
}

template <typename T>
static cudaError_t launch_loss(const struct cross_entropy_args *args, cudaStream_t stream)
{
	return launch_kernel(take_rows<T>, launch_rows(args->batch, args->classes), stream, *args,
			     launch_row_lanes(args->classes));
}

extern "C" cudaError_t kernel_cross_entropy(const struct cross_entropy_args *args,
					    cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_loss, args, stream);
}
