/* SPDX-License-Identifier: MIT */
/* Where models are cut, how batches are scattered, and which gradients are reduced together. */
#include <stdio.h>
#include <string.h>

#include "parallel/buckets.h"
#include "parallel/dp.h"
#include "parallel/stages.h"
#include "unit.h"

static const struct {
	const char *model;
	int count;
	const char *cuts, *stages, *error;
} cuts[] = {
	{"subnets", 1, "", "0-2", NULL},
	{"subnets", 3, "", "0-0 1-1 2-2", NULL},
	{"subnets", 2, "", "0-0 1-2", NULL},
	/* 1.8, 18.9 and 4.2 million multiplications; behind a pooling the least is sent */
	{"convnet", 2, "", "0-3 4-5", NULL},
	{"convnet", 3, "", "0-1 2-3 4-5", NULL},
	{"convnet", 6, "", "0-0 1-1 2-2 3-3 4-4 5-5", NULL},
	{"convnet", 3, "conv2,fc1", "0-1 2-3 4-5", NULL},
	{"convnet", 2, "fc2", "0-4 5-5", NULL},
	{"convnet", 7, "", NULL, "cannot be cut into 7 stages, only into 6; use fewer devices"},
	{"subnets", 4, "", NULL, "cannot be cut into 4 stages, only into 3"},
	{"convnet", 3, "fc1,conv2", NULL, "cannot be cut before 'conv2'"},
	{"convnet", 2, "conv1", NULL, "cannot be cut before 'conv1'"},
	{"convnet", 2, "fc", NULL,
	 "model convnet has no layer 'fc'; choose from pool1, conv2, pool2, fc1, fc2"},
	{"convnet", 2, "conv2,fc1", NULL, "2 devices are 2 stages"},
	{"convnet", 3, "conv2", NULL, "3 devices are 3 stages"},
	{"convnet", 3, "conv2,,", NULL, "has no layer ''"},
	{"resnet50", 2, "layer3.0.conv1", "0-54 55-123", NULL},
	{"resnet50", 2, "layer3.0.bn1", NULL,
	 "--stages layer3.0.bn1: model resnet50 cannot be cut before 'layer3.0.bn1', because "},
	{"resnet50", 2, "layer5", NULL,
	 "has no layer 'layer5'; choose from bn1, layer1.0.conv1, layer1.1.conv1, "
	 "layer1.2.conv1, "},
	{"resnet50", 2, "layer5", NULL, "and more"},
	{"resnet50", 25, "", NULL, "cannot be cut into 25 stages, only into 20; use fewer devices"},
};

START_TEST(where_models_are_cut)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct model_spec *spec = model_find(cuts[_i].model, &error);
	struct stage stages[8];
	struct model_shapes shapes;
	char text[80] = "";
	bool done;

	ck_assert(spec && model_shapes(&shapes, spec, &error));
	done = stages_make(stages, cuts[_i].count, spec, &shapes, cuts[_i].cuts, &error);
	ck_assert_msg(done == !cuts[_i].error, "%s: %s", cuts[_i].model, error.text);
	if (!done) {
		ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
		ck_assert_msg(strstr(error.text, cuts[_i].error) != NULL, "%s", error.text);
		return;
	}
	for (int i = 0; i < cuts[_i].count; i++)
		sprintf(text + strlen(text), "%s%d-%d", i ? " " : "", stages[i].first,
			stages[i].last);
	ck_assert_str_eq(text, cuts[_i].stages);
}
END_TEST

static const struct {
	int64_t count;
	int replicas;
	const char *chunks;
} chunks[] = {
	{10, 4, "3,3,3,1"},   {5, 4, "2,2,1,0"},         {9, 8, "2,2,2,2,1,0,0,0"},
	{32, 5, "7,7,7,7,4"}, {3, 8, "1,1,1,0,0,0,0,0"}, {8, 1, "8"},
	{0, 2, "0,0"},
};

START_TEST(chunks_are_those_of_torch)
{
	char text[80] = "";
	int64_t next = 0;

	for (int i = 0; i < chunks[_i].replicas; i++) {
		int64_t first, count = dp_chunk(chunks[_i].count, chunks[_i].replicas, i, &first);

		ck_assert_int_eq(first, next);
		next += count;
		sprintf(text + strlen(text), "%s%d", i ? "," : "", (int)count);
	}
	ck_assert_int_eq(next, chunks[_i].count);
	ck_assert_str_eq(text, chunks[_i].chunks);
}
END_TEST

static const struct {
	const char *model;
	double first, limit; /* MiB */
	const char *buckets; /* bytes/layer */
} bucket_rows[] = {
	/* As DistributedDataParallel of PyTorch 1.13 has them from its second step on. */
	{"convnet", 1, 25, "16799784/4 302592/0"},
	{"convnet", 1000, 25, "17102376/0"},
	{"convnet", 1e-6, 1e-6, "40/5 20480/5 2048/4 16777216/4 512/2 294912/2 256/0 6912/0"},
	{"convnet", 1, 0.25, "16799784/4 295424/2 7168/0"},
	{"subnets", 1, 25, "2727312/0"},
};

