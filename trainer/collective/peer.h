/* SPDX-License-Identifier: MIT */
/* Ranks that are threads of one process and copy between their devices (peer.c), inside. */
#ifndef TRAIN_COLLECTIVE_PEER_H
#define TRAIN_COLLECTIVE_PEER_H

#include "collective/collective.h"

enum { PEER_MOST_RANKS = 64 };

/* To one rank: a copy of what is sent, which the sender may change then. */
struct peer_mail {
	void *copy;
	size_t room;
	struct event *sent; /* this many times */
	uint64_t times;
};

struct peer {
	struct communicator base;
	struct communicator *host; /* by which ranks tell each other where values lie */
	struct meeting *meeting;
	struct peer *all[PEER_MOST_RANKS];
	struct event *ready, *done; /* once in each round: values may be read; were read or made */
	uint64_t rounds;
	float *part, *received; /* of a sum */
	int64_t room;           /* elements of both */
	struct peer_mail mail[PEER_MOST_RANKS];
	struct event *taken[PEER_MOST_RANKS]; /* mail from that rank was */
};

/* As event_wait() of the peer's backend; after an abort with the reason of the rank that failed. */
bool peer_wait(struct peer *peer, struct event *event, uint64_t times, struct train_error *error);

/* peer_mail.c, as collective.h says. */
bool peer_send(struct communicator *comm, int to, const void *values, size_t bytes,
	       const char *what, struct train_error *error);
bool peer_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		  struct train_error *error);

#endif
