/* SPDX-License-Identifier: MIT */
/* For which runs GPUs are planned on which nothing has started CUDA. */
#include "live/ps.h"

#include "live/run_planned.h"
#include "text.h"

/* A rank that has not started CUDA is not seen on its GPU. */
void ps_read_planned(struct ps *ps)
{
	struct live_runs runs;
	size_t unused = 0;

	for (size_t i = 0; i < ps->count; i++)
		unused += !ps->gpus[i].count;
	if (!unused)
		return;
	live_runs_find(&runs);
	for (size_t i = 0; i < ps->count; i++) {
		struct ps_gpu *gpu = &ps->gpus[i];
		const struct live_run *run = gpu->count ? NULL : run_planned(&runs, gpu->device, 0);

		if (!run)
			continue;
		gpu->run = escaped_copy(run->run);
		gpu->launcher = run->launcher;
	}
	live_runs_free(&runs);
}
