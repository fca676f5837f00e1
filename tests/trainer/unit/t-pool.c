/* SPDX-License-Identifier: MIT */
/* Max-pooling of the CPU against its definition, bit by bit. isa.test repeats it with the
 * instructions of older processors. */
#include <math.h>
#include <string.h>

#include "backend/cpu/pool.h"
#include "unit.h"

/* Height and width leave a rest in some rows. */
static const struct {
	const char *name;
	int64_t planes, inner, height, width;
	int kernel, stride, pad;
} rows[] = {
	{"one channel", 3, 1, 6, 4, 2, 2, 0},
	{"8 channels", 2, 8, 5, 8, 2, 2, 0},
	{"16 channels", 5, 16, 6, 7, 2, 2, 0},
	{"channels of each kind", 1, 29, 4, 4, 2, 2, 0},
	{"thirds", 2, 16, 10, 9, 3, 3, 0},
	{"thirds of 8 channels", 2, 8, 9, 10, 3, 3, 0},
	{"one by one", 1, 19, 2, 3, 1, 1, 0},
	{"the greatest window", 1, 9, 15, 16, CPU_POOL_MAX_KERNEL, CPU_POOL_MAX_KERNEL, 0},
	{"ResNet's", 3, 16, 8, 8, 3, 2, 1},
	{"ResNet's of odd sizes", 2, 8, 7, 9, 3, 2, 1},
	{"ResNet's of channels of each kind", 2, 29, 5, 4, 3, 2, 1},
	{"overlapping without padding", 2, 16, 7, 6, 3, 1, 0},
	{"apart with padding", 2, 16, 6, 5, 2, 2, 1},
	{"gaps between windows", 2, 8, 9, 10, 2, 3, 0},
	{"gaps and padding", 1, 17, 7, 8, 3, 5, 1},
	{"a window larger than the plane", 2, 8, 2, 3, 5, 2, 2},
	{"one place", 2, 8, 1, 1, 3, 2, 1},
};
enum { ROWS = sizeof(rows) / sizeof(*rows), KINDS = 4, VALUES = 1 << 13 };

/* Values with ties, zeros of both signs, infinities and NaNs; exact in bfloat16. */
static float number(int64_t i, int seed)
{
	static const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
	uint32_t drawn = (uint32_t)(i + 1000 * seed) * 2654435761u >> 16;

	return drawn % 16 < 5 ? odd[drawn % 16] : (float)(drawn / 16 % 9) - 4.0f;
}

struct pooling {
	struct cpu_pool pool;
	int64_t inputs, outputs;
	_Alignas(64) float input[VALUES], output[VALUES], gradient[VALUES], input_gradient[VALUES];
	uint8_t chosen[VALUES];
};

static int64_t sized(int row, int64_t size)
{
	return (size + 2 * rows[row].pad - rows[row].kernel) / rows[row].stride + 1;
}

static void pooling_make(struct pooling *p, int row, bool relu)
{
	p->pool = (struct cpu_pool){VALUE_FLOAT32,
				    rows[row].planes,
				    rows[row].inner,
				    rows[row].height,
				    rows[row].width,
				    sized(row, rows[row].height),
				    sized(row, rows[row].width),
				    rows[row].kernel,
				    rows[row].stride,
				    rows[row].pad,
				    relu};
	p->inputs = p->pool.planes * p->pool.inner * p->pool.in_height * p->pool.in_width;
	p->outputs = p->pool.planes * p->pool.inner * p->pool.out_height * p->pool.out_width;
	ck_assert_int_le(p->inputs, VALUES);
	for (int64_t i = 0; i < p->inputs; i++)
		p->input[i] = number(i, 1);
	for (int64_t i = 0; i < p->outputs; i++)
		p->gradient[i] = number(i, 2);
}

