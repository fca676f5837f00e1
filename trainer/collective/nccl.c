/* SPDX-License-Identifier: MIT */
/* How ranks on GPUs meet and part. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/nccl_comm.h"
#include "memory.h"

/* --- the rendezvous ---------------------------------------------------------------------- */

static bool load(struct cuda_calls *calls, struct train_error *error)
{
	return cuda_calls_load(calls, CUDA_LIBRARY_RUNTIME, error) &&
	       cuda_calls_load(calls, CUDA_LIBRARY_KERNELS, error) &&
	       cuda_calls_load(calls, CUDA_LIBRARY_NCCL, error);
}

/* Messages have two communicators, which must be stopped together. */
static bool is_new_enough(const struct rendezvous *m, struct train_error *error)
{
	int version = 0;
	ncclResult_t status;

	if (!m->options.messages)
		return true;
	status = m->calls.ncclGetVersion(&version);
	if (status != ncclSuccess)
		return cuda_calls_fail(&m->calls, CUDA_LIBRARY_NCCL, (int)status, "ncclGetVersion",
				       "collective nccl", error);
	return version >= NCCL_GROUP_ABORT ||
	       train_fail(error, TRAIN_NO_BACKEND,
			  "collective nccl: NCCL %d.%d.%d cannot stop two communicators at once, "
			  "which --mode mp needs: install 2.22 or later",
			  version / 10000, version / 100 % 100, version % 100);
}

/* Captured calls and others take turns. Ranks that share a process record no steps. */
static bool may_mix(const struct rendezvous_options *options, struct train_error *error)
{
	const char *mixing = getenv("NCCL_GRAPH_MIXING_SUPPORT");

	return options->ranks > 1 || !mixing || strcmp(mixing, "0") != 0 ||
	       train_fail(error, TRAIN_BAD_INPUT,
			  "NCCL_GRAPH_MIXING_SUPPORT is 0, and steps that are recorded need it: "
			  "unset it");
}

static bool one_machine(const struct rendezvous_options *options)
{
	return options->ranks == options->world ||
	       (options->name && options->local == options->world);
}

/* NCCL reads the environment of the process. No thread runs yet. */
static void set_place(struct rendezvous *m, const char *place)
{
	if (getenv("NCCL_COMM_ID") && *getenv("NCCL_COMM_ID"))
		return;
	m->placed = setenv("NCCL_COMM_ID", place, 1) == 0;
	if (!m->placed)
		memory_ran_out();
}

/* How the ranks meet. */
static bool choose(struct rendezvous *m, struct train_error *error)
{
	const char *const *envp = (const char *const *)environ;
	char place[NCCL_PLACE_TEXT];
	bool found;

	if (one_machine(&m->options)) {
		m->control = &collective_shm;
		return true;
	}
	if (!nccl_place(place, sizeof(place), &found, envp, error))
		return false;
	if (found) {
		set_place(m, place);
		return true;
	}
	if (nccl_has_mpi(envp)) {
		m->control = collective_mpi_find(error);
		return m->control != NULL;
	}
	return train_fail(error, TRAIN_BAD_INPUT,
			  "collective nccl: ranks of several machines do not know where to meet: "
			  "set MASTER_ADDR and MASTER_PORT for all of them, or start them "
			  "with mpirun");
}

static void nccl_leave(struct rendezvous *m)
{
	if (m->control_rendezvous)
		m->control->leave(m->control_rendezvous);
	if (m->placed)
		unsetenv("NCCL_COMM_ID");
	free(m);
}

static bool nccl_meet(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		      struct train_error *error)
{
	struct rendezvous *m;

	if (options->world < 1 || (options->ranks != 1 && options->ranks != options->world))
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective nccl: %d of %d ranks in this process: run all in one "
				  "process, or each in its own",
				  options->ranks, options->world);
	m = xcalloc(1, sizeof(*m));
	m->options = *options;
	if (!choose(m, error) ||
	    (m->control && !m->control->meet(&m->control_rendezvous, options, error))) {
		nccl_leave(m);
		return false;
	}
	m->options.name = NULL;
	*rendezvous = m;
	return may_mix(options, error) && load(&m->calls, error) && is_new_enough(m, error);
}

static void nccl_cancel(struct rendezvous *m, int rank, const struct train_error *why)
{
	if (m->control)
		m->control->cancel(m->control_rendezvous, rank, why);
}

/* --- a communicator -------------------------------------------------------------------------- */

/* Of ranks that share a process: their launches of recorded steps may wait for each other. */
static const struct collective nccl_threads;

static struct nccl_comm *new_comm(struct rendezvous *m, int rank, struct device *device)
{
	struct nccl_comm *c = xcalloc(1, sizeof(*c));
	int world = m->options.world;

