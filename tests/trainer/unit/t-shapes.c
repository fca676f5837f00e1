/* SPDX-License-Identifier: MIT */
/* Models as lists of layers: what follows from a list, and lists that make no sense. */
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "unit.h"

START_TEST(shapes_and_names)
{
	static const struct {
		const char *model, *names;
		int64_t elements;
	} rows[] = {
		{"convnet",
		 "conv1.weight(64,3,3,3) conv1.bias(64) conv2.weight(128,64,3,3) conv2.bias(128) "
		 "fc1.weight(512,8192) fc1.bias(512) fc2.weight(10,512) fc2.bias(10) ",
		 4275594},
		{"net28",
		 "conv1.weight(32,3,5,5) conv1.bias(32) fc1.weight(64,4608) fc1.bias(64) "
		 "fc2.weight(10,64) fc2.bias(10) ",
		 298058},
		{"subnets",
		 "subnets.0.linear.weight(512,1024) subnets.0.linear.bias(512) "
		 "subnets.1.linear.weight(256,512) subnets.1.linear.bias(256) "
		 "subnets.2.linear.weight(100,256) subnets.2.linear.bias(100) ",
		 681828},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct train_error error = {.status = TRAIN_OK};
		const struct model_spec *spec = model_find(rows[row].model, &error);
		struct model_shapes shapes;
		char text[600] = "";
		size_t n = 0;

		ck_assert(spec && model_shapes(&shapes, spec, &error));
		for (int i = 0; i < shapes.parameters_count; i++) {
			const struct model_parameter *p = &shapes.parameters[i];

			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s(", p->name);
			for (int d = 0; d < p->shape.dims; d++)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d",
						      d ? "," : "", (int)p->shape.size[d]);
			n += (size_t)snprintf(text + n, sizeof(text) - n, ") ");
		}
		ROW_EQ_STR(rows[row].model, text, rows[row].names);
		ROW_EQ_INT(rows[row].model, shapes.elements, rows[row].elements);
		ck_assert(model_all_live(&shapes, spec, &error));
	}
}
END_TEST

/* Those of torchvision, by sum(p.numel() for p in model.parameters()), and of its buffers. */
START_TEST(resnets)
{
	static const struct {
		const char *model;
		int size, layers, parameters, buffers;
		int64_t elements, buffer_elements;
		int stem, planes; /* the height of the output of conv1, and of layer4 */
	} rows[] = {
		{"resnet18", 0, 50, 62, 40, 11173962, 9600, 32, 4},
		{"resnet18", 224, 51, 62, 40, 11689512, 9600, 112, 7},
		{"resnet50", 32, 124, 161, 106, 23520842, 53120, 32, 4},
		{"resnet50", 63, 124, 161, 106, 23520842, 53120, 63, 8},
		{"resnet50", 64, 125, 161, 106, 25557032, 53120, 32, 2},
		{"resnet50", 224, 125, 161, 106, 25557032, 53120, 112, 7},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct train_error error = {.status = TRAIN_OK};
		static struct model_shapes shapes;
		struct model_spec spec;
		char name[40];

		snprintf(name, sizeof(name), "%s of %d", rows[row].model, rows[row].size);
		ck_assert(model_for_images(&spec, rows[row].model, rows[row].size, &error));
		ck_assert_msg(model_shapes(&shapes, &spec, &error), "%s: %s", name, error.text);
		ROW_EQ_INT(name, spec.count, rows[row].layers);
		ROW_EQ_INT(name, shapes.parameters_count, rows[row].parameters);
		ROW_EQ_INT(name, shapes.elements, rows[row].elements);
		ROW_EQ_INT(name, shapes.buffers_count, rows[row].buffers);
		ROW_EQ_INT(name, shapes.buffer_elements, rows[row].buffer_elements);
		ROW_EQ_INT(name, shapes.layers[0].out[1], rows[row].stem);
		ROW_EQ_INT(name, shapes.layers[spec.count - 3].out[1], rows[row].planes);
		ROW_EQ_STR(name, shapes.parameters[1].name, "bn1.weight");
		ROW_EQ_STR(name, shapes.buffers[1].name, "bn1.running_var");
		ROW_EQ_STR(name, shapes.parameters[rows[row].parameters - 1].name, "fc.bias");
		ck_assert(model_all_live(&shapes, &spec, &error));
	}
}
END_TEST

