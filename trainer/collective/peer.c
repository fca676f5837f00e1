/* SPDX-License-Identifier: MIT */
/*
 * Ranks that are threads of one process, by copies between their devices: values stay on the
 * devices, in the order of their streams, and the host shares only their addresses. Several ranks
 * may have one device. Sums are in the order of ranks: each rank sums one part of the values, and
 * all ranks copy it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "collective/collective.h"
#include "memory.h"

enum { PEER_MAX_RANKS = 64 };

/* To one rank: a copy of the message, so that the sender may change the values. */
struct peer_send {
	void *copy;
	size_t room;
	struct event *sent; /* this many times */
	uint64_t times;
};

struct peer {
	struct communicator base;
	struct communicator *host; /* for sharing the addresses of values */
	struct rendezvous *rendezvous;
	struct peer *all[PEER_MAX_RANKS];
	struct event *ready, *done; /* once in each round: values may be read; were read or made */
	uint64_t rounds;
	float *part, *received; /* of a sum */
	int64_t room;           /* elements of both */
	struct peer_send sends[PEER_MAX_RANKS];
	struct event *taken[PEER_MAX_RANKS]; /* what that rank sent was */
};

struct rendezvous {
	struct rendezvous *host;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int opened, closing;
	int timeout_ms; /* 0: none */
	bool aborted;
};

static struct peer *own(struct communicator *comm)
{
	return (struct peer *)comm;
}

static const struct backend *backend_of(const struct peer *p)
{
	return p->base.device->backend;
}

/* --- rendezvous ---------------------------------------------------------------------- */

static bool peer_meet(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		      struct train_error *error)
{
	struct rendezvous *m;

	if (options->ranks != options->world || options->world > PEER_MAX_RANKS)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective peer: %d of %d ranks are in this process: it is for "
				  "up to %d, all in one; use nccl",
				  options->ranks, options->world, (int)PEER_MAX_RANKS);
	m = xcalloc(1, sizeof(*m));
	if (!collective_shm.meet(&m->host, options, error)) {
		free(m);
		return false;
	}
	m->timeout_ms = options->timeout_ms;
	pthread_mutex_init(&m->mutex, NULL);
	pthread_cond_init(&m->changed, NULL);
	*rendezvous = m;
	return true;
}

static void peer_leave(struct rendezvous *m)
{
	collective_shm.leave(m->host);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->mutex);
	free(m);
}

static void peer_cancel(struct rendezvous *m, int rank, const struct train_error *why)
{
	collective_shm.cancel(m->host, rank, why);
}

static bool open_events(struct peer *p, struct train_error *error)
{
	const struct backend *backend = backend_of(p);
	struct device *device = p->base.device;

	if (!backend->event_new(&p->ready, device, error) ||
	    !backend->event_new(&p->done, device, error))
		return false;
	for (int i = 0; i < p->base.world; i++)
		if (!backend->event_new(&p->sends[i].sent, device, error) ||
		    !backend->event_new(&p->taken[i], device, error))
			return false;
	return true;
}

static void free_peer(struct peer *p)
{
	const struct backend *backend = backend_of(p);
	struct device *device = p->base.device;

	for (int i = 0; i < p->base.world; i++) {
		backend->event_free(p->sends[i].sent);
		backend->event_free(p->taken[i]);
		backend->release(device, p->sends[i].copy);
	}
	backend->event_free(p->ready);
	backend->event_free(p->done);
	backend->release(device, p->part);
	backend->release(device, p->received);
	free(p);
}

/* Its stream waits for events of the others, so what hangs on one device may hold up all. If
 * others wait on the host, they name the rank that they wait for: they come first. */
static bool in_time(void *peer, int64_t waited_ns, struct train_error *error)
{
	const struct peer *p = peer;
	int64_t limit_ns = (int64_t)p->rendezvous->timeout_ms * 1250000;

	if (limit_ns == 0 || waited_ns <= limit_ns)
		return true;
	return train_device_late(error, p->base.device->physical, TRAIN_OR_ANOTHER, limit_ns);
}

