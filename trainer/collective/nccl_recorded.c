/* SPDX-License-Identifier: MIT */
/* Whether all ranks have recorded a step, and how they continue if NCCL could not. */
#include <stdlib.h>

#include "base.h"
#include "collective/nccl_comm.h"

/* What a rank reports of its recording. */
enum outcome { RECORDED, UNRECORDED, BROKEN };

/* Forgets that calls failed while they were recorded. */
static enum outcome forgive(struct nccl_comm *c)
{
	enum outcome outcome = UNRECORDED;

	for (int i = 0; i < c->lane_count; i++) {
		struct nccl_lane *lane = &c->lanes[i];

		lane->forked = lane->fresh = lane->busy = false;
		if (!nccl_lane_good(c, lane))
			outcome = BROKEN;
	}
	c->unrecorded = false;
	c->why = (struct train_error){.status = TRAIN_OK};
	return outcome;
}

/* The recordings of all ranks. */
static bool gather_recordings(struct nccl_comm *c, enum outcome outcome, bool *all,
			      struct train_error *error)
{
	unsigned char mine = (unsigned char)outcome;
	CLEANUP_FREE unsigned char *ranks =
		gather_all(&c->base, &mine, sizeof(mine), "recordings", error);

	*all = true;
	if (!ranks)
		return nccl_failed(c, error);
	for (int r = 0; r < c->base.world; r++) {
		*all = *all && ranks[r] == RECORDED;
		c->reopen = c->reopen || ranks[r] == BROKEN;
	}
	return true;
}

/* NCCL's communicators are opened anew through the control communicator. */
bool nccl_recorded(struct communicator *comm, const struct train_error *why, bool *all,
		   struct train_error *error)
{
	struct nccl_comm *c = nccl_comm_of(comm);
	bool unrecorded = c->unrecorded;
	enum outcome outcome = unrecorded ? forgive(c) : RECORDED;

	if (why && unrecorded && (outcome == UNRECORDED || c->control)) {
		train_device_recovered();
		why = NULL;
	}
	if (!why)
		return gather_recordings(c, outcome, all, error);
	train_fail(error, why->status, "%s", why->text);
	return nccl_failed(c, error);
}