START_TEST(images_of_other_sizes)
{
	static const struct {
		const char *model;
		int size;
		const char *text;
	} rows[] = {
		{"convnet", 64, "--image-size 64: model convnet takes samples of 32 x 32; only"},
		{"subnets", 32, "--image-size 32: model subnets takes samples of 1 x 1; only"},
		{"resnet", 32, "model 'resnet': choose one of convnet, net28, net28-aux, subnets,"},
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model_spec spec;

		ck_assert(!model_for_images(&spec, rows[row].model, rows[row].size, &error));
		ck_assert_msg(strncmp(error.text, rows[row].text, strlen(rows[row].text)) == 0,
			      "%s", error.text);
	}
}
END_TEST

struct refused {
	struct model_spec spec;
	const char *text; /* the beginning of the message */
};

static void expect_refused(const struct refused *rows, size_t count)
{
	for (size_t row = 0; row < count; row++) {
		struct train_error error = {.status = TRAIN_OK};
		struct model_shapes shapes;

		ck_assert(!model_shapes(&shapes, &rows[row].spec, &error));
		ROW_EQ_INT(rows[row].text, error.status, TRAIN_BAD_INPUT);
		ck_assert_msg(strncmp(error.text, rows[row].text, strlen(rows[row].text)) == 0,
			      "'%s', not '%s'", error.text, rows[row].text);
	}
}

START_TEST(models_that_make_no_sense)
{
	static const struct layer big[] = {
		{.name = "c", .kind = LAYER_CONVOLUTION, .out = 1, .kernel = 5}};
	static const struct layer unknown[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 1, .from = {"z"}}};
	static const struct layer nothing[] = {{.name = "a", .kind = LAYER_LINEAR}};
	static const struct layer relu[] = {
		{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 2, .relu = true}};
	static const struct layer kernel[] = {{.name = "p", .kind = LAYER_MAX_POOL}};
	static const struct layer padded[] = {
		{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 3, .pad = 2}};
	static const struct layer back[] = {
		{.name = "c", .kind = LAYER_CONVOLUTION, .out = 1, .kernel = 1, .stride = -1}};
	static const struct layer mean[] = {{.name = "p", .kind = LAYER_MEAN_POOL, .relu = true}};
	static const struct layer no_bias[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 1, .no_bias = true}};
	static const struct layer plane[] = {
		{.name = "c", .kind = LAYER_CONVOLUTION, .out = 10, .kernel = 2}};
	static const struct layer pooled[] = {{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 2}};
	static const struct refused rows[] = {
		{{"m", 1, 4, 3, 1, plane},
		 "layer c gives 10 x 3 x 2; the last gives logits, C x 1 x 1"},
		{{"m", 1, 3, 4, 1, pooled}, "layer p gives 1 x 1 x 2; the last gives logits"},
		{{"m", 1, 4, 4, 1, big}, "layer c: kernel 5 is greater than its input of 4 x 4"},
		{{"m", 1, 4, 4, 1, unknown}, "layer a: there is no layer 'z' before it"},
		{{"m", 1, 4, 4, 1, nothing}, "layer a: it has no outputs"},
		{{"m", 1, 4, 4, 1, relu}, "layer p: ReLU of a pooling"},
		{{"m", 1, 4, 4, 1, kernel}, "layer p: kernel 0 with padding 0"},
		{{"m", 1, 4, 4, 1, padded},
		 "layer p: kernel 3 with padding 2; the padding of a pooling is at most half"},
		{{"m", 1, 4, 4, 1, back}, "layer c: stride -1; give at least 1"},
		{{"m", 1, 4, 4, 1, mean}, "layer p: ReLU of a pooling"},
		{{"m", 1, 4, 4, 1, no_bias}, "layer a: no_bias; only a convolution"},
		{{"m", 1, 4, 4, 0, kernel}, "model m: 0 layers"},
		{{"m", 1, 4, 4, 129, kernel}, "model m: 129 layers"},
	};

	expect_refused(rows, sizeof(rows) / sizeof(*rows));
}
END_TEST

