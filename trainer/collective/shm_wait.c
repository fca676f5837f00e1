/* SPDX-License-Identifier: MIT */
/* Waiting for other ranks, first polling and then asleep, with checks for ranks that are gone; the
 * phases of calls; and the reason of a failure, which is the same on all ranks. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collective/shm_control_block.h"
#include "collective/shm_segment.h"

enum { SLICE_MS = 100 }; /* how often it checks for gone ranks */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

static bool reached(const _Atomic uint32_t *word, uint32_t value)
{
	return (int32_t)(atomic_load(word) - value) >= 0;
}

static long futex(const struct rendezvous *rendezvous, _Atomic uint32_t *word, int call,
		  uint32_t value, const struct timespec *limit)
{
	return syscall(SYS_futex, word, call | (rendezvous->threads ? FUTEX_PRIVATE_FLAG : 0),
		       value, limit, NULL, 0);
}

/* Counts before it checks for a sleeper, and a sleeper marks itself before it checks the count: one
 * of them sees the other. */
void shm_post(const struct rendezvous *rendezvous, int rank)
{
	struct shm_slot *slot = &rendezvous->control->slots[rank];

	atomic_fetch_add(&slot->event, 1);
	if (atomic_load(&slot->sleeping))
		futex(rendezvous, &slot->event, FUTEX_WAKE, 1, NULL);
}

/* Whether the time passed without an event. */
static bool sleep_on(struct shm_comm *comm, uint32_t event, int64_t ns)
{
	const struct timespec limit = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	bool passed;

	atomic_store(&comm->slot->sleeping, 1);
	passed = futex(comm->rendezvous, &comm->slot->event, FUTEX_WAIT, event, &limit) != 0 &&
		 errno == ETIMEDOUT;
	atomic_store(&comm->slot->sleeping, 0);
	return passed;
}

static bool waits_for(const struct shm_comm *comm, int peer, int rank)
{
	const struct shm_slot *slot = &comm->control->slots[rank];

	if (peer >= 0)
		return rank == peer;
	return rank != comm->base.rank && !reached(&slot->phase, comm->phase);
}

static struct call_words rank_words(const struct shm_comm *comm, int rank)
{
	int process = atomic_load(&comm->control->slots[rank].process);
	struct call_words words;

	if (comm->rendezvous->threads || process == 0)
		snprintf(words.text, sizeof(words.text), "rank %d", rank);
	else
		snprintf(words.text, sizeof(words.text), "rank %d (process %d)", rank, process);
	return words;
}

static bool gone(struct shm_comm *comm, int rank, int peer, const char *how,
		 struct train_error *error)
{
	return shm_fail(comm->rendezvous, error, "%s %s while rank %d waits %sin %s",
			rank_words(comm, rank).text, how, comm->base.rank,
			waits_for(comm, peer, rank) ? "for it " : "",
			call_words(comm->doing.kind, comm->doing.what).text);
}

/* A rank that this one waits for and that has closed its communicator, or -1. */
static int ended(const struct shm_comm *comm, int peer)
{
	for (int r = 0; r < comm->base.world; r++)
		if (atomic_load(&comm->control->slots[r].closed) && waits_for(comm, peer, r))
			return r;
	return -1;
}

/* A rank that came and whose process is gone, or -1. */
static int dead(const struct shm_comm *comm)
{
	for (int r = 0; !comm->rendezvous->threads && r < comm->base.world; r++) {
		const struct shm_slot *slot = &comm->control->slots[r];

		if (r != comm->base.rank && atomic_load(&slot->process) != 0 &&
		    !shm_segment_lives(comm->rendezvous, r) && !atomic_load(&slot->closed))
			return r;
	}
	return -1;
}

static bool fail_late(struct shm_comm *comm, const struct call_late *late, const struct call *doing,
		      struct train_error *error)
{
	int timeout_ms = comm->rendezvous->options.timeout_ms;

	return shm_fail(comm->rendezvous, error, "%s",
			call_late_text(late, timeout_ms, doing, comm->base.rank).text);
}

static bool too_late(struct shm_comm *comm, int peer, struct train_error *error)
{
	struct call_late late = {.count = 0};

	for (int r = 0; r < comm->base.world; r++)
		if (waits_for(comm, peer, r))
			call_late_add(&late, rank_words(comm, r).text,
				      (int)atomic_load(&comm->control->slots[r].doing));
	if (late.count == 0)
		call_late_add(&late, "a rank that has come since", CALL_NONE);
	return fail_late(comm, &late, &comm->doing, error);
}

