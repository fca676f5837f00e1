/* SPDX-License-Identifier: MIT */
/* Steps that a simulated GPU records: the nodes of their graphs, their order, and what they
 * compute. */
#include "config.h"

#include <string.h>

#include "backend/cuda/cuda.h"
#include "cuda-test.h"
#include "parallel/parallel.h"
#include "settings/settings.h"

enum { BATCH = 32, FEW = 4, SAMPLES = 64, STEPS = 5, MAX_OPTIONS = 16, MAX_TEXT = 1024 };

/* A training run with Adam on one GPU. */
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

static void training_open(struct training *t, const struct model_spec *spec, int batch,
			  const char *const *options)
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
			    .batch = batch},
	};
	read_settings(t, options, &error);
	t->options.precision = t->settings.precision;
	t->options.spec = spec;
	synthetic.shape = (struct dataset_shape){spec->channels, spec->height, spec->width};
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

/* Channels that each type pads, in most layers. */
static const struct layer odd_layers[] = {
	{.name = "a", .kind = LAYER_CONVOLUTION, .out = 5, .kernel = 3, .pad = 1, .relu = true},
	{.name = "pool", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "b", .kind = LAYER_CONVOLUTION, .out = 7, .kernel = 2},
	{.name = "c", .kind = LAYER_CONVOLUTION, .out = 16, .kernel = 2, .relu = true},
	{.name = "d", .kind = LAYER_CONVOLUTION, .out = 24, .kernel = 1, .relu = true},
	{.name = "fc", .kind = LAYER_LINEAR, .out = 10},
};
static const struct model_spec odd = {"odd", 3, 9, 9, 6, odd_layers};

static bool try_step(struct training *t, int index, double *loss, struct train_error *error)
{
	int64_t indices[BATCH];
	const int64_t count = t->options.batch;
	const struct step_input input = {
		.indices = indices, .count = count, .of_all = count, .rates = {0.001, 0.9}};
	struct step_output output = {.loss = 0};

	for (int64_t i = 0; i < count; i++)
		indices[i] = (index * count + i * 5) % SAMPLES;
	if (!parallel_single.step(t->parallel, &input, error) ||
	    !parallel_result(t->parallel, &output, error))
		return false;
	*loss = output.loss;
	return true;
}

