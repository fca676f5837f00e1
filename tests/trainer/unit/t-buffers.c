/* SPDX-License-Identifier: MIT */
/* Buffers that share memory: where buffers lie, and what a model's buffers keep during a pass. */
#include <string.h>

#include "model/plan.h"
#include "unit.h"

enum { MAX = 6 };

#define ONCE(bytes, first, last) \
	{ \
		bytes, {{first, last}}, 1, 0, 0 \
	}
#define OF_GROUP(group, bytes, first, last) \
	{ \
		bytes, {{first, last}}, 1, group, 0 \
	}
#define TWICE(bytes, first, last, again, end) \
	{ \
		bytes, {{first, last}, {again, end}}, 2, 0, 0 \
	}

static const struct {
	const char *name;
	int count;
	struct buffer buffers[MAX];
	size_t at[MAX], bytes;
} cases[] = {
	{"nothing", 0, {ONCE(0, 0, 0)}, {0}, 0},
	{"no bytes", 2, {ONCE(0, 0, 9), ONCE(1, 0, 9)}, {0, 0}, 256},
	{"one after the other", 2, {ONCE(256, 0, 1), ONCE(256, 2, 3)}, {0, 0}, 256},
	{"of two groups", 2, {ONCE(256, 0, 1), OF_GROUP(1, 256, 2, 3)}, {0, 256}, 512},
	{"of another group", 2, {OF_GROUP(-1, 256, 0, 1), OF_GROUP(-1, 256, 2, 3)}, {0, 0}, 256},
	{"together at one time", 2, {ONCE(256, 0, 1), ONCE(256, 1, 3)}, {0, 256}, 512},
	{"aligned", 2, {ONCE(257, 0, 1), ONCE(1, 0, 1)}, {0, 512}, 768},
	{"largest first", 2, {ONCE(256, 0, 1), ONCE(1024, 0, 1)}, {1024, 0}, 1280},
	{"in a gap",
	 3,
	 {ONCE(1024, 0, 9), ONCE(512, 0, 1), ONCE(512, 2, 3)},
	 {0, 1024, 1024},
	 1536},
	{"two small ones below a large one",
	 3,
	 {ONCE(1024, 5, 6), ONCE(512, 0, 1), ONCE(256, 0, 1)},
	 {0, 0, 512},
	 1024},
	{"between its two times", 2, {TWICE(512, 0, 1, 8, 9), ONCE(256, 2, 7)}, {0, 0}, 512},
	{"at its second time", 2, {TWICE(512, 0, 1, 8, 9), ONCE(256, 2, 8)}, {0, 512}, 768},
};

START_TEST(buffers_lie)
{
	struct buffer buffers[MAX], *all[MAX];
	size_t bytes;

	memcpy(buffers, cases[_i].buffers, sizeof(buffers));
	for (int i = 0; i < cases[_i].count; i++)
		all[i] = &buffers[i];
	bytes = buffers_place(all, cases[_i].count, NULL);
	ck_assert_msg(bytes == cases[_i].bytes, "%s: %zu bytes", cases[_i].name, bytes);
	for (int i = 0; i < cases[_i].count; i++)
		ck_assert_msg(buffers[i].at == cases[_i].at[i], "%s: %d lies at %zu",
			      cases[_i].name, i, buffers[i].at);
}
END_TEST

START_TEST(buffers_lie_above)
{
	struct buffer below = {.bytes = 300}, buffer = ONCE(256, 2, 3), none = ONCE(0, 0, 9);
	struct buffer *all[] = {&none, &buffer};

	ck_assert_uint_eq(buffers_place(all, 2, &below), 768);
	ck_assert_uint_eq(buffer.at, 512);
	ck_assert_uint_eq(none.at, 512);
	ck_assert_uint_eq(buffers_place(all, 0, &below), 512);
}
END_TEST

static const struct layer layers[] = {
	{.name = "c", .kind = LAYER_CONVOLUTION, .out = 20, .kernel = 3, .pad = 1, .relu = true},
	{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "d", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 3, .pad = 1, .relu = true},
	{.name = "q", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "l", .kind = LAYER_LINEAR, .out = 5, .relu = true},
	{.name = "m", .kind = LAYER_LINEAR, .out = 3},
};
static const struct model_spec spec = {"small", 3, 8, 8, 6, layers};

struct part {
	const unsigned char *at;
	size_t bytes;
	const char *what;
};

static void check_apart(const struct part *parts, int count, const char *when, int node)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i; j++)
			ck_assert_msg(parts[i].bytes == 0 || parts[j].bytes == 0 ||
					      parts[i].at + parts[i].bytes <= parts[j].at ||
					      parts[j].at + parts[j].bytes <= parts[i].at,
				      "node %d, %s: %s lies on %s", node, when, parts[i].what,
				      parts[j].what);
}

