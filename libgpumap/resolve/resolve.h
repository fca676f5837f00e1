/* SPDX-License-Identifier: MIT */
/*
 * The stages of gpumap_resolve, in their order. ranks (R) decides which process this is. sources
 * (S) decides which statements win. views (N, L, V) makes the logical devices. choice (D) and
 * groups (G) take devices from them by their indexes. A stage returns GPUMAP_OK or a negative code.
 * If the rules end in a "no", the stage does not fail: it reports an error, and mapping->answered
 * stays false. Memory that runs out is noted in the arena, and reported once, at the end: what
 * could not be made is missing or empty until then.
 */
#ifndef GM_RESOLVE_H
#define GM_RESOLVE_H

#include "report/report.h"
#include "request/request.h"
#include "resolve/mapping.h"
#include "strbuf.h"
#include "visible/visible.h"

/* The value of a variable when the driver starts. */
struct effective {
	bool set;
	const char *value;  /* if it is set */
	const char *origin; /* may be NULL */
	enum source source;
	enum source stated; /* who stated it, even if a launcher reordered the list since */
};

/* The devices that an index of a view can mean. */
struct ordinal {
	const gpumap_device **candidates;
	size_t count;
	enum gpumap_certainty certainty;
};

struct view {
	const gpumap_device **devices; /* in nvidia-smi's order */
	size_t count;
	struct ordinal *ordinals; /* in CUDA's order */
	size_t ordinal_count;
	bool unlisted; /* ordinals are found by physical number; any number exists */
	bool unsure;   /* only some of these devices are in it, and it is not known which */
};

/* A key's value with the rank's numbers filled in (rule R5). */
struct resolved_key {
	const char *value, *origin; /* NULL: not given */
};

struct resolver {
	gpumap_mapping *mapping;
	struct arena *arena; /* the mapping's */
	const gpumap_request *request;
	const gpumap_inventory *inventory; /* NULL: nothing is known */
	gpumap_report *report;
	enum dialect dialect;
	bool failed; /* the answer is "no" */

	struct resolved_key keys[KEY_COUNT];
	struct rank_words words;
	struct effective effective[VARIABLE_COUNT];
	struct view view;
	const gpumap_device *host; /* the mapping's copies */
	size_t host_count;
	const int *fastest;           /* measured order: positions in host */
	bool assumed;                 /* the host's devices are only assumed */
	bool gaps;                    /* numbers that the inventory lacks are assumed to exist */
	const struct effective *list; /* the list that the process itself reads; NULL: none */
	const char *hidden_by;        /* the view that has no device; NULL: none */
	const char *repeat_fix;       /* the remedy for a device that the list names twice */
	const char *driver;           /* version, NULL: not known */
	/* a launcher moved this process's device to the front (Dask) */
	bool own_first;
	/* places to rotate, if there is no list to rewrite; 0: none */
	int64_t rotate;
	/* how many devices DeepSpeed has to find; 0: it does not check */
	int64_t slot_count;
};

/* Whether no further stage runs: the answer is "no", or memory ran out. */
static inline bool has_ended(const struct resolver *resolver)
{
	return resolver->failed || resolver->arena->failed;
}

/* Finds which rank this process is (rules R1 and R2), if that matters; fills `keys`. */
int ranks_resolve(struct resolver *resolver);
/* A statement's value with the rank's numbers filled in; NULL: no memory. */
const char *ranks_value(struct resolver *resolver, const struct statement *s);
/* Fills the rest of `keys`: those that also depend on the number of visible devices. */
int ranks_finish(struct resolver *resolver);

/* The step of a request without a list and without an environment, of which nothing is known. */
#define NO_LIST_GIVEN "no list is given: every device"

int sources_resolve(struct resolver *resolver);
/* Whether the statement is from the source, and about the variable. */
bool statement_applies(const struct resolver *resolver, const struct statement *s,
		       enum source source, enum variable variable);
/* A value for a loser or a step; long ones are cut. */
const char *shown_value(struct resolver *resolver, const char *value);
/* Refuses a statement beside --visible. */
int exclusive_statements_check(struct resolver *resolver, enum variable variable);
/* Reports changes that come too late, and variables that the dialect never reads. */
void ignored_statements_report(struct resolver *resolver);
/* Applies the launcher's changes to the list, and to CUDA_DEVICE_ORDER. */
void launcher_rewrite(struct resolver *resolver, struct effective *list);
void launcher_order(struct resolver *resolver, struct effective *order);
/* Whether the devices exist that a launcher looks for before it starts a rank. */
void launcher_check(struct resolver *resolver);
int host_prepare(struct resolver *resolver);
/* The same without an inventory, by the devices that the request names. */
int assume_host(struct resolver *resolver);
/* A GPU of which only its number, or its UUID, is known. */
gpumap_device assumed_device(int index, char *uuid);
/* Appends all that the stages read of an inventory, except the digits of UUIDs and what only texts
 * show (addresses, origins). Names and memory are in it if the GPUs are not of one model. */
void host_shape(struct strbuf *buf, const gpumap_inventory *inventory);
/* The number before the first dot of a driver's version; -1: not known. */
int64_t driver_major(const char *driver);
int views_resolve(struct resolver *resolver);

/* The names of the view's devices, for entries to be looked up in; *migs are the MIG instances
 * among them, in the order of ret->migs. GPUMAP_ENOMEM. */
int view_names(struct resolver *resolver, struct visible_view *ret, const gpumap_device ***migs);
/* The position of the device with this number; -1: there is no such device. In an unlisted view
 * devices are sorted by number. */
