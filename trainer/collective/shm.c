/* SPDX-License-Identifier: MIT */
/* Ranks of one machine: threads of this process, or processes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/shm_data.h"
#include "collective/shm_segment.h"
#include "cpuset.h"
#include "memory.h"

static bool shm_acceptable(const struct rendezvous_options *options, struct train_error *error)
{
	if (options->world < 1 || options->world > SHM_MAX_RANKS)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective shm: a world of %d ranks: it takes 1 to %d",
				  options->world, SHM_MAX_RANKS);
	if (options->ranks == options->world)
		return true;
	if (options->rank < 0 || options->rank >= options->world)
		return train_fail(error, TRAIN_BAD_INPUT, "rank %d: the world has ranks 0 to %d",
				  options->rank, options->world - 1);
	if (options->ranks != 1 || !options->name)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective shm: %d of %d ranks in this process%s: run all in "
				  "one process, or each in its own with a common name",
				  options->ranks, options->world, options->name ? "" : ", no name");
	if (!*options->name || strlen(options->name) > 200 || strchr(options->name, '/'))
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"collective shm: the name '%.210s' of the run has a slash, or not 1 "
			"to 200 bytes",
			options->name);
	return true;
}

static bool shm_make(struct rendezvous *rendezvous, struct train_error *error)
{
	void *memory;

	shm_control_plan(rendezvous);
	if (!rendezvous->threads)
		return shm_segment_open(rendezvous, error);
	memory = aligned_alloc(SHM_LINE, rendezvous->bytes);
	if (!memory)
		memory_ran_out();
	memset(memory, 0, rendezvous->bytes);
	shm_control_at(rendezvous, memory);
	shm_control_begin(rendezvous);
	return true;
}

/* With fewer cores than ranks, spinning would keep the awaited rank from running. Uses the cores of
 * the process, since a rank's thread may be bound already. */
static int spins(int world)
{
	struct arena arena = {0};
	struct cpu_set cpus;
	size_t cores = cpu_set_allowed(&arena, &cpus) ? cpu_set_size(cpus)
						      : (size_t)sysconf(_SC_NPROCESSORS_ONLN);

	arena_free(&arena);
	return (size_t)world <= cores ? 1000 : 0;
}

static bool shm_meet(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		     struct train_error *error)
{
	struct rendezvous *m;

	if (!shm_acceptable(options, error))
		return false;
	m = xcalloc(1, sizeof(*m));
	m->options = *options;
	m->threads = options->ranks == options->world;
	m->spins = spins(options->world);
	m->fd = -1;
	if (!shm_make(m, error)) {
		free(m);
		return false;
	}
	m->options.name = NULL;
	*rendezvous = m;
	return true;
}

static void shm_leave(struct rendezvous *rendezvous)
{
	int world = rendezvous->options.world;

	if (rendezvous->threads) {
		for (int i = 0; i < world * world; i++)
			free(rendezvous->boxes[i].memory);
		free(rendezvous->control);
	} else {
		shm_segment_close(rendezvous);
	}
	free(rendezvous);
}

static struct shm_comm *comm_of(struct communicator *comm)
{
	return (struct shm_comm *)(void *)comm;
}

static void shm_free(struct shm_comm *comm)
{
	for (int r = 0; r < comm->base.world; r++) {
		shm_segment_unmap(&comm->to[r]);
		shm_segment_unmap(&comm->from[r]);
	}
	free(comm->to);
	free(comm->from);
	free(comm);
}

static struct shm_comm *shm_new(struct rendezvous *rendezvous, int rank, struct device *device)
{
	struct shm_comm *comm = xcalloc(1, sizeof(*comm));
	int world = rendezvous->options.world;

	comm->base = (struct communicator){&collective_shm, rank, world, device, 0};
	comm->rendezvous = rendezvous;
	comm->control = rendezvous->control;
	comm->slot = &rendezvous->control->slots[rank];
	comm->spins = rendezvous->spins;
	comm->to = xcalloc((size_t)world, sizeof(*comm->to));
	comm->from = xcalloc((size_t)world, sizeof(*comm->from));
	return comm;
}

static bool shm_enter(struct rendezvous *rendezvous, int rank, struct train_error *error)
{
	int32_t none = 0;

	if (!rendezvous->threads)
		return shm_segment_enter(rendezvous, rank, error);
	if (!atomic_compare_exchange_strong(&rendezvous->control->slots[rank].process, &none, 1))
		return shm_fail(rendezvous, error, "rank %d is there twice", rank);
	return true;
}

