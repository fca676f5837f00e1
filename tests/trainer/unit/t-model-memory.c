/* SPDX-License-Identifier: MIT */
/* The memory of models: what is used together lies apart, and sharing changes no number. */
#include <string.h>

#include "backends.h"
#include "drawn.h"
#include "graphs.h"
#include "model/plan_stage.h"
#include "stage.h"

static const struct layer small_layers[] = {
	{.name = "c", .kind = LAYER_CONVOLUTION, .out = 20, .kernel = 3, .pad = 1, .relu = true},
	{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "d", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 3, .pad = 1, .relu = true},
	{.name = "q", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "l", .kind = LAYER_LINEAR, .out = 5, .relu = true},
	{.name = "m", .kind = LAYER_LINEAR, .out = 3},
};
static const struct model_spec small = {"small", 3, 8, 8, 6, small_layers};

/* Residual blocks; the second has a projection. */
static const struct layer residual_layers[] = {
	{.name = "c", .kind = LAYER_CONVOLUTION, .out = 12, .kernel = 3, .pad = 1, .relu = true},
	{.name = "d", .kind = LAYER_CONVOLUTION, .out = 12, .kernel = 3, .pad = 1, .relu = true},
	{.name = "e", .kind = LAYER_CONVOLUTION, .out = 12, .kernel = 3, .pad = 1},
	{.name = "a", .kind = LAYER_ADD, .from = {NULL, "c"}, .relu = true},
	{.name = "f", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 3, .pad = 1, .relu = true},
	{.name = "g", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 3, .pad = 1},
	{.name = "s", .kind = LAYER_CONVOLUTION, .from = {"a"}, .out = 9, .kernel = 1},
	{.name = "b", .kind = LAYER_ADD, .from = {"g", "s"}, .relu = true},
	{.name = "q", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "l", .kind = LAYER_LINEAR, .out = 3},
};
static const struct model_spec residual = {"residual", 3, 8, 8, 10, residual_layers};

/* The same with batch normalization, whose backward_data reads its input. */
static const struct layer normalized_layers[] = {
	{.name = "c", .kind = LAYER_CONVOLUTION, .out = 12, .kernel = 3, .pad = 1, .no_bias = true},
	{.name = "cn", .kind = LAYER_BATCH_NORM, .relu = true},
	{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 3, .stride = 2, .pad = 1},
	{.name = "d", .kind = LAYER_CONVOLUTION, .out = 12, .kernel = 3, .pad = 1, .no_bias = true},
	{.name = "dn", .kind = LAYER_BATCH_NORM, .relu = true},
	{.name = "e", .kind = LAYER_CONVOLUTION, .out = 12, .kernel = 3, .pad = 1, .no_bias = true},
	{.name = "en", .kind = LAYER_BATCH_NORM},
	{.name = "a", .kind = LAYER_ADD, .from = {NULL, "p"}, .relu = true},
	{.name = "f", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 1, .no_bias = true},
	{.name = "fn", .kind = LAYER_BATCH_NORM},
	{.name = "s", .kind = LAYER_CONVOLUTION, .from = {"a"}, .out = 9, .kernel = 1},
	{.name = "sn", .kind = LAYER_BATCH_NORM},
	{.name = "b", .kind = LAYER_ADD, .from = {"fn", "sn"}, .relu = true},
	{.name = "m", .kind = LAYER_MEAN_POOL},
	{.name = "l", .kind = LAYER_LINEAR, .out = 3},
};
static const struct model_spec normalized = {"normalized", 3, 8, 8, 15, normalized_layers};

enum { BATCH = 4, LAST = 5, RESIDUAL_LAST = 9, NORMALIZED_LAST = 14 };

static const struct pass_control control = {0, BATCH - 1, 1.0f / (BATCH - 1)};

/* Stages, with buffers that may share memory whatever their size (cached: 0), or as any small ones
 * do. */
struct memory_case {
	const char *name;
	const struct model_spec *spec;
	int slots, first, last;
	size_t cached;
};

