/* SPDX-License-Identifier: MIT */
/*
 * Faults of shell scripts that can be found before anything starts. A lint reads one text and adds
 * findings with origin, line and column. The text of a finding that is not certain has "may".
 */
#ifndef GM_LINT_SHELL_H
#define GM_LINT_SHELL_H

#include "arena.h"
#include "gpumap.h"
#include "text.h"

/* What starts a program. */
enum lint_launcher {
	LINT_DIRECT, /* the shell itself */
	LINT_TORCHRUN,
	LINT_TORCH_LAUNCH, /* python -m torch.distributed.launch */
	LINT_ACCELERATE,
	LINT_DEEPSPEED,
	LINT_MPIRUN,
	LINT_SRUN,
	LINT_GPUMAP
};

/* "torchrun", ...; "the shell" for LINT_DIRECT. */
const char *lint_launcher_name(enum lint_launcher launcher);

/* A program that a script starts, with what the script shows of its job. */
struct lint_start {
	const char *path; /* as written in the script, relative to its working folder */
	enum lint_launcher launcher;
	int64_t nproc;   /* ranks on each host; -1: not known */
	int64_t hosts;   /* -1: not known */
	int64_t visible; /* GPUs that its ranks see; -1: not known */
	int64_t port; /* of the ranks' meeting; 0: the launcher takes a free one; -1: not known */
	bool port_by_default; /* the port is the launcher's default */
	bool local_rank;      /* the launcher passes --local_rank or --local-rank */
	bool python;          /* path is a Python file */
	bool ranked;          /* the script may give it LOCAL_RANK or RANK */
	bool may;             /* a branch or a function decides whether it is started */
	bool moved;           /* it may start in another folder, or the script may make the file */
	bool together;        /* this host starts it again while it runs */
	bool meeting;         /* MASTER_ADDR or MASTER_PORT may be set */
	int line, column;
	const char *list; /* the visible list that the program begins with; NULL: not known */
	bool list_kept;   /* it is the one that the script begins with */
	bool here;        /* its ranks see what the script sees, if this host runs it */
	bool list_varies; /* each start of the command may give the one process another list */
	int list_line;
	const char *order; /* "CUDA_DEVICE_ORDER=..."; NULL: not known */
	/* What follows the program; NULL: not all of it is known. Ends with NULL. */
	const char **arguments;
};

struct lint_started {
	struct arena arena; /* of starts and paths */
	struct lint_start *starts;
	size_t count, room;
};

void lint_started_free(struct lint_started *started);

/* Checks how a shell script sets the environment of its programs. `visible` is the number of
 * visible GPUs when it starts; -1: not known. `started` may be NULL. Findings do not make it fail.
 * GPUMAP_ELIMIT: the text is too large or too deeply nested. */
int lint_shell(struct span text, const char *origin, int64_t visible, struct lint_started *started,
	       gpumap_report *report);

/* The same for a command that begins in this line of another file. */
int lint_shell_from(struct span text, const char *origin, int line, struct lint_started *started,
		    gpumap_report *report);

#endif
