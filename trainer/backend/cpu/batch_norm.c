/* SPDX-License-Identifier: MIT */
/* See batch_norm.h. */
#include "backend/cpu/batch_norm.h"

#include <math.h>

#include "backend/cpu/values.h"

/* The most channels at a time. Loops over them have a constant count, so that compilers vectorize
 * them; a piece of a plane stays in the first cache while its channels are walked. */
enum { LANES = 16, PIECE_VALUES = 4096 };

/* What forward leaves in the workspace, an array of padded channels each. MEAN_REST is what the
 * mean loses when it is rounded to a float; SHIFT and MEAN_GRADIENT make up for it. The last two
 * are backward_weights'. */
enum saved { MEAN, MEAN_REST, INVERSE_STD, SCALE, SHIFT, MEAN_GRADIENT, SLOPE, SAVED };

struct pass {
	const struct cpu_batch_norm *norm;
	const struct op_args *args;
	int64_t rows;         /* that count */
	double count;         /* values in a channel, of all ranks */
	const double *totals; /* count, and two sums for each channel, of all ranks; NULL: of one */
	bool training;
};

static int64_t padded(const struct cpu_batch_norm *norm)
{
	return norm->groups * norm->inner;
}

size_t cpu_batch_norm_workspace(const struct cpu_batch_norm *norm)
{
	return (size_t)padded(norm) * SAVED * sizeof(float);
}

static int64_t plane_sums(const struct cpu_batch_norm *norm)
{
	return 2 * norm->samples * padded(norm);
}

/* A rank's number of values in a channel, and two sums for each channel. */
static int64_t rank_totals(const struct cpu_batch_norm *norm)
{
	return 1 + 2 * norm->channels;
}

/* Two sums for each channel of each sample; with ranks the totals, and those of each rank. */
size_t cpu_batch_norm_scratch(const struct cpu_batch_norm *norm)
{
	int64_t totals = norm->ranks > 0 ? (1 + norm->ranks) * rank_totals(norm) : 0;

	return (size_t)(plane_sums(norm) + totals) * sizeof(double);
}

static float *saved(const struct pass *p, enum saved which)
{
	return (float *)p->args->workspace + which * padded(p->norm);
}

/* The sums of plane `plane`: `inner` first ones, then `inner` second ones. */
static double *sums_of(const struct pass *p, int64_t plane)
{
	return (double *)p->args->scratch + plane * 2 * p->norm->inner;
}

/* --- walks over planes ----------------------------------------------------------------------- */

/* The first two add up sums of each plane, the others write it. */
enum walk { MOMENTS, GRADIENTS, NORMALIZE, DIFFERENTIATE };

/* Of some channels. */
struct coefficients {
	float mean[LANES], scale[LANES], shift[LANES], mean_gradient[LANES], slope[LANES];
};

SIMD_BODY void take(const struct pass *p, int64_t channel, int lanes, struct coefficients *k)
{
	const float *from = (const float *)p->args->workspace + channel;
	int64_t all = padded(p->norm);

	for (int l = 0; l < lanes; l++) {
		k->mean[l] = from[MEAN * all + l];
		k->scale[l] = from[SCALE * all + l];
		k->shift[l] = from[SHIFT * all + l];
		k->mean_gradient[l] = from[MEAN_GRADIENT * all + l];
		k->slope[l] = from[SLOPE * all + l];
	}
}

/* The gradient before ReLU, of an output that is computed again, which is cheaper than reading it.
 */
SIMD_BODY float before_relu(bool relu, float gradient, float centered, float scale, float shift)
{
	return !relu || fmaf(centered, scale, shift) > 0.0f ? gradient : 0.0f;
}

/* Adds to the sums of `lanes` channels over `count` places, `step` apart. Products of two floats
 * are whole in a double. */
SIMD_BODY void add_moments(bool half, int lanes, const struct pass *p, int64_t at, int64_t count,
			   int64_t step, double *first, double *second)
{
	const void *input = p->args->input;
	double sum[LANES], squares[LANES];

	for (int l = 0; l < lanes; l++) {
		sum[l] = first[l];
		squares[l] = second[l];
	}
	for (int64_t i = 0; i < count; i++, at += step)
#pragma omp simd
		for (int l = 0; l < lanes; l++) {
			double x = (double)cpu_get(half, input, at + l);

			sum[l] += x;
			squares[l] += x * x;
		}
	for (int l = 0; l < lanes; l++) {
		first[l] = sum[l];
		second[l] = squares[l];
	}
}

