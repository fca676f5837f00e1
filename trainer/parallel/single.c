/* SPDX-License-Identifier: MIT */
/* One device. Other modes are compared with it. */
#include <stdlib.h>

#include "memory.h"
#include "parallel/rank.h"

struct single {
	struct parallel base;
	struct replica replica;
	struct step_graph *steps;
};

static bool issue_step(void *replica, const struct graph_step *step, struct train_error *error)
{
	return replica_step(replica, step->passes, error);
}

static bool single_open(struct parallel **ret, const struct parallel_options *options,
			struct train_error *error)
{
	struct single *s = xcalloc(1, sizeof(*s));

	*ret = &s->base;
	if (!rank_open(&s->base, &parallel_single, options, error) ||
	    !rank_full_replica(&s->base, &s->replica, true, error))
		return false;
	s->steps = replica_graph(&s->replica, issue_step, &s->replica);
	return true;
}

static void single_close(struct parallel *p)
{
	struct single *s = (struct single *)p;

	step_graph_close(s->steps);
	rank_close(p);
	replica_close(&s->replica);
	free(s);
}

static bool single_step(struct parallel *p, const struct step_input *input,
			struct train_error *error)
{
	struct single *s = (struct single *)p;
	const struct graph_step step = {
		.passes = replica_pass_count(&s->replica, input),
		.as_is = timeline_on(p->timeline[0]),
	};

	rank_submit(p);
	return replica_begin_all(&s->replica, input, false, error) &&
	       step_graph_run(s->steps, &step, error) && replica_fetch(&s->replica, error);
}

static bool single_check(struct parallel *p, const struct step_input *input,
			 struct device_check *checks, struct train_error *error)
{
	return replica_check(p->replica, input, checks, error);
}

const struct parallel_calls parallel_single = {
	.open = single_open,
	.close = single_close,
	.step = single_step,
	.evaluate = rank_evaluate,
	.read = rank_read,
	.write = rank_write,
	.synchronize = rank_written,
	.check = single_check,
	.abort = rank_abort,
};
