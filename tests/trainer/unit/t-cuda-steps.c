/* SPDX-License-Identifier: MIT */
/* Steps that a simulated GPU records: the nodes of their graphs. */
#include "config.h"

#include <string.h>

#include "cuda-test.h"
#include "parallel/parallel.h"
#include "settings/settings.h"

enum { BATCH = 32, SAMPLES = 64, MAX_OPTIONS = 16, MAX_TEXT = 1024 };

/* A training of convnet with Adam on one GPU. */
struct training {
	struct command_line command;
	struct settings settings;
	struct place place;
	struct parallel_options options;
	struct dataset data;
	struct parallel *parallel;
};

static void read_settings(struct training *t, const char *const *more, struct train_error *error)
{
	static char first[] = "test";
	static char texts[MAX_OPTIONS][32];
	char *argv[MAX_OPTIONS + 1] = {first};
	const char *envp[] = {NULL};
	int argc = 1;

	for (; *more; more++, argc++) {
		snprintf(texts[argc], sizeof(texts[0]), "%s", *more);
		argv[argc] = texts[argc];
	}
	ck_assert_msg(settings_read(&t->command, argc, argv, envp, error), "%s", error->text);
	t->settings = t->command.settings;
	t->settings.mode = MODE_SINGLE;
}

static void training_open(struct training *t, const char *const *options)
{
	const struct rendezvous_options alone = {.world = 1, .ranks = 1, .local = 1};
	const struct optimizer_progress begin = {.scaler = scaler_default()};
	struct dataset_synthetic synthetic = {.samples = SAMPLES, .classes = 10};
	struct train_error error = {.status = TRAIN_OK};

	*t = (struct training){
		.place = {.count = 1, .world = 1, .local_world = 1, .ranks = 1},
		.options = {.settings = &t->settings,
			    .place = &t->place,
			    .backend = &backend_cuda,
			    .collective = &collective_self,
			    .world = 1,
			    .batch = BATCH},
	};
	read_settings(t, options, &error);
	t->options.precision = t->settings.precision;
	t->options.spec = model_find("convnet", &error);
	synthetic.shape = (struct dataset_shape){t->options.spec->channels, t->options.spec->height,
						 t->options.spec->width};
	t->options.train = t->options.test = &t->data;
	ck_assert_msg(dataset_make(&t->data, &synthetic, &error) &&
			      collective_self.meet(&t->options.rendezvous, &alone, &error) &&
			      parallel_single.open(&t->parallel, &t->options, &error) &&
			      parallel_single.synchronize(t->parallel, &begin, &error),
		      "%s", error.text);
}

static void training_close(struct training *t)
{
	parallel_single.close(t->parallel);
	collective_self.leave(t->options.rendezvous);
	dataset_free(&t->data);
	settings_free(&t->command);
}

/* Returns the loss of the index-th step. */
static double step(struct training *t, int index)
{
	int64_t indices[BATCH];
	const struct step_input input = {
		.indices = indices, .count = BATCH, .of_all = BATCH, .rates = {0.001, 0.9}};
	struct step_output output = {.loss = 0};
	struct train_error error = {.status = TRAIN_OK};

	for (int i = 0; i < BATCH; i++)
		indices[i] = (index * BATCH + i * 5) % SAMPLES;
	ck_assert_msg(parallel_single.step(t->parallel, &input, &error) &&
			      parallel_single.result(t->parallel, &output, &error),
		      "step %d: %s", index, error.text);
	return output.loss;
}

/* --- nodes -------------------------------------------------------------------------------------
 */

/* Choosing algorithms by their time takes long here, and changes one node of `bf16`. */
#define CASE(name, ...) \
	{ \
		name, \
		{ \
			"--deterministic", "--precision", __VA_ARGS__, NULL \
		} \
	}
