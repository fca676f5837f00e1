/* SPDX-License-Identifier: MIT */
#include "parallel/pieces.h"

static bool go_forward(struct pieces *p, int64_t pass, bool test, struct train_error *error)
{
	int slot = (int)(pass % p->slots);

	return replica_fill(p->replica, slot, pass, test, error) &&
	       replica_forward(p->replica, slot, error) &&
	       (!p->has_loss || replica_loss(p->replica, slot, pass, !test, error));
}

static bool issue_forward(void *argument, const struct recorder_step *step,
			  struct train_error *error)
{
	return go_forward(argument, step->pass, false, error);
}

static bool issue_evaluation(void *argument, const struct recorder_step *step,
			     struct train_error *error)
{
	return go_forward(argument, step->pass, true, error);
}

static bool issue_backward(void *argument, const struct recorder_step *step,
			   struct train_error *error)
{
	struct pieces *p = argument;

	return replica_backward(p->replica, (int)(step->pass % p->slots), step->pass, step->passes,
				NULL, error);
}

static bool issue_update(void *argument, const struct recorder_step *step,
			 struct train_error *error)
{
	(void)step;
	return replica_update(((struct pieces *)argument)->replica, error);
}

bool pieces_open(struct pieces *p, struct replica *replica, int slots, bool has_loss,
		 struct train_error *error)
{
	p->replica = replica;
	p->slots = slots;
	p->has_loss = has_loss;
	return replica_recorder(replica, &p->forward, issue_forward, p, error) &&
	       replica_recorder(replica, &p->evaluation, issue_evaluation, p, error) &&
	       replica_recorder(replica, &p->backward, issue_backward, p, error) &&
	       replica_recorder(replica, &p->update, issue_update, p, error);
}

void pieces_close(struct pieces *p)
{
	recorder_close(p->forward);
	recorder_close(p->evaluation);
	recorder_close(p->backward);
	recorder_close(p->update);
}

static bool run(struct pieces *p, struct recorder *recorder, int64_t pass, int64_t passes,
		struct train_error *error)
{
	const struct recorder_step step = {
		.pass = pass, .passes = passes, .as_is = timeline_on(p->replica->timeline)};

	return recorder_run(recorder, &step, error);
}

bool pieces_forward(struct pieces *p, int64_t pass, bool test, struct train_error *error)
{
	return run(p, test ? p->evaluation : p->forward, pass, 0, error);
}

bool pieces_backward(struct pieces *p, int64_t pass, int64_t passes, struct train_error *error)
{
	return run(p, p->backward, pass, passes, error);
}

bool pieces_update(struct pieces *p, struct train_error *error)
{
	return run(p, p->update, 0, 0, error);
}