	c->base = (struct communicator){m->options.ranks > 1 ? &nccl_threads : &collective_nccl,
					rank, world, device, 0};
	c->rendezvous = m;
	c->calls = &m->calls;
	c->device = (struct cuda_device *)device;
	c->lane_count = m->options.messages ? NCCL_LANES : 1;
	c->doing = call_of(CALL_OPEN, 0, 0, "");
	if (m->options.messages)
		c->boxes = xcalloc((size_t)world, sizeof(*c->boxes));
	return c;
}

/* Work that other ranks wait for has priority over the device's own. */
static bool open_streams(struct nccl_comm *c, struct train_error *error)
{
	int least, greatest;

	if (!NCCL_DO(c, RUNTIME, cudaSetDevice, (c->device->ordinal), error) ||
	    !NCCL_DO(c, RUNTIME, cudaDeviceGetStreamPriorityRange, (&least, &greatest), error) ||
	    !NCCL_DO(c, RUNTIME, cudaEventCreateWithFlags, (&c->forked, cudaEventDisableTiming),
		     error) ||
	    !NCCL_DO(c, RUNTIME, cudaEventCreateWithFlags, (&c->gathered, cudaEventDisableTiming),
		     error) ||
	    !NCCL_DO(c, RUNTIME, cudaEventCreateWithFlags,
		     (&c->later.event, cudaEventDisableTiming), error))
		return false;
	for (int i = 0; i < c->lane_count; i++) {
		struct nccl_lane *lane = &c->lanes[i];

		if (!NCCL_DO(c, RUNTIME, cudaStreamCreateWithPriority,
			     (&lane->stream, cudaStreamNonBlocking, greatest), error) ||
		    !NCCL_DO(c, RUNTIME, cudaEventCreateWithFlags,
			     (&lane->done, cudaEventDisableTiming), error))
			return false;
	}
	return true;
}

/* With NCCL_COMM_ID all ranks get the same id. */
static bool find_id(struct nccl_comm *c, ncclUniqueId *id, struct train_error *error)
{
	struct communicator *control = c->control;

	memset(id, 0, sizeof(*id));
	if ((!control || c->base.rank == 0) && !NCCL_DO(c, NCCL, ncclGetUniqueId, (id), error))
		return false;
	return !control ||
	       control->calls->broadcast(control, id, sizeof(*id), 0, "NCCL's id", error) ||
	       nccl_failed(c, error);
}

/* Rank 0 listens at one address for each, so the next begins after all ranks have this one. */
static bool open_lane(struct nccl_comm *c, int index, struct train_error *error)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	struct nccl_lane *lane = &c->lanes[index];
	ncclUniqueId id;

	config.blocking = 0;
	if (index > 0 && !nccl_all_gather(&c->base, NULL, NULL, 0, "the start", error))
		return false;
	c->doing = call_of(CALL_OPEN, 0, 0, "");
	return find_id(c, &id, error) &&
	       NCCL_ASK(c, lane, ncclCommInitRankConfig,
			(&lane->comm, c->base.world, id, c->base.rank, &config), error) &&
	       nccl_settle(c, lane, error);
}

static bool open_lanes(struct nccl_comm *c, struct train_error *error)
{
	for (int i = 0; i < c->lane_count; i++)
		if (!open_lane(c, i, error))
			return false;
	return true;
}

/* Opens the lanes again, after all ranks' work: a rank that aborts would end sums of others. */
static bool open_again(struct nccl_comm *c, struct train_error *error)
{
	if (!cuda_wait_stream(c->device, error))
		return nccl_failed(c, error);
	if (!nccl_all_gather(&c->base, NULL, NULL, 0, "the end of sums", error))
		return false;
	nccl_stop(c);
	c->reopen = false;
	return open_lanes(c, error);
}

static bool open_all(struct nccl_comm *c, struct train_error *error)
{
	struct rendezvous *m = c->rendezvous;

	if (m->control && !m->control->open(&c->control, m->control_rendezvous, c->base.rank,
					    c->base.device, error))
		return false;
	if (!open_streams(c, error) || !nccl_gather_open(c, error))
		return false;
	/* A rank alone may have a watcher, who knows that it waits for no other. */
	if (c->base.world > 1 || !c->base.device->watch.good)
		c->base.device->watch = (struct device_watch){nccl_watch, c};
	c->open_again = open_again;
	return open_lanes(c, error);
}

/* Waits until all work of a lane is done. */
static bool flush(struct nccl_comm *c, struct nccl_lane *lane)
{
	struct train_error error = TRAIN_TOLERATED;

	return nccl_settle(c, lane, &error) &&
	       NCCL_ASK(c, lane, ncclCommFinalize, (lane->comm), &error) &&
	       nccl_settle(c, lane, &error);
}

