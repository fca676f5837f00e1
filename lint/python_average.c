/* SPDX-License-Identifier: MIT */
/* Ranks that train alike: each has a module of its own, and none tells the others its gradients. */
#include "lint/python_file.h"

void average_token(struct python_file *f, unsigned at)
{
	/* Ways to exchange gradients, parameters or activations. */

	if (!f->training.exchanges)
		f->training.exchanges =
			span_has_any(token_at(f, at)->text,
				     "reduce average gather broadcast scatter dataparallel "
				     "data_parallel ddp fsdp shard zeroredundancy mesh rpc send "
				     "recv comm_hook pipeline sync_ p2p all_to_all parallelize");
}

void average_import(struct python_file *f, struct span path)
{
	/* Parts of torch.distributed that exchange nothing. */
	if (span_starts(path, "torch.distributed.") &&
	    !span_starts_any(path, "torch.distributed.elastic torch.distributed.run"))
		f->training.exchanges = true;
}

void judge_average(const struct python_judge *judge, const struct observation *s)
{
	const struct python_file *f = judge->file;
	const struct python_training *t = &f->training;

	/* Each rank may train another model on purpose. */
	if (!f->facts.groups || t->exchanges || t->foreign || !t->makes || f->facts.frameworks ||
	    f->facts.tests || f->facts.one_process || observation_first(f, s->kind) != s)
		return;
	judge_report(judge, s, FINDING_NOT_AVERAGED, NULL,
		     "give the module to DistributedDataParallel, or average the gradients with "
		     "dist.all_reduce",
		     "the ranks form a group, but nothing in this file exchanges gradients: each "
		     "process may train a model of its own");
}
