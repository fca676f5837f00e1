/* SPDX-License-Identifier: MIT */
/* The memory of models: what is used together lies apart, and sharing changes no number. */
#include <string.h>

#include "backends.h"
#include "drawn.h"
#include "model/plan.h"
#include "stage.h"

static const struct layer layers[] = {
	{.name = "c", .kind = LAYER_CONVOLUTION, .out = 20, .kernel = 3, .pad = 1, .relu = true},
	{.name = "p", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "d", .kind = LAYER_CONVOLUTION, .out = 9, .kernel = 3, .pad = 1, .relu = true},
	{.name = "q", .kind = LAYER_MAX_POOL, .kernel = 2},
	{.name = "l", .kind = LAYER_LINEAR, .out = 5, .relu = true},
	{.name = "m", .kind = LAYER_LINEAR, .out = 3},
};
static const struct model_spec spec = {"small", 3, 8, 8, 6, layers};

enum { BATCH = 4, LAST = 5 };

/* Stages, with buffers that may share memory whatever their size (cached: 0), or as any small ones
 * do. */
static const struct {
	const char *name;
	int slots, first, last;
	size_t cached;
} cases[] = {
	{"one slot", 1, 0, LAST, MODEL_CACHED},   {"one slot, large", 1, 0, LAST, 0},
	{"slots", 3, 0, LAST, MODEL_CACHED},      {"slots, large", 3, 0, LAST, 0},
	{"first stage", 3, 0, 1, MODEL_CACHED},   {"first stage, large", 3, 0, 1, 0},
	{"middle stage", 2, 2, 3, MODEL_CACHED},  {"middle stage, large", 2, 2, 3, 0},
	{"last stage", 1, 2, LAST, MODEL_CACHED}, {"last stage, large", 1, 2, LAST, 0},
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

static struct model *opened_case(struct device *device, int i, enum value_type type)
{
	const struct model_options options = {BATCH, cases[i].slots, type, cases[i].first,
					      cases[i].last};
	struct train_error error = {.status = TRAIN_OK};
	struct model *m;

	ck_assert_msg(model_open(&m, &spec, device, &options, &error), "%s", error.text);
	model_lay_out(m, cases[i].cached);
	allocate_again(m, false);
	return m;
}

static void put(struct buffer *buffer, size_t *bytes)
{
	buffer->at = *bytes;
	*bytes += (buffer->bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
}

/* Gives every buffer memory of its own. */
static void spread(struct model *m)
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
	}
	allocate_again(m, true);
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

/* What operation `node` reads and writes in forward and in both runs of backward. */
static void check_node(const char *name, const struct model *m, int node, int slot)
{
	const struct op_info *info = &m->nodes[node].op->info;
	const struct op_args a = node_args(m, node, slot);
	const struct part input = {a.input, info->input.bytes, "input"};
	const struct part output = {a.output, info->output.bytes, "output"};
	const struct part workspace = {a.workspace, info->workspace, "workspace"};
	const struct part scratch = {a.scratch, info->scratch, "scratch"};
	const struct part kept = {a.output, m->nodes[node].reads_output ? output.bytes : 0,
				  "output"};
	const struct part from = {a.output_gradient, a.output_gradient ? output.bytes : 0,
				  "the output's gradient"};
	const struct part to = {a.input_gradient, a.input_gradient ? input.bytes : 0,
				"the input's gradient"};
	const struct part forward[] = {input, output, workspace, scratch};
	const struct part weights[] = {input, kept, scratch, from};
	const struct part data[] = {kept, workspace, scratch, from, to};

	check_apart(name, forward, 4, "forward", node);
	if (m->nodes[node].op->calls->backward_weights)
		check_apart(name, weights, 4, "backward weights", node);
	check_apart(name, data, 5, "backward data", node);
	ck_assert_msg(
		!m->nodes[node].in_slot ||
			(from.at >= m->slots + (size_t)slot * m->slot_bytes &&
			 from.at + from.bytes <= m->slots + (size_t)(slot + 1) * m->slot_bytes),
		"%s: the gradient of node %d is not in its slot", name, node);
	if (node > 0)
		ck_assert_ptr_eq(a.input_gradient, node_args(m, node - 1, slot).output_gradient);
}

/* The ends of the stage lie on nothing else, at any time. */
static void check_ends(const char *name, const struct model *m, int node, int slot)
{
	const struct op_info *info = &m->nodes[node].op->info;
	const struct op_args a = node_args(m, node, slot);
	const bool last = node == m->count - 1;
	const struct part parts[] = {
		{a.output, last ? 0 : info->output.bytes, "an output"},
		{a.output_gradient, last || !a.output_gradient ? 0 : info->output.bytes,
		 "a gradient"},
		{a.workspace, info->workspace, "a workspace"},
		{a.scratch, info->scratch, "scratch"},
	};

	for (int to = 0; to < m->options.slots; to++)
		for (int i = 0; i < 4; i++) {
			const struct part ends[] = {
				parts[i],
				{model_input(m, to), model_input_bytes(m), "the input"},
				{model_output(m, to), model_output_bytes(m), "the output"},
				{model_input_gradient(m),
				 model_input_gradient(m) ? model_input_bytes(m) : 0,
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
		struct model *m = opened_case(device, _i, VALUE_FLOAT32);

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
	void *const values[] = {model_values(pair->m[0]), model_values(pair->m[1])};
	int64_t first, count = model_elements(pair->m[0], &first);

	fill(VALUE_FLOAT32, values, (size_t)count * sizeof(float), 1);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(model_prepare(pair->m[i], false, &error), "%s", error.text);
}

static void run_forward(const struct pair *pair, int slot, uint32_t seed)
{
	struct train_error error = {.status = TRAIN_OK};
	void *const inputs[] = {model_input(pair->m[0], slot), model_input(pair->m[1], slot)};

	fill(model_input_layout(pair->m[0])->type, inputs, model_input_bytes(pair->m[0]), seed);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(model_forward(pair->m[i], slot, &error), "%s", error.text);
}

/* The loss of the last stage; in others the output's gradient comes from the next one. */
static void start_backward(const struct pair *pair, int slot, uint32_t seed)
{
	static const int32_t labels[BATCH] = {0, 1, 2, 1};
	const struct pass_control control = {0, BATCH - 1, 1.0f / (BATCH - 1)};
	struct loss_result results[2] = {{0, 0}, {0, 0}};
	struct train_error error = {.status = TRAIN_OK};
	void *const gradients[] = {model_output_gradient(pair->m[0]),
				   model_output_gradient(pair->m[1])};

	if (!pair->m[0]->loss) {
		fill(pair->m[0]->options.type, gradients, model_output_bytes(pair->m[0]), seed);
		return;
	}
	for (int i = 0; i < 2; i++) {
		const struct model_loss loss = {labels, &control, &results[i], true, NULL};

		ck_assert_msg(model_loss(pair->m[i], slot, &loss, &error), "%s", error.text);
	}
	ck_assert_msg(results[0].loss == results[1].loss, "%s, slot %d: the loss differs",
		      pair->name, slot);
}

static void run_backward(const struct pair *pair, int slot, uint32_t seed)
{
	struct model *a = pair->m[0], *b = pair->m[1];
	struct train_error error = {.status = TRAIN_OK};
	int64_t first, count = model_elements(a, &first);

	check_same(pair, "the output", slot, model_output(a, slot), model_output(b, slot),
		   model_output_bytes(a));
	start_backward(pair, slot, seed);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(model_backward(pair->m[i], slot, NULL, &error), "%s", error.text);
	check_same(pair, "a gradient", slot, model_gradients(a), model_gradients(b),
		   (size_t)count * sizeof(float));
	if (model_input_gradient(a))
		check_same(pair, "the input's gradient", slot, model_input_gradient(a),
			   model_input_gradient(b), model_input_bytes(a));
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

START_TEST(sharing_changes_no_number)
{
	static const enum value_type types[] = {VALUE_FLOAT32, VALUE_BFLOAT16};

	for (int i = 0; i < 2 * BACKENDS; i++) {
		const struct backend *backend = backends[i / 2];
		struct device *device = opened_with(backend, 1);
		struct pair pair = {.name = cases[_i].name};

		if (backend->has_type(device, types[i % 2])) {
			pair.m[0] = opened_case(device, _i, types[i % 2]);
			pair.m[1] = opened_case(device, _i, types[i % 2]);
			spread(pair.m[1]);
			run_passes(&pair);
			model_close(pair.m[0]);
			model_close(pair.m[1]);
		}
		backend->close(device);
	}
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
	return unit_run(suite);
}
