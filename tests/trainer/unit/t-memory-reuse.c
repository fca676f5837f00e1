/* SPDX-License-Identifier: MIT */
/* Where buffers lie that share memory, and where those of a pass lie. */
#include <string.h>

#include "model/plan_stage.h"
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
	{"equal ones in their order",
	 3,
	 {ONCE(256, 0, 1), ONCE(256, 0, 2), ONCE(256, 0, 1)},
	 {0, 256, 512},
	 768},
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

/* Among a buffer of 1024 bytes from 256 to 1280, and one of 256 at its end, in 1536 bytes. */
static const struct {
	const char *name;
	struct buffer buffer;
	bool fits;
	size_t at;
} inserted[] = {
	{"on the first", ONCE(1024, 3, 4), true, 256},
	{"on the second", ONCE(256, 2, 2), true, 1280},
	{"on both", ONCE(1280, 3, 4), true, 256},
	{"too large", ONCE(1281, 3, 4), false, 77},
	{"at the time of both", ONCE(1, 0, 2), false, 77},
	{"of another group", OF_GROUP(1, 1, 3, 4), false, 77},
};

START_TEST(a_buffer_is_inserted)
{
	struct buffer below = ONCE(256, 0, 9), first = ONCE(1024, 0, 2), second = ONCE(256, 0, 1);
	struct buffer *placed[] = {&second, &first}, buffer = inserted[_i].buffer;
	size_t bytes = buffers_place(placed, 2, &below);

	buffer.at = 77;
	ck_assert_uint_eq(bytes, 1536);
	ROW_EQ_INT(inserted[_i].name, buffers_insert(&buffer, placed, 2, &below, bytes),
		   inserted[_i].fits);
	ROW_EQ_INT(inserted[_i].name, buffer.at, inserted[_i].at);
}
END_TEST

/*
 * A convolution whose output only a pooling reads, and again, then a linear layer. Bytes are in
 * units of the alignment. The times of backward are: node 4 at 7 and 8, node 3 at 9 and 10, 2 at 11
 * and 12, 1 at 13 and 14, 0 at 15 and 16.
 */
enum { NODES = 5, INPUT = 3 };

static bool nothing(struct op *op, const struct op_args *args, struct train_error *error)
{
	return true;
}

static const struct op_calls weighted = {.backward_weights = nothing}, weightless = {0};

static const struct {
	int output, workspace, scratch;
	bool weights, reads_output;
} sizes[NODES] = {
	{8, 0, 0, true, false}, {2, 1, 0, false, true}, {4, 0, 3, true, false},
	{1, 1, 0, false, true}, {1, 0, 1, true, false},
};

/* Outputs are used: 0 at 1 and 2, 1 from 2 to 14, 2 at 3 and 4, 3 from 4 to 10, 4 always. Their
 * gradients: 0 from 14 to 16, 1 from 12 to 14, 2 from 10 to 12, 3 from 8 to 10, 4 always. */
static const struct {
	const char *name;
	size_t cached;
	int slots;
	bool later; /* a later stage, which gives the gradient of its input */
	struct {
		int output, workspace, gradient, scratch;
		bool in_slot;
	} at[NODES];
	int input_gradient, slot, shared; /* units */
} layouts[] = {
	{"one slot, small",
	 SIZE_MAX,
	 1,
	 false,
	 {{3, 3, 3, 3, false},
	  {18, 22, 20, 3, false},
	  {11, 3, 11, 15, false},
	  {26, 23, 20, 3, false},
	  {24, 3, 25, 15, false}},
	 3,
	 27,
	 0},
	{"one slot, large",
	 0,
	 1,
	 false,
	 {{3, 3, 3, 3, false},
	  {14, 18, 16, 3, false},
	  {3, 3, 3, 11, false},
	  {7, 19, 8, 3, false},
	  {20, 3, 21, 11, false}},
	 3,
	 22,
	 0},
	{"one slot, large, a later stage",
	 0,
	 1,
	 true,
	 {{3, 3, 3, 3, false},
	  {17, 21, 19, 3, false},
	  {3, 3, 3, 14, false},
	  {7, 22, 8, 3, false},
	  {23, 3, 24, 14, false}},
	 11,
	 25,
	 0},
	{"slots, small",
	 SIZE_MAX,
	 2,
	 false,
	 {{3, 3, 3, 0, true},
	  {15, 17, 3, 0, false},
	  {11, 3, 11, 0, true},
	  {20, 18, 3, 0, false},
	  {19, 3, 5, 0, false}},
	 0,
	 21,
	 6},
	{"slots, large",
	 0,
	 2,
	 false,
	 {{3, 3, 3, 0, true},
	  {11, 13, 3, 0, false},
	  {3, 3, 3, 0, true},
	  {7, 14, 8, 0, true},
	  {15, 3, 5, 0, false}},
	 0,
	 16,
	 6},
	{"slots, small, a later stage",
	 SIZE_MAX,
	 2,
	 true,
	 {{3, 3, 3, 0, true},
	  {15, 17, 6, 0, false},
	  {11, 3, 11, 3, true},
	  {20, 18, 6, 0, false},
	  {19, 3, 8, 3, false}},
	 0,
	 21,
	 9},
};

