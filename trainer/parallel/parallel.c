/* SPDX-License-Identifier: MIT */
/* The modes. */
#include "parallel/parallel.h"

const struct parallel_calls *parallel_find(enum train_mode mode)
{
	switch (mode) {
	case MODE_SINGLE:
		return &parallel_single;
	case MODE_DP:
		return &parallel_dp;
	case MODE_DDP:
		return &parallel_ddp;
	case MODE_MP:
		break;
	}
	return &parallel_mp;
}
