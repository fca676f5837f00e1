/* SPDX-License-Identifier: MIT */
/*
 * gpumap rehearse: what the processes of a rehearsal have recorded, each in a file PID.json
 * (rehearse/gpumap_rehearse/record.py writes it), judged and shown.
 */
#ifndef GM_REHEARSE_H
#define GM_REHEARSE_H

#include <jansson.h>

#include "gpumap.h"

#include "base.h"
#include "strbuf.h"

/* A process that has used PyTorch. */
struct rehearsed {
	json_t *record;
	int64_t rank;         /* -1: it is none */
	int64_t pid, started; /* started: in milliseconds since 1970 */
	const json_t *home;   /* the device that it works on; NULL: it used none */
};

struct rehearsal {
	char *const *argv; /* the program */
	const char *machine;
	int status;                  /* of the program, as a shell has it */
	struct rehearsed *processes; /* in the order of their ranks and pids */
	size_t count;
	bool imported;       /* whether any process imported PyTorch, as far as can be read */
	char *not_rehearsed; /* lines, beside what the processes have said; may be NULL */
};

/* Reads the records of a folder. Processes that did nothing of PyTorch are left out, and of
 * processes of one rank all but the last, since a launcher may start a rank again. GPUMAP_OK,
 * GPUMAP_ENOMEM, or another code after a finding for each record that cannot be read. */
int rehearsal_read(struct rehearsal *ret, const char *folder, gpumap_report *report);
void rehearsal_free(struct rehearsal *rehearsal);

/* Adds what is wrong as findings. */
void rehearsal_judge(const struct rehearsal *rehearsal, gpumap_report *report);

/* While the program runs: adds a finding for each rank that waits in a collective since `from` to
 * `to`, in seconds since 1970, for ranks that did not enter it. */
void rehearsal_judge_waits(const struct rehearsal *rehearsal, double from, double to,
			   gpumap_report *report);

/* For a terminal: each rank's GPUs and memory, and what was not rehearsed. */
void rehearsal_text(struct strbuf *buf, const struct rehearsal *rehearsal);
/* The same with all details; schemas/rehearse.json describes it. */
void rehearsal_json(struct strbuf *buf, const struct rehearsal *rehearsal,
		    const gpumap_report *report);

/* As a picture. */
void rehearsal_svg(struct strbuf *buf, const struct rehearsal *rehearsal,
		   const gpumap_report *report);

/* "Rehearsed python3 train.py on 4xA100: status 0" */
void rehearsal_title(struct strbuf *buf, const struct rehearsal *rehearsal);
/* Calls `put` with each thing that was not rehearsed, once. */
void rehearsal_each_not(const struct rehearsal *rehearsal, void (*put)(void *, const char *),
			void *data);
/* The other rank of the same host that works on this GPU; NULL: there is none. */
const struct rehearsed *rehearsal_owner(const struct rehearsal *rehearsal,
					const struct rehearsed *self, const json_t *device);

bool rehearsed_same_host(const struct rehearsed *a, const struct rehearsed *b);
bool rehearsed_same_gpu(const json_t *a, const json_t *b);
/* "rank 3", or "process 4711" without a rank. */
void rehearsed_who(struct strbuf *buf, const struct rehearsed *process);
/* "9.0 MiB" */
void rehearsed_size(struct strbuf *buf, int64_t bytes);
/* A member of a record: "" and -1 where it is not there or of another type. */
const char *rehearsed_text(const json_t *object, const char *name);
int64_t rehearsed_number(const json_t *object, const char *name);
/* A member that is an array; an empty one where it is not. */
const json_t *rehearsed_list(const json_t *object, const char *name);
/* "GPU 3", or the UUID of a GPU whose number is not known. */
void rehearsed_gpu(struct strbuf *buf, const json_t *device);

#endif