/* Returns the loss of the index-th step. */
static double step(struct training *t, int index)
{
	struct train_error error = {.status = TRAIN_OK};
	double loss = 0;

	ck_assert_msg(try_step(t, index, &loss, &error), "step %d: %s", index, error.text);
	return loss;
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* A deterministic device takes operations for several layers without measuring. */
#define BITS "--deterministic", "--precision"

static const struct {
	const char *name;
	const char *options[MAX_OPTIONS];
} cases[] = {
	{"bf16", {BITS, "bf16", NULL}},
	{"bf16, clipped", {BITS, "bf16", "--clip-norm", "1", NULL}},
	{"bf16, two passes", {BITS, "bf16", "--accumulate", "2", NULL}},
	{"fp16", {BITS, "fp16", NULL}},
	{"fp32", {BITS, "fp32", NULL}},
	{"fp32, clipped", {BITS, "fp32", "--clip-norm", "1", NULL}},
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

/* The nodes of each case by the call that makes them: a kernel of our own, a copy, or a call of a
 * library, which may launch several kernels. */
static const struct {
	const char *call;
	int counts[CASES];
} nodes_of[] = {
	/* in the order of the cases */
	{"cudaMemcpyAsync", {0, 0, 4, 0, 0, 0}},
	{"cudnnConvolutionBiasActivationForward", {1, 1, 2, 1, 2, 2}},
	{"cudnnConvolutionBackwardFilter", {1, 1, 2, 1, 2, 2}},
	{"cudnnConvolutionBackwardData", {1, 1, 2, 1, 1, 1}},
	{"cublasLtMatmul", {6, 6, 12, 6, 6, 6}},
	{"kernel_accumulate", {0, 0, 4, 0, 0, 0}},
	{"kernel_bias_gradient", {2, 2, 4, 2, 2, 2}},
	{"kernel_convolution_pool", {1, 1, 2, 1, 0, 0}},
	{"kernel_convolution_pool_backward", {1, 1, 2, 1, 0, 0}},
	{"kernel_cross_entropy", {1, 1, 2, 1, 1, 1}},
	{"kernel_gradient_measure", {0, 1, 0, 1, 0, 1}},
	{"kernel_input_fill", {1, 1, 2, 1, 1, 1}},
	{"kernel_max_pool", {1, 1, 2, 1, 2, 2}},
	{"kernel_max_pool_backward", {1, 1, 2, 1, 2, 2}},
	{"kernel_reorder", {0, 1, 2, 1, 0, 1}},
	{"kernel_update", {2, 1, 2, 1, 2, 1}},
	{"kernel_update_begin", {1, 1, 1, 1, 1, 1}},
	/* all nodes, and those of the longest chain of nodes that wait for each other */
	{"all", {20, 21, 47, 21, 22, 23}},
	{"chain", {18, 21, 45, 21, 20, 23}},
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
	training_open(&t, model_find("convnet", NULL), BATCH, cases[_i].options);
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

/* The layers that have most parameters are updated beside the backward of others, if there are. */
static const struct {
	const char *model;
	int updates;
} updates[] = {{"convnet", 2}, {"net28", 2}, {"net28-aux", 2}, {"subnets", 1}};

START_TEST(large_layers_are_updated_early)
{
	static const char *const options[] = {BITS, "bf16", NULL};
	struct training t;
	struct counts counts;
	int found = 0;

	cuda_test_begin();
	training_open(&t, model_find(updates[_i].model, NULL), FEW, options);
	step(&t, 0);
	step(&t, 1);
	counts = counts_of_last_graph();
	for (int i = 0; i < counts.kinds; i++)
		if (strcmp(counts.each[i].call, "kernel_update") == 0)
			found = counts.each[i].count;
	ROW_EQ_INT(updates[_i].model, found, updates[_i].updates);
	training_close(&t);
	cuda_test_end(updates[_i].model);
}
END_TEST

/* --- waits ----------------------------------------------------------------------------------- */

static struct cuda_calls real;
static const struct cuda_device *watched;
static int waits, dropped; /* since a step began; the one that is left out */

/* t-cuda-ops.c leaves out those of copies between the host and the device. */
static bool is_of_copy(cudaStream_t stream, cudaEvent_t event)
{
	bool is = stream == watched->inputs || stream == watched->outputs;

	for (int i = 0; i < MAX_FETCH; i++)
		is = is || event == watched->fetched[i];
	return is || event == watched->inputs_written;
}

static cudaError_t drop_wait(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	if (!is_of_copy(stream, event) && waits++ == dropped)
		return cudaSuccess;
	return real.cudaStreamWaitEvent(stream, event, flags);
}

/* The waits of a step's work in their order. */
static const char *const step_waits[] = {"for the inputs", "for gradients and readers",
					 "for the factors", "for the early update"};
enum { WAITS = sizeof(step_waits) / sizeof(*step_waits) };

/* Without one of its waits, a step that is recorded and one that is not are found out. */
START_TEST(a_missing_wait_is_found)
{
	static const char *const options[] = {BITS, "bf16", NULL};
	const bool recorded = _i / WAITS;
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_calls calls;
	struct cuda_device *device;
	struct training t;
	double loss;

	cuda_test_begin();
	training_open(&t, &odd, FEW, options);
	device = (struct cuda_device *)t.parallel->device[0];
	watched = device;
	real = calls = *device->calls;
	calls.cudaStreamWaitEvent = drop_wait;
	device->calls = &calls;
	dropped = -1;
	for (int i = 0; i < 3; i++) {
		if (i == recorded) {
			waits = 0;
			dropped = _i % WAITS;
		}
		if (!try_step(&t, i, &loss, &error) || *fake_cuda_fault())
			break;
		if (i == recorded)
			ROW_EQ_INT(step_waits[_i % WAITS], waits, WAITS);
		dropped = -1;
	}
	ck_assert_msg(error.status != TRAIN_OK || strstr(fake_cuda_fault(), "nothing between"),
		      "%s step without its wait %s: '%s', '%s'", recorded ? "a recorded" : "a",
		      step_waits[_i % WAITS], error.text, fake_cuda_fault());
	dropped = -1;
	fake_cuda_forgive();
	training_close(&t);
	fake_cuda_forgive();
	cuda_test_end(step_waits[_i % WAITS]);
}
END_TEST

/* --- values ---------------------------------------------------------------------------------- */

/* The losses of some steps, and all parameters after them. */
struct values {
	double losses[STEPS];
	float *parameters;
	int64_t count;
};

static struct values values_of(const struct model_spec *spec, const char *const *options)
{
	struct train_error error = {.status = TRAIN_OK};
	struct values v = {.count = 0};
	struct training t;

	cuda_test_begin();
	training_open(&t, spec, FEW, options);
	for (int i = 0; i < STEPS; i++)
		v.losses[i] = step(&t, i);
	v.count = t.parallel->shapes.elements;
	v.parameters = malloc((size_t)v.count * sizeof(float));
	ck_assert_ptr_nonnull(v.parameters);
	for (int i = 0; i < t.parallel->shapes.parameters_count; i++)
		ck_assert(parallel_single.read(
			t.parallel, -1, i, v.parameters + t.parallel->shapes.parameters[i].offset,
			&error));
	training_close(&t);
	cuda_test_end(spec->name);
	return v;
}

/* A limit that is never reached: gradients are measured, and each is multiplied by 1. */
#define MEASURED "--clip-norm", "1e12"

/* Two ways that differ in nothing but in where values lie and when they are computed. */
static const struct {
	const char *name;
	const struct model_spec *spec; /* NULL: convnet */
	const char *options[2][MAX_OPTIONS];
} alike[] = {
	{"bf16, measured", NULL, {{BITS, "bf16", NULL}, {BITS, "bf16", MEASURED, NULL}}},
	{"fp32, measured", NULL, {{BITS, "fp32", NULL}, {BITS, "fp32", MEASURED, NULL}}},
	{"odd in bf16, measured", &odd, {{BITS, "bf16", NULL}, {BITS, "bf16", MEASURED, NULL}}},
	{"odd in fp32, measured", &odd, {{BITS, "fp32", NULL}, {BITS, "fp32", MEASURED, NULL}}},
	{"odd in two passes, measured",
	 &odd,
	 {{BITS, "bf16", "--accumulate", "2", NULL},
	  {BITS, "bf16", "--accumulate", "2", MEASURED, NULL}}},
	{"odd by SGD, measured",
	 &odd,
	 {{BITS, "bf16", "--optimizer", "sgd", NULL},
	  {BITS, "bf16", "--optimizer", "sgd", MEASURED, NULL}}},
};

START_TEST(steps_have_the_same_bits)
{
	const struct model_spec *spec =
		alike[_i].spec ? alike[_i].spec : model_find("convnet", NULL);
	struct values a = values_of(spec, alike[_i].options[0]);
	struct values b = values_of(spec, alike[_i].options[1]);

	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(a.losses[i] == b.losses[i], "%s, step %d: %.17g and %.17g",
			      alike[_i].name, i, a.losses[i], b.losses[i]);
	ck_assert_msg(a.losses[STEPS - 1] != a.losses[0], "%s: nothing is learned", alike[_i].name);
	for (int64_t i = 0; i < a.count; i++)
		ck_assert_msg(memcmp(&a.parameters[i], &b.parameters[i], sizeof(float)) == 0,
			      "%s, parameter %lld: %.9g and %.9g", alike[_i].name, (long long)i,
			      (double)a.parameters[i], (double)b.parameters[i]);
	free(a.parameters);
	free(b.parameters);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-steps");
	TCase *tests = tcase_create("steps");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, a_step_has_these_nodes, 0, CASES);
	tcase_add_loop_test(tests, large_layers_are_updated_early, 0,
			    sizeof(updates) / sizeof(*updates));
	tcase_add_loop_test(tests, a_missing_wait_is_found, 0, 2 * WAITS);
	tcase_add_loop_test(tests, steps_have_the_same_bits, 0, sizeof(alike) / sizeof(*alike));
	return unit_run(suite);
}
