/* SPDX-License-Identifier: MIT */
/*
 * Writes a plan for other launchers: one file and one row of targets.def for each. They share the
 * plan by host, the quoting of words for every shell, and the remarks on what a launcher loses.
 *
 * `gpumap exec` does inside the launcher what the launcher cannot do for each rank: by options if
 * all ranks have the same settings and arguments, else by the plan as a file.
 */
#ifndef GM_EMIT_H
#define GM_EMIT_H

#include "plan/job.h"
#include "report/report.h"
#include "request/profile_keys.h"
#include "strbuf.h"

#define EMIT_PLAN_FILE "gpumap-plan.json"
#define EMIT_HOST_FILE "gpumap-hosts"

/* A host with ranks. */
struct emit_node {
	const struct plan_host *host;
	const char *list; /* the GPUs of all its ranks, as CUDA_VISIBLE_DEVICES; "": none */
	size_t ranks, gpus;
};

struct emit_file {
	const char *name;
	char *text;
};

struct emitter {
	const gpumap_plan *plan;
	const char *target;
	gpumap_report *report;
	struct arena arena;
	struct strbuf out;
	size_t line; /* where the last line begins in `out` */
	struct emit_node *nodes;
	size_t node_count, ranks;
	bool scheduled; /* the column of targets.def */
	bool equal;     /* the nodes have the same number of ranks and of GPUs */
	/* gpumap exec gets the plan, because ranks differ in a setting that has no option */
	bool inside;
	bool refused;    /* the launcher cannot start the plan */
	bool run_passed; /* ranks get the run's name, by an option or a variable */
	struct emit_file files[2];
	size_t file_count;
	int r; /* the first failure */
};

typedef void emit_target(struct emitter *e);
#define TARGET(name, summary, shell, scheduled) emit_target emit_##name;
#include "emit/targets.def"
#undef TARGET

/* The column `scheduled` of targets.def. */
bool emit_is_scheduled(const char *target);
/* Reports a target that is not in the table. GPUMAP_EKEY, GPUMAP_ENOMEM. */
int emit_check_target(const char *target, gpumap_report *report);

/* --- text (write.c) ----------------------------------------------------------------- */

/* Append text unchanged. At its end of a line, emit->line begins anew. */
void emit_puts(struct emitter *e, const char *text);
void emit_printf(struct emitter *e, const char *format, ...) PRINTF(2, 3);
/* Appends a word, quoted; a long command continues on the next line. */
void emit_word(struct emitter *e, const char *word);
void emit_pair(struct emitter *e, const char *option, const char *word); /* on one line */
void emit_pairf(struct emitter *e, const char *option, const char *format, ...) PRINTF(3, 4);
void emit_wordf(struct emitter *e, const char *format, ...) PRINTF(2, 3);
/* A NAME=VALUE that a shell takes as an assignment. */
void emit_assignment(struct emitter *e, const char *name, const char *value);
void emit_end(struct emitter *e); /* ends the line */
/* A file that the command needs; the emitted text creates it. Takes over `text`. */
void emit_file(struct emitter *e, const char *name, char *text);

/* --- the plan, by host (nodes.c) ------------------------------------------------------ */

int emit_nodes(struct emitter *e);
/* Numbers of the GPUs of a node's ranks, as nvidia-smi counts; NULL: one is a MIG instance, or its
 * number is not known. */
const char *emit_numbers(struct emitter *e, const struct emit_node *node);
/* A node with another number of ranks than the first; NULL: there is none. */
const struct emit_node *emit_unlike(const struct emitter *e);
bool emit_lists_differ(const struct emitter *e);
/* The number of entries of a list. */
size_t emit_count(const char *list);
/* Whether the setting has a value that is not the default's. */
bool emit_is_set(const struct emitter *e, enum profile_key_id id);
enum plan_on_fail emit_on_fail(const struct emitter *e);
long long emit_seconds(const struct emitter *e, enum profile_key_id id); /* rounded up */
/* Whether the signal is passed on to the ranks. */
bool emit_forwards(const struct emitter *e, int signal);
/* Whether USR1 and USR2 are forwarded, and no other signal. */
bool emit_forwards_only_users(const struct emitter *e);
int emit_port(struct emitter *e); /* the plan's, or the common one with a remark */
/* Whether hosts have names that a launcher can reach them by. */
bool emit_named(const struct emitter *e);
const char *emit_names(struct emitter *e, size_t first, size_t count, bool each_rank);