/* What operation `node` reads and writes in forward and in backward. */
static void check_node(const struct model *m, int node, int slot)
{
	const struct op_info *info = &m->nodes[node].op->info;
	const struct op_args a = node_args(m, node, slot);
	const bool reads_input = m->nodes[node].op->calls->backward_weights;
	const struct part forward[] = {
		{a.input, info->input.bytes, "input"},
		{a.output, info->output.bytes, "output"},
		{a.workspace, info->workspace, "workspace"},
		{a.scratch, info->scratch, "scratch"},
	};
	const struct part backward[] = {
		{a.input, reads_input ? info->input.bytes : 0, "input"},
		{a.output, m->nodes[node].reads_output ? info->output.bytes : 0, "output"},
		{a.workspace, info->workspace, "workspace"},
		{a.scratch, info->scratch, "scratch"},
		{a.output_gradient, info->output.bytes, "the output's gradient"},
		{a.input_gradient, a.input_gradient ? info->input.bytes : 0,
		 "the input's gradient"},
	};

	check_apart(forward, sizeof(forward) / sizeof(*forward), "forward", node);
	check_apart(backward, sizeof(backward) / sizeof(*backward), "backward", node);
	if (node > 0)
		ck_assert_ptr_eq(a.input_gradient, node_args(m, node - 1, slot).output_gradient);
}

/* Between the runs that write and read a buffer, no operation writes its memory. */
static void check_kept(const struct model *m, int from)
{
	const struct op_args a = node_args(m, from, 0);
	const struct op_info *info = &m->nodes[from].op->info;
	const bool read_later =
		m->nodes[from].reads_output ||
		(from + 1 < m->count && m->nodes[from + 1].op->calls->backward_weights);

	for (int i = from + 1; i < m->count; i++) {
		const struct op_args b = node_args(m, i, 0);
		const struct op_info *other = &m->nodes[i].op->info;
		const struct part parts[] = {
			{a.output, read_later ? info->output.bytes : 0, "an output"},
			{a.workspace, info->workspace, "a workspace"},
		};
		const struct part written[] = {
			{b.output, other->output.bytes, "an output"},
			{b.workspace, other->workspace, "a workspace"},
			{b.scratch, other->scratch, "scratch"},
			{b.output_gradient, other->output.bytes, "a gradient"},
		};

		for (int j = 0; j < 2; j++)
			for (int k = 0; k < 4; k++) {
				const struct part two[] = {parts[j], written[k]};

				check_apart(two, 2, "later", i);
			}
	}
}

static struct model *opened(const struct backend *backend, struct device **device,
			    const struct model_options *options)
{
	const struct device_options where = {.physical = 0, .threads = 1};
	struct train_error error = {.status = TRAIN_OK};
	struct model *m;

	ck_assert(backend->open(device, &where, &error));
	ck_assert_msg(model_open(&m, &spec, *device, options, &error), "%s", error.text);
	return m;
}

/* With many samples the buffers are so large that any of them share memory. */
static const struct {
	int samples, slots;
} sizes[] = {{4, 1}, {4, 3}, {32768, 1}};

START_TEST(what_is_used_together_is_apart)
{
	const int slots = sizes[_i].slots;
	const struct model_options options = {sizes[_i].samples, slots, VALUE_FLOAT32, 0, 5};
	struct device *device;
	struct model *m = opened(&backend_reference, &device, &options);

	for (int slot = 0; slot < slots; slot++)
		for (int node = 0; node < m->count; node++)
			check_node(m, node, slot);
	for (int node = 0; node < m->count; node++)
		check_kept(m, node);
	model_close(m);
	backend_reference.close(device);
}
END_TEST

/* The memory of an activation that only a pooling reads is given to others. With several slots it
 * is kept, because other passes come between. */
START_TEST(what_a_pooling_has_taken_is_free)
{
	const int slots = sizes[_i].slots;
	const struct model_options options = {sizes[_i].samples, slots, VALUE_FLOAT32, 0, 5};
	struct device *device;
	struct model *m = opened(&backend_reference, &device, &options);
	size_t sum = 0;

	for (int i = 0; i < m->count; i++)
		sum += m->nodes[i].output.bytes + m->nodes[i].workspace.bytes +
		       m->nodes[i].gradient.bytes + m->nodes[i].scratch.bytes;
	if (slots == 1) {
		ck_assert_uint_eq(m->nodes[0].gradient.at, m->nodes[0].output.at);
		ck_assert_uint_lt(m->slot_bytes, sizes[_i].samples > 4 ? sum * 2 / 3 : sum * 3 / 4);
	} else
		ck_assert_uint_ge(m->slot_bytes * (size_t)slots + m->shared_bytes,
				  (m->nodes[0].output.bytes + m->nodes[2].output.bytes) *
					  (size_t)slots);
	model_close(m);
	backend_reference.close(device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("buffers");
	TCase *tests = tcase_create("buffers");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, buffers_lie, 0, (int)(sizeof(cases) / sizeof(*cases)));
	tcase_add_test(tests, buffers_lie_above);
	tcase_add_loop_test(tests, what_is_used_together_is_apart, 0,
			    (int)(sizeof(sizes) / sizeof(*sizes)));
	tcase_add_loop_test(tests, what_a_pooling_has_taken_is_free, 0,
			    (int)(sizeof(sizes) / sizeof(*sizes)));
	return unit_run(suite);
}
