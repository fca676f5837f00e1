/* SPDX-License-Identifier: MIT */
/* Programs that are clients of docker and the like, whose containers outlive them. */
#ifndef GM_CONTAINER_CLIENT_H
#define GM_CONTAINER_CLIENT_H

#include "gpumap.h"

#include "arena.h"

/* The words of a program, with the options that stand for {docker} and {cdi}. */
struct pick_container {
	struct arena arena;
	char **argv;      /* ends with NULL */
	size_t client;    /* how many words begin each command of the client; 0: there is none */
	const char *name; /* the label of its container */
	char *folder;     /* where the client was started; NULL: not known */
	/* While it is waited for. Times are by clock_milliseconds(). */
	int process;     /* a pidfd of its first process; -1 */
	bool sure;       /* its cgroup is that of the container */
	int64_t ask_ms;  /* when the client is asked again */
	int64_t lost_ms; /* since when there is no answer that counts; -1 */
};

/* Reports what is wrong with a program's words before a lease is taken. GPUMAP_EINPUT after its
 * error. */
int pick_container_check(char **argv, gpumap_report *report);

/* Replaces {docker} and {cdi} by options for the GPUs of the lease, and gives the container a
 * label. False without memory. Close it in any case. */
bool pick_container_open(struct pick_container *ret, char **argv, const gpumap_lease *lease);
void pick_container_close(struct pick_container *container);

/* Whether the container may still run. It is not a child of the client, so the client is asked. */
bool pick_container_runs(const struct pick_container *container);
/* Waits for a moment, in which it may end, or until `wake` is readable; -1: nothing wakes. False:
 * it has ended, or its client does not answer for long. */
bool pick_container_wait(struct pick_container *container, int wake);

#endif
