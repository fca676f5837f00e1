/* SPDX-License-Identifier: MIT */
/* Findings about a Python file that is started on GPUs. */
#ifndef GM_LINT_PYTHON_H
#define GM_LINT_PYTHON_H

#include "report/report.h"
#include "text.h"

struct lint_started;

/* The picture of a job, as a program begins: who starts it, how many times, with which GPUs and
 * arguments. A script, a profile and a plan all give this, so that they cannot differ in what they
 * find in a program. What is not known is NULL or -1. */
struct python_start {
	const char *launcher; /* "torchrun", "launch", "srun", ...; NULL: not known */
	/* whether the local rank is passed as an argument: 1 yes, 0 no, -1 not known */
	int passes;
	const gpumap_inventory *inventory; /* the machine; may be NULL */
	bool together;                     /* the host starts it again while it runs */
	bool alone;                        /* the launcher starts one process */
	const char *from;                  /* the command that starts it: "run.sh:3" */
	const char *list;                  /* its visible list */
	const char *list_from;             /* what set the list: "run.sh:2" */
	const char *order;                 /* "CUDA_DEVICE_ORDER=..." */
	bool list_varies;                  /* each process may have another list */
	int64_t visible;                   /* the GPUs that a rank sees */
	int64_t ranks, hosts;              /* ranks on each host, and hosts */
	bool planned;                      /* a plan of gpumap starts it, as it says */
	/* The port at which ranks meet, which the launcher listens at; 0: a free one that it takes.
	 * PyTorch before 2.15 listens at `port` by default, later ones at a free port. */
	int64_t port;
	bool port_by_default;
	bool meeting; /* MASTER_ADDR or MASTER_PORT may be set */
	/* the program's arguments, which end with NULL; NULL: not all of them are known */
	const char *const *arguments;
	/* gets the programs that commands of the program start; NULL: they are not wanted */
	struct lint_started *started;
	bool ranked; /* the environment may have LOCAL_RANK or RANK */
};

static inline struct python_start python_start_unknown(void)
{
	return (struct python_start){
		.passes = -1, .visible = -1, .ranks = -1, .hosts = -1, .port = -1};
}

/* Reports errors and possible errors in the order of the source. `start` may be NULL. */
void lint_python(struct span text, const char *origin, const struct python_start *start,
		 gpumap_report *report);

/* How a program picks its device (rule R3), if gpumap understands all that it does with devices:
 * the value for the key `device`, such as "cuda:%l", and the line that shows it. The text is empty
 * if it is not known. */
struct python_device {
	char text[32];
	int line;
};
struct python_device lint_python_device(struct span text);

#endif
