/* SPDX-License-Identifier: MIT */
/* How ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES read an entry (rule H1). */
#ifndef GM_VISIBLE_AMD_H
#define GM_VISIBLE_AMD_H

#include "visible/entry.h"

enum visible_end amd_match_rocr(const struct matcher *matcher, struct span token,
				struct visible_entry *entry);
enum visible_end amd_match_hip(const struct matcher *matcher, struct span token,
			       struct visible_entry *entry);

/* The index that an entry of ROCR_VISIBLE_DEVICES is; -1: it is not an index. */
int64_t amd_rocr_index(struct span token);

/* AMD's lists may mix kinds, and a number refers to the view: 1 may repeat a UUID. */
bool amd_mixes(const struct matcher *matcher);

#endif
