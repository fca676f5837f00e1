/* SPDX-License-Identifier: MIT */
/* See cores.h. */
#include "place/cores.h"

#include <stdlib.h>

#include "cpuset.h"

int cores_allowed(cpu_set_t *cpus)
{
	struct arena arena = {0};
	struct cpu_set all;
	int more = 0;

	CPU_ZERO(cpus);
	if (cpu_set_allowed(&arena, &all)) {
		for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (cpu_set_has(all, cpu))
				CPU_SET(cpu, cpus);
		more = (int)cpu_set_size(all) - CPU_COUNT(cpus);
	}
	arena_free(&arena);
	return more;
}

int cores_max_threads(const cpu_set_t *allowed)
{
	enum { OF_CORE = 4, LEAST = 16 };
	int cores = CPU_COUNT(allowed);

	if (cores == 0)
		return 0;
	return OF_CORE * cores > LEAST ? OF_CORE * cores : LEAST;
}

static int threads_from_environment(const cpu_set_t *allowed)
{
	const char *text = getenv("OMP_NUM_THREADS");
	long threads = text ? strtol(text, NULL, 10) : 0;
	int max = cores_max_threads(allowed);

	if (threads <= 0 || threads > CPU_SETSIZE)
		return 0;
	return max && threads > max ? max : (int)threads;
}

void cores_share(struct cores *cores, const cpu_set_t *allowed, int index, int sharing,
		 int processes, int threads)
{
	int count = CPU_COUNT(allowed), first = 0, last = 0, seen = 0;

	*cores = (struct cores){.threads =
					threads > 0 ? threads : threads_from_environment(allowed)};
	CPU_ZERO(&cores->cpus);
	if (count >= sharing) {
		first = (int)((long)count * index / sharing);
		last = (int)((long)count * (index + 1) / sharing);
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && seen < last; cpu++)
		if (CPU_ISSET(cpu, allowed) && seen++ >= first)
			CPU_SET(cpu, &cores->cpus);
	if (cores->threads == 0)
		cores->threads = (last - first) / processes;
	if (cores->threads == 0)
		cores->threads = 1;
	cores->own = sharing > 1 && last - first >= cores->threads;
}

bool cores_spare(const cpu_set_t *allowed, int sharing, int processes, int threads)
{
	struct cores cores;
	int used = 0;

	for (int i = 0; i < sharing; i++) {
		cores_share(&cores, allowed, i, sharing, processes, threads);
		used += cores.threads;
	}
	return CPU_COUNT(allowed) > used * processes;
}
