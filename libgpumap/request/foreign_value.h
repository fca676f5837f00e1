/* SPDX-License-Identifier: MIT */
/* Values as other programs write them: times of Slurm, hosts with slots as mpirun takes them, ids
 * of messages that are to be ignored. */
#ifndef GM_FOREIGN_VALUE_H
#define GM_FOREIGN_VALUE_H

#include "request/profile_keys.h"

/* The remedy: what the invalid value is here, perhaps in `ret`. NULL: it is not known, or too long.
 */
const char *foreign_value(struct quoted *ret, const struct profile_key *key, struct span value);

#endif
