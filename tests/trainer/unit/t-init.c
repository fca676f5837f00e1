/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "data/first_weights.h"
#include "unit.h"
#include "vectors.h"

START_TEST(fan_in_and_bound)
{
	const struct tensor_shape linear = {2, {512, 8192}}, conv = {4, {128, 64, 3, 3}};

	ck_assert_int_eq(init_fan_in(&linear), 8192);
	ck_assert_int_eq(init_fan_in(&conv), 576);
	ck_assert(init_bound(576) == 1 / 24.f);
	ck_assert(init_bound(1) == 1);
}
END_TEST

/*
 * The model convnet after torch.manual_seed(1234), in PyTorch 1.13.1: hashes of weight and bias
 * with its kernels for AVX2 and AVX-512.
 */
static const struct {
	const char *name;
	struct tensor_shape weight;
	uint64_t hashes[2];
} convnet[] = {
	{"conv1", {4, {64, 3, 3, 3}}, {0xc0f406ddbc8549f1, 0xaeaa3e524e43b3a8}},
	{"conv2", {4, {128, 64, 3, 3}}, {0x2d19e1b43f810261, 0xddcd62537087c6d3}},
	{"fc1", {2, {512, 8192}}, {0x64000e35487625cf, 0xb90da15e1627a352}},
	{"fc2", {2, {10, 512}}, {0x435fa1d9f6bd90a4, 0x68cb187f2b43a6ff}},
};

static struct tensor allocate(struct tensor_shape shape)
{
	struct tensor tensor = {.shape = shape};

	tensor.data = calloc((size_t)tensor_elements(&shape), sizeof(*tensor.data));
	ck_assert_ptr_nonnull(tensor.data);
	return tensor;
}

static void check(const char *name, const struct tensor *tensor, uint64_t want)
{
	size_t size = (size_t)tensor_elements(&tensor->shape) * sizeof(*tensor->data);
	uint64_t got = hash_bytes(HASH_START, tensor->data, size);

	ck_assert_msg(got == want, "%s: %016llx, not %016llx", name, (unsigned long long)got,
		      (unsigned long long)want);
}

START_TEST(convnet_is_as_pytorch_makes_it)
{
	struct random_generator g;
	int64_t parameters = 0;

	random_seed(&g, 1234);
	for (int i = 0; i < ROWS(convnet); i++) {
		const char *name = convnet[i].name;
		struct tensor weight = allocate(convnet[i].weight);
		struct tensor bias =
			allocate((struct tensor_shape){1, {convnet[i].weight.size[0]}});

		init_layer(&g, &weight, &bias);
		check(name, &weight, convnet[i].hashes[0]);
		check(name, &bias, convnet[i].hashes[1]);
		parameters += tensor_elements(&weight.shape) + tensor_elements(&bias.shape);
		free(weight.data);
		free(bias.data);
	}
	ck_assert_int_eq(parameters, 4275594);
}
END_TEST

START_TEST(no_bias_draws_nothing)
{
	struct tensor with = allocate((struct tensor_shape){2, {3, 5}});
	struct tensor without = allocate(with.shape);
	struct tensor bias = allocate((struct tensor_shape){1, {3}});
	struct random_generator a, b;

	random_seed(&a, 1);
	b = a;
	init_layer(&a, &with, &bias);
	init_layer(&b, &without, NULL);
	ck_assert(memcmp(with.data, without.data, 15 * sizeof(float)) == 0);
	ck_assert_int_eq(a.next, b.next + 3);
	free(with.data);
	free(without.data);
	free(bias.data);
}
END_TEST

/* By PyTorch 1.13 after manual_seed(1234), with ATEN_CPU_CAPABILITY=default. Another C library may
 * round logarithm, sine and cosine otherwise. */
START_TEST(kaiming_is_as_pytorch_makes_it)
{
	static const float ends[2][4] = {
		{-0x1.71cbc8p-9f, -0x1.9aefcep-7f, 0x1.0de47cp-8f, -0x1.6cce4ap-6f},
		{0x1.b31074p-7f, -0x1.163c96p-7f, 0x1.bcabc6p-13f, 0x1.6e83b4p-6f}};
	struct tensor weight = allocate((struct tensor_shape){4, {64, 3, 7, 7}});
	int64_t last = tensor_elements(&weight.shape) - 4;
	struct random_generator g;

	random_seed(&g, 1234);
	init_kaiming(&g, &weight);
	for (int end = 0; end < 2; end++)
		for (int i = 0; i < 4; i++) {
			float got = weight.data[(end ? last : 0) + i];

			ck_assert_msg(fabsf(got - ends[end][i]) < 3e-8f,
				      "value %d of end %d is %a, not %a", i, end, (double)got,
				      (double)ends[end][i]);
		}
	free(weight.data);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("init");
	TCase *tests = tcase_create("init");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, fan_in_and_bound);
	tcase_add_test(tests, kaiming_is_as_pytorch_makes_it);
	tcase_add_test(tests, convnet_is_as_pytorch_makes_it);
	tcase_add_test(tests, no_bias_draws_nothing);
	return unit_run(suite);
}