/* Waits for the other ranks within the time limit; after that NCCL is aborted. Destroying a
 * communicator waits for the device, so no work is left. If ranks are threads of one process, the
 * last one's call waits for the devices of all and frees NCCL's memory; cudaFree itself waits for
 * what is freed before. */
static void end_lanes(struct nccl_comm *c)
{
	bool done = c->why.status == TRAIN_OK && atomic_load(&c->aborted) == 0 && !c->reopen;

	for (int i = 0; done && i < c->lane_count; i++)
		done = c->lanes[i].comm && flush(c, &c->lanes[i]);
	for (int i = 0; done && i < c->lane_count; i++) {
		c->calls->ncclCommDestroy(c->lanes[i].comm);
		c->lanes[i].comm = NULL;
	}
	nccl_stop(c);
}

static void free_lanes(struct nccl_comm *c)
{
	const struct cuda_calls *calls = c->calls;

	for (int i = 0; i < c->lane_count; i++) {
		if (c->lanes[i].done)
			calls->cudaEventDestroy(c->lanes[i].done);
		if (c->lanes[i].stream)
			calls->cudaStreamDestroy(c->lanes[i].stream);
	}
	if (c->forked)
		calls->cudaEventDestroy(c->forked);
	if (c->gathered)
		calls->cudaEventDestroy(c->gathered);
	if (c->later.event)
		calls->cudaEventDestroy(c->later.event);
	if (c->later.host)
		calls->cudaFreeHost(c->later.host);
	if (c->host)
		calls->cudaFreeHost(c->host);
}

static void free_memory(struct nccl_comm *c)
{
	struct device *device = c->base.device;

	for (int r = 0; r < c->base.world && c->boxes; r++)
		nccl_room_free(c, &c->boxes[r]);
	device->backend->release(device, c->later.staging);
	device->backend->release(device, c->staging);
	free(c->boxes);
}

static void nccl_close(struct communicator *comm)
{
	struct nccl_comm *c = nccl_comm_of(comm);

	c->calls->cudaSetDevice(c->device->ordinal);
	c->doing = call_of(CALL_OPEN, 0, 0, "");
	end_lanes(c);
	c->base.device->watch = (struct device_watch){NULL, NULL};
	free_lanes(c);
	free_memory(c);
	if (c->control)
		c->control->calls->close(c->control);
	/* Clears the errors of the last calls for the next user of the device. */
	c->calls->cudaGetLastError();
	free(c);
}

static bool nccl_open(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		      struct device *device, struct train_error *error)
{
	struct nccl_comm *c;

	if (strcmp(device->backend->name, "cuda") != 0)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective nccl: device %d is of backend %s, but nccl needs "
				  "GPUs: use --backend cuda, or --collective shm",
				  device->physical, device->backend->name);
	if (rank < 0 || rank >= rendezvous->options.world)
		return train_fail(error, TRAIN_BAD_INPUT, "rank %d: the world has ranks 0 to %d",
				  rank, rendezvous->options.world - 1);
	c = new_comm(rendezvous, rank, device);
	*comm = &c->base;
	return open_all(c, error);
}

/* Only the rank's own thread calls NCCL. It sees this when it waits. */
static void nccl_abort(struct communicator *comm, const struct train_error *why)
{
	struct nccl_comm *c = nccl_comm_of(comm);
	int none = 0;

	if (atomic_compare_exchange_strong(&c->aborted, &none, 1)) {
		c->reason = *why;
		atomic_store(&c->aborted, 2);
	}
	if (c->control)
		c->control->calls->abort(c->control, why);
	else if (c->rendezvous->control)
		c->rendezvous->control->cancel(c->rendezvous->control_rendezvous, comm->rank, why);
}

#define NCCL_CALLS \
	.name = "nccl", .on_devices = true, .meet = nccl_meet, .leave = nccl_leave, \
	.cancel = nccl_cancel, .open = nccl_open, .close = nccl_close, .fork = nccl_fork, \
	.join = nccl_join, .mark = nccl_mark, .all_reduce = nccl_all_reduce, \
	.broadcast = nccl_broadcast, .all_gather = nccl_all_gather, \
	.all_gather_values = nccl_all_gather_values, .gather_begin = nccl_gather_begin, \
	.gather_end = nccl_gather_end, .send = nccl_send, .receive = nccl_receive, \
	.abort = nccl_abort

const struct collective collective_nccl = {
	NCCL_CALLS,
	.records = true,
	.recorded = nccl_recorded,
};
static const struct collective nccl_threads = {NCCL_CALLS};