/* Of the time limit; a slice if there is none. */
static int64_t time_left(const struct shm_comm *comm, int64_t start)
{
	int64_t slice = (int64_t)SLICE_MS * 1000000;
	int64_t limit = (int64_t)comm->rendezvous->options.timeout_ms * 1000000;
	int64_t used = comm->base.waited_ns - comm->waited_before + clock_ns() - start;

	return limit == 0 || limit - used > slice ? slice : limit - used;
}

static bool wait_asleep(struct shm_comm *comm, const _Atomic uint32_t *word, uint32_t value,
			int peer, struct train_error *error)
{
	for (int64_t start = clock_ns(), left;;) {
		uint32_t event = atomic_load(&comm->slot->event);
		int rank = ended(comm, peer);

		/* Actions of a rank before it ended still count. */
		if (reached(word, value))
			return true;
		if (!shm_good(comm->rendezvous, error))
			return false;
		if (rank >= 0)
			return gone(comm, rank, peer, "has ended", error);
		left = time_left(comm, start);
		if (left <= 0)
			return too_late(comm, peer, error);
		if (!sleep_on(comm, event, left))
			continue;
		rank = dead(comm);
		if (rank >= 0 && !reached(word, value))
			return gone(comm, rank, peer, "is gone", error);
	}
}

bool shm_wait(struct shm_comm *comm, const _Atomic uint32_t *word, uint32_t value, int peer,
	      struct train_error *error)
{
	int64_t start;
	bool good = reached(word, value);

	if (good)
		return true;
	start = clock_ns();
	for (int i = 0; !good && i < comm->spins; i++) {
		relax();
		good = reached(word, value);
	}
	if (!good)
		good = wait_asleep(comm, word, value, peer, error);
	comm->base.waited_ns += clock_ns() - start;
	return good;
}

/* Ranks that wait for their devices have checked often meanwhile. */
static bool device_too_late(struct shm_comm *comm, const struct call *call, int64_t waited_ns,
			    struct train_error *error)
{
	int64_t since = clock_ns() - waited_ns / 2;
	struct call_late late = {.count = 0};

	for (int r = 0; r < comm->base.world; r++) {
		const struct shm_slot *slot = &comm->control->slots[r];
		int64_t checked = atomic_load(&slot->checked);

		if (r != comm->base.rank && (checked == 0 || checked < since))
			call_late_add(&late, rank_words(comm, r).text,
				      (int)atomic_load(&slot->doing));
	}
	return fail_late(comm, &late, call, error);
}

bool shm_check(struct communicator *base, const char *where, int64_t waited_ns,
	       struct train_error *error)
{
	const struct call call = call_of(CALL_DEVICE, 0, 0, where);
	struct shm_comm *comm = (struct shm_comm *)(void *)base;
	int64_t limit = (int64_t)comm->rendezvous->options.timeout_ms * 1000000, now = clock_ns();
	int rank;

	atomic_store(&comm->slot->checked, now);
	if (!shm_good(comm->rendezvous, error))
		return false;
	if (now - comm->looked >= (int64_t)SLICE_MS * 1000000) {
		comm->looked = now;
		rank = dead(comm);
		if (rank >= 0)
			return shm_fail(comm->rendezvous, error,
					"%s is gone while rank %d waits in %s",
					rank_words(comm, rank).text, base->rank, where);
	}
	return limit == 0 || waited_ns <= limit || device_too_late(comm, &call, waited_ns, error);
}

/* --- calls and their phases ------------------------------------------------------------------ */

bool shm_start(struct shm_comm *comm, const struct call *call, struct train_error *error)
{
	comm->doing = *call;
	comm->waited_before = comm->base.waited_ns;
	atomic_store(&comm->slot->doing, (uint32_t)call->kind);
	return shm_good(comm->rendezvous, error);
}

int shm_call(struct shm_comm *comm, const struct call *call, void *values,
	     struct train_error *error)
{
	int at = (int)(comm->calls & 1);

	if (!shm_start(comm, call, error))
		return -1;
	comm->slot->calls[at] = (struct shm_call){*call, values};
	comm->calls++;
	return at;
}

bool shm_agree(struct shm_comm *comm, struct train_error *error)
{
	const struct shm_slot *slots = comm->control->slots;
	uint32_t at = (comm->calls - 1) & 1;

	if (!shm_phase(comm, error))
		return false;
	for (int r = 1; r < comm->base.world; r++) {
		const struct call *call = &slots[r].calls[at].call;
		const struct call *first = &slots[0].calls[at].call;

		if (!call_same(call, first))
			return shm_fail(comm->rendezvous, error, "%s",
					call_difference(r, call, first).text);
	}
	return true;
}