int view_position(const struct view *view, int64_t number);
/* Keeps a copy of the current view for pictures. */
void view_remember(struct resolver *resolver, const char *label);

/* The devices that a list picks in the current view; `outer`: it is an outer list (MPS, ROCR).
 * GPUMAP_ENOMEM: what the list says of itself may have been reported. */
int view_pick(struct resolver *resolver, enum dialect dialect, const struct effective *effective,
	      bool outer, struct ordinal **ordinals, size_t *count);
/* Replaces the view by the devices that an outer list picks. If it is not known which devices those
 * are, they may be any of the view's. */
int view_enter(struct resolver *resolver, enum dialect dialect, const struct effective *effective,
	       const char *label);
/* Whether a list repeats the outer list's numbers although its own view counts from 0: an error in
 * an MPS client (rule L4), a mistake with AMD's variables (H1). 0,1,... may be repeated. */
bool view_list_repeats(const struct effective *list, const char *outer);

int mps_enter(struct resolver *resolver);

/* Rule H1: whether an empty list counts as unset, as HIP ignores its own. */
bool amd_empty_is_unset(const struct resolver *resolver, enum variable variable);
/* Whether the variable then counts as set. */
bool amd_list_counts(const struct resolver *resolver, enum variable variable);
/* An environment for AMD: only AMD's lists are set. Slurm sets them together with
 * CUDA_VISIBLE_DEVICES, which then means nothing for the machine. */
void amd_report_unread(struct resolver *resolver);
int amd_enter_rocr(struct resolver *resolver);
/* The list that a program with HIP reads last; NULL: none, and every device is visible. */
const struct effective *amd_hip_list(struct resolver *resolver);

/* Reduces the view to what the key (container, cgroup) grants, if it is set. */
int grant_apply(struct resolver *resolver, enum key_id key);
/* A grant's entry without blanks and the prefix of its CDI name. */
struct span granted_name(struct span token);
bool grants_all(const char *value);

/* The current device after set_device. *works is false if set_device failed. Then the program ends
 * there, and its later actions never happen. */
int current_resolve(struct resolver *resolver, struct device_choice *current, bool *works);
int choice_resolve(struct resolver *resolver);
/* Reports that the GPU of an entry cannot be decided, and why (rule N4 or V9). */
void answer_undecidable(struct resolver *resolver, const gpumap_entry *entry);

/* Fills mapping->replicas with the logical devices of device_ids; without the key with every
 * visible one (rule G1). */
void replicas_fill(struct resolver *resolver);
/* Whether device_ids is given. */
bool replicas_named(const struct resolver *resolver);
/* Two replicas on one logical device, or on two MIG instances of one GPU. */
struct neighbours {
	const gpumap_entry *repeat, *a, *b; /* NULL: there are none */
};
void replicas_neighbours(struct neighbours *ret, struct resolver *resolver);
/* Warns of MIG instances of one GPU. They share its PCI address, and NCCL takes that for one
 * device. */
void replicas_warn_same_gpu(struct resolver *resolver, const struct neighbours *near);
/* Reports a replica whose GPU is not certain. */
void replicas_check_decided(struct resolver *resolver);
/* Whether `device` puts the module on the CPU. */
bool module_on_cpu(const struct resolver *resolver);

void data_parallel_resolve(struct resolver *resolver);
int groups_resolve(struct resolver *resolver);
void hints_report(struct resolver *resolver);

/* Adds steps and findings for a list that was parsed; `outer`: it is an outer list (MPS, ROCR). */
void list_explain(struct resolver *resolver, const struct visible_list *list,
		  const struct effective *effective, bool outer);

/* Makes the logical devices from ordinals (rule V9 decides which MIG instances). */
void mig_expand(struct resolver *resolver, const struct ordinal *ordinals, size_t count,
		bool every);

/* Why inventory_doubts() a device. */
const char *doubt_reason(const gpumap_device *device);
/* The remedy if nvidia-smi's numbers are not known. */
#define RECORD_NUMBERS "use UUIDs, or record the machine with nvidia-smi -L"

/* Gives the view's devices their ordinals, as CUDA numbers them (rules N2-N4). */
void order_devices(struct resolver *resolver);

/* Who stated the visible list that wins. Which machine a question is about depends on it. */
enum list_from {
	LIST_FROM_NONE, /* no list is set: every device is visible */
	LIST_FROM_ENVIRONMENT,
	LIST_FROM_KEYS /* an option, its GPUMAP_ variable, or the list of an outer view */
};
/* By the effective lists. */
enum list_from list_stated(const struct resolver *resolver);
/* Runs only the first stages. GPUMAP_ENOMEM; if gpumap_resolve refuses the statements, the result
 * is LIST_FROM_KEYS. */
int resolve_list_from(enum list_from *ret, const gpumap_request *request);

/* Adds a step. NULL: memory ran out, as also a NULL text means. Losers may follow. */
gpumap_step *step_add(struct resolver *resolver, const char *rule, const char *origin,
		      const char *text);
void step_lose(struct resolver *resolver, gpumap_step *step, const char *source, const char *value);

/* Adds a finding that makes the answer "no". */
#define answer_no(resolver, id, about, ...) \
	((resolver)->failed = true, report_add((resolver)->report, id, about, __VA_ARGS__))

/* Finds the logical device `index`; NULL after a finding (D7, E1). `what` names the
 * statement in the message. */
const gpumap_entry *logical_device(struct resolver *resolver, int64_t index, const char *what,
				   const char *origin);

#endif
