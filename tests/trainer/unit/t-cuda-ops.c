/* SPDX-License-Identifier: MIT */
/* The operations of GPUs against the reference: on a GPU, or where it is pretended. */
#include "config.h"
#include "cuda-test.h"
#include "blocks.h"

/* The greatest difference, relative to the greatest value that is wanted. */
static const struct {
	enum value_type type;
	bool exact;
	double tolerance;
} types[] = {
	{VALUE_FLOAT32, true, 2e-6},
	{VALUE_FLOAT32, false, 5e-3}, /* TF32: 10 bits */
	{VALUE_FLOAT16, false, 4e-3},
	{VALUE_BFLOAT16, false, 3e-2},
};

enum { TYPES = sizeof(types) / sizeof(*types) };

START_TEST(operations_are_the_reference)
{
	int row = _i % CASES, type = _i / CASES;
	const struct stage_setting reference = {&backend_reference, types[type].type, false, 1};
	const struct stage_setting setting = {&backend_cuda, types[type].type, types[type].exact,
					      1};

	cuda_test_begin();
	compare(&cases[row], &setting, &reference, types[type].tolerance);
	cuda_test_end(cases[row].name);
}
END_TEST

START_TEST(blocks_are_the_reference)
{
	int row = _i % BLOCKS, type = _i / BLOCKS;
	const struct stage_setting reference = {&backend_reference, types[type].type, false, 1};
	const struct stage_setting setting = {&backend_cuda, types[type].type, types[type].exact,
					      1};

	/* Each layer of a block rounds; in float16 the last bits decide what passes its ReLUs. */
	if (types[type].type == VALUE_FLOAT16 && blocks[row].count > 2)
		return;
	cuda_test_begin();
	compare(&blocks[row], &setting, &reference, 4 * types[type].tolerance);
	cuda_test_end(blocks[row].name);
}
END_TEST

/* As steps do, which take turns with two inputs and two results; the host waits for none:
 * results[turn] = 2 inputs[turn]. */
START_TEST(copies_beside_the_stream)
{
	enum { STEPS = MAX_FETCH };
	const struct backend *cuda = &backend_cuda;
	const struct device_options options = {.logical = 0};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	float *inputs, *results, taken;
	bool good;

	cuda_test_begin();
	ck_assert_msg(cuda->open(&device, &options, &error), "%s", error.text);
	inputs = cuda->allocate(device, 128, "a test", &error);
	results = cuda->allocate(device, 128, "a test", &error);
	good = inputs && results;
	for (int step = 0; good && step < STEPS; step++) {
		float input = (float)step + 1, *from = inputs + step % 2 * 16;
		float *to = results + step % 2 * 16;

		good = cuda->write_ahead(device, from, &input, sizeof(input), &error) &&
		       cuda->zero(device, to, sizeof(*to), &error) &&
		       cuda->add(device, to, from, 1, &error) &&
		       cuda->add(device, to, from, 1, &error) &&
		       cuda->fetch(device, to, sizeof(*to), &error);
	}
	for (int step = 0; good && step < STEPS; step++) {
		good = cuda->take(device, &taken, sizeof(taken), &error);
		ck_assert_float_eq(taken, 2 * ((float)step + 1));
	}
	ck_assert_msg(good, "%s", error.text);
	cuda->release(device, inputs);
	cuda->release(device, results);
	cuda->close(device);
	cuda_test_end("copies");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-ops");
	TCase *tests = tcase_create("ops");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, operations_are_the_reference, 0, TYPES * CASES);
	tcase_add_loop_test(tests, blocks_are_the_reference, 0, TYPES * BLOCKS);
	tcase_add_test(tests, copies_beside_the_stream);
	return unit_run(suite);
}