/* The rank's own phase is set last, so that it counts as missing if it is killed before. */
bool shm_phase(struct shm_comm *comm, struct train_error *error)
{
	struct shm_control_block *control = comm->control;
	uint32_t phase = ++comm->phase, world = (uint32_t)comm->base.world;
	bool last = atomic_fetch_add(&control->arrived, 1) + 1 == phase * world;

	if (last)
		atomic_store(&control->complete, phase);
	atomic_store(&comm->slot->phase, phase);
	if (!last)
		return shm_wait(comm, &control->complete, phase, -1, error);
	for (int r = 0; r < comm->base.world; r++)
		if (r != comm->base.rank)
			shm_post(comm->rendezvous, r);
	return true;
}

/* --- why a run fails ------------------------------------------------------------------------- */

/* For the writer of the reason, which may be stopped, or slow on a busy machine. */
enum { PATIENCE_MS = 10000 };

/* Threads of this process write one at a time, and so do processes, by a lock. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static bool begin_reason(const struct rendezvous *rendezvous)
{
	pthread_mutex_lock(&writing);
	if (rendezvous->threads || shm_segment_reason(rendezvous, true))
		return true;
	pthread_mutex_unlock(&writing);
	return false;
}

static void end_reason(const struct rendezvous *rendezvous)
{
	if (!rendezvous->threads)
		shm_segment_reason(rendezvous, false);
	pthread_mutex_unlock(&writing);
}

/* Overwrites the text of a writer that was killed. */
__attribute__((format(printf, 3, 0))) static bool write_reason(const struct rendezvous *rendezvous,
							       enum train_status status,
							       const char *format, va_list args)
{
	struct shm_control_block *control = rendezvous->control;

	if (atomic_load(&control->failed) == 2)
		return false;
	atomic_store(&control->failed, 1);
	control->why.status = status;
	vsnprintf(control->why.text, sizeof(control->why.text), format, args);
	atomic_store(&control->failed, 2);
	return true;
}

/* The first reason stays. Waits for it as long as its writer lives; the run has failed even if it
 * never comes. */
__attribute__((format(printf, 3, 0))) static void note(const struct rendezvous *rendezvous,
						       enum train_status status, const char *format,
						       va_list args)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct shm_control_block *control = rendezvous->control;
	uint32_t good = 0;
	bool first;

	for (int i = 0; !begin_reason(rendezvous); i++) {
		if (atomic_load(&control->failed) == 2)
			return;
		if (i == PATIENCE_MS) {
			atomic_compare_exchange_strong(&control->failed, &good, 1);
			return;
		}
		nanosleep(&pause, NULL);
	}
	first = write_reason(rendezvous, status, format, args);
	end_reason(rendezvous);
	for (int r = 0; first && r < control->world; r++)
		shm_post(rendezvous, r);
}

/* False: the run has failed. */
static bool why_failed(const struct rendezvous *rendezvous, struct train_error *error)
{
	const struct shm_control_block *control = rendezvous->control;

	if (atomic_load(&control->failed) == 2)
		return train_fail(error, control->why.status, "%.*s",
				  (int)sizeof(control->why.text) - 1, control->why.text);
	return train_fail(
		error, TRAIN_FAILED,
		"another rank failed and gave no reason within %d s: end stopped processes",
		PATIENCE_MS / 1000);
}

bool shm_good(const struct rendezvous *rendezvous, struct train_error *error)
{
	uint32_t failed = atomic_load(&rendezvous->control->failed);

	if (failed == 0)
		return true;
	if (failed == 1)
		shm_fail_as(rendezvous, TRAIN_FAILED,
			    "another rank failed and was killed before it gave the reason");
	return why_failed(rendezvous, error);
}

bool shm_fail(const struct rendezvous *rendezvous, struct train_error *error, const char *format,
	      ...)
{
	va_list args;

	va_start(args, format);
	note(rendezvous, TRAIN_FAILED, format, args);
	va_end(args);
	return why_failed(rendezvous, error);
}

void shm_fail_as(const struct rendezvous *rendezvous, enum train_status status, const char *format,
		 ...)
{
	va_list args;

	va_start(args, format);
	note(rendezvous, status, format, args);
	va_end(args);
}
