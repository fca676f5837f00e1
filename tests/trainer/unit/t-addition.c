/* SPDX-License-Identifier: MIT */
/* Addition of the CPU against its definition, bit by bit. isa.test repeats it with the instructions
 * of older processors. */
#include <math.h>
#include <string.h>

#include "backend/cpu/addition.h"
#include "unit.h"

/* One value, part of a vector, a block, and several blocks with a rest. */
static const int64_t counts[] = {1, 7, 1024, 3000};
enum { COUNTS = sizeof(counts) / sizeof(*counts), KINDS = 4, MAX_VALUES = 3000 };

/* Values with equal and opposite ones, zeros of both signs, infinities and NaNs; exact in
 * bfloat16. */
static float number(int64_t i, int seed)
{
	static const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
	uint32_t drawn = (uint32_t)(i + 1000 * seed) * 2654435761u >> 16;

	return drawn % 16 < 5 ? odd[drawn % 16] : (float)(drawn / 16 % 257) - 128.0f;
}

struct values {
	enum value_type type;
	_Alignas(64) unsigned char bytes[4 * MAX_VALUES];
};

static void set(struct values *values, enum value_type type, int seed, int64_t count)
{
	values->type = type;
	for (int64_t i = 0; i < count; i++)
		value_set(type, values->bytes, i, number(i, seed));
}

/* Compares bits, but takes any NaN for any other, as the sign of a new one is the processor's. */
static void expect(const struct values *got, int64_t i, double want, const char *what)
{
	double value = value_get(got->type, got->bytes, i);
	bool same = isnan(want) ? isnan(value) != 0 : memcmp(&value, &want, sizeof(want)) == 0;

	ck_assert_msg(same, "%s %s %d: %g, not %g", value_name(got->type), what, (int)i, value,
		      want);
}

/* The sum as the type holds it. */
static double sum_of(enum value_type type, double a, double b, bool relu)
{
	float sum = (float)a + (float)b;
	double value[1];

	value_set(type, value, 0, relu && sum < 0.0f ? 0.0 : sum);
	return value_get(type, value, 0);
}

static struct values a, b, sum, gradient;

static void try(enum value_type type, int64_t count, bool relu, int threads)
{
	const struct cpu_addition addition = {type, count, relu};
	struct values *const targets[] = {&sum, &a, &b};
	struct cpu_team team;

	cpu_team_open(&team, threads);
	for (int to = 0; to < 3; to++) {
		set(&a, type, 1, count);
		set(&b, type, 2, count);
		targets[to]->type = type;
		cpu_addition_forward(&addition, &team, a.bytes, b.bytes, targets[to]->bytes);
		for (int64_t i = 0; i < count; i++)
			expect(targets[to], i, sum_of(type, number(i, 1), number(i, 2), relu),
			       to ? "sum over an input" : "sum");
	}
	set(&gradient, type, 3, count);
	cpu_addition_backward(&addition, &team, sum.bytes, gradient.bytes);
	for (int64_t i = 0; i < count; i++)
		expect(&gradient, i,
		       value_get(type, sum.bytes, i) > 0.0 ? (double)number(i, 3) : 0.0,
		       "gradient");
}

START_TEST(addition_by_its_definition)
{
	for (int threads = 1; threads <= 2; threads++)
		try(_i & 1 ? VALUE_BFLOAT16 : VALUE_FLOAT32, counts[_i / KINDS], _i & 2, threads);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("addition");
	TCase *tests = tcase_create("addition");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, addition_by_its_definition, 0, COUNTS * KINDS);
	return unit_run(suite);
}
