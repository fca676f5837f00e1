/* SPDX-License-Identifier: MIT */
#ifndef GM_REQUEST_H
#define GM_REQUEST_H

#include "gpumap.h"

#include "base.h"
#include "strbuf.h"
#include "visible/visible.h"

enum key_id {
#define KEY(name, option, environment, kind, value, help) KEY_##name,
#include "request/keys.def"
#undef KEY
	KEY_COUNT
};

/* Variables that a statement can be about, and those that are only hints. */
enum variable {
	VARIABLE_CUDA_VISIBLE,
	VARIABLE_CUDA_ORDER,
	VARIABLE_ROCR_VISIBLE,
	VARIABLE_HIP_VISIBLE,
	VARIABLE_NVIDIA_VISIBLE, /* only hints from here on */
	VARIABLE_SLURM_JOB,
	VARIABLE_SLURM_JOB_GPUS,
	VARIABLE_SLURM_STEP_GPUS,
	VARIABLE_PET_NNODES,
	VARIABLE_KUBERNETES_SERVICE_HOST,
#define RANK_VARIABLE(name) VARIABLE_##name,
#include "request/ranks.def"
#undef RANK_VARIABLE
	VARIABLE_COUNT
};

/* Sources in the order in which they act, weakest first (rules S2 and S3). */
enum source {
	SOURCE_ENVIRONMENT,
	SOURCE_PREFIX,
	SOURCE_SCRIPT_EXPORT,
	SOURCE_SCRIPT_INLINE,
	SOURCE_LAUNCHER,
	SOURCE_IN_CODE,
	SOURCE_VISIBLE,
	SOURCE_AFTER_INIT,
	SOURCE_COUNT
};

enum verb {
	VERB_SET,
	VERB_UNSET,
	VERB_DEFAULT /* set only if unset */
};

struct statement {
	enum source source;
	enum variable variable;
	enum verb verb;
	char *value; /* NULL for an unset */
	char *origin;
};

struct gpumap_request {
	struct statement *statements;
	size_t count, room;
	char *values[KEY_COUNT]; /* of the keys that are not statements; NULL: not given */
	char *origins[KEY_COUNT];
	bool has_environ; /* an environment was given, even an empty one */
};

/* Launchers that rewrite the list. */
#define LAUNCHER_WORDS "torchrun|accelerate|deepspeed|ray|dask|flux|slurm"

struct gpumap_key {
	const char *name, *option, *environment, *value, *help;
	enum key_kind {
		KIND_STATEMENT,
		KIND_LAUNCHER,
		KIND_DEVICE,
		KIND_DEVICES,
		KIND_MODE,
		KIND_NUMBER,
		KIND_VIEW,
		KIND_DRIVER,
		KIND_DIALECT,
		KIND_SWITCH
	} kind;
	const char *section, *initial; /* NULL: a key of requests */
};

const gpumap_key *key_get(enum key_id id);
const char *variable_name(enum variable variable);
/* False: no variable has this name. */
bool variable_find(struct span name, enum variable *variable);
const char *source_name(enum source source);
/* The remedy for a word that is not a mode but is often used for one; NULL: not known. */
const char *mode_hint(struct span word);

/* The variable whose list `dialect` reads first. */
enum variable dialect_variable(enum dialect dialect);
/* Whether `dialect` reads this variable at all; false for hints. */
bool dialect_reads(enum dialect dialect, enum variable variable);

/* Values that gpumap_request_set has checked, in the form that resolve uses. */
bool request_switch(const gpumap_request *request, enum key_id key);
int64_t request_number(const gpumap_request *request, enum key_id key); /* -1: not given */
enum dialect request_dialect(const gpumap_request *request);
const char *request_dialect_name(const gpumap_request *request);

/* Adds a statement with copies of `value` and `origin`. GPUMAP_ELIMIT, GPUMAP_ENOMEM. */
int request_add(gpumap_request *request, struct statement statement, const char *value,
		const char *origin, gpumap_report *report);
/* Whether the request has a value or a statement of the key. */
bool request_states(const gpumap_request *request, enum key_id id);
/* GPUMAP_OK if `value` is valid for the key. */
int key_check(const gpumap_key *key, const char *value, const char *origin, gpumap_report *report);

/* Reports a GPUMAP_ variable whose name is nearly one that gpumap reads (rule S7). */
void key_variable_misspelt(struct span name, gpumap_report *report);

/* Reads the statement "[VAR=]value", "VAR?=value" or "-VAR"; *value points into text, NULL for an
 * unset. False: `text` names the unknown variable *other. */
bool statement_parse(const char *text, enum variable fallback, enum variable *variable,
		     enum verb *verb, const char **value, struct span *other);

/* A warning that no program reads the variable `name`; `near` is the one that was meant, NULL:
 * there is none, and no warning. */
void misspelt_report(struct span name, const char *near, gpumap_report *report);

/* The variable of rule S7 whose name is nearly `name`; NULL: there is none. */
const char *misspelt_variable(struct span name);

/* The statement that wins for a variable, which is the last in time (rule S2); NULL: no statement
 * sets it, or the last one unsets it. Use it only for the hints, which no launcher rewrites. */
const struct statement *request_variable(const gpumap_request *request, enum variable variable);

/* A warning if its name is nearly that of a list or an order (rule S7); for each of an environment.
 */
void variable_report_misspelt(struct span name, gpumap_report *report);
void environ_report_misspelt(const char *const *envp, gpumap_report *report);

/* Whether an environment has anything that a request takes as a statement: a list, an order, a
 * rank, or a key; a misspelt list or order counts too. */
bool environ_states(const char *const *envp);

/* Rule R5: the values of "%l", "%r", "%n", "modulo" and "local-modulo"; -1: not known. */
struct rank_words {
	int64_t local_rank, rank, node, modulo, local_modulo;
};

/* Appends `text` with those words replaced. A word that is not known stays, and is returned in
 * *missing (may be NULL). */
void rank_words_expand(struct strbuf *buf, struct span text, const struct rank_words *words,
		       const char **missing);
/* The index of the word modulo for a rank, or local-modulo for a local rank; 0: no device is
 * visible. */
size_t rank_modulo(size_t rank, size_t visible);

/* A device as PyTorch writes it. */
struct device_choice {
	enum {
		CHOICE_BAD,
		CHOICE_INDEX,
		CHOICE_CURRENT, /* "cuda" */
		CHOICE_CPU
	} kind;
	int64_t index;
	bool several;  /* "cuda:2,1" (rule D6) */
	bool negative; /* -1 and below: set_device does nothing */
};
struct device_choice device_parse(struct span text);

#endif
