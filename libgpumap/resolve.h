/* SPDX-License-Identifier: MIT */
/*
 * The stages of gpumap_resolve, in their order: ranks (R) say which process this is, sources
 * (S) decide what holds, views (N, L, V) make logical devices of it, choice (D) and groups
 * (G) index them.
 * A stage returns GPUMAP_OK or a negative code. A "no" of the rules is no failure:
 * it is an error in the report and mapping->answered stays false.
 */
#ifndef GM_RESOLVE_H
#define GM_RESOLVE_H

#include "mapping.h"
#include "report.h"
#include "request.h"
#include "visible.h"

/* The value of a variable when the driver starts. */
struct effective {
	bool set;
	const char *value;  /* when set */
	const char *origin; /* may be NULL */
	enum source source;
	enum source stated; /* the same, but for a list that a launcher only reorders */
};

/* What an index of a view means. */
struct slot {
	const gpumap_device **candidates;
	size_t count;
	enum gpumap_certainty certainty;
};

struct view {
	const gpumap_device **devices; /* in nvidia-smi's order */
	size_t count;
	struct slot *slots; /* in CUDA's order */
	size_t slot_count;
	bool unlisted; /* slots are found by physical number, any number exists */
	bool unsure;   /* only some of the devices are in it, nobody knows which */
};

/* A key's value with what depends on the rank filled in (rule R5). */
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
	const int *fastest; /* measured order: positions in host */
	bool assumed;       /* nobody saw the host's devices */
	bool gaps;          /* numbers that the inventory leaves out are taken as existing */
	const struct effective *list; /* what the process itself reads; NULL: none */
	const char *hidden_by;        /* the view that has no device; NULL: none */
	const char *driver;           /* version, NULL: not known */
	bool own_first;               /* a launcher put this process's device first (Dask) */
	int64_t rotate;               /* by how many, where there is no list to rewrite; 0: not */
};

/* Which rank this process is (rules R1 and R2), where that matters; fills `keys`. */
int ranks_resolve(struct resolver *resolver);
/* A statement's value with the ranks filled in; NULL: no memory. */
const char *ranks_value(struct resolver *resolver, const struct statement *s);
/* The rest of `keys`: what depends on the number of visible devices, too. */
int ranks_finish(struct resolver *resolver);

int sources_resolve(struct resolver *resolver);
/* What the launcher makes of the list that it finds, and of CUDA_DEVICE_ORDER. */
int launcher_rewrite(struct resolver *resolver, struct effective *list);
int launcher_order(struct resolver *resolver, struct effective *order);
int host_prepare(struct resolver *resolver);
int views_resolve(struct resolver *resolver);

/* What entries are looked up in: the names of the view's devices; *migs are those of the
 * MIG instances among them, in the order of ret->migs. */
int view_names(struct resolver *resolver, struct visible_view *ret, const gpumap_device ***migs);
/* Where the device of this number stands; in an unlisted view devices are sorted by it.
 * -1: nowhere. */
int view_position(const struct view *view, int64_t number);
/* Keeps the view as it is now for pictures. */
int view_remember(struct resolver *resolver, const char *label);

/* The view becomes what the key (container, cgroup) grants of it, if it is set. */
int grant_apply(struct resolver *resolver, enum key_id key);
/* A grant's entry without blanks and the prefix of its CDI name. */
struct span granted_name(struct span token);
bool grants_all(const char *value);

/* What set_device made the current device. *works false: it failed, and the program with it;
 * what it does afterwards is never reached. */
int current_resolve(struct resolver *resolver, struct device_choice *current, bool *works);
int choice_resolve(struct resolver *resolver);
int groups_resolve(struct resolver *resolver);
void hints_report(struct resolver *resolver);

/* Steps and findings for a list that was parsed; `outer`: it is not the process's own. */
int list_explain(struct resolver *resolver, const struct visible_list *list,
		 const struct effective *effective, bool outer);

/* Makes the logical devices out of slots (rule V9 decides which MIG instances). */
int mig_expand(struct resolver *resolver, const struct slot *slots, size_t count, bool every);

/* Orders the view's slots as CUDA numbers them (rules N2-N4). */
int order_slots(struct resolver *resolver);

/* Who states the visible list that wins: which machine a question is about depends on it. */
enum list_from {
	LIST_FROM_NOBODY, /* none is set: every device */
	LIST_FROM_ENVIRONMENT,
	LIST_FROM_KEYS /* an option, its GPUMAP_ variable, or the list of an outer view */
};
/* By the first stages alone. GPUMAP_ENOMEM; statements that gpumap_resolve refuses are keys'. */
int resolve_list_from(enum list_from *ret, const gpumap_request *request);

/* Adds a step; NULL text is taken as memory having run out. Losers may follow. */
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