static const struct memory_case cases[] = {
	{"one slot", &small, 1, 0, LAST, MODEL_CACHED},
	{"one slot, large", &small, 1, 0, LAST, 0},
	{"slots", &small, 3, 0, LAST, MODEL_CACHED},
	{"slots, large", &small, 3, 0, LAST, 0},
	{"first stage", &small, 3, 0, 1, MODEL_CACHED},
	{"first stage, large", &small, 3, 0, 1, 0},
	{"middle stage", &small, 2, 2, 3, MODEL_CACHED},
	{"middle stage, large", &small, 2, 2, 3, 0},
	{"last stage", &small, 1, 2, LAST, MODEL_CACHED},
	{"last stage, large", &small, 1, 2, LAST, 0},
	{"residual", &residual, 1, 0, RESIDUAL_LAST, MODEL_CACHED},
	{"residual, large", &residual, 1, 0, RESIDUAL_LAST, 0},
	{"residual, slots", &residual, 3, 0, RESIDUAL_LAST, MODEL_CACHED},
	{"residual, slots, large", &residual, 3, 0, RESIDUAL_LAST, 0},
	{"first stage of residual, large", &residual, 3, 0, 3, 0},
	{"one block", &residual, 2, 1, 3, MODEL_CACHED},
	{"one block, large", &residual, 2, 1, 3, 0},
	{"last stage of residual", &residual, 1, 4, RESIDUAL_LAST, MODEL_CACHED},
	{"last stage of residual, large", &residual, 1, 4, RESIDUAL_LAST, 0},
	{"normalized", &normalized, 1, 0, NORMALIZED_LAST, MODEL_CACHED},
	{"normalized, large", &normalized, 1, 0, NORMALIZED_LAST, 0},
	{"normalized, slots", &normalized, 3, 0, NORMALIZED_LAST, MODEL_CACHED},
	{"normalized, slots, large", &normalized, 3, 0, NORMALIZED_LAST, 0},
	{"middle stage of normalized, large", &normalized, 2, 3, 7, 0},
};

enum { CASES = sizeof(cases) / sizeof(*cases) };

static void *zeros(struct model *m, size_t bytes)
{
	struct train_error error = {.status = TRAIN_OK};
	void *memory =
		m->device->backend->allocate_zeros(m->device, bytes ? bytes : 1, "a test", &error);

	ck_assert_msg(memory != NULL, "%s", error.text);
	return memory;
}

/* New memory, for other places. With one slot it is one block, unless `apart`. */
static void allocate_again(struct model *m, bool apart)
{
	const struct backend *backend = m->device->backend;

	if (m->shared != m->slots)
		backend->release(m->device, m->shared);
	backend->release(m->device, m->slots);
	m->slots = zeros(m, m->slot_bytes * (size_t)m->options.slots);
	m->shared = m->options.slots == 1 && !apart ? m->slots : zeros(m, m->shared_bytes);
}

static struct model *opened_case(struct device *device, const struct memory_case *c,
				 enum value_type type)
{
	const struct model_options options = {BATCH, c->slots, type, c->first, c->last, false, 0};
	struct train_error error = {.status = TRAIN_OK};
	struct model *m;

	ck_assert_msg(model_open(&m, c->spec, device, &options, &error), "%s", error.text);
	model_lay_out(m, c->cached);
	allocate_again(m, false);
	return m;
}