static void lies(const char *name, int node, const char *what, const struct buffer *buffer,
		 int units)
{
	ck_assert_msg(buffer->at == (size_t)units * BUFFER_ALIGNMENT,
		      "%s: %s of node %d lies at %zu units and %zu bytes, not at %d", name, what,
		      node, buffer->at / BUFFER_ALIGNMENT, buffer->at % BUFFER_ALIGNMENT, units);
}

START_TEST(a_pass_lies)
{
	static struct model m;
	static struct node nodes[NODES];
	static struct op ops[NODES];
	const char *name = layouts[_i].name;

	m.nodes = nodes;
	m.count = NODES;
	m.options.slots = layouts[_i].slots;
	m.input.bytes = INPUT * BUFFER_ALIGNMENT;
	for (int i = 0; i < NODES; i++) {
		ops[i].calls = sizes[i].weights ? &weighted : &weightless;
		ops[i].info.output.bytes = (size_t)sizes[i].output * BUFFER_ALIGNMENT;
		ops[i].info.workspace = (size_t)sizes[i].workspace * BUFFER_ALIGNMENT;
		ops[i].info.scratch = (size_t)sizes[i].scratch * BUFFER_ALIGNMENT;
		m.nodes[i] = (struct node){.op = &ops[i],
					   .from = {i - 1},
					   .inputs = 1,
					   .reads_output = sizes[i].reads_output};
	}
	m.samples = !layouts[_i].later;
	model_plan_gradients(&m);
	model_lay_out(&m, layouts[_i].cached);
	for (int i = 0; i < NODES; i++) {
		lies(name, i, "the output", &m.nodes[i].output, layouts[_i].at[i].output);
		lies(name, i, "the workspace", &m.nodes[i].workspace, layouts[_i].at[i].workspace);
		lies(name, i, "the gradient", &m.nodes[i].gradient, layouts[_i].at[i].gradient);
		lies(name, i, "scratch", &m.nodes[i].scratch, layouts[_i].at[i].scratch);
		ck_assert_msg(m.nodes[i].in_slot == layouts[_i].at[i].in_slot,
			      "%s: whether the gradient of node %d is in the slot", name, i);
	}
	lies(name, 0, "the input", &m.input_at, 0);
	lies(name, 0, "the input's gradient", &m.input_gradient, layouts[_i].input_gradient);
	ROW_EQ_INT(name, m.slot_bytes, (size_t)layouts[_i].slot * BUFFER_ALIGNMENT);
	ROW_EQ_INT(name, m.shared_bytes, (size_t)layouts[_i].shared * BUFFER_ALIGNMENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("buffers");
	TCase *tests = tcase_create("buffers");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, buffers_lie, 0, (int)(sizeof(cases) / sizeof(*cases)));
	tcase_add_test(tests, buffers_lie_above);
	tcase_add_loop_test(tests, a_buffer_is_inserted, 0,
			    (int)(sizeof(inserted) / sizeof(*inserted)));
	tcase_add_loop_test(tests, a_pass_lies, 0, (int)(sizeof(layouts) / sizeof(*layouts)));
	return unit_run(suite);
}