START_TEST(gradients_are_reduced_in_buckets)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct model_spec *spec = model_find(bucket_rows[_i].model, &error);
	struct model_shapes shapes;
	struct buckets buckets;
	char text[200] = "";
	int64_t end;

	ck_assert(spec && model_shapes(&shapes, spec, &error));
	buckets_make(&buckets, &shapes, bucket_rows[_i].first * (1 << 20),
		     bucket_rows[_i].limit * (1 << 20));
	end = shapes.elements;
	for (int i = 0; i < buckets.count; i++) {
		const struct bucket *b = &buckets.each[i];

		ck_assert_int_eq(b->first + b->elements, end);
		end = b->first;
		sprintf(text + strlen(text), "%s%d/%d", i ? " " : "", (int)b->elements * 4,
			b->layer);
	}
	ck_assert_int_eq(end, 0);
	ck_assert_str_eq(text, bucket_rows[_i].buckets);
}
END_TEST

/* No layer reads the output of "idle". */
static const struct layer with_dead[] = {
	{.name = "first", .kind = LAYER_LINEAR, .out = 5},
	{.name = "second", .kind = LAYER_LINEAR, .out = 6, .from = {"first"}},
	{.name = "idle", .kind = LAYER_LINEAR, .out = 3, .from = {"second"}},
	{.name = "fc1", .kind = LAYER_LINEAR, .out = 2, .from = {"second"}},
};

START_TEST(what_is_dead_is_not_waited_for)
{
	static const struct model_spec spec = {"dead", 4, 1, 1, 4, with_dead};
	struct train_error error = {.status = TRAIN_OK};
	struct model_shapes shapes;
	struct buckets buckets;
	struct stage stages[2];

	ck_assert(model_shapes(&shapes, &spec, &error));
	buckets_make(&buckets, &shapes, 1e9, 1e9);
	ck_assert_int_eq(buckets.count, 1);
	ck_assert_int_eq(buckets.each[0].layer, 0);
	ck_assert_int_eq(buckets.each[0].elements, shapes.elements);
	/* No stage may end with "idle", because nothing reads it. */
	ck_assert(!stages_make(stages, 2, &spec, &shapes, "fc1", &error));
	error.status = TRAIN_OK;
	ck_assert(stages_make(stages, 2, &spec, &shapes, "idle", &error));
}
END_TEST

/* Two blocks; conv1 is read by conv2 and add1, and add1 by conv3, conv4 and, last, by add2. */
static const struct layer residual[] = {
	{.name = "conv1", .kind = LAYER_CONVOLUTION, .out = 4, .kernel = 3, .pad = 1},
	{.name = "conv2", .kind = LAYER_CONVOLUTION, .out = 4, .kernel = 3, .pad = 1},
	{.name = "add1", .kind = LAYER_ADD, .from = {NULL, "conv1"}},
	{.name = "conv3", .kind = LAYER_CONVOLUTION, .out = 4, .kernel = 3, .pad = 1},
	{.name = "add2", .kind = LAYER_ADD, .from = {NULL, "add1"}},
	{.name = "fc", .kind = LAYER_LINEAR, .out = 2},
};
static const struct model_spec residual_spec = {"residual", 1, 4, 4, 6, residual};

static const struct {
	const char *cuts;
	int count;
	const char *stages, *error;
} residual_cuts[] = {
	{"", 1, "0-5", NULL},
	{"", 4, "0-0 1-2 3-4 5-5", NULL},
	{"", 5, NULL, "model residual cannot be cut into 5 stages, only into 4; use fewer devices"},
	{"conv2", 2, "0-0 1-5", NULL},
	{"conv3,fc", 3, "0-2 3-4 5-5", NULL},
	{"add1", 2, NULL,
	 "--stages add1: model residual cannot be cut before 'add1', because add1 also reads "
	 "conv1; cut it before 'conv2' or 'conv3'"},
	{"conv2,add2", 3, NULL,
	 "cannot be cut before 'add2', because add2 also reads add1; cut it before 'conv3' or "
	 "'fc'"},
};

START_TEST(residual_blocks_are_not_cut)
{
	struct train_error error = {.status = TRAIN_OK};
	struct stage stages[8];
	struct model_shapes shapes;
	char text[80] = "";

	ck_assert_msg(model_shapes(&shapes, &residual_spec, &error), "%s", error.text);
	if (!stages_make(stages, residual_cuts[_i].count, &residual_spec, &shapes,
			 residual_cuts[_i].cuts, &error)) {
		ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
		ck_assert_msg(residual_cuts[_i].error != NULL &&
				      strstr(error.text, residual_cuts[_i].error) != NULL,
			      "%s", error.text);
		return;
	}
	for (int i = 0; i < residual_cuts[_i].count; i++)
		sprintf(text + strlen(text), "%s%d-%d", i ? " " : "", stages[i].first,
			stages[i].last);
	ROW_EQ_STR(residual_cuts[_i].cuts, text, residual_cuts[_i].stages);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stages");
	TCase *tests = tcase_create("stages");

	tcase_add_loop_test(tests, where_models_are_cut, 0, (int)(sizeof(cuts) / sizeof(*cuts)));
	tcase_add_loop_test(tests, chunks_are_those_of_torch, 0,
			    (int)(sizeof(chunks) / sizeof(*chunks)));
	tcase_add_loop_test(tests, gradients_are_reduced_in_buckets, 0,
			    (int)(sizeof(bucket_rows) / sizeof(*bucket_rows)));
	tcase_add_test(tests, what_is_dead_is_not_waited_for);
	tcase_add_loop_test(tests, residual_blocks_are_not_cut, 0,
			    (int)(sizeof(residual_cuts) / sizeof(*residual_cuts)));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
