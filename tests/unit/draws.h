/* SPDX-License-Identifier: MIT */
/* Random draws that a seed repeats, and the statements that tests draw. */
#ifndef GM_DRAWS_H
#define GM_DRAWS_H

#include <stdint.h>

#include "base.h"

/* xorshift64*. `state` is not 0. Draws of one state are equal, except the one whose number is
 * `changed`; 0: none. */
struct draws {
	uint64_t state;
	unsigned number, changed;
};

/* 0 to below - 1. */
static inline unsigned draw(struct draws *d, unsigned below)
{
	unsigned n;

	d->state ^= d->state >> 12;
	d->state ^= d->state << 25;
	d->state ^= d->state >> 27;
	n = (unsigned)((d->state * UINT64_C(2685821657736338717) >> 33) % below);
	return ++d->number == d->changed ? (n + 1) % below : n;
}

#define DRAW(d, a) ((a)[draw(d, (unsigned)ARRAY_SIZE(a))])

/* The beginnings of statements of a list; the list follows. */
static const char *const drawn_lists[] = {"prefix=",
					  "prefix=",
					  "script_export=",
					  "in_code=",
					  "container=",
					  "cgroup=",
					  "mps_server=",
					  "after_init=",
					  "prefix=HIP_VISIBLE_DEVICES=",
					  "prefix=ROCR_VISIBLE_DEVICES="};

/* Statements that state no list. */
static const char *const drawn_statements[] = {"device=1",
					       "device=0",
					       "device=cuda:2,1",
					       "device=cpu",
					       "device=modulo",
					       "set_device=1",
					       "device_ids=0,1",
					       "mode=dp",
					       "mode=ddp",
					       "mode=mp",
					       "local_rank=1",
					       "batch=7",
					       "dialect=torch",
					       "dialect=nvitop",
					       "dialect=rocr",
					       "dialect=hip",
					       "driver=535",
					       "launcher=dask",
					       "launcher=flux",
					       "launcher=slurm",
					       "prefix=CUDA_DEVICE_ORDER=PCI_BUS_ID",
					       "prefix=CUDA_DEVICE_ORDER=PCI_BUS_ID"};

#endif
