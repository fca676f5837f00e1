/* SPDX-License-Identifier: MIT */
/*
 * As cpu/winograd.c, some tiles at a time, with 16 slices: of a tile's channels (V), of panels of
 * 16 output channels in pairs of input channels, as the instruction takes them (U), and of floats
 * (M).
 */
#include "backend/cpu/winograd_bf16.h"

#include <string.h>

#include "base/simd.h"

#ifdef SIMD_X86
#include <immintrin.h>

#include "backend/cpu/product.h"

enum {
	LANES = 16,
	OUT = 2,
	KERNEL = 3,
	TILE = 4,
	PLACES = TILE * TILE,
	TILES = 24, /* of one thread at a time: V and M stay in its caches */
	ROWS = 6,
	PANELS = 4, /* with ROWS: 24 sums stay in registers */
	APART = 64  /* bytes between slices, or they would fall on the same lines */
};

#define INLINE SIMD_BF16_TARGET static inline __attribute__((always_inline))

/* Bytes from one slice to the next. */
static int64_t slice(int64_t rows, int64_t channels, size_t each)
{
	return rows * channels * (int64_t)each + APART;
}

static int64_t v_slice(const struct cpu_winograd *w)
{
	return slice(TILES, w->in, sizeof(uint16_t));
}

static int64_t m_slice(const struct cpu_winograd *w)
{
	return slice(TILES, w->out, sizeof(float));
}

static int64_t u_slice(const struct cpu_winograd *w)
{
	return slice(w->in, w->out, sizeof(uint16_t));
}

