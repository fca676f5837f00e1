/* SPDX-License-Identifier: MIT */
/* How programs other than CUDA's driver read an entry, each in the file of its name. */
#ifndef GM_VISIBLE_DIALECTS_H
#define GM_VISIBLE_DIALECTS_H

#include "visible/entry.h"

/* ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES (rule H1). */
enum visible_end amd_match_rocr(const struct matcher *matcher, struct span token,
				struct visible_entry *entry);
enum visible_end amd_match_hip(const struct matcher *matcher, struct span token,
			       struct visible_entry *entry);
enum visible_end nvitop_match(const struct matcher *matcher, struct span token,
			      const struct visible_entry *first, struct visible_entry *entry);
enum visible_end torch_match(const struct matcher *matcher, struct span token,
			     const struct visible_entry *first, struct visible_entry *entry);

/* The index that an entry is; -1: it is not an index. */
int64_t amd_rocr_index(struct span token);
int64_t nvitop_index(struct span token);

/* Looks for repeats in the text, as PyTorch does before it asks which devices exist: past an index
 * that is too large or a UUID that matches nothing, up to an entry that is neither. Also finds
 * entries on which PyTorch raises an exception. Fills in the end members of *late. */
void torch_find_late_end(struct visible_list *late, struct matcher *matcher, struct span value);

#endif
