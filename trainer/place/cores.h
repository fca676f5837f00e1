/* SPDX-License-Identifier: MIT */
/* The cores of this process for a simulated device. */
#ifndef TRAIN_PLACE_CORES_H
#define TRAIN_PLACE_CORES_H

#include <sched.h>
#include <stdbool.h>

struct cores {
	int threads;
	bool own;       /* only it uses cpus; else it runs wherever the process may */
	cpu_set_t cpus; /* as many as threads, or more */
};

/* The CPUs that the calling thread may use; none if they are not known. A set has those with
 * numbers below CPU_SETSIZE; returns how many more the thread may use. */
int cores_allowed(cpu_set_t *cpus);

/* The share of device `index` of `sharing` in the cores that this process may use, which are
 * divided evenly, in their order. With fewer cores than devices each has one thread and no core of
 * its own. threads: the user's setting; 0: OMP_NUM_THREADS, which launchers set, up to
 * cores_max_threads; else a thread for each of its cores, divided by the `processes` of this
 * machine. */
void cores_share(struct cores *cores, const cpu_set_t *allowed, int index, int sharing,
		 int processes, int threads);

/* The limit of threads of a device, four for each core and at least 16: more only compete, and
 * thousands can stop the machine. 0: the cores are not known. */
int cores_max_threads(const cpu_set_t *allowed);

/* Whether the devices leave a core of the process to other threads. */
bool cores_spare(const cpu_set_t *allowed, int sharing, int processes, int threads);

#endif
