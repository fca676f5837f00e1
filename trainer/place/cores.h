/* SPDX-License-Identifier: MIT */
/* Which cores of this process a simulated device has. */
#ifndef TRAIN_PLACE_CORES_H
#define TRAIN_PLACE_CORES_H

#include <sched.h>
#include <stdbool.h>

struct cores {
	int threads;
	bool own;       /* cpus are its own; else it runs wherever the process may */
	cpu_set_t cpus; /* as many as threads, or more */
};

/* Those that the calling thread may use, none where they cannot be told. A set holds those with
 * numbers below CPU_SETSIZE; returns how many more the thread may use, however large the machine.
 */
int cores_allowed(cpu_set_t *cpus);

/* The share of device `index` of `sharing` in the cores that this process may use, which are parted
 * evenly, in their order. Where they are fewer than devices, each has one thread and no core of its
 * own. threads: what the user wants; 0: OMP_NUM_THREADS, which launchers set, as far as
 * cores_max_threads, or a thread for each of its cores, of which `processes` of this machine take
 * their part. */
void cores_share(struct cores *cores, const cpu_set_t *allowed, int index, int sharing,
		 int processes, int threads);

/* The most threads of a device, four for each core and at least 16: more only take turns, and some
 * thousands can stop the machine. 0: the cores cannot be told. */
int cores_max_threads(const cpu_set_t *allowed);

/* Whether the devices leave a core of the process to other threads. */
bool cores_spare(const cpu_set_t *allowed, int sharing, int processes, int threads);

#endif