static void put(struct buffer *buffer, size_t *bytes)
{
	buffer->at = *bytes;
	*bytes += (buffer->bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
}

/* Gives every buffer memory of its own. */
static void spread_buffers(struct model *m)
{
	m->slot_bytes = m->shared_bytes = 0;
	put(&m->input_at, &m->slot_bytes);
	put(&m->input_gradient, &m->shared_bytes);
	for (int i = 0; i < m->count; i++) {
		struct node *node = &m->nodes[i];

		node->in_slot = false;
		put(&node->output, &m->slot_bytes);
		put(&node->workspace, &m->slot_bytes);
		put(&node->gradient, &m->shared_bytes);
		put(&node->scratch, &m->shared_bytes);
		put(&node->partial, &m->shared_bytes);
	}
	allocate_again(m, true);
}

/* The same, and every gradient a buffer, those of the inputs of additions too. */
static void spread(struct model *m)
{
	for (int i = 0; i < m->count; i++) {
		struct node *node = &m->nodes[i];

		node->gradient_of = i;
		for (int k = 0; k < node->inputs; k++)
			if (node->gives[k] == GIVES_SHARED)
				node->gives[k] = GIVES_COPY;
		if (i == m->count - 1 || needs_gradient(m, i))
			node->gradient.bytes = node->op->info.output.bytes;
	}
	spread_buffers(m);
}

struct part {
	const unsigned char *at;
	size_t bytes;
	const char *what;
};

static void check_apart(const char *name, const struct part *parts, int count, const char *when,
			int node)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i; j++)
			ck_assert_msg(parts[i].bytes == 0 || parts[j].bytes == 0 ||
					      parts[i].at + parts[i].bytes <= parts[j].at ||
					      parts[j].at + parts[j].bytes <= parts[i].at,
				      "%s: node %d, %s: %s lies on %s", name, node, when,
				      parts[i].what, parts[j].what);
}

/* Where the gradient of an input of a node comes together. */
static struct part gradient_to(const struct model *m, int node, int input, int slot)
{
	int to = m->nodes[node].from[input];
	const unsigned char *at =
		to < 0 ? model_input_gradient(m) : node_args(m, to, slot).output_gradient;

	return (struct part){at, m->nodes[node].op->info.input.bytes, "an input's gradient"};
}

/* What operation `node` reads and writes in forward and in both runs of backward. */
static void check_node(const char *name, const struct model *m, int node, int slot)
{
	const struct node *n = &m->nodes[node];
	const struct op_info *info = &n->op->info;
	const struct op_args a = node_args(m, node, slot);
	const struct part input = {a.input, info->input.bytes, "input"};
	const struct part addend = {a.addend, a.addend ? info->input.bytes : 0, "addend"};
	const struct part output = {a.output, info->output.bytes, "output"};
	const struct part workspace = {a.workspace, info->workspace, "workspace"};
	const struct part scratch = {a.scratch, info->scratch, "scratch"};
	const struct part kept = {a.output, n->reads_output ? output.bytes : 0, "output"};
	const struct part from = {a.output_gradient, a.output_gradient ? output.bytes : 0,
				  "the output's gradient"};
	const struct part to = {a.input_gradient,
				a.input_gradient && n->inputs == 1 ? input.bytes : 0,
				"the input's gradient"};
	const struct part forward[] = {input, addend, output, workspace, scratch};
	const struct part weights[] = {input, kept, scratch, from};
	struct part data[7] = {kept, workspace, scratch, from, to};
	int count = 5;

	check_apart(name, forward, 5, "forward", node);
	if (n->op->calls->backward_weights)
		check_apart(name, weights, 4, "backward weights", node);
	for (int k = 0; k < n->inputs; k++)
		if (n->gives[k] == GIVES_SUM || n->gives[k] == GIVES_COPY)
			data[count++] = gradient_to(m, node, k, slot);
	check_apart(name, data, count, "backward data", node);
	ck_assert_msg(!n->in_slot || (from.at >= m->slots + (size_t)slot * m->slot_bytes &&
				      from.at + from.bytes <=
					      m->slots + (size_t)(slot + 1) * m->slot_bytes),
		      "%s: the gradient of node %d is not in its slot", name, node);
	for (int k = 0; k < n->inputs; k++) {
		const void *gradient = gradient_to(m, node, k, slot).at;

		if (n->gives[k] == GIVES_FIRST)
			ck_assert_ptr_eq(a.input_gradient, gradient);
		if (n->gives[k] == GIVES_SHARED)
			ck_assert_ptr_eq(a.output_gradient, gradient);
	}
}

