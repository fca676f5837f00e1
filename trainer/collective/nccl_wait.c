/* SPDX-License-Identifier: MIT */
/* Waiting for NCCL, and why it fails. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "collective/nccl_comm.h"

enum { SPIN_NS = 50000, PAUSE_NS = 50000, WATCH_NS = 1000000 };

static struct call_words doing(const struct nccl_comm *c)
{
	return call_words(c->doing.kind, c->doing.what);
}

/* Aborting one communicator waits for the device, where the other's kernels may wait for ranks that
 * are gone. A group stops both before it frees one (from NCCL_GROUP_ABORT on). */
void nccl_stop(struct nccl_comm *c)
{
	bool group = c->lanes[NCCL_UP].comm && c->lanes[NCCL_DOWN].comm;

	if (group)
		c->calls->ncclGroupStart();
	for (int i = 0; i < c->lane_count; i++) {
		if (c->lanes[i].comm)
			c->calls->ncclCommAbort(c->lanes[i].comm);
		c->lanes[i].comm = NULL;
	}
	if (group)
		c->calls->ncclGroupEnd();
}

bool nccl_failed(struct nccl_comm *c, const struct train_error *error)
{
	if (c->why.status == TRAIN_OK)
		c->why = *error;
	return false;
}

bool nccl_refuse(struct nccl_comm *c, struct train_error *error, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	train_fail(error, TRAIN_FAILED, "%s: %s", doing(c).text, text);
	return nccl_failed(c, error);
}

bool nccl_good(struct nccl_comm *c, struct train_error *error)
{
	return c->why.status == TRAIN_OK || train_fail(error, c->why.status, "%s", c->why.text);
}

bool nccl_done(struct nccl_comm *c, enum cuda_library library, int status, const char *call,
	       struct train_error *error)
{
	char where[2 * CALL_TEXT + CUDA_WHERE];

	if (status == 0)
		return true;
	snprintf(where, sizeof(where), "%s: %s", doing(c).text, c->device->where);
	cuda_calls_fail(c->calls, library, status, call, where, error);
	return nccl_failed(c, error);
}

bool nccl_asked(struct nccl_comm *c, struct nccl_lane *lane, ncclResult_t status, const char *call,
		struct train_error *error)
{
	lane->busy = status == ncclInProgress;
	return lane->busy || nccl_done(c, CUDA_LIBRARY_NCCL, (int)status, call, error);
}

/* Another thread of this rank has ended the run. */
static bool ended(struct nccl_comm *c, struct train_error *error)
{
	if (atomic_load(&c->aborted) != 2)
		return false;
	train_fail(error, c->reason.status, "rank %d: %s", c->base.rank, c->reason.text);
	nccl_failed(c, error);
	return true;
}

static bool in_time(struct nccl_comm *c, int64_t waited_ns, struct train_error *error)
{
	int limit_ms = c->rendezvous->options.timeout_ms;

	if (limit_ms == 0 || waited_ns <= (int64_t)limit_ms * 1000000)
		return true;
	train_fail(error, TRAIN_FAILED,
		   "not all ranks came within %d ms to %s, where rank %d waits: find what delays "
		   "them, or give a longer --timeout",
		   limit_ms, doing(c).text, c->base.rank);
	return nccl_failed(c, error);
}

/* NCCL's state of a lane; ncclInProgress is not a failure. */
static bool lane_state(struct nccl_comm *c, struct nccl_lane *lane, ncclResult_t *state,
		       struct train_error *error)
{
	*state = ncclSuccess;
	return !lane->comm ||
	       (NCCL_DO(c, NCCL, ncclCommGetAsyncError, (lane->comm, state), error) &&
		(*state == ncclInProgress ||
		 nccl_done(c, CUDA_LIBRARY_NCCL, (int)*state, "NCCL", error)));
}

/* The reason that a rank gave is better than NCCL's error. */
bool nccl_watch(void *comm, int64_t waited_ns, struct train_error *error)
{
	struct nccl_comm *c = comm;
	ncclResult_t state;

	if (!nccl_good(c, error) || ended(c, error))
		return false;
	if (c->control && c->control->calls->check &&
	    !c->control->calls->check(c->control, doing(c).text, waited_ns, error))
		return nccl_failed(c, error);
	for (int i = 0; i < c->lane_count && !c->reopen; i++)
		if (!lane_state(c, &c->lanes[i], &state, error))
			return false;
	return in_time(c, waited_ns, error);
}

bool nccl_lane_good(struct nccl_comm *c, struct nccl_lane *lane)
{
	ncclResult_t state = ncclSuccess;

	return lane->comm && c->calls->ncclCommGetAsyncError(lane->comm, &state) == ncclSuccess &&
	       state == ncclSuccess;
}

bool nccl_settle(struct nccl_comm *c, struct nccl_lane *lane, struct train_error *error)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int64_t begin = clock_ns(), watched = begin, now = begin;
	ncclResult_t state = ncclSuccess;
	bool good = true;

	while (good && lane->busy) {
		good = lane_state(c, lane, &state, error);
		lane->busy = state == ncclInProgress;
		now = clock_ns();
		if (good && lane->busy && now - watched >= WATCH_NS) {
			watched = now;
			good = nccl_watch(c, now - begin, error);
		}
		if (good && lane->busy && now - begin > SPIN_NS)
			nanosleep(&pause, NULL);
	}
	c->base.waited_ns += now - begin;
	return good;
}
