/* SPDX-License-Identifier: MIT */
/* Ranks as threads of a test. */
#ifndef TRAIN_TEST_RANK_THREADS_H
#define TRAIN_TEST_RANK_THREADS_H

#include <pthread.h>

#include "ranks.h"
#include "unit.h"

struct member {
	pthread_t thread;
	struct rendezvous *rendezvous;
	int rank, world;
	struct communicator *comm;
	struct train_error error;
	void (*work)(struct member *member);
	const void *argument;
	bool good;
};

static const struct collective *const shm = &collective_shm;

static inline void *member_run(void *argument)
{
	struct member *m = argument;

	if (!shm->open(&m->comm, m->rendezvous, m->rank, NULL, &m->error))
		return NULL;
	m->work(m);
	shm->close(m->comm);
	return NULL;
}

/* Ranks as threads, each of which does the work. */
static inline void ranks_run(struct member *members, int world, int timeout_ms,
			     void (*work)(struct member *member), const void *argument)
{
	const struct rendezvous_options options = {
		.world = world, .ranks = world, .timeout_ms = timeout_ms};
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *rendezvous = NULL;

	ck_assert_msg(shm->meet(&rendezvous, &options, &error), "%s", error.text);
	for (int r = 0; r < world; r++) {
		members[r] = (struct member){.rendezvous = rendezvous,
					     .rank = r,
					     .world = world,
					     .work = work,
					     .argument = argument};
		ck_assert(pthread_create(&members[r].thread, NULL, member_run, &members[r]) == 0);
	}
	for (int r = 0; r < world; r++)
		pthread_join(members[r].thread, NULL);
	shm->leave(rendezvous);
}

static inline void all_good(const struct member *members, int world, const char *name)
{
	for (int r = 0; r < world; r++)
		ck_assert_msg(members[r].good, "%s, rank %d of %d: %s", name, r, world,
			      members[r].error.text[0] ? members[r].error.text : "wrong values");
}

static inline void all_say(const struct member *members, int world, const char *name,
			   const char *want)
{
	for (int r = 0; r < world; r++)
		ROW_EQ_STR(name, members[r].error.text, want);
}

#endif
