/* SPDX-License-Identifier: MIT */
/* Products and sums use intrinsics, which round each result. Without them the compiler may contract
 * some of them. */
#include "kernels/device.cuh"
#include "kernels/scaler.cuh"

static __device__ inline void adam_factors(struct update_factors *f,
					   const struct update_settings &s, double lr, double beta1,
					   double t)
{
	f->keep = s.decoupled ? (float)(1 - __dmul_rn(lr, s.weight_decay)) : 1;
	f->gain = (float)(1 - beta1);
	f->beta2 = (float)s.beta2;
	f->gain2 = (float)(1 - s.beta2);
	f->minus_step = (float)-(lr / (1 - pow(beta1, t)));
	f->root = (float)sqrt(1 - pow(s.beta2, t));
	f->eps = (float)s.eps;
}

/* clip_coefficient(). */
static __device__ inline float clip_of(float norm, double max)
{
	float coefficient = __fmul_rn((float)max, __fdiv_rn(1, __fadd_rn(norm, 1e-6f)));

	return coefficient > 1 ? 1 : coefficient;
}

static __global__ void make_factors(const struct update_begin_args a)
{
	const struct update_control control = *a.control;
	struct update_factors f = {};

	f.inv_scale = inverse_scale(a.scaler);
	f.clip = f.keep = 1;
	if (a.scaler) {
		f.skip = a.measure->found_inf != 0;
		update_scaler(a.scaler, !f.skip);
	}
	*a.steps += !f.skip;
	if (a.measure && control.clip_norm > 0)
		f.clip = clip_of(a.measure->norm, control.clip_norm);
	f.decay = a.settings.decoupled ? 0 : (float)a.settings.weight_decay;
	f.minus_lr = (float)-control.lr;
	f.momentum = (float)control.momentum;
	if (a.settings.adam)
		adam_factors(&f, a.settings, control.lr, control.momentum, (double)*a.steps);
	*a.factors = f;
}

extern "C" cudaError_t kernel_update_begin(const struct update_begin_args *args,
					   cudaStream_t stream)
{
	make_factors<<<1, 1, 0, stream>>>(*args);
	return cudaGetLastError();
}

enum update_kind { UPDATE_SGD, UPDATE_MOMENTUM, UPDATE_NESTEROV, UPDATE_ADAM };

/* One element. */
struct element {
	float w, g, m, v;
};

static __device__ inline float gradient_of(const struct element &e, const struct update_factors &f)
{
	float scaled = __fmul_rn(__fmul_rn(e.g, f.inv_scale), f.clip);

	return f.decay == 0 ? scaled : __fmaf_rn(e.w, f.decay, scaled);
}

template <enum update_kind KIND>
static __device__ inline void step(struct element *e, const struct update_factors &f)
{
	float g = gradient_of(*e, f);

	if (KIND == UPDATE_ADAM) {
		e->m = __fmaf_rn(g, f.gain, __fmul_rn(e->m, f.momentum));
		e->v = __fmaf_rn(__fmul_rn(f.gain2, g), g, __fmul_rn(e->v, f.beta2));
		g = __fadd_rn(__fdiv_rn(__fsqrt_rn(e->v), f.root), f.eps);
		g = __fdiv_rn(__fmul_rn(f.minus_step, e->m), g);
		e->w = __fadd_rn(__fmul_rn(e->w, f.keep), g);
		return;
	}
	if (KIND != UPDATE_SGD) {
		e->m = __fadd_rn(__fmul_rn(e->m, f.momentum), g);
		g = KIND == UPDATE_NESTEROV ? __fmaf_rn(e->m, f.momentum, g) : e->m;
	}
	e->w = __fmaf_rn(g, f.minus_lr, e->w);
}

/* chunk_place(). */
static __device__ inline int place_of(const struct chunk &chunk, int pitch, int i)
{
	int at = chunk.column + i;

	return chunk.row ? at / chunk.row * pitch + at % chunk.row : i;
}

template <typename T, int WIDTH>
static __device__ inline vector<float, WIDTH> gather(const struct chunk &chunk, int i)
{
	const T *from = (const T *)chunk.gradient;
	vector<float, WIDTH> g;

	if (!chunk.row && (uintptr_t)(from + i) % sizeof(vector<T, WIDTH>) == 0) {
		vector<T, WIDTH> v = load<T, WIDTH>(from + i);

#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			g.values[k] = to_float(v.values[k]);
		return g;
	}
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		g.values[k] = to_float(from[place_of(chunk, chunk.gradient_pitch, i + k)]);
	return g;
}

/* Gradients of the chunk's elements from i on. FLAT: the chunk has nothing beside the flat buffers
 * but a dense copy. */
template <bool FLAT, int WIDTH>
static __device__ inline vector<float, WIDTH> gradients_of(const struct update_args &a,
							   const struct chunk &chunk, int i)
{
	if (FLAT || !chunk.gradient)
		return load<float, WIDTH>(a.gradients + chunk.first + i);
	if (chunk.gradient_type == VALUE_BFLOAT16)
		return gather<__nv_bfloat16, WIDTH>(chunk, i);
	if (chunk.gradient_type == VALUE_FLOAT16)
		return gather<__half, WIDTH>(chunk, i);
	return gather<float, WIDTH>(chunk, i);
}

/* WIDTH elements of the flat buffers, from `at` on, with these gradients; *values gets the new
 * values. */
