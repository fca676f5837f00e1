/* SPDX-License-Identifier: MIT */
/* The layers of ResNets in a model: the reference against finite differences in double, and oneDNN
 * against the reference. */
#include "config.h"
#include "blocks.h"

START_TEST(gradients_are_differences)
{
	gradients_are_differences_of(&blocks[_i], DIFFERENCES, 1e-6, 1e-6);
}
END_TEST

#ifdef HAVE_DNNL
START_TEST(onednn_is_the_reference)
{
	const struct stage_setting reference = {&backend_reference, VALUE_FLOAT32, false, 1};

	for (int threads = 1; threads <= 2; threads++)
		for (int exact = 0; exact < 2; exact++) {
			const struct stage_setting setting = {&backend_onednn, VALUE_FLOAT32, exact,
							      threads};

			compare(&blocks[_i], &setting, &reference, 3e-5);
		}
}
END_TEST
#endif

START_TEST(backends_without_a_layer_say_so)
{
	static const struct {
		struct stage_case c;
		const char *text;
	} rows[] = {
		{{"norm", 2, 3, 2, 2, {NORM("bn1", false)}, 1},
		 "model m, layer bn1: backend pretended has no batch normalization; use"},
		{{"mean", 2, 3, 2, 2, {MEAN}, 1},
		 "model m, layer mean: backend pretended has no average pooling; use"},
	};
	const struct device_options options = {.threads = 1};
	struct backend lacking = backend_reference;

	lacking.name = "pretended";
	lacking.batch_norm = NULL;
	lacking.mean_pool = NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct model_spec spec = {"m", 3, 1, 1, 1, rows[i].c.layers};
		const struct model_options how = {.batch = 2, .slots = 1};
		struct train_error error = {.status = TRAIN_OK};
		struct device *device;
		struct model *model;

		ck_assert(backend_reference.open(&device, &options, &error));
		device->backend = &lacking;
		ck_assert(!model_open(&model, &spec, device, &how, &error));
		ck_assert_int_eq(error.status, TRAIN_NO_BACKEND);
		ck_assert_msg(strncmp(error.text, rows[i].text, strlen(rows[i].text)) == 0, "%s",
			      error.text);
		backend_reference.close(device);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("blocks");
	TCase *tests = tcase_create("blocks");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, gradients_are_differences, 0, BLOCKS);
	tcase_add_test(tests, backends_without_a_layer_say_so);
#ifdef HAVE_DNNL
	tcase_add_loop_test(tests, onednn_is_the_reference, 0, BLOCKS);
#endif
	return unit_run(suite);
}
