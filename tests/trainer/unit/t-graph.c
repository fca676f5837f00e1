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

START_TEST(gradients_are_differences)
{
	const struct stage_case c = graph_case((uint32_t)_i);

	gradients_are_differences_of(&c, PLACES, 1e-7, 1e-5);
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
	tcase_add_loop_test(tests, gradients_are_differences, 0, GRAPHS);
#ifdef HAVE_DNNL
	tcase_add_loop_test(tests, onednn_is_the_reference, 0, GRAPHS);
#endif
	return unit_run(suite);
}
