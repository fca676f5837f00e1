/* SPDX-License-Identifier: MIT */
/* See agree.h. */
#include "parallel/agree.h"

#include <stdlib.h>
#include <unistd.h>

#include "hash.h"
#include "memory.h"

/* What each rank reports about itself. */
struct order {
	uint64_t hash;
	char host[64];
};

/* Each element of a parameter is set to its index, and then read in memory order. */
static bool hash_parameter(struct replica *r, int parameter, float *host, uint64_t *sum,
			   struct train_error *error)
{
	const struct model_parameter *p = &r->model->shapes.parameters[parameter];
	float *flat = r->model->gradients;

	/* Floats are exact up to 2^24. */
	for (int64_t i = 0; i < p->elements; i++)
		host[i] = (float)(i & 0xffffff);
	if (!model_write(r->model, flat, parameter, host, error) ||
	    !r->device->backend->read(r->device, host, flat + (p->offset - r->model->first_element),
				      (size_t)p->elements * sizeof(*host), error))
		return false;
	*sum = hash_bytes(*sum, host, (size_t)p->elements * sizeof(*host));
	return true;
}

static bool hash_order(struct replica *r, uint64_t *sum, struct train_error *error)
{
	size_t bytes = (size_t)r->model->elements * sizeof(float);
	CLEANUP_FREE float *host = xmalloc(bytes);

	*sum = HASH_START;
	for (int i = 0; i < r->parameters; i++)
		if (!hash_parameter(r, r->first_parameter + i, host, sum, error))
			return false;
	return r->device->backend->zero(r->device, r->model->gradients, bytes, error);
}

static bool compare(const struct order *all, int world, struct train_error *error)
{
	for (int i = 1; i < world; i++)
		if (all[i].hash != all[0].hash)
			return train_fail(
				error, TRAIN_BAD_INPUT,
				"rank %d (%s) keeps weights in another order than rank 0 (%s), as "
				"processors of another kind do; give all ranks machines of one "
				"kind, or --exact and the same DNNL_MAX_CPU_ISA",
				i, all[i].host, all[0].host);
	return true;
}

bool layout_agree(struct parallel *p, struct replica *r, struct train_error *error)
{
	struct communicator *comm = p->comm;
	struct order mine = {.hash = 0};
	CLEANUP_FREE struct order *all = NULL;

	if (comm->world == 1)
		return true;
	if (!hash_order(r, &mine.hash, error))
		return false;
	gethostname(mine.host, sizeof(mine.host) - 1);
	all = gather_all(comm, &mine, sizeof(mine), "the order of weights", error);
	return all && compare(all, comm->world, error);
}