INLINE __m512 widen(const uint16_t *from)
{
	__m256i halves = _mm256_loadu_si256((const void *)from);

	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

INLINE __m256i narrow(__m512 values)
{
	return (__m256i)_mm512_cvtneps_pbh(values);
}

/* One dimension of each transform; `by` is the distance between elements. */

/* B^T d */
INLINE void transform_input(__m512 *d, int by)
{
	__m512 second = d[by];

	d[0] = d[0] - d[2 * by];
	d[by] = second + d[2 * by];
	d[2 * by] = d[2 * by] - second;
	d[3 * by] = second - d[3 * by];
}

/* A^T m */
INLINE void transform_output(__m512 *m, int by)
{
	m[0] = m[0] + m[by] + m[2 * by];
	m[by] = m[by] - m[2 * by] - m[3 * by];
}

/* G g */
INLINE void transform_weights(__m512 *g, int by)
{
	__m512 ends = (g[0] + g[2 * by]) * 0.5f, middle = g[by] * 0.5f;

	g[3 * by] = g[2 * by];
	g[by] = ends + middle;
	g[2 * by] = ends - middle;
}

/* The tile whose first place is (y, x); zero outside of the plane. */
INLINE void load_tile(__m512 *to, const struct cpu_winograd *w, const uint16_t *plane, int64_t y,
		      int64_t x)
{
	if (y >= 0 && x >= 0 && y + TILE <= w->height && x + TILE <= w->width) {
		UNROLL
		for (int i = 0; i < PLACES; i++)
			to[i] = widen(plane + ((y + i / TILE) * w->width + x + i % TILE) * LANES);
		return;
	}
	for (int i = 0; i < PLACES; i++) {
		int64_t at_y = y + i / TILE, at_x = x + i % TILE;
		bool in = at_y >= 0 && at_x >= 0 && at_y < w->height && at_x < w->width;

		to[i] = in ? widen(plane + (at_y * w->width + at_x) * LANES) : _mm512_setzero_ps();
	}
}

/* V of tiles first..last. */
SIMD_BF16_TARGET static void input_tiles(const struct cpu_winograd *w, const uint16_t *input,
					 int64_t first, int64_t last, char *v)
{
	int64_t area = w->height * w->width * LANES;

	for (int64_t t = first; t < last; t++) {
		struct cpu_winograd_place at = cpu_winograd_place(w, OUT, t);

		for (int64_t c = 0; c < w->in; c += LANES) {
			const uint16_t *plane = input + (at.sample * w->in + c) / LANES * area;
			uint16_t *to = (uint16_t *)v + (t - first) * w->in + c;
			__m512 d[PLACES];

			load_tile(d, w, plane, at.y - w->pad, at.x - w->pad);
			BOTH(transform_input, d, TILE, TILE);
			UNROLL
			for (int i = 0; i < PLACES; i++)
				_mm256_storeu_si256((void *)((char *)to + i * v_slice(w)),
						    narrow(d[i]));
		}
	}
}

SIMD_BF16_TARGET static void output_tiles(const struct cpu_winograd *w,
					  const struct cpu_winograd_run *run, int64_t first,
					  int64_t last, const char *m)
{
	int64_t area = w->out_height * w->out_width * LANES;
	uint16_t *output = run->output;

	for (int64_t t = first; t < last; t++) {
		struct cpu_winograd_place at = cpu_winograd_place(w, OUT, t);

		for (int64_t k = 0; k < w->out; k += LANES) {
			const char *from =
				m + (k * TILES + (t - first) * LANES) * (int64_t)sizeof(float);
			uint16_t *plane = output + (at.sample * w->out + k) / LANES * area;
			__m512 bias =
				run->bias ? _mm512_loadu_ps(run->bias + k) : _mm512_setzero_ps();
			__m512 y[PLACES];

			UNROLL
			for (int i = 0; i < PLACES; i++)
				y[i] = _mm512_load_ps((const void *)(from + i * m_slice(w)));
			BOTH(transform_output, y, TILE, OUT);
			UNROLL
			for (int i = 0; i < OUT * OUT; i++) {
				int64_t to_y = at.y + i / OUT, to_x = at.x + i % OUT;
				__m512 value = y[i / OUT * TILE + i % OUT] + bias;

				if (w->relu)
					value = _mm512_max_ps(_mm512_setzero_ps(),
							      value); /* a NaN stays */
				if (to_y < w->out_height && to_x < w->out_width)
					_mm256_storeu_si256((void *)(plane + (to_y * w->out_width +
									      to_x) * LANES),
							    narrow(value));
			}
		}
	}
}

/* Products of some rows of V by some panels of U. */
INLINE void multiply(const int rows, const int panels, int64_t depth, const uint16_t *v,
		     const uint16_t *u, float *m)
{
	__m512 sums[ROWS][PANELS];

	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
	for (int p = 0; p < panels; p++)
		sums[i][p] = _mm512_setzero_ps();
	for (int64_t c = 0; c < depth; c += 2) {
		__m512bh pairs[PANELS];

		UNROLL
		for (int p = 0; p < panels; p++)
			pairs[p] = (__m512bh)_mm512_loadu_si512(
				(const void *)(u + (p * depth + c) * LANES));
		UNROLL
		for (int i = 0; i < rows; i++) {
			int32_t pair;

			memcpy(&pair, v + i * depth + c, sizeof(pair));
			UNROLL
			for (int p = 0; p < panels; p++)
				sums[i][p] = _mm512_dpbf16_ps(
					sums[i][p], (__m512bh)_mm512_set1_epi32(pair), pairs[p]);
		}
	}
	UNROLL
	for (int i = 0; i < rows; i++)
		UNROLL
	for (int p = 0; p < panels; p++)
		_mm512_store_ps(m + (p * TILES + i) * LANES, sums[i][p]);
}

/* All rows by some panels. */
INLINE void multiply_panels(const int panels, int64_t rows, int64_t depth, const uint16_t *v,
			    const uint16_t *u, float *m)
{
	int64_t i = 0;

	for (; i + ROWS <= rows; i += ROWS)
		multiply(ROWS, panels, depth, v + i * depth, u, m + i * LANES);
	for (; i < rows; i++)
		multiply(1, panels, depth, v + i * depth, u, m + i * LANES);
}

SIMD_BF16_TARGET static void multiply_place(const struct cpu_winograd *w, int64_t rows,
					    const uint16_t *v, const uint16_t *u, float *m)
{
	int64_t k = 0;

	for (; k + PANELS * LANES <= w->out; k += PANELS * LANES)
		multiply_panels(PANELS, rows, w->in, v, u + k * w->in, m + k * TILES);
	for (; k < w->out; k += LANES)
		multiply_panels(1, rows, w->in, v, u + k * w->in, m + k * TILES);
}

static size_t part_bytes(const struct cpu_winograd *w)
{
	return (size_t)(PLACES * (v_slice(w) + m_slice(w)));
}

/* What the threads share of a run. */
struct work {
	const struct cpu_winograd *w;
	const struct cpu_winograd_run *run;
	int64_t parts;
};

static void forward_parts(void *argument, int64_t first, int64_t last)
{
	const struct work *work = argument;
	const struct cpu_winograd *w = work->w;
	int64_t tiles = cpu_winograd_tiles(w, OUT), blocks = (tiles + TILES - 1) / TILES;

	for (int64_t part = first; part < last; part++) {
		char *v = (char *)work->run->scratch + (size_t)part * part_bytes(w);
		char *m = v + PLACES * v_slice(w);
		int64_t end = blocks * (part + 1) / work->parts;

		for (int64_t block = blocks * part / work->parts; block < end; block++) {
			int64_t at = block * TILES, to = at + TILES < tiles ? at + TILES : tiles;

			input_tiles(w, work->run->input, at, to, v);
			for (int place = 0; place < PLACES; place++)
				multiply_place(w, to - at, (void *)(v + place * v_slice(w)),
					       (const void *)((const char *)work->run->transformed +
							      place * u_slice(w)),
					       (void *)(m + place * m_slice(w)));
			output_tiles(w, work->run, at, to, m);
		}
	}
}

void cpu_winograd_bf16_run(const struct cpu_winograd *w, const struct cpu_team *team,
			   const struct cpu_winograd_run *run)
{
	struct work work = {w, run, team->threads};

	cpu_team_run(team, work.parts, forward_parts, &work);
}

struct weights_work {
	const struct cpu_winograd *w;
	const float *weight;
	bool turned;
	char *transformed;
};

/* Pairs of input channels. */
SIMD_BF16_TARGET static void weight_pairs(void *argument, int64_t first, int64_t last)
{
	const struct weights_work *work = argument;
	const struct cpu_winograd *w = work->w;

	for (int64_t c = 2 * first; c < 2 * last; c += 2)
		for (int64_t k = 0; k < w->out; k += LANES) {
			char *to = work->transformed +
				   (k * w->in + c * LANES) * (int64_t)sizeof(uint16_t);
			__m512 g[2][PLACES];

			for (int i = 0; i < 2 * KERNEL * KERNEL; i++) {
				int at = i / 2, turned = KERNEL * KERNEL - 1 - at;

				g[i % 2][at / KERNEL * TILE + at % KERNEL] =
					_mm512_loadu_ps(work->weight +
							((c + i % 2) * KERNEL * KERNEL +
							 (work->turned ? turned : at)) *
								w->out +
							k);
			}
			BOTH(transform_weights, g[0], KERNEL, TILE);
			BOTH(transform_weights, g[1], KERNEL, TILE);
			for (int i = 0; i < PLACES; i++)
				_mm512_storeu_si512(
					to + i * u_slice(w),
					_mm512_or_si512(_mm512_cvtepu16_epi32(narrow(g[0][i])),
							_mm512_slli_epi32(_mm512_cvtepu16_epi32(
										  narrow(g[1][i])),
									  16)));
		}
}

void cpu_winograd_bf16_weights(const struct cpu_winograd *w, const struct cpu_team *team,
			       const float *weight, bool turned, void *transformed)
{
	struct weights_work work = {w, weight, turned, transformed};

	cpu_team_run(team, w->in / 2, weight_pairs, &work);
}

size_t cpu_winograd_bf16_transformed(const struct cpu_winograd *w)
{
	return (size_t)(PLACES * u_slice(w));
}

size_t cpu_winograd_bf16_scratch(const struct cpu_winograd *w, int threads)
{
	return (size_t)threads * part_bytes(w);
}

bool cpu_winograd_bf16_here(void)
{
	return simd_isa() >= SIMD_BF16;
}
#endif
