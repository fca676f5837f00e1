/* SPDX-License-Identifier: MIT */
/* Ranks of collective nccl as threads, each with a pretended GPU. */
#ifndef TRAIN_TEST_NCCL_RANKS_H
#define TRAIN_TEST_NCCL_RANKS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/cuda.h"
#include "collective/collective.h"
#include "fake_cuda.h"
#include "unit.h"

enum { MAX_NCCL = 4 };

/* How they meet: as threads of a process, or as if each were alone on its machine. */
struct ranks_how {
	int world;
	bool apart, late;
	bool remote_errors; /* NCCL reports an abort to the ranks */
	int timeout_ms;
	bool messages;
	int devices; /* 0: one for each */
};

struct member {
	pthread_t thread;
	const struct ranks_how *how;
	struct rendezvous *rendezvous;
	int rank, world;
	struct device *device;
	struct communicator *comm;
	struct train_error error;
	void (*work)(struct member *member);
	const void *argument;
	bool good;
	void *kept; /* on the device: what a rank that fails may leave in use */
};

static const struct collective *const nccl = &collective_nccl;

static inline void nap(int ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* Time limits in ms, tried in turn: on a busy machine ranks that do come may miss a short one. */
static const int limits[] = {200, 2000, 20000};
enum { LIMITS = sizeof(limits) / sizeof(*limits) };

static inline struct rendezvous_options ranks_options(const struct ranks_how *how)
{
	return (struct rendezvous_options){.world = how->world,
					   .ranks = how->apart ? 1 : how->world,
					   .local = how->apart ? 1 : how->world,
					   .timeout_ms = how->timeout_ms,
					   .messages = how->messages};
}

/* What a rank of a training run does when it fails. */
static inline void member_fails(struct member *m)
{
	if (m->comm)
		nccl->abort(m->comm, &m->error);
	else
		nccl->cancel(m->rendezvous, m->rank, &m->error);
}

static inline void *member_run(void *argument)
{
	struct member *m = argument;

	if (nccl->open(&m->comm, m->rendezvous, m->rank, m->device, &m->error))
		m->work(m);
	if (m->error.status != TRAIN_OK)
		member_fails(m);
	if (m->comm)
		nccl->close(m->comm);
	return NULL;
}

static inline void member_begin(struct member *m, struct rendezvous *shared)
{
	const struct rendezvous_options options = ranks_options(m->how);
	int devices = m->how->devices ? m->how->devices : m->world;
	const struct device_options device = {.physical = m->rank, .logical = m->rank % devices};

	ck_assert_msg(backend_cuda.open(&m->device, &device, &m->error), "%s", m->error.text);
	m->rendezvous = shared;
	if (!shared)
		ck_assert_msg(nccl->meet(&m->rendezvous, &options, &m->error), "%s", m->error.text);
}

static inline void ranks_machine(const struct ranks_how *how)
{
	fake_cuda_open(&(struct fake_cuda_options){
		.devices = MAX_NCCL, .late = how->late, .remote_errors = how->remote_errors});
	if (how->apart)
		setenv("NCCL_COMM_ID", "127.0.0.1:4711", 1);
	else
		unsetenv("NCCL_COMM_ID");
}

/* Ranks first to last - 1 do the work; others never come. `begun`, if it is there, is called before
 * they begin. */
static inline void ranks_some(struct member *members, const struct ranks_how *how, int first,
			      int last, void (*work)(struct member *member), const void *argument,
			      void (*begun)(void))
{
	const struct rendezvous_options options = ranks_options(how);
	struct train_error error = {.status = TRAIN_OK};
	struct rendezvous *shared = NULL;

	if (!how->apart)
		ck_assert_msg(nccl->meet(&shared, &options, &error), "%s", error.text);
	for (int r = first; r < last; r++) {
		members[r] = (struct member){.how = how,
					     .rank = r,
					     .world = how->world,
					     .work = work,
					     .argument = argument};
		member_begin(&members[r], shared);
	}
	if (begun)
		begun();
	for (int r = first; r < last; r++)
		ck_assert(pthread_create(&members[r].thread, NULL, member_run, &members[r]) == 0);
	for (int r = first; r < last; r++)
		pthread_join(members[r].thread, NULL);
	for (int r = first; r < last; r++) {
		if (how->apart)
			nccl->leave(members[r].rendezvous);
		backend_cuda.release(members[r].device, members[r].kept);
		backend_cuda.close(members[r].device);
	}
	if (shared)
		nccl->leave(shared);
}

/* Runs all ranks, on a machine of their own. */
static inline void ranks_run(struct member *members, const struct ranks_how *how,
			     void (*work)(struct member *member), const void *argument)
{
	char text[FAKE_CUDA_TEXT];

	ranks_machine(how);
	ranks_some(members, how, 0, how->world, work, argument, NULL);
	ck_assert_msg(fake_cuda_close(text), "%d ranks%s%s: %s", how->world,
		      how->apart ? ", apart" : "", how->late ? ", late" : "", text);
}

/* Memory of the rank's device; ends the test where there is none. */
static inline void *device_memory(struct member *m, size_t bytes)
{
	void *memory = backend_cuda.allocate(m->device, bytes, "a test", &m->error);

	ck_assert_msg(memory, "%s", m->error.text);
	return memory;
}

/* Worlds of 1, 2 and 4; threads or apart; work that is done at once or late. */
enum { HOWS = 12 };

static inline struct ranks_how how_of(int i)
{
	return (struct ranks_how){.world = 1 << i % 3,
				  .apart = i / 3 % 2,
				  .late = i / 6,
				  .timeout_ms = 200000,
				  .messages = true};
}

static inline void all_good(const struct member *members, const char *name)
{
	for (int r = 0; r < members->world; r++)
		ck_assert_msg(members[r].good, "%s, rank %d of %d%s%s: %s", name, r, members->world,
			      members->how->apart ? ", apart" : "",
			      members->how->late ? ", late" : "",
			      members[r].error.text[0] ? members[r].error.text : "wrong values");
}

/* A call between fork and join. */
#define BETWEEN(m, call) \
	(nccl->fork((m)->comm, &(m)->error) && (call) && nccl->join((m)->comm, &(m)->error))

#endif