static bool peer_watch(void *peer, int64_t waited_ns, struct train_error *error)
{
	const struct peer *p = peer;

	return p->host->calls->check(p->host, "work on its device", 0, error) &&
	       in_time(peer, waited_ns, error);
}

static bool peer_open(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		      struct device *device, struct train_error *error)
{
	struct communicator *host;
	struct peer *p;

	if (!collective_shm.open(&host, rendezvous->host, rank, device, error))
		return false;
	p = xcalloc(1, sizeof(*p));
	p->base = (struct communicator){&collective_peer, rank, host->world, device, 0};
	p->host = host;
	p->rendezvous = rendezvous;
	pthread_mutex_lock(&rendezvous->mutex);
	rendezvous->opened++;
	pthread_mutex_unlock(&rendezvous->mutex);
	*comm = &p->base;
	if (p->base.world > 1)
		device->watch = (struct device_watch){peer_watch, p};
	if (open_events(p, error) && collective_shm.all_gather(host, &p, p->all, sizeof(p),
							       "the ranks of this process", error))
		return true;
	collective_shm.abort(host, error);
	p->base.calls->close(&p->base);
	*comm = NULL;
	return false;
}

/* Others may still wait for its events, so all events are freed together. */
static void peer_close(struct communicator *comm)
{
	struct peer *p = own(comm);
	struct rendezvous *m = p->rendezvous;
	struct train_error error = TRAIN_TOLERATED;

	/* Others may copy from here even if a rank has failed. */
	comm->device->watch = (struct device_watch){in_time, p};
	comm->device->backend->finish(comm->device, &error);
	comm->device->watch = (struct device_watch){NULL, NULL};
	pthread_mutex_lock(&m->mutex);
	m->closing++;
	pthread_cond_broadcast(&m->changed);
	while (m->closing < m->opened)
		pthread_cond_wait(&m->changed, &m->mutex);
	pthread_mutex_unlock(&m->mutex);
	collective_shm.close(p->host);
	free_peer(p);
}

static void peer_abort(struct communicator *comm, const struct train_error *why)
{
	struct peer *p = own(comm);
	const struct backend *backend = backend_of(p);

	collective_shm.abort(p->host, why);
	pthread_mutex_lock(&p->rendezvous->mutex);
	p->rendezvous->aborted = true;
	pthread_mutex_unlock(&p->rendezvous->mutex);
	for (int i = 0; i < comm->world; i++) {
		backend->event_abort(p->all[i]->ready);
		backend->event_abort(p->all[i]->done);
		for (int k = 0; k < comm->world; k++) {
			backend->event_abort(p->all[i]->sends[k].sent);
			backend->event_abort(p->all[i]->taken[k]);
		}
	}
}

/* As event_wait() of the peer's backend; after an abort with the reason of the rank that failed. */
static bool peer_wait(struct peer *p, struct event *event, uint64_t times,
		      struct train_error *error)
{
	struct train_error ended = {.status = TRAIN_OK};
	bool aborted;

	if (backend_of(p)->event_wait(p->base.device, event, times, error))
		return true;
	pthread_mutex_lock(&p->rendezvous->mutex);
	aborted = p->rendezvous->aborted;
	pthread_mutex_unlock(&p->rendezvous->mutex);
	if (aborted && !collective_shm.all_gather(p->host, NULL, NULL, 0, "a barrier", &ended))
		*error = ended;
	return false;
}

/* --- all ranks ------------------------------------------------------------------------------- */

static bool peer_all_gather(struct communicator *comm, const void *mine, void *all, size_t bytes,
			    const char *what, struct train_error *error)
{
	struct peer *p = own(comm);
	int64_t waited = p->host->waited_ns;
	bool done = collective_shm.all_gather(p->host, mine, all, bytes, what, error);

	comm->waited_ns += p->host->waited_ns - waited;
	return done;
}

/* Gathers where each rank's values lie. From here on others read them, after this rank's stream. */
static bool begin(struct peer *p, const void *values, void **all, const char *what,
		  struct train_error *error)
{
	p->rounds++;
	return backend_of(p)->event_record(p->ready, error) &&
	       peer_all_gather(&p->base, &values, all, sizeof(values), what, error);
}

