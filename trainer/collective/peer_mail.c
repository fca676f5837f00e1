/* SPDX-License-Identifier: MIT */
/* Messages between two ranks: a copy on the sender's device, which the receiver's stream takes. */
#include "collective/peer.h"

/* What a sender tells the receiver. */
struct letter {
	const void *copy;
	uint64_t bytes, times;
};

/* The copy before must have been taken. */
static bool put(struct peer *p, int to, const void *values, size_t bytes, struct train_error *error)
{
	const struct backend *backend = p->base.device->backend;
	struct device *device = p->base.device;
	struct peer_mail *mail = &p->mail[to];

	if (mail->times > 0 && !peer_wait(p, p->all[to]->taken[p->base.rank], mail->times, error))
		return false;
	if (mail->room < bytes) {
		if (!backend->finish(device, error))
			return false;
		backend->release(device, mail->copy);
		mail->room = 0;
		mail->copy = backend->allocate(device, bytes, "what is sent", error);
		if (!mail->copy)
			return false;
		mail->room = bytes;
	}
	if (!backend->copy(device, mail->copy, device, values, bytes, error) ||
	    !backend->event_record(mail->sent, error))
		return false;
	mail->times++;
	return true;
}

static bool is_other(const struct communicator *comm, int rank, const char *what,
		     struct train_error *error)
{
	return (rank >= 0 && rank < comm->world) ||
	       train_fail(error, TRAIN_FAILED, "%s: rank %d has no rank %d to talk to, of %d", what,
			  comm->rank, rank, comm->world);
}

bool peer_send(struct communicator *comm, int to, const void *values, size_t bytes,
	       const char *what, struct train_error *error)
{
	struct peer *p = (struct peer *)comm;
	struct letter letter = {.bytes = bytes};
	int64_t waited = p->host->waited_ns;
	bool done;

	if (!is_other(comm, to, what, error) || !put(p, to, values, bytes, error))
		return false;
	letter.copy = p->mail[to].copy;
	letter.times = p->mail[to].times;
	done = collective_shm.send(p->host, to, &letter, sizeof(letter), what, error);
	comm->waited_ns += p->host->waited_ns - waited;
	return done;
}

bool peer_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		  struct train_error *error)
{
	struct peer *p = (struct peer *)comm;
	const struct backend *backend = p->base.device->backend;
	int64_t waited = p->host->waited_ns;
	struct letter letter;
	bool done;

	if (!is_other(comm, from, what, error))
		return false;
	done = collective_shm.receive(p->host, from, &letter, sizeof(letter), what, error);
	comm->waited_ns += p->host->waited_ns - waited;
	if (!done)
		return false;
	if (letter.bytes != bytes)
		return train_fail(error, TRAIN_FAILED,
				  "%s: rank %d sent %llu bytes, and rank %d wants %zu", what, from,
				  (unsigned long long)letter.bytes, comm->rank, bytes);
	return peer_wait(p, p->all[from]->mail[comm->rank].sent, letter.times, error) &&
	       backend->copy(comm->device, values, p->all[from]->base.device, letter.copy, bytes,
			     error) &&
	       backend->event_record(p->taken[from], error);
}
