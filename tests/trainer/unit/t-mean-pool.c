/* SPDX-License-Identifier: MIT */
/* Global average pooling of the CPU against its definition. isa.test repeats it with the
 * instructions of older processors. */
#include <math.h>
#include <string.h>

#include "backend/cpu/mean_pool.h"
#include "unit.h"

static const struct {
	const char *name;
	int64_t samples, groups, places, inner, channels;
} rows[] = {
	{"row-major", 3, 5, 12, 1, 5},
	{"blocks of 8", 2, 3, 15, 8, 24},
	{"blocks of 16", 5, 2, 49, 16, 32},
	{"a last block with padding", 2, 2, 6, 16, 27},
	{"a last block of padding", 2, 3, 6, 8, 15},
	{"channels last", 3, 1, 20, 29, 29},
	{"one place", 2, 2, 1, 16, 32},
};
enum { ROWS = sizeof(rows) / sizeof(*rows), KINDS = 2, VALUES = 1 << 13 };

/* In [-1.75, 1.75), exact in bfloat16. */
static double number(int64_t i, int seed)
{
	uint32_t drawn = ((uint32_t)i + 77777u * (uint32_t)seed) * 2654435761u;

	return (double)(drawn >> 25) / 64.0 - 1.0;
}

struct pooled {
	struct cpu_mean_pool pool;
	int64_t values;
	unsigned char input[VALUES * 4], output[VALUES * 4], gradient[VALUES * 4],
		input_gradient[VALUES * 4];
};

static int64_t channel_of(const struct cpu_mean_pool *p, int64_t i)
{
	return i / p->inner / p->places % p->groups * p->inner + i % p->inner;
}

/* The index of a value's output; -1: padding. */
static int64_t output_of(const struct cpu_mean_pool *p, int64_t i)
{
	int64_t sample = i / p->inner / p->places / p->groups, channel = channel_of(p, i);

	return channel < p->channels ? sample * p->channels + channel : -1;
}

static void run(struct pooled *p, int i, int threads)
{
	const struct cpu_mean_pool pool = {
		i % 2 ? VALUE_BFLOAT16 : VALUE_FLOAT32,
		rows[i / KINDS].samples,
		rows[i / KINDS].groups,
		rows[i / KINDS].places,
		rows[i / KINDS].inner,
		rows[i / KINDS].channels,
	};
	struct cpu_team team;

	memset(p, 0x5a, sizeof(*p));
	p->pool = pool;
	p->values = pool.samples * pool.groups * pool.places * pool.inner;
	ck_assert_int_le(p->values, VALUES);
	for (int64_t k = 0; k < p->values; k++)
		value_set(pool.type, p->input, k, output_of(&pool, k) < 0 ? 0.0 : number(k, 1));
	for (int64_t k = 0; k < pool.samples * pool.channels; k++)
		value_set(pool.type, p->gradient, k, number(k, 2));
	cpu_team_open(&team, threads);
	cpu_mean_pool_forward(&pool, &team, p->input, p->output);
	cpu_mean_pool_backward(&pool, &team, p->input_gradient, p->gradient);
}

static void expect(const char *name, const char *what, int64_t at, double got, double want,
		   double within)
{
	ck_assert_msg(fabs(got - want) <= within * fabs(want), "%s: %s %d: %.9g, not %.9g", name,
		      what, (int)at, got, want);
}

START_TEST(means_of_channels)
{
	static struct pooled p, two;
	const struct cpu_mean_pool *pool = &p.pool;
	double sums[VALUES] = {0}, within;

	run(&p, _i, 1);
	run(&two, _i, 2);
	ck_assert_mem_eq(&p, &two, sizeof(p));
	within = pool->type == VALUE_BFLOAT16 ? 0x1p-8 : 0x1p-23; /* of one rounding, or two */
	for (int64_t i = 0; i < p.values; i++)
		if (output_of(pool, i) >= 0)
			sums[output_of(pool, i)] += value_get(pool->type, p.input, i);
	for (int64_t i = 0; i < pool->samples * pool->channels; i++)
		expect(rows[_i / KINDS].name, "mean", i, value_get(pool->type, p.output, i),
		       sums[i] / (double)pool->places, within * 1.01);
	for (int64_t i = 0; i < p.values; i++) {
		int64_t out = output_of(pool, i);

		expect(rows[_i / KINDS].name, "gradient", i,
		       value_get(pool->type, p.input_gradient, i),
		       out < 0 ? 0.0
			       : value_get(pool->type, p.gradient, out) / (double)pool->places,
		       within * 1.01);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mean pool");
	TCase *tests = tcase_create("mean pool");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, means_of_channels, 0, ROWS * KINDS);
	return unit_run(suite);
}
