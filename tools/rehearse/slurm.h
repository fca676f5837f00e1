/* SPDX-License-Identifier: MIT */
/*
 * Slurm in a rehearsal: sbatch, srun and scontrol are links to gpumap, first in PATH, so that a
 * batch script runs as it is, and none of its jobs reaches a real Slurm. A job has the GPUs of one
 * or more nodes, each of which is the pretended machine; all tasks run on this host. Variables and
 * lists are those of a Slurm that does not constrain devices, so its numbers are the machine's.
 */
#ifndef GM_REHEARSE_SLURM_H
#define GM_REHEARSE_SLURM_H

#include "gpumap.h"

#include "base.h"
#include "lint/slurm.h"

/* The folder of the rehearsal; its file with what was not rehearsed, a line for each thing. */
#define REHEARSE_FOLDER "GPUMAP_REHEARSE"
#define REHEARSE_NOT "not-rehearsed"
/* Its file that gpumap rehearse has locked while it lives. */
#define REHEARSE_LOCK "lock"
/* Set in a job, where its GPUs on each node are. */
#define REHEARSE_JOB "GPUMAP_REHEARSE_JOB"
/* Set to 0 in a job that has GPUs only because its nodes are its own: steps have to ask for them.
 */
#define REHEARSE_STEP_GPUS "GPUMAP_REHEARSE_STEP_GPUS"

enum { SLURM_NODES_MAX = 64, SLURM_TASKS_MAX = 1024, SLURM_GPUS_MAX = 256 };

/* slurm_links.c: makes the links in `folder`/bin, and puts that first in PATH. `self` is gpumap. A
 * shell that makes a PATH of its own, as bash -l does, has functions of these names, and what calls
 * a real Slurm all the same finds no configuration. False: errno. */
bool slurm_links(const char *folder, const char *self);
/* What such a link does, by the name that it was called by; NULL: gpumap was not called by one. */
int (*slurm_link(const char *name))(int argc, char **argv);

/* What sbatch and srun ask for. */
struct slurm_wish {
	struct slurm slurm;
	int64_t cpus_per_task, tasks_per_gpu; /* -1: not given */
	struct span name, folder;             /* --job-name, --chdir; .text NULL: not given */
	struct span wrap, array;
	struct span exports;     /* --export */
	struct span nodes;       /* --nodelist */
	int64_t relative;        /* --relative; -1: not given */
	struct span other;       /* an option by which it cannot be rehearsed; .text NULL: none */
	struct slurm_option bad; /* one whose value is malformed; .name.text NULL: none */
	bool asks_for_none;      /* it asks for no GPUs */
	bool overlap, kill, unknown; /* unknown: `other` is no option of Slurm */
};

#define SLURM_WISH_NOTHING \
	(struct slurm_wish) \
	{ \
		.slurm = slurm_unknown(), .cpus_per_task = -1, .tasks_per_gpu = -1, .relative = -1 \
	}

/* An option of the command line, or of the variable that stands for it. */
void slurm_wish_take(struct slurm_wish *wish, const struct slurm_option *option);
/* `batch`: of sbatch. The options from words[1] to the first word that is none; *end is its index.
 */
void slurm_wish_words(struct slurm_wish *wish, char *const *words, bool batch, size_t *end);
void slurm_wish_comments(struct slurm_wish *wish, struct span script);

/* Whether an option for the number of GPUs is given. */
bool slurm_asks_for_gpus(const struct slurm *slurm);

/* Nodes, tasks, and GPUs on each node. */
struct slurm_size {
	int64_t nodes, tasks, gpus;
	int64_t room[SLURM_NODES_MAX]; /* tasks that a node takes; 0: any number */
};

/* The tasks of a node: Slurm fills the first nodes, and leaves each other at least one. */
int64_t slurm_tasks_of(const struct slurm_size *size, int64_t node);
/* "4", "4(x2)", "2,1" */
void slurm_counts(char *ret, size_t room, const struct slurm_size *size, int64_t each);

/* Refuses what the wish has that cannot be rehearsed. */
int slurm_wish_check(const char *command, const struct slurm_wish *wish);

/* slurm_job.c: gives this process the environment of a job of its own. `name`: without
 * --job-name. STATUS_ANSWERED, or a status after a message. */
int slurm_begin(const char *command, struct slurm_wish *wish, const char *name);

/* Makes --chdir the working folder. The same statuses. */
int slurm_enter(const char *command, const struct slurm_wish *wish);

/* setenv() of a number. */
void slurm_set_number(const char *name, int64_t value);
int64_t slurm_number(const char *name); /* -1: not set, or none */
/* "0,1,2" of the first `count`. */
void slurm_list(char *ret, size_t room, const int *gpus, int64_t count);
/* slurm_job.c: the name of a node, localhost or one of 127.0.0.1 and so on, which are all this
 * host. */
void slurm_node(char *ret, size_t room, int64_t nodes, int64_t node);
/* Of `count` of these nodes, from `first` on. */
void slurm_node_list(char *ret, size_t room, int64_t nodes, int64_t first, int64_t count);

/* --export=NAME=VALUE,...; other variables are kept, also where Slurm drops them. */
void slurm_export(struct span exports);
/* Adds a line to what was not rehearsed, once. */
void slurm_not_rehearsed(const char *format, ...) PRINTF(1, 2);
/* A finding GM500 on standard error, "srun: ...", and status 1. */
int slurm_refuse(const char *command, const char *fix, const char *format, ...) PRINTF(3, 4);

#endif
