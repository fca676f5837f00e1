/* SPDX-License-Identifier: MIT */
/*
 * Tiles are taken some at a time. Each of their 36 transformed places is a slice, and each slice a
 * product of matrices: rows of a tile's channels (V) by panels of 16 output channels (U, M).
 *
 *	forward		M[t][k] = sum over c of V[t][c] U[c][k]
 *	weights		dU[c][k] = sum over t of V[t][c] dM[t][k]
 */
#include "backend/cpu/winograd.h"
#include "base/simd.h"

#ifdef SIMD_X86
#include "backend/cpu/winograd_transform.h"

struct plane {
	const float *at;
	int64_t height, width;
};

/* `size` x `size` places from (y, x); zero outside of the plane. */
SIMD_FMA static inline __attribute__((always_inline)) void
load_tile(__m256 *to, const int size, const struct plane *plane, int64_t y, int64_t x)
{
	bool inside = y >= 0 && x >= 0 && y + size <= plane->height && x + size <= plane->width;

	if (inside) {
		const float *from = plane->at + (y * plane->width + x) * LANES;

		UNROLL
		for (int i = 0; i < size; i++)
			UNROLL
		for (int j = 0; j < size; j++)
			to[i * TILE + j] = _mm256_load_ps(from + (i * plane->width + j) * LANES);
		return;
	}
	for (int i = 0; i < size; i++)
		for (int j = 0; j < size; j++) {
			int64_t at_y = y + i, at_x = x + j;
			bool in = at_y >= 0 && at_x >= 0 && at_y < plane->height &&
				  at_x < plane->width;

			to[i * TILE + j] = in ? _mm256_load_ps(plane->at +
							       (at_y * plane->width + at_x) * LANES)
					      : _mm256_setzero_ps();
		}
}

/* V of tiles first..last: rows of all channels, in slices of `rows`. */
SIMD_FMA static void input_tiles(const struct cpu_winograd *w, const float *input, int64_t first,
				 int64_t last, int64_t rows, float *v)
{
	int64_t apart = slice(rows, w->in), area = w->height * w->width * LANES;

	for (int64_t t = first; t < last; t++)
		for (int64_t c = 0; c < w->in; c += LANES) {
			struct cpu_winograd_place at = cpu_winograd_place(w, OUT, t);
			struct plane plane = {input + (at.sample * w->in + c) / LANES * area,
					      w->height, w->width};
			float *to = v + (t - first) * w->in + c;
			__m256 d[PLACES];

			load_tile(d, TILE, &plane, at.y - w->pad, at.x - w->pad);
			BOTH(transform_input, d, TILE, TILE);
			for (int i = 0; i < PLACES; i++)
				_mm256_store_ps(to + i * apart, d[i]);
		}
}

/* dM of tiles first..last: panels of `rows` rows. */
SIMD_FMA static void gradient_tiles(const struct cpu_winograd *w, const float *gradient,
				    int64_t first, int64_t last, int64_t rows, float *m)
{
	int64_t apart = slice(rows, w->out), area = w->out_height * w->out_width * LANES;

	for (int64_t t = first; t < last; t++)
		for (int64_t k = 0; k < w->out; k += LANES) {
			struct cpu_winograd_place at = cpu_winograd_place(w, OUT, t);
			struct plane plane = {gradient + (at.sample * w->out + k) / LANES * area,
					      w->out_height, w->out_width};
			float *to = m + k / PANEL * rows * PANEL + (t - first) * PANEL + k % PANEL;
			__m256 y[PLACES];

			load_tile(y, OUT, &plane, at.y, at.x);
			BOTH(transform_gradient, y, OUT, TILE);
			for (int i = 0; i < PLACES; i++)
				_mm256_store_ps(to + i * apart, y[i]);
		}
}

SIMD_FMA static void store_tile(const struct cpu_winograd *w, const struct cpu_winograd_place *at,
				const __m256 *y, const __m256 *bias, float *plane)
{
	int64_t height = w->out_height - at->y < OUT ? w->out_height - at->y : OUT;
	int64_t width = w->out_width - at->x < OUT ? w->out_width - at->x : OUT;

	for (int64_t i = 0; i < height; i++)
		for (int64_t j = 0; j < width; j++) {
			__m256 value = y[i * TILE + j] + *bias;

			if (w->relu)
				value = _mm256_max_ps(_mm256_setzero_ps(), value); /* a NaN stays */
			_mm256_store_ps(plane + ((at->y + i) * w->out_width + at->x + j) * LANES,
					value);
		}
}

