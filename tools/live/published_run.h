/* SPDX-License-Identifier: MIT */
/*
 * What a run of gpumap shows of itself while it is active: its name, and the process and the GPU
 * variables that each rank got. It is a file in memory, which the launcher keeps open: it needs no
 * folder and ends with the launcher. Only the user of the launcher and root can open it, below
 * /proc/PID/fd.
 */
#ifndef GM_PUBLISHED_RUN_H
#define GM_PUBLISHED_RUN_H

#include "launch/launch.h"

#define RUN_LIVE_NAME "gpumap-run"

/* --- the launcher ------------------------------------------------------------------- */

struct run_live {
	int fd;         /* -1: none */
	size_t *places; /* of each rank's state in the file; NULL: there is nothing to close */
	size_t count;
};

/* A file in memory that is closed on exec; -1 with errno. */
int run_memory_file(const char *name);

/* Begins to show the run. Where the system does not allow that, or without memory, *ret shows
 * nothing, and the run continues without. Call run_live_close() in any case. */
void run_live_open(struct run_live *ret, const char *run, const struct launch_rank *ranks,
		   size_t count);
void run_live_close(struct run_live *live);

/* Shows how it is with the rank at `index`. NULL: it is about to start. */
void run_live_rank(const struct run_live *live, size_t index, const struct launch_exit *rank);

/* --- the others --------------------------------------------------------------------- */

enum live_state { LIVE_STARTING, LIVE_RUNNING, LIVE_ENDED };

/* A rank as its launcher shows it. Texts are NULL if the rank has no such variable. */
struct live_rank {
	int64_t rank;
	enum live_state state;
	int pid;            /* 0: it was never started */
	int64_t at_ns;      /* CLOCK_BOOTTIME: the process was there, or had ended */
	int status, signal; /* as those of struct launch_exit */
	bool stopped;
	bool hidden; /* it runs in another pid namespace, and is not visible here */
	const char *visible, *order, *gpus;
};

struct live_run {
	char *text;    /* has all texts */
	int launcher;  /* its process */
	bool own;      /* of the user of this process */
	bool inside;   /* of another container: its numbers of GPUs mean nothing here */
	uint64_t file; /* identifies it */
	const char *run;
	struct live_rank *ranks;
	size_t count;
};

struct live_runs {
	struct live_run *runs; /* by launcher */
	size_t count, room;
};

/* Reads the file. GPUMAP_EINPUT: it is not one of a run. */
int live_run_read(struct live_run *ret, int fd);
void live_run_free(struct live_run *run);

/* The runs that can be seen here. */
void live_runs_find(struct live_runs *ret);
/* The run that the process starts, guards, or is a rank of, or below a rank; the innermost.
 * ret->text NULL: there is none. */
void live_run_of(struct live_run *ret, int pid);
/* Takes from the list the only run that has the name, or is this user's (NULL). GPUMAP_ENODRIVER
 * after its error: there is none, or there are several. */
int live_runs_take(struct live_run *ret, struct live_runs *runs, const char *name,
		   gpumap_report *report);
/* GPUMAP_ENODRIVER, after the error that no run, or none of that name (unless NULL), is active. */
int live_run_not_found(const char *name, gpumap_report *report);
void live_runs_free(struct live_runs *runs);

#endif
