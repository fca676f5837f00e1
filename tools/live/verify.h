/* SPDX-License-Identifier: MIT */
/*
 * gpumap verify: whether a job that runs does what its plan says.
 *
 *	verify_run(), verify_alone()	the facts: what was planned, and what can be seen
 *	verify_compare()			compares them: a pure function
 *	verify_text(), verify_json()	the answer
 */
#ifndef GM_VERIFY_H
#define GM_VERIFY_H

#include "live/ps.h"
#include "live/published_run.h"
#include "text.h"

/* A GPU by its physical number, or a MIG instance of it; mig -1: the whole GPU, or not known. */
struct verify_device {
	int physical, mig;
};

enum verify_process {
	VERIFY_STARTING, /* the rank has no process yet */
	VERIFY_ALIVE,
	VERIFY_ENDED, /* as its launcher saw */
	VERIFY_GONE,  /* the launcher has not seen its end */
	VERIFY_UNSEEN
};

enum verify_list { VERIFY_LIST_SAME, VERIFY_LIST_CHANGED, VERIFY_LIST_UNSEEN };

/* The order is that of the answer for a rank: the last one that applies. */
enum verify_state {
	VERIFY_RIGHT,
	VERIFY_OVER,   /* it has ended, and did not fail */
	VERIFY_UNUSED, /* it has not used a GPU yet */
	VERIFY_HIDDEN, /* it is not visible whether it is right */
	VERIFY_WRONG
};

/* The differences of a rank that is wrong. */
#define VERIFY_DEAD 1u
#define VERIFY_CHANGED 2u
#define VERIFY_ELSEWHERE 4u /* on another GPU, and not on its own */
#define VERIFY_STRAY 8u     /* on its own, and on another */

/* A variable that decides the list; NULL: it is not set. Escaped. */
struct verify_variable {
	char *planned, *now;
};
enum { VERIFY_VISIBLE, VERIFY_ORDER, VERIFY_VARIABLES };
extern const char *const verify_variables[VERIFY_VARIABLES]; /* their names */

/* The memory of a process on a device. */
struct verify_use {
	struct verify_device device;
	int64_t pid, memory; /* bytes; -1: not known */
};

struct verify_rank {
	int64_t rank, pid; /* rank -1: a process without a run; pid 0: none */

	/* the plan */
	struct verify_device *own;
	size_t own_count, own_room;
	const char *own_unknown; /* why it is not known which GPUs are its own; NULL: it is */
	struct verify_variable variables[VERIFY_VARIABLES];

	/* what is seen; the process and its children count as one */
	enum verify_process process;
	int status, signal;
	bool stopped; /* it ended while its launcher was stopping it */
	enum verify_list list;
	struct verify_use *uses;
	size_t use_count, use_room;

	/* by verify_compare() */
	enum verify_state state;
	unsigned differences;
};

/* A GPU of this machine. */
struct verify_gpu {
	int physical;
	bool listed;     /* all of its processes are listed */
	bool hidden;     /* some are not visible here */
	bool unmeasured; /* whether there are such is not known */
};

struct verify {
	struct ps ps;
	bool no_usage; /* NVML does not answer: nothing is known of memory */
	char *run;     /* escaped; NULL: a process without a run */
	struct verify_gpu *gpus;
	size_t gpu_count;
	struct verify_rank *ranks;
	size_t count;
};

/* The facts of a run, or of one process: it is compared with its own environment. `json`: as for
 * ps_read(). GPUMAP_EINPUT and GPUMAP_EFILE after a finding: there is no such process, or it may
 * not be looked at. */
int verify_run(struct verify *ret, const struct live_run *live, bool json, gpumap_report *report);
int verify_alone(struct verify *ret, const char *pid, bool json, gpumap_report *report);
/* The same of a run, with usage that was read, which is taken over; NULL: NVML does not answer. */
void verify_make(struct verify *ret, const struct live_run *live, const struct ps *ps);
void verify_free(struct verify *verify);

/* Sets the state of each rank, and reports what is not right. */
void verify_compare(struct verify *verify, gpumap_report *report);
/* Whether all was seen, and nothing differs. */
bool verify_is_right(const struct verify *verify);
/* How many ranks have this state. */
size_t verify_count(const struct verify *verify, enum verify_state state);
bool verify_is_own(const struct verify_rank *rank, struct verify_device device);
/* Whether an earlier use of the rank is on the device of the i-th. */
bool verify_is_repeated(const struct verify_rank *rank, size_t i);

/* The answer for people, and one line of JSON, schema 1. */
void verify_text(struct strbuf *buf, const struct verify *verify);
void verify_json(struct strbuf *buf, const struct verify *verify, const gpumap_report *report);

/* "right", "wrong", as in JSON. */
const char *verify_state_word(enum verify_state state);
/* "4 ranks, as planned so far". */
void verify_verdict(struct strbuf *buf, const struct verify *verify);

/* The answer of `gpumap run --verify`, as its record has it: for people, and whether it was right.
 * False: it is not such an answer. */
bool verify_past_text(struct strbuf *buf, bool *right, const struct json_t *verified);

/* "Run R on host ended at T with status 1." and the last lines of the rank that failed first; or
 * where its log is. `log` and `lines` may be NULL. */
void verify_past_end(struct strbuf *buf, const char *end, const char *log, const char *lines);

/* "GPU 3", "GPU 3 MIG 1". */
const char *verify_name(struct quoted *ret, struct verify_device device);
#define VERIFY_NAME(device) verify_name(&(struct quoted){{0}}, device)

#endif