static void shm_close(struct communicator *comm)
{
	struct shm_comm *c = comm_of(comm);
	struct rendezvous *rendezvous = c->rendezvous;

	atomic_store(&c->slot->closed, 1);
	for (int r = 0; r < comm->world; r++)
		if (r != comm->rank)
			shm_post(rendezvous, r);
	if (!rendezvous->threads)
		shm_segment_leave(rendezvous, comm->rank);
	shm_free(c);
}

static bool shm_end(struct shm_comm *comm, bool good)
{
	atomic_store(&comm->slot->doing, CALL_NONE);
	return good;
}

/* The others wait for this rank, so they are notified when it cannot come. */
static bool shm_open_rank(struct communicator **comm, struct rendezvous *rendezvous, int rank,
			  struct device *device, struct train_error *error)
{
	const struct call call = call_of(CALL_OPEN, 0, 0, "");
	struct shm_comm *c;
	bool good;

	if (rank < 0 || rank >= rendezvous->options.world)
		return shm_fail(rendezvous, error, "rank %d: the world has ranks 0 to %d", rank,
				rendezvous->options.world - 1);
	if (!shm_enter(rendezvous, rank, error))
		return false;
	c = shm_new(rendezvous, rank, device);
	good = shm_call(c, &call, NULL, error) >= 0 && shm_end(c, shm_agree(c, error));
	if (!good) {
		shm_close(&c->base);
		return false;
	}
	*comm = &c->base;
	return true;
}

static const struct shm_data *data_for(const struct shm_comm *comm, size_t bytes)
{
	if (bytes <= SHM_SMALL)
		return &shm_small;
	return comm->rendezvous->threads ? &shm_threads : &shm_chunks;
}

static bool shm_all_reduce(struct communicator *comm, float *values, int64_t count,
			   const char *what, struct train_error *error)
{
	struct shm_comm *c = comm_of(comm);
	size_t bytes = (size_t)count * sizeof(*values);
	const struct call call = call_of(CALL_SUM, 0, bytes, what);
	int at = shm_call(c, &call, values, error);

	return at >= 0 && shm_end(c, data_for(c, bytes)->sum(c, at, values, count, error));
}

static bool shm_broadcast(struct communicator *comm, void *values, size_t bytes, int root,
			  const char *what, struct train_error *error)
{
	struct shm_comm *c = comm_of(comm);
	const struct call call = call_of(CALL_BROADCAST, root, bytes, what);
	int at = shm_call(c, &call, values, error);

	return at >= 0 &&
	       shm_end(c, data_for(c, bytes)->broadcast(c, at, values, bytes, root, error));
}

static bool shm_all_gather(struct communicator *comm, const void *mine, void *all, size_t bytes,
			   const char *what, struct train_error *error)
{
	struct shm_comm *c = comm_of(comm);
	const struct call call = call_of(CALL_GATHER, 0, bytes, what);
	void *values; /* that others only read */
	int at;

	memcpy(&values, &mine, sizeof(values));
	at = shm_call(c, &call, values, error);
	return at >= 0 && shm_end(c, data_for(c, bytes)->gather(c, at, mine, all, bytes, error));
}

static bool shm_send(struct communicator *comm, int to, const void *values, size_t bytes,
		     const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_SEND, to, bytes, what);
	struct shm_comm *c = comm_of(comm);

	return shm_start(c, &call, error) && shm_end(c, shm_p2p_send(c, to, values, bytes, error));
}

static bool shm_receive(struct communicator *comm, int from, void *values, size_t bytes,
			const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_RECEIVE, from, bytes, what);
	struct shm_comm *c = comm_of(comm);

	return shm_start(c, &call, error) &&
	       shm_end(c, shm_p2p_receive(c, from, values, bytes, error));
}

static void end_run(const struct rendezvous *rendezvous, int rank, const struct train_error *why)
{
	shm_fail_as(rendezvous, why->status, "rank %d: %s", rank, why->text);
}

static void shm_cancel(struct rendezvous *rendezvous, int rank, const struct train_error *why)
{
	if (!rendezvous->threads)
		shm_segment_linger(rendezvous);
	end_run(rendezvous, rank, why);
}

static void shm_abort(struct communicator *comm, const struct train_error *why)
{
	end_run(comm_of(comm)->rendezvous, comm->rank, why);
}

const struct collective collective_shm = {
	.name = "shm",
	.waits = true,
	.meet = shm_meet,
	.leave = shm_leave,
	.cancel = shm_cancel,
	.open = shm_open_rank,
	.close = shm_close,
	.all_reduce = shm_all_reduce,
	.broadcast = shm_broadcast,
	.all_gather = shm_all_gather,
	.all_gather_values = shm_all_gather,
	.send = shm_send,
	.receive = shm_receive,
	.check = shm_check,
	.abort = shm_abort,
};