/* The ends of the stage lie on nothing else, at any time. */
static void check_ends(const char *name, const struct model *m, int node, int slot)
{
	const struct op_info *info = &m->nodes[node].op->info;
	const struct op_args a = node_args(m, node, slot);
	const bool last = node == m->count - 1;
	const bool last_gradient = m->nodes[node].gradient_of == m->count - 1;
	const struct part parts[] = {
		{a.output, last ? 0 : info->output.bytes, "an output"},
		{a.output_gradient, last_gradient || !a.output_gradient ? 0 : info->output.bytes,
		 "a gradient"},
		{a.workspace, info->workspace, "a workspace"},
		{a.scratch, info->scratch, "scratch"},
	};

	for (int to = 0; to < m->options.slots; to++)
		for (int i = 0; i < 4; i++) {
			const struct part ends[] = {
				parts[i],
				{model_input(m, to), m->input.bytes, "the input"},
				{model_output(m, to), model_output_bytes(m), "the output"},
				{model_input_gradient(m),
				 model_input_gradient(m) ? m->input.bytes : 0,
				 "the input's gradient"},
				{model_output_gradient(m), model_output_bytes(m),
				 "the output's gradient"},
			};

			check_apart(name, ends, 5, "at some time", node);
		}
}

START_TEST(what_is_used_together_is_apart)
{
	for (int i = 0; i < BACKENDS; i++) {
		struct device *device = opened_with(backends[i], 1);
		struct model *m = opened_case(device, &cases[_i], VALUE_FLOAT32);

		for (int slot = 0; slot < m->options.slots; slot++)
			for (int node = 0; node < m->count; node++) {
				check_node(cases[_i].name, m, node, slot);
				check_ends(cases[_i].name, m, node, slot);
			}
		model_close(m);
		backends[i]->close(device);
	}
}
END_TEST

/* Two models with the same numbers; in one of them no buffers share memory. */
struct pair {
	const char *name;
	struct model *m[2];
};

static void fill(enum value_type type, void *const *at, size_t bytes, uint32_t seed)
{
	int64_t count = (int64_t)(bytes / value_bytes(type));

	for (int64_t i = 0; i < count; i++)
		value_set(type, at[0], i, stage_number(i, drawn_seed() + seed));
	memcpy(at[1], at[0], bytes);
}

static void check_same(const struct pair *pair, const char *what, int slot, const void *a,
		       const void *b, size_t bytes)
{
	ck_assert_msg(bytes == 0 || memcmp(a, b, bytes) == 0, "%s, slot %d: %s differs", pair->name,
		      slot, what);
}

static void fill_parameters(const struct pair *pair)
{
	struct train_error error = {.status = TRAIN_OK};
	void *const values[] = {pair->m[0]->values, pair->m[1]->values};
	int64_t count = pair->m[0]->elements;

	fill(VALUE_FLOAT32, values, (size_t)count * sizeof(float), 1);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(model_prepare(pair->m[i], false, &error), "%s", error.text);
}

static void run_forward(const struct pair *pair, int slot, uint32_t seed)
{
	struct train_error error = {.status = TRAIN_OK};
	void *const inputs[] = {model_input(pair->m[0], slot), model_input(pair->m[1], slot)};
	const struct model_pass how = {&control, true};

	fill(pair->m[0]->input.type, inputs, pair->m[0]->input.bytes, seed);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(model_forward(pair->m[i], slot, &how, &error), "%s", error.text);
}

/* The loss of the last stage; in others the output's gradient comes from the next one. */
static void start_backward(const struct pair *pair, int slot, uint32_t seed)
{
	static const int32_t labels[BATCH] = {0, 1, 2, 1};
	struct loss_result results[2] = {{0, 0}, {0, 0}};
	struct train_error error = {.status = TRAIN_OK};
	void *const gradients[] = {model_output_gradient(pair->m[0]),
				   model_output_gradient(pair->m[1])};

	if (!pair->m[0]->loss) {
		fill(pair->m[0]->options.type, gradients, model_output_bytes(pair->m[0]), seed);
		return;
	}
	for (int i = 0; i < 2; i++) {
		const struct model_loss loss = {labels, &control, &results[i], true, NULL, false};

		ck_assert_msg(model_loss(pair->m[i], slot, &loss, &error), "%s", error.text);
	}
	ck_assert_msg(results[0].loss == results[1].loss, "%s, slot %d: the loss differs",
		      pair->name, slot);
}