SIMD_FMA static void output_tiles(const struct cpu_winograd *w, const struct cpu_winograd_run *run,
				  int64_t first, int64_t last, const float *m)
{
	int64_t apart = slice(TILES, w->out), area = w->out_height * w->out_width * LANES;
	float *output = run->output;

	for (int64_t t = first; t < last; t++)
		for (int64_t k = 0; k < w->out; k += LANES) {
			struct cpu_winograd_place at = cpu_winograd_place(w, OUT, t);
			const float *from =
				m + k / PANEL * TILES * PANEL + (t - first) * PANEL + k % PANEL;
			__m256 bias =
				run->bias ? _mm256_loadu_ps(run->bias + k) : _mm256_setzero_ps();
			__m256 y[PLACES];

			for (int i = 0; i < PLACES; i++)
				y[i] = _mm256_load_ps(from + i * apart);
			BOTH(transform_output, y, TILE, OUT);
			store_tile(w, &at, y, &bias,
				   output + (at.sample * w->out + k) / LANES * area);
		}
}

/* What the threads share of a run. */
struct forward_work {
	const struct cpu_winograd *w;
	const struct cpu_winograd_run *run;
	int64_t parts;
};

static size_t part_floats(const struct cpu_winograd *w)
{
	return (size_t)(PLACES * (slice(TILES, w->in) + slice(TILES, w->out)));
}

/* Tiles first..last, at most TILES. */
static void forward_tiles(const struct cpu_winograd *w, const struct cpu_winograd_run *run,
			  int64_t first, int64_t last, float *v)
{
	float *m = v + PLACES * slice(TILES, w->in);
	const float *u = run->transformed;

	input_tiles(w, run->input, first, last, TILES, v);
	for (int place = 0; place < PLACES; place++) {
		const struct product product = {
			.a = v + place * slice(TILES, w->in),
			.a_row = w->in,
			.a_depth = 1,
			.b = u + place * slice(w->in, w->out),
			.c = m + place * slice(TILES, w->out),
			.rows = last - first,
			.depth = w->in,
			.b_panel = w->in * PANEL,
			.c_panel = TILES * PANEL,
			.panels = w->out / PANEL,
		};

		product_run(&product);
	}
	output_tiles(w, run, first, last, m);
}

static void forward_parts(void *argument, int64_t first, int64_t last)
{
	const struct forward_work *work = argument;
	int64_t tiles = cpu_winograd_tiles(work->w, OUT), blocks = (tiles + TILES - 1) / TILES;

	for (int64_t part = first; part < last; part++) {
		float *scratch = (float *)work->run->scratch + (size_t)part * part_floats(work->w);
		int64_t end = blocks * (part + 1) / work->parts;

		for (int64_t block = blocks * part / work->parts; block < end; block++) {
			int64_t at = block * TILES;

			forward_tiles(work->w, work->run, at,
				      at + TILES < tiles ? at + TILES : tiles, scratch);
		}
	}
}

void cpu_winograd_forward(const struct cpu_winograd *w, const struct cpu_team *team,
			  const struct cpu_winograd_run *run)
{
	struct forward_work work = {w, run, team->threads};

	cpu_team_run(team, work.parts, forward_parts, &work);
}

struct weights_work {
	const struct cpu_winograd *w;
	const float *weight;
	float *transformed;
	bool data;
};

/* Rows of input channels. The data's gradient is a convolution by the kernels turned by 180
 * degrees, from the outputs' channels to the inputs'. */
SIMD_FMA static void weight_rows(void *argument, int64_t first, int64_t last)
{
	const struct weights_work *work = argument;
	const struct cpu_winograd *w = work->w;
	for (int64_t c = first; c < last; c++)
		for (int64_t k = 0; k < w->out; k += LANES) {
			float *to = work->transformed + k / PANEL * w->in * PANEL + c * PANEL +
				    k % PANEL;
			float kernel[KERNEL_PLACES][LANES];
			__m256 g[PLACES];

			for (int i = 0; i < KERNEL_PLACES; i++)
				for (int l = 0; l < LANES; l++)
					kernel[i][l] =
						work->data ? work->weight[((k + l) * KERNEL_PLACES +
									   KERNEL_PLACES - 1 - i) *
										  w->in +
									  c]
							   : work->weight[(c * KERNEL_PLACES + i) *
										  w->out +
									  k + l];
			for (int i = 0; i < KERNEL_PLACES; i++)
				g[i / KERNEL * TILE + i % KERNEL] = _mm256_loadu_ps(kernel[i]);
			BOTH(transform_weights, g, KERNEL, TILE);
			for (int i = 0; i < PLACES; i++)
				_mm256_store_ps(to + i * slice(w->in, w->out), g[i]);
		}
}

void cpu_winograd_weights(const struct cpu_winograd *w, const struct cpu_team *team,
			  const float *weight, bool data, float *transformed)
{
	struct weights_work work = {w, weight, transformed, data};

	cpu_team_run(team, w->in, weight_rows, &work);
}

/* Some tiles of the whole batch: V and dM, and the gradient of U, which all tiles add to. */
struct gradient_work {
	const struct cpu_winograd *w;
	const struct cpu_winograd_gradient *run;
	float *v, *m, *u;
	int64_t tile, tiles;
};