/* The index of value k of the window of output `to`; -1 outside of the plane. */
static int64_t input_of(const struct cpu_pool *w, int64_t to, int k)
{
	int64_t c = to % w->inner, x = to / w->inner % w->out_width,
		y = to / w->inner / w->out_width % w->out_height,
		plane = to / w->inner / w->out_width / w->out_height;

	y = y * w->stride - w->pad + k / w->kernel;
	x = x * w->stride - w->pad + k % w->kernel;
	if (y < 0 || x < 0 || y >= w->in_height || x >= w->in_width)
		return -1;
	return ((plane * w->in_height + y) * w->in_width + x) * w->inner + c;
}

/* The first place with the greatest value of the window of output `to`. */
static int greatest(const struct pooling *p, int64_t to)
{
	int best = -1;
	float max = 0;

	for (int k = 0; k < p->pool.kernel * p->pool.kernel; k++) {
		int64_t in = input_of(&p->pool, to, k);

		if (in < 0)
			continue;
		if (best < 0 || p->input[in] > max || isnan(p->input[in])) {
			max = p->input[in];
			best = k;
		}
	}
	ck_assert_int_ge(best, 0);
	return best;
}

static void define(struct pooling *p)
{
	memset(p->input_gradient, 0, sizeof(p->input_gradient));
	for (int64_t to = 0; to < p->outputs; to++) {
		int best = greatest(p, to);
		int64_t in = input_of(&p->pool, to, best);

		p->chosen[to] = (uint8_t)best;
		p->output[to] = p->input[in];
		if (!p->pool.relu_backward || p->output[to] > 0.0f)
			p->input_gradient[in] += p->gradient[to];
	}
}

static void convert(enum value_type type, void *to, const float *from, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		value_set(type, to, i, (double)from[i]);
}

static void expect(int row, const char *what, enum value_type type, const void *got,
		   const float *want, int64_t count)
{
	_Alignas(64) float wanted[VALUES];

	convert(type, wanted, want, count);
	for (size_t i = 0; i < (size_t)count * value_bytes(type); i++)
		ck_assert_msg(((const uint8_t *)got)[i] == ((const uint8_t *)wanted)[i],
			      "%s: %s of %s: byte %zu", rows[row].name, what, value_name(type), i);
}

/* Sums of gradients may have a zero or a NaN of another sign. */
static void expect_sums(int row, enum value_type type, const void *got, const float *want,
			int64_t count)
{
	_Alignas(64) float wanted[VALUES];

	convert(type, wanted, want, count);
	for (int64_t i = 0; i < count; i++) {
		double is = value_get(type, got, i), wants = value_get(type, wanted, i);

		ck_assert_msg(is == wants || (isnan(is) && isnan(wants)),
			      "%s: gradient of %s %d: %g, not %g", rows[row].name, value_name(type),
			      (int)i, is, wants);
	}
}

START_TEST(pooling_by_its_definition)
{
	static struct pooling p;
	static _Alignas(64) float input[VALUES], output[VALUES], gradient[VALUES], back[VALUES];
	static uint8_t chosen[VALUES];
	int row = _i / KINDS;
	enum value_type type = _i & 1 ? VALUE_BFLOAT16 : VALUE_FLOAT32;

	for (int threads = 1; threads <= 2; threads++) {
		struct cpu_team team;

		pooling_make(&p, row, _i & 2);
		define(&p);
		convert(type, input, p.input, p.inputs);
		convert(type, gradient, p.gradient, p.outputs);
		memset(back, 0x5a, sizeof(back));
		p.pool.type = type;
		cpu_team_open(&team, threads);
		cpu_pool_forward(&p.pool, &team, input, output, chosen);
		cpu_pool_backward(&p.pool, &team, back, gradient, output, chosen);
		expect(row, "output", type, output, p.output, p.outputs);
		expect_sums(row, type, back, p.input_gradient, p.inputs);
		ck_assert_mem_eq(chosen, p.chosen, (size_t)p.outputs);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tests = tcase_create("pool");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, pooling_by_its_definition, 0, ROWS * KINDS);
	return unit_run(suite);
}
