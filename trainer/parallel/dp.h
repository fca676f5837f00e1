/* SPDX-License-Identifier: MIT */
/* How dp divides samples. */
#ifndef TRAIN_DP_H
#define TRAIN_DP_H

#include <stdint.h>

/* Rule G6, torch.chunk: how many of `count` samples replica `index` takes, and the first of them.
 * Chunks have ceil(count / replicas) samples until none are left. The library applies the rule in
 * split_batch(), libgpumap/resolve/data_parallel.c. */
int64_t dp_chunk(int64_t count, int replicas, int index, int64_t *first);

#endif