static void run_backward(const struct pair *pair, int slot, uint32_t seed)
{
	struct model *a = pair->m[0], *b = pair->m[1];
	struct train_error error = {.status = TRAIN_OK};
	int64_t count = a->elements;

	check_same(pair, "the output", slot, model_output(a, slot), model_output(b, slot),
		   model_output_bytes(a));
	start_backward(pair, slot, seed);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(model_backward(pair->m[i], slot, &control, NULL, &error), "%s",
			      error.text);
	check_same(pair, "a gradient", slot, a->gradients, b->gradients,
		   (size_t)count * sizeof(float));
	if (model_input_gradient(a))
		check_same(pair, "the input's gradient", slot, model_input_gradient(a),
			   model_input_gradient(b), a->input.bytes);
}

/* As stages run: a slot gets the next pass while passes of other slots still wait. */
static void run_passes(const struct pair *pair)
{
	const int slots = pair->m[0]->options.slots, passes = 3 * slots;

	fill_parameters(pair);
	for (int pass = -slots; pass < passes; pass++) {
		if (pass >= 0)
			run_backward(pair, pass % slots, 100 + (uint32_t)pass);
		if (pass + slots < passes)
			run_forward(pair, (pass + slots) % slots, 10 + (uint32_t)pass);
	}
}

/* Two models of a case, on each backend and in each type that it has. */
static void with_pairs(const struct memory_case *c, void (*compare)(struct pair *pair))
{
	static const enum value_type types[] = {VALUE_FLOAT32, VALUE_BFLOAT16};

	for (int i = 0; i < 2 * BACKENDS; i++) {
		const struct backend *backend = backends[i / 2];
		struct device *device = opened_with(backend, 1);
		struct pair pair = {.name = c->name};

		if (backend->has_type(device, types[i % 2])) {
			pair.m[0] = opened_case(device, c, types[i % 2]);
			pair.m[1] = opened_case(device, c, types[i % 2]);
			compare(&pair);
			model_close(pair.m[0]);
			model_close(pair.m[1]);
		}
		backend->close(device);
	}
}

static void compare_with_spread(struct pair *pair)
{
	spread(pair->m[1]);
	run_passes(pair);
}

START_TEST(sharing_changes_no_number)
{
	with_pairs(&cases[_i], compare_with_spread);
}
END_TEST

/* --- memory that is spoilt while nothing is said to lie there -------------------------------- */

static struct {
	struct model *m;
	const struct op_calls *calls[MODEL_MAX_NODES];
	struct op_calls spoiling[MODEL_MAX_NODES];
} spoilt;

static void spoil_unused(const struct buffer *buffer, unsigned char *memory, int time)
{
	for (int i = 0; i < buffer->count; i++)
		if (buffer->times[i].first <= time && time <= buffer->times[i].last)
			return;
	memset(memory + buffer->at, 0xff, buffer->bytes); /* NaN, and places far outside */
}

/* Before the operation at this time. */
static void spoil_all(int time)
{
	struct model *m = spoilt.m;

	for (int i = 0; i < m->count; i++) {
		spoil_unused(&m->nodes[i].output, m->slots, time);
		spoil_unused(&m->nodes[i].workspace, m->slots, time);
		spoil_unused(&m->nodes[i].gradient, m->shared, time);
		spoil_unused(&m->nodes[i].scratch, m->shared, time);
		spoil_unused(&m->nodes[i].partial, m->shared, time);
	}
}

static int node_of(const struct op *op)
{
	int node = 0;

	while (spoilt.m->nodes[node].op != op)
		node++;
	return node;
}

/* The times of memory.c: after the samples all forward operations, the loss, and for each node from
 * the last on the two of backward. */