SIMD_BODY void add_gradients(bool half, bool relu, int lanes, const struct pass *p,
			     const struct coefficients *k, int64_t at, int64_t count, int64_t step,
			     double *first, double *second)
{
	const void *input = p->args->input, *gradients = p->args->output_gradient;
	double sum[LANES], products[LANES];

	for (int l = 0; l < lanes; l++) {
		sum[l] = first[l];
		products[l] = second[l];
	}
	for (int64_t i = 0; i < count; i++, at += step) {
		float x[LANES], g[LANES];

#pragma omp simd
		for (int l = 0; l < lanes; l++) {
			x[l] = cpu_get(half, input, at + l) - k->mean[l];
			g[l] = before_relu(relu, cpu_get(half, gradients, at + l), x[l],
					   k->scale[l], k->shift[l]);
		}
#pragma omp simd
		for (int l = 0; l < lanes; l++) {
			sum[l] += (double)g[l];
			products[l] += (double)g[l] * (double)x[l];
		}
	}
	for (int l = 0; l < lanes; l++) {
		first[l] = sum[l];
		second[l] = products[l];
	}
}

SIMD_BODY void normalize(bool half, int lanes, const struct pass *p, const struct coefficients *k,
			 int64_t at, int64_t count, int64_t step)
{
	const void *input = p->args->input;
	void *output = p->args->output;
	bool relu = p->norm->relu;

	for (int64_t i = 0; i < count; i++, at += step)
#pragma omp simd
		for (int l = 0; l < lanes; l++) {
			float x = cpu_get(half, input, at + l) - k->mean[l];
			float y = fmaf(x, k->scale[l], k->shift[l]);

			cpu_set(half, output, at + l, relu && y < 0.0f ? 0.0f : y);
		}
}

/* The derivative by the input, where mean and variance depend on it too: scale * (g - mean(g) -
 * (x - mean) * mean(g * (x - mean)) / variance), section 3 of the paper. */
SIMD_BODY void differentiate(bool half, bool relu, int lanes, const struct pass *p,
			     const struct coefficients *k, int64_t at, int64_t count, int64_t step)
{
	const void *input = p->args->input, *gradients = p->args->output_gradient;
	void *to = p->args->input_gradient;

	for (int64_t i = 0; i < count; i++, at += step)
#pragma omp simd
		for (int l = 0; l < lanes; l++) {
			float x = cpu_get(half, input, at + l) - k->mean[l];
			float g = before_relu(relu, cpu_get(half, gradients, at + l), x,
					      k->scale[l], k->shift[l]);

			g = fmaf(-x, k->slope[l], g - k->mean_gradient[l]);
			cpu_set(half, to, at + l, g * k->scale[l]);
		}
}

/* Some channels of a piece of a plane. */
SIMD_BODY void walk_channels(enum walk walk, bool half, int lanes, const struct pass *p,
			     int64_t plane, int64_t channel, int64_t first, int64_t count)
{
	int64_t inner = p->norm->inner;
	int64_t at = (plane * p->norm->places + first) * inner + channel;
	double *sums = sums_of(p, plane) + channel;
	bool relu = p->norm->relu_backward;
	struct coefficients k;

	if (walk == MOMENTS) {
		add_moments(half, lanes, p, at, count, inner, sums, sums + inner);
		return;
	}
	take(p, plane % p->norm->groups * inner + channel, lanes, &k);
	if (walk == NORMALIZE)
		normalize(half, lanes, p, &k, at, count, inner);
	else if (walk == GRADIENTS && relu)
		add_gradients(half, true, lanes, p, &k, at, count, inner, sums, sums + inner);
	else if (walk == GRADIENTS)
		add_gradients(half, false, lanes, p, &k, at, count, inner, sums, sums + inner);
	else if (relu)
		differentiate(half, true, lanes, p, &k, at, count, inner);
	else
		differentiate(half, false, lanes, p, &k, at, count, inner);
}

SIMD_BODY void walk_piece(enum walk walk, bool half, const struct pass *p, int64_t plane,
			  int64_t first, int64_t count)
{
	int64_t inner = p->norm->inner, c = 0;

	for (; c + LANES <= inner; c += LANES)
		walk_channels(walk, half, LANES, p, plane, c, first, count);
	for (; c + LANES / 2 <= inner; c += LANES / 2)
		walk_channels(walk, half, LANES / 2, p, plane, c, first, count);
	for (; c < inner; c++)
		walk_channels(walk, half, 1, p, plane, c, first, count);
}

/* Rows that do not count are zero: what is normalized by the statistics of other rows can grow from
 * layer to layer until it is infinite, and infinity times a gradient of zero is NaN. */