static const struct {
	const char *name;
	const char *options[MAX_OPTIONS];
} cases[] = {
	{"bf16, measured", {"--precision", "bf16", NULL}},
	CASE("bf16", "bf16"),
	CASE("bf16, clipped", "bf16", "--clip-norm", "1"),
	CASE("bf16, two passes", "bf16", "--accumulate", "2"),
	CASE("fp16", "fp16"),
	CASE("fp32", "fp32"),
	CASE("fp32, clipped", "fp32", "--clip-norm", "1"),
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

/* The nodes of each case by the call that makes them: a kernel of our own, a copy, or a call of a
 * library, which may launch several kernels. */
static const struct {
	const char *call;
	int counts[CASES];
} nodes_of[] = {
	/* in the order of the cases */
	{"cudaMemcpyAsync", {0, 0, 0, 4, 0, 0, 0}},
	{"cudnnConvolutionBiasActivationForward", {2, 2, 2, 4, 2, 2, 2}},
	{"cudnnConvolutionBackwardFilter", {2, 2, 2, 4, 2, 2, 2}},
	{"cudnnConvolutionBackwardData", {1, 1, 1, 2, 1, 1, 1}},
	{"cublasLtMatmul", {6, 6, 6, 12, 6, 6, 6}},
	{"kernel_add", {0, 0, 0, 4, 0, 0, 0}},
	{"kernel_bias_gradient", {1, 2, 2, 4, 2, 2, 2}},
	{"kernel_convert", {1, 1, 1, 1, 1, 3, 3}},
	{"kernel_cross_entropy", {1, 1, 1, 2, 1, 1, 1}},
	{"kernel_gradient_measure", {0, 0, 1, 0, 1, 0, 1}},
	{"kernel_input_fill", {1, 1, 1, 2, 1, 1, 1}},
	{"kernel_max_pool", {2, 2, 2, 4, 2, 2, 2}},
	{"kernel_max_pool_backward", {2, 2, 2, 4, 2, 2, 2}},
	{"kernel_reorder", {3, 3, 3, 5, 3, 3, 3}},
	{"kernel_update", {1, 1, 1, 1, 1, 1, 1}},
	{"kernel_update_begin", {1, 1, 1, 1, 1, 1, 1}},
	/* all nodes, and those of the longest chain of nodes that wait for each other */
	{"all", {24, 25, 26, 54, 26, 27, 28}},
	{"chain", {24, 25, 26, 54, 26, 27, 28}},
};
enum { CALLS = sizeof(nodes_of) / sizeof(*nodes_of) };

struct counts {
	struct fake_cuda_nodes each[FAKE_CUDA_NODES + 2]; /* with those of "all" and "chain" */
	int kinds;
};

static struct counts counts_of_last_graph(void)
{
	struct counts counts;
	int chain, all = 0;

	counts.kinds = fake_cuda_nodes(counts.each, &chain);
	for (int i = 0; i < counts.kinds; i++)
		all += counts.each[i].count;
	counts.each[counts.kinds++] = (struct fake_cuda_nodes){"all", all};
	counts.each[counts.kinds++] = (struct fake_cuda_nodes){"chain", chain};
	return counts;
}

/* Adds a line about a call that is not made as often as the table says. */
static void compare(char text[MAX_TEXT], int index, const char *call, int count)
{
	size_t at = strlen(text);
	int want = 0;

	for (int i = 0; i < CALLS; i++)
		if (strcmp(nodes_of[i].call, call) == 0)
			want = nodes_of[i].counts[index];
	if (want != count)
		snprintf(text + at, MAX_TEXT - at, "\n%s: %d, not %d", call, count, want);
}

START_TEST(a_step_has_these_nodes)
{
	char text[MAX_TEXT] = "";
	struct training t;
	struct counts counts;

	cuda_test_begin();
	training_open(&t, cases[_i].options);
	/* The first step is not recorded. */
	step(&t, 0);
	step(&t, 1);
	counts = counts_of_last_graph();
	for (int i = 0; i < counts.kinds; i++)
		compare(text, _i, counts.each[i].call, counts.each[i].count);
	for (int i = 0; i < CALLS; i++) {
		int k = 0;

		while (k < counts.kinds && strcmp(counts.each[k].call, nodes_of[i].call) != 0)
			k++;
		if (k == counts.kinds)
			compare(text, _i, nodes_of[i].call, 0);
	}
	ck_assert_msg(text[0] == '\0', "%s:%s", cases[_i].name, text);
	training_close(&t);
	cuda_test_end(cases[_i].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-steps");
	TCase *tests = tcase_create("steps");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, a_step_has_these_nodes, 0, CASES);
	return unit_run(suite);
}
