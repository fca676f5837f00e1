/* SPDX-License-Identifier: MIT */
/* Batch normalization by the statistics of all ranks' samples. */
#include "parallel/sync_batch_norm.h"

#include "parallel/rank.h"

/* Its fork and join order it with the work of the device before and after it. Buckets that are
 * reduced meanwhile come in the same order on all ranks. */
static bool gather_statistics(void *argument, const void *mine, void *all, size_t bytes,
			      struct train_error *error)
{
	struct parallel *p = argument;
	struct communicator *comm = p->comm;
	static const char what[] = "batch statistics";
	int64_t begin;

	/* Not RANK_SENDS: the wait for the device's work is not of the time that this takes. */
	if (!collective_fork(comm, error))
		return false;
	begin = timeline_begin(p->timeline[1]);
	if (!comm->calls->all_gather_values(comm, mine, all, bytes, what, error) ||
	    !collective_join(comm, error))
		return false;
	timeline_add(p->timeline[1], what, begin);
	return true;
}

bool sync_batch_norm(struct batch_ranks *ranks, struct parallel *p, struct model *model,
		     struct train_error *error)
{
	const struct parallel_options *o = &p->options;

	if (model->buffer_elements == 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--sync-batch-norm: model %s has no batch normalization; leave "
				  "the option out",
				  o->settings->model);
	if (o->world == 1)
		return true;
	if (o->settings->overlap == OVERLAP_YES && o->collective->waits)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--sync-batch-norm and --overlap yes exclude each other on CPU "
				  "devices: backward needs the connection between ranks itself");
	*ranks = (struct batch_ranks){o->world, gather_statistics, p};
	model_normalize_with(model, ranks);
	return true;
}