SIMD_BODY void clear_plane(bool half, void *to, const struct pass *p, int64_t plane)
{
	int64_t values = p->norm->places * p->norm->inner;

	for (int64_t i = plane * values; i < (plane + 1) * values; i++)
		cpu_set(half, to, i, 0.0f);
}

SIMD_BODY int64_t piece_places(const struct cpu_batch_norm *norm)
{
	int64_t places = PIECE_VALUES / norm->inner;

	return norm->inner <= LANES ? norm->places : places > 0 ? places : 1;
}

/* Before the walk: sums begin at zero. False: nothing else is done with this plane. */
SIMD_BODY bool begin_plane(enum walk walk, bool half, const struct pass *p, int64_t plane)
{
	double *sums = sums_of(p, plane);

	if (walk == MOMENTS || walk == GRADIENTS) {
		for (int64_t i = 0; i < 2 * p->norm->inner; i++)
			sums[i] = 0.0;
		return true;
	}
	if (!p->training || plane < p->rows * p->norm->groups)
		return true;
	clear_plane(half, walk == NORMALIZE ? p->args->output : p->args->input_gradient, p, plane);
	return false;
}

SIMD_BODY void walk_planes(enum walk walk, bool half, const struct pass *p, int64_t first,
			   int64_t last)
{
	const struct cpu_batch_norm *norm = p->norm;
	int64_t piece = piece_places(norm);

	for (int64_t plane = first; plane < last; plane++) {
		if (!begin_plane(walk, half, p, plane))
			continue;
		for (int64_t at = 0; at < norm->places; at += piece)
			walk_piece(walk, half, p, plane, at,
				   norm->places - at < piece ? norm->places - at : piece);
	}
}

