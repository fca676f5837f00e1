/* SPDX-License-Identifier: MIT */
/*
 * Where the buffers of a pass lie. The time is the number of an operation in a pass: samples, the
 * forward operations, the loss, the backward operations. A buffer's memory serves another one
 * before it is written and after it is read last, if both are large, or are the output of a node
 * and the gradient of that output. All scratch shares memory.
 *
 * With several slots other passes come between, so activations stay. The ends of the stage always
 * stay: other devices read and write them, and rows of samples that do not count keep valid
 * numbers.
 */
#include "model/plan.h"

enum { MAX_BUFFERS = 4 * (2 * MODEL_MAX_LAYERS + 1) + 2 };

/* Below so many bytes a buffer stays in the caches. Another buffer in its place would have to get
 * the lines from the core that wrote them: a step of two threads took 4 % longer at batch 32. */
enum { CACHED = 16 << 20 };

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

/* What backward reads: a layer's weights' gradient its input, ReLU's derivative the output. */
static int last_read(const struct model *m, int node)
{
	if (m->nodes[node].reads_output)
		return data_at(m, node);
	if (m->nodes[node + 1].op->calls->backward_weights)
		return weights_at(m, node + 1);
	return forward_at(node + 1);
}

static int own_group(size_t bytes, int index)
{
	return bytes < CACHED ? 1 + index : ANY;
}

static void find_times(struct model *m, int index)
{
	struct node *node = &m->nodes[index];
	const struct op_info *info = &node->op->info;
	bool end = index == m->count - 1;
	size_t gradient = end || m->nodes[index + 1].backward_data ? info->output.bytes : 0;
	int data = data_at(m, index);

	node->output = always(m, info->output.bytes);
	node->workspace = always(m, info->workspace);
	node->gradient = always(m, gradient);
	node->scratch = used(info->scratch, forward_at(index), forward_at(index));
	node->scratch.group = SCRATCH;
	node->scratch.times[node->scratch.count++] =
		(struct buffer_time){weights_at(m, index), data};
	if (!end)
		node->gradient = used(gradient, data_at(m, index + 1), data);
	if (m->options.slots > 1)
		return;
	node->workspace.group = 1 + index;
	node->output.group = own_group(info->output.bytes, index);
	if (end)
		return;
	node->output = used(info->output.bytes, forward_at(index), last_read(m, index));
	node->output.group = node->gradient.group = own_group(info->output.bytes, index);
	if (!buffers_share(&node->output, &node->gradient))
		node->gradient.group = ANY;
}

/* The input lies first, where huge pages fit: it is used all the time. */
void model_lay_out(struct model *m)
{
	struct buffer *buffers[MAX_BUFFERS];
	bool one = m->options.slots == 1;
	int count = 0;

	m->input_at = always(m, m->input.bytes);
	m->input_gradient = always(m, m->nodes[0].backward_data ? m->input.bytes : 0);
	for (int i = 0; i < m->count; i++) {
		find_times(m, i);
		buffers[count++] = &m->nodes[i].output;
		buffers[count++] = &m->nodes[i].workspace;
	}
	if (!one)
		m->slot_bytes = buffers_place(buffers, count, &m->input_at);
	count = one ? count : 0;
	buffers[count++] = &m->input_gradient;
	for (int i = 0; i < m->count; i++) {
		buffers[count++] = &m->nodes[i].gradient;
		buffers[count++] = &m->nodes[i].scratch;
	}
	if (one)
		m->slot_bytes = buffers_place(buffers, count, &m->input_at);
	else
		m->shared_bytes = buffers_place(buffers, count, NULL);
}
