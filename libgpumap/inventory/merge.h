/* SPDX-License-Identifier: MIT */
/* Between the files that merge what recorded text says of one GPU. */
#ifndef GM_MERGE_H
#define GM_MERGE_H

#include "inventory/recorded.h"

enum { DEAD = -2 }; /* in `physical`: joined into another, dropped by recorded_link */

enum kind { BY_INDEX, BY_UUID, BY_PCI };

/* Position of the GPU with this key, -1. Indices are given as text. */
int lookup_get(struct recorded *r, enum kind kind, struct span key);
int lookup_put(struct recorded *r, enum kind kind, struct span key, int position) MUST_CHECK;

/* Each sets a member of the GPU at `at`, or finds that it agrees. Different keys are two
 * machines, an error; other differences are reported and the first value stays. */
int set_index(struct recorded *r, int at, int64_t index) MUST_CHECK;
int set_key(struct recorded *r, int at, enum kind kind, struct span value) MUST_CHECK;
int set_members(struct recorded *r, int at, const struct seen *seen) MUST_CHECK;
/* Two GPUs turn out to be one: what `from` has goes to `into`. */
int absorb(struct recorded *r, int into, int from) MUST_CHECK;
bool names_agree(struct span a, struct span b);
/* A GPU for messages. */
const char *who(struct recorded *r, const gpumap_device *d);

#endif