/* --- the GPUs of a scheduler's job (job_gpus.c) ----------------------------------------- */

/* False: the plan has no GPU although the settings ask for some, and is refused. */
bool emit_asks_gpus(struct emitter *e);

/* --- variables (variables.c) ----------------------------------------------------------- */

struct emit_variable {
	const char *name, *value; /* value NULL: to be unset */
};
struct emit_variables {
	struct emit_variable *all;
	size_t count, room;
	struct emitter *e;
	bool ranks;       /* with those of the rank */
	const char *list; /* of the whole node */
};

/* The variables of a rank, as gpumap_plan_variable_each passes them. Without `ranks` the launcher
 * sets those of the rank, and CUDA_VISIBLE_DEVICES is that of the whole node; there are none then
 * if gpumap exec has the plan. */
void emit_variables(struct emit_variables *ret, struct emitter *e, const struct emit_node *node,
		    size_t local_rank, bool ranks);
const struct emit_variable *emit_variable(const struct emit_variables *variables, size_t at,
					  const char *name);
void emit_without(struct emit_variables *variables, const char *names);
/* "env -u A B=value" or "B=value" before a command. */
void emit_prefix(struct emitter *e, const struct emit_variables *variables);
/* EMIT_NUMBERS: the launcher takes GPUs by number, and makes the list itself. */
enum emit_gpus { EMIT_LIST, EMIT_NUMBERS };
/* Puts what comes before a node's command unless gpumap exec has the plan: the folder, and the
 * variables. */
void emit_start(struct emitter *e, size_t node, enum emit_gpus gpus);
/* Sets the variables of a node's first rank, for a launcher that does not. */
void emit_rank(struct emitter *e, size_t node);
/* A comment that names the node, where there are several. */
void emit_label(struct emitter *e, size_t node);

/* --- the program (inner.c) -------------------------------------------------------------- */

/* Whether a launcher that gives all ranks of a node the same GPUs needs gpumap exec inside. */
bool emit_needs_exec(const struct emitter *e);
/* Whether no argument needs quotes. */
bool emit_is_plain(struct emitter *e);
/* The plan as a file, if gpumap exec has it inside. */
void emit_plan_file(struct emitter *e);
/* gpumap exec for what the launcher does not do, and the program. `port`: where ranks meet; 0: the
 * launcher sets it; EMIT_MEET: gpumap exec determines it, if the profile does not. */
enum { EMIT_MEET = -1 };
void emit_exec(struct emitter *e, int port);
/* The launcher's own option for the run's name, if the run has one. */
void emit_run(struct emitter *e, const char *option);
/* The program for a launcher that starts FILE.py by python3 -u itself, and any other program after
 * --no_python. */
void emit_python(struct emitter *e);
/* The same, always after --no_python. */
void emit_no_python(struct emitter *e);

/* --- remarks (remarks.c) ----------------------------------------------------------------- */

/* One finding about all settings that the launcher loses: those that somebody set, those that
 * follow from the plan as cpu_bind does, and the run's name unless a variable has it. `exec`: the
 * command starts the program by gpumap exec. `kept`: settings that the launcher applies itself. */
void emit_loses(struct emitter *e, bool exec, const enum profile_key_id *kept, size_t count);
/* If the plan has names for hosts that nobody named. */
void emit_remark_names(struct emitter *e);
/* Whether several hosts have names that a launcher needs; otherwise it refuses the plan. */
bool emit_has_names(struct emitter *e);
/* An error refuses the plan. */
void emit_remark(struct emitter *e, enum finding_id id, const char *fix, const char *format, ...)
	PRINTF(4, 5);

#endif