template <enum update_kind KIND, int WIDTH>
static __device__ inline void step_wide(const struct update_args &a, const struct update_factors &f,
					int64_t at, const vector<float, WIDTH> &g,
					vector<float, WIDTH> *values)
{
	constexpr bool has_mean = KIND != UPDATE_SGD, has_variance = KIND == UPDATE_ADAM;
	vector<float, WIDTH> w = load<float, WIDTH>(a.values + at), m = {}, v = {};

	if (has_mean)
		m = load<float, WIDTH>(a.mean + at);
	if (has_variance)
		v = load<float, WIDTH>(a.variance + at);
#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		struct element e = {w.values[k], g.values[k], m.values[k], v.values[k]};

		step<KIND>(&e, f);
		w.values[k] = e.w;
		m.values[k] = e.m;
		v.values[k] = e.v;
	}
	store(a.values + at, w);
	if (has_mean)
		store(a.mean + at, m);
	if (has_variance)
		store(a.variance + at, v);
	*values = w;
}

template <typename T, int WIDTH>
static __device__ inline void copy_as(T *to, const vector<float, WIDTH> &values)
{
	vector<T, WIDTH> v;

#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		set_float(&v.values[k], values.values[k]);
	if ((uintptr_t)to % sizeof(v) == 0)
		store(to, v);
	else
#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			to[k] = v.values[k];
}

template <typename T, bool FLAT, int WIDTH>
static __device__ inline void copy_to(const struct chunk &chunk, int i,
				      const vector<float, WIDTH> &values)
{
	T *to = (T *)chunk.copy;

	if constexpr (!FLAT) {
		if (chunk.row) {
#pragma unroll
			for (int k = 0; k < WIDTH; k++)
				set_float(&to[place_of(chunk, chunk.copy_pitch, i + k)],
					  values.values[k]);
			return;
		}
	}
	copy_as(to + i, values);
}

/* Writes to the chunk's copy, from its i-th element on. */
template <bool FLAT, int WIDTH>
static __device__ inline void copy_wide(const struct chunk &chunk, int i,
					const vector<float, WIDTH> &values)
{
	if (!chunk.copy)
		return;
	if (chunk.copy_type == VALUE_BFLOAT16)
		copy_to<__nv_bfloat16, FLAT>(chunk, i, values);
	else if (chunk.copy_type == VALUE_FLOAT16)
		copy_to<__half, FLAT>(chunk, i, values);
	else
		copy_to<float, FLAT>(chunk, i, values);
}

/* Elements of a chunk from i on. */
template <enum update_kind KIND, bool FLAT, int WIDTH>
static __device__ inline void update_wide(const struct update_args &a,
					  const struct update_factors &f, const struct chunk &chunk,
					  int i)
{
	vector<float, WIDTH> values;

	step_wide<KIND, WIDTH>(a, f, chunk.first + i, gradients_of<FLAT, WIDTH>(a, chunk, i),
			       &values);
	copy_wide<FLAT, WIDTH>(chunk, i, values);
}

/* `head`: the number of elements before the first that is aligned in every buffer; all elements if
 * none is. */
template <enum update_kind KIND, bool FLAT>
static __device__ inline void update_chunk(const struct update_args &a,
					   const struct update_factors &f,
					   const struct chunk &chunk, int head)
{
	/* Registers limit this: to two places at a time, and to a little unrolling below. */
	constexpr int width = FLAT ? wide<float> : 2;
	int vectors = (chunk.count - head) / width;
	int single = chunk.count - vectors * width;

	for (int i = (int)threadIdx.x; i < vectors; i += LAUNCH_THREADS)
		update_wide<KIND, FLAT, width>(a, f, chunk, head + i * width);
#pragma unroll(KIND == UPDATE_ADAM && FLAT ? 2 : 1)
	for (int i = (int)threadIdx.x; i < single; i += LAUNCH_THREADS)
		update_wide<KIND, FLAT, 1>(a, f, chunk, i < head ? i : i + vectors * width);
}

template <enum update_kind KIND>
static __global__ void RESIDENT(8) update_chunks(const struct update_args a, bool aligned)
{
	const struct update_factors f = *a.factors;

	if (f.skip)
		return;
	for (int i = (int)blockIdx.x; i < a.chunk_count; i += (int)gridDim.x) {
		const struct chunk *chunk = &a.chunks[i];
		int to_aligned = (int)(-chunk->first & (wide<float> - 1));
		int head = aligned && to_aligned < chunk->count ? to_aligned : chunk->count;

		if (chunk->gradient || chunk->row) {
			update_chunk<KIND, false>(a, f, *chunk, head);
		} else {
			const struct chunk flat = *chunk;

			update_chunk<KIND, true>(a, f, flat, head);
		}
	}
}

template <enum update_kind KIND>
static cudaError_t launch_update(const struct update_args *args, cudaStream_t stream)
{
	struct launch l = args->beside ? launch_pieces_beside(args->chunk_count)
				       : launch_pieces(args->chunk_count);
	bool aligned = launch_aligned(args->values, 0) && launch_aligned(args->gradients, 0) &&
		       launch_aligned(args->mean, 0) && launch_aligned(args->variance, 0);

	return launch_kernel(update_chunks<KIND>, l, stream, *args, aligned);
}

extern "C" cudaError_t kernel_update(const struct update_args *args, cudaStream_t stream)
{
	if (args->variance)
		return launch_update<UPDATE_ADAM>(args, stream);
	if (!args->mean)
		return launch_update<UPDATE_SGD>(args, stream);
	if (args->nesterov)
		return launch_update<UPDATE_NESTEROV>(args, stream);
	return launch_update<UPDATE_MOMENTUM>(args, stream);
}
