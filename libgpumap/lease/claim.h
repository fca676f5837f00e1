/* SPDX-License-Identifier: MIT */
/* What a job asks for. */
#ifndef GM_LEASE_CLAIM_H
#define GM_LEASE_CLAIM_H

#include "lease/lease.h"

struct gpumap_claim {
	size_t count; /* of GPUs; 0: not set */
	char *from;   /* the visible list that it may choose from;  NULL: all */
	char *from_origin;
	char *prefer; /* the GPUs that it takes first; NULL: none */
	char *prefer_origin;
	struct lease_terms terms;
	int64_t wait_ms;         /* 0: it does not wait; -1: without limit */
	char *folder, *sysfs;    /* NULL: the default */
	gpumap_request *request; /* the environment, which limits the choice; NULL: none */
	int64_t keeper;          /* of the lease that it may run in; 0: none */
};

/* Marks the GPUs of the inventory that the claim may use. GPUMAP_EINPUT, after its error: a list
 * cannot be decided; GPUMAP_ENOMEM. MIG instances, and GPUs with MIG enabled, are not usable. */
int claim_usable(bool *ret, const gpumap_claim *claim, const gpumap_inventory *inventory,
		 gpumap_report *report);

/* Puts the GPUs that the claim prefers first. `order` has all in another order. GPUMAP_EINPUT,
 * after its error: the list names what is not a GPU here, or a GPU twice. */
int claim_order(size_t *order, size_t *preferred, const gpumap_claim *claim,
		const gpumap_inventory *inventory, gpumap_report *report);

/* Puts the GPU `g` behind the first `preferred` of the order. False, and nothing is changed: it is
 * among these, or is not a GPU. */
bool order_prefer(size_t *order, size_t preferred, size_t g, size_t gpus);

#endif