/* With the type as a constant. */
#define EACH_WALK(name, walk) \
	SIMD_BODY void name##_body(void *argument, int64_t first, int64_t last) \
	{ \
		const struct pass *p = argument; \
\
		if (p->norm->type == VALUE_BFLOAT16) \
			walk_planes(walk, true, p, first, last); \
		else \
			walk_planes(walk, false, p, first, last); \
	} \
	SIMD_EACH(name, name##_body)

EACH_WALK(sum_moments, MOMENTS)
EACH_WALK(sum_gradients, GRADIENTS)
EACH_WALK(normalize_planes, NORMALIZE)
EACH_WALK(differentiate_planes, DIFFERENTIATE)

/* --- what follows from the sums, for each channel -------------------------------------------- */

struct moments {
	double mean, variance;
};

/* Of a channel, over the planes of the rows that count. */
static void add_planes(const struct pass *p, int64_t channel, double *first, double *second)
{
	const struct cpu_batch_norm *norm = p->norm;
	int64_t group = channel / norm->inner, lane = channel % norm->inner;

	*first = *second = 0.0;
	for (int64_t n = 0; n < p->rows; n++) {
		const double *sums = sums_of(p, n * norm->groups + group) + lane;

		*first += sums[0];
		*second += sums[norm->inner];
	}
}

/* Of a channel, over all rows that count. */
static void total_sums(const struct pass *p, int64_t channel, double *first, double *second)
{
	if (!p->totals) {
		add_planes(p, channel, first, second);
		return;
	}
	*first = p->totals[1 + 2 * channel];
	*second = p->totals[2 + 2 * channel];
}

/* After the sums of planes. */
static bool add_ranks(struct pass *p, struct train_error *error)
{
	const struct cpu_batch_norm *norm = p->norm;
	const struct batch_ranks *ranks = p->args->ranks;
	double *totals = (double *)p->args->scratch + plane_sums(norm);

	p->count = (double)(p->rows * norm->places);
	if (!ranks)
		return true;
	totals[0] = p->count;
	for (int64_t c = 0; c < norm->channels; c++)
		add_planes(p, c, &totals[1 + 2 * c], &totals[2 + 2 * c]);
	if (!cpu_add_ranks(ranks, totals, totals + rank_totals(norm), rank_totals(norm), error))
		return false;
	p->count = totals[0];
	p->totals = totals;
	return true;
}

/* The difference of squares loses no more than a double's last bits, because floats whose mean is
 * 10^6 times their deviation have hardly any bits left themselves. */
static struct moments batch_moments(const struct pass *p, int64_t channel)
{
	double sum, squares;
	struct moments m;

	total_sums(p, channel, &sum, &squares);
	m.mean = sum / p->count;
	m.variance = squares / p->count - m.mean * m.mean;
	m.variance = m.variance < 0.0 ? 0.0 : m.variance;
	return m;
}

static void move_running(const struct pass *p, int64_t channel, const struct moments *m)
{
	double count = p->count, momentum = p->norm->momentum;
	float *mean = (float *)p->args->running_mean + channel,
	      *var = (float *)p->args->running_var + channel;

	*mean = (float)((1.0 - momentum) * (double)*mean + momentum * m->mean);
	if (count > 1.0)
		*var = (float)((1.0 - momentum) * (double)*var +
			       momentum * m->variance * (count / (count - 1.0)));
}

static void set_channel(const struct pass *p, int64_t channel, const struct moments *m)
{
	double inverse_std = 1.0 / sqrt(m->variance + p->norm->eps);
	double scale = inverse_std * (double)((const float *)p->args->weight)[channel];
	float mean = (float)m->mean;
	double rest = m->mean - (double)mean;

	saved(p, MEAN)[channel] = mean;
	saved(p, MEAN_REST)[channel] = (float)rest;
	saved(p, INVERSE_STD)[channel] = (float)inverse_std;
	saved(p, SCALE)[channel] = (float)scale;
	saved(p, SHIFT)[channel] =
		(float)((double)((const float *)p->args->bias)[channel] - rest * scale);
}

static void finish_moments(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;

	for (int64_t c = first; c < last; c++) {
		struct moments m = {0.0, 0.0};

		if (!p->training)
			m = (struct moments){(double)((const float *)p->args->running_mean)[c],
					     (double)((const float *)p->args->running_var)[c]};
		else if (p->count > 0.0)
			m = batch_moments(p, c);
		if (p->training && p->count > 0.0)
			move_running(p, c, &m);
		set_channel(p, c, &m);
	}
}

static void finish_gradients(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;
	double count = p->count, sum, products;

	for (int64_t c = first; c < last; c++) {
		double inverse_std = (double)saved(p, INVERSE_STD)[c];
		double rest = (double)saved(p, MEAN_REST)[c], slope;

		add_planes(p, c, &sum, &products);
		((float *)p->args->bias_gradient)[c] = (float)sum;
		((float *)p->args->weight_gradient)[c] =
			(float)((products - rest * sum) * inverse_std);
		total_sums(p, c, &sum, &products);
		products -= rest * sum;
		slope = count > 0.0 ? products * inverse_std * inverse_std / count : 0.0;
		saved(p, MEAN_GRADIENT)[c] =
			count > 0.0 ? (float)(sum / count - rest * slope) : 0.0f;
		saved(p, SLOPE)[c] = (float)slope;
	}
}

/* --- runs ------------------------------------------------------------------------------------ */

/* Padding has a mean, a scale and gradients of zero. */
static void clear_padding(const struct pass *p)
{
	int64_t all = padded(p->norm);

	for (int which = 0; which < SAVED; which++)
		for (int64_t c = p->norm->channels; c < all; c++)
			saved(p, (enum saved)which)[c] = 0.0f;
}

static struct pass pass_of(const struct cpu_batch_norm *norm, const struct op_args *args,
			   bool training)
{
	return (struct pass){.norm = norm,
			     .args = args,
			     .rows = args->control ? args->control->rows : 0,
			     .training = training};
}

bool cpu_batch_norm_forward(const struct cpu_batch_norm *norm, const struct cpu_team *team,
			    const struct op_args *args, struct train_error *error)
{
	struct pass pass = pass_of(norm, args, args->training);

	if (pass.training) {
		cpu_team_run(team, pass.rows * norm->groups, sum_moments[simd_loops()], &pass);
		if (!add_ranks(&pass, error))
			return false;
	}
	clear_padding(&pass);
	cpu_team_run(team, norm->channels, finish_moments, &pass);
	cpu_team_run(team, norm->samples * norm->groups, normalize_planes[simd_loops()], &pass);
	return true;
}

bool cpu_batch_norm_backward_weights(const struct cpu_batch_norm *norm, const struct cpu_team *team,
				     const struct op_args *args, struct train_error *error)
{
	struct pass pass = pass_of(norm, args, true);

	cpu_team_run(team, pass.rows * norm->groups, sum_gradients[simd_loops()], &pass);
	if (!add_ranks(&pass, error))
		return false;
	cpu_team_run(team, norm->channels, finish_gradients, &pass);
	return true;
}

void cpu_batch_norm_backward_data(const struct cpu_batch_norm *norm, const struct cpu_team *team,
				  const struct op_args *args)
{
	struct pass pass = pass_of(norm, args, true);

	cpu_team_run(team, norm->samples * norm->groups, differentiate_planes[simd_loops()], &pass);
}
