/* SPDX-License-Identifier: MIT */
/* The modes. */
#include "parallel/parallel.h"

const struct parallel_calls *parallel_find(enum train_mode mode)
{
	static const struct parallel_calls *const calls[] = {
		[MODE_SINGLE] = &parallel_single,
		[MODE_DP] = &parallel_dp,
		[MODE_DDP] = &parallel_ddp,
		[MODE_MP] = &parallel_mp,
	};

	return calls[mode];
}
