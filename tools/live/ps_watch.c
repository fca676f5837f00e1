/* SPDX-License-Identifier: MIT */
/*
 * For how long a process has not used its GPU. One look has only NVML's samples, which go back for
 * some seconds. gpumap ps --follow remembers what it has seen, and can say more.
 */
#include "live/ps.h"

#include <stdlib.h>

#include "memory.h"

/* Two looks with a longer pause may miss samples. NVML does not document for how long it keeps
 * them; drivers were seen to have some of the last 9 seconds. */
enum { KEPT = 5 };

struct ps_watched {
	int64_t pid, start;
	int physical, mig;
	/* Times are by the clock of struct ps. */
	int64_t used;             /* when it was seen to use the GPU; -1: never */
	int64_t since;            /* watched without a gap */
	int64_t cpu, cpu_changed; /* its time, and when that was not the same yet */
};

static int compare(const void *a, const void *b)
{
	const struct ps_watched *x = a, *y = b;
	const int64_t pairs[][2] = {{x->pid, y->pid},
				    {x->start, y->start},
				    {x->physical, y->physical},
				    {x->mig, y->mig}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] < pairs[i][1] ? -1 : 1;
	return 0;
}

/* What is known after this look. `before` NULL: it is the first. */
static void update(struct ps_watched *now, const struct ps_watched *before, int64_t last,
		   int64_t used, int64_t at)
{
	/* Whether it did is not known without its time. */
	bool computed = before && (now->cpu < 0 || before->cpu != now->cpu);

	now->used = used;
	now->since = now->cpu_changed = at;
	if (!before)
		return;
	if (!computed)
		now->cpu_changed = before->cpu_changed;
	/* A process that did not compute in a long pause has not used the GPU either. */
	if (at - last > KEPT && computed)
		return;
	now->since = before->since;
	if (before->used > now->used)
		now->used = before->used;
}

static void put(struct ps_process *p, enum ps_idle idle, int64_t seconds)
{
	p->idle = idle;
	p->idle_seconds = seconds < 0 ? 0 : seconds;
}

static void judge(struct ps_process *p, const struct ps_watched *w, int64_t active, int64_t at)
{
	p->idle = PS_IDLE_UNKNOWN;
	p->idle_seconds = -1;
	if (active >= 0 && w->used >= 0)
		put(p, PS_IDLE_SINCE, at - w->used);
	else if (active >= 0 && at > w->since)
		put(p, PS_IDLE_LEAST, at - w->since);
	else if (active >= 0)
		p->idle = PS_IDLE_LONG;
	else if (w->cpu >= 0 && at > w->cpu_changed)
		put(p, PS_IDLE_CPU, at - w->cpu_changed);
}

/* When the process used the GPU, by a clock that no one sets; NVML gives the time of day. */
static int64_t used_at(const struct ps *ps, int64_t active)
{
	int64_t ago = active < ps->now ? ps->now - active : 0;

	return active <= 0 ? -1 : ago < ps->clock ? ps->clock - ago : 0;
}

static void look(const struct ps_watch *watch, struct ps_watched *ret, const struct ps *ps,
		 const struct ps_gpu *gpu, struct ps_process *p)
{
	int64_t active = gpumap_process_int(p->process, GPUMAP_PROCESS_ACTIVE_TIME);
	const struct ps_watched *before = NULL;

	*ret = (struct ps_watched){
		.pid = gpumap_process_int(p->process, GPUMAP_PROCESS_PID),
		.start = gpumap_process_int(p->process, GPUMAP_PROCESS_START_TIME),
		.physical = (int)gpumap_device_int(gpu->device, GPUMAP_DEVICE_PHYSICAL),
		.mig = (int)gpumap_process_int(p->process, GPUMAP_PROCESS_MIG),
		.cpu = ps->facts[p->facts].cpu,
	};
	if (watch && watch->count)
		before = bsearch(ret, watch->list, watch->count, sizeof(*ret), compare);
	update(ret, before, watch ? watch->at : 0, used_at(ps, active), ps->clock);
	judge(p, ret, active, ps->clock);
}

void ps_watch_look(struct ps_watch *watch, struct ps *ps)
{
	struct ps_watched *list, only;
	size_t count = 0;

	for (size_t i = 0; i < ps->count; i++)
		count += ps->gpus[i].count;
	list = watch ? xcalloc(count, sizeof(*list)) : NULL;
	count = 0;
	for (size_t i = 0; i < ps->count; i++)
		for (size_t k = 0; k < ps->gpus[i].count; k++)
			look(watch, watch ? &list[count++] : &only, ps, &ps->gpus[i],
			     &ps->gpus[i].processes[k]);
	if (!watch)
		return;
	if (count)
		qsort(list, count, sizeof(*list), compare);
	free(watch->list);
	*watch = (struct ps_watch){list, count, ps->clock};
}

void ps_watch_free(struct ps_watch *watch)
{
	free(watch->list);
	*watch = (struct ps_watch){0};
}
