/* SPDX-License-Identifier: MIT */
/*
 * How the gradients of outputs are made. Backward runs from the last node to the first. Where
 * several nodes read one output, the last of them gives its gradient first and the others add
 * theirs, so the order of each sum is fixed.
 *
 * The gradient of an addition is that of both its inputs. Where it is given first, the input's
 * gradient lies in the same memory, unless one of those that lie there would be changed while
 * another is still needed. A gradient is changed by what is added to it, and by ReLU's derivative.
 */
#include "model/plan_stage.h"

bool has_input(const int *from, int inputs, int read)
{
	for (int k = 0; k < inputs; k++)
		if (from[k] == read)
			return true;
	return false;
}

bool node_reads(const struct node *node, int read)
{
	return has_input(node->from, node->inputs, read);
}

int last_reader(const struct model *m, int node)
{
	int last = m->count - 1;

	while (last > node && !node_reads(&m->nodes[last], node))
		last--;
	return last > node ? last : -1;
}

/* Gradients go back to the first parameters, or to the previous stage. */
bool needs_gradient(const struct model *m, int node)
{
	return node < 0
		       ? !m->samples
		       : m->nodes[node].op->calls->backward_weights || m->nodes[node].backward_data;
}

static bool is_addition(const struct model *m, int node)
{
	return m->nodes[node].inputs > 1;
}

/* Whether the gradient of `node`, from the time when `giver` gives it, is changed before that of
 * `other` has been used. */
static bool changes_early(const struct model *m, int node, int other, int giver)
{
	int first = last_reader(m, node);

	for (int reader = node + 1; reader <= giver; reader++)
		if (reader != first && node_reads(&m->nodes[reader], node) &&
		    (reader > other || (reader == other && is_addition(m, reader))))
			return true;
	return m->nodes[node].reads_output && node > other;
}

/* Whether an input's gradient can lie where that of the addition lies. */
static bool can_share(const struct model *m, int addition, int input)
{
	if (input < 0)
		return false;
	for (int i = 0; i < addition; i++)
		if (i != input && m->nodes[i].gradient_of == m->nodes[addition].gradient_of &&
		    (changes_early(m, input, i, addition) || changes_early(m, i, input, addition)))
			return false;
	return true;
}

static enum gradient_giving find_giving(struct model *m, int index, int input)
{
	int from = m->nodes[index].from[input];

	if (!needs_gradient(m, from))
		return GIVES_NONE;
	if (last_reader(m, from) != index)
		return GIVES_SUM;
	if (!is_addition(m, index))
		return GIVES_FIRST;
	if (!can_share(m, index, from))
		return GIVES_COPY;
	m->nodes[from].gradient_of = m->nodes[index].gradient_of;
	return GIVES_SHARED;
}

void model_plan_gradients(struct model *m)
{
	for (int i = 0; i < m->count; i++) {
		struct node *node = &m->nodes[i];

		node->gradient_of = i;
		node->backward_data = false;
		for (int k = 0; k < node->inputs; k++)
			if (needs_gradient(m, node->from[k]))
				node->backward_data = true;
	}
	for (int i = m->count - 1; i >= 0; i--)
		for (int k = 0; k < m->nodes[i].inputs; k++)
			m->nodes[i].gives[k] = find_giving(m, i, k);
}

bool node_has_partial(const struct node *node)
{
	return node->inputs == 1 && node->gives[0] == GIVES_SUM;
}

bool sums_gradients(const struct model *m, int node)
{
	for (int i = node + 1; i < m->count; i++)
		for (int k = 0; k < m->nodes[i].inputs; k++)
			if (m->nodes[i].from[k] == node && m->nodes[i].gives[k] == GIVES_SUM)
				return true;
	return false;
}