static void transform_tiles(void *argument, int64_t first, int64_t last)
{
	const struct gradient_work *work = argument;
	const struct cpu_winograd *w = work->w;

	input_tiles(w, work->run->input, work->tile + first, work->tile + last, GRADIENT_TILES,
		    work->v + first * w->in);
	gradient_tiles(w, work->run->output_gradient, work->tile + first, work->tile + last,
		       GRADIENT_TILES, work->m + first * PANEL);
}

static void multiply_places(void *argument, int64_t first, int64_t last)
{
	const struct gradient_work *work = argument;
	const struct cpu_winograd *w = work->w;

	for (int64_t place = first; place < last; place++) {
		const struct product product = {
			.a = work->v + place * slice(GRADIENT_TILES, w->in),
			.a_row = 1,
			.a_depth = w->in,
			.b = work->m + place * slice(GRADIENT_TILES, w->out),
			.c = work->u + place * slice(w->in, w->out),
			.rows = w->in,
			.depth = work->tiles,
			.b_panel = GRADIENT_TILES * PANEL,
			.c_panel = w->in * PANEL,
			.panels = w->out / PANEL,
			.add = work->tile > 0,
		};

		product_run(&product);
	}
}

SIMD_FMA static void gradient_rows(void *argument, int64_t first, int64_t last)
{
	const struct gradient_work *work = argument;
	const struct cpu_winograd *w = work->w;

	for (int64_t c = first; c < last; c++)
		for (int64_t k = 0; k < w->out; k += LANES) {
			const float *from =
				work->u + k / PANEL * w->in * PANEL + c * PANEL + k % PANEL;
			float *to = work->run->weight_gradient + c * KERNEL_PLACES * w->out + k;
			__m256 u[PLACES];

			for (int i = 0; i < PLACES; i++)
				u[i] = _mm256_load_ps(from + i * slice(w->in, w->out));
			BOTH(transform_weight_gradient, u, TILE, KERNEL);
			for (int i = 0; i < KERNEL_PLACES; i++)
				_mm256_storeu_ps(to + i * w->out,
						 u[i / KERNEL * TILE + i % KERNEL]);
		}
}

/* The gradient of the bias, for groups of channels. */
SIMD_FMA static void gradient_sums(void *argument, int64_t first, int64_t last)
{
	const struct gradient_work *work = argument;
	const struct cpu_winograd *w = work->w;
	int64_t area = w->out_height * w->out_width, groups = w->out / LANES;

	for (int64_t group = first; group < last; group++) {
		__m256 sum = _mm256_setzero_ps();

		for (int64_t n = 0; n < w->batch; n++) {
			const float *from =
				work->run->output_gradient + (n * groups + group) * area * LANES;
			__m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};

			for (int64_t i = 0; i < area; i++)
				sums[i & 1] += _mm256_load_ps(from + i * LANES);
			sum += sums[0] + sums[1];
		}
		_mm256_storeu_ps(work->run->bias_gradient + group * LANES, sum);
	}
}

void cpu_winograd_backward_weights(const struct cpu_winograd *w, const struct cpu_team *team,
				   const struct cpu_winograd_gradient *run)
{
	struct gradient_work work = {.w = w, .run = run, .v = run->scratch};
	int64_t tiles = cpu_winograd_tiles(w, OUT);

	work.m = work.v + PLACES * slice(GRADIENT_TILES, w->in);
	work.u = work.m + PLACES * slice(GRADIENT_TILES, w->out);
	for (; work.tile < tiles; work.tile += GRADIENT_TILES) {
		int64_t left = tiles - work.tile;

		work.tiles = left < GRADIENT_TILES ? left : GRADIENT_TILES;
		cpu_team_run(team, work.tiles, transform_tiles, &work);
		cpu_team_run(team, PLACES, multiply_places, &work);
	}
	cpu_team_run(team, w->in, gradient_rows, &work);
	if (run->bias_gradient)
		cpu_team_run(team, w->out / LANES, gradient_sums, &work);
}

struct cpu_winograd cpu_winograd_data(const struct cpu_winograd *w)
{
	return (struct cpu_winograd){.batch = w->batch,
				     .in = w->out,
				     .out = w->in,
				     .height = w->out_height,
				     .width = w->out_width,
				     .out_height = w->height,
				     .out_width = w->width,
				     .pad = KERNEL - 1 - w->pad};
}

size_t cpu_winograd_transformed(const struct cpu_winograd *w)
{
	return (size_t)(PLACES * slice(w->in, w->out)) * sizeof(float);
}

size_t cpu_winograd_scratch(const struct cpu_winograd *w, int threads)
{
	return (size_t)threads * part_floats(w) * sizeof(float);
}

size_t cpu_winograd_gradient_scratch(const struct cpu_winograd *w)
{
	return (size_t)(PLACES * (slice(GRADIENT_TILES, w->in) + slice(GRADIENT_TILES, w->out) +
				  slice(w->in, w->out))) *
	       sizeof(float);
}

bool cpu_winograd_here(void)
{
	return simd_isa() == SIMD_AVX2;
}
#endif