/* Waits until all others have read or made their values of this round. */
static bool wait_done(struct peer *p, struct train_error *error)
{
	for (int i = 0; i < p->base.world; i++)
		if (i != p->base.rank && !peer_wait(p, p->all[i]->done, p->rounds, error))
			return false;
	return true;
}

static bool copy_from(struct peer *p, int rank, struct event *event, void *to, const void *from,
		      size_t bytes, struct train_error *error)
{
	const struct backend *backend = backend_of(p);

	return peer_wait(p, event, p->rounds, error) &&
	       backend->copy(p->base.device, to, p->all[rank]->base.device, from, bytes, error);
}

static int64_t part_first(const struct peer *p, int64_t count, int rank)
{
	int64_t each = (count + p->base.world - 1) / p->base.world, first = each * rank;

	return first < count ? first : count;
}

/* All ranks grow in the same call, when no stream uses the old memory. */
static bool want_room(struct peer *p, int64_t count, struct train_error *error)
{
	const struct backend *backend = backend_of(p);
	struct device *device = p->base.device;
	int64_t each = (count + p->base.world - 1) / p->base.world;

	if (each <= p->room)
		return true;
	if (!backend->finish(device, error) ||
	    !collective_shm.all_gather(p->host, NULL, NULL, 0, "room for sums", error))
		return false;
	backend->release(device, p->part);
	backend->release(device, p->received);
	p->room = 0;
	p->part = backend->allocate(device, (size_t)each * sizeof(float), "a sum", error);
	p->received =
		p->part ? backend->allocate(device, (size_t)each * sizeof(float), "a sum", error)
			: NULL;
	if (p->received)
		p->room = each;
	return p->received;
}

/* Waits for all ranks: in the previous round they read the part that is written now. */
static bool wait_ready(struct peer *p, struct train_error *error)
{
	for (int i = 0; i < p->base.world; i++)
		if (!peer_wait(p, p->all[i]->ready, p->rounds, error))
			return false;
	return true;
}

/* This rank's part, in the order of ranks. */
static bool sum_part(struct peer *p, void *const *all, int64_t count, struct train_error *error)
{
	const struct backend *backend = backend_of(p);
	struct device *device = p->base.device;
	int64_t first = part_first(p, count, p->base.rank);
	int64_t elements = part_first(p, count, p->base.rank + 1) - first;
	size_t bytes = (size_t)elements * sizeof(float);

	if (!wait_ready(p, error))
		return false;
	for (int i = 0; i < p->base.world && elements > 0; i++) {
		const float *from = (const float *)all[i] + first;

		if (!backend->copy(device, i > 0 ? p->received : p->part, p->all[i]->base.device,
				   from, bytes, error) ||
		    (i > 0 && !backend->add(device, p->part, p->received, elements, error)))
			return false;
	}
	return backend->event_record(p->done, error);
}

static bool peer_all_reduce(struct communicator *comm, float *values, int64_t count,
			    const char *what, struct train_error *error)
{
	struct peer *p = own(comm);
	void *all[PEER_MAX_RANKS];

	if (!want_room(p, count, error) || !begin(p, values, all, what, error) ||
	    !sum_part(p, all, count, error))
		return false;
	for (int i = 0; i < comm->world; i++) {
		int64_t first = part_first(p, count, i), end = part_first(p, count, i + 1);

		if (!copy_from(p, i, p->all[i]->done, values + first, p->all[i]->part,
			       (size_t)(end - first) * sizeof(*values), error))
			return false;
	}
	return true;
}

static bool peer_broadcast(struct communicator *comm, void *values, size_t bytes, int root,
			   const char *what, struct train_error *error)
{
	struct peer *p = own(comm);
	const struct backend *backend = backend_of(p);
	void *all[PEER_MAX_RANKS];

	if (!begin(p, values, all, what, error))
		return false;
	if (comm->rank != root)
		return copy_from(p, root, p->all[root]->ready, values, all[root], bytes, error) &&
		       backend->event_record(p->done, error);
	return wait_done(p, error) && backend->event_record(p->done, error);
}

