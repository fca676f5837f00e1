/* SPDX-License-Identifier: MIT */
/* What a model reports about its passes: every operation, in order, by its layer's name. */
#include <stdio.h>
#include <string.h>

#include "backends.h"
#include "model/model.h"

static const struct layer layers[] = {
	{.name = "conv", .kind = LAYER_CONVOLUTION, .out = 16, .kernel = 3, .pad = 1, .relu = true},
	{.name = "pool", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "fc", .kind = LAYER_LINEAR, .out = 4},
};
static const struct model_spec spec = {"traced", 3, 8, 8, 3, layers};

struct trace_log {
	char text[600];
	int calls;
};

/* Conversions and prepare are a backend's choice. They are reported, but not put in the text. */
static void log_call(void *argument, const char *layer, const char *what)
{
	struct trace_log *log = argument;
	size_t n = strlen(log->text);

	log->calls++;
	ck_assert_ptr_nonnull(layer);
	if (strncmp(what, "convert", 7) != 0 && strcmp(what, "prepare") != 0)
		snprintf(log->text + n, sizeof(log->text) - n, "%s %s, ", layer, what);
}

static bool log_ready(void *argument, int layer, struct train_error *error)
{
	struct trace_log *log = argument;
	size_t n = strlen(log->text);

	snprintf(log->text + n, sizeof(log->text) - n, "[%s] ", layers[layer].name);
	return true;
}

static bool log_done(void *argument, int layer, struct train_error *error)
{
	struct trace_log *log = argument;
	size_t n = strlen(log->text);

	snprintf(log->text + n, sizeof(log->text) - n, "(%s) ", layers[layer].name);
	return true;
}

static void pass(struct model *m, struct trace_log *log)
{
	const struct model_watch watch = {log_ready, log_done, log};
	static const int32_t labels[2] = {0, 1};
	static const struct pass_control control = {.rows = 2, .scale = 0.5f};
	struct loss_result result = {0, 0};
	const struct model_loss loss = {labels, &control, &result, true, NULL, false};
	struct train_error error = {.status = TRAIN_OK};

	ck_assert(model_prepare(m, false, &error) && model_forward(m, 0, NULL, &error) &&
		  model_loss(m, 0, &loss, &error) && model_backward(m, 0, NULL, &watch, &error));
}

START_TEST(operations_are_traced_in_order)
{
	const struct model_options options = {2, 1, VALUE_FLOAT32, 0, 2, false, 0};
	struct device *device = opened_with(backends[_i], 1);
	struct train_error error = {.status = TRAIN_OK};
	struct trace_log log = {"", 0};
	struct model *m;
	int before;

	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	model_trace(m, log_call, &log);
	pass(m, &log);
	ck_assert_str_eq(log.text, "conv forward, pool forward, fc forward, fc loss, "
				   "fc backward weights, [fc] fc backward data, (fc) "
				   "pool backward data, conv backward weights, [conv] (conv) ");
	before = log.calls;
	ck_assert_int_ge(before, 8);
	model_trace(m, NULL, NULL);
	pass(m, &log);
	ck_assert_int_eq(log.calls, before);
	model_close(m);
	backends[_i]->close(device);
}
END_TEST

static const struct layer graph[] = {
	{.name = "a", .kind = LAYER_CONVOLUTION, .out = 16, .kernel = 1},
	{.name = "b", .kind = LAYER_CONVOLUTION, .out = 16, .kernel = 1, .relu = true},
	{.name = "c",
	 .kind = LAYER_CONVOLUTION,
	 .from = {"a"},
	 .out = 16,
	 .kernel = 1,
	 .relu = true},
	{.name = "sum", .kind = LAYER_ADD, .from = {"b", "c"}, .relu = true},
	{.name = "twice", .kind = LAYER_ADD, .from = {"sum", "a"}},
};
static const struct model_spec graph_spec = {"graph", 3, 1, 1, 5, graph};

/* "twice" has no backward pass of its own: its gradient is that of both inputs. That of "sum" is
 * copied for one of its inputs, because ReLU's derivative changes both. */
START_TEST(gradients_of_graphs_are_traced)
{
	const struct model_options options = {2, 1, VALUE_FLOAT32, 0, 4, false, 0};
	struct device *device = opened_with(&backend_reference, 1);
	struct train_error error = {.status = TRAIN_OK};
	struct trace_log log = {"", 0};
	struct model *m;

	ck_assert_msg(model_open(&m, &graph_spec, device, &options, &error), "%s", error.text);
	model_trace(m, log_call, &log);
	ck_assert(model_backward(m, 0, NULL, NULL, &error));
	ck_assert_str_eq(log.text, "twice copy gradient, sum backward data, sum copy gradient, "
				   "c backward weights, c backward data, c add gradients, "
				   "b backward weights, b backward data, b add gradients, "
				   "a backward weights, ");
	model_close(m);
	device->backend->close(device);
}
END_TEST

struct names {
	int converted, back;
};

static void count_conversions(void *argument, const char *layer, const char *what)
{
	struct names *names = argument;

	if (strcmp(what, "convert") == 0) {
		names->converted++;
		ck_assert_msg(strcmp(layer, "conv") == 0 || strcmp(layer, "pool") == 0, "%s",
			      layer);
	} else if (strcmp(what, "convert back") == 0) {
		names->back++;
	}
}

/* A stage in bfloat16 begins with samples in float32, and one whose last layer is a convolution may
 * end with a conversion: each is reported with the layer that it is for. */
START_TEST(conversions_have_the_name_of_their_layer)
{
	const struct model_options options = {2, 1, VALUE_BFLOAT16, 0, 0, false, 0};
	struct device *device = opened_with(&backend_reference, 1);
	struct train_error error = {.status = TRAIN_OK};
	struct names names = {0, 0};
	struct model *m;

	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	model_trace(m, count_conversions, &names);
	ck_assert(model_prepare(m, false, &error) && model_forward(m, 0, NULL, &error) &&
		  model_backward(m, 0, NULL, NULL, &error));
	ck_assert_int_eq(names.converted, 1);
	ck_assert_int_eq(names.back, 0); /* samples have no gradient */
	model_close(m);
	device->backend->close(device);
}
END_TEST

#ifdef HAVE_DNNL
/* oneDNN's convolution of 16 channels has an order of its own, which the end of a stage undoes. */
START_TEST(the_last_conversion_is_of_the_last_layer)
{
	const struct model_options options = {2, 1, VALUE_FLOAT32, 0, 1, false, 0};
	struct device *device = opened_with(&backend_onednn, 1);
	struct train_error error = {.status = TRAIN_OK};
	struct names names = {0, 0};
	struct model *m;

	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	model_trace(m, count_conversions, &names);
	ck_assert(model_forward(m, 0, NULL, &error) && model_backward(m, 0, NULL, NULL, &error));
	ck_assert_int_eq(names.back, 1);
	model_close(m);
	device->backend->close(device);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *tests = tcase_create("trace");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, operations_are_traced_in_order, 0, BACKENDS);
	tcase_add_test(tests, gradients_of_graphs_are_traced);
	tcase_add_test(tests, conversions_have_the_name_of_their_layer);
#ifdef HAVE_DNNL
	tcase_add_test(tests, the_last_conversion_is_of_the_last_layer);
#endif
	return unit_run(suite);
}
