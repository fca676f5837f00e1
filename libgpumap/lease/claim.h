/* SPDX-License-Identifier: MIT */
/* What a job asks for. */
#ifndef GM_LEASE_CLAIM_H
#define GM_LEASE_CLAIM_H

#include "lease/lease.h"

struct gpumap_claim {
	size_t count; /* of GPUs; 0: not set */
	bool all;     /* it asks for all that are free, at least one */
	char *from;   /* the visible list that it may choose from;  NULL: all */
	char *from_origin;
	char *prefer; /* the GPUs that it takes first; NULL: none */
	char *prefer_origin;
	struct lease_terms terms;
	bool instances;          /* it asks for MIG instances */
	char *profile;           /* of these; NULL: any */
	int64_t wait_ms;         /* 0: it does not wait; -1: without limit */
	int64_t for_ms;          /* after which its lease ends; 0: it has no end */
	bool slots_set;          /* not by default */
	char *folder, *sysfs;    /* NULL: the default */
	char *settings;          /* the administrator's file; NULL: the default, "": none */
	gpumap_request *request; /* the environment, which limits the choice; NULL: none */
	char *visible;           /* its CUDA_VISIBLE_DEVICES; NULL: not set */
	int64_t keeper;          /* of the lease that it may run in; 0: none */
};

/* Marks the units (units.h) that the claim may use. GPUMAP_EINPUT, after its error: a list cannot
 * be decided; GPUMAP_ENOMEM. GPUs with MIG enabled are not usable, but their instances. */
int claim_usable(bool *ret, const gpumap_claim *claim, const gpumap_inventory *units,
		 gpumap_report *report);

/* Which lists limit the claim to too few units, " in CUDA_VISIBLE_DEVICES='0,1'"; "": without them
 * the machine would have too few as well. The caller frees it. NULL without memory. */
char *claim_lists(const gpumap_claim *claim, const gpumap_inventory *units);

/* Puts the units that the claim prefers first. `order` has all in another order. GPUMAP_EINPUT,
 * after its error: the list names what is not a GPU here, or a GPU twice. */
int claim_order(size_t *order, size_t *preferred, const gpumap_claim *claim,
		const gpumap_inventory *units, gpumap_report *report);

/* Puts the GPU `g` behind the first `preferred` of the order. False, and nothing is changed: it is
 * among these, or is not a GPU. */
bool order_prefer(size_t *order, size_t preferred, size_t g, size_t gpus);

/* --- MIG instances, or GPUs (mig.c) --------------------------------------------------------- */

/* GPUMAP_EINPUT, after the error that the option `other` contradicts that of `origin`. */
int claim_clash(const char *other, const char *why, const char *origin, gpumap_report *report);
/* Why MIG instances cannot have the value of a key; NULL: they can. */
const char *instances_refuse(const char *key, struct span value);
/* Sets the key mig: "yes", "no" or a profile. GPUMAP_EINPUT, GPUMAP_ENOMEM. */
int claim_set_mig(gpumap_claim *claim, const char *value, const char *origin,
		  gpumap_report *report);
/* Whether it asks for units of this kind, GPUs or MIG instances. */
bool claim_is_of_kind(const gpumap_claim *claim, const gpumap_device *unit);
/* The same, and it is one that can be leased, of the profile that the claim names. */
bool claim_can_lease(const gpumap_claim *claim, const gpumap_device *unit);
/* "GPU", or "MIG instances" */
const char *claim_kind(const gpumap_claim *claim, size_t count);
/* Keeps of `ret` the instances that the list of the claim names. A number or UUID of a GPU stands
 * for all of its instances. GPUMAP_EINPUT, after its error; GPUMAP_ENOMEM. */
int claim_keep_instances(bool *ret, const gpumap_claim *claim, const gpumap_inventory *units,
			 gpumap_report *report);
/* What to do if the claim can only use `there` units of its kind. `inside` names the units of the
 * lease that the job is inside; NULL: none. */
const char *claim_fix(const gpumap_claim *claim, const gpumap_inventory *units, const char *inside,
		      size_t there);
/* Adds a remark if one process cannot use all instances of the lease. GPUMAP_ENOMEM. */
int claim_report_hidden(const gpumap_claim *claim, const gpumap_lease *lease,
			gpumap_report *report);

#endif
