/* SPDX-License-Identifier: MIT */
/*
 * Where the buffers of a pass lie. The time is the number of an operation in a pass: samples, the
 * forward operations, the loss, the backward operations. A buffer's memory serves another one
 * before it is written and after it is read last, if both are large, or are the output of a node
 * and the gradient of that output. A small gradient whose output is read after it is written shares
 * with other such gradients and with large buffers: measured steps take no longer for that
 * (bench/README.md). All scratch shares memory.
 *
 * With several slots the operations of other passes come between those of a pass, and use other
 * slots. Passes go backward one after the other, so gradients and scratch lie once for all slots,
 * except gradients that fit into the slot without making it larger. The ends of the stage always
 * stay: other devices read and write them, and rows of samples that do not count keep valid
 * numbers.
 */
#include "model/plan_stage.h"

enum { MAX_BUFFERS = 5 * MODEL_MAX_NODES + 2 };

/* The groups of buffers of several nodes; a node's own group is 1 + its index. */
enum { SCRATCH = -1, ANY };

static int forward_at(int node)
{
	return 1 + node;
}

static int loss_at(const struct model *m)
{
	return 1 + m->count;
}

static int weights_at(const struct model *m, int node)
{
	return loss_at(m) + 1 + 2 * (m->count - 1 - node);
}

static int data_at(const struct model *m, int node)
{
	return weights_at(m, node) + 1;
}

static struct buffer used(size_t bytes, int first, int last)
{
	return (struct buffer){.bytes = bytes, .times = {{first, last}}, .count = 1};
}

static struct buffer always(const struct model *m, size_t bytes)
{
	return used(bytes, 0, data_at(m, 0));
}

/* When a node reads its input last: for its weights' gradient, or that of the input. */
static int reads_input_at(const struct model *m, int node)
{
	const struct op *op = m->nodes[node].op;

	if (m->nodes[node].backward_data && op->info.data_reads_input)
		return data_at(m, node);
	return op->calls->backward_weights ? weights_at(m, node) : forward_at(node);
}

/* Until when an output is read: by the nodes after it, and for ReLU's derivative. */
static int last_read(const struct model *m, int node)
{
	int last = m->nodes[node].reads_output ? data_at(m, node) : forward_at(node);

	for (int i = node + 1; i < m->count; i++) {
		int at = reads_input_at(m, i);

		if (node_reads(&m->nodes[i], node) && at > last)
			last = at;
	}
	return last;
}

/* Until when a node's gradient is used, with those that lie in the same memory. */
static int last_use(const struct model *m, int node)
{
	int last = data_at(m, node);

	for (int i = 0; i < node; i++)
		if (m->nodes[i].gradient_of == node && data_at(m, i) > last)
			last = data_at(m, i);
	return last;
}

/* When a node's buffers are used, and which of them may share memory. */
static void find_times(struct model *m, int index, size_t cached)
{
	struct node *node = &m->nodes[index];
	const struct op_info *info = &node->op->info;
	bool end = index == m->count - 1, own = node->gradient_of == index;
	size_t gradient = own && (end || needs_gradient(m, index)) ? info->output.bytes : 0;
	int data = data_at(m, index);

	node->output = always(m, info->output.bytes);
	node->workspace = always(m, info->workspace);
	node->gradient = always(m, gradient);
	node->scratch = used(info->scratch, forward_at(index), forward_at(index));
	node->scratch.group = SCRATCH;
	node->scratch.times[node->scratch.count++] =
		(struct buffer_time){weights_at(m, index), data};
	node->partial = used(node_has_partial(node) ? info->input.bytes : 0, data, data);
	if (end)
		return;
	node->output = used(info->output.bytes, forward_at(index), last_read(m, index));
	node->gradient = used(gradient, data_at(m, last_reader(m, index)), last_use(m, index));
	if (info->output.bytes >= cached)
		return;
	node->output.group = node->gradient.group = 1 + index;
	if (!buffers_share(&node->output, &node->gradient))
		node->gradient.group = ANY;
}

/* What lies in a slot, and what lies once for all of them. The input lies first, where huge pages
 * fit: it is used all the time. */
struct parts {
	struct buffer *slot[MAX_BUFFERS], *shared[MAX_BUFFERS];
	int slot_count, shared_count;
};

static void add_gradients(struct parts *parts, struct model *m)
{
	for (int i = 0; i < m->count; i++) {
		struct node *node = &m->nodes[i];

		node->in_slot = i < m->count - 1 && node->gradient.bytes > 0 &&
				buffers_insert(&node->gradient, parts->slot, parts->slot_count,
					       &m->input_at, m->slot_bytes);
		if (node->in_slot)
			parts->slot[parts->slot_count++] = &node->gradient;
		else
			parts->shared[parts->shared_count++] = &node->gradient;
	}
}

/* One slot is one block, in which all buffers find the best places together. */
static void place_in_one(struct parts *parts, struct model *m)
{
	for (int i = 0; i < parts->shared_count; i++)
		parts->slot[parts->slot_count++] = parts->shared[i];
	for (int i = 0; i < m->count; i++)
		parts->slot[parts->slot_count++] = &m->nodes[i].gradient;
	m->slot_bytes = buffers_place(parts->slot, parts->slot_count, &m->input_at);
}

void model_lay_out(struct model *m, size_t cached)
{
	struct parts parts = {.shared = {&m->input_gradient}, .shared_count = 1};

	m->input_at = always(m, m->input.bytes);
	m->input_gradient = always(m, needs_gradient(m, -1) ? m->input.bytes : 0);
	for (int i = 0; i < m->count; i++) {
		find_times(m, i, cached);
		parts.slot[parts.slot_count++] = &m->nodes[i].output;
		parts.slot[parts.slot_count++] = &m->nodes[i].workspace;
		parts.shared[parts.shared_count++] = &m->nodes[i].scratch;
		parts.shared[parts.shared_count++] = &m->nodes[i].partial;
	}
	if (m->options.slots == 1) {
		place_in_one(&parts, m);
		return;
	}
	m->slot_bytes = buffers_place(parts.slot, parts.slot_count, &m->input_at);
	add_gradients(&parts, m);
	m->shared_bytes = buffers_place(parts.shared, parts.shared_count, NULL);
}
