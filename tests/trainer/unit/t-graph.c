/* SPDX-License-Identifier: MIT */
/* Models as graphs: those that are drawn against finite differences, and oneDNN against the
 * reference. */
#include "config.h"
#include "graphs.h"
#include "ops.h"

enum { GRAPHS = SANITIZED ? 12 : 60, PLACES = 8, SIZE = 3, CHANNELS = 4 };

static struct stage_case graph_case(uint32_t seed)
{
	struct stage_case c = {.batch = 2,
			       .channels = CHANNELS,
			       .height = SIZE,
			       .width = SIZE,
			       .count = GRAPH_LAYERS};
	static char name[40];

	graph_draw(c.layers, CHANNELS, seed);
	snprintf(name, sizeof(name), "graph %u", (unsigned)seed);
	c.name = name;
	return c;
}

/* The sum of outputs times the output gradients, whose derivatives the gradients are. */
static double objective(const struct stage_case *c, const struct stage_setting *setting,
			int64_t moved, double by)
{
	struct stage_result result = run(c, setting, moved, by);
	double sum = 0.0;

	for (int64_t i = 0; i < result.outputs; i++)
		sum += result.output[i] * stage_number(i, 3);
	stage_free(&result);
	return sum;
}

START_TEST(gradients_are_differences)
{
	const struct stage_case c = graph_case((uint32_t)_i);
	const struct stage_setting setting = {&backend_reference, VALUE_FLOAT64, false, 1};
	struct stage_result result = run(&c, &setting, -1, 0.0);
	int64_t places = result.inputs + result.parameters;
	const double by = 1e-7;

	for (int try = 0; try < PLACES; try++) {
		int64_t place = try * (places - 1) / (PLACES - 1);
		double got = place < result.inputs ? result.input_gradient[place]
						   : result.gradients[place - result.inputs];
		double want =
			(objective(&c, &setting, place, by) - objective(&c, &setting, place, -by)) /
			(2.0 * by);

		ck_assert_msg(fabs(got - want) < 1e-5 * (1.0 + fabs(want)),
			      "%s: place %d: %.12g, not %.12g", c.name, (int)place, got, want);
	}
	stage_free(&result);
}
END_TEST

#ifdef HAVE_DNNL
START_TEST(onednn_is_the_reference)
{
	const struct stage_case c = graph_case((uint32_t)_i);
	const struct stage_setting reference = {&backend_reference, VALUE_FLOAT32, false, 1};
	const struct stage_setting setting = {&backend_onednn, VALUE_FLOAT32, true, 1 + _i % 2};

	compare(&c, &setting, &reference, 1e-5);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("graph");
	TCase *tests = tcase_create("graph");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, gradients_are_differences, 0, GRAPHS);
#ifdef HAVE_DNNL
	tcase_add_loop_test(tests, onednn_is_the_reference, 0, GRAPHS);
#endif
	return unit_run(suite);
}