/* Each rank copies the values of all, and then none may change its own until all have them. */
static bool peer_all_gather_values(struct communicator *comm, const void *mine, void *all,
				   size_t bytes, const char *what, struct train_error *error)
{
	struct peer *p = own(comm);
	void *from[PEER_MAX_RANKS];

	if (!begin(p, mine, from, what, error))
		return false;
	for (int i = 0; i < comm->world; i++) {
		char *to = (char *)all + (size_t)i * bytes;

		if (from[i] != to && !copy_from(p, i, p->all[i]->ready, to, from[i], bytes, error))
			return false;
	}
	return backend_of(p)->event_record(p->done, error) && wait_done(p, error);
}

/* --- messages: a copy on the sender's device, which the receiver's stream takes -------------- */

/* Sent by the host before each copy. */
struct p2p_header {
	const void *copy;
	uint64_t bytes, times;
};

/* The previous copy must have been taken. */
static bool put(struct peer *p, int to, const void *values, size_t bytes, struct train_error *error)
{
	const struct backend *backend = backend_of(p);
	struct device *device = p->base.device;
	struct peer_send *to_rank = &p->sends[to];

	if (to_rank->times > 0 &&
	    !peer_wait(p, p->all[to]->taken[p->base.rank], to_rank->times, error))
		return false;
	if (to_rank->room < bytes) {
		if (!backend->finish(device, error))
			return false;
		backend->release(device, to_rank->copy);
		to_rank->room = 0;
		to_rank->copy = backend->allocate(device, bytes, "what is sent", error);
		if (!to_rank->copy)
			return false;
		to_rank->room = bytes;
	}
	if (!backend->copy(device, to_rank->copy, device, values, bytes, error) ||
	    !backend->event_record(to_rank->sent, error))
		return false;
	to_rank->times++;
	return true;
}

static bool peer_send(struct communicator *comm, int to, const void *values, size_t bytes,
		      const char *what, struct train_error *error)
{
	struct peer *p = own(comm);
	struct p2p_header header = {.bytes = bytes};
	int64_t waited = p->host->waited_ns;
	bool done;

	if (!put(p, to, values, bytes, error))
		return false;
	header.copy = p->sends[to].copy;
	header.times = p->sends[to].times;
	done = collective_shm.send(p->host, to, &header, sizeof(header), what, error);
	comm->waited_ns += p->host->waited_ns - waited;
	return done;
}

static bool peer_receive(struct communicator *comm, int from, void *values, size_t bytes,
			 const char *what, struct train_error *error)
{
	struct peer *p = own(comm);
	const struct backend *backend = backend_of(p);
	int64_t waited = p->host->waited_ns;
	struct p2p_header header;
	bool done;

	done = collective_shm.receive(p->host, from, &header, sizeof(header), what, error);
	comm->waited_ns += p->host->waited_ns - waited;
	if (!done)
		return false;
	if (header.bytes != bytes)
		return train_fail(error, TRAIN_FAILED,
				  "%s: rank %d sent %llu bytes, and rank %d wants %zu", what, from,
				  (unsigned long long)header.bytes, comm->rank, bytes);
	return peer_wait(p, p->all[from]->sends[comm->rank].sent, header.times, error) &&
	       backend->copy(comm->device, values, p->all[from]->base.device, header.copy, bytes,
			     error) &&
	       backend->event_record(p->taken[from], error);
}

const struct collective collective_peer = {
	.name = "peer",
	.on_devices = true,
	.meet = peer_meet,
	.leave = peer_leave,
	.cancel = peer_cancel,
	.open = peer_open,
	.close = peer_close,
	.all_reduce = peer_all_reduce,
	.broadcast = peer_broadcast,
	.all_gather = peer_all_gather,
	.all_gather_values = peer_all_gather_values,
	.send = peer_send,
	.receive = peer_receive,
	.abort = peer_abort,
};