START_TEST(additions_that_make_no_sense)
{
	static const struct layer one[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 1},
		{.name = "b", .kind = LAYER_ADD, .from = {"a"}},
	};
	static const struct layer alone[] = {{.name = "a", .kind = LAYER_ADD}};
	static const struct layer itself[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 1},
		{.name = "b", .kind = LAYER_ADD, .from = {NULL, "a"}},
	};
	static const struct layer later[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 1},
		{.name = "b", .kind = LAYER_ADD, .from = {NULL, "b"}},
	};
	static const struct layer unequal[] = {
		{.name = "a", .kind = LAYER_CONVOLUTION, .out = 2, .kernel = 1},
		{.name = "b", .kind = LAYER_MAX_POOL, .kernel = 2},
		{.name = "c", .kind = LAYER_ADD, .from = {"b", "a"}},
	};
	static const struct layer two[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 1},
		{.name = "b", .kind = LAYER_LINEAR, .out = 1, .from = {NULL, "a"}},
	};
	static const struct refused rows[] = {
		{{"m", 1, 4, 4, 2, one}, "layer b: an addition has two inputs; name the second"},
		{{"m", 1, 4, 4, 1, alone}, "layer a: an addition has two inputs; name the second"},
		{{"m", 1, 4, 4, 2, itself}, "layer b: it adds a to itself"},
		{{"m", 1, 4, 4, 2, later}, "layer b: there is no layer 'b' before it"},
		{{"m", 1, 4, 4, 3, unequal},
		 "layer c: its inputs are 2 x 2 x 2 and, of a, 2 x 4 x 4; an addition needs equal"},
		{{"m", 1, 4, 4, 2, two}, "layer b: a is a second input; only an addition has two"},
	};

	expect_refused(rows, sizeof(rows) / sizeof(*rows));
}
END_TEST

/* Layers reach the loss on both ways into an addition; "aux" and what only it reads do not. */
START_TEST(what_an_addition_reads_is_live)
{
	static const struct layer layers[] = {
		{.name = "a", .kind = LAYER_LINEAR, .out = 3},
		{.name = "b", .kind = LAYER_LINEAR, .out = 3},
		{.name = "c", .kind = LAYER_LINEAR, .out = 3, .from = {"a"}},
		{.name = "aux1", .kind = LAYER_LINEAR, .out = 3},
		{.name = "aux2", .kind = LAYER_ADD, .from = {"aux1", "a"}},
		{.name = "add", .kind = LAYER_ADD, .from = {"b", "c"}},
	};
	static const bool live[] = {true, true, true, false, false, true};
	static const struct model_spec spec = {"m", 1, 2, 2, 6, layers};
	struct train_error error = {.status = TRAIN_OK};
	struct model_shapes shapes;

	ck_assert_msg(model_shapes(&shapes, &spec, &error), "%s", error.text);
	for (int i = 0; i < spec.count; i++)
		ROW_EQ_INT(layers[i].name, shapes.layers[i].live, live[i]);
	ck_assert_int_eq(shapes.parameters_count, 8);
}
END_TEST

START_TEST(planes_of_one_value_are_logits)
{
	static const struct layer plane[] = {
		{.name = "c", .kind = LAYER_CONVOLUTION, .out = 10, .kernel = 4}};
	static const struct model_spec spec = {"m", 1, 4, 4, 1, plane};
	struct train_error error = {.status = TRAIN_OK};
	struct model_shapes shapes;

	ck_assert_msg(model_shapes(&shapes, &spec, &error), "%s", error.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shapes");
	TCase *tests = tcase_create("shapes");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, shapes_and_names);
	tcase_add_test(tests, resnets);
	tcase_add_test(tests, images_of_other_sizes);
	tcase_add_test(tests, models_that_make_no_sense);
	tcase_add_test(tests, additions_that_make_no_sense);
	tcase_add_test(tests, what_an_addition_reads_is_live);
	tcase_add_test(tests, planes_of_one_value_are_logits);
	return unit_run(suite);
}
