/* SPDX-License-Identifier: MIT */
/* See graph_segments.h. */
#include "parallel/graph_segments.h"

static bool go_forward(struct graph_segments *p, int64_t pass, bool test, struct train_error *error)
{
	int slot = (int)(pass % p->slots);

	return replica_fill(p->replica, slot, pass, test, error) &&
	       replica_forward(p->replica, slot, pass, test, error) &&
	       (!p->has_loss || replica_loss(p->replica, slot, pass, !test, error));
}

static bool issue_forward(void *argument, const struct graph_step *step, struct train_error *error)
{
	return go_forward(argument, step->pass, false, error);
}

static bool issue_evaluation(void *argument, const struct graph_step *step,
			     struct train_error *error)
{
	return go_forward(argument, step->pass, true, error);
}

static bool issue_backward(void *argument, const struct graph_step *step, struct train_error *error)
{
	struct graph_segments *p = argument;

	return replica_backward(p->replica, (int)(step->pass % p->slots), step->pass, step->passes,
				NULL, error);
}

static bool issue_update(void *argument, const struct graph_step *step, struct train_error *error)
{
	return replica_update(((struct graph_segments *)argument)->replica, error);
}

void graph_segments_open(struct graph_segments *p, struct replica *replica, int slots,
			 bool has_loss)
{
	*p = (struct graph_segments){
		.replica = replica,
		.slots = slots,
		.has_loss = has_loss,
		.forward = replica_graph(replica, issue_forward, p),
		.evaluation = replica_graph(replica, issue_evaluation, p),
		.backward = replica_graph(replica, issue_backward, p),
		.update = replica_graph(replica, issue_update, p),
	};
}

void graph_segments_close(struct graph_segments *p)
{
	step_graph_close(p->forward);
	step_graph_close(p->evaluation);
	step_graph_close(p->backward);
	step_graph_close(p->update);
}

static bool run(struct graph_segments *p, struct step_graph *graph, int64_t pass, int64_t passes,
		struct train_error *error)
{
	const struct graph_step step = {
		.pass = pass, .passes = passes, .as_is = timeline_on(p->replica->timeline)};

	return step_graph_run(graph, &step, error);
}

bool graph_segments_forward(struct graph_segments *p, int64_t pass, bool test,
			    struct train_error *error)
{
	return run(p, test ? p->evaluation : p->forward, pass, 0, error);
}

bool graph_segments_backward(struct graph_segments *p, int64_t pass, int64_t passes,
			     struct train_error *error)
{
	return run(p, p->backward, pass, passes, error);
}

bool graph_segments_update(struct graph_segments *p, struct train_error *error)
{
	return run(p, p->update, 0, 0, error);
}