static int backward_time(int node)
{
	return 2 + spoilt.m->count + 2 * (spoilt.m->count - 1 - node);
}

static bool forward_after(struct op *op, const struct op_args *args, struct train_error *error)
{
	int node = node_of(op);

	spoil_all(1 + node);
	return spoilt.calls[node]->forward(op, args, error);
}

static bool weights_after(struct op *op, const struct op_args *args, struct train_error *error)
{
	int node = node_of(op);

	spoil_all(backward_time(node));
	return spoilt.calls[node]->backward_weights(op, args, error);
}

static bool data_after(struct op *op, const struct op_args *args, struct train_error *error)
{
	int node = node_of(op);

	spoil_all(backward_time(node) + 1);
	return spoilt.calls[node]->backward_data(op, args, error);
}

static void begin_spoiling(struct model *m)
{
	spoilt.m = m;
	for (int i = 0; i < m->count; i++) {
		struct op_calls *calls = &spoilt.spoiling[i];

		spoilt.calls[i] = m->nodes[i].op->calls;
		*calls = *spoilt.calls[i];
		calls->forward = forward_after;
		calls->backward_weights = calls->backward_weights ? weights_after : NULL;
		calls->backward_data = calls->backward_data ? data_after : NULL;
		m->nodes[i].op->calls = calls;
	}
}

static void compare_with_spoilt(struct pair *pair)
{
	spread_buffers(pair->m[0]);
	begin_spoiling(pair->m[0]);
	fill_parameters(pair);
	run_forward(pair, 0, 10);
	run_backward(pair, 0, 100);
}

START_TEST(nothing_is_read_before_or_after_its_time)
{
	with_pairs(&cases[_i], compare_with_spoilt);
}
END_TEST

/* --- drawn graphs ---------------------------------------------------------------------------- */

/* Adds how many gradients the additions of a model share, copy and sum. */
static void count_giving(const struct memory_case *c, int counts[GIVES_COPY + 1])
{
	struct device *device = opened_with(&backend_reference, 1);
	struct model *m = opened_case(device, c, VALUE_FLOAT32);

	for (int i = 0; i < m->count; i++)
		for (int k = 0; k < m->nodes[i].inputs; k++)
			if (m->nodes[i].inputs == 2)
				counts[m->nodes[i].gives[k]]++;
	model_close(m);
	device->backend->close(device);
}

/* Enough of them that all ways of giving a gradient occur. */
START_TEST(sharing_changes_no_number_of_drawn_graphs)
{
	enum { GRAPHS = SANITIZED ? 20 : 100 };
	int counts[GIVES_COPY + 1] = {0};

	for (uint32_t i = 0; i < GRAPHS; i++) {
		struct layer layers[GRAPH_LAYERS + 1];
		const struct model_spec spec = {"drawn", 8, 4, 4, GRAPH_LAYERS + 1, layers};
		const struct memory_case c = {"drawn", &spec, 1, 0, GRAPH_LAYERS, 0};

		graph_draw(layers, 8, drawn_seed() + i);
		layers[GRAPH_LAYERS] = (struct layer){.name = "fc", .kind = LAYER_LINEAR, .out = 3};
		with_pairs(&c, compare_with_spread);
		with_pairs(&c, compare_with_spoilt);
		count_giving(&c, counts);
	}
	ck_assert_msg(counts[GIVES_SHARED] > 0 && counts[GIVES_COPY] > 0 && counts[GIVES_SUM] > 0,
		      "%d shared, %d copied, %d added", counts[GIVES_SHARED], counts[GIVES_COPY],
		      counts[GIVES_SUM]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("model-memory");
	TCase *tests = tcase_create("model-memory");

	drawn_seed();
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, what_is_used_together_is_apart, 0, CASES);
	tcase_add_loop_test(tests, sharing_changes_no_number, 0, CASES);
	tcase_add_loop_test(tests, nothing_is_read_before_or_after_its_time, 0, CASES);
	tcase_add_test(tests, sharing_changes_no_number_of_drawn_graphs);
	return unit_run(suite);
}
